/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_TEST_LINUX_SCHED_SIGNAL_H
#define _SFRAME_TEST_LINUX_SCHED_SIGNAL_H

#include <linux/types.h>

#define current NULL

#ifdef TEST_KILLED
/* Whether a test kills what runs; the program defines it. */
bool test_killed(void);
#else
#define test_killed()	false
#endif

static inline bool fatal_signal_pending(const void *task)
{
	(void)task;
	return test_killed();
}

#endif /* _SFRAME_TEST_LINUX_SCHED_SIGNAL_H */
