/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _BPF_STACK_MEM_H
#define _BPF_STACK_MEM_H

#include "stack_table_internal.h"

/**
 * struct bpf_stack_elem - one stored stack
 * @hash:	Of all words.
 * @id:		Index and generation: what bpf_get_stackid() returns.
 * @cell:	Where the table's word for this stack is.  Written by the
 *		inserter until the stack is stored, read by everyone.
 * @nr:		Number of words.
 * @bytes:	Memory taken, segments included.
 * @word:	The words; when there are more than fit in one allocation, the
 *		last one points to the first segment, see elem_words().
 *
 * All but @cell is constant from before the element can be found until a grace
 * period after it has been removed.
 */
struct bpf_stack_elem {
	u64 hash;
	u32 id;
	u32 cell;
	u32 nr;
	u32 bytes;
	u64 word[];
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
 * struct bpf_stack_mem - where elements come from
 * @ma:		The allocator.
 * @spare:	Objects of @spare_size bytes for when the allocator has nothing;
 *		NULL: taken.  Each by xchg() or cmpxchg().
 * @nr_spare:	Their number.
 * @spare_size:	What the deepest stack takes, or the allocator's largest.
 * @refill:	Asks the allocator for what has been taken.
 * @in_vain:	How often in a row @refill got nothing, about.
 */
struct bpf_stack_mem {
	struct bpf_mem_alloc ma;
	void **spare;
	u32 nr_spare;
	u32 spare_size;
	struct irq_work refill;
	u32 in_vain;
};

/* Largest object of bpf_mem_alloc(), and words in elements and segments. */
#define STACK_MEM_HEAD		sizeof(struct llist_node)
#define STACK_MEM_MAX		(4096 - STACK_MEM_HEAD)
#define STACK_ELEM_WORDS	((STACK_MEM_MAX - sizeof(struct bpf_stack_elem)) / sizeof(u64))
#define STACK_SEG_WORDS		(STACK_MEM_MAX / sizeof(u64))

/*
 * Elements with more than STACK_ELEM_WORDS go on in segments: the last word of
 * the element, and the first one of each segment, is a pointer to the next or 0.
 * This is the number of words in the element itself.
 */
static inline u32 elem_words(u32 nr)
{
	return nr <= STACK_ELEM_WORDS ? nr : STACK_ELEM_WORDS - 1;
}

static inline u64 *elem_next(const struct bpf_stack_elem *elem)
{
	if (elem->nr <= STACK_ELEM_WORDS)
		return NULL;
	return (u64 *)(unsigned long)elem->word[STACK_ELEM_WORDS - 1];
}

static inline u64 *seg_next(const u64 *seg)
{
	return (u64 *)(unsigned long)seg[0];
}

int bpf_stack_mem_init(struct bpf_stack_mem *mem);
int bpf_stack_mem_reserve(struct bpf_stack_mem *mem, u32 nr, u32 depth,
			  int node);
void bpf_stack_mem_destroy(struct bpf_stack_mem *mem);
u64 bpf_stack_mem_bytes(const struct bpf_stack_mem *mem);

struct bpf_stack_elem *bpf_stack_elem_new(struct bpf_stack_mem *mem,
					  const struct bpf_stack_key *key);
void bpf_stack_elem_free(struct bpf_stack_mem *mem,
			 struct bpf_stack_elem *elem);

#endif /* _BPF_STACK_MEM_H */
