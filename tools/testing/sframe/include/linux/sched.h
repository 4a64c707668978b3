/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_TEST_LINUX_SCHED_H
#define _SFRAME_TEST_LINUX_SCHED_H

static inline void cond_resched(void) { }

#endif /* _SFRAME_TEST_LINUX_SCHED_H */
