// SPDX-License-Identifier: GPL-2.0
/*
 * User stack walks that wait for the return to user space.
 *
 * Whoever samples in NMI or with interrupts off cannot fault in user memory.  It
 * requests the stack instead, and gets a cookie for its sample; shortly before
 * the task returns to user space the stack is walked, once for all who asked,
 * and handed to each of them with the same cookie.  What changes the user stack
 * before that - a signal handler, its return, exec - serves what is due first.  A
 * tracer that writes registers does not; its task's stack is what it made of it.
 *
 * A task's state is the word that deferred_state.h describes.  It changes so:
 *
 *	request:	requested |= client, QUEUED set (and the work queued)
 *	work:		QUEUED cleared; walk; then for each client
 *			requested -> delivered, and its callback
 *	leave kernel:	delivered cleared, sequence + 1, unless something is due
 *
 * So a client is called at most once for a user stack.  A tracepoint between the
 * callback and user space that requests again is refused, or it would send the
 * task round and round the exit path.
 *
 * The cookie is the sequence and a number that the task got with its first
 * request.  The pid would not do: exec in a thread other than the first changes
 * it, between a request and its delivery.
 */

#include <linux/atomic.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/sched/task_stack.h>
#include <linux/slab.h>
#include <linux/srcu.h>
#include <linux/task_work.h>
#include <linux/unwind_deferred.h>

#include "deferred_state.h"
#include "stats.h"

/* Serialises registration. */
static DEFINE_MUTEX(unwind_clients_lock);
/*
 * The registered clients.  Written under unwind_clients_lock; read under RCU by
 * requests, in any context, and under unwind_srcu by the work, whose callbacks
 * may sleep.
 */
static struct unwind_client __rcu *unwind_clients[UNWIND_MAX_CLIENTS];
DEFINE_STATIC_SRCU(unwind_srcu);

/**
 * unwind_client_register() - become somebody who may request user stacks
 * @client: Its @callback and @max_entries are set; it stays the caller's and has
 *	to live until unwind_client_unregister() returns.
 *
 * Context: Process context, may sleep.
 * Return: 0, or -EBUSY when there are too many clients.
 */
int unwind_client_register(struct unwind_client *client)
{
	unsigned int slot;

	guard(mutex)(&unwind_clients_lock);
	for (slot = 0; slot < UNWIND_MAX_CLIENTS; slot++) {
		if (rcu_access_pointer(unwind_clients[slot]))
			continue;
		client->slot = slot;
		/* Publishes @client to requests, which may come at once. */
		rcu_assign_pointer(unwind_clients[slot], client);
		return 0;
	}
	return -EBUSY;
}

/**
 * unwind_client_unregister() - request no more
 * @client: Was registered.
 *
 * When it returns, no callback of @client runs and none will.
 *
 * Context: Process context, may sleep; not from a callback.
 */
void unwind_client_unregister(struct unwind_client *client)
{
	u64 bits = UNWIND_REQUESTED_BIT(client->slot) |
		   UNWIND_DELIVERED_BIT(client->slot);
	struct task_struct *group, *task;

	guard(mutex)(&unwind_clients_lock);
	/*
	 * Unreachable: the work no longer finds it.  The slot must not be taken
	 * anew before its bits are gone, or the next client would receive what
	 * this one requested; the mutex sees to that.
	 */
	RCU_INIT_POINTER(unwind_clients[client->slot], NULL);
	/* Wait: for requests that may still be setting a bit, and for callbacks. */
	synchronize_rcu();
	synchronize_srcu(&unwind_srcu);
	/* A task forked from here on starts without bits. */
	scoped_guard(rcu) {
		for_each_process_thread(group, task)
			unwind_state_clear(&task->unwind.state, bits);
	}
}

static u64 unwind_cookie(const struct unwind_task *unwind, u64 state)
{
	return (state >> UNWIND_SEQUENCE_SHIFT << UNWIND_SEQUENCE_SHIFT) |
	       READ_ONCE(unwind->id);
}

/* Number the task; an NMI may do so first. */
static void unwind_get_id(struct unwind_task *unwind)
{
	static atomic_t last_id = ATOMIC_INIT(0);
	u32 id;

	if (likely(READ_ONCE(unwind->id)))
		return;
	do {
		id = atomic_inc_return(&last_id);
	} while (!id);
	cmpxchg(&unwind->id, 0, id);
}

/**
 * unwind_deferred_request() - ask for the user stack of this kernel entry
 * @client: Whose callback is to receive it.
 * @cookie: Filled in on success: the same for all requests of one kernel entry,
 *	and passed to the callback.  Never 0.
 *
 * Context: Any, NMI included.
 * Return: 0; 1 when @client has asked before in this kernel entry and its
 * callback is still to come; -EALREADY when it has been called already;
 * -EINVAL for a kernel thread or an unregistered client; -ESRCH when the task
 * is exiting.
 */
int unwind_deferred_request(struct unwind_client *client, u64 *cookie)
{
	struct unwind_task *unwind = &current->unwind;
	int ret, error;
	u64 seen;

	if (!is_user_task(current))
		return -EINVAL;

	guard(rcu)();
	if (rcu_access_pointer(unwind_clients[client->slot]) != client)
		return -EINVAL;
	unwind_get_id(unwind);

	ret = unwind_state_request(&unwind->state, client->slot, &seen);
	if (ret < 0)
		return ret;
	*cookie = unwind_cookie(unwind, seen);
	if (seen & UNWIND_QUEUED)
		return ret;

	/*
	 * An NMI here that requests too finds QUEUED set, and relies on this
	 * call.  It fails for an exiting task only, which is DEAD before.
	 */
	error = task_work_add(current, &unwind->work, in_nmi() ?
			      TWA_NMI_CURRENT : TWA_RESUME | TWAF_NO_ALLOC);
	if (WARN_ON_ONCE(error)) {
		unwind_state_clear(&unwind->state,
				   UNWIND_QUEUED | UNWIND_REQUESTED);
		return error;
	}
	return ret;
}

/* The most frames that any client of @requested wants. */
static unsigned int unwind_wanted_entries(u64 requested)
{
	struct unwind_client *client;
	unsigned int slot, max = 0;

	guard(rcu)();
	for (slot = 0; slot < UNWIND_MAX_CLIENTS; slot++) {
		if (!(requested & UNWIND_REQUESTED_BIT(slot)))
			continue;
		client = rcu_dereference(unwind_clients[slot]);
		if (client)
			max = max(max, READ_ONCE(client->max_entries));
	}
	return max;
}

/* Whether @trace, which was cut where its room ended, has less than @client wants. */
static bool unwind_is_too_short(const struct unwind_user_trace *trace,
				const struct unwind_client *client)
{
	return trace->end == UNWIND_USER_FULL &&
	       trace->max < READ_ONCE(client->max_entries);
}

/* Give @trace to all whose callback is due and who want no more frames than it has. */
static void unwind_deliver(const struct unwind_user_trace *trace)
{
	struct unwind_task *unwind = &current->unwind;
	u64 cookie = unwind_cookie(unwind, READ_ONCE(unwind->state));
	int idx = srcu_read_lock(&unwind_srcu);
	unsigned int slot;

	for (slot = 0; slot < UNWIND_MAX_CLIENTS; slot++) {
		struct unwind_client *client;
		struct unwind_user_trace part;
		unsigned int max;

		client = srcu_dereference(unwind_clients[slot], &unwind_srcu);
		if (client && unwind_is_too_short(trace, client))
			continue;
		/*
		 * Only now: a request that came while the stack was walked
		 * still counts for it.
		 */
		if (!unwind_state_claim(&unwind->state, slot))
			continue;
		/* An NMI may have requested for one that registered meanwhile. */
		client = srcu_dereference(unwind_clients[slot], &unwind_srcu);
		if (!client)
			continue;
		part = *trace;
		/* It may grow behind this. */
		max = READ_ONCE(client->max_entries);
		if (part.nr > max) {
			part.nr = max;
			part.end = UNWIND_USER_FULL;
		}
		client->callback(client, &part, cookie);
	}
	srcu_read_unlock(&unwind_srcu, idx);
}

/*
 * A page may take as long as whoever serves it likes, so none is waited for where
 * somebody waits for this task: exec holds locks, and a task that exits or was
 * killed has to go.  While SIGKILL is pending no page fault waits; get_signal()
 * takes it off the list, and then nothing would end the wait.
 */
static enum unwind_user_access unwind_access(void)
{
	if (fatal_signal_pending(current))
		return UNWIND_USER_DEFERRED;
	if (current->in_execve || (current->flags & (PF_SIGNALED | PF_EXITING)) ||
	    (READ_ONCE(current->signal->flags) & SIGNAL_GROUP_EXIT))
		return UNWIND_USER_NOWAIT;
	return UNWIND_USER_DEFERRED;
}

/* Walk the stack once, for as many frames as those want who have requested it. */
static void unwind_serve_once(u64 requested)
{
	struct unwind_user_trace trace = {
		.max = unwind_wanted_entries(requested),
		.end = UNWIND_USER_FULL,
	};

	if (trace.max) {
		trace.entries = kvmalloc_array(trace.max, sizeof(u64),
					       GFP_KERNEL | __GFP_NOWARN);
		if (trace.entries) {
			unwind_user(&trace, task_pt_regs(current), unwind_access());
		} else {
			trace.end = UNWIND_USER_NO_MEMORY;
			unwind_user_ended(&trace, unwind_access());
		}
	}
	unwind_deliver(&trace);
	kvfree(trace.entries);
}

/*
 * Hand the stack to all who requested it.  A client that requests while it is walked for
 * others may want more frames than there is room for; the stack is still the same, so
 * walk it again for that one.  Each client is served once, which ends this.
 */
static void unwind_serve(void)
{
	u64 requested;

	while ((requested = READ_ONCE(current->unwind.state) & UNWIND_REQUESTED))
		unwind_serve_once(requested);
}

static void unwind_work(struct callback_head *head)
{
	/*
	 * The list has let go of @head: a request from here on has to queue it
	 * again, even though this run may still serve it.
	 */
	unwind_state_clear(&current->unwind.state, UNWIND_QUEUED);
	unwind_serve();
}

/* A forked task starts with a copy of its parent's. */
void unwind_deferred_init_task(struct task_struct *task)
{
	task->unwind.state = 0;
	task->unwind.id = 0;
	init_task_work(&task->unwind.work, unwind_work);
}

void __unwind_deferred_leave_kernel(void)
{
	unwind_state_next(&current->unwind.state);
}

/* The work stays queued, for what the handler's stack may be requested by. */
void __unwind_deferred_signal(void)
{
	unwind_serve();
	unwind_state_next(&current->unwind.state);
}

void __unwind_deferred_exec(void)
{
	unwind_serve();
}

/* What requested since then saw a stack that is gone. */
void __unwind_deferred_exec_done(void)
{
	const struct unwind_user_trace none = { .end = UNWIND_USER_NO_STACK };

	unwind_deliver(&none);
	unwind_state_next(&current->unwind.state);
}

void __unwind_deferred_exit(void)
{
	/* First the end of requests, then all that came before it. */
	unwind_state_kill(&current->unwind.state);
	unwind_serve();
}
