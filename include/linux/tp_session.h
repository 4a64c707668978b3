/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_TP_SESSION_H
#define _LINUX_TP_SESSION_H

#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/rculist.h>
#include <linux/refcount.h>

/**
 * struct tp_verdict - last hit on a CPU that a session dropped together with others
 * @dropped:	Number of the hit, for each of perf's recursion contexts.  An interrupt
 *		has its own, so it cannot change the verdict of the interrupted hit.
 */
struct tp_verdict {
	u64 dropped[PERF_NR_CONTEXTS];
};

#if defined(CONFIG_EVENT_TRACING) && defined(CONFIG_PERF_EVENTS)

/**
 * struct tp_session - the tracepoint events that one process opened
 * @refs:	Number of events in the session.
 * @node:	Link in the hash table of all sessions.
 * @opener:	Process that opened the events.
 * @verdicts:	Dropped hits, written and read within one hit with preemption disabled.
 * @rcu:	Delays freeing, as running hits may still use the session when its last
 *		event leaves.
 */
struct tp_session {
	refcount_t			refs;
	struct hlist_node		node;
	struct pid			*opener;
	struct tp_verdict __percpu	*verdicts;
	struct rcu_head			rcu;
};

/* Set in the number of a hit, which differs from the address of a session. */
#define TP_SESSION_HIT		1UL
/* Set in the address of a struct tp_session_list. */
#define TP_SESSION_LIST		2UL

int tp_session_join(struct perf_event *event);
void tp_session_leave(struct perf_event *event);

int tp_session_share(struct tp_session **attached, struct tp_session *session);
bool tp_session_unshare(struct tp_session **attached, const struct tp_session *session);
void tp_session_free_list(struct tp_session *attached);

u64 tp_session_drop_too(struct tp_session *session, int rctx, u64 dropped);
bool tp_session_drops_too(const struct tp_session *session, int rctx, u64 dropped);

/**
 * tp_session_drop - drop a hit for the events of a session
 * @session:	Session of the program that dropped the hit, or the list that
 *		tp_session_share() has made.  NULL drops the hit for none.
 * @rctx:	Recursion context of the hit, which the hit owns until it ends.
 * @dropped:	Previous return value for this hit, or 0 if no session has dropped it.
 *
 * Context: Any, with preemption disabled.
 * Return: the value to pass to tp_session_drops().  This is 0 if no session dropped the
 * hit, the address of the session or list if one program did, otherwise an odd number
 * that no other hit in this context of this CPU has had.
 */
static __always_inline u64 tp_session_drop(struct tp_session *session, int rctx,
					   u64 dropped)
{
	if (dropped == (unsigned long)session || !session)
		return dropped;
	if (likely(!dropped))
		return (unsigned long)session;
	return tp_session_drop_too(session, rctx, dropped);
}

/**
 * tp_session_drops - whether an event's session has dropped a hit
 * @event:	Event of the tracepoint.
 * @rctx:	Recursion context of the hit.
 * @dropped:	Last return value of tp_session_drop() for this hit.
 *
 * Context: Any, with preemption disabled.
 * Return: true if @event must not see the hit.
 */
static __always_inline bool tp_session_drops(const struct perf_event *event, int rctx,
					     u64 dropped)
{
	const struct tp_session *session = event->session;

	if (likely(!dropped))
		return false;
	if (dropped == (unsigned long)session)
		return true;
	return unlikely(dropped & (TP_SESSION_HIT | TP_SESSION_LIST)) && session &&
	       tp_session_drops_too(session, rctx, dropped);
}

/**
 * tp_session_drops_only - whether the only session of a tracepoint has dropped a hit
 * @only:	Session that all events of the tracepoint belong to, or NULL.
 * @dropped:	Last return value of tp_session_drop() for this hit.
 *
 * Context: Any.
 * Return: true only if no event of the tracepoint must see the hit, except perhaps the
 * events of another task that the hit concerns.
 */
static __always_inline bool tp_session_drops_only(const struct tp_session *only,
						  u64 dropped)
{
	return dropped && dropped == (unsigned long)only;
}

/**
 * tp_session_drops_all - whether a hit is dropped for all events on this CPU
 * @head:	Events of the tracepoint on this CPU.
 * @rctx:	Recursion context of the hit.
 * @dropped:	Last return value of tp_session_drop() for this hit.
 *
 * Context: Any, with preemption disabled.
 * Return: true if no event in @head must see the hit.
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
 * tp_session_drops_hit - whether a hit is dropped for all events of a tracepoint
 * @only:	Session that all events of the tracepoint belong to, or NULL.
 * @head:	Events of the tracepoint on this CPU.
 * @rctx:	Recursion context of the hit.
 * @dropped:	Last return value of tp_session_drop() for this hit.
 *
 * Context: Any, with preemption disabled.
 * Return: true if no event of the tracepoint must see the hit.
 */
static inline bool tp_session_drops_hit(const struct tp_session *only,
					struct hlist_head *head, int rctx, u64 dropped)
{
	return tp_session_drops_only(only, dropped) ||
	       tp_session_drops_all(head, rctx, dropped);
}

#endif /* CONFIG_EVENT_TRACING && CONFIG_PERF_EVENTS */
#endif /* _LINUX_TP_SESSION_H */
