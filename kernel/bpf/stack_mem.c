// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory of the stack table's elements.
 *
 * It comes from bpf_mem_alloc(), which has a stock for each CPU and size and is
 * filled up when interrupts are on.  So it has nothing for an NMI that came amidst
 * an allocation, nor for more new stacks in one stretch with interrupts off than
 * its stock, which is four at first.  For these there are spare objects: as many
 * as bpf_stack_mem_reserve() was asked for, each large enough for any stack that
 * fits in one object.  Taking one is an xchg(); afterwards an irq_work puts another
 * one in its place, as soon as interrupts are on.  What was taken is freed like
 * any other.
 *
 * All may be called in any context, NMI included, but for init, reserve and destroy.
 */
#include "stack_mem.h"

/* Rounds of the irq_work without a new object before it waits to be asked again. */
#define REFILL_IN_VAIN	4

/* What bpf_mem_alloc() takes for @size bytes, its own eight included. */
static u32 mem_bytes(u32 size)
{
	size += STACK_MEM_HEAD;
	if (size > 64 && size <= 96)
		return 96;
	if (size > 128 && size <= 192)
		return 192;
	return max(16U, 1U << fls(size - 1));
}

static noinline void *spare_get(struct bpf_stack_mem *mem)
{
	void *obj;
	u32 i;

	for (i = 0; i < mem->nr_spare; i++) {
		if (!READ_ONCE(mem->spare[i]))
			continue;
		obj = xchg(&mem->spare[i], NULL);
		if (!obj)
			continue;
		irq_work_queue(&mem->refill);
		return obj;
	}
	return NULL;
}

/* Puts objects in the empty places: 1: some, 0: none, -1: there is no such place. */
static int spare_fill(struct bpf_stack_mem *mem)
{
	int ret = -1;
	void *obj;
	u32 i;

	for (i = 0; i < mem->nr_spare; i++) {
		if (READ_ONCE(mem->spare[i]))
			continue;
		obj = bpf_mem_alloc(&mem->ma, mem->spare_size);
		if (!obj)
			return ret == 1;
		if (cmpxchg(&mem->spare[i], NULL, obj))
			bpf_mem_free(&mem->ma, obj);
		ret = 1;
	}
	return ret;
}

/*
 * The allocator's own irq_work may come after this one, and brings less than a
 * whole reserve at a time.
 */
static void refill(struct irq_work *work)
{
	struct bpf_stack_mem *mem = container_of(work, struct bpf_stack_mem, refill);
	u32 in_vain = READ_ONCE(mem->in_vain);
	int ret = spare_fill(mem);

	/* Another CPU may be here as well: then it is one more round, or less. */
	in_vain = ret ? 0 : in_vain + 1;
	WRITE_ONCE(mem->in_vain, in_vain);
	if (ret >= 0 && in_vain < REFILL_IN_VAIN)
		irq_work_queue(work);
}

/* A spare object in place of one of @size bytes, or else one of a larger size. */
static noinline void *mem_get_other(struct bpf_stack_mem *mem, size_t *size)
{
	void *obj = NULL;

	if (*size <= mem->spare_size)
		obj = spare_get(mem);
	if (obj) {
		*size = mem->spare_size;
		return obj;
	}
	while (!obj && *size < STACK_MEM_MAX) {
		*size = min(2 * *size + STACK_MEM_HEAD, STACK_MEM_MAX);
		obj = bpf_mem_alloc(&mem->ma, *size);
	}
	return obj;
}

/* Memory for @size bytes; adds what it takes to @bytes. */
static __always_inline void *mem_get(struct bpf_stack_mem *mem, size_t size,
				     u32 *bytes)
{
	void *obj = bpf_mem_alloc(&mem->ma, size);

	if (unlikely(!obj))
		obj = mem_get_other(mem, &size);
	if (likely(obj))
		*bytes += mem_bytes(size);
	return obj;
}

/**
 * bpf_stack_elem_free - free an element that cannot be reached any more
 * @mem:	Where it came from.
 * @elem:	The element; readers may have it until a grace period has passed.
 */
void bpf_stack_elem_free(struct bpf_stack_mem *mem,
			 struct bpf_stack_elem *elem)
{
	u64 *seg, *next;

	for (seg = elem_next(elem); seg; seg = next) {
		next = seg_next(seg);
		bpf_mem_free_rcu(&mem->ma, seg);
	}
	bpf_mem_free_rcu(&mem->ma, elem);
}

/* The words that do not fit in the element; false: no memory. */
static noinline bool segs_fill(struct bpf_stack_mem *mem,
			       struct bpf_stack_elem *elem,
			       const u64 *word, u32 nr)
{
	u64 *link = &elem->word[STACK_ELEM_WORDS - 1], *seg;
	u32 n;

	*link = 0;
	for (; nr; word += n, nr -= n) {
		n = min_t(u32, nr, STACK_SEG_WORDS - 1);
		seg = mem_get(mem, (1 + n) * sizeof(u64), &elem->bytes);
		if (!seg)
			return false;
		seg[0] = 0;
		memcpy(seg + 1, word, n * sizeof(u64));
		*link = (unsigned long)seg;
		link = seg;
	}
	return true;
}

static size_t elem_size(u32 nr)
{
	return sizeof(struct bpf_stack_elem) +
	       min_t(size_t, nr, STACK_ELEM_WORDS) * sizeof(u64);
}

/**
 * bpf_stack_elem_new - an element with a stack
 * @mem:	Where it comes from.
 * @key:	The stack.
 *
 * Return: the element, the caller's alone and without id and cell; NULL: there is
 * no memory
 */
struct bpf_stack_elem *bpf_stack_elem_new(struct bpf_stack_mem *mem,
					  const struct bpf_stack_key *key)
{
	u32 n = elem_words(key->nr), bytes = 0;
	struct bpf_stack_elem *elem;

	elem = mem_get(mem, elem_size(key->nr), &bytes);
	if (!elem)
		return NULL;

	elem->hash = key->hash;
	elem->nr = key->nr;
	elem->bytes = bytes;
	memcpy(elem->word, key->word, n * sizeof(u64));
	if (unlikely(n < key->nr) &&
	    !segs_fill(mem, elem, key->word + n, key->nr - n)) {
		bpf_stack_elem_free(mem, elem);
		return NULL;
	}
	return elem;
}

/**
 * bpf_stack_mem_bytes - memory in reserve
 * @mem:	The memory.
 *
 * Return: bytes
 */
u64 bpf_stack_mem_bytes(const struct bpf_stack_mem *mem)
{
	u64 bytes = mem->nr_spare * sizeof(*mem->spare);
	u32 i;

	for (i = 0; i < mem->nr_spare; i++) {
		if (READ_ONCE(mem->spare[i]))
			bytes += mem_bytes(mem->spare_size);
	}
	return bytes;
}

/**
 * bpf_stack_mem_init - make an allocator without a reserve
 * @mem:	Zeroed memory.
 *
 * May sleep.
 *
 * Return: 0 or -ENOMEM; bpf_stack_mem_destroy() is due only after 0
 */
int bpf_stack_mem_init(struct bpf_stack_mem *mem)
{
	init_irq_work(&mem->refill, refill);
	return bpf_mem_alloc_init(&mem->ma, 0, false);
}

/**
 * bpf_stack_mem_reserve - keep spare objects
 * @mem:	Nobody uses it yet.
 * @nr:		How many.
 * @depth:	Words of the deepest stack.  One that takes more than the largest
 *		object takes several.
 * @node:	NUMA node of the list.
 *
 * May sleep.
 *
 * Return: 0 or -ENOMEM
 */
int bpf_stack_mem_reserve(struct bpf_stack_mem *mem, u32 nr, u32 depth,
			  int node)
{
	u32 in_vain = 0;
	int ret;

	mem->spare = bpf_map_area_alloc((u64)nr * sizeof(*mem->spare), node);
	if (!mem->spare)
		return -ENOMEM;
	mem->nr_spare = nr;
	mem->spare_size = elem_size(depth);

	/* The allocator's irq_work brings more each time it has nothing. */
	while (in_vain < 100) {
		migrate_disable();
		ret = spare_fill(mem);
		migrate_enable();
		if (ret < 0)
			return 0;
		in_vain = ret ? 0 : in_vain + 1;
		if (in_vain)
			usleep_range(1000, 2000);
	}
	return -ENOMEM;
}

/**
 * bpf_stack_mem_destroy - free an allocator that nobody uses any more
 * @mem:	All its elements have been freed.
 *
 * May sleep.
 */
void bpf_stack_mem_destroy(struct bpf_stack_mem *mem)
{
	u32 i;

	irq_work_sync(&mem->refill);
	for (i = 0; i < mem->nr_spare; i++) {
		if (!mem->spare[i])
			continue;
		migrate_disable();
		bpf_mem_free(&mem->ma, mem->spare[i]);
		migrate_enable();
	}
	bpf_mem_alloc_destroy(&mem->ma);
	bpf_map_area_free(mem->spare);
}
