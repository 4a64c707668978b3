/* SPDX-License-Identifier: GPL-2.0 */
/*
 * User stack walks that wait for the return to user space.
 */
#ifndef _LINUX_UNWIND_DEFERRED_H
#define _LINUX_UNWIND_DEFERRED_H

#include <linux/errno.h>
#include <linux/sched.h>
#include <linux/unwind_user.h>

struct unwind_client;

/**
 * typedef unwind_client_fn - receives a user stack that was requested
 * @client: Who requested it.
 * @trace: The stack; valid during the call.
 * @cookie: What unwind_deferred_request() gave out for it.
 *
 * Context: The task whose stack it is, in process context; may sleep.  Must not
 * unregister a client.
 */
typedef void (*unwind_client_fn)(struct unwind_client *client,
				 const struct unwind_user_trace *trace,
				 u64 cookie);

/**
 * struct unwind_client - somebody who wants user stacks
 * @callback:	Receives them.
 * @max_entries: No more frames than this are wanted; may change at any time.
 * @slot:	Number among the clients; unwind_client_register() sets it.
 */
struct unwind_client {
	unwind_client_fn	callback;
	unsigned int		max_entries;
	unsigned int		slot;
};

#ifdef CONFIG_UNWIND_DEFERRED

int unwind_client_register(struct unwind_client *client);
void unwind_client_unregister(struct unwind_client *client);
int unwind_deferred_request(struct unwind_client *client, u64 *cookie);

void unwind_deferred_init_task(struct task_struct *task);
void __unwind_deferred_exec(void);
void __unwind_deferred_exec_done(void);
void __unwind_deferred_signal(void);
void __unwind_deferred_exit(void);
void __unwind_deferred_leave_kernel(void);

/* The low half of unwind_task::state says what this kernel entry has requested. */
static __always_inline bool unwind_deferred_used(void)
{
	return (u32)READ_ONCE(current->unwind.state);
}

/**
 * unwind_deferred_exec() - serve the requests of the image that exec replaces
 *
 * Call it before the thread takes another's pid, by which profilers match, and
 * again for what came since.
 *
 * Context: Process context, before current->mm is replaced.
 */
static inline void unwind_deferred_exec(void)
{
	if (unlikely(unwind_deferred_used()))
		__unwind_deferred_exec();
}

/**
 * unwind_deferred_exec_done() - the image has been replaced
 *
 * Context: Process context, after current->mm was replaced.
 */
static inline void unwind_deferred_exec_done(void)
{
	if (unlikely(unwind_deferred_used()))
		__unwind_deferred_exec_done();
}

/**
 * unwind_deferred_signal() - serve requests before a signal changes the stack
 *
 * A handler's frame is built on the stack that was requested, and what requests
 * between a signal's arrival and its handler, a stop for example, has not seen it
 * there.  Its return gives the interrupted stack back.
 *
 * Context: Process context, may sleep, no locks held.
 */
static inline void unwind_deferred_signal(void)
{
	if (unlikely(unwind_deferred_used()))
		__unwind_deferred_signal();
}

/**
 * unwind_deferred_exit() - serve the last requests of an exiting task
 *
 * Requests that come later are refused.
 *
 * Context: Process context, before the task's perf events and mm go.
 */
static inline void unwind_deferred_exit(void)
{
	__unwind_deferred_exit();
}

/**
 * unwind_deferred_leave_kernel() - end what counts as one kernel entry
 *
 * The requests after it get another cookie.
 *
 * Context: The last step before user space, interrupts off.
 */
static __always_inline void unwind_deferred_leave_kernel(void)
{
	if (unlikely(unwind_deferred_used()))
		__unwind_deferred_leave_kernel();
}

#else /* !CONFIG_UNWIND_DEFERRED */

static inline int unwind_deferred_request(struct unwind_client *client,
					  u64 *cookie)
{
	return -EOPNOTSUPP;
}

static inline void unwind_deferred_init_task(struct task_struct *task) { }
static inline void unwind_deferred_exec(void) { }
static inline void unwind_deferred_exec_done(void) { }
static inline void unwind_deferred_signal(void) { }
static inline void unwind_deferred_exit(void) { }
static __always_inline void unwind_deferred_leave_kernel(void) { }

#endif /* CONFIG_UNWIND_DEFERRED */

#endif /* _LINUX_UNWIND_DEFERRED_H */
