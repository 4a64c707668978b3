// SPDX-License-Identifier: GPL-2.0
/*
 * Makes and reads the index of a directory of tables (base/sframe_file.h).
 *
 * The index is made of the tables that are there, not of those that a run has written: so it
 * is right after an interrupted run, and after a table was removed by hand.  Writers hold the
 * lock DIR/.lock from reading the directory to replacing the index.  Otherwise, an index
 * could replace a newer one.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/open_regular.h"
#include "cache/entry.h"
#include "cache/index.h"
#include "table/file.h"

_Static_assert(sizeof(struct sframe_index) == 24, "as the kernel reads it");
_Static_assert(sizeof(struct sframe_index_entry) == 32, "as the kernel reads it");

/**
 * struct making - the state of index_make()
 * @index:	The index.
 * @room:	How many entries it has room for.
 * @left_out:	What to call for a file that is left out, or NULL.
 */
struct making {
	struct index	*index;
	size_t		room;
	index_fn	*left_out;
};

static int compare_entries(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct sframe_index_entry));
}

static struct sframe_index_entry make_entry(const u8 *id, u32 id_size,
					    const u8 layout[SFRAME_FILE_LAYOUT])
{
	struct sframe_index_entry entry = { };

	memcpy(entry.build_id, id, id_size ?: sizeof(entry.build_id));
	memcpy(entry.layout, layout, sizeof(entry.layout));
	return entry;
}

static void add_entry(const struct cache_entry *entry, void *arg)
{
	struct making *making = arg;
	struct index *index = making->index;
	struct sframe_file head;
	const char *error;
	char *path;

	if (entry->kind != ENTRY_TABLE)
		return;
	error = entry_head(entry, &head) ?: entry_mismatch(entry, &head);
	if (error) {
		path = entry_path(entry);
		if (making->left_out)
			making->left_out(path, error);
		free(path);
		return;
	}
	index->entries = grow(index->entries, &making->room, index->count,
			      sizeof(*index->entries));
	index->entries[index->count++] = make_entry(head.build_id, head.build_id_size,
						    head.layout);
}

/* The two names of a table may hold the same. */
static void sort_entries(struct index *index)
{
	size_t kept = 0;

	if (!index->count)
		return;
	qsort(index->entries, index->count, sizeof(*index->entries), compare_entries);
	for (size_t i = 1; i < index->count; i++)
		if (compare_entries(&index->entries[kept], &index->entries[i]))
			index->entries[++kept] = index->entries[i];
	index->count = kept + 1;
}

/**
 * index_make() - find out which tables are in a directory
 * @index:	Filled in; the caller frees it in any case.
 * @dir:	The directory.
 * @left_out:	Called for each file with a table's name whose header is not that of this
 *		table; or NULL.
 *
 * Return: 0, or a negative errno; -EOVERFLOW if there are more than SFRAME_INDEX_MAX tables.
 */
int index_make(struct index *index, const char *dir, index_fn *left_out)
{
	struct making making = { .index = index, .left_out = left_out };
	int err;

	*index = (struct index){ };
	err = entries_each(dir, UNLOCKED, add_entry, &making);
	sort_entries(index);
	return !err && index->count > SFRAME_INDEX_MAX ? -EOVERFLOW : err;
}

static struct sframe_index head_of(const struct index *index)
{
	struct sframe_index head = {
		.version = SFRAME_INDEX_VERSION,
		.entry_size = sizeof(*index->entries),
		.nr = index->count,
	};

	memcpy(head.magic, SFRAME_INDEX_MAGIC, sizeof(head.magic));
	return head;
}

/**
 * index_equal() - whether two indexes name the same tables
 * @a:	One index.
 * @b:	The other.
 *
 * Return: whether they do.
 */
bool index_equal(const struct index *a, const struct index *b)
{
	return a->count == b->count &&
	       (!a->count || !memcmp(a->entries, b->entries, a->count * sizeof(*a->entries)));
}

/* Whether the kernel, or that of a later owner, could use the index. */
static const char *check_rights(const struct stat *st)
{
	if (st->st_uid && st->st_uid != geteuid())
		return "its index belongs to another user";
	if (st->st_mode & 022)
		return "others than its owner may write its index";
	if ((st->st_mode & 0444) != 0444)
		return "not all may read its index";
	return NULL;
}

static const char *read_entries(struct index *index, FILE *file, const struct stat *st)
{
	struct sframe_index head;

	if (fread(&head, sizeof(head), 1, file) != 1 ||
	    memcmp(head.magic, SFRAME_INDEX_MAGIC, sizeof(head.magic)))
		return "its index is damaged";
	if (head.version != SFRAME_INDEX_VERSION || head.entry_size != sizeof(*index->entries))
		return "its index has another version";
	if (head.nr > SFRAME_INDEX_MAX ||
	    st->st_size != sizeof(head) + head.nr * sizeof(*index->entries))
		return "its index is damaged";
	index->entries = require_memory(calloc(head.nr + 1, sizeof(*index->entries)));
	index->count = head.nr;
	if (fread(index->entries, sizeof(*index->entries), head.nr, file) != head.nr)
		return "its index is damaged";
	for (size_t i = 1; i < index->count; i++)
		if (compare_entries(&index->entries[i - 1], &index->entries[i]) >= 0)
			return "its index is not sorted";
	return NULL;
}

static char *index_name(const char *dir)
{
	char *name;

	if (asprintf(&name, "%s/" CACHE_INDEX, dir) < 0)
		name = NULL;
	return require_memory(name);
}

/**
 * index_read() - read the index of a directory
 * @index:	Filled in; the caller frees it in any case.
 * @dir:	The directory.
 *
 * Return: NULL, or why the kernel would not use the index if the caller were root.
 */
const char *index_read(struct index *index, const char *dir)
{
	char *name = index_name(dir);
	const char *error;
	struct stat st;
	int fd = open_regular(name, O_NOFOLLOW, &st);
	FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;

	free(name);
	*index = (struct index){ };
	if (fd < 0)
		return errno == ENOENT ? "it has no index" : open_error(errno);
	require_memory(file);
	index->owner = st.st_uid;
	error = check_rights(&st) ?: read_entries(index, file, &st);
	fclose(file);
	return error;
}

static int write_index(const struct index *index, const char *dir)
{
	struct sframe_index head = head_of(index);
	struct file_part parts[] = {
		{ &head, sizeof(head) },
		{ index->entries, index->count * sizeof(*index->entries) },
	};
	char *name = index_name(dir);
	int err = file_replace(name, parts, 2);

	free(name);
	return err;
}

/**
 * index_update() - make the index of a directory say which tables are there
 * @dir:	The directory.
 * @left_out:	As of index_make().
 * @count:	Set to the number of entries, if it is not NULL.
 *
 * Does not write an index that is right.
 *
 * Return: 0, or a negative errno that index_error() puts into words.
 */
int index_update(const char *dir, index_fn *left_out, size_t *count)
{
	struct index new = { }, old = { };
	int lock = lock_directory(dir), err;

	err = index_make(&new, dir, left_out);
	if (!err && (index_read(&old, dir) || !index_equal(&new, &old)))
		err = write_index(&new, dir);
	if (count)
		*count = new.count;
	index_free(&new);
	index_free(&old);
	if (lock >= 0)
		close(lock);
	return err;
}

/**
 * index_error() - put an error of index_make() or index_update() into words
 * @error:	The negative errno.
 *
 * Return: what is wrong and what the user can do.
 */
const char *index_error(int error)
{
	switch (error) {
	case -EOVERFLOW:
		return "it has more than 262144 tables; divide them among several directories";
	case -ENOSPC:
	case -EDQUOT:
		return "no room for the index; free space there";
	case -EROFS:
		return "the index cannot be written; mount the file system writable";
	case -EACCES:
	case -EPERM:
		return "no right to write the index or to read a table; run it as the owner";
	case -ENOENT:
	case -ENOTDIR:
		return "no such directory; name one that holds tables";
	default:
		return strerror(-error);
	}
}

/**
 * index_has() - whether an index names an object
 * @index:	The index.
 * @id:		The object's build-id, or what it has in its place.
 * @id_size:	The size of the build-id in bytes, at most SFRAME_INDEX_MAX_ID; or 0.
 * @layout:	The object's layout.
 *
 * Return: whether it does.
 */
bool index_has(const struct index *index, const u8 *id, u32 id_size,
	       const u8 layout[SFRAME_FILE_LAYOUT])
{
	struct sframe_index_entry entry = make_entry(id, id_size, layout);

	return index->count && bsearch(&entry, index->entries, index->count, sizeof(entry),
				       compare_entries);
}

/**
 * index_free() - free what an index holds
 * @index:	The index; the structure itself is not freed.
 */
void index_free(struct index *index)
{
	free(index->entries);
}
