// SPDX-License-Identifier: GPL-2.0
/*
 * Whose records a BPF program on a tracepoint drops: those of the process that opened
 * the event through which the program is attached, and nobody else's.
 *
 * The process and not the event, as tools open an event on each CPU, and attach the
 * program through one of them or through another event of the same tracepoint.
 *
 * The walk through the tracepoint's events leaves out those of the session that dropped
 * the hit: one comparison for each event.  If several sessions drop it, the hit gets a
 * number, which these sessions remember, and the walk compares that.  So the cost does not
 * grow with the number of sessions, and there is nothing to clear afterwards.
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

/* The number of the last hit that several sessions dropped. */
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

/* The opener's session, with @new becoming it if there is none; the caller has a reference. */
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
 * tp_session_join - make a tracepoint's event one of its opener's
 * @event:	The event, not yet visible to hits.  One that is inherited belongs to the
 *		session of its parent, whichever process forks.
 *
 * May sleep.  The caller owes a tp_session_leave().
 *
 * Return: 0 or -ENOMEM
 */
int tp_session_join(struct perf_event *event)
{
	struct pid *opener = task_tgid(current);
	struct tp_session *session, *new;

	if (event->parent) {
		/* Its own event holds it until this one is complete. */
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
 * tp_session_leave - end what tp_session_join() began
 * @event:	The event, whose program is detached.  Hits that began earlier may still
 *		look at it.
 *
 * May sleep.
 */
void tp_session_leave(struct perf_event *event)
{
	struct tp_session *session = event->session;

	if (!refcount_dec_and_mutex_lock(&session->refs, &sessions_mutex))
		return;
	hash_del(&session->node);
	mutex_unlock(&sessions_mutex);
	/* BPF programs that sleep in a hit do so under RCU Tasks Trace. */
	if (IS_ENABLED(CONFIG_BPF_EVENTS))
		call_rcu_tasks_trace(&session->rcu, session_free_rcu_tasks);
	else
		call_rcu(&session->rcu, session_free_rcu);
}

/**
 * tp_session_drop_too - leave the events of one more session out of a hit
 * @session:	The session, which is not the first one.
 * @rctx:	The recursion context of the hit.
 * @dropped:	Who has dropped the hit so far.
 *
 * Called by tp_session_drop() only.
 *
 * Return: the number of the hit
 */
u64 tp_session_drop_too(struct tp_session *session, int rctx, u64 dropped)
{
	struct tp_session *first;
	u64 *last;

	if (!(dropped & 1)) {
		first = (struct tp_session *)(unsigned long)dropped;
		last = &this_cpu_ptr(&last_hit)->dropped[rctx];
		/* Odd, so that it is no address. */
		dropped = (*last + 2) | 1;
		*last = dropped;
		this_cpu_ptr(first->verdicts)->dropped[rctx] = dropped;
	}
	this_cpu_ptr(session->verdicts)->dropped[rctx] = dropped;
	return dropped;
}
