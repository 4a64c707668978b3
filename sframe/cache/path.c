// SPDX-License-Identifier: GPL-2.0
/* Names, checks and writes the files of a cache. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/open_regular.h"
#include "base/text.h"
#include "cache/path.h"
#include "table/file.h"

/**
 * cache_key() - put a build-id and a layout into digits
 * @id:		The build-id, or what the object has in its place.
 * @id_size:	The size of the build-id in bytes, at most SFRAME_FILE_MAX_ID; or 0.
 * @layout:	The layout.
 * @key:	Set to the digits of both, with "-" between them.
 */
void cache_key(const u8 *id, u32 id_size, const u8 layout[SFRAME_FILE_LAYOUT],
	       char key[CACHE_KEY_SIZE])
{
	char *to = text_digits(key, id, id_size ?: SFRAME_INDEX_MAX_ID);

	*to++ = '-';
	text_digits(to, layout, SFRAME_FILE_LAYOUT);
}

/**
 * cache_file_name() - the file for an object's table
 * @dir:	The cache.
 * @object:	The object, as file_describe() describes it.
 * @place:	Which of its two names.
 *
 * Return: the name, which the caller frees; NULL without memory.
 */
char *cache_file_name(const char *dir, const struct sframe_file *object, enum place place)
{
	char key[CACHE_KEY_SIZE];
	char *name;

	cache_key(object->build_id, object->build_id_size, object->layout, key);
	if (place == PLACE_FIRST)
		*strchr(key, '-') = '\0';
	if (asprintf(&name, "%s/%.2s/%s" CACHE_SUFFIX, dir, key, key + 2) < 0)
		return NULL;
	return name;
}

/**
 * make_directories() - make the directories that lead to a file
 * @path:	The file.
 *
 * Return: 0, or a negative errno.
 */
int make_directories(const char *path)
{
	char *copy = strdup(path), *slash;
	int ret = 0;

	if (!copy)
		return -ENOMEM;
	for (slash = strchr(copy + 1, '/'); slash && !ret;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(copy, 0755) && errno != EEXIST)
			ret = -errno;
		*slash = '/';
	}
	free(copy);
	return ret;
}

/* Whether a table is the copy of an object's own. */
static bool is_copy(const struct sframe_file *head, const u8 *bytes, const struct wanted *wanted)
{
	u8 digest[32];

	if (head->table_vaddr != wanted->head.table_vaddr ||
	    head->table_size != wanted->head.table_size)
		return false;
	file_hash(digest, bytes, head->table_size);
	return !memcmp(digest, wanted->sha256, sizeof(digest));
}

static bool is_for(const struct sframe_file *head, const u8 *bytes, const struct wanted *wanted)
{
	const struct sframe_file *object = &wanted->head;

	if (head->num_text != object->num_text ||
	    memcmp(head->text, object->text, head->num_text * sizeof(head->text[0])) ||
	    !file_is_of(head, object) || head->format != object->format)
		return false;
	return wanted->own != OWN_COPIED || is_copy(head, bytes, wanted);
}

/*
 * Whether the open file is a whole table, for an object with the build-id of @object, or with the
 * hash of its headers as build-id: their layouts differ.  The caller frees @bytes.
 */
static bool is_whole(int fd, const struct sframe_file *object, struct sframe_file *head,
		     u8 **bytes)
{
	return !file_read_open(fd, head, bytes) &&
	       !memcmp(head->build_id, object->build_id, sizeof(head->build_id)) &&
	       !file_check(fd, head, *bytes);
}

/**
 * lock_directory() - keep other writers out of a subdirectory of the cache
 * @dir:	The subdirectory.
 *
 * The lock is on a file in it that nobody else may open.  Anyone can lock the directory itself,
 * and keep it locked.
 *
 * Return: a file descriptor, whose close() unlocks the directory; -1 if the file system has
 * no locks, or if the directory cannot be written.
 */
int lock_directory(const char *dir)
{
	char *path;
	int fd;

	if (asprintf(&path, "%s/.lock", dir) < 0)
		return -1;
	fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	free(path);
	if (fd >= 0 && flock(fd, LOCK_EX)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/*
 * Others could change what profiles show by a table that they may write.  The kernel refuses
 * it, so it has to be written again.
 */
static bool is_trusted(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && !(st.st_mode & 022) &&
	       (!st.st_uid || st.st_uid == geteuid());
}

static enum cached look_at_table(int fd, const struct sframe_file *head, const u8 *bytes,
				 const struct wanted *wanted, u32 flags)
{
	bool outside = flags & SFRAME_NOTE_OUTSIDE, was_outside, is_old;
	struct sframe_note note;

	if (memcmp(head->layout, wanted->head.layout, sizeof(head->layout)))
		return CACHED_OTHER;
	is_old = file_note(fd, &note) && note.maker < SFRAME_NOTE_MAKER;
	is_old |= (note.flags ^ flags) & SFRAME_NOTE_DEBUG;
	was_outside = note.flags & SFRAME_NOTE_OUTSIDE;
	if (outside && !was_outside)
		return is_for(head, bytes, wanted) ? CACHED_TABLE : CACHED_SYSTEMS;
	return is_for(head, bytes, wanted) && outside == was_outside && !is_old ?
	       CACHED_TABLE : CACHED_NONE;
}

static enum cached look_at(int fd, const struct wanted *wanted, u32 flags)
{
	enum cached cached = CACHED_NONE;
	struct sframe_file head;
	u8 *bytes = NULL;

	if (is_trusted(fd) && is_whole(fd, &wanted->head, &head, &bytes))
		cached = look_at_table(fd, &head, bytes, wanted, flags);
	free(bytes);
	return cached;
}

static enum cached look_at_name(const char *name, const struct wanted *wanted, u32 flags)
{
	struct stat st;
	int fd = open_regular(name, O_NOFOLLOW, &st);
	enum cached cached;

	if (fd < 0)
		return CACHED_NONE;
	cached = look_at(fd, wanted, flags);
	close(fd);
	return cached;
}

/**
 * cache_look() - look for a good table for an object
 * @dir:	The cache.
 * @wanted:	The table that the object needs.
 * @flags:	The flags for the table's note.
 * @name:	Set to the file that has the table or that it has to be written to, which the
 *		caller frees; NULL without memory.
 *
 * A good table of another layout keeps its name, and the table goes to the second one.
 *
 * A file can claim to have any build-id, and the kernel trusts what root owns.  So a table of
 * an object outside of the system never counts as that of one of the system's, even if it
 * agrees with .eh_frame: .debug_frame adds to it.
 *
 * All checks are of the open file: its name may mean another file the next time.
 *
 * Return: CACHED_TABLE if the table is whole and made for the object, and only root and the
 * caller may write it; CACHED_SYSTEMS if it is of another object, is one of the system's, and
 * the object is outside of the system; CACHED_NONE if the table is to be written.
 */
enum cached cache_look(const char *dir, const struct wanted *wanted, u32 flags, char **name)
{
	enum cached cached = CACHED_OTHER;

	*name = NULL;
	for (enum place place = PLACE_FIRST; place <= PLACE_LAYOUT && cached == CACHED_OTHER;
	     place++) {
		free(*name);
		*name = cache_file_name(dir, &wanted->head, place);
		cached = *name ? look_at_name(*name, wanted, flags) : CACHED_NONE;
	}
	/* A table of another layout by the name of this one: somebody renamed it. */
	return cached == CACHED_OTHER ? CACHED_NONE : cached;
}

/**
 * cache_refusal() - find out why the kernel would refuse a table file, or a part of it
 * @name:	The file.
 * @head:	Filled in with the header, as far as it can be read.
 * @st:		Filled in with the file's owner and mode.
 * @note:	Filled in; zero without a note.
 *
 * Does not check that the table is for the object that the caller looks at.
 *
 * Return: the reason, or NULL if the kernel would accept the file.
 */
const char *cache_refusal(const char *name, struct sframe_file *head, struct stat *st,
			  struct sframe_note *note)
{
	int fd = open_regular(name, O_NOFOLLOW, st);
	const char *error;
	u8 *bytes;

	*head = (struct sframe_file){ };
	*note = (struct sframe_note){ };
	if (fd < 0)
		return errno == NOT_REGULAR ? "it is a link or no regular file" :
		       open_error(errno);
	error = file_read_open(fd, head, &bytes);
	file_note(fd, note);
	if (st->st_uid)
		error = "its owner is not root";
	else if (st->st_mode & 022)
		error = "others than root may write to it";
	else if (!error)
		error = file_check(fd, head, bytes);
	close(fd);
	free(bytes);
	return error;
}
