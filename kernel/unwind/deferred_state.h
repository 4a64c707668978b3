/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a task's deferred user stack walks stand at: unwind_task::state.
 *
 * One word, so that each transition is one cmpxchg and an NMI at any point finds
 * it whole:
 *
 *	 63            32 31     30        16 15     14         0
 *	+----------------+------+------------+------+------------+
 *	| sequence       | DEAD | delivered  |QUEUED| requested  |
 *	+----------------+------+------------+------+------------+
 *
 *	requested	a bit per client slot: its callback is due
 *	QUEUED		unwind_task::work is queued
 *	delivered	a bit per client slot: called already, for this sequence
 *	DEAD		the task is exiting, and takes no more requests
 *	sequence	counts the user stacks that were requested
 *
 * Changed by the task itself and by whatever interrupts it; unregistering a
 * client clears bits from another CPU.
 */
#ifndef _KERNEL_UNWIND_DEFERRED_STATE_H
#define _KERNEL_UNWIND_DEFERRED_STATE_H

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/errno.h>
#include <linux/types.h>

#define UNWIND_MAX_CLIENTS	15
#define UNWIND_REQUESTED	GENMASK_ULL(14, 0)
#define UNWIND_QUEUED		BIT_ULL(15)
#define UNWIND_DEAD		BIT_ULL(31)
#define UNWIND_SEQUENCE_SHIFT	32

#define UNWIND_REQUESTED_BIT(slot)	BIT_ULL(slot)
#define UNWIND_DELIVERED_BIT(slot)	BIT_ULL((slot) + 16)

/**
 * unwind_state_request() - a client wants the stack of this kernel entry
 * @state: The task's.
 * @slot: The client's.
 * @seen: The state that the request was added to, on success.
 *
 * Where UNWIND_QUEUED is clear in @seen, the caller has to queue the work.
 *
 * Return: 0; 1 when the client's request stood already; -EALREADY when it has
 * been delivered; -ESRCH when the task takes no more requests.
 */
static inline int unwind_state_request(u64 *state, unsigned int slot, u64 *seen)
{
	u64 old = READ_ONCE(*state), new;

	do {
		if (old & UNWIND_DEAD)
			return -ESRCH;
		if (old & UNWIND_DELIVERED_BIT(slot))
			return -EALREADY;
		new = old | UNWIND_REQUESTED_BIT(slot) | UNWIND_QUEUED;
	} while (new != old && !try_cmpxchg(state, &old, new));
	*seen = old;
	return !!(old & UNWIND_REQUESTED_BIT(slot));
}

/**
 * unwind_state_claim() - whether a client's callback is due; it no longer is after this
 * @state: The task's.
 * @slot: The client's.
 */
static inline bool unwind_state_claim(u64 *state, unsigned int slot)
{
	u64 old = READ_ONCE(*state), new;

	do {
		if (!(old & UNWIND_REQUESTED_BIT(slot)))
			return false;
		new = (old & ~UNWIND_REQUESTED_BIT(slot)) |
		      UNWIND_DELIVERED_BIT(slot);
	} while (!try_cmpxchg(state, &old, new));
	return true;
}

/**
 * unwind_state_clear() - clear @bits, whatever else happens to the state
 * @state: A task's, perhaps another's.
 * @bits: What to clear.
 */
static inline void unwind_state_clear(u64 *state, u64 bits)
{
	u64 old = READ_ONCE(*state);

	while ((old & bits) && !try_cmpxchg(state, &old, old & ~bits))
		;
}

/**
 * unwind_state_next() - the user stack changes: requests get another cookie
 * @state: The task's.
 *
 * Does nothing while a callback is due: on the way to user space that is an NMI's
 * request after the task work ran, and its interrupt to itself comes as soon as
 * interrupts are on.  A tracepoint behind this point that requests is served in
 * the next kernel entry.  The work may stay queued; it finds what is requested
 * then.
 */
static inline void unwind_state_next(u64 *state)
{
	u64 old = READ_ONCE(*state), new;

	do {
		if (old & UNWIND_REQUESTED)
			return;
		new = ((old >> UNWIND_SEQUENCE_SHIFT) + 1) <<
			UNWIND_SEQUENCE_SHIFT;
		new |= old & (UNWIND_QUEUED | UNWIND_DEAD);
	} while (!try_cmpxchg(state, &old, new));
}

/**
 * unwind_state_kill() - the task exits: no more requests
 * @state: The task's.
 */
static inline void unwind_state_kill(u64 *state)
{
	u64 old = READ_ONCE(*state);

	while (!try_cmpxchg(state, &old, old | UNWIND_DEAD))
		;
}

#endif /* _KERNEL_UNWIND_DEFERRED_STATE_H */
