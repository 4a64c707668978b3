/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_TEST_LINUX_SCHED_SIGNAL_H
#define _SFRAME_TEST_LINUX_SCHED_SIGNAL_H

#include <linux/types.h>

#define current NULL

static inline bool fatal_signal_pending(const void *task)
{
	return task;
}

#endif /* _SFRAME_TEST_LINUX_SCHED_SIGNAL_H */
