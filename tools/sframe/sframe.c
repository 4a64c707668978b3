// SPDX-License-Identifier: GPL-2.0
/* sframe: SFrame tables for programs that are built without them */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool.h"

static const char help[] =
"usage: sframe COMMAND [OPTION]... FILE...\n"
"\n"
"Make SFrame tables, by which the kernel unwinds user stacks, from the unwind\n"
"information that every program and library carries.\n"
"\n"
"  gen     write the table of a program or library to a file\n"
"  dump    print a table\n"
"  check   compare tables with .eh_frame, row by row\n"
"  cache   fill the cache with tables of many programs and libraries\n"
"  run     run a program with tables for all of its code\n"
"\n"
"'sframe COMMAND --help' tells a command's options.  Results go to standard\n"
"output, all else to standard error.  Exit status: 0 done, 1 failed, 2 wrong\n"
"usage.\n"
"\n"
"examples:\n"
"  sframe gen --output /tmp/libc.table /lib/x86_64-linux-gnu/libc.so.6\n"
"  sframe dump --rows /tmp/libc.table\n"
"  sframe check --summary /usr/bin/*\n"
"  sframe cache --all\n"
"  sframe run xz -k9 file\n";

static const struct {
	const char	*name;
	int		(*main)(int argc, char **argv);
} commands[] = {
	{ "gen", gen_main },
	{ "dump", dump_main },
	{ "check", check_main },
	{ "cache", cache_main },
	{ "run", run_main },
};

/**
 * complain() - tell what is wrong
 * @name:	The file, or whatever it is about.
 * @format:	What; and, behind a semicolon, what helps.
 *
 * Return: EXIT_FAILED, for the caller to return.
 */
int complain(const char *name, const char *format, ...)
{
	va_list args;

	/* Keep the order of what both streams tell. */
	fflush(stdout);
	fprintf(stderr, "sframe: %s: ", name);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	return EXIT_FAILED;
}

/**
 * parse_format() - read a format's name
 * @text:	The name.
 * @format:	Filled in.
 *
 * Return: whether there is such a format.
 */
bool parse_format(const char *text, enum format *format)
{
	if (!strcmp(text, "v2"))
		*format = FORMAT_V2;
	else if (!strcmp(text, "v3"))
		*format = FORMAT_V3;
	else
		return false;
	return true;
}

/**
 * parse_number() - read a number of an option
 * @text:	The number.
 * @max:	The largest that makes sense; the least is 1.
 * @to:		Filled in.
 *
 * Return: whether it is one.
 */
bool parse_number(const char *text, unsigned int max, unsigned int *to)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || !value || value > max)
		return false;
	*to = value;
	return true;
}

static int finish(int ret)
{
	if (fflush(stdout) || ferror(stdout))
		return complain("standard output", "cannot be written");
	return ret;
}

int main(int argc, char **argv)
{
	int ret;

	if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
		fputs(help, stdout);
		return finish(EXIT_OK);
	}
	for (size_t i = 0; argc > 1 && i < ARRAY_SIZE(commands); i++) {
		if (strcmp(argv[1], commands[i].name))
			continue;
		ret = commands[i].main(argc - 1, argv + 1);
		if (ret == EXIT_USAGE)
			fprintf(stderr, "Try 'sframe %s --help'.\n", argv[1]);
		return finish(ret);
	}
	if (argc > 1)
		complain(argv[1], "unknown command; gen, dump, check, cache and run are known");
	fputs("Try 'sframe --help'.\n", stderr);
	return EXIT_USAGE;
}
