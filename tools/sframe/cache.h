/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _TOOLS_SFRAME_CACHE_H
#define _TOOLS_SFRAME_CACHE_H

#include "table.h"

/*
 * The cache: a file with a table (sframe_file.h) for each object, by build-id,
 *
 *	DIR/<first byte>/<other bytes>.v3
 *
 * in lower case hexadecimal digits.  DIR is SFRAME_CACHE_SYSTEM, or sframe in a
 * user's own cache directory.
 */
#define SFRAME_CACHE_SYSTEM	"/var/cache/sframe"
#define SFRAME_CACHE_NAME	"sframe"

/* A build-id that is shorter has no name for its file. */
#define SFRAME_MIN_ID		2

/* cache_path.c */
char *cache_user_dir(void);
char *cache_default_dir(void);
char *cache_file_name(const char *dir, const struct object *obj,
		      enum format format);
int make_directories(const char *path);
int lock_directory(const char *path);
int cache_open(const char *name, const struct object *obj, enum format format,
	       struct sframe_file *head);
bool cache_file_fits(const char *name, const struct object *obj,
		     enum format format);
const char *cache_write(const struct object *obj, const struct cfi *cfi,
			enum format format, const char *name);

#endif /* _TOOLS_SFRAME_CACHE_H */
