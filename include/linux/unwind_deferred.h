/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Deferred walks: the kernel walks a user stack before the task returns to user space.
 */
#ifndef _LINUX_UNWIND_DEFERRED_H
#define _LINUX_UNWIND_DEFERRED_H

#include <linux/errno.h>
#include <linux/sched.h>
#include <linux/unwind_user.h>

struct unwind_client;

/**
 * typedef unwind_client_fn - receive a user stack that was requested
 * @client: The client that requested the stack.
 * @trace: The stack.  It is valid only during the call.
 * @cookie: The cookie that unwind_deferred_request() returned for the stack.
 *
 * Context: Process context, in the task whose stack @trace is; may sleep.
 */
typedef void (*unwind_client_fn)(struct unwind_client *client,
				 const struct unwind_user_trace *trace,
				 u64 cookie);

/**
 * struct unwind_client - a requester of user stacks
 * @callback:	Receives the stacks.
 * @max_entries: Maximum number of frames that the client wants; may change at any time.
 * @slot:	Index of the client; unwind_client_register() sets it.
 */
struct unwind_client {
	unwind_client_fn	callback;
	unsigned int		max_entries;
	unsigned int		slot;
};

#ifdef CONFIG_UNWIND_DEFERRED

int unwind_client_register(struct unwind_client *client);
int unwind_deferred_request(struct unwind_client *client, u64 *cookie);

void unwind_deferred_init_task(struct task_struct *task);
void __unwind_deferred_exec(void);
void __unwind_deferred_exec_done(void);
void __unwind_deferred_signal(void);
void __unwind_deferred_exit(void);
bool __unwind_deferred_leave_kernel(void);

/* The low half of unwind_task::state holds the requests of this kernel entry. */
static __always_inline bool unwind_deferred_used(void)
{
	return (u32)READ_ONCE(current->unwind.state);
}

/**
 * unwind_deferred_exec() - serve requests for the stack that exec replaces
 *
 * Call this before the thread takes over the leader's pid, because profilers match records
 * by pid.  Call it again just before the mm is replaced, for requests made in between.
 *
 * Context: Process context, before current->mm is replaced.
 */
static inline void unwind_deferred_exec(void)
{
	if (unlikely(unwind_deferred_used()))
		__unwind_deferred_exec();
}

/**
 * unwind_deferred_exec_done() - drop requests for the stack that exec has replaced
 *
 * The clients receive an empty stack that ends with UNWIND_USER_NO_STACK.
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
 * The handler's frame is about to be built on the stack that was requested.  Requests made
 * between a signal's arrival and its handler, for example in a stop, are for the stack
 * without that frame.  Call this before sigreturn, too, which restores the interrupted
 * stack.
 *
 * Context: Process context, may sleep, no locks held.
 */
static inline void unwind_deferred_signal(void)
{
	if (unlikely(unwind_deferred_used()))
		__unwind_deferred_signal();
}

/**
 * unwind_deferred_probed() - serve requests before a probed instruction is executed
 *
 * The kernel emulates some instructions, for example a push or a call, and this changes the
 * stack before the task returns to user space.
 *
 * Context: Process context, may sleep, in the handlers of a uprobe.  As a sleepable BPF
 * program, the walk may take page faults while it holds up RCU tasks trace.
 */
static inline void unwind_deferred_probed(void)
{
	/* As for a signal: the stack is about to change. */
	unwind_deferred_signal();
}

/**
 * unwind_deferred_exit() - serve the last requests of an exiting task
 *
 * Later requests fail with -ESRCH.
 *
 * Context: Process context, before the task gives up its perf events and its mm.
 */
static inline void unwind_deferred_exit(void)
{
	__unwind_deferred_exit();
}

/**
 * unwind_deferred_leave_kernel() - end the current kernel entry
 *
 * Later requests get a new cookie.
 *
 * Context: The last step before user space, interrupts off.
 * Return: false if a request came after the task's work was done: the caller has to look for
 * work once more.  Each client is served once, so this ends.
 */
static __always_inline bool unwind_deferred_leave_kernel(void)
{
	return likely(!unwind_deferred_used()) || __unwind_deferred_leave_kernel();
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
static inline void unwind_deferred_probed(void) { }
static inline void unwind_deferred_exit(void) { }
static __always_inline bool unwind_deferred_leave_kernel(void) { return true; }

#endif /* CONFIG_UNWIND_DEFERRED */

#endif /* _LINUX_UNWIND_DEFERRED_H */
