// SPDX-License-Identifier: GPL-2.0
/*
 * sframe doctor: checks the kernel's settings, and reads its reports about files and walks.
 *
 * For tests, SFRAME_DOCTOR_ROOT names a directory that contains /proc/sys, /sys and /boot.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cache/mapped.h"
#include "cache/path.h"
#include "base/text.h"
#include "doctor/kernel.h"
#include "doctor/perf.h"
#include "doctor/tell.h"

#define SYSCTL	"/proc/sys/kernel/unwind_table_path"
#define DEBUGFS	"/sys/kernel/debug/unwind"
/* The kernel's limit, with the final zero */
#define MAX_PATH	256
#define MAX_DIRS	(MAX_PATH / 2)
/* A smaller share of complete walks, in percent, is worth a note. */
#define MOST_WALKS	90

/* The path, or NULL if the kernel has none; and its directories */
static char *path;
static const char *dirs[MAX_DIRS + 1];
/* Their indexes, empty if the kernel does not use them, and why not, or NULL */
static struct index indexes[MAX_DIRS];
static const char *index_errors[MAX_DIRS];

/* A line of unwind/files. */
struct kernel_file {
	dev_t			device;
	uintmax_t		inode;
	enum kernel_state	state;
	int			error;
};

/* The files that the kernel has looked at, if files_error is 0. */
static struct kernel_file *files;
static size_t num_files;
static int files_error;

/**
 * kernel_open() - open a file that the kernel makes, or one about it
 * @name:	Its absolute name.
 *
 * Return: the file, or NULL with errno set.
 */
FILE *kernel_open(const char *name)
{
	const char *root = getenv("SFRAME_DOCTOR_ROOT") ?: "";
	FILE *file;
	char *whole;

	if (asprintf(&whole, "%s%s", root, name) < 0)
		return NULL;
	file = fopen(whole, "re");
	free(whole);
	return file;
}

static void read_path(void)
{
	FILE *file = kernel_open(SYSCTL);
	size_t count = 0, room = 0;
	char *copy, *dir, *state;

	if (file && getline(&path, &room, file) > 0)
		path[strcspn(path, "\n")] = '\0';
	else if (file)
		path = strdup("");
	if (file)
		fclose(file);
	copy = strdup(path && *path ? path : SFRAME_CACHE_DIR);
	for (dir = copy ? strtok_r(copy, ":", &state) : NULL; dir && count < MAX_DIRS;
	     dir = strtok_r(NULL, ":", &state))
		if (*dir == '/')
			dirs[count++] = dir;
}

/* The kernel uses only what is root's alone. */
static void read_indexes(void)
{
	for (size_t i = 0; dirs[i]; i++) {
		index_errors[i] = index_read(&indexes[i], dirs[i]);
		if (!index_errors[i] && indexes[i].owner)
			index_errors[i] = "its index belongs to another user than root";
		if (index_errors[i])
			indexes[i].count = 0;
	}
}

static enum kernel_state state_of(const char *text)
{
	static const struct {
		const char		*text;
		enum kernel_state	state;
	} states[] = {
		{ "loaded", KERNEL_LOADED },
		{ "loading", KERNEL_LOADING },
		{ "evicted", KERNEL_EVICTED },
		{ "without", KERNEL_WITHOUT },
		{ "no object", KERNEL_NO_OBJECT },
		{ "unsettled", KERNEL_UNSETTLED },
		{ "not resident", KERNEL_NOT_RESIDENT },
		{ "refused", KERNEL_REFUSED },
	};

	for (size_t i = 0; i < ARRAY_SIZE(states); i++)
		if (!strncmp(text, states[i].text, strlen(states[i].text)))
			return states[i].state;
	return KERNEL_UNKNOWN;
}

/* "fe:00 1234 5678 refused -1" */
static void read_file_line(const char *line)
{
	struct kernel_file *file, *more;
	unsigned int major, minor;
	char state[32];
	uintmax_t inode;
	int error = 0;

	if (sscanf(line, "%x:%x %ju %*u %31[a-z ] %d", &major, &minor, &inode, state,
		   &error) < 4)
		return;
	more = reallocarray(files, num_files + 1, sizeof(*files));
	if (!more)
		return;
	files = more;
	file = &files[num_files++];
	*file = (struct kernel_file){
		.device = makedev(major, minor),
		.inode = inode,
		.state = state_of(state),
		.error = -error,
	};
}

static void read_files(void)
{
	FILE *file = kernel_open(DEBUGFS "/files");
	char *line = NULL;
	size_t room = 0;

	files_error = file ? 0 : errno;
	while (file && getline(&line, &room, file) > 0)
		read_file_line(line);
	free(line);
	if (file)
		fclose(file);
}

/**
 * kernel_read() - read the kernel's path and its reports about files
 */
void kernel_read(void)
{
	read_path();
	read_indexes();
	read_files();
}

/**
 * kernel_dir() - name a directory in which the kernel looks for tables
 * @index:	Its place in the path.
 *
 * Return: the directory, or NULL after the last one.  Without a path in the kernel, the
 * default cache is the only directory.
 */
const char *kernel_dir(size_t index)
{
	return dirs[index];
}

/**
 * kernel_index() - the index of a directory in which the kernel looks for tables
 * @index:	The directory's place in the path.
 *
 * Return: the index; an empty one if the kernel does not use it.
 */
const struct index *kernel_index(size_t index)
{
	return &indexes[index];
}

/**
 * kernel_cache() - name the directory that new tables should go to
 *
 * Return: the default cache if it is in the path, else the path's last one.
 */
const char *kernel_cache(void)
{
	size_t i;

	for (i = 0; dirs[i]; i++)
		if (!strcmp(dirs[i], SFRAME_CACHE_DIR))
			return dirs[i];
	return i ? dirs[i - 1] : SFRAME_CACHE_DIR;
}

/*
 * On overlayfs and btrfs, stat() shows another device number than the kernel does.
 * ANY_DEVICE accepts that.
 */
enum match { SAME_DEVICE, ANY_DEVICE };

/*
 * Find the newest line about a file, which comes first.  Where only the inode number
 * matches, the line may be about another file, so its refusal is not believed.
 */
static const struct kernel_file *find_file(dev_t device, uintmax_t inode, enum match match)
{
	for (size_t i = 0; i < num_files; i++) {
		const struct kernel_file *file = &files[i];

		if (file->device == device && file->inode == inode)
			return file;
		if (match == ANY_DEVICE && file->state != KERNEL_REFUSED &&
		    mapped_is(file->device, file->inode, device, inode))
			return file;
	}
	return NULL;
}

/**
 * kernel_state() - look up the kernel's report about a file
 * @device:	The file's device.
 * @inode:	The file's inode.
 * @error:	For KERNEL_REFUSED, set to a positive errno.
 *
 * Return: the state of the file's table.
 */
enum kernel_state kernel_state(dev_t device, uintmax_t inode, int *error)
{
	const struct kernel_file *file;

	if (files_error)
		return KERNEL_UNKNOWN;
	file = find_file(device, inode, SAME_DEVICE) ?: find_file(device, inode, ANY_DEVICE);
	if (!file)
		return KERNEL_UNSEEN;
	*error = file->error;
	return file->state;
}

/**
 * kernel_error() - put the error of a refused table into words
 * @error:	The positive errno.
 *
 * Return: the words, which are not to be freed.
 */
const char *kernel_error(int error)
{
	switch (error) {
	case EPERM:
		return "others than root may write to the table, or own it";
	case EBADMSG:
		return "the table is damaged, or of another object";
	case EOPNOTSUPP:
		return "the table has a version or a form that the kernel does not support";
	case E2BIG:
		return "the table or the object is larger than the kernel's limit";
	case ENOSPC:
		return "no room for it: raise the sysctl kernel.unwind_table_kbytes";
	case ELOOP:
		return "the table's file is a link";
	case EIO:
		return "the file cannot be read";
	default:
		return strerror(error);
	}
}

static bool config_lacks(FILE *config, const char *option)
{
	char *line = NULL, *wanted;
	bool found = false;
	size_t room = 0;

	if (asprintf(&wanted, "CONFIG_%s=y\n", option) < 0)
		return false;
	rewind(config);
	while (!found && getline(&line, &room, config) > 0)
		found = !strcmp(line, wanted);
	free(line);
	free(wanted);
	return !found;
}

static FILE *open_config(void)
{
	struct utsname name;
	FILE *config;
	char *file;

	if (uname(&name) || asprintf(&file, "/boot/config-%s", name.release) < 0)
		return NULL;
	config = kernel_open(file);
	free(file);
	return config;
}

/* Without the sysctl, the kernel is too old or was configured without split tables. */
static void tell_no_sysctl(void)
{
	FILE *config = open_config();

	if (config && config_lacks(config, "UNWIND_USER_SFRAME"))
		tell(PROBLEM, "kernel", ADVISE("build it with CONFIG_UNWIND_USER_SFRAME=y"),
		     "it does not support tables");
	else
		tell(PROBLEM, "kernel", ADVISE("build it with CONFIG_UNWIND_USER_SPLIT=y"),
		     "it loads no tables from files (there is no " SYSCTL ")");
	if (config)
		fclose(config);
}

static void check_deferred(void)
{
	FILE *config = open_config();

	if (!config)
		return;
	if (config_lacks(config, "UNWIND_DEFERRED"))
		tell(NOTE, "kernel", ADVISE("build it with CONFIG_UNWIND_DEFERRED=y"),
		     "perf cannot ask for deferred stacks, which are complete from the first one on");
	fclose(config);
}

static void check_index(size_t i)
{
	char *quoted, *command;

	if (!index_errors[i]) {
		tell(WELL, dirs[i], NULL, "its index names %zu tables", indexes[i].count);
		return;
	}
	quoted = text_quote(dirs[i]);
	command = text_format("sframe index %s", quoted);
	tell(PROBLEM, dirs[i], COMMAND("make it as root", command),
	     "the kernel uses none of its tables: %s", index_errors[i]);
	free(command);
	free(quoted);
}

/* A missing directory is only a note.  Returns whether the directory exists. */
static bool check_dir(size_t i)
{
	const char *dir = dirs[i];
	struct stat st;
	char *quoted, *command;

	if (stat(dir, &st)) {
		tell(NOTE, dir, NULL, "in the path, but %s",
		     errno == ENOENT ? "it does not exist" : strerror(errno));
		return false;
	}
	quoted = text_quote(dir);
	command = text_format("%s %s", st.st_uid ? "chown 0:0" : "chmod 755", quoted);
	if (!S_ISDIR(st.st_mode))
		tell(PROBLEM, dir, ADVISE("remove it, or take it out of the path"),
		     "in the path, but not a directory");
	else if (st.st_uid)
		tell(PROBLEM, dir, COMMAND("make it root's", command),
		     "in the path, but it belongs to user %u", st.st_uid);
	else if (st.st_mode & 022)
		tell(PROBLEM, dir, COMMAND("make it root's alone", command),
		     "in the path, but others than root can write there");
	else
		tell(WELL, dir, NULL, "in the path, and only root can write there");
	free(command);
	free(quoted);
	if (S_ISDIR(st.st_mode))
		check_index(i);
	return true;
}

static void check_dirs(void)
{
	bool any = false;

	if (strlen(path) == MAX_PATH - 1)
		tell(NOTE, "path", ADVISE("name fewer or shorter directories"),
		     "it is as long as the kernel's limit, so its end may be missing");
	for (size_t i = 0; dirs[i]; i++)
		any |= check_dir(i);
	if (!dirs[0])
		tell(PROBLEM, "path", ADVISE("name directories that begin with a slash"),
		     "the kernel ignores all of %s", path);
	else if (!any)
		tell(PROBLEM, "path", COMMAND("fill the cache", "sframe cache --all"),
		     "none of its directories exists");
}

static void check_path(void)
{
	if (!path) {
		tell_no_sysctl();
		return;
	}
	tell(WELL, "kernel", NULL, "it loads tables from files");
	check_deferred();
	if (*path)
		check_dirs();
	else
		tell(PROBLEM, "path",
		     COMMAND(NULL, "sysctl kernel.unwind_table_path=" SFRAME_CACHE_DIR),
		     "it is empty, so the kernel looks for no tables");
}

static void check_debugfs(void)
{
	switch (files_error) {
	case 0:
		tell(WELL, "debugfs", NULL, "the kernel has looked at %zu files", num_files);
		break;
	case EACCES:
	case EPERM:
		tell(NOTE, "debugfs", ADVISE("run it as root"),
		     "only root can read the kernel's reports about files and walks");
		break;
	case ENOENT:
		tell(NOTE, "debugfs", COMMAND(NULL, "mount -t debugfs none /sys/kernel/debug"),
		     "there is no " DEBUGFS "; it is not mounted, or the kernel has no debugfs");
		break;
	default:
		tell(NOTE, "debugfs", NULL, "%s", strerror(files_error));
		break;
	}
}

/* The kernel looks for tables in the mount namespace of process 1. */
static void check_namespace(void)
{
	struct stat own, first;

	if (!stat("/proc/self/ns/mnt", &own) && !stat("/proc/1/ns/mnt", &first) &&
	    own.st_ino != first.st_ino)
		tell(NOTE, "path", NULL,
		     "the kernel looks for tables in the file systems of process 1, which may be others");
}

/* How walks end; the first two are of complete stacks. */
static const struct {
	const char *name;
	const char *words;
} ends[] = {
	{ "complete", "the outermost frame" },
	{ "full", "the last frame that was asked for" },
	{ "no_table", "code without a table" },
	{ "no_row", "functions that their object's table leaves out" },
	{ "no_rule", "functions that their object's table cannot describe" },
	{ "no_register", "rules that need a register which only the innermost frame has" },
	{ "fault", "memory that was not there" },
	{ "corrupt", "stacks that contradict the table" },
	{ "no_memory", "a lack of memory for the frames" },
};

#define NUM_ENDS	ARRAY_SIZE(ends)
#define NUM_WHOLE	2

struct stats {
	unsigned long long walks[NUM_ENDS];
	unsigned long long refused;
};

/* "walks_at_once_no_table 123" */
static void read_stats_line(const char *line, struct stats *stats)
{
	unsigned long long count;
	char name[64];

	if (sscanf(line, "%63s %llu", name, &count) != 2)
		return;
	if (!strcmp(name, "files_refused"))
		stats->refused = count;
	if (strncmp(name, "walks_", 6))
		return;
	for (size_t i = 0; i < NUM_ENDS; i++) {
		size_t len = strlen(name), end = strlen(ends[i].name);

		if (len > end && name[len - end - 1] == '_' &&
		    !strcmp(name + len - end, ends[i].name))
			stats->walks[i] += count;
	}
}

static bool read_stats(struct stats *stats)
{
	FILE *file = kernel_open(DEBUGFS "/stats");
	char *line = NULL;
	size_t room = 0;

	if (!file)
		return false;
	while (getline(&line, &room, file) > 0)
		read_stats_line(line, stats);
	free(line);
	fclose(file);
	return true;
}

static void check_walks(const struct stats *stats)
{
	unsigned long long whole = 0, others = 0;
	size_t most = NUM_WHOLE;
	double share;

	for (size_t i = 0; i < NUM_WHOLE; i++)
		whole += stats->walks[i];
	for (size_t i = NUM_WHOLE; i < NUM_ENDS; i++) {
		others += stats->walks[i];
		if (stats->walks[i] > stats->walks[most])
			most = i;
	}
	if (!others) {
		tell(whole ? WELL : NOTE, "walks", NULL, "%llu since boot%s", whole,
		     whole ? ", all complete" : ": nobody has asked for a user stack");
		return;
	}
	share = 100.0 * whole / (whole + others);
	tell(share < MOST_WALKS ? NOTE : WELL, "walks", NULL,
	     "%.1f %% of %llu since boot were complete; %.0f %% of the others ended at %s (%s)",
	     share, whole + others, 100.0 * stats->walks[most] / others, ends[most].words,
	     ends[most].name);
}

static void check_stats(void)
{
	struct stats stats = { };

	if (!read_stats(&stats))
		return;
	check_walks(&stats);
	if (stats.refused)
		tell(NOTE, "tables", NULL, "the kernel has refused %llu since boot",
		     stats.refused);
}

/**
 * kernel_check() - check the kernel and its settings
 */
void kernel_check(void)
{
	check_path();
	if (path && *path)
		check_namespace();
	check_debugfs();
	check_stats();
	perf_check();
}
