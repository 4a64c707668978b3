/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_POOL_H
#define _SFRAME_POOL_H

#include <stddef.h>

/**
 * struct job - one file and the result of working on it
 * @name:	The file.
 * @result:	The worker's result.
 * @signal:	The signal that ended the worker, -1 if it ended without a result, or 0.
 */
struct job {
	const char	*name;
	void		*result;
	int		signal;
};

void pool_stop(void);
void pool_run(struct job *jobs, size_t count, size_t result_size,
	      unsigned int workers, unsigned int seconds,
	      void (*work)(const char *name, void *result),
	      void (*done)(const struct job *job));

#endif /* _SFRAME_POOL_H */
