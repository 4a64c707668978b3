// SPDX-License-Identifier: GPL-2.0
/*
 * Segments: stretches of code, each with the rows that are loaded for it.
 *
 * Mappings refer to a segment and never to its rows, which the owner of the segment may take
 * away at any time to free their memory.  Readers use the rows under RCU; a reader that finds
 * none asks for the tables of its process again.
 */

#include <linux/atomic.h>
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/random.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/unwind_user.h>

#include "segment.h"

/* Incremented when objects without a table may have got one. */
atomic_t unwind_tables_generation = ATOMIC_INIT(0);

/**
 * unwind_tables_look_again() - have all processes look for tables again
 *
 * Call this when tables may have appeared for code that had none.
 *
 * Context: Any.
 */
void unwind_tables_look_again(void)
{
	/* A racing reader sees the new value at its next sample. */
	atomic_inc(&unwind_tables_generation);
}

/**
 * unwind_segment_build() - make a segment and its table
 * @source: The SFrame table, and the range of code.
 * @gfp: Flags for all allocations.
 *
 * Context: Process context, may sleep.
 * Return: The segment with one reference, for unwind_segment_put(); or an error of
 * unwind_table_build().
 */
struct unwind_segment *unwind_segment_build(const struct unwind_table_source *source, gfp_t gfp)
{
	struct unwind_table *table = unwind_table_build(source, get_random_u32(), gfp);
	struct unwind_segment *segment;

	if (IS_ERR(table))
		return ERR_CAST(table);
	segment = kzalloc(sizeof(*segment), gfp);
	if (!segment) {
		unwind_table_free(table);
		return ERR_PTR(-ENOMEM);
	}
	refcount_set(&segment->users, 1);
	RCU_INIT_POINTER(segment->table, table);
	segment->used = jiffies;
	return segment;
}

/**
 * unwind_segment_get() - take a reference
 * @segment: The segment.
 *
 * Return: @segment.
 */
struct unwind_segment *unwind_segment_get(struct unwind_segment *segment)
{
	refcount_inc(&segment->users);
	return segment;
}

static void unwind_segment_free(struct rcu_head *rcu)
{
	struct unwind_segment *segment = container_of(rcu, struct unwind_segment, rcu);

	unwind_table_free(rcu_dereference_protected(segment->table, true));
	kfree(segment);
}

/**
 * unwind_segment_put() - release a reference
 * @segment: The segment, or NULL.  RCU readers may still use it.
 *
 * Context: Any but NMI.
 */
void unwind_segment_put(struct unwind_segment *segment)
{
	if (segment && refcount_dec_and_test(&segment->users))
		call_rcu(&segment->rcu, unwind_segment_free);
}
