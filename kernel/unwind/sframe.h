/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KERNEL_UNWIND_SFRAME_H
#define _KERNEL_UNWIND_SFRAME_H

#include <linux/errno.h>
#include <linux/limits.h>

#include "call.h"
#include "table.h"

/**
 * struct sframe_found - the table that a walk used before that of its cursor
 * @table:	The table.
 * @start:	First address that it covers.
 * @size:	Number of bytes that it covers; 0 if there is no such table.
 * @offset:	Offset of @start in its code.
 * @own:	The object's own table, as in struct sframe_cursor.
 */
struct sframe_found {
	const struct unwind_table	*table;
	unsigned long			start;
	unsigned long			size;
	unsigned long			offset;
	const struct unwind_table	*own;
};

/**
 * struct sframe_cursor - the table that a walk used last
 * @table:	The table.
 * @start:	Address of the first mapped byte of the code that @table covers.
 * @size:	Number of mapped bytes from @start on that @table covers; 0 if the cursor has
 *		no table.
 * @offset:	Offset of @start in the code of @table.
 * @gap:	The addresses around the last one that no table covered.
 * @own:	The table to ask where @table has no row, or one without unwind information; or
 *		NULL.
 * @before:	The table that the walk used before, as stacks alternate between two objects.
 * @look:	First instruction that the walk has met in a file that is not known, or whose
 *		rows are not loaded; else 0.
 */
struct sframe_cursor {
	const struct unwind_table	*table;
	unsigned long			start;
	unsigned long			size;
	unsigned long			offset;
	struct unwind_range		gap;
	const struct unwind_table	*own;
	struct sframe_found		before;
	unsigned long			look;
};

/* Forget the tables, which may be freed where RCU is not held. */
static inline void sframe_forget(struct sframe_cursor *cursor)
{
	cursor->size = 0;
	cursor->before.size = 0;
}

/* Whether no table covers @ip, as @cursor has found before. */
static __always_inline bool sframe_is_in_gap(const struct sframe_cursor *cursor, unsigned long ip)
{
	return unwind_in_range(&cursor->gap, ip);
}

#ifdef CONFIG_UNWIND_USER_SFRAME
int sframe_seek(struct sframe_cursor *cursor, unsigned long ip);
void sframe_find_own(const struct sframe_cursor *cursor, unsigned long at,
		     struct sframe_row *row);

/* Whether the table of @cursor covers @ip. */
static __always_inline bool sframe_is_at(const struct sframe_cursor *cursor, unsigned long ip)
{
	return likely(ip - cursor->start < cursor->size);
}

/**
 * sframe_find() - find the row for an instruction of the current process
 * @cursor: Cursor of the walk, zeroed when the walk begins.
 * @ip: Address of the instruction; for a caller, the return address minus one.
 * @row: Set to the row if a table covers @ip.
 *
 * A walk may go on using a table that has been removed, or covered by another, since the walk found
 * it.
 *
 * Context: Any, NMI included.  The caller has held RCU since it first used @cursor.
 * Return: 0; an error of sframe_seek(); an error of unwind_table_find().
 */
static inline int sframe_find(struct sframe_cursor *cursor, unsigned long ip,
			      struct sframe_row *row)
{
	unsigned long at;
	int ret;

	if (sframe_is_in_gap(cursor, ip))
		return -ENXIO;
	ret = sframe_is_at(cursor, ip) ? 0 : sframe_seek(cursor, ip);
	if (ret)
		return ret;
	/* User space chooses @ip, so it must not steer speculation beyond the table. */
	at = cursor->offset + array_index_nospec(ip - cursor->start, cursor->size);
	unwind_table_row(cursor->table, at, row);
	if (unlikely(row->error == -ENOENT || row->followed) && cursor->own)
		sframe_find_own(cursor, at, row);
	return row->error;
}

/* Whether @cursor, whose table covers @ip, has a row for it, or one that says: no rule. */
static inline bool sframe_has_row(const struct sframe_cursor *cursor, unsigned long ip)
{
	const struct unwind_table *table = cursor->table;
	unsigned long at = cursor->offset + array_index_nospec(ip - cursor->start, cursor->size);
	struct sframe_row own;

	return unwind_table_rule(table->rows, table->index, table->shift, at) !=
			UNWIND_RULE_NOWHERE ||
	       (cursor->own && unwind_table_find(cursor->own, at, &own) != -ENOENT);
}

#else
static inline int sframe_seek(struct sframe_cursor *cursor, unsigned long ip)
{
	cursor->gap.size = ULONG_MAX;
	return -ENXIO;
}

static inline int sframe_find(struct sframe_cursor *cursor, unsigned long ip,
			      struct sframe_row *row)
{
	return sframe_seek(cursor, ip);
}

static inline bool sframe_is_at(const struct sframe_cursor *cursor, unsigned long ip)
{
	return false;
}

static inline bool sframe_has_row(const struct sframe_cursor *cursor, unsigned long ip)
{
	return false;
}
#endif

#endif /* _KERNEL_UNWIND_SFRAME_H */
