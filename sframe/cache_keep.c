// SPDX-License-Identifier: GPL-2.0
/*
 * Lists the tables in a cache, and removes those that no object needs any longer.
 *
 * A table file does not say which file it was made from, because all copies of an object
 * share it.  So --prune keeps a table if any file that it reads has the table's build-id.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cache_keep.h"
#include "cache_list.h"
#include "cache_path.h"
#include "cache_system.h"
#include "cache_used.h"
#include "complain.h"
#include "text.h"

/**
 * struct cache_entry - a file in the cache
 * @dir:	The cache.
 * @fd:		The open subdirectory with the file.
 * @first:	The subdirectory's name: the first two digits of the build-id.
 * @name:	The file's name in it.
 * @digits:	The whole build-id.
 * @version:	The version of the format.
 * @leftover:	Its writer died before the table was complete.
 * @locked:	The subdirectory is locked, so nobody else writes there.
 */
struct cache_entry {
	const char	*dir;
	int		fd;
	const char	*first;
	const char	*name;
	char		digits[USED_ID_SIZE];
	unsigned int	version;
	bool		leftover;
	bool		locked;
};

typedef void entry_fn(const struct cache_entry *entry, void *arg);

/**
 * struct sums - the state of a command, and its sums
 * @options:	The command's.
 * @used:	The build-ids in use.
 * @started:	When the command began.
 * @tables:	Number of tables.
 * @refused:	Number of tables that the kernel would refuse.
 * @removed:	Number of tables that were removed.
 * @leftovers:	Number of files that interrupted writes have left.
 * @failed:	Number of files that could not be removed.
 * @bytes:	Size of the tables that were listed or removed.
 */
struct sums {
	const struct keep_options *options;
	const struct used *used;
	time_t	started;
	size_t	tables;
	size_t	refused;
	size_t	removed;
	size_t	leftovers;
	size_t	failed;
	u64	bytes;
};

static int is_first(const struct dirent *entry)
{
	return isxdigit((unsigned char)entry->d_name[0]) &&
	       isxdigit((unsigned char)entry->d_name[1]) && !entry->d_name[2];
}

/* <digits>.v3, or <digits>.v3.XXXXXX while a writer is at work */
static bool parse_name(struct cache_entry *entry)
{
	size_t digits = strspn(entry->name, "0123456789abcdef");
	const char *end = entry->name + digits;

	if (!digits || digits > USED_MAX_DIGITS - 2 || strncmp(end, ".v", 2) ||
	    (end[2] != '2' && end[2] != '3'))
		return false;
	entry->version = end[2] - '0';
	entry->leftover = end[3] == '.' && strlen(end + 3) == 7;
	snprintf(entry->digits, sizeof(entry->digits), "%s%.*s", entry->first, (int)digits,
		 entry->name);
	return entry->leftover || !end[3];
}

/* Call @fn for each file in one of the cache's subdirectories. */
static void each_in(struct cache_entry *entry, entry_fn *fn, void *arg)
{
	struct dirent **names;
	int count = scandirat(entry->fd, ".", &names, NULL, alphasort);

	for (int i = 0; i < count; i++) {
		entry->name = names[i]->d_name;
		if (parse_name(entry))
			fn(entry, arg);
		free(names[i]);
	}
	if (count >= 0)
		free(names);
}

enum locking { UNLOCKED, LOCKED };

/* Call @fn for each file of the subdirectory @path, which is @entry->first. */
static void each_in_directory(struct cache_entry *entry, const char *path, enum locking locking,
			      entry_fn *fn, void *arg)
{
	int lock = -1;

	entry->fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (entry->fd < 0)
		return;
	if (locking == LOCKED)
		lock = lock_directory(path);
	entry->locked = lock >= 0;
	each_in(entry, fn, arg);
	if (lock >= 0)
		close(lock);
	close(entry->fd);
}

/* Call @fn for each file of @dir.  LOCKED: with the file's subdirectory locked. */
static int each_entry(const char *dir, enum locking locking, entry_fn *fn, void *arg)
{
	struct dirent **names;
	int count = scandir(dir, &names, is_first, alphasort);

	if (count < 0)
		return complain(dir, "%s; name a cache by --cache-dir", strerror(errno));
	for (int i = 0; i < count; i++) {
		struct cache_entry entry = { .dir = dir, .first = names[i]->d_name };
		char *path;

		if (asprintf(&path, "%s/%s", dir, entry.first) >= 0) {
			each_in_directory(&entry, path, locking, fn, arg);
			free(path);
		}
		free(names[i]);
	}
	free(names);
	return EXIT_OK;
}

static char *entry_path(const struct cache_entry *entry)
{
	char *path;

	if (asprintf(&path, "%s/%s/%s", entry->dir, entry->first, entry->name) >= 0)
		return path;
	perror("sframe");
	exit(EXIT_FAILED);
}

static bool id_is(const struct sframe_file *head, const char *digits)
{
	char id[USED_ID_SIZE] = "";

	for (u32 i = 0; i < head->build_id_size && i < SFRAME_FILE_MAX_ID; i++)
		sprintf(id + 2 * i, "%02x", head->build_id[i]);
	return !strcmp(id, digits);
}

/* Return why the kernel would refuse the table, or NULL if it would not. */
static const char *entry_refusal(const struct cache_entry *entry, const char *path, struct stat *st)
{
	struct sframe_file head;
	const char *error = cache_refusal(path, &head, st);

	if (!error && !id_is(&head, entry->digits))
		error = "it was made for another build-id";
	if (!error && entry->version != SFRAME_FILE_FORMAT)
		error = "the kernel looks for version 3 only";
	return error;
}

static void list_text(const struct cache_entry *entry, const struct stat *st, const char *error)
{
	printf("%-40s v%u %7.1f KB  %s%s\n", entry->digits, entry->version,
	       st->st_size / 1e3, error ? "refused: " : "trusted", error ?: "");
}

static void list_json(const struct cache_entry *entry, const struct stat *st, const char *error,
		      const char *path)
{
	printf("{\"build_id\": \"%s\", \"version\": %u, \"bytes\": %jd, \"file\": ",
	       entry->digits, entry->version, (intmax_t)st->st_size);
	text_print_json(path);
	printf(", \"trusted\": %s, \"refused\": ", error ? "false" : "true");
	if (error)
		text_print_json(error);
	else
		printf("null");
	putchar('}');
}

static void list_entry(const struct cache_entry *entry, void *arg)
{
	char *path = entry_path(entry);
	struct sums *sums = arg;
	struct stat st = { };
	const char *error;

	if (entry->leftover) {
		sums->leftovers++;
	} else {
		error = entry_refusal(entry, path, &st);
		if (sums->options->json) {
			fputs(sums->tables ? ",\n " : "[", stdout);
			list_json(entry, &st, error, path);
		} else {
			list_text(entry, &st, error);
		}
		sums->tables++;
		sums->refused += !!error;
		sums->bytes += st.st_size;
	}
	free(path);
}

/**
 * cache_show() - list the tables of a cache
 * @options:	The cache, and how to list it.
 *
 * Return: the exit status.
 */
int cache_show(const struct keep_options *options)
{
	struct sums sums = { .options = options };
	int ret = each_entry(options->dir, UNLOCKED, list_entry, &sums);

	if (ret)
		return ret;
	if (options->json) {
		puts(sums.tables ? "]" : "[]");
	} else if (!options->quiet) {
		printf("%s: %zu tables, %.1f MB, %zu that the kernel would refuse",
		       options->dir, sums.tables, sums.bytes / 1e6, sums.refused);
		if (sums.leftovers)
			printf(", %zu left over from interrupted writes", sums.leftovers);
		putchar('\n');
	}
	return EXIT_OK;
}

static void remove_entry(const struct cache_entry *entry, const char *path, const struct stat *st,
			 struct sums *sums)
{
	if (!sums->options->dry_run && unlinkat(entry->fd, entry->name, 0)) {
		if (errno != ENOENT) {
			complain(path, "cannot be removed: %s", strerror(errno));
			sums->failed++;
		}
		return;
	}
	if (!sums->options->quiet)
		printf("%s %s\n", sums->options->dry_run ? "would remove" : "removed", path);
	sums->bytes += st->st_size;
	if (entry->leftover)
		sums->leftovers++;
	else
		sums->removed++;
}

/*
 * A table that is newer than the start of this run may belong to a new object, so keep it.
 * A writer holds the lock while it writes: without the lock, its file is not a leftover.
 */
static void prune_entry(const struct cache_entry *entry, void *arg)
{
	struct sums *sums = arg;
	struct stat st;
	char *path;

	if (fstatat(entry->fd, entry->name, &st, AT_SYMLINK_NOFOLLOW) || S_ISDIR(st.st_mode))
		return;
	sums->tables += !entry->leftover;
	if (st.st_mtime >= sums->started || (entry->leftover && !entry->locked) ||
	    (!entry->leftover && used_has(sums->used, entry->digits)))
		return;
	path = entry_path(entry);
	remove_entry(entry, path, &st, sums);
	free(path);
}

static int prune_entries(struct sums *sums)
{
	const struct keep_options *options = sums->options;
	int ret = each_entry(options->dir, LOCKED, prune_entry, sums);

	if (ret)
		return ret;
	if (!options->quiet)
		printf("%s: %zu tables, %zu %s, %zu left over from interrupted writes, %.1f MB\n",
		       options->dir, sums->tables, sums->removed,
		       options->dry_run ? "would be removed" : "removed", sums->leftovers,
		       sums->bytes / 1e6);
	return sums->failed ? EXIT_FAILED : EXIT_OK;
}

/* Only its owner may prune a cache.  Root must not be led to other people's directories. */
static int check_owner(const char *dir)
{
	struct stat st;

	if (stat(dir, &st))
		return complain(dir, "%s; name a cache by --cache-dir", strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return complain(dir, "not a directory; name a cache by --cache-dir");
	if (st.st_uid != geteuid())
		return complain(dir, "it is another user's; only its owner may prune it");
	if (!geteuid() && (st.st_mode & 022))
		return complain(dir, "others can write there; make it root's, with mode 0755");
	return EXIT_OK;
}

/* List the files whose tables to keep, besides those that processes have mapped. */
static int make_list(struct file_list *list, char **names, int count)
{
	for (int i = 0; i < count; i++) {
		if (access(names[i], F_OK))
			return complain(names[i], "%s; nothing is removed", strerror(errno));
		list_add_file(list, names[i]);
		list_add_below(list, names[i]);
	}
	list_add_system(list);
	if (list->failed || (list->no_right && !geteuid()))
		return complain("cache", "some files could not be read; nothing is removed");
	return EXIT_OK;
}

/**
 * cache_prune() - remove the tables that no object needs
 * @options:	The cache, and how to prune it.
 * @names:	Files and directories whose tables to keep, besides those of the system and
 *		of running processes.
 * @count:	Their number.
 *
 * Return: the exit status.
 */
int cache_prune(const struct keep_options *options, char **names, int count)
{
	struct file_list list = { };
	struct used used = { };
	struct sums sums = { .options = options, .used = &used, .started = time(NULL) };
	int ret = check_owner(options->dir);

	if (!ret)
		ret = make_list(&list, names, count);
	if (!ret)
		ret = used_read(&used, &list, options->jobs, options->seconds);
	if (!ret)
		ret = prune_entries(&sums);
	used_free(&used);
	list_free(&list);
	return ret;
}
