// SPDX-License-Identifier: GPL-2.0
/* sframe: SFrame tables for programs that are built without them */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/complain.h"
#include "command.h"
#include "base/sframe_file.h"

static const char help[] =
"usage: sframe COMMAND [OPTION]... [FILE]...\n"
"       sframe help [COMMAND]\n"
"       sframe --version\n"
"\n"
"Make SFrame tables, with which the kernel unwinds user stacks, from the unwind\n"
"information that every program and library carries.\n"
"\n"
"  gen     write the table of a program or library to a file\n"
"  dump    print a table\n"
"  check   compare tables with .eh_frame, row by row\n"
"  cache   fill the cache with tables of many programs and libraries, list the\n"
"          tables, and remove those that are not needed\n"
"  index   make the index of a directory of tables, without which the kernel does\n"
"          not use them\n"
"  doctor  say why stacks are short\n"
"\n"
"'sframe help COMMAND' lists a command's options.  Results go to standard\n"
"output, messages to standard error.  Exit status: 0 done, 1 failed, 2 wrong\n"
"usage.\n"
"\n"
"examples:\n"
"  sframe gen --output /tmp/libc.table /lib/x86_64-linux-gnu/libc.so.6\n"
"  sframe dump --rows /tmp/libc.table\n"
"  sframe check --summary /usr/bin/*\n"
"  sframe cache --all && sysctl kernel.unwind_table_path=/var/cache/sframe\n"
"  sframe doctor xz\n";

/* The tool's version; raised when its options or its output change. */
#define VERSION	"1.5"

static const struct {
	const char	*name;
	int		(*main)(int argc, char **argv);
} commands[] = {
	{ "gen", gen_main },
	{ "dump", dump_main },
	{ "check", check_main },
	{ "cache", cache_main },
	{ "index", index_main },
	{ "doctor", doctor_main },
};

static int flush_output(int ret)
{
	if (fflush(stdout) || ferror(stdout))
		return complain("standard output", "cannot be written");
	return ret;
}

static void print_version(void)
{
	printf("sframe " VERSION " (SFrame 2 and 3, table files of version %d)\n",
	       SFRAME_FILE_VERSION);
}

static int run_command(int argc, char **argv)
{
	int ret;

	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		if (strcmp(argv[0], commands[i].name))
			continue;
		ret = commands[i].main(argc, argv);
		if (ret == EXIT_USAGE)
			fprintf(stderr, "Try 'sframe %s --help'.\n", argv[0]);
		return flush_output(ret);
	}
	complain(argv[0], "unknown command; gen, dump, check, cache, index and doctor are known");
	fputs("Try 'sframe --help'.\n", stderr);
	return EXIT_USAGE;
}

static bool is_any(const char *word, const char *one, const char *other)
{
	return !strcmp(word, one) || !strcmp(word, other);
}

/*
 * The caller may have closed standard streams.  Nothing else gets their numbers: a worker keeps
 * them open.  As before, what is written there is an error.
 */
static void fill_standard_streams(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDONLY);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

int main(int argc, char **argv)
{
	bool wants_help = argc > 1 && !strcmp(argv[1], "help");

	fill_standard_streams();
	if (wants_help && argc > 2) {
		char *of_command[] = { argv[2], "--help", NULL };

		return run_command(2, of_command);
	}
	if (wants_help || (argc > 1 && is_any(argv[1], "--help", "-h"))) {
		fputs(help, stdout);
		return flush_output(EXIT_OK);
	}
	if (argc > 1 && is_any(argv[1], "--version", "-V")) {
		print_version();
		return flush_output(EXIT_OK);
	}
	if (argc > 1)
		return run_command(argc - 1, argv + 1);
	fputs("Try 'sframe --help'.\n", stderr);
	return EXIT_USAGE;
}
