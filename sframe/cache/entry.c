// SPDX-License-Identifier: GPL-2.0
/* Walks the files of a cache, by their names. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/grow.h"
#include "cache/entry.h"
#include "table/file.h"

static int is_first(const struct dirent *entry)
{
	return isxdigit((unsigned char)entry->d_name[0]) &&
	       isxdigit((unsigned char)entry->d_name[1]) && !entry->d_name[2];
}

/* Copy the hexadecimal digits at @from, at most @max; return the number of digits. */
static size_t take_digits(const char *from, char *to, size_t max)
{
	size_t count = strspn(from, "0123456789abcdef");

	if (count > max)
		return 0;
	memcpy(to, from, count);
	to[count] = '\0';
	return count;
}

/*
 * <digits>.v4 and <digits>-<layout>.v4; .v2 and .v3 of earlier versions; and each of these
 * with .XXXXXX while a writer is at work.
 */
static bool parse_name(struct cache_entry *entry)
{
	size_t digits = take_digits(entry->name, entry->digits + 2, sizeof(entry->digits) - 3);
	const char *end = entry->name + digits;

	memcpy(entry->digits, entry->first, 2);
	entry->layout[0] = '\0';
	if (digits && *end == '-') {
		if (take_digits(end + 1, entry->layout, sizeof(entry->layout) - 1) !=
		    sizeof(entry->layout) - 1)
			return false;
		end += sizeof(entry->layout);
	}
	if (!digits || strncmp(end, ".v", 2) || !end[2] || !strchr("234", end[2]))
		return false;
	entry->kind = end[2] == CACHE_SUFFIX[2] ? ENTRY_TABLE : ENTRY_OBSOLETE;
	if (!end[3])
		return true;
	entry->kind = ENTRY_LEFTOVER;
	return end[3] == '.' && strlen(end + 3) == 7;
}

/* Call @fn for each file in one of the cache's subdirectories. */
static int each_in(struct cache_entry *entry, entry_fn *fn, void *arg)
{
	struct dirent **names;
	int count = scandirat(entry->fd, ".", &names, NULL, alphasort);

	if (count < 0)
		return -errno;
	for (int i = 0; i < count; i++) {
		entry->name = names[i]->d_name;
		if (parse_name(entry))
			fn(entry, arg);
		free(names[i]);
	}
	free(names);
	return 0;
}

/* Call @fn for each file of the subdirectory @path, which is @entry->first. */
static int each_in_directory(struct cache_entry *entry, const char *path, enum locking locking,
			     entry_fn *fn, void *arg)
{
	int lock = -1, ret;

	entry->fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	/* A link would lead out of the cache. */
	if (entry->fd < 0)
		return errno == ENOTDIR || errno == ELOOP || errno == ENOENT ? 0 : -errno;
	if (locking == LOCKED)
		lock = lock_directory(path);
	entry->locked = lock >= 0;
	ret = each_in(entry, fn, arg);
	if (lock >= 0)
		close(lock);
	close(entry->fd);
	return ret;
}

/**
 * entries_each() - call a function for each table of a cache, and for what is no table yet
 * @dir:	The cache.
 * @locking:	LOCKED: call it while the file's subdirectory is locked.
 * @fn:		The function.  Of one subdirectory, it gets the files in the order of their
 *		names: those with a layout in their names come first.
 * @arg:	Its argument.
 *
 * Return: 0, or a negative errno if a directory could not be read; all others were.
 */
int entries_each(const char *dir, enum locking locking, entry_fn *fn, void *arg)
{
	struct dirent **names;
	int count = scandir(dir, &names, is_first, alphasort), ret = 0, err;

	if (count < 0)
		return -errno;
	for (int i = 0; i < count; i++) {
		struct cache_entry entry = { .dir = dir, .first = names[i]->d_name };
		char *path;

		if (asprintf(&path, "%s/%s", dir, entry.first) < 0)
			path = require_memory(NULL);
		err = each_in_directory(&entry, path, locking, fn, arg);
		ret = ret ?: err;
		free(path);
		free(names[i]);
	}
	free(names);
	return ret;
}

/**
 * entry_path() - the whole name of a file in the cache
 * @entry:	The file.
 *
 * Return: the name, which the caller frees.
 */
char *entry_path(const struct cache_entry *entry)
{
	char *path;

	if (asprintf(&path, "%s/%s/%s", entry->dir, entry->first, entry->name) < 0)
		path = NULL;
	return require_memory(path);
}

/**
 * entry_head() - read a table's header
 * @entry:	The table's file.
 * @head:	Filled in and checked.
 *
 * Return: NULL, or what is wrong with the file.
 */
const char *entry_head(const struct cache_entry *entry, struct sframe_file *head)
{
	int fd = openat(entry->fd, entry->name,
			O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	const char *error;

	if (fd < 0)
		return errno == ELOOP ? "it is a link" : strerror(errno);
	error = file_read_head(fd, head);
	close(fd);
	return error;
}

/**
 * entry_mismatch() - compare a table's name with its header
 * @entry:	The table's file.
 * @head:	Its header.
 *
 * Return: NULL if the names agree, or what differs.
 */
const char *entry_mismatch(const struct cache_entry *entry, const struct sframe_file *head)
{
	char key[CACHE_KEY_SIZE];
	char *layout;

	cache_key(head->build_id, head->build_id_size, head->layout, key);
	layout = strchr(key, '-');
	*layout++ = '\0';
	if (head->build_id_size > SFRAME_INDEX_MAX_ID)
		return "its build-id is longer than 20 bytes";
	if (strcmp(key, entry->digits))
		return "it was made for another build-id";
	if (*entry->layout && strcmp(layout, entry->layout))
		return "it was made for another layout";
	return NULL;
}
