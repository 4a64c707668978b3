/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_CACHE_READER_H
#define _SFRAME_CACHE_READER_H

#include <stdio.h>
#include <sys/types.h>

#include "cache/path.h"
#include "table/uncovered.h"

/* Room for any of the tool's and of libelf's messages */
#define MAX_READER_ERROR	256

/**
 * struct finding - what a reader says about its file, which may be false
 * @state:	What object_read() has returned.
 * @error:	What is wrong with the file.
 * @debug:	Its separate debug file is used, too.
 * @wanted:	The table that the object needs.
 */
struct finding {
	enum object_state	state;
	char			error[MAX_READER_ERROR];
	bool			debug;
	struct wanted		wanted;
};

/**
 * struct reader - a process without rights that parses a file
 * @pid:	The process.
 * @go:		Written to, it makes the reader make a table; closed, it ends the reader.
 * @from:	What the reader writes.
 * @error:	The errno if the process could not be started, or 0.
 */
struct reader {
	pid_t	pid;
	int	go;
	FILE	*from;
	int	error;
};

bool reader_start(struct reader *reader, struct object *obj, int debug, unsigned int seconds,
		  struct finding *finding);
bool reader_make(struct reader *reader, const struct object *obj, const struct wanted *wanted,
		 struct image *image, struct uncovered *uncovered,
		 char error[MAX_READER_ERROR]);
int reader_end(struct reader *reader);

#endif /* _SFRAME_CACHE_READER_H */
