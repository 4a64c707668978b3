/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_CACHE_ENTRY_H
#define _SFRAME_CACHE_ENTRY_H

#include <stdbool.h>

#include "cache/path.h"

/* What a file of the cache is. */
enum entry_kind {
	ENTRY_TABLE,
	ENTRY_OBSOLETE,		/* of an earlier version of the tool */
	ENTRY_LEFTOVER,		/* its writer died before the table was complete */
};

/**
 * struct cache_entry - a file in the cache
 * @dir:	The cache.
 * @fd:		The open subdirectory with the file.
 * @first:	The subdirectory's name: the first two digits of the build-id.
 * @name:	The file's name in it.
 * @digits:	The whole build-id.
 * @layout:	The digits of the layout in the file's name; "" if it has none.
 * @kind:	What it is.
 * @locked:	The subdirectory is locked, so nobody else writes there.
 */
struct cache_entry {
	const char	*dir;
	int		fd;
	const char	*first;
	const char	*name;
	char		digits[2 * SFRAME_FILE_MAX_ID + 1];
	char		layout[2 * SFRAME_FILE_LAYOUT + 1];
	enum entry_kind	kind;
	bool		locked;
};

typedef void entry_fn(const struct cache_entry *entry, void *arg);

enum locking { UNLOCKED, LOCKED };

int entries_each(const char *dir, enum locking locking, entry_fn *fn, void *arg);
char *entry_path(const struct cache_entry *entry);
const char *entry_head(const struct cache_entry *entry, struct sframe_file *head);
const char *entry_mismatch(const struct cache_entry *entry, const struct sframe_file *head);

#endif /* _SFRAME_CACHE_ENTRY_H */
