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

/* The descriptors by which a worker sends its result and gets its jobs */
#define POOL_RESULT	3
#define POOL_JOBS	4

/* A worker that parses a file does not outlive it, because the file may have changed it. */
enum life { ONE_FILE, MANY_FILES };

void pool_stop(void);
void pool_run(struct job *jobs, size_t count, size_t result_size,
	      unsigned int workers, unsigned int seconds, enum life life,
	      void (*work)(const char *name, void *result),
	      void (*done)(const struct job *job));

#endif /* _SFRAME_POOL_H */
