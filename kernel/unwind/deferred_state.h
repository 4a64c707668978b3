/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The state of a task's deferred walks: unwind_task::state.
 *
 * The state is one word.  So each transition is one cmpxchg, and an NMI never sees half of
 * a transition:
 *
 *	 63            32 31     30        16 15     14         0
 *	+----------------+------+------------+------+------------+
 *	| sequence       | DEAD | delivered  |QUEUED| requested  |
 *	+----------------+------+------------+------+------------+
 *
 *	requested	one bit per client slot: its callback is due
 *	QUEUED		unwind_task::work is queued
 *	delivered	one bit per client slot: the client has the stack of this sequence
 *	DEAD		the task is exiting and takes no more requests
 *	sequence	counts the user stacks that were requested
 *
 * Only the task itself and interrupts of the task change the state.
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
 * unwind_state_request() - request the stack of this kernel entry for a client
 * @state: State of the task.
 * @slot: Slot of the client.
 * @seen: On success, set to the state before the request.
 *
 * If UNWIND_QUEUED is clear in @seen, the caller has to queue the work.
 *
 * Return: 0; 1 if the client has a pending request already; -EALREADY if the client
 * has received the stack; -ESRCH if the task takes no more requests.
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
 * unwind_state_claim() - turn a client's request into a delivery
 * @state: State of the task.
 * @slot: Slot of the client.
 *
 * Return: true if the callback was due: the caller has to call it.
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
 * unwind_state_clear() - clear bits and keep concurrent changes to the others
 * @state: State of the task.
 * @bits: Mask of the bits to clear.
 */
static inline void unwind_state_clear(u64 *state, u64 bits)
{
	u64 old = READ_ONCE(*state);

	while ((old & bits) && !try_cmpxchg(state, &old, old & ~bits))
		;
}

/**
 * unwind_state_next() - start a new sequence because the user stack changes
 * @state: State of the task.
 *
 * Later requests get a new cookie.
 *
 * This does nothing while a callback is due.  On the way to user space, that means a request
 * was made after the task work ran: by a tracepoint, and the caller runs the work again, or by
 * an NMI, which has sent itself an interrupt that arrives as soon as interrupts are on.  The
 * tracepoints that are hit after this point have TRACE_EVENT_FL_LEAVES_KERNEL; nobody makes a
 * request for them, as the next kernel entry would serve it.  The work may stay queued: it
 * serves what is requested when it runs.
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
 * unwind_state_kill() - refuse all further requests of an exiting task
 * @state: State of the task.
 */
static inline void unwind_state_kill(u64 *state)
{
	u64 old = READ_ONCE(*state);

	while (!try_cmpxchg(state, &old, old | UNWIND_DEAD))
		;
}

#endif /* _KERNEL_UNWIND_DEFERRED_STATE_H */
