/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_UNWIND_DEFERRED_TYPES_H
#define _LINUX_UNWIND_DEFERRED_TYPES_H

#include <linux/types.h>

/**
 * struct unwind_task - a task's part in deferred user stack walks
 * @state:	Who wants the stack of this kernel entry, see kernel/unwind/deferred_state.h.
 * @id:		The task's part of the cookie: 0 until its first request, then
 *		another one for each task since boot.
 * @work:	Queued as task work while UNWIND_QUEUED is set in @state.
 */
struct unwind_task {
	u64			state;
	u32			id;
	struct callback_head	work;
};

#endif /* _LINUX_UNWIND_DEFERRED_TYPES_H */
