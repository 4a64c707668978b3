/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_TP_SESSION_H
#define _LINUX_TP_SESSION_H

#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/rculist.h>
#include <linux/refcount.h>

/**
 * struct tp_verdict - the last hit that a session dropped together with others, on one CPU
 * @dropped:	Its number, for each of perf's recursion contexts, so that an interrupt
 *		does not change the verdict of the hit that it came into.
 */
struct tp_verdict {
	u64 dropped[PERF_NR_CONTEXTS];
};

#if defined(CONFIG_EVENT_TRACING) && defined(CONFIG_PERF_EVENTS)

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

u64 tp_session_drop_too(struct tp_session *session, int rctx, u64 dropped);

/**
 * tp_session_drop - leave a session's events out of a hit
 * @session:	The session of the program that says so; NULL is nobody.
 * @rctx:	The recursion context of the hit, which nobody else has until the hit ends.
 * @dropped:	Who has dropped the hit so far; 0 is nobody.
 *
 * Called with preemption disabled, in any context.
 *
 * Return: who drops the hit now, for tp_session_drops(): the address of the only session,
 * or a number that is odd and that no other hit in this context of this CPU has had
 */
static __always_inline u64 tp_session_drop(struct tp_session *session, int rctx,
					   u64 dropped)
{
	if (!session || dropped == (unsigned long)session)
		return dropped;
	if (likely(!dropped))
		return (unsigned long)session;
	return tp_session_drop_too(session, rctx, dropped);
}

/**
 * tp_session_drops - whether a hit is not for an event
 * @event:	The event.
 * @rctx:	The recursion context of the hit.
 * @dropped:	Who dropped the hit; 0 is nobody.
 *
 * Called with preemption disabled, in any context.
 */
static __always_inline bool tp_session_drops(const struct perf_event *event, int rctx,
					     u64 dropped)
{
	const struct tp_session *session = event->session;

	if (likely(!dropped))
		return false;
	if (dropped == (unsigned long)session)
		return true;
	return unlikely(dropped & 1) && session &&
	       this_cpu_ptr(session->verdicts)->dropped[rctx] == dropped;
}

/**
 * tp_session_drops_only - whether a hit is not for the only session of a tracepoint
 * @only:	The session of all the tracepoint's events, or NULL.
 * @dropped:	Who dropped the hit; 0 is nobody.
 *
 * Any context.
 *
 * Return: true only if no event of the tracepoint is to see the hit, but perhaps those of
 * another task that it is about
 */
static __always_inline bool tp_session_drops_only(const struct tp_session *only,
						  u64 dropped)
{
	return dropped && dropped == (unsigned long)only;
}

/**
 * tp_session_drops_all - whether a hit is for no event of a tracepoint on this CPU
 * @head:	The tracepoint's events.
 * @rctx:	The recursion context of the hit.
 * @dropped:	Who dropped the hit; 0 is nobody.
 *
 * Called with preemption disabled, in any context.
 */
static inline bool tp_session_drops_all(struct hlist_head *head, int rctx, u64 dropped)
{
	struct perf_event *event;

	hlist_for_each_entry_rcu(event, head, hlist_entry)
		if (!tp_session_drops(event, rctx, dropped))
			return false;
	return true;
}

/**
 * tp_session_drops_hit - whether a hit is for no event of a tracepoint
 * @only:	As for tp_session_drops_only().
 * @head:	The tracepoint's events on this CPU.
 * @rctx:	The recursion context of the hit.
 * @dropped:	Who dropped the hit; 0 is nobody.
 *
 * Called with preemption disabled, in any context.
 */
static inline bool tp_session_drops_hit(const struct tp_session *only,
					struct hlist_head *head, int rctx, u64 dropped)
{
	return tp_session_drops_only(only, dropped) ||
	       tp_session_drops_all(head, rctx, dropped);
}

#endif /* CONFIG_EVENT_TRACING && CONFIG_PERF_EVENTS */
#endif /* _LINUX_TP_SESSION_H */
