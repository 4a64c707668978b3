/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _BPF_STACK_TABLE_H
#define _BPF_STACK_TABLE_H

#include "stack_pool.h"

/* With more entries an id would have too few bits left for its generation. */
#define BPF_STACK_TABLE_MAX_ENTRIES	BIT(27)

/* Number of stacks whose place a table remembers, for when it must evict some. */
#define STACK_TABLE_NEWEST	16

/**
 * struct bpf_stack_stats - counters of a table, one set per CPU
 * @hits:	Lookups and insertions that found the stack already stored.
 * @stored:	Number of new stacks stored.
 * @deleted:	Number of stacks that user space deleted.
 * @evicted:	Number of stacks removed to make room (BPF_F_REUSE_STACKID).
 * @lost_full:	Stacks not stored because the table was full.
 * @lost_nomem:	Stacks not stored because no memory was available.
 * @lost_nested:	Stacks not taken because the CPU had no callchain entry left;
 *		counted by the map.
 * @truncated:	Stacks deeper than the map's value; counted by the map.
 * @races:	Claims given up in favour of another claim for the same stack.
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
};

/**
 * struct bpf_stack_rec - record of a stored stack, or a free record
 * @hash:	Hash of all words of the stack.
 * @id:		Index and generation.  bpf_get_stackid() returns this number for the
 *		stored stack; in a free record it is the id of the next stack.
 * @cell:	Position of the table's cell for this stack.  The inserter writes it
 *		until the stack is stored.
 * @nr:		Number of words of the stack.  In a free record, the link to the next
 *		record of the free list.
 * @block:	Number of the first block of words.
 *
 * All fields but @cell are constant while a cell holds the record's id.  Readers
 * use READ_ONCE(), and read the cell again afterwards.
 */
struct bpf_stack_rec {
	u64 hash;
	u32 id;
	u32 cell;
	u32 nr;
	u32 block;
};

/**
 * struct bpf_stack_key - a stack to look up or to store
 * @word:	Words of the stack.
 * @nr:		Number of words, at least one.
 * @fast:	Compare only the hashes of two stacks, not their words.
 * @hash:	bpf_stack_table_hash() of the words, an odd number.
 */
struct bpf_stack_key {
	const u64 *word;
	u32 nr;
	bool fast;
	u64 hash;
};

/**
 * struct bpf_stack_table - a set of stacks, each with an id
 * @cells:	Lines of cells, see stack_table.c.
 * @recs:	Records by index.
 * @stats:	Counters, one set per CPU.
 * @mul:	Random number that the hash multiplies by.
 * @seed:	Random number that the hash begins with.
 * @nr_lines:	Number of lines in @cells.
 * @nr_index:	Number of records in @recs, a power of two.
 * @max_entries: Maximum number of stacks.
 * @count:	Lower half: number of stacks stored now.  Upper half: number of stacks
 *		removed so far.  See bpf_stack_count().
 * @newest:	Lines of the stacks that were stored last with reuse.
 * @next_newest: Number of such stacks, whose lowest bits are the next index in @newest.
 * @free:	Two lists of free records, see rec_take().
 * @turn:	If even, records are taken from the first list and put on the second;
 *		if odd, the other way round.
 * @pool:	Memory for the words of the stacks.
 *
 * Insertions write the fields from @count on.  The fields before are constant after
 * bpf_stack_table_init(), and stay on cache lines of their own.
 */
struct bpf_stack_table {
	atomic64_t *cells;
	struct bpf_stack_rec *recs;
	struct bpf_stack_stats __percpu *stats;
	u64 mul;
	u64 seed;
	u32 nr_lines;
	u32 nr_index;
	u32 max_entries;

	atomic64_t count ____cacheline_aligned_in_smp;
	u32 newest[STACK_TABLE_NEWEST];
	u32 next_newest;
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
int bpf_stack_table_at(const struct bpf_stack_table *table, u32 index);
int bpf_stack_table_next(const struct bpf_stack_table *table, s64 after);
int bpf_stack_table_delete(struct bpf_stack_table *table, u32 id);

struct bpf_stack_stats
bpf_stack_table_stats(const struct bpf_stack_table *table);
u64 bpf_stack_table_bytes(const struct bpf_stack_table *table);

/* The number of stacks stored now. */
static inline u32 bpf_stack_table_count(const struct bpf_stack_table *table)
{
	return bpf_stack_count(atomic64_read(&table->count));
}

/* The index of @id, which is the same in all generations. */
static inline u32 bpf_stack_table_index(const struct bpf_stack_table *table,
					u32 id)
{
	return id & (table->nr_index - 1);
}

#endif /* _BPF_STACK_TABLE_H */
