/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KERNEL_UNWIND_SFRAME_H
#define _KERNEL_UNWIND_SFRAME_H

#include <linux/errno.h>
#include <linux/limits.h>

#include "call.h"
#include "table.h"

/* Number of tables that a cursor remembers, as stacks alternate between a few objects */
#define SFRAME_FOUND	4

/**
 * struct sframe_found - a table that a walk has found
 * @table:	The table.
 * @start:	Address of the first mapped byte of the code that @table covers.
 * @size:	Number of mapped bytes from @start on that @table covers; 0 if there is no table.
 * @offset:	Offset of @start in the code of @table.
 * @own:	The table to ask where @table has no row, or one without unwind information; or
 *		NULL.
 */
struct sframe_found {
	const struct unwind_table	*table;
	unsigned long			start;
	unsigned long			size;
	unsigned long			offset;
	const struct unwind_table	*own;
};

/**
 * struct sframe_cursor - the tables that a walk has found last
 * @found:	The tables.
 * @now:	Which of these the walk used last.
 * @next:	Which of these the next table replaces, if the walk has not used it last.
 * @gap:	The addresses around the last one that no table covered.
 * @text:	The executable mapping of the address that was searched for last; empty if it is in
 *		none, or a program has registered a table for it.
 * @look:	First instruction that the walk has met in a file that is not known, or whose
 *		rows are not loaded; else 0.
 */
struct sframe_cursor {
	struct sframe_found	found[SFRAME_FOUND];
	unsigned int		now;
	unsigned int		next;
	struct unwind_range	gap;
	struct unwind_range	text;
	unsigned long		look;
};

/* Forget the tables, which may be freed where RCU is not held. */
static inline void sframe_forget(struct sframe_cursor *cursor)
{
	unsigned int i;

	for (i = 0; i < SFRAME_FOUND; i++)
		cursor->found[i].size = 0;
}

/* The table that @cursor used last. */
static __always_inline const struct sframe_found *sframe_now(const struct sframe_cursor *cursor)
{
	return &cursor->found[cursor->now];
}

/* Whether no table covers @ip, as @cursor has found before. */
static __always_inline bool sframe_is_in_gap(const struct sframe_cursor *cursor, unsigned long ip)
{
	return unwind_in_range(&cursor->gap, ip);
}

#ifdef CONFIG_UNWIND_USER_SFRAME
int sframe_seek(struct sframe_cursor *cursor, unsigned long ip);
struct sframe_found *sframe_replace(struct sframe_cursor *cursor);
void sframe_find_own(const struct sframe_found *found, unsigned long at, struct sframe_row *row);

/* Whether the table that @cursor used last covers @ip. */
static __always_inline bool sframe_is_at(const struct sframe_cursor *cursor, unsigned long ip)
{
	const struct sframe_found *found = sframe_now(cursor);

	return likely(ip - found->start < found->size);
}

/* Use the table that covers @ip from now on, if @cursor remembers one. */
static inline bool sframe_recall(struct sframe_cursor *cursor, unsigned long ip)
{
	unsigned int i;

	for (i = 0; i < SFRAME_FOUND; i++) {
		if (ip - cursor->found[i].start >= cursor->found[i].size)
			continue;
		cursor->now = i;
		return true;
	}
	return false;
}

/**
 * sframe_row() - get the row for an instruction of the current process
 * @cursor: Cursor of the walk, whose table covers @ip.
 * @ip: Address of the instruction; for a caller, the return address minus one.
 * @row: Set to the row.
 *
 * A walk may go on using a table that has been removed, or covered by another, since the walk found
 * it.
 *
 * Context: Any, NMI included.  The caller has held RCU since sframe_seek() found the table.
 * Return: 0; an error of unwind_table_find().
 */
static inline int sframe_row(const struct sframe_cursor *cursor, unsigned long ip,
			     struct sframe_row *row)
{
	const struct sframe_found *found = sframe_now(cursor);
	unsigned long at;

	/* User space chooses @ip, so it must not steer speculation beyond the table. */
	at = found->offset + array_index_nospec(ip - found->start, found->size);
	unwind_table_row(found->table, at, row);
	if (unlikely(row->error == -ENOENT || row->followed) && found->own)
		sframe_find_own(found, at, row);
	return row->error;
}

/* Whether @cursor, whose table covers @ip, has a row for it, or one that says: no rule. */
static inline bool sframe_has_row(const struct sframe_cursor *cursor, unsigned long ip)
{
	const struct sframe_found *found = sframe_now(cursor);
	unsigned long at = found->offset + array_index_nospec(ip - found->start, found->size);
	const struct unwind_table *table = found->table;
	struct sframe_row own;

	return unwind_table_rule(table->rows, table->index, table->shift, at) !=
			UNWIND_RULE_NOWHERE ||
	       (found->own && unwind_table_find(found->own, at, &own) != -ENOENT);
}

#else
static inline int sframe_seek(struct sframe_cursor *cursor, unsigned long ip)
{
	cursor->gap.size = ULONG_MAX;
	return -ENXIO;
}

static inline int sframe_row(const struct sframe_cursor *cursor, unsigned long ip,
			     struct sframe_row *row)
{
	return -ENXIO;
}

static inline bool sframe_is_at(const struct sframe_cursor *cursor, unsigned long ip)
{
	return false;
}

static inline bool sframe_recall(struct sframe_cursor *cursor, unsigned long ip)
{
	return false;
}

static inline bool sframe_has_row(const struct sframe_cursor *cursor, unsigned long ip)
{
	return false;
}
#endif

#endif /* _KERNEL_UNWIND_SFRAME_H */
