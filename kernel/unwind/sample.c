// SPDX-License-Identifier: GPL-2.0
/*
 * Lets a sample start discovery, so that later samples find the tables of the process.
 *
 * A sample may be taken in NMI, and discovery sleeps.  So this file is a client of deferred
 * walks that wants no stack.  Its request makes the task run discovery on the way back to
 * user space.  Deferred walks for other clients run discovery as well before they begin.
 */

#include <linux/init.h>
#include <linux/unwind_deferred.h>
#include <linux/unwind_user.h>

#include "sframe.h"

static struct unwind_client unwind_discovery = { .prepare = sframe_discover };

/**
 * unwind_user_discover_later() - run discovery on the way back to user space
 *
 * Does nothing unless sframe_discovery_is_due().  Call this after each walk of the current
 * task's stack that is not a deferred walk, for the samples to come.
 *
 * Context: Any task that has an mm, in any context, NMI included.
 */
void unwind_user_discover_later(void)
{
	u64 cookie;

	/*
	 * Ignore errors: an exiting task needs no tables, and a task that was just served has
	 * run discovery.
	 */
	if (sframe_discovery_is_due())
		unwind_deferred_request(&unwind_discovery, &cookie);
}

static int __init unwind_discovery_init(void)
{
	return unwind_client_register(&unwind_discovery);
}
core_initcall(unwind_discovery_init);
