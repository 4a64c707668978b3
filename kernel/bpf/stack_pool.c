// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory for the words of stored stacks.
 *
 * A stack takes as many blocks of STACK_BLOCK_WORDS words as it needs.  Free blocks
 * are on lock-free lists, so inserters and deleters can take and return them in any
 * context, NMI included.  A returned block may be taken again at once; readers detect
 * this, see stack_table.c.  The pool frees its blocks only when the table is freed.
 *
 * Inserters never allocate memory.  The creator of a map fills the pool, and a worker
 * adds blocks before the pool runs empty.  Both may sleep and reclaim, so a memory
 * cgroup full of page cache is no obstacle.  Neither may invoke the OOM killer: a
 * profiler must not kill the container that it observes.
 */
#include "stack_list.h"
#include "stack_pool.h"

/* Delays before the worker retries an allocation, after the first failure and after many */
#define STACK_POOL_RETRY_MS	20
#define STACK_POOL_RETRY_MAX_MS	1280

/* Minimum number of blocks that the worker keeps free, if the table may need them. */
#define STACK_POOL_SPARE	STACK_CHUNK_BLOCKS

static u32 blocks_of(u32 nr_words)
{
	return DIV_ROUND_UP(nr_words, STACK_BLOCK_WORDS);
}

static u32 *block_link(const void *pool, u32 number)
{
	return &bpf_stack_block(pool, number)->next;
}

/* Maximum difference between @nr_free and the number of blocks that are free. */
static u64 pool_error(const struct bpf_stack_pool *pool)
{
	return (u64)pool->batch * nr_cpu_ids;
}

/* The number of free blocks, including what the CPUs have not accounted for yet. */
static u64 pool_free(const struct bpf_stack_pool *pool)
{
	s64 nr = atomic_read(&pool->nr_free);
	u32 i;

	for (i = 0; pool->batch && i < nr_cpu_ids; i++)
		nr -= atomic_read(&pool->cpus[i].taken);
	return clamp_t(s64, nr, 0, pool->nr_blocks);
}

/*
 * The number of blocks to keep free: three quarters of the @used ones, but no more than
 * the stacks that still fit into the table are likely to need.  Takers compare @nr_free,
 * so keep as many more as that may be wrong.
 */
static u64 pool_spare(const struct bpf_stack_pool *pool, u64 used)
{
	u64 stored = clamp_t(u32, bpf_stack_count(atomic64_read(pool->stored)), 1,
			     pool->max_stacks);
	u64 likely = div64_u64(used * (pool->max_stacks - stored), stored) + used / 64;
	u64 spare = max_t(u64, used - used / 4, max(STACK_POOL_SPARE, pool->longest));

	spare = min(spare, likely + max(STACK_POOL_SPARE / 4, pool->longest));
	return min(spare + pool_error(pool), pool->max_blocks - min(used, pool->max_blocks));
}

/* The number of free blocks below which takers ask for more, of @spare to keep free. */
static u64 pool_low(const struct bpf_stack_pool *pool, u64 spare)
{
	u64 most = spare - min(spare, pool_error(pool));

	/* Ask early, as it may take long until the worker gets a CPU. */
	return spare - most / 4;
}

/* Distribute the linked blocks @first to @end - 1 to the lists of the CPUs in turn. */
static void pool_share(struct bpf_stack_pool *pool, u32 first, u32 end)
{
	u32 last;

	if (!pool->batch) {
		stack_list_put(&pool->free, first, end - 1, block_link, pool);
		return;
	}
	for (; first < end; first = last + 1) {
		last = min(first + 2 * pool->batch, end) - 1;
		stack_list_put(&pool->cpus[pool->next_cpu].blocks, first, last,
			       block_link, pool);
		if (++pool->next_cpu == nr_cpu_ids)
			pool->next_cpu = 0;
	}
}

/* Add a new chunk of @nr blocks. */
static void pool_add(struct bpf_stack_pool *pool, struct bpf_stack_block *blocks,
		     u32 nr)
{
	u32 base = pool->nr_chunks << STACK_CHUNK_SHIFT, first = base ? base : 1, i;

	/* Number 0 ends a list, so the first block of the pool stays unused. */
	for (i = first; i < base + nr - 1; i++)
		blocks[i - base].next = i + 1;
	WRITE_ONCE(pool->chunks[pool->nr_chunks], blocks);
	pool->nr_chunks++;
	pool->bytes += nr * sizeof(*blocks);
	pool->nr_blocks += base + nr - first;
	pool_share(pool, first, base + nr);
	atomic_add(base + nr - first, &pool->nr_free);
}

/*
 * The worker: add chunks until pool_spare() blocks are free.  If there is no memory, the next
 * taker asks again, and the worker waits longer after each failure: where a memory cgroup is at
 * its limit, each try reclaims from it.
 */
static void pool_grow(struct work_struct *work)
{
	struct bpf_stack_pool *pool = container_of(to_delayed_work(work),
						   struct bpf_stack_pool, grow);
	struct bpf_stack_block *blocks;
	u64 spare, low, nr;

	for (;;) {
		nr = pool_free(pool);
		spare = pool_spare(pool, pool->nr_blocks - nr);
		low = pool_low(pool, spare);
		if (nr < spare && pool->nr_chunks < pool->max_chunks) {
			blocks = bpf_map_kvcalloc(pool->map, STACK_CHUNK_BLOCKS,
						  sizeof(*blocks),
						  GFP_KERNEL | __GFP_RETRY_MAYFAIL |
						  __GFP_NOWARN);
			if (!blocks) {
				WRITE_ONCE(pool->delay,
					   clamp_t(u32, 2 * pool->delay, STACK_POOL_RETRY_MS,
						   STACK_POOL_RETRY_MAX_MS));
				xchg(&pool->asked, 0);
				return;
			}
			WRITE_ONCE(pool->delay, 0);
			pool_add(pool, blocks, STACK_CHUNK_BLOCKS);
			cond_resched();
			continue;
		}
		WRITE_ONCE(pool->low, low);
		/*
		 * A taker that still sees @asked set has taken its blocks
		 * before this xchg(), so the check below sees them taken.
		 * Pairs with pool_ask().
		 */
		xchg(&pool->asked, 0);
		if (pool_free(pool) >= low || pool->nr_chunks == pool->max_chunks ||
		    xchg(&pool->asked, 1))
			return;
	}
}

static void pool_kick(struct irq_work *kick)
{
	struct bpf_stack_pool *pool = container_of(kick, struct bpf_stack_pool,
						   kick);

	queue_delayed_work(system_unbound_wq, &pool->grow,
			   msecs_to_jiffies(READ_ONCE(pool->delay)));
}

/* Ask the worker for more blocks; pairs with pool_grow(). */
static noinline void pool_ask(struct bpf_stack_pool *pool)
{
	if (!READ_ONCE(pool->asked) && !xchg(&pool->asked, 1))
		irq_work_queue(&pool->kick);
}

/*
 * Copy @nr words to a block.  A reader of the block's last stack may still read them.
 * A full block takes three rounds.
 */
static __always_inline void block_fill(u64 *to, const u64 *word, u32 nr)
{
	const u64 *end = word + nr;

	for (; end - word >= 5; to += 5, word += 5) {
		WRITE_ONCE(to[0], word[0]);
		WRITE_ONCE(to[1], word[1]);
		WRITE_ONCE(to[2], word[2]);
		WRITE_ONCE(to[3], word[3]);
		WRITE_ONCE(to[4], word[4]);
	}
	for (; word < end; to++, word++)
		WRITE_ONCE(*to, *word);
}

/* Account for @nr blocks that this CPU has taken, or returned if @nr is negative. */
static __always_inline void pool_account(struct bpf_stack_pool *pool,
					 struct bpf_stack_cpu *own, int nr)
{
	if (pool->batch) {
		nr = atomic_add_return(nr, &own->taken);
		if (likely(nr < (int)pool->batch && nr > -(int)pool->batch))
			return;
		atomic_sub(nr, &own->taken);
	}
	if (unlikely(atomic_sub_return(nr, &pool->nr_free) < READ_ONCE(pool->low)))
		pool_ask(pool);
}

/* Return @nr linked blocks to this CPU's list, or to the common one. */
static void pool_return(struct bpf_stack_pool *pool, u32 number, u32 nr)
{
	u32 last = stack_list_after(number, nr - 1, block_link, pool);
	struct bpf_stack_cpu *own = &pool->cpus[raw_smp_processor_id()];

	stack_list_put(pool->batch ? &own->blocks : &pool->free, number, last,
		       block_link, pool);
	pool_account(pool, own, -(int)nr);
}

/* Take @nr blocks from another CPU's list, and a batch of more blocks for @own. */
static u32 pool_steal(struct bpf_stack_pool *pool, struct bpf_stack_cpu *own, u32 nr)
{
	u32 i, at = own - pool->cpus, first;
	atomic64_t *head;

	for (i = 1; i < nr_cpu_ids; i++) {
		at = at + 1 < nr_cpu_ids ? at + 1 : 0;
		head = &pool->cpus[at].blocks;
		if (!(u32)atomic64_read(head))
			continue;
		first = stack_list_refill(head, &own->blocks, nr, pool->batch,
					  block_link, pool);
		if (!first)
			first = stack_list_take(head, nr, block_link, pool);
		if (first)
			return first;
	}
	return 0;
}

/* Collect @nr blocks one by one from the lists of all CPUs. */
static u32 pool_gather(struct bpf_stack_pool *pool, struct bpf_stack_cpu *own, u32 nr)
{
	u32 first = 0, number, *link, i = 0, n = 0;

	while (n < nr && i < nr_cpu_ids) {
		number = stack_list_pop(&pool->cpus[i].blocks, block_link, pool, &link);
		if (!number) {
			i++;
			continue;
		}
		WRITE_ONCE(*link, first);
		first = number;
		n++;
	}
	if (n == nr)
		return first;
	if (n) {
		pool_account(pool, own, n);
		pool_return(pool, first, n);
	}
	return 0;
}

/* Get @nr blocks from other CPUs; if that fails, ask the worker. */
static noinline u32 pool_refill(struct bpf_stack_pool *pool, struct bpf_stack_cpu *own, u32 nr)
{
	u32 first = 0;

	if (pool->batch) {
		first = pool_steal(pool, own, nr);
		if (!first)
			first = pool_gather(pool, own, nr);
	}
	if (!first)
		pool_ask(pool);
	return first;
}

/* The general case of bpf_stack_pool_take(). */
static noinline u32 pool_take_many(struct bpf_stack_pool *pool, struct bpf_stack_cpu *own,
				   const u64 *word, u32 nr)
{
	u32 nr_blocks = blocks_of(nr), first, number, n;
	struct bpf_stack_block *block;

	first = stack_list_take(pool->batch ? &own->blocks : &pool->free, nr_blocks,
				block_link, pool);
	if (unlikely(!first))
		first = pool_refill(pool, own, nr_blocks);
	if (unlikely(!first))
		return 0;
	pool_account(pool, own, nr_blocks);

	for (number = first; nr; nr -= n, word += n) {
		block = bpf_stack_block(pool, number);
		n = min_t(u32, nr, STACK_BLOCK_WORDS);
		block_fill(block->word, word, n);
		number = block->next;
	}
	return first;
}

/**
 * bpf_stack_pool_take - take blocks and fill them with words
 * @pool:	Pool to take the blocks from.
 * @word:	Words to store.
 * @nr:		Number of words, at least one.
 *
 * Context: Any, NMI included.
 * Return: the number of the first block.  The caller owns this block and those linked
 * to it.  0 if too few blocks are free; the worker has then been asked for more.
 */
u32 bpf_stack_pool_take(struct bpf_stack_pool *pool, const u64 *word, u32 nr)
{
	struct bpf_stack_cpu *own = &pool->cpus[raw_smp_processor_id()];
	u32 first, *link;

	if (nr <= STACK_BLOCK_WORDS) {
		first = stack_list_pop(pool->batch ? &own->blocks : &pool->free,
				       block_link, pool, &link);
		if (likely(first)) {
			block_fill(container_of(link, struct bpf_stack_block, next)->word,
				   word, nr);
			pool_account(pool, own, 1);
			return first;
		}
	}
	return pool_take_many(pool, own, word, nr);
}

/**
 * bpf_stack_pool_put - return blocks
 * @pool:	Pool that the blocks were taken from.
 * @number:	Number of the first block, from bpf_stack_pool_take().
 * @nr:		Number of words passed to bpf_stack_pool_take().
 *
 * Context: Any, NMI included.
 */
void bpf_stack_pool_put(struct bpf_stack_pool *pool, u32 number, u32 nr)
{
	pool_return(pool, number, blocks_of(nr));
}

/**
 * bpf_stack_pool_fill - add blocks before the pool is used
 * @pool:	Pool to fill.
 * @nr:		Number of blocks that the pool is to have, besides some for each CPU.
 * @node:	NUMA node of the blocks.
 *
 * The memory is charged to the caller's memory cgroup.
 *
 * Context: Process context.  May sleep.
 * Return: 0; -ENOMEM if memory is short; -E2BIG if @nr exceeds what bpf_stack_pool_init()
 * has made room for.
 */
int bpf_stack_pool_fill(struct bpf_stack_pool *pool, u64 nr, int node)
{
	struct bpf_stack_block *blocks;
	u32 n;

	/* Nobody asks for more before @nr_free is as low as it may be wrong. */
	nr = min(nr + pool_error(pool), pool->max_blocks);
	while (pool->nr_blocks < nr) {
		if (pool->nr_chunks == pool->max_chunks)
			return -E2BIG;
		/* One more, as block 0 stays unused. */
		n = min_t(u64, nr - pool->nr_blocks + 1, STACK_CHUNK_BLOCKS);
		blocks = bpf_map_area_alloc(n * sizeof(*blocks), node);
		if (!blocks)
			return -ENOMEM;
		pool_add(pool, blocks, n);
	}
	/* A guess: the length of the stacks is not known yet. */
	pool->low = max_t(u64, pool->nr_blocks / 2, pool_error(pool));
	return 0;
}

/**
 * bpf_stack_pool_init - initialise an empty pool
 * @pool:	Zeroed memory for the pool.
 * @max_stacks:	Maximum number of stacks in the table.
 * @max_words:	Number of words of the longest stack.
 * @stored:	Counter of the table's stacks.
 * @node:	NUMA node of the array of chunks.
 *
 * After success, the caller must call bpf_stack_pool_destroy().
 *
 * Context: Process context.  May sleep.
 * Return: 0; -E2BIG if the pool would need too many chunks; -ENOMEM if memory is
 * short.
 */
int bpf_stack_pool_init(struct bpf_stack_pool *pool, u32 max_stacks,
			u32 max_words, const atomic64_t *stored, int node)
{
	u64 max_chunks;

	pool->max_stacks = max_stacks;
	pool->longest = blocks_of(max_words);
	/* One more stack, as a new one is stored before it replaces another one. */
	pool->max_blocks = ((u64)max_stacks + 1) * pool->longest + STACK_POOL_SPARE;
	/* The first and the last chunk may have fewer blocks than the others. */
	max_chunks = (pool->max_blocks >> STACK_CHUNK_SHIFT) + 3;
	if (max_chunks > U32_MAX >> STACK_CHUNK_SHIFT)
		return -E2BIG;
	pool->max_chunks = max_chunks;
	pool->stored = stored;
	init_irq_work(&pool->kick, pool_kick);
	INIT_DELAYED_WORK(&pool->grow, pool_grow);
	pool->batch = min(STACK_CPU_BATCH, max_stacks / (8 * nr_cpu_ids));
	if (pool->batch < STACK_CPU_BATCH_MIN || nr_cpu_ids < 4)
		pool->batch = 0;
	pool->chunks = bpf_map_area_alloc(max_chunks * sizeof(*pool->chunks), node);
	pool->cpus = bpf_map_area_alloc((u64)nr_cpu_ids * sizeof(*pool->cpus), node);
	if (pool->chunks && pool->cpus)
		return 0;
	bpf_map_area_free(pool->cpus);
	bpf_map_area_free(pool->chunks);
	return -ENOMEM;
}

/**
 * bpf_stack_pool_destroy - free the memory of a pool
 * @pool:	Pool that no other context uses any more.
 *
 * Context: Process context.  May sleep.
 */
void bpf_stack_pool_destroy(struct bpf_stack_pool *pool)
{
	u32 i;

	/* Only takers queue these, and none is left. */
	irq_work_sync(&pool->kick);
	cancel_delayed_work_sync(&pool->grow);
	for (i = 0; i < pool->nr_chunks; i++)
		bpf_map_area_free(pool->chunks[i]);
	bpf_map_area_free(pool->cpus);
	bpf_map_area_free(pool->chunks);
}
