// SPDX-License-Identifier: GPL-2.0
/*
 * Lets a walk have its task look at files, so that later walks find their tables.
 *
 * A walk may be in NMI, where a look is impossible.  So this file is a client of deferred walks
 * that wants no stack.  Its request makes the task look on its way back to user space.
 */

#include <linux/compiler.h>
#include <linux/init.h>
#include <linux/sched.h>
#include <linux/unwind_deferred.h>

#include "look.h"

/* The walk of a client that wants the stack has waited for tables. */
static void sample_look(struct unwind_client *client, const struct unwind_user_trace *trace,
			u64 cookie)
{
	unsigned long at = READ_ONCE(current->unwind.look);
	long none = 0;

	if (current->mm)
		unwind_look(at, &none);
}

static struct unwind_client sample_client = { .callback = sample_look };

/**
 * unwind_look_later() - have the current task look on its way back to user space
 * @at: An instruction in a file that is not known.
 *
 * Context: Any task that has an mm, in any context, NMI included.
 */
void unwind_look_later(unsigned long at)
{
	u64 cookie;

	/* An NMI may replace it: the next walk asks again for what it does not find. */
	WRITE_ONCE(current->unwind.look, at);
	/* Ignore errors: an exiting task needs no tables, and a task may have looked already. */
	unwind_deferred_request(&sample_client, &cookie);
}

static int __init sample_init(void)
{
	return unwind_client_register(&sample_client);
}
core_initcall(sample_init);
