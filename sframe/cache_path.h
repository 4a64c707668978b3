/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_CACHE_PATH_H
#define _SFRAME_CACHE_PATH_H

#include <sys/stat.h>

#include "sframe_table.h"

/*
 * The cache: a file with a table (sframe_file.h) for each object, by build-id,
 *
 *	DIR/<first byte>/<other bytes>.v3
 *
 * in lower case hexadecimal digits.  The kernel finds it if the sysctl
 * kernel.unwind_table_path names DIR.  Writers lock DIR/<first byte>/.lock.
 */
#define SFRAME_CACHE_DIR	"/var/cache/sframe"

/* The shortest build-id that yields a file name. */
#define SFRAME_MIN_ID		2

/* What is in the cache's file for an object. */
enum cached {
	CACHED_NONE,
	CACHED_TABLE,
	CACHED_SYSTEMS,
};

char *cache_file_name(const char *dir, const struct object *obj,
		      enum format format);
int make_directories(const char *path);
int lock_directory(const char *dir);
enum cached cache_look(const char *name, const struct object *obj, enum format format,
		       u32 flags);
const char *cache_refusal(const char *name, struct sframe_file *head, struct stat *st);
int cache_write(const struct object *obj, const struct cfi *cfi, enum format format,
		const char *name, u32 flags);

#endif /* _SFRAME_CACHE_PATH_H */
