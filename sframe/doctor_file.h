/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_DOCTOR_FILE_H
#define _SFRAME_DOCTOR_FILE_H

/* Where an object's table is, or why there is none. */
enum table_state {
	TABLE_OWN,
	TABLE_IN_PATH,
	TABLE_MISSING,
	TABLE_REFUSED,		/* a file in the path */
	TABLE_WRONG,		/* a file in the path that the kernel accepts */
	TABLE_OWN_DAMAGED,
	TABLE_NO_BUILD_ID,
	TABLE_NO_CFI,
	TABLE_32_BIT,
	TABLE_NO_OBJECT,
	TABLE_UNREADABLE,
	TABLE_GONE,
	NUM_TABLE_STATES,
};

/**
 * struct look - the result of looking for a file's table
 * @state:	Where its table is.
 * @table:	The table's file, for TABLE_IN_PATH, TABLE_REFUSED and TABLE_WRONG.
 * @why:	The reason, where the state alone does not say it.
 */
struct look {
	enum table_state	state;
	char			table[512];
	char			why[128];
};

void look_at_file(const char *name, void *result);

#endif /* _SFRAME_DOCTOR_FILE_H */
