// SPDX-License-Identifier: GPL-2.0
/* sframe cache: tables of many objects, by build-id */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
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
"  -a, --all            the whole system: all below /usr, /opt, /bin, /sbin, /lib,\n"
"                       /lib64, /libx32 and the directories that /etc/ld.so.conf\n"
"                       names, and what is in the directories of PATH\n"
"  -r, --running        what processes have mapped executable; root sees all but\n"
"                       what containers have to themselves, others their own\n"
"  -R, --root DIR       --all of the system whose root directory is DIR\n"
"  -c, --cache-dir DIR  fill DIR\n"
"  -f, --format v2|v3   version of the format (v3, which programs look for)\n"
"  -j, --jobs N         files at a time (one a processor)\n"
"  -t, --timeout S      seconds that one file may take (300)\n"
"  -p, --progress       tell the progress also where standard error is no terminal\n"
"  -v, --verbose        name what is skipped, and why\n"
"  -q, --quiet          no progress, no sums; errors only\n"
"  -h, --help           this text\n"
"\n"
"Links are followed to files, but in a DIRECTORY not to other directories.  Files\n"
"that are no x86-64 programs or libraries are passed over.  A file with many names\n"
"is read once; copies of an object share its table, which is there already for the\n"
"second.  What has no build-id cannot be told from other objects when it runs: it\n"
"is skipped and counted, as is what has no unwind information; link it with\n"
"--build-id.  Of what --all and --running find, and of what is below a DIRECTORY,\n"
"root takes only files that nobody else may change, on file systems that are not\n"
"mounted nosuid: whoever could put a file there would choose the table of any\n"
"build-id.  A FILE that is named is taken whosever it is.  A table that others than\n"
"root and the caller may write is made anew.\n"
"\n"
"Each file is read by a process of its own, which no other file suffers from.  A\n"
"table appears under its name when it is complete, so the cache may be filled by\n"
"several at a time, be read meanwhile, and the command be interrupted: what is\n"
"there then is whole, and the next run goes on from it.\n"
"\n"
"files:\n"
"  /var/cache/sframe            root's, for everybody\n"
"  $XDG_CACHE_HOME/sframe       any other user's; where that is not set:\n"
"  $HOME/.cache/sframe\n"
"\n"
"Exit status: 0 done, 1 a file failed, or could not be read though the caller has\n"
"the right to, or all failed; 2 wrong usage; 130 in a shell when interrupted.\n"
"\n"
"examples:\n"
"  sframe cache --all\n"
"  sframe cache --running --jobs 2\n"
"  sframe cache --cache-dir /tmp/tables ./prog ./libs\n";

static const struct option long_options[] = {
	{ "all", no_argument, NULL, 'a' },
	{ "running", no_argument, NULL, 'r' },
	{ "root", required_argument, NULL, 'R' },
	{ "cache-dir", required_argument, NULL, 'c' },
	{ "format", required_argument, NULL, 'f' },
	{ "jobs", required_argument, NULL, 'j' },
	{ "timeout", required_argument, NULL, 't' },
	{ "progress", no_argument, NULL, 'p' },
	{ "verbose", no_argument, NULL, 'v' },
	{ "quiet", no_argument, NULL, 'q' },
	{ "help", no_argument, NULL, 'h' },
	{ }
};

enum outcome {
	WRITTEN,
	PRESENT,
	NO_BUILD_ID,
	NO_CFI,
	NO_PROGRAM,
	FOREIGN,
	GONE,
	FAILED,
	NUM_OUTCOMES,
};

/* Why a file is skipped; NULL: it is not. */
static const char * const skipped_for[NUM_OUTCOMES] = {
	[NO_BUILD_ID] = "no build-id, by which its table would be found",
	[NO_CFI] = "no unwind information",
	[NO_PROGRAM] = "not an x86-64 program or library",
	[FOREIGN] = "others than root may change it, or it is on a nosuid file system",
	[GONE] = "it is gone",
};

/**
 * struct fill - what became of one file
 * @found:	Set before: the user did not name it.
 * @outcome:	What became of it.
 * @bytes:	Size of the table's file, where one was written.
 * @read:	Size of the file, where its unwind information was read.
 * @error:	What failed; empty: it has been told.
 */
struct fill {
	bool		found;
	enum outcome	outcome;
	u64		bytes;
	u64		read;
	char		error[128];
};

struct cache_options {
	const char	*dir;
	const char	*root;
	enum format	format;
	unsigned int	jobs;
	unsigned int	seconds;
	bool		all;
	bool		running;
	bool		progress;
	bool		verbose;
	bool		quiet;
};

/* The run's options, for the workers, and its sums, for the parent. */
static struct cache_options options;
static size_t outcomes[NUM_OUTCOMES];
static size_t num_done, num_files;
static u64 written_bytes, read_bytes;
static double started, last_progress;
/* Progress: a line that is written over, or new ones. */
static bool terminal;

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

/*
 * Copies of an object share a table, and may be at work at the same time: the later
 * one finds the table there.
 */
static enum outcome write_once(struct fill *fill, const struct object *obj,
			       const struct cfi *cfi, const char *name)
{
	int lock = lock_directory(name);
	enum outcome outcome = PRESENT;
	const char *error;
	struct stat st;

	if (!cache_file_fits(name, obj, options.format)) {
		error = cache_write(obj, cfi, options.format, name);
		outcome = error ? fail(fill, error) : WRITTEN;
	}
	if (outcome == WRITTEN && !stat(name, &st))
		fill->bytes = st.st_size;
	if (lock >= 0)
		close(lock);
	return outcome;
}

static enum outcome write_table(struct fill *fill, const struct object *obj,
				const char *name)
{
	enum outcome outcome;
	struct cfi cfi = { };
	int err;

	fill->read = obj->file_size;
	if (!cfi_read(obj, &cfi)) {
		outcome = fail(fill, cfi.error);
	} else {
		err = make_directories(name);
		outcome = err ? fail(fill, strerror(-err)) :
			  write_once(fill, obj, &cfi, name);
	}
	cfi_free(&cfi);
	return outcome;
}

/*
 * A table is chosen by a build-id that the object claims to have, so a user's
 * file could claim that of the C library.  The open file is asked, not its name.
 * On media that users mount, and from servers of others, root owns what the file
 * system says: what root has mounted nosuid, it does not believe in that either.
 */
static bool is_foreign(const struct fill *fill, const struct object *obj)
{
	struct statvfs fs;
	struct stat st;

	if (!fill->found || geteuid())
		return false;
	return fstat(obj->fd, &st) || st.st_uid || (st.st_mode & 022) ||
	       fstatvfs(obj->fd, &fs) || (fs.f_flag & ST_NOSUID);
}

static enum outcome fill_object(struct fill *fill, const struct object *obj)
{
	enum outcome outcome = PRESENT;
	char *name;

	if (is_foreign(fill, obj))
		return FOREIGN;
	/* It has the build-id of the program that it was taken from. */
	if (obj->detached)
		return NO_PROGRAM;
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
	case OBJECT_GONE:
		/* Files come and go while others are read. */
		fill->outcome = fill->found ? GONE : fail(fill, obj.error);
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
	double time = now(), least = terminal ? 0.1 : 2;

	if (!options.progress ||
	    (time - last_progress < least && num_done < num_files))
		return;
	last_progress = time;
	fprintf(stderr, "%s%zu of %zu files, %zu written%s",
		terminal ? "\r" : "sframe: ", num_done, num_files,
		outcomes[WRITTEN], terminal ? "" : "\n");
}

static void clear_progress(void)
{
	if (options.progress && terminal)
		fputs("\r\033[K", stderr);
}

static void done(const struct job *job)
{
	const struct fill *fill = job->result;
	enum outcome outcome = job->signal ? FAILED : fill->outcome;

	outcomes[outcome]++;
	if (!job->signal) {
		written_bytes += fill->bytes;
		read_bytes += fill->read;
	}
	if (outcome == FAILED) {
		clear_progress();
		tell_failure(job);
	} else if (options.verbose && skipped_for[outcome]) {
		clear_progress();
		printf("%s: %s\n", job->name, skipped_for[outcome]);
	}
	num_done++;
	show_progress();
}

static void print_skipped(void)
{
	size_t skipped = 0;

	for (int i = 0; i < NUM_OUTCOMES; i++)
		if (skipped_for[i])
			skipped += outcomes[i];
	printf(", %zu skipped", skipped);
	if (!skipped)
		return;
	printf(" (%zu without build-id, %zu without unwind data, %zu no program",
	       outcomes[NO_BUILD_ID], outcomes[NO_CFI], outcomes[NO_PROGRAM]);
	if (outcomes[FOREIGN])
		printf(", %zu that others may change", outcomes[FOREIGN]);
	if (outcomes[GONE])
		printf(", %zu gone", outcomes[GONE]);
	putchar(')');
}

static void print_sums(const struct file_list *list)
{
	double seconds = now() - started;

	clear_progress();
	printf("%s: %zu files: %zu written (%.1f MB), %zu there already",
	       options.dir, num_files, outcomes[WRITTEN], written_bytes / 1e6,
	       outcomes[PRESENT]);
	print_skipped();
	if (list->no_right)
		printf(", %zu not readable", list->no_right);
	printf(", %zu failed; %.1f MB read in %.1f s, %.1f MB/s\n",
	       outcomes[FAILED] + list->failed, read_bytes / 1e6, seconds,
	       seconds > 0 ? read_bytes / 1e6 / seconds : 0);
}

/* Root has the right to read all there is. */
static bool has_failed(const struct file_list *list)
{
	return outcomes[FAILED] || list->failed ||
	       (list->no_right && !geteuid());
}

/* The first @num_named of the list are those that the user named. */
static int fill_all(struct file_list *list, size_t num_named)
{
	struct fill *fills = calloc(list->count + 1, sizeof(*fills));
	struct job *jobs = calloc(list->count + 1, sizeof(*jobs));

	if (!fills || !jobs)
		return complain("cache", "out of memory");
	num_files = list->count;
	for (size_t i = 0; i < list->count; i++) {
		fills[i].found = i >= num_named;
		jobs[i] = (struct job){ .name = list->names[i],
					.result = &fills[i] };
	}
	pool_run(jobs, list->count, sizeof(*fills), options.jobs,
		 options.seconds, work, done);
	if (!options.quiet)
		print_sums(list);
	free(fills);
	free(jobs);
	return has_failed(list) ? EXIT_FAILED : EXIT_OK;
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
	case 'R':
		options.root = optarg;
		return *optarg;
	case 'p':
		options.progress = true;
		break;
	case 'v':
		options.verbose = true;
		break;
	case 'q':
		options.quiet = true;
		break;
	}
	return true;
}

/* Returns how many of the list were named; the others were found. */
static size_t make_list(struct file_list *list, char **names, int count)
{
	size_t num_named;

	/* First: a file that is named and found as well is one that is named. */
	for (int i = 0; i < count; i++)
		list_add_file(list, names[i]);
	num_named = list->count;
	if (options.all)
		list_add_system(list);
	if (options.running)
		list_add_running(list);
	for (int i = 0; i < count; i++)
		list_add_below(list, names[i]);
	return num_named;
}

static int fill_cache(char **names, int count)
{
	struct file_list list = { };
	int ret = list_set_root(&list, options.root);

	started = now();
	last_progress = started;
	if (!ret)
		ret = fill_all(&list, make_list(&list, names, count));
	list_free(&list);
	return ret;
}

static int run(char **names, int count)
{
	char *own_dir = NULL;
	int ret;

	if (!options.dir)
		own_dir = cache_default_dir();
	if (own_dir)
		options.dir = own_dir;
	if (!options.dir)
		return complain("cache", "no XDG_CACHE_HOME and no HOME is set; give --cache-dir");
	terminal = isatty(STDERR_FILENO);
	options.progress = (options.progress || terminal) && !options.quiet;
	ret = prepare_dir();
	if (!ret)
		ret = fill_cache(names, count);
	free(own_dir);
	return ret;
}

int cache_main(int argc, char **argv)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	int c;

	options = (struct cache_options){
		.format = FORMAT_DEFAULT,
		.jobs = processors > 0 ? processors : 1,
		.seconds = 300,
	};
	while ((c = getopt_long(argc, argv, "arR:c:f:j:t:pvqh", long_options,
				NULL)) != -1) {
		if (c == 'h') {
			fputs(help, stdout);
			return EXIT_OK;
		}
		if (c == '?')
			return EXIT_USAGE;
		if (!take_option(c)) {
			complain("cache", "'%s' is not a value for that option",
				 optarg);
			return EXIT_USAGE;
		}
	}
	if (optind == argc && !options.all && !options.running) {
		complain("cache", "nothing to do; name files, --running or --all");
		return EXIT_USAGE;
	}
	if (options.root && !options.all) {
		complain("cache", "--root is for --all; give that, too");
		return EXIT_USAGE;
	}
	return run(argv + optind, argc - optind);
}
