/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _BPF_STACK_POOL_H
#define _BPF_STACK_POOL_H

#include "stack_table_internal.h"

/* Words in a block, which fills two cache lines with its link. */
#define STACK_BLOCK_WORDS	15

/* Blocks in a chunk, the unit in which memory is allocated. */
#define STACK_CHUNK_SHIFT	8
#define STACK_CHUNK_BLOCKS	BIT(STACK_CHUNK_SHIFT)

/**
 * struct bpf_stack_block - a block of words of a stack
 * @next:	Number of the next block of the stack or of the free list, or 0.
 * @word:	Words of the stack.
 */
struct bpf_stack_block {
	u32 next;
	u64 word[STACK_BLOCK_WORDS];
};

/*
 * Maximum and minimum number of blocks, and of records, that a CPU takes ahead.  A
 * table with fewer than the minimum for each CPU has only common lists.
 */
#define STACK_CPU_BATCH		16U
#define STACK_CPU_BATCH_MIN	4U

/**
 * struct bpf_stack_cpu - free blocks and records of one CPU
 * @blocks:	List of free blocks.
 * @recs:	List of free records.
 * @taken:	Number of blocks taken but not yet subtracted from @nr_free of the
 *		pool.  Negative if more blocks were returned than taken.
 *
 * Other CPUs take from these lists only when they find no block or record elsewhere.
 */
struct bpf_stack_cpu {
	atomic64_t blocks;
	atomic64_t recs;
	atomic_t taken;
} ____cacheline_aligned_in_smp;

/**
 * struct bpf_stack_pool - memory for the words of a table's stacks
 * @chunks:	Chunks of blocks, indexed by block number >> STACK_CHUNK_SHIFT.
 * @map:	Map whose memory cgroup is charged for blocks that the worker adds.
 * @stored:	Count of the table, see bpf_stack_count().
 * @bytes:	Bytes allocated for blocks.  Only the creator of the map writes this,
 *		@nr_blocks and @nr_chunks; later only the worker does.
 * @nr_blocks:	Number of usable blocks.
 * @nr_chunks:	Number of chunks.
 * @max_chunks:	Number of chunks that @chunks has room for.
 * @max_blocks:	Number of blocks that the table needs in the worst case.
 * @max_stacks:	Maximum number of stacks in the table.
 * @longest:	Number of blocks of the longest stack.
 * @low:	Number of free blocks below which takers ask the worker for more.
 * @asked:	Set if a taker has asked the worker, and the worker has not finished.
 * @delay:	Milliseconds before the worker runs; 0 unless its last allocation failed.
 * @kick:	Queues the worker; usable in any context.
 * @grow:	Work that adds blocks.
 * @cpus:	Free blocks and records of each CPU.
 * @batch:	Number of blocks or records that a CPU takes ahead, or 0 if the CPUs
 *		have no lists of their own.
 * @next_cpu:	CPU that gets the next new blocks.
 * @free:	List of all free blocks if @batch is 0, otherwise unused.
 * @nr_free:	Number of free blocks, see &struct bpf_stack_cpu.taken.
 */
struct bpf_stack_pool {
	struct bpf_stack_block **chunks;
	struct bpf_map *map;
	const atomic64_t *stored;
	u64 bytes;
	u32 nr_blocks;
	u32 nr_chunks;
	u32 max_chunks;
	u64 max_blocks;
	u32 max_stacks;
	u32 longest;
	s32 low;
	u32 asked;
	u32 delay;
	struct irq_work kick;
	struct delayed_work grow;

	struct bpf_stack_cpu *cpus;
	u32 batch;
	u32 next_cpu;

	/*
	 * Written when stacks are stored, though with @batch only once for that many
	 * blocks, so kept apart from the constant fields.
	 */
	atomic64_t free ____cacheline_aligned_in_smp;
	atomic_t nr_free;
};

/*
 * The block with the number @number.  Number 0 ends a list.  Its block is never part
 * of a stack, but a reader may reach it while another context deletes the stack.
 */
static __always_inline struct bpf_stack_block *
bpf_stack_block(const struct bpf_stack_pool *pool, u32 number)
{
	/*
	 * pool_add() sets the chunk before it puts its blocks on a free list: the
	 * load of the number pairs with the cmpxchg in stack_list_put().
	 */
	return READ_ONCE(pool->chunks[number >> STACK_CHUNK_SHIFT]) +
	       (number & (STACK_CHUNK_BLOCKS - 1));
}

/*
 * The number of stacks in a table's count, whose upper half is the number of removals.
 * The lower half is negative for a moment if a stack is removed before its inserter
 * has counted it.
 */
static inline u32 bpf_stack_count(s64 count)
{
	return max_t(s32, count, 0);
}

int bpf_stack_pool_init(struct bpf_stack_pool *pool, u32 max_stacks,
			u32 max_words, const atomic64_t *stored, int node);
int bpf_stack_pool_fill(struct bpf_stack_pool *pool, u64 nr, int node);
void bpf_stack_pool_destroy(struct bpf_stack_pool *pool);

u32 bpf_stack_pool_take(struct bpf_stack_pool *pool, const u64 *word, u32 nr);
void bpf_stack_pool_put(struct bpf_stack_pool *pool, u32 number, u32 nr);

#endif /* _BPF_STACK_POOL_H */
