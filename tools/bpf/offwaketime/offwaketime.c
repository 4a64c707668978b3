// SPDX-License-Identifier: GPL-2.0
/* See the help text. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "offwaketime.h"
#include "offwaketime.skel.h"
#include "report.h"
#include "symbols.h"

#define DEPTH	127

static const char help[] =
"usage: offwaketime [-p PID] [-d SECONDS] [-m MIN_US] [--max-stacks N] [--folded]\n"
"\n"
"Sum up the time that tasks were blocked, by the stack in which they waited and the\n"
"stack of the task or interrupt that woke them up; print it at the end, or on Ctrl-C.\n"
"\n"
"  -p, --pid PID        only the threads of process PID as those that wait\n"
"  -d, --duration S     stop after S seconds (default: on Ctrl-C)\n"
"  -m, --min-us US      leave out waits shorter than US microseconds (default: 1)\n"
"      --max-stacks N   entries of the stack map (default: 16384)\n"
"      --folded         one line a pair, for flame graph tools:\n"
"                       TARGET;its frames;--;its waker's frames;WAKER MICROSECONDS\n"
"  -v, --verbose        what libbpf says\n"
"  -h, --help           this text\n"
"\n"
"Time includes waiting for a CPU after the wakeup. Preempted tasks are not blocked and\n"
"not counted; a wait that lasts beyond the end is not, either. User stacks are walked\n"
"by frame pointers.\n"
"\n"
"Whatever was lost is counted on stderr. Exit status: 0 nothing was lost, 1 something\n"
"was lost or it failed, 2 usage.\n"
"\n"
"  offwaketime -p 4711 -d 10 --folded >waits.folded\n"
"  flamegraph.pl --countname=us waits.folded >waits.svg\n";

struct options {
	uint32_t	pid;
	unsigned int	seconds;
	uint64_t	min_us;
	uint32_t	max_stacks;
	bool		folded;
	bool		verbose;
};

static volatile sig_atomic_t stop;

static void on_signal(int signal)
{
	stop = 1;
}

static void usage_error(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fprintf(stderr, "offwaketime: ");
	vfprintf(stderr, format, args);
	fprintf(stderr, "; see --help\n");
	va_end(args);
	exit(2);
}

static unsigned long number(const char *option, const char *text, unsigned long max)
{
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || *text < '0' || *text > '9' || *end || value > max)
		usage_error("%s: '%s' is not a number from 0 to %lu", option, text, max);
	return value;
}

static struct options parse(int argc, char **argv)
{
	static const struct option names[] = {
		{ "pid", required_argument, NULL, 'p' },
		{ "duration", required_argument, NULL, 'd' },
		{ "min-us", required_argument, NULL, 'm' },
		{ "max-stacks", required_argument, NULL, 's' },
		{ "folded", no_argument, NULL, 'f' },
		{ "verbose", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{}
	};
	struct options options = { .min_us = 1, .max_stacks = 16384 };
	int c;

	while ((c = getopt_long(argc, argv, "p:d:m:vh", names, NULL)) != -1) {
		switch (c) {
		case 'p':
			options.pid = number("-p", optarg, INT32_MAX);
			break;
		case 'd':
			options.seconds = number("-d", optarg, 1000000);
			break;
		case 'm':
			options.min_us = number("-m", optarg, UINT32_MAX);
			break;
		case 's':
			options.max_stacks = number("--max-stacks", optarg, 1 << 24);
			if (!options.max_stacks)
				usage_error("--max-stacks: at least 1");
			break;
		case 'f':
			options.folded = true;
			break;
		case 'v':
			options.verbose = true;
			break;
		case 'h':
			fputs(help, stdout);
			exit(0);
		default:
			exit(2);
		}
	}
	if (optind < argc)
		usage_error("'%s' is no option", argv[optind]);
	return options;
}

static bool verbose;

static int print_libbpf(enum libbpf_print_level level, const char *format, va_list args)
{
	return verbose || level == LIBBPF_WARN ? vfprintf(stderr, format, args) : 0;
}

static struct offwaketime_bpf *load(const struct options *options)
{
	struct offwaketime_bpf *skel = offwaketime_bpf__open();
	int err;

	if (!skel) {
		fprintf(stderr, "offwaketime: BPF object: %s\n", strerror(errno));
		return NULL;
	}
	skel->rodata->only_tgid = options->pid;
	skel->rodata->own_tgid = getpid();
	skel->rodata->min_ns = options->min_us * 1000;
	err = bpf_map__set_max_entries(skel->maps.stacks, options->max_stacks);
	if (!err)
		err = offwaketime_bpf__load(skel);
	if (!err)
		err = offwaketime_bpf__attach(skel);
	if (err) {
		fprintf(stderr, "offwaketime: cannot load or attach the BPF programs: %s\n",
			strerror(-err));
		offwaketime_bpf__destroy(skel);
		return NULL;
	}
	return skel;
}

/* Processes may be gone at the end: note their maps while they are there. */
static void note_processes(struct offwaketime_bpf *skel)
{
	int fd = bpf_map__fd(skel->maps.sums);
	struct interval_key key, next;
	uint32_t last = 0;
	int err;

	for (err = bpf_map_get_next_key(fd, NULL, &next); !err;
	     err = bpf_map_get_next_key(fd, &key, &next)) {
		key = next;
		if (key.target.tgid != last)
			user_symbols_note(key.target.tgid);
		if (key.waker.tgid != key.target.tgid && key.waker.stacks.user >= 0)
			user_symbols_note(key.waker.tgid);
		last = key.target.tgid;
	}
}

static void wait_for_end(struct offwaketime_bpf *skel, unsigned int seconds)
{
	const struct timespec step = { .tv_nsec = 200000000 };
	struct timespec start, now;

	clock_gettime(CLOCK_MONOTONIC, &start);
	while (!stop) {
		nanosleep(&step, NULL);
		note_processes(skel);
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (seconds && (now.tv_sec - start.tv_sec) * 1000 +
			       (now.tv_nsec - start.tv_nsec) / 1000000 >= seconds * 1000)
			break;
	}
}

/* Say on stderr what is missing; whether something is. */
static bool print_losses(const struct offwaketime_bpf *skel, const struct report *report)
{
	static const char * const names[LOSSES] = {
		[LOST_EEXIST] = "stacks lost, their slot was taken (map stacks)",
		[LOST_ENOMEM] = "stacks lost, no memory or no entry left (map stacks)",
		[LOST_OTHER] = "stacks lost, other errors (map stacks)",
		[LOST_TASK] = "waits lost, no room for the task (map tasks)",
		[LOST_SUM] = "waits lost, no room for the pair (map sums)",
	};
	uint64_t lost = report->unknown;

	for (int i = 0; i < LOSSES; i++)
		lost += skel->bss->losses[i];
	fprintf(stderr, "offwaketime: %lu pairs of stacks, %llu losses\n", report->pairs,
		(unsigned long long)lost);
	for (int i = 0; i < LOSSES; i++) {
		if (skel->bss->losses[i])
			fprintf(stderr, "offwaketime: %llu %s\n",
				(unsigned long long)skel->bss->losses[i], names[i]);
	}
	if (verbose)
		fprintf(stderr, "offwaketime: %llu times about to wait but not blocked\n",
			(unsigned long long)skel->bss->not_blocked);
	if (report->unknown)
		fprintf(stderr, "offwaketime: %lu ids unknown when read (map stacks)\n",
			report->unknown);
	return lost;
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_signal };
	struct options options = parse(argc, argv);
	struct report report = { .depth = DEPTH, .folded = options.folded };
	struct offwaketime_bpf *skel;
	bool lost = true;
	int err;

	verbose = options.verbose;
	libbpf_set_print(print_libbpf);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	err = kernel_symbols_open();
	if (err)
		fprintf(stderr, "offwaketime: /proc/kallsyms: %s\n", strerror(-err));
	skel = load(&options);
	if (!skel)
		return 1;
	fprintf(stderr, "offwaketime: recording\n");
	wait_for_end(skel, options.seconds);
	offwaketime_bpf__detach(skel);

	note_processes(skel);
	report.stacks = bpf_map__fd(skel->maps.stacks);
	report.sums = bpf_map__fd(skel->maps.sums);
	err = report_print(&report);
	if (err)
		fprintf(stderr, "offwaketime: report: %s\n", strerror(-err));
	lost = print_losses(skel, &report);
	offwaketime_bpf__destroy(skel);
	user_symbols_close();
	kernel_symbols_close();
	return err || lost;
}
