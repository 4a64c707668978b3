/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_DOCTOR_FILE_H
#define _SFRAME_DOCTOR_FILE_H

#include <stdbool.h>

#include "table/uncovered.h"

/* Where an object's table is, or why there is none. */
enum table_state {
	TABLE_OWN,
	TABLE_IN_PATH,
	TABLE_MISSING,
	TABLE_REFUSED,		/* a file in the path */
	TABLE_WRONG,		/* a file in the path that the kernel accepts */
	TABLE_NOT_INDEXED,	/* a file in the path that the kernel does not look for */
	TABLE_OWN_DAMAGED,
	TABLE_OWN_LARGE,
	TABLE_OWN_PARTIAL,
	TABLE_NO_CFI,
	TABLE_FRAMED,		/* the same, but it keeps frame pointers */
	TABLE_32_BIT,
	TABLE_NO_OBJECT,
	TABLE_UNREADABLE,
	TABLE_GONE,
	NUM_TABLE_STATES,
};

/**
 * struct look - the result of looking for a file's table
 * @state:	Where its table is.
 * @has_own:	It carries a table.
 * @no_cache:	sframe cache cannot make a table for it.
 * @table:	The table's file, for TABLE_IN_PATH, TABLE_REFUSED, TABLE_WRONG and
 *		TABLE_NOT_INDEXED.
 * @uncovered:	The text without rows, if it has a table.
 * @why:	The reason, where the state alone does not say it.
 */
struct look {
	enum table_state	state;
	bool			has_own;
	bool			no_cache;
	char			table[512];
	struct uncovered	uncovered;
	char			why[128];
};

void look_at_file(const char *name, void *result);

#endif /* _SFRAME_DOCTOR_FILE_H */
