// SPDX-License-Identifier: GPL-2.0
/* Where the cache is, and what lies in it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cache.h"
#include "open.h"
#include "tool.h"
#include "trust.h"

static char *join(const char *dir, const char *name)
{
	char *path;

	return asprintf(&path, "%s/%s", dir, name) < 0 ? NULL : path;
}

/**
 * cache_user_dir() - the user's own cache
 *
 * Return: the directory, to be freed; NULL: the environment names none.
 */
char *cache_user_dir(void)
{
	const char *base = getenv("XDG_CACHE_HOME");

	/* The base directory specification has relative ones ignored. */
	if (base && *base == '/')
		return join(base, SFRAME_CACHE_NAME);
	base = getenv("HOME");
	if (base && *base == '/')
		return join(base, ".cache/" SFRAME_CACHE_NAME);
	return NULL;
}

/**
 * cache_default_dir() - the cache that the caller fills
 *
 * Return: the directory, to be freed; NULL: the environment names none.
 */
char *cache_default_dir(void)
{
	return geteuid() ? cache_user_dir() : strdup(SFRAME_CACHE_SYSTEM);
}

/**
 * cache_file_name() - the file for an object's table
 * @dir:	The cache.
 * @obj:	The object, with a build-id of SFRAME_MIN_ID or more.
 * @format:	The table's version.
 *
 * Return: the name, to be freed; NULL: out of memory.
 */
char *cache_file_name(const char *dir, const struct object *obj,
		      enum format format)
{
	char digits[2 * SFRAME_FILE_MAX_ID + 1];
	char *name;

	for (u32 i = 0; i < obj->build_id_size; i++)
		sprintf(digits + 2 * i, "%02x", obj->build_id[i]);
	if (asprintf(&name, "%s/%.2s/%s.v%d", dir, digits, digits + 2,
		     format) < 0)
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

static bool is_for(const struct sframe_file *head, const struct object *obj,
		   enum format format)
{
	return head->format == format &&
	       head->build_id_size == obj->build_id_size &&
	       !memcmp(head->build_id, obj->build_id, obj->build_id_size) &&
	       head->num_text == obj->num_text &&
	       !memcmp(head->text, obj->text,
		       obj->num_text * sizeof(obj->text[0]));
}

static bool has_table(int fd, const struct object *obj, enum format format,
		      struct sframe_file *head)
{
	struct table table;
	u8 *bytes;
	bool good;

	good = !file_read_open(fd, head, &bytes) && is_for(head, obj, format) &&
	       !table_open(&table, bytes, head->table_size, head->table_vaddr);
	free(bytes);
	return good;
}

/**
 * lock_directory() - keep others from filling a directory
 * @path:	A file in it.
 *
 * Return: a file whose close ends that; -1: none, where the file system has no locks.
 */
int lock_directory(const char *path)
{
	char *dir = strndup(path, strrchr(path, '/') - path);
	int fd = dir ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	free(dir);
	if (fd >= 0 && flock(fd, LOCK_EX)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/**
 * cache_open() - open the file with an object's table
 * @name:	The cache's file.
 * @obj:	The object.
 * @format:	The table's version.
 * @head:	Filled in with what the file says; checked.
 *
 * All is asked of the open file: its name may mean another one the next time.
 *
 * Return: the file, close-on-exec; -1: there is none that can be trusted, is
 * whole, and made for the object.
 */
int cache_open(const char *name, const struct object *obj, enum format format,
	       struct sframe_file *head)
{
	struct stat st;
	int fd = open_regular(name, 0, &st);

	if (fd < 0)
		return -1;
	if (!fstat(fd, &st) && is_trusted(&st, geteuid()) &&
	    has_table(fd, obj, format, head))
		return fd;
	close(fd);
	return -1;
}

/**
 * cache_file_fits() - is there a good table for an object already?
 * @name:	The cache's file.
 * @obj:	The object.
 * @format:	The table's version.
 *
 * Return: whether programs of the caller's will use it.
 */
bool cache_file_fits(const char *name, const struct object *obj,
		     enum format format)
{
	struct sframe_file head;
	int fd = cache_open(name, obj, format, &head);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/**
 * cache_write() - write an object's table
 * @obj:	The object.
 * @cfi:	Its unwind information.
 * @format:	The table's version.
 * @name:	The file; it appears whole or not at all.
 *
 * Return: NULL, or what went wrong; "" if that has been told.
 */
const char *cache_write(const struct object *obj, const struct cfi *cfi,
			enum format format, const char *name)
{
	const char *error = NULL;
	struct image image;
	struct plan plan;

	plan_make(&plan, cfi, format, plan_vaddr(obj));
	if (!image_make(&image, &plan))
		error = "the table would exceed 4 GiB";
	else if (file_write(name, obj, &image, format))
		error = "";
	image_free(&image);
	plan_free(&plan);
	return error;
}
