/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KERNEL_UNWIND_SFRAME_H
#define _KERNEL_UNWIND_SFRAME_H

#include <linux/errno.h>

#include "file.h"
#include "row_cache.h"
#include "sframe_decode.h"

struct mm_struct;
struct sframe_index;
struct sframe_region;
struct unwind_part;

/**
 * enum sframe_without - why a mapping has no table
 * @SFRAME_WITHOUT:	There is none.
 * @SFRAME_PENDING:	It was being loaded when somebody waited for it.
 */
enum sframe_without {
	SFRAME_WITHOUT,
	SFRAME_PENDING,
};

/**
 * struct sframe_cursor - where a walk under RCU looks for rows
 * @segment:	The code that had the last frame, or NULL.
 * @base:	Where @segment starts ...
 * @start:	... what of it is mapped ...
 * @size:	... and the bytes of that.
 * @rows:	Rows of tables that are read in place: sframe_rows() when the walk began.
 * @table:	The table of that sort that had the last frame, or NULL.
 */
struct sframe_cursor {
	struct unwind_segment		*segment;
	unsigned long			base;
	unsigned long			start;
	unsigned long			size;
	struct row_cache		*rows;
	const struct sframe_table	*table;
};

#ifdef CONFIG_UNWIND_USER_SFRAME
int sframe_lookup(struct sframe_reader *reader, unsigned long ip,
		  struct sframe_row *row, unsigned int *searched);
int __sframe_search_rcu(struct sframe_reader *reader,
			struct sframe_cursor *cursor, unsigned long ip,
			struct sframe_row *row);
struct row_cache *sframe_rows(void);
bool sframe_wants_rows(const struct row_cache *rows);
void sframe_alloc_rows(void);
void sframe_table_missed(void);
void sframe_fetch_tables(void);

/* Finding the tables of what a process has mapped, discover.c */
void sframe_discover(void);
bool sframe_discovery_is_due(void);

/* For discover.c alone */
int sframe_attach(struct mm_struct *mm, const struct unwind_part *part, unsigned long start,
		  unsigned long end, u64 offset);
int sframe_add_without(struct mm_struct *mm, unsigned long start, unsigned long end,
		       enum sframe_without why);
bool sframe_is_known(struct sframe_index *index, unsigned long start,
		     unsigned long end);
bool sframe_is_pending(struct sframe_index *index, unsigned long start, unsigned long end);
bool sframe_begin_discovery(void);
void sframe_rest_discovery(unsigned long ticks, bool again);

/**
 * sframe_search_rcu() - sframe_lookup() for walks that stay under RCU
 * @reader: How memory may be read; does not sleep.
 * @cursor: The walk's own.
 * @ip: As for sframe_lookup(); @cursor->rows does not have it.
 * @row: Filled in on success.
 *
 * A table that goes while the walk is under way may serve it to its end.  Its
 * rows do not outlive it: they go to the cache that goes with it.
 *
 * Context: Any, NMI included; under RCU since before @cursor was filled in.
 * Return: As sframe_lookup().
 */
static __always_inline int sframe_search_rcu(struct sframe_reader *reader,
					     struct sframe_cursor *cursor,
					     unsigned long ip,
					     struct sframe_row *row)
{
	const struct sframe_table *table = cursor->table;
	int ret;

	if (!table || ip - table->text_start >= table->text_end - table->text_start)
		return __sframe_search_rcu(reader, cursor, ip, row);
	ret = __sframe_find_row(reader, table, ip, row);
	if (cursor->rows)
		row_cache_add(cursor->rows, ip, ret, row);
	return ret;
}
#else
static inline int sframe_lookup(struct sframe_reader *reader, unsigned long ip,
				struct sframe_row *row, unsigned int *searched)
{
	return -ENXIO;
}

static inline int sframe_search_rcu(struct sframe_reader *reader,
				    struct sframe_cursor *cursor,
				    unsigned long ip, struct sframe_row *row)
{
	return -ENXIO;
}

static inline struct row_cache *sframe_rows(void)
{
	return NULL;
}

static inline bool sframe_wants_rows(const struct row_cache *rows)
{
	return false;
}

static inline void sframe_alloc_rows(void) { }
static inline void sframe_table_missed(void) { }
static inline void sframe_fetch_tables(void) { }
static inline void sframe_discover(void) { }

static inline bool sframe_discovery_is_due(void)
{
	return false;
}
#endif

#endif /* _KERNEL_UNWIND_SFRAME_H */
