// SPDX-License-Identifier: GPL-2.0
/* Prints error messages, in one form for all commands. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/complain.h"
#include "base/text.h"

/**
 * complain() - print an error message
 * @name:	The file or other object that the message is about.
 * @format:	What is wrong and, after a semicolon, what the user can do.
 *
 * Names and messages may have control characters from files, which become "?".
 *
 * Return: EXIT_FAILED, for the caller to return.
 */
int complain(const char *name, const char *format, ...)
{
	char *what, *line = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&what, format, args) < 0)
		what = NULL;
	va_end(args);
	if (asprintf(&line, "%s: %s", name, what ?: format) < 0)
		line = NULL;
	if (line)
		text_clean(line);
	/* Keep the messages of both streams in order. */
	fflush(stdout);
	fprintf(stderr, "sframe: %s\n", line ?: "out of memory");
	free(line);
	free(what);
	return EXIT_FAILED;
}
