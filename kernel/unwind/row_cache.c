// SPDX-License-Identifier: GPL-2.0
/*
 * Rows of a process's tables, so that walks need not search the tables again.
 *
 * A direct-mapped array of words, 32 KiB, charged to the process's memory cgroup
 * and allocated when the first walk wants it.  Reads and writes take no lock, NMI
 * included: a word is all or nothing.  What does not fit, or collides, is searched
 * for again; nothing depends on a word's staying.
 *
 * No word outlives its table.  Whoever removes a table takes the array away after
 * it, under the mmap_lock; whoever found a row stores it only in the array that
 * was there before he searched:
 *
 *	reader				remover
 *	------				-------
 *	id = rows->id
 *	search in the table		remove the table
 *					rows = NULL
 *	rows->id == id ? store		... free after a grace period
 *
 * Walks with page faults disabled cannot allocate it, nor read a table that is not
 * in memory.  They have the stack walked once more on the way to user space, which
 * can do both; the samples after that one find the rows.
 */

#include <linux/atomic.h>
#include <linux/init.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/unwind_deferred.h>

#include "file.h"
#include "row_cache.h"
#include "stats.h"

/* Frames that are walked for their rows alone: perf's default. */
#define ROW_CACHE_ENTRIES	127

/**
 * row_cache_alloc() - make an empty one
 *
 * Context: Process context, may sleep.
 * Return: It, or NULL.
 */
struct row_cache *row_cache_alloc(void)
{
	static atomic64_t last_id = ATOMIC64_INIT(0);
	struct row_cache *cache;

	cache = kvzalloc(sizeof(*cache), UNWIND_GFP_PROFILED);
	if (cache) {
		cache->id = atomic64_inc_return(&last_id);
		unwind_count(UNWIND_CACHES_ALLOCATED);
	}
	return cache;
}

/**
 * row_cache_free() - let it go, when its readers have left
 * @cache: It, no longer published, or NULL.
 *
 * Context: Process context.
 */
void row_cache_free(struct row_cache *cache)
{
	if (cache) {
		kvfree_rcu(cache, rcu);
		unwind_count(UNWIND_CACHES_FREED);
	}
}

/* The walk itself has done it all. */
static void row_cache_walked(struct unwind_client *client,
			     const struct unwind_user_trace *trace, u64 cookie)
{
}

static struct unwind_client row_cache_client = {
	.callback = row_cache_walked,
	.max_entries = ROW_CACHE_ENTRIES,
};

/**
 * row_cache_request() - have the current task's stack walked for its rows
 *
 * Context: Any, NMI included.
 */
void row_cache_request(void)
{
	u64 cookie;

	/* An exiting task needs none; one that was just served has them. */
	unwind_deferred_request(&row_cache_client, &cookie);
}

static int __init row_cache_init(void)
{
	return unwind_client_register(&row_cache_client);
}
core_initcall(row_cache_init);
