/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _BPF_STACK_POOL_H
#define _BPF_STACK_POOL_H

#include "stack_table_internal.h"

/* Words in a block; with its link it fills two cache lines. */
#define STACK_BLOCK_WORDS	15

/* Blocks in a chunk of memory. */
#define STACK_CHUNK_SHIFT	8
#define STACK_CHUNK_BLOCKS	BIT(STACK_CHUNK_SHIFT)

/**
 * struct bpf_stack_block - some words of a stack
 * @next:	Next block of the stack, or of the free list; 0: none.
 * @word:	The words.
 */
struct bpf_stack_block {
	u32 next;
	u64 word[STACK_BLOCK_WORDS];
};

/*
 * How many blocks, and records, a CPU takes for later, at most and at least: a table
 * with less for each CPU has only common lists.
 */
#define STACK_CPU_BATCH		16U
#define STACK_CPU_BATCH_MIN	4U

/**
 * struct bpf_stack_cpu - what a CPU has for its next stacks
 * @blocks:	List of free blocks.
 * @recs:	List of free records.
 * @taken:	Blocks taken that @nr_free of the pool does not know of yet, or, if
 *		negative, blocks returned.
 *
 * Other CPUs take from here only when the common lists are empty.
 */
struct bpf_stack_cpu {
	atomic64_t blocks;
	atomic64_t recs;
	atomic_t taken;
} ____cacheline_aligned_in_smp;

/**
 * struct bpf_stack_pool - the blocks of a table
 * @chunks:	Memory by block number.
 * @map:	The map whose memory cgroup is charged, once it has one.
 * @stored:	Number of stacks in the table.
 * @bytes:	Memory taken.  Written where chunks are added: first by the creator
 *		of the map, then by the worker.
 * @nr_blocks:	Blocks there are.  Written as @bytes.
 * @nr_chunks:	Chunks there are.  Written as @bytes.
 * @max_blocks:	Blocks that the table needs in the worst case.
 * @max_stacks:	Stacks that the table holds.
 * @low:	Number of free blocks below which the worker is asked for more.
 * @asked:	The worker has been asked and has not finished.
 * @kick:	Asks the worker from any context.
 * @grow:	The worker.
 * @cpus:	Free blocks and records of each CPU.
 * @batch:	How many a CPU takes for later; 0: the CPUs have no lists.
 * @next_cpu:	The CPU that gets the next blocks.
 * @free:	List of the other free blocks.
 * @nr_free:	Their number.
 */
struct bpf_stack_pool {
	struct bpf_stack_block **chunks;
	struct bpf_map *map;
	const atomic64_t *stored;
	u64 bytes;
	u32 nr_blocks;
	u32 nr_chunks;
	u64 max_blocks;
	u32 max_stacks;
	s32 low;
	u32 asked;
	struct irq_work kick;
	struct delayed_work grow;

	struct bpf_stack_cpu *cpus;
	u32 batch;
	u32 next_cpu;

	/* Written with one in @batch new stacks. */
	atomic64_t free ____cacheline_aligned_in_smp;
	atomic_t nr_free;
};

/*
 * The block with the number @number.  Number 0 ends a list: its block is never
 * part of a stack, but a reader of a stack that is being deleted may come to it.
 */
static __always_inline struct bpf_stack_block *
bpf_stack_block(const struct bpf_stack_pool *pool, u32 number)
{
	/*
	 * The chunk was there before any of its numbers: the number's load
	 * pairs with the cmpxchg that put it on the free list.
	 */
	return READ_ONCE(pool->chunks[number >> STACK_CHUNK_SHIFT]) +
	       (number & (STACK_CHUNK_BLOCKS - 1));
}

int bpf_stack_pool_init(struct bpf_stack_pool *pool, u32 max_stacks,
			u32 max_words, const atomic64_t *stored, int node);
int bpf_stack_pool_fill(struct bpf_stack_pool *pool, u64 nr, int node);
void bpf_stack_pool_destroy(struct bpf_stack_pool *pool);

u32 bpf_stack_pool_take(struct bpf_stack_pool *pool, const u64 *word, u32 nr);
void bpf_stack_pool_put(struct bpf_stack_pool *pool, u32 number, u32 nr);

#endif /* _BPF_STACK_POOL_H */
