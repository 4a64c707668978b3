// SPDX-License-Identifier: GPL-2.0
/*
 * Deferred walks: the kernel walks a user stack before the task returns to user space.
 *
 * A profiler that samples in NMI or with interrupts off cannot fault in user memory.  It
 * requests the stack instead and gets a cookie for its sample.  Shortly before the task
 * returns to user space, the kernel walks the stack once for all clients that have requested
 * it, and hands the stack to each of them with the same cookie.  A signal handler, its return
 * and exec change the user stack, so the kernel serves pending requests before them.  It
 * does not do so when a tracer writes registers: the clients then get the stack that the
 * tracer has made.
 *
 * A task's state is one word, which deferred_state.h describes.  It changes like this:
 *
 *	request:	requested |= client, QUEUED set (and the work queued)
 *	work:		QUEUED cleared; walk; then for each client
 *			requested -> delivered, and its callback
 *	leave kernel:	delivered cleared, sequence + 1, unless a callback is due
 *
 * So a client is called at most once for a user stack.  Once it has been called, its
 * requests fail until the task has left the kernel.  Otherwise a tracepoint between the
 * callback and user space could make a request each time, and the task would never leave
 * the exit path.
 *
 * The cookie consists of the sequence and a number that the task gets with its first request.
 * The pid cannot replace that number: exec in a thread other than the leader changes the pid
 * between a request and its delivery.
 */

#include <linux/atomic.h>
#include <linux/mutex.h>
#include <linux/sched/signal.h>
#include <linux/sched/task_stack.h>
#include <linux/slab.h>
#include <linux/task_work.h>
#include <linux/unwind_deferred.h>

#include "deferred_state.h"
#include "look.h"
#include "stats.h"

/* Serialises registration. */
static DEFINE_MUTEX(unwind_clients_lock);
/* Never unregistered.  Written under unwind_clients_lock, read in any context. */
static struct unwind_client *unwind_clients[UNWIND_MAX_CLIENTS];

/**
 * unwind_client_register() - register a client that may request user stacks
 * @client: The client; the caller has set all fields but @slot.  It stays registered forever,
 *	so it must never be freed.
 *
 * Context: Process context, may sleep.
 * Return: 0, or -EBUSY if there are too many clients.
 */
int unwind_client_register(struct unwind_client *client)
{
	unsigned int slot;

	guard(mutex)(&unwind_clients_lock);
	for (slot = 0; slot < UNWIND_MAX_CLIENTS; slot++) {
		if (unwind_clients[slot])
			continue;
		client->slot = slot;
		/* Publishes @client to requests, which may follow immediately. */
		smp_store_release(&unwind_clients[slot], client);
		return 0;
	}
	return -EBUSY;
}

/* Get the client of @slot, or NULL.  Any context. */
static struct unwind_client *unwind_client_at(unsigned int slot)
{
	/* Pairs with unwind_client_register(). */
	return smp_load_acquire(&unwind_clients[slot]);
}

static u64 unwind_cookie(const struct unwind_task *unwind, u64 state)
{
	return (state >> UNWIND_SEQUENCE_SHIFT << UNWIND_SEQUENCE_SHIFT) |
	       READ_ONCE(unwind->id);
}

/* Give the task a number, unless it has one.  An NMI may win the race for it. */
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
 * unwind_deferred_request() - request the user stack of this kernel entry
 * @client: The client whose callback receives the stack.
 * @cookie: Set on success.  All requests of one kernel entry get the same cookie, and the
 *	callback gets it, too.  Never 0.
 *
 * Context: Any, NMI included.
 * Return: 0; 1 if @client has a pending request for this kernel entry already; -EALREADY if
 * @client has received the stack; -EINVAL for a kernel thread or an unregistered client;
 * -ESRCH if the task is exiting; an error of task_work_add(), which is a kernel bug.
 */
int unwind_deferred_request(struct unwind_client *client, u64 *cookie)
{
	struct unwind_task *unwind = &current->unwind;
	int ret, error;
	u64 seen;

	if (!is_user_task(current))
		return -EINVAL;

	if (unwind_client_at(client->slot) != client)
		return -EINVAL;
	unwind_get_id(unwind);

	ret = unwind_state_request(&unwind->state, client->slot, &seen);
	if (ret < 0)
		return ret;
	*cookie = unwind_cookie(unwind, seen);
	if (seen & UNWIND_QUEUED)
		return ret;

	/*
	 * An NMI that makes a request here finds QUEUED set and relies on this call.  The
	 * call fails only for an exiting task, and that is DEAD before, so it does not get
	 * here.
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

/* Maximum number of frames that any client of @requested wants. */
static unsigned int unwind_wanted_entries(u64 requested)
{
	struct unwind_client *client;
	unsigned int slot, max = 0;

	for (slot = 0; slot < UNWIND_MAX_CLIENTS; slot++) {
		if (!(requested & UNWIND_REQUESTED_BIT(slot)))
			continue;
		client = unwind_client_at(slot);
		max = max(max, READ_ONCE(client->max_entries));
	}
	return max;
}

/* Whether @trace ended for lack of room before it had the frames that @client wants. */
static bool unwind_is_too_short(const struct unwind_user_trace *trace,
				const struct unwind_client *client)
{
	return trace->end == UNWIND_USER_FULL &&
	       trace->max < READ_ONCE(client->max_entries);
}

/* Deliver @trace to all clients with a pending request that do not want more frames. */
static void unwind_deliver(const struct unwind_user_trace *trace)
{
	struct unwind_task *unwind = &current->unwind;
	u64 cookie = unwind_cookie(unwind, READ_ONCE(unwind->state));
	unsigned int slot;

	for (slot = 0; slot < UNWIND_MAX_CLIENTS; slot++) {
		struct unwind_client *client;
		struct unwind_user_trace part;
		unsigned int max;

		client = unwind_client_at(slot);
		if (!client || unwind_is_too_short(trace, client))
			continue;
		/*
		 * Claim requests only now, so that those made during the walk are served
		 * with this stack as well.
		 */
		if (!unwind_state_claim(&unwind->state, slot))
			continue;
		part = *trace;
		/* Read it once: the client may change it concurrently. */
		max = READ_ONCE(client->max_entries);
		if (part.nr > max) {
			part.nr = max;
			part.end = UNWIND_USER_FULL;
		}
		client->callback(client, &part, cookie);
	}
}

/*
 * A page fault may wait forever for a file system.  So a walk reads only resident pages where
 * others wait for this task: during exec, which holds locks, and while the task exits or dies
 * from a signal.  While SIGKILL is pending, page faults do not wait, so they are allowed.
 * Once get_signal() has dequeued SIGKILL, nothing would end the wait.
 */
static enum unwind_user_access unwind_access(void)
{
	if (fatal_signal_pending(current))
		return UNWIND_USER_DEFERRED;
	if (current->in_execve || (current->flags & (PF_SIGNALED | PF_EXITING)) ||
	    (READ_ONCE(current->signal->flags) & SIGNAL_GROUP_EXIT))
		return UNWIND_USER_RESIDENT;
	return UNWIND_USER_DEFERRED;
}

/* Walk the stack once, for the maximum number of frames that the requesters want. */
static void unwind_serve_once(u64 requested, long *wait)
{
	enum unwind_user_access access = unwind_access();
	struct unwind_user_trace trace = {
		.max = unwind_wanted_entries(requested),
		.wait = *wait,
		.end = UNWIND_USER_FULL,
	};

	if (trace.max) {
		trace.entries = kvmalloc_array(trace.max, sizeof(u64),
					       GFP_KERNEL | __GFP_NOWARN);
		if (trace.entries) {
			unwind_user(&trace, task_pt_regs(current), access);
		} else {
			trace.end = UNWIND_USER_NO_MEMORY;
			unwind_user_ended(&trace, access);
		}
	}
	*wait = trace.wait;
	unwind_deliver(&trace);
	kvfree(trace.entries);
}

/*
 * Deliver the stack to all clients that have requested it.  A client that makes a request
 * during the walk may want more frames than there is room for.  The stack is still the same,
 * so walk it again for that client.  The loop ends because each client is served once.  All
 * walks together wait for tables for @wait jiffies at most.
 */
static void unwind_serve(long wait)
{
	u64 requested;

	while ((requested = READ_ONCE(current->unwind.state) & UNWIND_REQUESTED))
		unwind_serve_once(requested, &wait);
}

static void unwind_work(struct callback_head *head)
{
	/*
	 * The work is no longer queued.  A request from here on has to queue it again, even if
	 * this run still serves the request.
	 */
	unwind_state_clear(&current->unwind.state, UNWIND_QUEUED);
	unwind_serve(unwind_look_wait());
}

/* A forked task starts with a copy of its parent's state: reset it. */
void unwind_deferred_init_task(struct task_struct *task)
{
	task->unwind.state = 0;
	task->unwind.id = 0;
	init_task_work(&task->unwind.work, unwind_work);
}

bool __unwind_deferred_leave_kernel(void)
{
	struct unwind_task *unwind = &current->unwind;

	unwind_state_next(&unwind->state);
	/* The flag says that somebody looks for the work. */
	return !(READ_ONCE(unwind->state) & UNWIND_REQUESTED) ||
	       !test_thread_flag(TIF_NOTIFY_RESUME);
}

/* The work stays queued: it serves requests for the stack of the handler. */
void __unwind_deferred_signal(void)
{
	unwind_serve(0);
	unwind_state_next(&current->unwind.state);
}

void __unwind_deferred_exec(void)
{
	unwind_serve(0);
}

/* Requests since the last unwind_deferred_exec() were for a stack that no longer exists. */
void __unwind_deferred_exec_done(void)
{
	const struct unwind_user_trace none = { .end = UNWIND_USER_NO_STACK };

	unwind_deliver(&none);
	unwind_state_next(&current->unwind.state);
}

void __unwind_deferred_exit(void)
{
	/* Refuse new requests first, then serve those that came before. */
	unwind_state_kill(&current->unwind.state);
	unwind_serve(0);
}
