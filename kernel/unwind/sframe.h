/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KERNEL_UNWIND_SFRAME_H
#define _KERNEL_UNWIND_SFRAME_H

#include <linux/errno.h>
#include <linux/limits.h>

#include "table.h"

struct mm_struct;
struct sframe_index;
struct sframe_region;
struct unwind_part;

/**
 * enum sframe_without - why a mapping has no table
 * @SFRAME_WITHOUT:	The object has no table.
 * @SFRAME_PENDING:	A walk waited for the table, and it was not loaded in time.
 * @SFRAME_REMOVED:	The process has removed the table.
 */
enum sframe_without {
	SFRAME_WITHOUT,
	SFRAME_PENDING,
	SFRAME_REMOVED,
};

/**
 * struct sframe_cursor - the table that a walk used last
 * @table:	The table.
 * @start:	Address of the first mapped byte of the code that @table covers.
 * @size:	Number of mapped bytes from @start on that @table covers; 0 if the cursor has
 *		no table.
 * @offset:	Offset of @start in the code of @table.
 * @gap_start:	First of the addresses around the last one that no table covered.
 * @gap_size:	Number of these addresses.
 */
struct sframe_cursor {
	const struct unwind_table	*table;
	unsigned long			start;
	unsigned long			size;
	unsigned long			offset;
	unsigned long			gap_start;
	unsigned long			gap_size;
};

/* Whether no table covers @ip, as @cursor has found before. */
static __always_inline bool sframe_is_in_gap(const struct sframe_cursor *cursor, unsigned long ip)
{
	return ip - cursor->gap_start < cursor->gap_size;
}

#ifdef CONFIG_UNWIND_USER_SFRAME
int sframe_seek(struct sframe_cursor *cursor, unsigned long ip);

/* Whether the table of @cursor covers @ip. */
static __always_inline bool sframe_is_at(const struct sframe_cursor *cursor, unsigned long ip)
{
	return likely(ip - cursor->start < cursor->size);
}

/*
 * Get the row of @ip, which the table of @cursor covers.  User space chooses @ip, so it must
 * not steer speculation beyond the table.
 */
static __always_inline const struct sframe_row *sframe_row_at(const struct sframe_cursor *cursor,
							      unsigned long ip)
{
	unsigned long at = array_index_nospec(ip - cursor->start, cursor->size);

	return unwind_table_row(cursor->table, cursor->offset + at);
}

/**
 * sframe_find() - find the row for an instruction of the current process
 * @cursor: Cursor of the walk, zeroed when the walk begins.
 * @ip: Address of the instruction; for a caller, the return address minus one.
 * @row: Set to the row.
 *
 * A walk may go on using a table that has been removed since the walk found it.
 *
 * Context: Any, NMI included.  The caller has held RCU since it first used @cursor, and
 * holds it as long as it uses @row.
 * Return: 0; an error of sframe_seek(); an error of unwind_table_find().
 */
static inline int sframe_find(struct sframe_cursor *cursor, unsigned long ip,
			      const struct sframe_row **row)
{
	int ret;

	if (sframe_is_in_gap(cursor, ip))
		return -ENXIO;
	ret = sframe_is_at(cursor, ip) ? 0 : sframe_seek(cursor, ip);
	if (ret)
		return ret;
	*row = sframe_row_at(cursor, ip);
	return (*row)->error;
}

/* Discovery of the tables of mapped objects: discover.c */
void sframe_discover(void);
bool sframe_discovery_is_due(void);

/* Only for discover.c */
struct sframe_index *sframe_get_index(struct mm_struct *mm, gfp_t gfp);
int sframe_attach(struct mm_struct *mm, const struct unwind_part *part, unsigned long start,
		  unsigned long end, u64 offset);
int sframe_add_without(struct mm_struct *mm, unsigned long start, unsigned long end,
		       enum sframe_without why);
bool sframe_is_known(struct sframe_index *index, unsigned long start,
		     unsigned long end);
bool sframe_is_pending(struct sframe_index *index, unsigned long start, unsigned long end);
bool sframe_begin_discovery(void);
void sframe_rest_discovery(unsigned long ticks, bool again);
#else
static inline int sframe_seek(struct sframe_cursor *cursor, unsigned long ip)
{
	cursor->gap_size = ULONG_MAX;
	return -ENXIO;
}

static inline int sframe_find(struct sframe_cursor *cursor, unsigned long ip,
			      const struct sframe_row **row)
{
	return sframe_seek(cursor, ip);
}

static inline bool sframe_is_at(const struct sframe_cursor *cursor, unsigned long ip)
{
	return false;
}

static inline const struct sframe_row *sframe_row_at(const struct sframe_cursor *cursor,
						     unsigned long ip)
{
	return NULL;
}
#endif

#endif /* _KERNEL_UNWIND_SFRAME_H */
