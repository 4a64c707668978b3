/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The rows of objects, their memory and its limit: see tables.c.
 */
#ifndef _KERNEL_UNWIND_TABLES_H
#define _KERNEL_UNWIND_TABLES_H

#include <linux/jiffies.h>
#include <linux/lockdep.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "object.h"
#include "table.h"

struct sframe_file_text;

/**
 * struct unwind_tables - the rows of an object
 * @rows:	The table of each executable segment.  NULL if the rows are not loaded, or if no
 *		row lies in the segment.  Readers hold RCU.
 * @used:	Time of the last lookup, in jiffies.
 * @recent:	Entry in the list of all tables while the rows are loaded, else empty.
 * @bytes:	Memory that the rows take.
 * @evicted:	Called after the rows were taken away, with unwind_tables_lock held; may free
 *		what contains the tables, by RCU.
 *
 * unwind_tables_lock protects @rows against writers, @recent and @bytes.
 */
struct unwind_tables {
	struct unwind_table __rcu	*rows[UNWIND_MAX_CODE];
	unsigned long			used;
	struct list_head		recent;
	size_t				bytes;
	void (*evicted)(struct unwind_tables *tables);
};

extern spinlock_t unwind_tables_lock;
extern atomic_t unwind_tables_generation;
extern unsigned int unwind_tables_kbytes;

int unwind_tables_build(const struct unwind_table_source *table,
			const struct sframe_file_text *text, unsigned int nr,
			struct unwind_table **rows, gfp_t gfp);
void unwind_tables_init(struct unwind_tables *tables, void (*evicted)(struct unwind_tables *));
void unwind_tables_add(struct unwind_tables *tables, struct unwind_table **rows, unsigned int nr);
void unwind_tables_drop(struct unwind_tables *tables);
void unwind_tables_put(struct unwind_tables *tables);
bool unwind_tables_make_room(size_t bytes, bool evict);
size_t unwind_tables_limit(void);
size_t unwind_tables_size(struct unwind_table **rows, unsigned int nr);
void unwind_tables_free_rows(struct unwind_table **rows, unsigned int nr);
void unwind_tables_look_again(void);
void unwind_tables_expect(bool any);

/* Whether the rows are loaded; the lock is held. */
static inline bool unwind_tables_are_loaded(const struct unwind_tables *tables)
{
	lockdep_assert_held(&unwind_tables_lock);
	return !list_empty(&tables->recent);
}

/**
 * unwind_tables_use() - get the rows of a segment for a lookup
 * @tables: The tables.
 * @segment: Number of the segment.
 *
 * Context: Any, NMI included.  The caller holds RCU as long as it uses the rows.
 * Return: The rows, or NULL if there are none.
 */
static inline const struct unwind_table *unwind_tables_use(struct unwind_tables *tables,
							   unsigned int segment)
{
	unsigned long now = jiffies;

	/* All CPUs share the cache line: write to it at most once per jiffy. */
	if (READ_ONCE(tables->used) != now)
		WRITE_ONCE(tables->used, now);
	return rcu_dereference(tables->rows[segment]);
}

#endif /* _KERNEL_UNWIND_TABLES_H */
