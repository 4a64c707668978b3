// SPDX-License-Identifier: GPL-2.0
/* sframe cache: tables of many objects, by build-id */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cache.h"
#include "cache_list.h"
#include "tool.h"

static const char help[] =
"usage: sframe cache [OPTION]... [FILE|DIRECTORY]...\n"
"\n"
"Fill the cache with SFrame tables for x86-64 programs and libraries.  A table\n"
"is found by its object's build-id, so it serves each copy of the object, and\n"
"a new version of the object gets a table of its own.  What is there already is\n"
"left alone.  libsframe-audit.so and 'sframe run' read the cache.\n"
"\n"
"  -a, --all            all below /usr/bin, /usr/sbin, /usr/lib, /usr/libexec,\n"
"                       /usr/local and /opt\n"
"  -r, --running        what processes that you may look into have mapped\n"
"  -c, --cache-dir DIR  fill DIR\n"
"  -f, --format v2|v3   version of the format (v2, which is what kernels read)\n"
"  -j, --jobs N         files at a time (one a processor)\n"
"  -t, --timeout S      seconds that one file may take (300)\n"
"  -q, --quiet          no progress, no sums; errors only\n"
"  -h, --help           this text\n"
"\n"
"Links in a DIRECTORY are not followed, and files that are no x86-64 programs\n"
"or libraries are passed over.  A file without build-id or without unwind\n"
"information is counted as skipped.  A table appears under its name when it is\n"
"complete, so the cache may be filled by several at a time, be read meanwhile,\n"
"and the command be interrupted.\n"
"\n"
"files:\n"
"  /var/cache/sframe            root's, for everybody\n"
"  $XDG_CACHE_HOME/sframe       any other user's; where that is not set:\n"
"  $HOME/.cache/sframe\n"
"\n"
"Exit status: 0 done, 1 failed for a file or for all, 2 wrong usage.\n"
"\n"
"examples:\n"
"  sframe cache --all\n"
"  sframe cache --running --jobs 2\n"
"  sframe cache --cache-dir /tmp/tables ./prog ./libs\n";

static const struct option long_options[] = {
	{ "all", no_argument, NULL, 'a' },
	{ "running", no_argument, NULL, 'r' },
	{ "cache-dir", required_argument, NULL, 'c' },
	{ "format", required_argument, NULL, 'f' },
	{ "jobs", required_argument, NULL, 'j' },
	{ "timeout", required_argument, NULL, 't' },
	{ "quiet", no_argument, NULL, 'q' },
	{ "help", no_argument, NULL, 'h' },
	{ }
};

static const char * const all_dirs[] = {
	"/usr/bin", "/usr/sbin", "/usr/lib", "/usr/libexec", "/usr/local",
	"/opt",
};

enum outcome {
	WRITTEN,
	PRESENT,
	NO_BUILD_ID,
	NO_CFI,
	NO_PROGRAM,
	FAILED,
	NUM_OUTCOMES,
};

/**
 * struct fill - what became of one file
 * @bytes:	Size of the table's file, where one was written.
 * @error:	What failed; empty: it has been told.
 */
struct fill {
	enum outcome	outcome;
	u64		bytes;
	char		error[128];
};

struct cache_options {
	const char	*dir;
	enum format	format;
	unsigned int	jobs;
	unsigned int	seconds;
	bool		all;
	bool		running;
	bool		quiet;
};

/* The run's options, for the workers, and its sums, for the parent. */
static struct cache_options options;
static size_t outcomes[NUM_OUTCOMES];
static size_t num_done, num_files;
static u64 written_bytes;
static double started, last_progress;

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static enum outcome fail(struct fill *fill, const char *error)
{
	snprintf(fill->error, sizeof(fill->error), "%s", error);
	return FAILED;
}

/* Nothing is to be left over by an interruption, not even under another name. */
static void hold_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGQUIT);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

static enum outcome write_table(struct fill *fill, const struct object *obj,
				const char *name)
{
	struct cfi cfi = { };
	struct stat st;
	const char *error;
	int err;

	if (!cfi_read(obj, &cfi)) {
		error = cfi.error;
	} else {
		hold_signals();
		err = make_directories(name);
		error = err ? strerror(-err) :
			cache_write(obj, &cfi, options.format, name);
	}
	if (error)
		fail(fill, error);
	else if (!stat(name, &st))
		fill->bytes = st.st_size;
	cfi_free(&cfi);
	return error ? FAILED : WRITTEN;
}

static enum outcome fill_object(struct fill *fill, const struct object *obj)
{
	enum outcome outcome = PRESENT;
	char *name;

	if (obj->build_id_size < SFRAME_MIN_ID)
		return NO_BUILD_ID;
	name = cache_file_name(options.dir, obj, options.format);
	if (!name)
		return fail(fill, "out of memory");
	if (!cache_file_fits(name, obj, options.format))
		outcome = write_table(fill, obj, name);
	free(name);
	return outcome;
}

static void work(const char *name, void *result)
{
	struct fill *fill = result;
	struct object obj;

	switch (object_open(&obj, name)) {
	case OBJECT_OK:
		fill->outcome = fill_object(fill, &obj);
		break;
	case OBJECT_NO_CFI:
		fill->outcome = NO_CFI;
		break;
	case OBJECT_DAMAGED:
		fill->outcome = fail(fill, obj.error);
		break;
	default:
		fill->outcome = NO_PROGRAM;
		break;
	}
	object_close(&obj);
}

static void tell_failure(const struct job *job)
{
	const struct fill *fill = job->result;

	if (job->signal == SIGALRM)
		complain(job->name, "takes too long; give it more by --timeout");
	else if (job->signal > 0)
		complain(job->name, "the worker was ended by signal %d (%s); the file is damaged",
			 job->signal, strsignal(job->signal));
	else if (job->signal)
		complain(job->name, "the worker ended without a result; the file is damaged");
	else if (*fill->error)
		complain(job->name, "%s; it gets no table", fill->error);
}

/* On a terminal the line is written over, else there is one in two seconds. */
static void show_progress(void)
{
	bool terminal = isatty(STDERR_FILENO);
	double time = now();

	if (options.quiet || time - last_progress < (terminal ? 0.1 : 2))
		return;
	last_progress = time;
	fprintf(stderr, "%s%zu of %zu files%s", terminal ? "\r" : "", num_done,
		num_files, terminal ? "" : "\n");
}

static void clear_progress(void)
{
	if (!options.quiet && isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
}

static void done(const struct job *job)
{
	const struct fill *fill = job->result;
	enum outcome outcome = job->signal ? FAILED : fill->outcome;

	outcomes[outcome]++;
	written_bytes += fill->bytes;
	if (outcome == FAILED) {
		clear_progress();
		tell_failure(job);
	}
	num_done++;
	show_progress();
}

static void print_sums(void)
{
	size_t skipped = outcomes[NO_BUILD_ID] + outcomes[NO_CFI] +
			 outcomes[NO_PROGRAM];

	clear_progress();
	printf("%s: %zu files: %zu written (%.1f MB), %zu there already, %zu skipped",
	       options.dir, num_files, outcomes[WRITTEN], written_bytes / 1e6,
	       outcomes[PRESENT], skipped);
	if (skipped)
		printf(" (%zu without build-id, %zu without unwind data, %zu no program)",
		       outcomes[NO_BUILD_ID], outcomes[NO_CFI],
		       outcomes[NO_PROGRAM]);
	printf(", %zu failed; %.1f s\n", outcomes[FAILED], now() - started);
}

static int fill_all(struct file_list *list)
{
	struct fill *fills = calloc(list->count + 1, sizeof(*fills));
	struct job *jobs = calloc(list->count + 1, sizeof(*jobs));

	if (!fills || !jobs)
		return complain("cache", "out of memory");
	num_files = list->count;
	for (size_t i = 0; i < list->count; i++)
		jobs[i] = (struct job){ .name = list->names[i],
					.result = &fills[i] };
	pool_run(jobs, list->count, sizeof(*fills), options.jobs,
		 options.seconds, work, done);
	if (!options.quiet)
		print_sums();
	free(fills);
	free(jobs);
	return outcomes[FAILED] ? EXIT_FAILED : EXIT_OK;
}

/*
 * What root's cache says of a program, the kernel believes for everybody who
 * runs it.
 */
static int prepare_dir(void)
{
	char *inside;
	struct stat st;
	int err;

	if (asprintf(&inside, "%s/", options.dir) < 0)
		return complain(options.dir, "out of memory");
	umask(022);
	err = make_directories(inside);
	free(inside);
	if (!err && stat(options.dir, &st))
		err = -errno;
	if (!err && access(options.dir, W_OK | X_OK))
		err = -errno;
	if (err)
		return complain(options.dir, "%s; name another directory by --cache-dir",
				strerror(-err));
	if (!geteuid() && (st.st_uid || (st.st_mode & 022)))
		return complain(options.dir, "others can write there; make it root's, mode 0755");
	return EXIT_OK;
}

static bool parse_number(const char *text, unsigned int max, unsigned int *to)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || !value || value > max)
		return false;
	*to = value;
	return true;
}

static int usage(void)
{
	fputs("Try 'sframe cache --help'.\n", stderr);
	return EXIT_USAGE;
}

static bool take_option(int c)
{
	switch (c) {
	case 'a':
		options.all = true;
		break;
	case 'r':
		options.running = true;
		break;
	case 'c':
		options.dir = optarg;
		return *optarg;
	case 'f':
		return parse_format(optarg, &options.format);
	case 'j':
		return parse_number(optarg, 1024, &options.jobs);
	case 't':
		return parse_number(optarg, 86400, &options.seconds);
	case 'q':
		options.quiet = true;
		break;
	}
	return true;
}

static void make_list(struct file_list *list, char **names, int count)
{
	for (size_t i = 0; options.all && i < ARRAY_SIZE(all_dirs); i++)
		list_add_tree(list, all_dirs[i]);
	if (options.running)
		list_add_running(list);
	for (int i = 0; i < count; i++)
		list_add_named(list, names[i]);
}

static int run(char **names, int count)
{
	struct file_list list = { };
	char *own_dir = NULL;
	int ret;

	if (!options.dir)
		own_dir = cache_default_dir();
	if (own_dir)
		options.dir = own_dir;
	if (!options.dir)
		return complain("cache", "no XDG_CACHE_HOME and no HOME is set; give --cache-dir");
	ret = prepare_dir();
	if (!ret) {
		started = now();
		last_progress = started;
		make_list(&list, names, count);
		ret = fill_all(&list);
	}
	list_free(&list);
	free(own_dir);
	return ret;
}

int cache_main(int argc, char **argv)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	int c;

	options = (struct cache_options){
		.format = FORMAT_V2,
		.jobs = processors > 0 ? processors : 1,
		.seconds = 300,
	};
	while ((c = getopt_long(argc, argv, "arc:f:j:t:qh", long_options,
				NULL)) != -1) {
		if (c == 'h') {
			fputs(help, stdout);
			return EXIT_OK;
		}
		if (c == '?')
			return usage();
		if (!take_option(c)) {
			complain("cache", "'%s' is not a value for that option",
				 optarg);
			return usage();
		}
	}
	if (optind == argc && !options.all && !options.running) {
		complain("cache", "nothing to do; name files, --running or --all");
		return usage();
	}
	return run(argv + optind, argc - optind);
}
