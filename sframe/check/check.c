// SPDX-License-Identifier: GPL-2.0
/* sframe check: tables against .eh_frame, for many files */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/complain.h"
#include "base/options.h"
#include "base/pool.h"
#include "base/text.h"
#include "cache/list.h"
#include "cache/system.h"
#include "cfi/debug.h"
#include "check/compare.h"
#include "command.h"

static const char help[] =
"usage: sframe check [OPTION]... [FILE]...\n"
"\n"
"Make an SFrame table for each x86-64 program or library in memory, and compare it\n"
"with .eh_frame.  For each row, check compares the range of code, and where the\n"
"caller's stack pointer (CFA), the return address and the frame pointer are.  Both\n"
"the tool's and the kernel's code read the table.  The table leaves out code that its\n"
"format cannot describe; check counts this code by cause.  It also counts the\n"
"functions of .eh_frame in a second way, so that it notices missing ones.\n"
"\n"
"Code that .eh_frame does not describe, as assembly, is followed; check says for how many\n"
"bytes that yields rows of version 3.  It also says how much text has no row at all.  There, the\n"
"kernel follows frame pointers if functions keep them, which check estimates from the\n"
"prologues that it sees; or it takes the return address from the top four words of the\n"
"stack.  Otherwise the stack ends there.  The total includes the text of files without\n"
".eh_frame.\n"
"\n"
"  -a, --all            check the files that 'sframe cache --all' makes tables for\n"
"  -R, --root DIR       with --all: check the system whose root directory is DIR, which\n"
"                       may be /proc/PID/root\n"
"  -T, --table TABLE    check the table in this file, which 'sframe gen' or 'sframe cache'\n"
"                       wrote for the one FILE, instead of making one\n"
"  -c, --cache-dir DIR  check the tables in the cache, or in a package's directory; a file\n"
"                       without a good table there is a failure, unless 'sframe\n"
"                       cache' makes none for it\n"
"      --debug-dir DIR  look in DIR for separate debug files (/usr/lib/debug, below the\n"
"                       root directory that --root names), unless the table was made\n"
"                       without\n"
"  -f, --format v2|v3   check only this format (both)\n"
"  -C, --code           also follow the code of functions that .eh_frame describes, and\n"
"                       compare what that says of each instruction; counts differences\n"
"                       that are errors of .eh_frame apart\n"
"  -s, --summary        print one line for each file\n"
"  -v, --verbose        list the functions that the table leaves out, with the cause\n"
"  -b, --every-byte     compare each byte of code, not three bytes of each row\n"
"  -j, --jobs N         check N files at a time (1)\n"
"  -t, --timeout S      allow S seconds for each file (300)\n"
"  -h, --help           this text\n"
"\n"
"check lists and skips files that are not x86-64 programs or libraries, and those without\n"
".eh_frame that keep frame pointers or whose code cannot be followed.  Exit status: 0 all rows are equal; 1 a row differs, functions are\n"
"missing, a table is, or a file is damaged; 2 wrong usage.\n"
"\n"
"examples:\n"
"  sframe check /lib/x86_64-linux-gnu/libc.so.6\n"
"  sframe check --summary -j 4 /usr/bin/* /usr/lib/x86_64-linux-gnu/*.so.*\n"
"  sframe check --verbose --format v2 /lib64/ld-linux-x86-64.so.2\n"
"  sframe check --all --summary -j 4 | sed -n '/^total/,$p'\n"
"  sframe check --cache-dir /var/cache/sframe /usr/bin/xz\n"
"  sframe check --code --verbose /lib/x86_64-linux-gnu/libc.so.6\n";

/* An option that has no letter */
#define OPTION_DEBUG_DIR	256

static const struct option long_options[] = {
	{ "all", no_argument, NULL, 'a' },
	{ "root", required_argument, NULL, 'R' },
	{ "table", required_argument, NULL, 'T' },
	{ "cache-dir", required_argument, NULL, 'c' },
	{ "debug-dir", required_argument, NULL, OPTION_DEBUG_DIR },
	{ "format", required_argument, NULL, 'f' },
	{ "code", no_argument, NULL, 'C' },
	{ "summary", no_argument, NULL, 's' },
	{ "verbose", no_argument, NULL, 'v' },
	{ "every-byte", no_argument, NULL, 'b' },
	{ "jobs", required_argument, NULL, 'j' },
	{ "timeout", required_argument, NULL, 't' },
	{ "help", no_argument, NULL, 'h' },
	{ }
};

/* The options, which the workers read, and the sums, which the parent counts. */
static struct check_options options;
static enum report_form form;
static struct report total;
static size_t num_checked, num_skipped, num_failed;
/* Reports before this are about files that check found; the user named the others. */
static const struct report *found_end;

static void check_work(const char *name, void *result)
{
	check_file(name, &options, result);
}

static void fail_worker(const struct job *job)
{
	num_failed++;
	/* The reader of the output has closed it. */
	if (job->signal == SIGPIPE)
		exit(EXIT_FAILED);
	if (job->signal == SIGALRM)
		complain(job->name, "takes too long; allow more time by --timeout");
	else if (job->signal > 0)
		complain(job->name, "signal %d (%s) ended the check; the file is damaged",
			 job->signal, strsignal(job->signal));
	else
		complain(job->name, "the check ended without a result; the file is damaged");
}

static void add_report(const struct report *report)
{
	total.file_size += report->file_size;
	total.cfi_size += report->cfi_size;
	entries_add(&total.entries, &report->entries);
	uncovered_add(&total.uncovered, &report->uncovered);
	followed_add(&total.followed, &report->followed);
	total.gained += report->gained;
	for (int i = 0; i < NUM_FORMATS; i++) {
		total.asked[i] |= report->asked[i];
		tally_add(&total.tally[i], &report->tally[i]);
	}
}

/* Without this, nobody would notice entries that the tool's reader misses. */
static void check_entries(const char *name, const struct report *report)
{
	const struct entries *want = &report->entries, *got = &report->known;

	if (entries_equal(want, got))
		return;
	num_failed++;
	complain(name, "of %llu entries (%llu empty, %llu twice) %llu (%llu, %llu) were read",
		 as_ull(want->all), as_ull(want->empty), as_ull(want->repeated), as_ull(got->all),
		 as_ull(got->empty), as_ull(got->repeated));
}

static void check_done(const struct job *job)
{
	const struct report *report = job->result;

	if (job->signal) {
		fail_worker(job);
		return;
	}
	switch (report->state) {
	case OBJECT_OK:
		num_checked++;
		add_report(report);
		check_entries(job->name, report);
		break;
	case OBJECT_GONE:
		/* A file may be deleted after check has found it. */
		if (report < found_end) {
			num_skipped++;
			break;
		}
		__attribute__((fallthrough));
	case OBJECT_DAMAGED:
		num_failed++;
		if (report->table)
			complain(job->name, "%s: %s%s", options.table ?: options.dir,
				 report->error, report->table == TABLE_BAD ?
				 "; make the table by 'sframe cache'" : "");
		else
			complain(job->name, "%s; name a program or library that can be read",
				 report->error);
		return;
	case OBJECT_NO_CFI:
		uncovered_add(&total.uncovered, &report->uncovered);
		total.gained += report->gained;
		num_skipped++;
		break;
	default:
		num_skipped++;
		break;
	}
	report_print(job->name, report, form);
}

static int print_total(double seconds)
{
	double mb = total.file_size / 1e6;
	u64 differing = total.followed.differing;

	for (int i = 0; i < NUM_FORMATS; i++)
		differing += total.tally[i].differing;
	report_print("total", &total, REPORT_WHOLE);
	printf("total: %zu files checked, %zu skipped, %zu failed; %.1f MB in %.2f s, %.1f MB/s\n",
	       num_checked, num_skipped, num_failed, mb, seconds,
	       seconds > 0 ? mb / seconds : 0);
	return differing || num_failed ? EXIT_FAILED : EXIT_OK;
}

/* @list: the files that check has found; @names: those that the user named. */
static int check_run(const struct file_list *list, char **names, size_t num_names,
		     unsigned int jobs, unsigned int seconds)
{
	size_t count = list->count + num_names;
	struct report *reports = calloc(count + 1, sizeof(*reports));
	struct job *job = calloc(count + 1, sizeof(*job));
	double start = clock_seconds();
	int ret;

	if (!reports || !job)
		return complain("check", "out of memory");
	for (size_t i = 0; i < count; i++)
		job[i] = (struct job){
			.name = i < list->count ? list->names[i] :
						  names[i - list->count],
			.result = &reports[i],
		};
	found_end = reports + list->count;
	pool_run(job, count, sizeof(*reports), jobs, seconds, ONE_FILE, check_work, check_done);
	num_failed += list->failed;
	ret = print_total(clock_seconds() - start);
	free(reports);
	free(job);
	return ret;
}

/* Report options that contradict each other. */
static bool options_agree(int num_names, bool all, const char *root, enum format format)
{
	const char *wrong = NULL;

	if (root && !all)
		wrong = "--root goes with --all; add it";
	else if (options.table && (all || num_names != 1))
		wrong = "--table is for one file; name that file alone";
	else if (options.table && options.dir)
		wrong = "--table and --cache-dir both name the table; leave one out";
	else if ((options.table || options.dir) && format)
		wrong = "a table that is there has its format; leave --format out";
	else if (!num_names && !all)
		wrong = "no file to check; name some, or use --all";
	if (wrong)
		complain("check", "%s", wrong);
	return !wrong;
}

int check_main(int argc, char **argv)
{
	unsigned int jobs = 1, seconds = 300;
	bool good = true, all = false;
	struct file_list list = { };
	const char *root = NULL;
	enum format format = 0;
	int c, ret;

	while (good && (c = next_option(argc, argv, "aR:T:c:f:Csvbj:t:h", long_options)) != -1) {
		switch (c) {
		case 'a':
			all = true;
			break;
		case 'R':
			root = optarg;
			break;
		case 'T':
			options.table = optarg;
			break;
		case 'c':
			options.dir = optarg;
			break;
		case OPTION_DEBUG_DIR:
			options.debug_dir = optarg;
			good = *optarg;
			break;
		case 'f':
			good = parse_format(optarg, &format);
			break;
		case 'C':
			options.code = true;
			break;
		case 's':
			form = REPORT_LINE;
			break;
		case 'v':
			options.verbose = true;
			break;
		case 'b':
			options.every_byte = true;
			break;
		case 'j':
			good = parse_number(optarg, 1024, &jobs);
			break;
		case 't':
			good = parse_number(optarg, 86400, &seconds);
			break;
		case 'h':
			fputs(help, stdout);
			return EXIT_OK;
		default:
			return EXIT_USAGE;
		}
	}
	if (!good) {
		complain("check", "'%s' is not a value for that option", optarg);
		return EXIT_USAGE;
	}
	if (!options_agree(argc - optind, all, root, format))
		return EXIT_USAGE;
	for (int i = 0; i < NUM_FORMATS; i++)
		options.asked[i] = !format || format == FORMAT_V2 + i;
	if (!options.debug_dir)
		options.debug_dir = text_format("%s" DEBUG_DIR, root ?: "");
	ret = list_set_root(&list, root);
	if (!ret && all)
		list_add_system(&list);
	if (!ret)
		ret = check_run(&list, argv + optind, argc - optind, jobs, seconds);
	list_free(&list);
	return ret;
}
