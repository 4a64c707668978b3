/* SPDX-License-Identifier: GPL-2.0-only */
/* Callchain entries that no other context reuses until their holder has read them. */
#ifndef _LINUX_PERF_CALLCHAIN_H
#define _LINUX_PERF_CALLCHAIN_H

#include <linux/lockdep.h>
#include <linux/percpu.h>
#include <linux/types.h>

struct perf_callchain_entry;
struct pt_regs;

struct perf_callchain_entry *
perf_callchain_hold(struct pt_regs *regs, bool kernel, bool user,
		    u32 max_stack, bool crosstask, int *rctx);
void perf_callchain_keep(int rctx);
int perf_callchain_reserve(u32 words);
void perf_callchain_unreserve(void);

/* For kernel/events/callchain.c and the functions below */
DECLARE_PER_CPU(u8, perf_callchain_used);

/**
 * perf_callchain_mark - how many entries this CPU has in use
 *
 * perf_callchain_release() with this value releases all entries that the context takes in
 * between, and needs no other values for them.  Any context, with preemption off until then.
 *
 * Return: the mark
 */
static inline int perf_callchain_mark(void)
{
	lockdep_assert_preemption_disabled();
	return this_cpu_read(perf_callchain_used);
}

/**
 * perf_callchain_release - end perf_callchain_hold() or perf_callchain_keep()
 * @rctx:	The value from perf_callchain_hold() or perf_callchain_mark(), or passed to
 *		perf_callchain_keep().
 *
 * Entries have to be released in reverse order.  Only the low byte of @rctx matters.
 */
static inline void perf_callchain_release(int rctx)
{
	barrier();
	this_cpu_write(perf_callchain_used, (u8)rctx);
}

#endif /* _LINUX_PERF_CALLCHAIN_H */
