// SPDX-License-Identifier: GPL-2.0
/* sframe doctor: says why stacks are short */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/complain.h"
#include "base/grow.h"
#include "base/options.h"
#include "base/pool.h"
#include "base/text.h"
#include "cache/mapped.h"
#include "cache/path.h"
#include "command.h"
#include "doctor/command.h"
#include "doctor/file.h"
#include "doctor/kernel.h"
#include "doctor/report.h"
#include "doctor/tell.h"

static const char help[] =
"usage: sframe doctor [OPTION]... [PID|COMMAND]...\n"
"\n"
"Say why stacks are short: check what the kernel needs for complete user stacks, and\n"
"whether it has a table for each file with code.  With PID, doctor checks the files that\n"
"the process has mapped.  With COMMAND, it checks those that the command maps when it\n"
"starts: the program and the libraries that it is linked with, or the interpreter of a\n"
"script.  It cannot know what the command loads later.  Without either, it checks the\n"
"files of all processes that the caller may inspect.  doctor looks for COMMAND in PATH.\n"
"It runs neither that nor a dynamic linker: it reads the files' headers, and looks for\n"
"libraries where the dynamic linker of glibc or musl would.\n"
"\n"
"  -v, --verbose   without PID or COMMAND: print a line for each file\n"
"  -j, --json      print JSON\n"
"  -h, --help      this text\n"
"\n"
"Each line is a check: \"ok\", \"note\" or \"problem\", the object of the check, the result,\n"
"and after a semicolon what you can do.  The checks:\n"
"\n"
"  kernel    it accepts tables (CONFIG_UNWIND_USER_SPLIT)\n"
"  path      kernel.unwind_table_path names directories that only root can change, and\n"
"            each has an index of its tables (index.v4)\n"
"  debugfs   the kernel's reports about files and walks, which only root can read\n"
"  perf      perf_event_max_stack, which limits the number of frames; perf_event_paranoid;\n"
"            and whether the perf in PATH knows deferred stacks (--call-graph fp,defer),\n"
"            which are complete from a program's first sample on\n"
"  walks     the share of the walks of user stacks since boot that reached the\n"
"            outermost frame, and what ended most of the others\n"
"  a file    it has a table in the path that the kernel accepts: named by the index of\n"
"            its directory, made for this object, owned by root, and writable by nobody\n"
"            else.  Or it has a table of its own (PT_GNU_SFRAME), of all functions that\n"
"            .eh_frame describes.  The kernel asks the table in the path first, and the\n"
"            file's own only where that has no row.  It does not read own tables of more\n"
"            than 32 KiB or for more than 16 MiB of code: 'sframe cache FILE' makes a\n"
"            table in the path.  Also what the kernel reports about the table.  It looks\n"
"            at a file when a profiler first asks for a stack of a process that has the\n"
"            file mapped, and at one without a table again when the sysctl is written.\n"
"            And how much of its text has no row, if that is 4 KiB and 1 % or more: there,\n"
"            the kernel follows frame pointers if functions keep them, or takes the return\n"
"            address from the top four words of the stack, or the stack ends.  A program\n"
"            without .eh_frame that keeps frame pointers, as those of Go, is no problem.\n"
"\n"
"A note needs no action: for example, a directory of the path does not exist, code is\n"
"made at run time and is in no file, or only root can see something.\n"
"\n"
"Exit status: 0 all is well, 1 there are problems, 2 wrong usage.\n"
"\n"
"examples:\n"
"  sframe doctor xz\n"
"  sframe doctor $(pidof nginx)\n"
"  sframe doctor --json | jq -r '.checks[].command | select(.)'\n";

static const struct option long_options[] = {
	{ "verbose", no_argument, NULL, 'v' },
	{ "json", no_argument, NULL, 'j' },
	{ "help", no_argument, NULL, 'h' },
	{ }
};

/* How many seconds a file may take. */
#define MAX_SECONDS	60

static bool verbose;

static void look_done(const struct job *job)
{
	struct look *look = job->result;

	if (!job->signal)
		return;
	look->state = TABLE_UNREADABLE;
	snprintf(look->why, sizeof(look->why), "the file is damaged");
}

/* Look for the table of each file.  The caller frees the result. */
static struct look *look_at(const struct mapped *mapped)
{
	struct look *looks = require_memory(calloc(mapped->count + 1, sizeof(*looks)));
	struct job *jobs = require_memory(calloc(mapped->count + 1, sizeof(*jobs)));
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	size_t count = 0;

	for (size_t i = 0; i < mapped->count; i++) {
		looks[i].state = TABLE_UNREADABLE;
		if (mapped->files[i].open)
			jobs[count++] = (struct job){ .name = mapped->files[i].open,
						      .result = &looks[i] };
	}
	pool_run(jobs, count, sizeof(*looks), processors > 0 ? processors : 1, MAX_SECONDS,
		 ONE_FILE, look_at_file, look_done);
	free(jobs);
	return looks;
}

static void tell_hidden(const struct mapped *mapped)
{
	if (mapped->no_file)
		tell(NOTE, "code", NULL,
		     "%llu KB of it are in no file: it was made at run time, and has no table",
		     mapped->no_file / 1000);
	if (mapped->hidden)
		tell(NOTE, "processes", geteuid() ? ADVISE("run it as root") : NULL,
		     "the caller may not inspect %zu of them", mapped->hidden);
}

static void check_mapped(struct mapped *mapped,
			 void (*tell_them)(const struct mapped *, struct look *))
{
	struct look *looks = look_at(mapped);

	tell_them(mapped, looks);
	tell_hidden(mapped);
	free(looks);
	mapped_free(mapped);
}

static void check_all(void)
{
	struct mapped mapped = { };
	int err = mapped_add_all(&mapped);

	/* Most processes of a desktop make code at run time. */
	mapped.no_file = 0;
	if (err)
		tell(PROBLEM, "/proc", ADVISE("mount it"), "%s", strerror(-err));
	else
		check_mapped(&mapped, verbose ? report_files : report_summary);
}

static void check_process(const char *name)
{
	struct mapped mapped = { };
	int err = mapped_add_process(&mapped, atoi(name));
	char *about;

	if (asprintf(&about, "process %s", name) < 0)
		return;
	mapped.hidden = 0;
	if (err == -ENOENT || err == -ESRCH)
		tell(PROBLEM, about, NULL, "there is none");
	else if (err)
		tell(PROBLEM, about, ADVISE("run it as root"), "%s", strerror(-err));
	else if (!mapped.count)
		tell(NOTE, about, NULL, "it maps no code: it is a kernel thread, or has ended");
	else
		tell(WELL, about, NULL, "it maps the code of %zu files", mapped.count);
	free(about);
	check_mapped(&mapped, report_files);
}

static void check_command(const char *name)
{
	struct mapped mapped = { };

	command_add(&mapped, name);
	check_mapped(&mapped, report_files);
}

static void check_target(const char *name)
{
	/* A longer number is not a PID, but may be a command. */
	if (*name && strlen(name) < 10 && !name[strspn(name, "0123456789")])
		check_process(name);
	else
		check_command(name);
}

int doctor_main(int argc, char **argv)
{
	int c;

	while ((c = next_option(argc, argv, "vjh", long_options)) != -1) {
		switch (c) {
		case 'v':
			verbose = true;
			break;
		case 'j':
			tell_as_json();
			break;
		case 'h':
			fputs(help, stdout);
			return EXIT_OK;
		default:
			return EXIT_USAGE;
		}
	}
	kernel_read();
	kernel_check();
	for (int i = optind; i < argc; i++)
		check_target(argv[i]);
	if (optind == argc)
		check_all();
	return tell_sum() ? EXIT_FAILED : EXIT_OK;
}
