/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_CACHE_PATH_H
#define _SFRAME_CACHE_PATH_H

#include <sys/stat.h>

#include "table/bare.h"
#include "table/sframe_table.h"

/*
 * The cache: a file with a table (base/sframe_file.h) for each object, by build-id or what it
 * has in its place,
 *
 *	DIR/<first byte>/<other bytes>.v4
 *	DIR/<first byte>/<other bytes>-<layout>.v4
 *
 * in lower case hexadecimal digits.  The second name is for an object with a build-id whose
 * first name has a table of another layout.  The kernel looks there only if the first name is
 * taken.  Writers lock DIR/<first byte>/.lock.
 */
#define SFRAME_CACHE_DIR	"/var/cache/sframe"

/* The suffix of all tables that the kernel reads */
#define CACHE_SUFFIX		".v4"

/* What is in the cache's file for an object. */
enum cached {
	CACHED_NONE,
	CACHED_TABLE,
	CACHED_SYSTEMS,
	CACHED_OTHER,	/* a good table of an object with another layout */
};

/* The name with the build-id alone, or that with the layout, too. */
enum place { PLACE_FIRST, PLACE_LAYOUT };

/* For an object's build-id, "-" and its layout in digits */
#define CACHE_KEY_SIZE	(2 * SFRAME_FILE_MAX_ID + 1 + 2 * SFRAME_FILE_LAYOUT + 1)

/* Whether an object's own table is to be copied, because there is nothing to make one of. */
enum own {
	OWN_NONE,	/* it has none, or there is something to make one of */
	OWN_BAD,	/* the kernel does not read it */
	OWN_COPIED,
};

/**
 * struct wanted - the table that an object needs
 * @head:	The header of the table's file, as file_describe() fills it in, and the format.
 *		For a copy, also the table's place and size.
 * @own:	Whether it is a copy of the object's own.
 * @bare:	What else the object can have if it has no unwind information.
 * @sha256:	SHA-256 of the table, if it is a copy.
 */
struct wanted {
	struct sframe_file	head;
	enum own		own;
	enum bare		bare;
	u8			sha256[32];
};

void cache_key(const u8 *id, u32 id_size, const u8 layout[SFRAME_FILE_LAYOUT],
	       char key[CACHE_KEY_SIZE]);
char *cache_file_name(const char *dir, const struct sframe_file *object, enum place place);
int make_directories(const char *path);
int lock_directory(const char *dir);
enum cached cache_look(const char *dir, const struct wanted *wanted, u32 flags, char **name);
const char *cache_refusal(const char *name, struct sframe_file *head, struct stat *st,
			  struct sframe_note *note);

#endif /* _SFRAME_CACHE_PATH_H */
