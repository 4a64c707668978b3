// SPDX-License-Identifier: GPL-2.0
/* Prints error messages, in one form for all commands. */
#include <stdarg.h>
#include <stdio.h>

#include "complain.h"

/**
 * complain() - print an error message
 * @name:	The file or other object that the message is about.
 * @format:	What is wrong and, after a semicolon, what the user can do.
 *
 * Return: EXIT_FAILED, for the caller to return.
 */
int complain(const char *name, const char *format, ...)
{
	va_list args;

	/* Keep the messages of both streams in order. */
	fflush(stdout);
	fprintf(stderr, "sframe: %s: ", name);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	return EXIT_FAILED;
}
