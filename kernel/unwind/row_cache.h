/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The rows that walks have found, by address: see row_cache.c.
 */
#ifndef _KERNEL_UNWIND_ROW_CACHE_H
#define _KERNEL_UNWIND_ROW_CACHE_H

#include <linux/compiler.h>
#include <linux/gfp_types.h>
#include <linux/rcupdate.h>
#include <linux/types.h>

#include "row_pack.h"

/**
 * struct row_cache - rows of one process's tables
 * @id:		Another one for each that there ever was.
 * @rcu:	Defers freeing until the last reader has left.
 * @slots:	See row_pack.h.  Anybody writes, anybody reads, a word at a time.
 *
 * Allocated by row_cache_alloc(), published in sframe_index::rows, taken from
 * there and freed when one of the tables goes: whoever works on an older one then
 * changes nothing.
 */
struct row_cache {
	u64		id;
	struct rcu_head	rcu;
	u64		slots[ROW_SLOTS];
};

/* The word in the slot of @ip, which may be another address's.  Under RCU. */
static __always_inline u64 row_cache_slot(const struct row_cache *cache, u64 ip)
{
	return READ_ONCE(cache->slots[row_slot(ip)]);
}

/* The word for @ip, or 0.  Under RCU. */
static inline u64 row_cache_find(const struct row_cache *cache, u64 ip)
{
	u64 word = row_cache_slot(cache, ip);

	return row_is_at(word, ip) ? word : 0;
}

/* Under RCU; @found and @row as for row_pack(). */
static inline void row_cache_add(struct row_cache *cache, u64 ip, int found,
				 const struct sframe_row *row)
{
	u64 word = row_pack(ip, found, row);

	if (word)
		WRITE_ONCE(cache->slots[row_slot(ip)], word);
}

#ifdef CONFIG_UNWIND_ROW_CACHE
struct row_cache *row_cache_alloc(void);
void row_cache_free(struct row_cache *cache);
void row_cache_request(void);
#else
static inline struct row_cache *row_cache_alloc(void)
{
	return NULL;
}

static inline void row_cache_free(struct row_cache *cache) { }
static inline void row_cache_request(void) { }
#endif

#endif /* _KERNEL_UNWIND_ROW_CACHE_H */
