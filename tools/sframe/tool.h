/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _TOOLS_SFRAME_TOOL_H
#define _TOOLS_SFRAME_TOOL_H

#include "table.h"

enum {
	EXIT_OK,
	EXIT_FAILED,
	EXIT_USAGE,
};

/* "sframe: @name: what; remedy" on stderr; returns EXIT_FAILED. */
[[gnu::format(printf, 2, 3)]]
int complain(const char *name, const char *format, ...);

int gen_main(int argc, char **argv);
int dump_main(int argc, char **argv);
int check_main(int argc, char **argv);
int cache_main(int argc, char **argv);
int run_main(int argc, char **argv);

bool parse_format(const char *text, enum format *format);

/* file.c */
int file_write(const char *name, const struct object *obj,
	       const struct image *image, enum format format);
const char *file_read(const char *name, struct sframe_file *head, u8 **table);

/* pool.c */

/**
 * struct job - one file and what became of it
 * @name:	The file.
 * @result:	Written by the worker.
 * @signal:	What ended the worker, if it did not end by itself.
 */
struct job {
	const char	*name;
	void		*result;
	int		signal;
};

void pool_run(struct job *jobs, size_t count, size_t result_size,
	      unsigned int workers, unsigned int seconds,
	      void (*work)(const char *name, void *result),
	      void (*done)(const struct job *job));

#endif /* _TOOLS_SFRAME_TOOL_H */
