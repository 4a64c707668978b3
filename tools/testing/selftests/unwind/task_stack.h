/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _TASK_STACK_H
#define _TASK_STACK_H

#define TASK_STACK_FRAMES 64

/* Kinds of tasks, by the state of their user stack. */
enum task_stack_kind {
	ORDINARY,
	EXITING,		/* still with its mm */
	WITHOUT_MM,		/* past exit_mm() */
	KTHREAD,
	KTHREAD_WITH_MM,	/* kthread_use_mm() */
	USER_WORKER,		/* io_uring's: an mm, but never in user mode */
	TASK_STACK_KINDS,
};

#endif /* _TASK_STACK_H */
