/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Segments: stretches of code, each with the rows that are loaded for it: see segment.c.
 */
#ifndef _KERNEL_UNWIND_SEGMENT_H
#define _KERNEL_UNWIND_SEGMENT_H

#include <linux/gfp_types.h>
#include <linux/jiffies.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/types.h>

#include "table.h"

/*
 * For memory that a process is charged for because another process profiles it.  If its
 * memory cgroup is full, the allocation fails and stacks are short; the OOM killer does not
 * run.
 */
#define UNWIND_GFP_PROFILED	(GFP_KERNEL_ACCOUNT | __GFP_NORETRY | __GFP_NOWARN)

/**
 * struct unwind_segment - a stretch of code and its table
 * @users:	References: one from the segment's file, one from each mapping in each process.
 * @table:	The rows, or NULL if they have been evicted.  Readers hold RCU.
 * @used:	Time of the last lookup, in jiffies.
 * @rcu:	Defers freeing until no reader is left.
 */
struct unwind_segment {
	refcount_t			users;
	struct unwind_table __rcu	*table;
	unsigned long			used;
	struct rcu_head			rcu;
};

struct unwind_segment *unwind_segment_build(const struct unwind_table_source *source, gfp_t gfp);
struct unwind_segment *unwind_segment_get(struct unwind_segment *segment);
void unwind_segment_put(struct unwind_segment *segment);

/**
 * unwind_segment_use() - get the table of a segment for a lookup
 * @segment: The segment.
 *
 * Context: Any, NMI included.  The caller holds RCU as long as it uses the table.
 * Return: The table, or NULL if it has been evicted.
 */
static inline const struct unwind_table *unwind_segment_use(struct unwind_segment *segment)
{
	unsigned long now = jiffies;

	/* All CPUs share the cache line: write to it at most once per jiffy. */
	if (READ_ONCE(segment->used) != now)
		WRITE_ONCE(segment->used, now);
	return rcu_dereference(segment->table);
}

void unwind_tables_look_again(void);

#endif /* _KERNEL_UNWIND_SEGMENT_H */
