// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory for the words of stored stacks.
 *
 * A stack takes as many blocks of STACK_BLOCK_WORDS words as it needs.  Free blocks
 * are on a lock-free list, so that taking and returning them works in any context,
 * NMI included.  A returned block may be taken again at once: readers notice this,
 * see stack_table.c.  Blocks are not given back to the system before the table goes.
 *
 * No block is allocated where a stack is stored.  The creator of a map fills the
 * pool, and a worker adds to it before it runs empty.  Both may sleep and reclaim,
 * so a memory cgroup that is full of page cache is no obstacle.  Neither may wake
 * the OOM killer: a profiler must not kill the container that it looks at.
 */
#include "stack_list.h"
#include "stack_pool.h"

/* How long the worker waits when there is no memory. */
#define STACK_POOL_RETRY_MS	20

/* The worker keeps at least as many blocks free, if the table may need them. */
#define STACK_POOL_SPARE	STACK_CHUNK_BLOCKS

static u32 blocks_of(u32 nr_words)
{
	return DIV_ROUND_UP(nr_words, STACK_BLOCK_WORDS);
}

static u32 *block_link(const void *pool, u32 number)
{
	return &bpf_stack_block(pool, number)->next;
}

/*
 * The number of blocks to keep free: three quarters of those in use, but not more
 * than the stacks for which there is room are likely to take.
 */
static u64 pool_spare(const struct bpf_stack_pool *pool)
{
	u64 used = pool->nr_blocks - max(atomic_read(&pool->nr_free), 0);
	u64 stored = clamp_t(s64, atomic64_read(pool->stored), 1, pool->max_stacks);
	u64 likely = div64_u64(used * (pool->max_stacks - stored), stored) + used / 64;
	u64 spare = max_t(u64, used - used / 4, STACK_POOL_SPARE);

	spare = min(spare, likely + STACK_POOL_SPARE / 4);
	return min(spare, pool->max_blocks - used);
}

/* Put the linked blocks from @first, before @end, on the lists of the CPUs in turn. */
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

/* Make the @nr blocks of a new chunk known. */
static void pool_add(struct bpf_stack_pool *pool, struct bpf_stack_block *blocks,
		     u32 nr)
{
	u32 base = pool->nr_chunks << STACK_CHUNK_SHIFT, first = base ? base : 1, i;

	/* Number 0 ends a list, so the first block of all is not used. */
	for (i = first; i < base + nr - 1; i++)
		blocks[i - base].next = i + 1;
	WRITE_ONCE(pool->chunks[pool->nr_chunks], blocks);
	pool->nr_chunks++;
	pool->bytes += nr * sizeof(*blocks);
	pool->nr_blocks += base + nr - first;
	pool_share(pool, first, base + nr);
	atomic_add(base + nr - first, &pool->nr_free);
}

/* The worker: fill up to pool_spare() blocks, or try again later. */
static void pool_grow(struct work_struct *work)
{
	struct bpf_stack_pool *pool = container_of(to_delayed_work(work),
						   struct bpf_stack_pool, grow);
	struct bpf_stack_block *blocks;
	u64 spare, low;

	for (;;) {
		spare = pool_spare(pool);
		/* Early: the CPU that is to run this may be busy for long. */
		low = spare - spare / 4;
		if (atomic_read(&pool->nr_free) < spare) {
			blocks = bpf_map_kvcalloc(pool->map, STACK_CHUNK_BLOCKS,
						  sizeof(*blocks),
						  GFP_KERNEL | __GFP_RETRY_MAYFAIL |
						  __GFP_NOWARN);
			if (!blocks) {
				queue_delayed_work(system_unbound_wq, &pool->grow,
						   msecs_to_jiffies(STACK_POOL_RETRY_MS));
				return;
			}
			pool_add(pool, blocks, STACK_CHUNK_BLOCKS);
			cond_resched();
			continue;
		}
		WRITE_ONCE(pool->low, low);
		/*
		 * A taker that still sees @asked set had taken its blocks
		 * before, and the check sees that; pairs with pool_ask().
		 */
		xchg(&pool->asked, 0);
		if (atomic_read(&pool->nr_free) >= low ||
		    xchg(&pool->asked, 1))
			return;
	}
}

static void pool_kick(struct irq_work *kick)
{
	struct bpf_stack_pool *pool = container_of(kick, struct bpf_stack_pool,
						   kick);

	queue_delayed_work(system_unbound_wq, &pool->grow, 0);
}

/* Ask the worker for more blocks; pairs with pool_grow(). */
static noinline void pool_ask(struct bpf_stack_pool *pool)
{
	if (!READ_ONCE(pool->asked) && !xchg(&pool->asked, 1))
		irq_work_queue(&pool->kick);
}

/* A reader of the stack that was here may still be reading; full: three rounds. */
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

/* This CPU has taken @nr blocks, or returned -@nr. */
static void pool_account(struct bpf_stack_pool *pool, struct bpf_stack_cpu *own, int nr)
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

/* Put back @nr linked blocks. */
static void pool_return(struct bpf_stack_pool *pool, u32 number, u32 nr)
{
	u32 last = stack_list_after(number, nr - 1, block_link, pool);
	struct bpf_stack_cpu *own = &pool->cpus[raw_smp_processor_id()];

	stack_list_put(pool->batch ? &own->blocks : &pool->free, number, last,
		       block_link, pool);
	pool_account(pool, own, -(int)nr);
}

/* Take @nr blocks from another CPU, and some more for @own. */
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

/* Take @nr blocks one by one, from wherever there are any. */
static u32 pool_gather(struct bpf_stack_pool *pool, struct bpf_stack_cpu *own, u32 nr)
{
	u32 first = 0, number, i = 0, n = 0;

	while (n < nr && i < nr_cpu_ids) {
		number = stack_list_take(&pool->cpus[i].blocks, 1, block_link, pool);
		if (!number) {
			i++;
			continue;
		}
		WRITE_ONCE(*block_link(pool, number), first);
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

/* This CPU has not got @nr blocks. */
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

/**
 * bpf_stack_pool_take - take blocks and fill them
 * @pool:	The pool.
 * @word:	What to put into them.
 * @nr:		Number of words, at least one.
 *
 * Any context, NMI included.
 *
 * Return: the number of the first block, which the caller owns with those linked
 * to it, or 0 if there are not enough free blocks now; the worker has been asked
 * for more then.
 */
u32 bpf_stack_pool_take(struct bpf_stack_pool *pool, const u64 *word, u32 nr)
{
	struct bpf_stack_cpu *own = &pool->cpus[raw_smp_processor_id()];
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
 * bpf_stack_pool_put - return blocks
 * @pool:	The pool.
 * @number:	The first block, from bpf_stack_pool_take().
 * @nr:		The number of words it was asked for.
 *
 * Any context, NMI included.
 */
void bpf_stack_pool_put(struct bpf_stack_pool *pool, u32 number, u32 nr)
{
	pool_return(pool, number, blocks_of(nr));
}

/**
 * bpf_stack_pool_fill - add blocks before the pool is used
 * @pool:	The pool.
 * @nr:		Number of blocks that there should be.
 * @node:	NUMA node of their memory.
 *
 * May sleep.  The caller's memory cgroup is charged.
 *
 * Return: 0 or -ENOMEM
 */
int bpf_stack_pool_fill(struct bpf_stack_pool *pool, u64 nr, int node)
{
	struct bpf_stack_block *blocks;
	u32 n;

	while (pool->nr_blocks < nr) {
		/* One more, as number 0 is not used. */
		n = min_t(u64, nr - pool->nr_blocks + 1, STACK_CHUNK_BLOCKS);
		blocks = bpf_map_area_alloc(n * sizeof(*blocks), node);
		if (!blocks)
			return -ENOMEM;
		pool_add(pool, blocks, n);
	}
	/* How long the stacks will be is not known yet. */
	pool->low = pool->nr_blocks / 2;
	return 0;
}

/**
 * bpf_stack_pool_init - make an empty pool
 * @pool:	Zeroed memory.
 * @max_stacks:	Stacks that the table holds.
 * @max_words:	Words of the longest one.
 * @stored:	Where the table counts its stacks.
 * @node:	NUMA node of the directory.
 *
 * May sleep.
 *
 * Return: 0, -E2BIG or -ENOMEM; bpf_stack_pool_destroy() is due only after 0
 */
int bpf_stack_pool_init(struct bpf_stack_pool *pool, u32 max_stacks,
			u32 max_words, const atomic64_t *stored, int node)
{
	u64 max_chunks;

	pool->max_stacks = max_stacks;
	pool->max_blocks = (u64)max_stacks * blocks_of(max_words) +
			   STACK_POOL_SPARE;
	/* The first chunk may have fewer blocks than others, and so may the last. */
	max_chunks = (pool->max_blocks >> STACK_CHUNK_SHIFT) + 3;
	if (max_chunks > U32_MAX >> STACK_CHUNK_SHIFT)
		return -E2BIG;
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
 * bpf_stack_pool_destroy - free a pool that nobody uses any more
 * @pool:	The pool.
 *
 * May sleep.
 */
void bpf_stack_pool_destroy(struct bpf_stack_pool *pool)
{
	u32 i;

	/* Neither starts again: only a taker asks. */
	irq_work_sync(&pool->kick);
	cancel_delayed_work_sync(&pool->grow);
	for (i = 0; i < pool->nr_chunks; i++)
		bpf_map_area_free(pool->chunks[i]);
	bpf_map_area_free(pool->cpus);
	bpf_map_area_free(pool->chunks);
}
