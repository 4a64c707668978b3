/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A lock-free list of numbers, for free blocks and free records.
 *
 * The head is one 64-bit word {version:32, first:32}; number 0 ends a list.  @link_of
 * returns the address of a number's link.  Every change of the head increments the
 * version.  A taker reads links that another context may be changing.  Its cmpxchg
 * succeeds only if the version is unchanged, so all links that it followed were links
 * of the list.  If callers take more than one number at a time, links must hold valid
 * numbers or 0 even while their numbers are not on a list.
 *
 * All functions may be called in any context, NMI included.
 */
#ifndef _BPF_STACK_LIST_H
#define _BPF_STACK_LIST_H

#include "stack_table_internal.h"

typedef u32 *(*stack_link_fn)(const void *owner, u32 number);

static __always_inline u64 stack_list_head(u64 old, u32 first)
{
	return ((old >> 32) + 1) << 32 | first;
}

/* The number of changes to the list. */
static __always_inline u32 stack_list_version(const atomic64_t *head)
{
	return atomic64_read(head) >> 32;
}

/*
 * Take @nr linked numbers.  Returns the first one, whose links lead to the others, or
 * 0 if the list has fewer than @nr numbers.
 */
static __always_inline u32 stack_list_take(atomic64_t *head, u32 nr,
					   stack_link_fn link_of,
					   const void *owner)
{
	u64 old = atomic64_read(head), seen;
	u32 rest, i;

	for (;; old = seen) {
		/* The dependent loads pair with the cmpxchg in stack_list_put(). */
		rest = (u32)old;
		for (i = 0; i < nr && rest; i++)
			rest = READ_ONCE(*link_of(owner, rest));
		if (i < nr)
			seen = atomic64_read(head);
		else
			seen = atomic64_cmpxchg(head, old,
						stack_list_head(old, rest));
		if (seen == old)
			return i < nr ? 0 : (u32)old;
	}
}

/*
 * Take one number, as stack_list_take() does, with fewer instructions.  @link is set to the
 * address of its link if there is one.
 */
static __always_inline u32 stack_list_pop(atomic64_t *head, stack_link_fn link_of,
					  const void *owner, u32 **link)
{
	s64 old = atomic64_read(head);

	do {
		if (unlikely(!(u32)old))
			return 0;
		*link = link_of(owner, (u32)old);
	} while (unlikely(!atomic64_try_cmpxchg(head, &old,
						stack_list_head(old, READ_ONCE(**link)))));
	return (u32)old;
}

/* The number @distance links after @number. */
static __always_inline u32 stack_list_after(u32 number, u32 distance,
					    stack_link_fn link_of,
					    const void *owner)
{
	while (distance--)
		number = READ_ONCE(*link_of(owner, number));
	return number;
}

/* Put the numbers from @first to @last on the list; they must be linked already. */
static __always_inline void stack_list_put(atomic64_t *head, u32 first,
					   u32 last, stack_link_fn link_of,
					   const void *owner)
{
	u64 old = atomic64_read(head), seen;

	for (;; old = seen) {
		WRITE_ONCE(*link_of(owner, last), (u32)old);
		seen = atomic64_cmpxchg(head, old, stack_list_head(old, first));
		if (seen == old)
			return;
	}
}

/*
 * Take @nr numbers as stack_list_take() does, and move @more numbers to @own.  Without
 * this, inserters on many CPUs would contend for @head with each stack.
 */
static __always_inline u32 stack_list_refill(atomic64_t *head, atomic64_t *own,
					     u32 nr, u32 more,
					     stack_link_fn link_of,
					     const void *owner)
{
	u32 first = stack_list_take(head, nr + more, link_of, owner), rest;

	if (first && more) {
		rest = stack_list_after(first, nr, link_of, owner);
		stack_list_put(own, rest,
			       stack_list_after(rest, more - 1, link_of, owner),
			       link_of, owner);
	}
	return first;
}

#endif /* _BPF_STACK_LIST_H */
