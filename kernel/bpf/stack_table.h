/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _BPF_STACK_TABLE_H
#define _BPF_STACK_TABLE_H

#include "stack_pool.h"

/* More entries than this would leave an id too few generations. */
#define BPF_STACK_TABLE_MAX_ENTRIES	BIT(27)

/**
 * struct bpf_stack_stats - what happened, one for each CPU
 * @hits:	Stacks that were there already.
 * @stored:	New stacks.
 * @deleted:	Stacks that user space deleted.
 * @evicted:	Stacks that made room for another one (BPF_F_REUSE_STACKID).
 * @lost_full:	Stacks not stored because the table is full.
 * @lost_nomem:	Stacks not stored because there was no memory.
 * @lost_nested:	Stacks not taken because the CPU had no callchain entry left;
 *		counted by the map.
 * @lost_busy:	Stacks not stored because no build id could be looked up; counted by
 *		the map.
 * @truncated:	Stacks that are deeper than the map's value; counted by the map.
 * @races:	Claims given up because another one was for the same stack.
 */
struct bpf_stack_stats {
	u64 hits;
	u64 stored;
	u64 deleted;
	u64 evicted;
	u64 lost_full;
	u64 lost_nomem;
	u64 lost_nested;
	u64 lost_busy;
	u64 truncated;
	u64 races;
};

/**
 * struct bpf_stack_rec - a stack, or a free record
 * @hash:	Of all words.
 * @id:		Index and generation: what bpf_get_stackid() returns, or will return
 *		for the next stack here.
 * @cell:	Where the table's word for this stack is.  Written by the
 *		inserter until the stack is stored.
 * @nr:		Number of words; of a free record, the link of its list.
 * @block:	First block of words.
 *
 * All but @cell is constant while a cell has the record's id.  Readers use
 * READ_ONCE(), and look at the cell again.
 */
struct bpf_stack_rec {
	u64 hash;
	u32 id;
	u32 cell;
	u32 nr;
	u32 block;
};

/**
 * struct bpf_stack_key - a stack to look for or to store
 * @word:	The words.
 * @nr:		Number of words, at least one.
 * @fast:	Trust the hash, do not compare the words.
 * @hash:	bpf_stack_table_hash() of the words, which is odd.
 */
struct bpf_stack_key {
	const u64 *word;
	u32 nr;
	bool fast;
	u64 hash;
};

/**
 * struct bpf_stack_table - a set of stacks, each under an id
 * @cells:	Lines of cells, see stack_table.c.
 * @recs:	Records by index.
 * @stats:	Counters.
 * @seed:	Of the hash, random.
 * @nr_lines:	Number of lines.
 * @nr_index:	Number of records, a power of two.
 * @max_entries: Stacks that the table holds.
 * @count:	Stacks that it holds now.
 * @free:	Lists of the free records, see rec_take().
 * @turn:	Even: records are taken from the first list and put on the second.
 * @pool:	Words of the stacks.
 *
 * From @count on, the fields are written with each new stack; those before are
 * constant.
 */
struct bpf_stack_table {
	atomic64_t *cells;
	struct bpf_stack_rec *recs;
	struct bpf_stack_stats __percpu *stats;
	u32 seed;
	u32 nr_lines;
	u32 nr_index;
	u32 max_entries;

	atomic64_t count ____cacheline_aligned_in_smp;
	atomic64_t free[2] ____cacheline_aligned_in_smp;
	u32 turn;
	struct bpf_stack_pool pool;
};

int bpf_stack_table_init(struct bpf_stack_table *table, u32 max_entries,
			 u32 max_words, u32 fill_words, int node);
void bpf_stack_table_destroy(struct bpf_stack_table *table);

u64 bpf_stack_table_hash(const struct bpf_stack_table *table, const u64 *word,
			 u32 nr);
int bpf_stack_table_get(struct bpf_stack_table *table,
			const struct bpf_stack_key *key, bool reuse);

bool bpf_stack_table_has(struct bpf_stack_table *table, u32 id);
int bpf_stack_table_copy(const struct bpf_stack_table *table, u32 id,
			 u64 *to, u32 nr);
int bpf_stack_table_words(const struct bpf_stack_table *table, u32 id);
int bpf_stack_table_read(const struct bpf_stack_table *table, u32 id,
			 u32 off, void *to, u32 len);
int bpf_stack_table_next(const struct bpf_stack_table *table, s64 after);
int bpf_stack_table_delete(struct bpf_stack_table *table, u32 id);

struct bpf_stack_stats
bpf_stack_table_stats(const struct bpf_stack_table *table);
u64 bpf_stack_table_bytes(const struct bpf_stack_table *table);

/* The number of stacks; a stack may be deleted before it has been counted. */
static inline u32 bpf_stack_table_count(const struct bpf_stack_table *table)
{
	return max_t(s64, atomic64_read(&table->count), 0);
}

/* The index of @id; the same for all generations. */
static inline u32 bpf_stack_table_index(const struct bpf_stack_table *table,
					u32 id)
{
	return id & (table->nr_index - 1);
}

#endif /* _BPF_STACK_TABLE_H */
