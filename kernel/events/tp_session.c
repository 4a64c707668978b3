// SPDX-License-Identifier: GPL-2.0
/*
 * Sessions of tracepoint events.  A BPF program on a tracepoint drops records only for
 * the process that opened the event through which the program is attached.
 *
 * A session belongs to a process, not to an event: tools open an event on each CPU, and
 * attach the program through one of them or through another event of the same tracepoint.
 *
 * perf visits the tracepoint's events and skips those of the session that dropped the
 * hit, with one comparison for each event.  If several sessions drop a hit, it gets a
 * number, each of these sessions remembers the number, and perf compares it.  The cost
 * does not grow with the number of sessions, and no state must be cleared afterwards.
 */
#include <linux/hashtable.h>
#include <linux/mutex.h>
#include <linux/pid.h>
#include <linux/rcupdate_trace.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/tp_session.h>

static DEFINE_MUTEX(sessions_mutex);
static DEFINE_HASHTABLE(sessions, 6);

/* Number of the last hit on this CPU that several sessions dropped, by context. */
static DEFINE_PER_CPU(struct tp_verdict, last_hit);

static struct tp_session *session_alloc(struct pid *opener)
{
	struct tp_session *session = kzalloc(sizeof(*session), GFP_KERNEL_ACCOUNT);

	if (!session)
		return NULL;
	session->verdicts = alloc_percpu_gfp(struct tp_verdict, GFP_KERNEL_ACCOUNT);
	if (!session->verdicts) {
		kfree(session);
		return NULL;
	}
	refcount_set(&session->refs, 1);
	session->opener = get_pid(opener);
	return session;
}

static void session_free(struct tp_session *session)
{
	put_pid(session->opener);
	free_percpu(session->verdicts);
	kfree(session);
}

static void session_free_rcu(struct rcu_head *rcu)
{
	session_free(container_of(rcu, struct tp_session, rcu));
}

static void session_free_rcu_tasks(struct rcu_head *rcu)
{
	if (rcu_trace_implies_rcu_gp())
		session_free_rcu(rcu);
	else
		call_rcu(rcu, session_free_rcu);
}

/*
 * Get a reference to the session of @opener.  If there is none, @new becomes it.  Returns
 * NULL if @new is NULL as well.
 */
static struct tp_session *session_get_or_add(struct pid *opener, struct tp_session *new)
{
	struct tp_session *session;

	guard(mutex)(&sessions_mutex);
	hash_for_each_possible(sessions, session, node, (unsigned long)opener) {
		if (session->opener == opener) {
			refcount_inc(&session->refs);
			return session;
		}
	}
	if (new)
		hash_add(sessions, &new->node, (unsigned long)opener);
	return new;
}

/**
 * tp_session_join - add a tracepoint event to the session of its opener
 * @event:	New event, which no hit can see yet.
 *
 * An inherited event joins the session of its parent, whichever process forks.  After
 * success, the caller must call tp_session_leave().
 *
 * Context: Process context.  May sleep.
 * Return: 0, or -ENOMEM if memory is short.
 */
int tp_session_join(struct perf_event *event)
{
	struct pid *opener = task_tgid(current);
	struct tp_session *session, *new;

	if (event->parent) {
		/* The parent keeps its reference until this event is complete. */
		event->session = event->parent->session;
		refcount_inc(&event->session->refs);
		return 0;
	}
	session = session_get_or_add(opener, NULL);
	if (!session) {
		new = session_alloc(opener);
		if (!new)
			return -ENOMEM;
		session = session_get_or_add(opener, new);
		if (session != new)
			session_free(new);
	}
	event->session = session;
	return 0;
}

/**
 * tp_session_leave - remove an event from its session
 * @event:	Event whose program is detached.
 *
 * Hits that began earlier may still use the event and its session.  The session is freed
 * only after a grace period.
 *
 * Context: Process context.  May sleep.
 */
void tp_session_leave(struct perf_event *event)
{
	struct tp_session *session = event->session;

	if (!refcount_dec_and_mutex_lock(&session->refs, &sessions_mutex))
		return;
	hash_del(&session->node);
	mutex_unlock(&sessions_mutex);
	/* Sleepable BPF programs run under RCU Tasks Trace. */
	if (IS_ENABLED(CONFIG_BPF_EVENTS))
		call_rcu_tasks_trace(&session->rcu, session_free_rcu_tasks);
	else
		call_rcu(&session->rcu, session_free_rcu);
}

/**
 * tp_session_drop_too - drop a hit for one more session
 * @session:	Session whose program dropped the hit; not the first one.
 * @rctx:	Recursion context of the hit.
 * @dropped:	Session that has dropped the hit so far, or the number of the hit.
 *
 * Only tp_session_drop() calls this.
 *
 * Context: Any, with preemption disabled.
 * Return: the number of the hit, which is odd.
 */
u64 tp_session_drop_too(struct tp_session *session, int rctx, u64 dropped)
{
	struct tp_session *first;
	u64 *last;

	if (!(dropped & 1)) {
		first = (struct tp_session *)(unsigned long)dropped;
		last = &this_cpu_ptr(&last_hit)->dropped[rctx];
		/* Odd numbers differ from the addresses of sessions. */
		dropped = (*last + 2) | 1;
		*last = dropped;
		this_cpu_ptr(first->verdicts)->dropped[rctx] = dropped;
	}
	this_cpu_ptr(session->verdicts)->dropped[rctx] = dropped;
	return dropped;
}
