/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_TP_SESSION_H
#define _LINUX_TP_SESSION_H

#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/rculist.h>
#include <linux/refcount.h>

/**
 * struct tp_verdict - the last hit that programs of a session dropped, on one CPU
 * @dropped:	Its number, for each of perf's recursion contexts, so that an interrupt
 *		does not change the verdict of the hit that it came into.
 */
struct tp_verdict {
	u64 dropped[PERF_NR_CONTEXTS];
};

#ifdef CONFIG_EVENT_TRACING

/**
 * struct tp_session - the tracepoint events that one process opened
 * @refs:	One for each event.
 * @node:	In the table of all sessions.
 * @opener:	The process.
 * @verdicts:	Written and read within one hit, with preemption disabled.
 * @rcu:	Hits that run may hold it when its last event goes.
 */
struct tp_session {
	refcount_t			refs;
	struct hlist_node		node;
	struct pid			*opener;
	struct tp_verdict __percpu	*verdicts;
	struct rcu_head			rcu;
};

int tp_session_join(struct perf_event *event);
void tp_session_leave(struct perf_event *event);

/* The hit that was dropped last, by whomever. */
DECLARE_PER_CPU(struct tp_verdict, tp_session_hits);

/**
 * tp_session_drop - leave a session's events out of a hit
 * @session:	The session of the program that says so; NULL is nobody.
 * @rctx:	The recursion context of the hit, which nobody else has until the hit ends.
 * @hit:	The number of the hit, or 0 when it has none yet.
 *
 * Called with preemption disabled, in any context.
 *
 * Return: the number of the hit, for tp_session_drops(): no other hit in this context of
 * this CPU has had it, and it is not 0
 */
static inline u64 tp_session_drop(struct tp_session *session, int rctx, u64 hit)
{
	if (!session)
		return hit;
	if (!hit)
		hit = ++this_cpu_ptr(&tp_session_hits)->dropped[rctx];
	this_cpu_ptr(session->verdicts)->dropped[rctx] = hit;
	return hit;
}

/**
 * tp_session_drops - whether a hit is not for an event
 * @event:	The event.
 * @rctx:	The recursion context of the hit.
 * @hit:	The number of the hit; 0 when no program has dropped it.
 *
 * Called with preemption disabled, in any context.
 */
static inline bool tp_session_drops(const struct perf_event *event, int rctx, u64 hit)
{
	const struct tp_session *session = event->session;

	return unlikely(hit) && session &&
	       this_cpu_ptr(session->verdicts)->dropped[rctx] == hit;
}

/**
 * tp_session_drops_all - whether a hit is for no event of a tracepoint on this CPU
 * @head:	The tracepoint's events.
 * @rctx:	The recursion context of the hit.
 * @hit:	The number of the hit; 0 when no program has dropped it.
 *
 * Called with preemption disabled, in any context.
 */
static inline bool tp_session_drops_all(struct hlist_head *head, int rctx, u64 hit)
{
	struct perf_event *event;

	hlist_for_each_entry_rcu(event, head, hlist_entry)
		if (!tp_session_drops(event, rctx, hit))
			return false;
	return true;
}

#endif /* CONFIG_EVENT_TRACING */
#endif /* _LINUX_TP_SESSION_H */
