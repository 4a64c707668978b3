/* SPDX-License-Identifier: GPL-2.0-only */
/* Work runs at once, as if interrupts were always enabled. */
#ifndef _STACK_TABLE_LINUX_IRQ_WORK_H
#define _STACK_TABLE_LINUX_IRQ_WORK_H

struct irq_work { void (*func)(struct irq_work *work); };

#define init_irq_work(work, fn)		((work)->func = (fn))
#define irq_work_queue(work)		((work)->func(work))
#define irq_work_sync(work)		((void)(work))

#endif /* _STACK_TABLE_LINUX_IRQ_WORK_H */
