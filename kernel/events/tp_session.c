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
 *
 * If several processes attach the same program to the same tracepoint, it runs once for
 * each hit and decides for all their sessions: the attachment has a list of them.
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

/* The sessions that share an attachment; NULL for those that have left. */
struct tp_session_list {
	struct rcu_head		rcu;
	unsigned int		nr;
	struct tp_session	*session[] __counted_by(nr);
};

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

/* The list at the tagged address @attached, or NULL if that is a session. */
static struct tp_session_list *session_list(u64 attached)
{
	if (!(attached & TP_SESSION_LIST))
		return NULL;
	return (struct tp_session_list *)(unsigned long)(attached - TP_SESSION_LIST);
}

/**
 * tp_session_share - let a program that is attached filter one more session
 * @attached:	Session of the attachment, or list of its sessions.  Hits may use it
 *		meanwhile.
 * @session:	Session to add.
 *
 * After success, the caller must call tp_session_unshare().  It serialises all changes
 * of an attachment.
 *
 * Context: Process context.  May sleep.
 * Return: 0; -EEXIST if the program filters @session already; -ENOMEM if memory is short.
 */
int tp_session_share(struct tp_session **attached, struct tp_session *session)
{
	struct tp_session_list *list = session_list((unsigned long)*attached), *new;
	struct tp_session **from = list ? list->session : attached;
	unsigned int nr = list ? list->nr : 1, i, room = nr;

	for (i = 0; i < nr; i++) {
		if (from[i] == session)
			return -EEXIST;
		if (!from[i])
			room = i;
	}
	if (room < nr) {
		WRITE_ONCE(from[room], session);
		return 0;
	}
	new = kzalloc(struct_size(new, session, 2 * nr), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!new)
		return -ENOMEM;
	new->nr = 2 * nr;
	memcpy(new->session, from, nr * sizeof(*from));
	new->session[nr] = session;
	/* Hits read the list through its address. */
	smp_store_release(attached, (void *)new + TP_SESSION_LIST);
	if (list)
		tp_session_free_list((void *)list + TP_SESSION_LIST);
	return 0;
}

/**
 * tp_session_unshare - end the use of a shared attachment
 * @attached:	Session of the attachment, or list of its sessions.
 * @session:	Session to remove.
 *
 * Context: Any.  The caller serialises all changes of an attachment.
 * Return: true if other sessions use the attachment.  If none does, nothing is changed,
 * and the caller must detach the program and call tp_session_free_list().
 */
bool tp_session_unshare(struct tp_session **attached, const struct tp_session *session)
{
	struct tp_session_list *list = session_list((unsigned long)*attached);
	struct tp_session **own = NULL;
	bool others = false;
	unsigned int i;

	for (i = 0; list && i < list->nr; i++) {
		if (list->session[i] == session)
			own = &list->session[i];
		else if (list->session[i])
			others = true;
	}
	if (own && others)
		WRITE_ONCE(*own, NULL);
	return others;
}

static void session_list_free_rcu(struct rcu_head *rcu)
{
	struct tp_session_list *list = container_of(rcu, struct tp_session_list, rcu);

	kfree_rcu(list, rcu);
}

/**
 * tp_session_free_list - free the sessions' list of a program that has been detached
 * @attached:	Session that had the attachment, or list of sessions.
 *
 * Running hits may still use the list, which is freed after a grace period.
 *
 * Context: Any.
 */
void tp_session_free_list(struct tp_session *attached)
{
	struct tp_session_list *list = session_list((unsigned long)attached);

	/* Sleepable BPF programs run under RCU Tasks Trace. */
	if (IS_ENABLED(CONFIG_BPF_EVENTS) && list)
		call_rcu_tasks_trace(&list->rcu, session_list_free_rcu);
}

/* Remember, in @attached or in the sessions of this list, that they dropped hit @number. */
static void sessions_drop(u64 attached, int rctx, u64 number)
{
	struct tp_session_list *list = session_list(attached);
	struct tp_session *session;
	unsigned int i;

	for (i = 0; i < (list ? list->nr : 1); i++) {
		session = list ? READ_ONCE(list->session[i]) : (void *)(unsigned long)attached;
		if (session)
			this_cpu_ptr(session->verdicts)->dropped[rctx] = number;
	}
}

/**
 * tp_session_drop_too - drop a hit for one more session
 * @session:	Session or list of sessions whose program dropped the hit; not the first.
 * @rctx:	Recursion context of the hit.
 * @dropped:	Session or list that has dropped the hit so far, or the number of the hit.
 *
 * Only tp_session_drop() calls this.
 *
 * Context: Any, with preemption disabled.
 * Return: the number of the hit, which is odd.
 */
u64 tp_session_drop_too(struct tp_session *session, int rctx, u64 dropped)
{
	u64 first = dropped, *last;

	if (!(first & TP_SESSION_HIT)) {
		last = &this_cpu_ptr(&last_hit)->dropped[rctx];
		dropped = (*last + 2) | TP_SESSION_HIT;
		*last = dropped;
		sessions_drop(first, rctx, dropped);
	}
	sessions_drop((unsigned long)session, rctx, dropped);
	return dropped;
}

/**
 * tp_session_drops_too - whether a session is one of several that dropped a hit
 * @session:	The session.
 * @rctx:	Recursion context of the hit.
 * @dropped:	List of sessions that dropped the hit, or the number of the hit.
 *
 * Only tp_session_drops() calls this.
 *
 * Context: Any, with preemption disabled.
 * Return: true if @session has dropped the hit.
 */
bool tp_session_drops_too(const struct tp_session *session, int rctx, u64 dropped)
{
	struct tp_session_list *list;
	unsigned int i;

	if (dropped & TP_SESSION_HIT)
		return this_cpu_ptr(session->verdicts)->dropped[rctx] == dropped;
	list = session_list(dropped);
	for (i = 0; i < list->nr; i++)
		if (READ_ONCE(list->session[i]) == session)
			return true;
	return false;
}
