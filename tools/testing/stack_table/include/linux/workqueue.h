/* SPDX-License-Identifier: GPL-2.0-only */
/* Delayed work runs at once, except for retries: of these, @delay is all that is kept. */
#ifndef _STACK_TABLE_LINUX_WORKQUEUE_H
#define _STACK_TABLE_LINUX_WORKQUEUE_H

#include <linux/container_of.h>

struct work_struct { void (*func)(struct work_struct *work); };
struct delayed_work {
	struct work_struct work;
	int delay;
};

#define system_unbound_wq		NULL
#define msecs_to_jiffies(ms)		(ms)
#define to_delayed_work(w)		container_of(w, struct delayed_work, work)
#define INIT_DELAYED_WORK(dwork, fn)	((dwork)->work.func = (fn))
#define cancel_delayed_work_sync(dwork)	((void)(dwork))

static inline void queue_delayed_work(void *wq, struct delayed_work *dwork, int delay)
{
	(void)wq;
	dwork->delay = delay;
	if (!delay)
		dwork->work.func(&dwork->work);
}

#endif /* _STACK_TABLE_LINUX_WORKQUEUE_H */
