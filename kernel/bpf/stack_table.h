/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _BPF_STACK_TABLE_H
#define _BPF_STACK_TABLE_H

#include "stack_mem.h"

/* More entries than this would leave an id too few generations. */
#define BPF_STACK_TABLE_MAX_ENTRIES	BIT(27)

/**
 * struct bpf_stack_stats - what happened, one for each CPU
 * @hits:	Stacks that were there already.
 * @stored:	New stacks.
 * @deleted:	Stacks that user space or a program deleted.
 * @evicted:	Stacks that made room for another one (BPF_F_REUSE_STACKID).
 * @lost_full:	Stacks not stored because the table is full.
 * @lost_nomem:	Stacks not stored because there was no memory.
 * @lost_nested:	Stacks not taken because this context of the CPU holds as many
 *		callchain entries as it has; counted by the map.
 * @truncated:	Stacks that are deeper than the map's value; counted by the map.
 * @races:	Claims given up because another one was for the same stack.
 * @bytes:	Memory of the stacks stored.
 */
struct bpf_stack_stats {
	u64 hits;
	u64 stored;
	u64 deleted;
	u64 evicted;
	u64 lost_full;
	u64 lost_nomem;
	u64 lost_nested;
	u64 truncated;
	u64 races;
	u64 bytes;
};

/**
 * struct bpf_stack_table - a set of stacks, each under an id
 * @cells:	Lines of cells, see stack_table.c.
 * @elems:	Elements by index.
 * @gens:	Generation of each index; only who owns the index touches it.
 * @used:	Bitmap of the indexes in use.
 * @stats:	Counters.
 * @mem:	Memory of the elements.
 * @seed:	Of the hash, random.
 * @nr_lines:	Number of lines.
 * @nr_index:	Number of indexes, a power of two.
 * @index_bits:	Its logarithm.
 * @max_entries: Stacks that the table holds.
 * @count:	Stacks that it holds now.
 * @cursor:	Where the search for a free index goes on.
 *
 * @count and @cursor are written by every inserter of a new stack; the rest is
 * constant, so these two have a cache line of their own.
 */
struct bpf_stack_table {
	atomic64_t *cells;
	struct bpf_stack_elem __rcu **elems;
	u32 *gens;
	atomic64_t *used;
	struct bpf_stack_stats __percpu *stats;
	struct bpf_stack_mem mem;
	u64 seed[3];
	u32 nr_lines;
	u32 nr_index;
	u32 index_bits;
	u32 max_entries;

	atomic64_t count ____cacheline_aligned_in_smp;
	atomic64_t cursor;
};

int bpf_stack_table_init(struct bpf_stack_table *table, u32 max_entries,
			 int node);
void bpf_stack_table_destroy(struct bpf_stack_table *table);

u64 bpf_stack_table_hash(const struct bpf_stack_table *table, const u64 *word,
			 u32 nr);
int bpf_stack_table_get(struct bpf_stack_table *table,
			const struct bpf_stack_key *key, bool reuse);

int bpf_stack_table_copy(const struct bpf_stack_table *table, u32 id,
			 u64 *to, u32 nr);
int bpf_stack_table_next(const struct bpf_stack_table *table, s64 after);
int bpf_stack_table_delete(struct bpf_stack_table *table, u32 id);

struct bpf_stack_stats
bpf_stack_table_stats(const struct bpf_stack_table *table);
u64 bpf_stack_table_bytes(const struct bpf_stack_table *table);

/* The index of @id; the same for all generations. */
static inline u32 bpf_stack_table_index(const struct bpf_stack_table *table,
					u32 id)
{
	return id & (table->nr_index - 1);
}

#endif /* _BPF_STACK_TABLE_H */
