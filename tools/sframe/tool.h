/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _TOOLS_SFRAME_TOOL_H
#define _TOOLS_SFRAME_TOOL_H

#include "complain.h"
#include "table.h"

/*
 * The commands.  Each takes its own name and what follows it, and returns the exit
 * status after telling what is wrong.
 */
int gen_main(int argc, char **argv);
int dump_main(int argc, char **argv);
int check_main(int argc, char **argv);
int cache_main(int argc, char **argv);
int run_main(int argc, char **argv);

/* sframe.c */
bool parse_format(const char *text, enum format *format);
bool parse_number(const char *text, unsigned int max, unsigned int *to);

/* file.c */
int file_write(const char *name, const struct object *obj,
	       const struct image *image, enum format format);
const char *file_read_open(int fd, struct sframe_file *head, u8 **table);
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
