// SPDX-License-Identifier: GPL-2.0
/*
 * Lists the tables in a cache, and removes those that no object needs any longer.
 *
 * A table file does not say which file it was made from, because all copies of an object
 * share it.  So --prune keeps a table if any file that it reads has the table's build-id and
 * layout.
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

#include "base/complain.h"
#include "base/grow.h"
#include "base/text.h"
#include "cache/entry.h"
#include "cache/index.h"
#include "cache/keep.h"
#include "cache/list.h"
#include "cache/path.h"
#include "cache/system.h"
#include "cache/used.h"
#include "table/uncovered.h"

/**
 * struct sums - the state of a command, and its sums
 * @options:	The command's.
 * @used:	The objects that need their tables.
 * @started:	When the command began.
 * @tables:	Number of tables.
 * @refused:	Number of tables that the kernel would refuse.
 * @removed:	Number of tables that were removed.
 * @leftovers:	Number of files that interrupted writes have left.
 * @failed:	Number of files that could not be removed.
 * @bytes:	Size of the tables that were listed or removed.
 * @uncovered:	The text of the objects whose tables were listed.
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
	struct uncovered uncovered;
};

/* Return why the kernel would refuse the table, or NULL if it would not. */
static const char *entry_refusal(const struct cache_entry *entry, const char *path,
				 struct sframe_file *head, struct stat *st,
				 struct sframe_note *note)
{
	const char *error = cache_refusal(path, head, st, note);

	if (entry->kind == ENTRY_OBSOLETE)
		return "an earlier version of sframe made it; --prune removes it";
	return error ?: entry_mismatch(entry, head);
}

/* The note of a table that the kernel refuses may be anyone's. */
static struct uncovered text_of(const struct sframe_note *note, const char *error)
{
	struct uncovered uncovered = {
		.text = note->text, .bytes = note->uncovered, .framed = note->framed,
	};

	return error || !uncovered_is_possible(&uncovered) ? (struct uncovered){ } : uncovered;
}

static void list_text(const struct cache_entry *entry, const struct stat *st, const char *error,
		      const struct sframe_note *note)
{
	struct uncovered uncovered = text_of(note, error);

	printf("%s%s%s %7.1f KB  %s%s", entry->digits, *entry->layout ? "-" : "",
	       entry->layout, st->st_size / 1e3, error ? "refused: " : "trusted", error ?: "");
	if (uncovered.text)
		printf("  %.1f %% without rows", uncovered_percent(&uncovered));
	if (*note->name) {
		fputs("  ", stdout);
		text_print(note->name);
	}
	putchar('\n');
}

static void list_json_note(const struct sframe_note *note, const char *error)
{
	struct uncovered uncovered = text_of(note, error);

	fputs(", \"name\": ", stdout);
	if (*note->name)
		text_print_json(note->name);
	else
		fputs("null", stdout);
	if (uncovered.text)
		printf(", \"text\": %llu, \"without_rows\": %llu, \"frame_pointers\": %llu",
		       (unsigned long long)uncovered.text, (unsigned long long)uncovered.bytes,
		       (unsigned long long)uncovered.framed);
	else
		fputs(", \"text\": null, \"without_rows\": null, \"frame_pointers\": null",
		      stdout);
}

static void list_json(const struct cache_entry *entry, const struct sframe_file *head,
		      const struct stat *st, const char *error, const char *path,
		      const struct sframe_note *note)
{
	printf("{\"build_id\": \"%s\", \"layout\": ", entry->digits);
	if (head->version == SFRAME_FILE_VERSION) {
		putchar('"');
		for (int i = 0; i < SFRAME_FILE_LAYOUT; i++)
			printf("%02x", head->layout[i]);
		putchar('"');
	} else {
		printf("null");
	}
	printf(", \"bytes\": %jd, \"file\": ", (intmax_t)st->st_size);
	text_print_json(path);
	printf(", \"trusted\": %s, \"refused\": ", error ? "false" : "true");
	if (error)
		text_print_json(error);
	else
		printf("null");
	list_json_note(note, error);
	putchar('}');
}

static void list_entry(const struct cache_entry *entry, void *arg)
{
	char *path = entry_path(entry);
	struct sums *sums = arg;
	struct sframe_note note;
	struct sframe_file head;
	struct stat st = { };
	struct uncovered uncovered;
	const char *error;

	if (entry->kind == ENTRY_LEFTOVER) {
		sums->leftovers++;
	} else {
		error = entry_refusal(entry, path, &head, &st, &note);
		if (sums->options->json) {
			fputs(sums->tables ? ",\n " : "[", stdout);
			list_json(entry, &head, &st, error, path, &note);
		} else {
			list_text(entry, &st, error, &note);
		}
		sums->tables++;
		sums->refused += !!error;
		sums->bytes += st.st_size;
		uncovered = text_of(&note, error);
		uncovered_add(&sums->uncovered, &uncovered);
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
	int err = entries_each(options->dir, UNLOCKED, list_entry, &sums);

	if (err)
		return complain(options->dir, "%s; name a cache by --cache-dir", strerror(-err));
	if (options->json) {
		puts(sums.tables ? "]" : "[]");
	} else if (!options->quiet) {
		text_print(options->dir);
		printf(": %zu tables, %.1f MB, %zu that the kernel would refuse",
		       sums.tables, sums.bytes / 1e6, sums.refused);
		if (sums.leftovers)
			printf(", %zu left over from interrupted writes", sums.leftovers);
		if (sums.uncovered.text)
			printf("; %.1f MB of text, %.1f %% without rows",
			       sums.uncovered.text / 1e6, uncovered_percent(&sums.uncovered));
		putchar('\n');
	}
	return EXIT_OK;
}

static void remove_entry(const struct cache_entry *entry, const struct stat *st,
			 struct sums *sums)
{
	char *path = entry_path(entry);

	if (!sums->options->dry_run && unlinkat(entry->fd, entry->name, 0)) {
		if (errno != ENOENT) {
			complain(path, "cannot be removed: %s", strerror(errno));
			sums->failed++;
		}
		free(path);
		return;
	}
	if (!sums->options->quiet)
		text_line("%s %s", sums->options->dry_run ? "would remove" : "removed", path);
	free(path);
	sums->bytes += st->st_size;
	if (entry->kind == ENTRY_LEFTOVER)
		sums->leftovers++;
	else
		sums->removed++;
}

/* The table of a damaged file may be made again; it stays if any layout needs one. */
static bool is_used(const struct cache_entry *entry, const struct used *used)
{
	struct sframe_file head;
	char key[CACHE_KEY_SIZE];

	snprintf(key, sizeof(key), "%s-%s", entry->digits, entry->layout);
	if (!*entry->layout && !entry_head(entry, &head) && !entry_mismatch(entry, &head))
		cache_key(head.build_id, head.build_id_size, head.layout, key);
	return used_has(used, key);
}

/*
 * A writer holds the lock while it writes: without the lock, its file is not a leftover.  The
 * kernel does not read the tables of earlier versions.
 */
static bool is_needed(const struct cache_entry *entry, const struct used *used)
{
	switch (entry->kind) {
	case ENTRY_TABLE:
		return is_used(entry, used);
	case ENTRY_LEFTOVER:
		return !entry->locked;
	default:
		return false;
	}
}

/* A table that is newer than the start of this run may belong to a new object, so keep it. */
static void prune_entry(const struct cache_entry *entry, void *arg)
{
	struct sums *sums = arg;
	struct stat st;

	if (fstatat(entry->fd, entry->name, &st, AT_SYMLINK_NOFOLLOW) || S_ISDIR(st.st_mode))
		return;
	sums->tables += entry->kind != ENTRY_LEFTOVER;
	if (st.st_mtime >= sums->started || is_needed(entry, sums->used))
		return;
	remove_entry(entry, &st, sums);
}

/* The kernel looks for the second name only if there is a file by the first one. */
static void move_to_first(const struct cache_entry *entry, void *arg)
{
	struct sums *sums = arg;
	char *path, *first;

	if (entry->kind != ENTRY_TABLE || !*entry->layout || !entry->locked)
		return;
	if (asprintf(&first, "%s" CACHE_SUFFIX, entry->digits + 2) < 0)
		first = require_memory(NULL);
	if (faccessat(entry->fd, first, F_OK, AT_SYMLINK_NOFOLLOW) && errno == ENOENT &&
	    renameat(entry->fd, entry->name, entry->fd, first)) {
		path = entry_path(entry);
		complain(path, "cannot be renamed to %s: %s", first, strerror(errno));
		sums->failed++;
		free(path);
	}
	free(first);
}

/* Remove what interrupted writes of the index have left; @fd is the cache. */
static void prune_index(const char *dir, int fd, bool locked, struct sums *sums)
{
	struct dirent **names;
	int count = scandirat(fd, ".", &names, NULL, alphasort);
	struct cache_entry entry = {
		.dir = dir, .fd = fd, .first = ".", .kind = ENTRY_LEFTOVER, .locked = locked,
	};

	for (int i = 0; i < count; i++) {
		entry.name = names[i]->d_name;
		if (strlen(entry.name) == sizeof(CACHE_INDEX ".XXXXXX") - 1 &&
		    !strncmp(entry.name, CACHE_INDEX ".", sizeof(CACHE_INDEX)))
			prune_entry(&entry, sums);
		free(names[i]);
	}
	if (count >= 0)
		free(names);
}

static void prune_index_of(const char *dir, struct sums *sums)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int lock = lock_directory(dir);

	if (fd >= 0)
		prune_index(dir, fd, lock >= 0, sums);
	if (lock >= 0)
		close(lock);
	if (fd >= 0)
		close(fd);
}

static int prune_entries(struct sums *sums)
{
	const struct keep_options *options = sums->options;
	int err = entries_each(options->dir, LOCKED, prune_entry, sums);

	if (!err && !options->dry_run)
		err = entries_each(options->dir, LOCKED, move_to_first, sums);
	if (err)
		return complain(options->dir, "%s; name a cache by --cache-dir", strerror(-err));
	prune_index_of(options->dir, sums);
	if (!options->dry_run && !options->no_index)
		err = index_update(options->dir, NULL, NULL);
	if (!options->quiet)
		text_line("%s: %zu tables, %zu %s, %zu left over from interrupted writes, %.1f MB",
			  options->dir, sums->tables, sums->removed,
			  options->dry_run ? "would be removed" : "removed", sums->leftovers,
			  sums->bytes / 1e6);
	if (err)
		return complain(options->dir, "%s", index_error(err));
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
static int make_list(struct file_list *list, const struct keep_options *options,
		     char **names, int count)
{
	for (size_t i = 0; i < options->num_excludes; i++)
		list_exclude(list, options->excludes[i]);
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
		ret = make_list(&list, options, names, count);
	if (!ret)
		ret = used_read(&used, &list, options->jobs, options->seconds);
	if (!ret)
		ret = prune_entries(&sums);
	used_free(&used);
	list_free(&list);
	return ret;
}
