// SPDX-License-Identifier: GPL-2.0
/* sframe cache: fills a directory with the tables of many objects */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/complain.h"
#include "base/grow.h"
#include "base/options.h"
#include "base/pool.h"
#include "base/sandbox.h"
#include "base/text.h"
#include "cache/index.h"
#include "cache/keep.h"
#include "cache/list.h"
#include "cache/path.h"
#include "cache/reader.h"
#include "cache/system.h"
#include "cfi/debug.h"
#include "command.h"
#include "table/file.h"

static const char help[] =
"usage: sframe cache [OPTION]... [FILE|DIRECTORY]...\n"
"       sframe cache --list [--json] [--cache-dir DIR]\n"
"       sframe cache --prune [--dry-run] [--cache-dir DIR] [FILE|DIRECTORY]...\n"
"\n"
"Fill the cache with SFrame tables for x86-64 programs and libraries.  The build-id of\n"
"an object names its table, so one table serves all copies of the object, and a new\n"
"version of the object gets a table of its own.  Tables that are in the cache stay as\n"
"they are.  If the sysctl kernel.unwind_table_path names the cache, the kernel looks\n"
"there for the tables of files that carry none.  It accepts only tables that belong to\n"
"root and that nobody else may write.\n"
"\n"
"  -a, --all            read the whole system: all below /usr, /opt, /bin, /sbin, /lib,\n"
"                       /lib64, /libx32 and the directories that /etc/ld.so.conf\n"
"                       names, and the files in the directories of PATH\n"
"  -r, --running        read the files that processes have mapped executable; root sees\n"
"                       all but those that only containers have, others their own\n"
"  -R, --root DIR       with --all: read the system whose root directory is DIR, which\n"
"                       may be /proc/PID/root\n"
"  -x, --exclude DIR    leave out what is below the directory DIR, an absolute name, when\n"
"                       --all, --prune or a DIRECTORY comes to it; may be repeated\n"
"      --list           list the tables in the cache, the files that they were made from,\n"
"                       and why the kernel would refuse one\n"
"      --json           list them as JSON\n"
"      --prune          remove the tables that no object needs, those of earlier\n"
"                       versions of sframe, and the remains of interrupted writes\n"
"      --no-index       do not make the index of the cache: for the files of a package,\n"
"                       whose tables are one part of a directory\n"
"      --debug-dir DIR  look in DIR for separate debug files (/usr/lib/debug, below the\n"
"                       root directory that --root names; with --no-index, nowhere)\n"
"  -n, --dry-run        print what would be written or removed, and do nothing\n"
"  -c, --cache-dir DIR  use the cache DIR (/var/cache/sframe)\n"
"  -j, --jobs N         read N files at a time (one for each processor)\n"
"  -t, --timeout S      allow S seconds for each file (300)\n"
"  -p, --progress       show the progress even if standard error is not a terminal\n"
"  -v, --verbose        list the files that are skipped, with the reason\n"
"  -q, --quiet          print errors only: no progress, no sums\n"
"  -h, --help           this text\n"
"\n"
"--all and --prune leave out what NFS, SMB, AFS, Ceph, Lustre or FUSE has mounted\n"
"below the system's directories, unless you name it: a server that is down would stop the\n"
"run.  They read /usr and the root directory from wherever these are.\n"
"\n"
"sframe follows links to files, but inside a DIRECTORY not to other directories.  It\n"
"ignores files that are not x86-64 programs or libraries.  It reads a file with many\n"
"names once.  A table is found by the build-id of its file, or by a hash of the file's\n"
"headers.  A table is made from .eh_frame, even if the file has one of its own: that may\n"
"lack functions, and the kernel reads it only if it is small.  Functions that it lacks may\n"
"be in .debug_frame, of the file or of its separate debug file, which packages of debug\n"
"symbols have: DIR/.build-id/xx/yyyy.debug.  Code that neither describes is followed, as\n"
"'sframe gen --help' says.  If the file has neither, its own table (PT_GNU_SFRAME) is copied;\n"
"or all of its code is followed, unless that keeps frame pointers, or is more than 16 MiB.\n"
"\n"
"Objects with one build-id but other addresses of code get a table each.\n"
"\n"
"The build-id in a file decides for which objects its table is used, so a user's file\n"
"could claim the build-id of any library.  Root therefore takes the files that --all and\n"
"--running find, and those below a DIRECTORY, only if nobody else may change them and\n"
"their file system is not mounted nosuid.  A FILE that you name is always taken.  sframe\n"
"writes a table again if it is damaged, or if others than root and the caller may write\n"
"to it.  The table of a FILE, or of a file below DIR, never replaces that of one of the\n"
"system's own files, below /usr for example, whose build-id it has.\n"
"\n"
"--list names the file that a table was made from, and says how much of the file's text\n"
"has no row.  In that text, a stack goes on only where functions keep frame pointers, or\n"
"where the return address is on top of the stack.  Everybody can read a table, so it has no\n"
"name if the file is in a directory that others may not search; nor with --no-index.  Tables\n"
"of earlier versions of sframe say nothing of both.\n"
"\n"
"Many files may share a table.  --prune keeps it if its build-id and addresses of code are\n"
"those of a file that --all finds, that a process that you may inspect has mapped (also a\n"
"deleted file, or one of a container), or that you name or that lies below a DIRECTORY.  So\n"
"name the files that you named when you filled the cache.  If one of these files cannot be\n"
"read, nothing is removed.  You can prune only your own cache.\n"
"\n"
"At its end, each run makes the index of the cache, DIR/index.v4, say which tables are\n"
"there.  The kernel looks for no others.  It reads the index when the sysctl\n"
"kernel.unwind_table_path is written, even with the same path.\n"
"\n"
"A process of its own reads each file, so a damaged file does no harm to others.  For\n"
"root, it runs as user 65534, without capabilities; for all, it can only read and write\n"
"what is open and see the properties of files, and the kernel kills it if it tries more.\n"
"\n"
"A table appears under its name when it is complete.  So several runs may fill the cache at\n"
"a time, others may read it meanwhile, and you may interrupt a run: all tables in the\n"
"cache are complete, and the next run continues and makes the index.\n"
"\n"
"The Debian package does all this by itself in sframe-cache.service: after each change of\n"
"packages, daily (sframe-cache.timer), and after a start if the last run was interrupted\n"
"(sframe-cache-boot.timer).  /etc/default/sframe names what else gets tables (ALSO) and\n"
"directories that are left out (EXCLUDE).  'systemctl mask' of these three turns it off.\n"
"\n"
"Exit status: 0 done; 1 a file failed, a FILE that you name got no table and does not keep\n"
"frame pointers, the index could not be written, or a file could not be read for another reason than that the caller lacks\n"
"the right to; 2 wrong usage; 130 in a shell when interrupted.  If the disk is full,\n"
"sframe stops at once.\n"
"\n"
"examples:\n"
"  sframe cache --all && sysctl kernel.unwind_table_path=/var/cache/sframe\n"
"  sframe cache --running --jobs 2\n"
"  sframe cache --cache-dir /tmp/tables ./prog ./libs\n"
"  sframe cache --list | grep refused\n"
"  sframe cache --prune --dry-run /srv/app\n";

/* Options that have no letter. */
enum {
	OPTION_LIST = 256,
	OPTION_JSON,
	OPTION_PRUNE,
	OPTION_NO_INDEX,
	OPTION_DEBUG_DIR,
};

static const struct option long_options[] = {
	{ "all", no_argument, NULL, 'a' },
	{ "running", no_argument, NULL, 'r' },
	{ "root", required_argument, NULL, 'R' },
	{ "exclude", required_argument, NULL, 'x' },
	{ "list", no_argument, NULL, OPTION_LIST },
	{ "json", no_argument, NULL, OPTION_JSON },
	{ "prune", no_argument, NULL, OPTION_PRUNE },
	{ "no-index", no_argument, NULL, OPTION_NO_INDEX },
	{ "debug-dir", required_argument, NULL, OPTION_DEBUG_DIR },
	{ "dry-run", no_argument, NULL, 'n' },
	{ "cache-dir", required_argument, NULL, 'c' },
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
	MISSING,
	NO_CFI,
	FRAMED,
	BAD_OWN,
	NO_PROGRAM,
	FOREIGN,
	GONE,
	FAILED,
	NUM_OUTCOMES,
};

/* Why a file is skipped; NULL for outcomes that do not skip it. */
static const char * const skipped_for[NUM_OUTCOMES] = {
	[NO_CFI] = "no unwind information, and no code that can be followed",
	[FRAMED] = "no unwind information, but frame pointers, which the kernel follows",
	[BAD_OWN] = "no .eh_frame, and the kernel does not read its own table",
	[NO_PROGRAM] = "not an x86-64 program or library",
	[FOREIGN] = "others than root may change it, or it is on a nosuid file system",
	[GONE] = "it was deleted meanwhile",
};

/* What the user can do about a file that he named. */
static const char * const remedy_for[NUM_OUTCOMES] = {
	[NO_CFI] = "compile it with -fasynchronous-unwind-tables",
	[BAD_OWN] = "compile it with -fasynchronous-unwind-tables",
	[NO_PROGRAM] = "leave it out",
};

/**
 * struct fill - the result of making one file's table
 * @found:	sframe found the file, the user did not name it; set before the worker runs.
 * @system:	--all found it in the running system; set before the worker runs.
 * @outcome:	The result.
 * @signal:	As struct job has it, but of the reader.
 * @full:	The errno if there is no room for any table, or 0.
 * @bytes:	Size of the table's file, if the worker has written one.
 * @read:	Size of the file, if the worker has read its unwind information.
 * @error:	What failed; empty if it was reported.
 */
struct fill {
	bool		found;
	bool		system;
	enum outcome	outcome;
	int		signal;
	int		full;
	u64		bytes;
	u64		read;
	char		error[640];
};

struct cache_options {
	const char	*dir;
	const char	*root;
	const char	*debug_dir;
	char		**excludes;
	size_t		num_excludes;
	unsigned int	jobs;
	unsigned int	seconds;
	bool		all;
	bool		running;
	bool		list;
	bool		json;
	bool		prune;
	bool		no_index;
	bool		dry_run;
	bool		progress;
	bool		verbose;
	bool		quiet;
};

/* The options, which the workers read, and the sums, which the parent counts. */
static struct cache_options options;
static size_t outcomes[NUM_OUTCOMES];
static size_t num_done, num_files;
static u64 written_bytes, read_bytes;
static double started, last_progress;
/* Progress overwrites one line on a terminal; elsewhere it prints new lines. */
static bool terminal;

static enum outcome fill_fail(struct fill *fill, const char *error)
{
	snprintf(fill->error, sizeof(fill->error), "%s", error);
	return FAILED;
}

static bool is_without_room(int error)
{
	return error == ENOSPC || error == EDQUOT || error == EROFS;
}

/* @err: a negative errno of writing */
static enum outcome fill_unwritten(struct fill *fill, int err)
{
	if (is_without_room(-err))
		fill->full = -err;
	return fill_fail(fill, err == -E2BIG ? "the table would exceed 4 GiB" : strerror(-err));
}

static enum outcome fill_refuse(struct fill *fill, const char *name)
{
	snprintf(fill->error, sizeof(fill->error),
		 "the table for its build-id is that of a file of the system, which stays; if the system has no such file, remove %s first",
		 name);
	return FAILED;
}

/* If the first name was of no use until now, the table may be by the second one, too. */
static void drop_second(const struct sframe_file *object, const char *written)
{
	char *second = cache_file_name(options.dir, object, PLACE_LAYOUT);

	if (second && strcmp(second, written))
		unlink(second);
	free(second);
}

static enum outcome fill_write_locked(struct fill *fill, const struct wanted *wanted,
				      const struct image *image,
				      const struct sframe_note *note)
{
	enum outcome outcome = PRESENT;
	struct stat st;
	char *name;
	int err;

	switch (cache_look(options.dir, wanted, note->flags, &name)) {
	case CACHED_SYSTEMS:
		outcome = fill_refuse(fill, name);
		break;
	case CACHED_TABLE:
		break;
	default:
		err = name ? file_write(name, &wanted->head, image, wanted->head.format, note) :
			     -ENOMEM;
		outcome = err ? fill_unwritten(fill, err) : WRITTEN;
		if (!err && !stat(name, &st))
			fill->bytes = st.st_size;
		if (!err)
			drop_second(&wanted->head, name);
		break;
	}
	free(name);
	return outcome;
}

/*
 * Workers may read copies of one object at the same time.  The lock lets the second one
 * find the table of the first.  Both names of a table are in the directory of @name.
 */
static enum outcome fill_write_once(struct fill *fill, const struct wanted *wanted,
				    const struct image *image, const char *name,
				    const struct sframe_note *note)
{
	char *dir = strndup(name, strrchr(name, '/') - name);
	int lock = dir ? lock_directory(dir) : -1;
	enum outcome outcome = fill_write_locked(fill, wanted, image, note);

	free(dir);
	if (lock >= 0)
		close(lock);
	return outcome;
}

/* Whether everybody may learn that there is this file, below the first @skip bytes of its name. */
static bool is_public(const char *name, size_t skip)
{
	bool public = true;
	struct stat st;
	char *dir;

	for (const char *at = strchr(name + skip, '/'); at && public; at = strchr(at + 1, '/')) {
		dir = text_format("%.*s/", (int)(at - name), name);
		public = !stat(dir, &st) && st.st_mode & 0001;
		free(dir);
	}
	return public;
}

/*
 * Note the name that the file has in its system, whose root directory may be another.  All users
 * can read a table.  A name in /proc is soon that of another file.
 */
static void note_name(struct sframe_note *note, const char *name)
{
	size_t root = options.root ? strlen(options.root) : 0;
	char *dir = *name == '/' ? NULL : getcwd(NULL, 0), *whole;

	while (root && options.root[root - 1] == '/')
		root--;
	if (!root || strncmp(name, options.root, root) || name[root] != '/')
		root = 0;
	whole = text_format("%s%s%s", dir ?: "", dir ? "/" : "", name);
	if (root && strlen(name + root) < sizeof(note->name) && is_public(name, root))
		strcpy(note->name, name + root);
	else if (!root && strlen(whole) < sizeof(note->name) && is_public(whole, 0) &&
		 strncmp(whole, "/proc/", 6))
		strcpy(note->name, whole);
	free(whole);
	free(dir);
}

/* The tables of a package must not depend on the directory that it was built in. */
static void note_make(struct sframe_note *note, const char *name, u32 flags,
		      const struct uncovered *uncovered)
{
	*note = (struct sframe_note){
		.flags = flags,
		.text = uncovered->text,
		.uncovered = uncovered->bytes,
		.framed = uncovered->framed,
	};
	if (!options.no_index)
		note_name(note, name);
}

static enum outcome fill_write(struct fill *fill, struct reader *reader,
			       const struct object *obj, const struct wanted *wanted,
			       const char *name, u32 flags)
{
	struct uncovered uncovered;
	char error[MAX_READER_ERROR];
	struct sframe_note note;
	enum outcome outcome;
	struct image image;
	int err;

	fill->read = obj->file_size;
	if (!reader_make(reader, obj, wanted, &image, &uncovered, error)) {
		outcome = fill_fail(fill, error);
	} else if (!image.size) {
		outcome = NO_CFI;
	} else if (options.dry_run) {
		outcome = MISSING;
	} else {
		note_make(&note, obj->name, flags, &uncovered);
		err = make_directories(name);
		outcome = err ? fill_unwritten(fill, err) :
			  fill_write_once(fill, wanted, &image, name, &note);
	}
	image_free(&image);
	return outcome;
}

/*
 * The kernel chooses a table by the build-id that an object claims to have, so a user's file
 * could claim that of the C library.  Check the open file: its name may mean another one by
 * now.  On media that users mount, and on other people's servers, any file may claim to be
 * root's.  Such file systems are mounted nosuid.
 */
static bool is_roots(int fd)
{
	struct statvfs fs;
	struct stat st;

	return !fstat(fd, &st) && !st.st_uid && !(st.st_mode & 022) &&
	       !fstatvfs(fd, &fs) && !(fs.f_flag & ST_NOSUID);
}

static bool is_foreign(const struct fill *fill, const struct object *obj)
{
	return fill->found && !geteuid() && !is_roots(obj->fd);
}

/*
 * The files of another root directory, as a container's, belong to root, but others have made
 * them.  The kernel does not use other users' caches, so they need no such distinction.
 */
static u32 note_flags(const struct fill *fill, const struct object *obj)
{
	bool of_system = is_roots(obj->fd) && (fill->system || system_has(obj->fd));

	return geteuid() || of_system ? 0 : SFRAME_NOTE_OUTSIDE;
}

static enum outcome fill_in(struct fill *fill, struct reader *reader, const struct object *obj,
			    const struct finding *finding)
{
	u32 flags = note_flags(fill, obj) | (finding->debug ? SFRAME_NOTE_DEBUG : 0);
	const struct wanted *wanted = &finding->wanted;
	enum outcome outcome;
	char *name;

	switch (cache_look(options.dir, wanted, flags, &name)) {
	case CACHED_TABLE:
		outcome = PRESENT;
		break;
	case CACHED_SYSTEMS:
		outcome = fill_refuse(fill, name);
		break;
	default:
		if (!name)
			outcome = fill_fail(fill, "out of memory");
		else
			/* Whether code can be followed is not known before. */
			outcome = options.dry_run && wanted->bare == BARE_NOT ? MISSING :
				  fill_write(fill, reader, obj, wanted, name, flags);
		break;
	}
	free(name);
	return outcome;
}

static enum outcome fill_found(struct fill *fill, struct reader *reader,
			       const struct object *obj, const struct finding *finding)
{
	const struct wanted *wanted = &finding->wanted;

	switch (finding->state) {
	case OBJECT_NO_CFI:
		if (wanted->own == OWN_BAD)
			return BAD_OWN;
		if (wanted->bare == BARE_FRAMED)
			return FRAMED;
		if (wanted->bare == BARE_NOTHING)
			return NO_CFI;
		__attribute__((fallthrough));
	case OBJECT_OK:
		return fill_in(fill, reader, obj, finding);
	case OBJECT_DAMAGED:
		return fill_fail(fill, finding->error);
	default:
		return NO_PROGRAM;
	}
}

/* Everybody can read a table, so the debug file has to be like that, too. */
static bool is_for_all(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && st.st_mode & 0004;
}

/*
 * Open the separate debug file that the build-id names, which the reader may have made up.  For
 * root, nobody else may change it.
 */
static int open_debug(const struct finding *finding)
{
	const struct sframe_file *head = &finding->wanted.head;
	int fd;

	if (!options.debug_dir || (finding->state && finding->state != OBJECT_NO_CFI))
		return -1;
	fd = debug_open(head->build_id, head->build_id_size, options.debug_dir);
	if (fd >= 0 && !geteuid() && (!is_roots(fd) || !is_for_all(fd))) {
		close(fd);
		return -1;
	}
	return fd;
}

/* A reader can open nothing, so another one parses the file and its debug file. */
static bool start_reader(struct reader *reader, struct object *obj, struct finding *finding)
{
	bool is_started;
	int debug;

	if (!reader_start(reader, obj, -1, options.seconds, finding))
		return false;
	debug = open_debug(finding);
	if (debug < 0)
		return true;
	reader_end(reader);
	/* The time that is left has to be enough for a third one. */
	is_started = reader_start(reader, obj, debug, options.seconds / 3 + 1, finding);
	close(debug);
	if (is_started)
		return true;
	/* If it is the debug file that is damaged, the other one has a table still. */
	reader_end(reader);
	return reader_start(reader, obj, -1, options.seconds, finding);
}

/* A failure without an error is the reader's end. */
static enum outcome fill_read(struct fill *fill, struct object *obj)
{
	enum outcome outcome = FAILED;
	struct finding finding;
	struct reader reader;
	int signal;

	if (start_reader(&reader, obj, &finding))
		outcome = fill_found(fill, &reader, obj, &finding);
	else if (reader.error)
		fill_fail(fill, strerror(reader.error));
	signal = reader_end(&reader);
	if (outcome == FAILED && !*fill->error)
		fill->signal = signal ?: -1;
	return outcome;
}

static void fill_work(const char *name, void *result)
{
	struct fill *fill = result;
	struct object obj;

	switch (object_open_file(&obj, name)) {
	case OBJECT_OK:
		fill->outcome = is_foreign(fill, &obj) ? FOREIGN : fill_read(fill, &obj);
		break;
	case OBJECT_GONE:
		/* A file may be deleted after it was found. */
		fill->outcome = fill->found ? GONE : fill_fail(fill, obj.error);
		break;
	case OBJECT_DAMAGED:
		fill->outcome = fill_fail(fill, obj.error);
		break;
	default:
		fill->outcome = NO_PROGRAM;
		break;
	}
	object_close(&obj);
}

static void report_failure(const struct job *job, int signal)
{
	const struct fill *fill = job->result;

	if (signal == SIGALRM)
		complain(job->name, "takes too long; allow more time by --timeout");
	else if (signal == SIGSYS)
		complain(job->name, "%s; the file is damaged or hostile", sandbox_error);
	else if (signal > 0)
		complain(job->name, "signal %d (%s) ended the worker; the file is damaged",
			 signal, strsignal(signal));
	else if (signal)
		complain(job->name, "the worker ended without a result; the file is damaged");
	else if (remedy_for[fill->outcome])
		complain(job->name, "%s; %s", skipped_for[fill->outcome],
			 remedy_for[fill->outcome]);
	else if (!fill->full)
		complain(job->name, "%s; it gets no table", fill->error);
}

/* Without room, each of thousands of files would be read and fail. */
static void stop_without_room(int error)
{
	static bool told;

	if (!told)
		complain(options.dir, "%s; %s, or name another directory by --cache-dir",
			 strerror(error), error == EROFS ? "mount it writable" :
			 "free space there");
	told = true;
	pool_stop();
}

/* Overwrite the line on a terminal; elsewhere print one every two seconds. */
static void progress_show(void)
{
	double time = clock_seconds(), least = terminal ? 0.1 : 2;

	if (!options.progress ||
	    (time - last_progress < least && num_done < num_files))
		return;
	last_progress = time;
	fprintf(stderr, "%s%zu of %zu files, %zu written%s",
		terminal ? "\r" : "sframe: ", num_done, num_files,
		outcomes[WRITTEN], terminal ? "" : "\n");
}

static void progress_clear(void)
{
	if (options.progress && terminal)
		fputs("\r\033[K", stderr);
}

static void fill_done(const struct job *job)
{
	const struct fill *fill = job->result;
	int signal = job->signal ?: fill->signal;
	enum outcome outcome = signal ? FAILED : fill->outcome;

	/* The user expects a table for each file that he names. */
	if (!fill->found && remedy_for[outcome])
		outcome = FAILED;
	outcomes[outcome]++;
	if (!signal) {
		written_bytes += fill->bytes;
		read_bytes += fill->read;
	}
	if (outcome == FAILED) {
		progress_clear();
		report_failure(job, signal);
		if (!signal && fill->full)
			stop_without_room(fill->full);
	} else if (skipped_for[outcome] &&
		   (options.verbose || (!fill->found && !options.quiet))) {
		progress_clear();
		text_line("%s: %s", job->name, skipped_for[outcome]);
	} else if (outcome == MISSING && !options.quiet) {
		progress_clear();
		text_line("would make the table of %s", job->name);
	}
	num_done++;
	progress_show();
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
	printf(" (%zu without unwind data, %zu no program",
	       outcomes[NO_CFI] + outcomes[FRAMED] + outcomes[BAD_OWN], outcomes[NO_PROGRAM]);
	if (outcomes[FOREIGN])
		printf(", %zu that others may change", outcomes[FOREIGN]);
	if (outcomes[GONE])
		printf(", %zu gone", outcomes[GONE]);
	putchar(')');
}

/* How many file systems were left out; with --verbose, print their names. */
static size_t count_left_out(const struct file_list *list)
{
	size_t count = 0;

	for (size_t i = 0; i < list->num_left_out; i++) {
		if (list->left_out[i].excluded || !list->left_out[i].met)
			continue;
		if (options.verbose)
			text_line("%s: a file system of a server or a user; name it to read it",
				  list->left_out[i].dir);
		count++;
	}
	return count;
}

static void print_sums(const struct file_list *list)
{
	double seconds = clock_seconds() - started;
	size_t left_out;

	progress_clear();
	left_out = count_left_out(list);
	text_print(options.dir);
	printf(": %zu files: ", num_files);
	if (options.dry_run)
		printf("%zu would be written", outcomes[MISSING]);
	else
		printf("%zu written (%.1f MB)", outcomes[WRITTEN], written_bytes / 1e6);
	printf(", %zu there already", outcomes[PRESENT]);
	print_skipped();
	if (num_done < num_files)
		printf(", %zu not read", num_files - num_done);
	if (left_out)
		printf(", %zu file systems left out", left_out);
	if (list->no_right)
		printf(", %zu not readable", list->no_right);
	printf(", %zu failed; %.1f MB read in %.1f s, %.1f MB/s\n",
	       outcomes[FAILED] + list->failed, read_bytes / 1e6, seconds,
	       seconds > 0 ? read_bytes / 1e6 / seconds : 0);
}

/* For root, a file that it has no right to read is a failure. */
static bool has_failed(const struct file_list *list)
{
	return outcomes[FAILED] || list->failed ||
	       (list->no_right && !geteuid());
}

/**
 * struct parts - where the files of a list come from
 * @num_named:	The user named so many, which come first.
 * @num_system:	So many more are of the running system.
 */
struct parts {
	size_t	num_named;
	size_t	num_system;
};

static int fill_all(struct file_list *list, const struct parts *parts)
{
	struct fill *fills = calloc(list->count + 1, sizeof(*fills));
	struct job *jobs = calloc(list->count + 1, sizeof(*jobs));

	if (!fills || !jobs)
		return complain("cache", "out of memory");
	num_files = list->count;
	for (size_t i = 0; i < list->count; i++) {
		fills[i].found = i >= parts->num_named;
		fills[i].system = fills[i].found && i - parts->num_named < parts->num_system;
		jobs[i] = (struct job){ .name = list->names[i],
					.result = &fills[i] };
	}
	pool_run(jobs, list->count, sizeof(*fills), options.jobs,
		 options.seconds, MANY_FILES, fill_work, fill_done);
	if (!options.quiet)
		print_sums(list);
	free(fills);
	free(jobs);
	return has_failed(list) ? EXIT_FAILED : EXIT_OK;
}

/*
 * The kernel uses the tables of root's cache for the programs of all users, so nobody else
 * may write there.
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
		return complain(options.dir,
				"others can write there; make it root's, with mode 0755");
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
	case 'j':
		return parse_number(optarg, 1024, &options.jobs);
	case 't':
		return parse_number(optarg, 86400, &options.seconds);
	case 'R':
		options.root = optarg;
		return *optarg;
	case 'x':
		options.excludes = require_memory(reallocarray(options.excludes,
							       options.num_excludes + 1,
							       sizeof(*options.excludes)));
		options.excludes[options.num_excludes++] = optarg;
		return *optarg == '/';
	case OPTION_LIST:
		options.list = true;
		break;
	case OPTION_JSON:
		options.json = true;
		break;
	case OPTION_PRUNE:
		options.prune = true;
		break;
	case OPTION_NO_INDEX:
		options.no_index = true;
		break;
	case OPTION_DEBUG_DIR:
		options.debug_dir = optarg;
		return *optarg;
	case 'n':
		options.dry_run = true;
		break;
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

static void make_list(struct file_list *list, struct parts *parts, char **names, int count)
{
	for (size_t i = 0; i < options.num_excludes; i++)
		list_exclude(list, options.excludes[i]);
	/* First, so that a file that is both named and found counts as named. */
	for (int i = 0; i < count; i++)
		list_add_file(list, names[i]);
	parts->num_named = list->count;
	if (options.all)
		list_add_system(list);
	/* For "/", the list's root is empty. */
	if (!list->root || !*list->root)
		parts->num_system = list->count - parts->num_named;
	if (options.running)
		list_add_running(list);
	for (int i = 0; i < count; i++)
		list_add_below(list, names[i]);
}

static int fill_cache(char **names, int count)
{
	struct file_list list = { };
	struct parts parts = { };
	int ret = list_set_root(&list, options.root);

	started = clock_seconds();
	last_progress = started;
	if (!ret) {
		make_list(&list, &parts, names, count);
		ret = fill_all(&list, &parts);
	}
	list_free(&list);
	return ret;
}

/* After a run that failed, too: the index has to name what was written until then. */
static int update_index(void)
{
	int err;

	if (options.dry_run || options.no_index)
		return EXIT_OK;
	err = index_update(options.dir, NULL, NULL);
	if (!err)
		return EXIT_OK;
	if (is_without_room(-err))
		stop_without_room(-err);
	else
		complain(options.dir, "%s", index_error(err));
	return EXIT_FAILED;
}

static int fill_run(char **names, int count)
{
	int ret;

	terminal = isatty(STDERR_FILENO);
	options.progress = (options.progress || terminal) && !options.quiet;
	/* The tables of a package must not depend on what is installed where it is built. */
	if (!options.debug_dir && !options.no_index)
		options.debug_dir = text_format("%s" DEBUG_DIR, options.root ?: "");
	ret = options.dry_run ? EXIT_OK : prepare_dir();
	if (ret)
		return ret;
	ret = fill_cache(names, count);
	return ret | update_index();
}

static int list_or_prune(char **names, int count)
{
	const struct keep_options keep = {
		.dir = options.dir,
		.excludes = options.excludes,
		.num_excludes = options.num_excludes,
		.jobs = options.jobs,
		.seconds = options.seconds,
		.json = options.json,
		.no_index = options.no_index,
		.dry_run = options.dry_run,
		.quiet = options.quiet,
	};

	return options.list ? cache_show(&keep) : cache_prune(&keep, names, count);
}

/* Report options that contradict each other. */
static bool options_agree(int num_names)
{
	const char *wrong = NULL;
	bool finds = options.all || options.running;

	if (options.list && (num_names || finds || options.prune || options.dry_run))
		wrong = "--list takes no files and no other action; leave them out";
	else if (options.json && !options.list)
		wrong = "--json goes with --list; add it";
	else if (options.prune && finds)
		wrong = "--prune always includes --all and --running; leave these out";
	else if (options.prune && options.root)
		wrong = "--root is not for --prune; name directories below it, as DIR/usr";
	else if (!num_names && !finds && !options.list && !options.prune)
		wrong = "nothing to do; name files, or use --running or --all";
	else if (options.num_excludes && !options.all && !options.prune && !num_names)
		wrong = "--exclude goes with --all, --prune or a DIRECTORY; add one";
	else if (options.root && !options.all)
		wrong = "--root goes with --all; add it";
	if (wrong)
		complain("cache", "%s", wrong);
	return !wrong;
}

int cache_main(int argc, char **argv)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	int c;

	options = (struct cache_options){
		.dir = SFRAME_CACHE_DIR,
		.jobs = processors > 0 ? processors : 1,
		.seconds = 300,
	};
	while ((c = next_option(argc, argv, "arR:x:c:j:t:npvqh", long_options)) != -1) {
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
	if (!options_agree(argc - optind))
		return EXIT_USAGE;
	if (options.verbose && !sandbox_has_filter())
		complain("cache", "this kernel cannot filter the system calls of readers");
	if (options.list || options.prune)
		return list_or_prune(argv + optind, argc - optind);
	return fill_run(argv + optind, argc - optind);
}
