/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_UNWIND_DEFERRED_TYPES_H
#define _LINUX_UNWIND_DEFERRED_TYPES_H

#include <linux/types.h>

/**
 * struct unwind_task - per-task state of deferred walks
 * @state:	Requests for the stack of this kernel entry, see
 *		kernel/unwind/deferred_state.h.
 * @id:		The task's part of the cookie: 0 until the task's first request, then a
 *		number that no other task has had since boot.
 * @look:	An instruction in a file to look at, see unwind_look_later().
 * @work:	Queued as task work while UNWIND_QUEUED is set in @state.
 */
struct unwind_task {
	u64			state;
	u32			id;
	unsigned long		look;
	struct callback_head	work;
};

#endif /* _LINUX_UNWIND_DEFERRED_TYPES_H */
