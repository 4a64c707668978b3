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

#include "cache_path.h"
#include "open_regular.h"
#include "own_table.h"
#include "table_file.h"

/**
 * cache_can_name() - whether the kernel can find an object's table
 * @obj:	The object.
 *
 * Return: whether a table's name and the index have room for its build-id.
 */
bool cache_can_name(const struct object *obj)
{
	return obj->build_id_size >= SFRAME_MIN_ID && obj->build_id_size <= SFRAME_INDEX_MAX_ID;
}

static char *put_digits(char *to, const u8 *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		to += sprintf(to, "%02x", bytes[i]);
	return to;
}

/**
 * cache_key() - put a build-id and a layout into digits
 * @id:		The build-id.
 * @id_size:	Its size in bytes, at most SFRAME_FILE_MAX_ID.
 * @layout:	The layout.
 * @key:	Set to the digits of both, with "-" between them.
 */
void cache_key(const u8 *id, u32 id_size, const u8 layout[SFRAME_FILE_LAYOUT],
	       char key[CACHE_KEY_SIZE])
{
	char *to = put_digits(key, id, id_size);

	*to++ = '-';
	put_digits(to, layout, SFRAME_FILE_LAYOUT);
}

/**
 * cache_file_name() - the file for an object's table
 * @dir:	The cache.
 * @obj:	The object, with a build-id of SFRAME_MIN_ID or more.
 * @place:	Which of its two names.
 *
 * Return: the name, which the caller frees; NULL without memory.
 */
char *cache_file_name(const char *dir, const struct object *obj, enum place place)
{
	u8 layout[SFRAME_FILE_LAYOUT];
	char key[CACHE_KEY_SIZE];
	char *name;

	file_layout(obj, layout);
	cache_key(obj->build_id, obj->build_id_size, layout, key);
	if (place == PLACE_FIRST)
		key[2 * obj->build_id_size] = '\0';
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
static bool is_copy(const struct sframe_file *head, const u8 *bytes, const struct object *obj)
{
	struct table own;

	return !own_read(obj, &own) && head->table_vaddr == own.vaddr &&
	       head->table_size == own.size && !memcmp(bytes, own.start, own.size);
}

static bool is_for(const struct sframe_file *head, const u8 *bytes, const struct object *obj)
{
	if (head->num_text != obj->num_text ||
	    memcmp(head->text, obj->text, obj->num_text * sizeof(obj->text[0])) ||
	    !file_is_of(head, obj))
		return false;
	return object_has_cfi(obj) ? head->format == FORMAT_DEFAULT : is_copy(head, bytes, obj);
}

/*
 * Whether the open file is a whole table, for an object with the build-id of @obj.  The caller
 * frees @bytes.
 */
static bool is_whole(int fd, const struct object *obj, struct sframe_file *head, u8 **bytes)
{
	return !file_read_open(fd, head, bytes) &&
	       head->build_id_size == obj->build_id_size &&
	       !memcmp(head->build_id, obj->build_id, obj->build_id_size) &&
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
				 const struct object *obj, u32 flags)
{
	bool outside = flags & SFRAME_NOTE_OUTSIDE, was_outside;
	u8 layout[SFRAME_FILE_LAYOUT];

	file_layout(obj, layout);
	if (memcmp(head->layout, layout, sizeof(layout)))
		return CACHED_OTHER;
	was_outside = file_flags(fd) & SFRAME_NOTE_OUTSIDE;
	if (is_for(head, bytes, obj) && (outside || !was_outside))
		return CACHED_TABLE;
	return outside && !was_outside ? CACHED_SYSTEMS : CACHED_NONE;
}

static enum cached look_at(int fd, const struct object *obj, u32 flags)
{
	enum cached cached = CACHED_NONE;
	struct sframe_file head;
	u8 *bytes = NULL;

	if (is_trusted(fd) && is_whole(fd, obj, &head, &bytes))
		cached = look_at_table(fd, &head, bytes, obj, flags);
	free(bytes);
	return cached;
}

static enum cached look_at_name(const char *name, const struct object *obj, u32 flags)
{
	struct stat st;
	int fd = open_regular(name, O_NOFOLLOW, &st);
	enum cached cached;

	if (fd < 0)
		return CACHED_NONE;
	cached = look_at(fd, obj, flags);
	close(fd);
	return cached;
}

/**
 * cache_look() - look for a good table for an object
 * @dir:	The cache.
 * @obj:	The object.
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
 * @obj is outside of the system; CACHED_NONE if the table is to be written.
 */
enum cached cache_look(const char *dir, const struct object *obj, u32 flags, char **name)
{
	enum cached cached = CACHED_OTHER;

	*name = NULL;
	for (enum place place = PLACE_FIRST; place <= PLACE_LAYOUT && cached == CACHED_OTHER;
	     place++) {
		free(*name);
		*name = cache_file_name(dir, obj, place);
		cached = *name ? look_at_name(*name, obj, flags) : CACHED_NONE;
	}
	/* A table of another layout by the name of this one: somebody renamed it. */
	return cached == CACHED_OTHER ? CACHED_NONE : cached;
}

/**
 * cache_refusal() - find out why the kernel would refuse a table file, or a part of it
 * @name:	The file.
 * @head:	Filled in with the header, as far as it can be read.
 * @st:		Filled in with the file's owner and mode.
 *
 * Does not check that the table is for the object that the caller looks at.
 *
 * Return: the reason, or NULL if the kernel would accept the file.
 */
const char *cache_refusal(const char *name, struct sframe_file *head, struct stat *st)
{
	int fd = open_regular(name, O_NOFOLLOW, st);
	const char *error;
	u8 *bytes;

	*head = (struct sframe_file){ };
	if (fd < 0)
		return errno == NOT_REGULAR ? "it is a link or no regular file" :
		       open_error(errno);
	error = file_read_open(fd, head, &bytes);
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

/* The kernel reads the copy as it would the original: by the table's address. */
static int write_copy(const struct object *obj, const char *name, u32 flags)
{
	struct image image = { };
	struct table own;

	if (own_read(obj, &own))
		return -EBADMSG;
	image.bytes = (u8 *)own.start;
	image.size = own.size;
	image.vaddr = own.vaddr;
	return file_write(name, obj, &image, own.version, flags);
}

/**
 * cache_write() - write an object's table
 * @obj:	The object.
 * @cfi:	Its unwind information.  If it has none, its own table is copied.
 * @name:	The file; it appears whole or not at all.
 * @flags:	SFRAME_NOTE_* flags.
 *
 * Return: 0, or a negative errno; -E2BIG if the table would exceed 4 GiB.
 */
int cache_write(const struct object *obj, const struct cfi *cfi, const char *name, u32 flags)
{
	struct image image;
	struct plan plan;
	int ret;

	if (!object_has_cfi(obj))
		return write_copy(obj, name, flags);

	plan_make(&plan, cfi, FORMAT_DEFAULT, plan_vaddr(obj));
	ret = image_make(&image, &plan) ?
	      file_write(name, obj, &image, FORMAT_DEFAULT, flags) : -E2BIG;
	image_free(&image);
	plan_free(&plan);
	return ret;
}
