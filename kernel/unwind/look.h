/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A task looks at files whose code it executes: see look.c.
 */
#ifndef _KERNEL_UNWIND_LOOK_H
#define _KERNEL_UNWIND_LOOK_H

#ifdef CONFIG_UNWIND_USER_SFRAME
void unwind_look(unsigned long at, long *wait);
long unwind_look_wait(void);
#else
static inline void unwind_look(unsigned long at, long *wait)
{
}

static inline long unwind_look_wait(void)
{
	return 0;
}
#endif

#if defined(CONFIG_UNWIND_USER_SFRAME) && defined(CONFIG_UNWIND_DEFERRED)
void unwind_look_later(unsigned long at);
#else
static inline void unwind_look_later(unsigned long at)
{
}
#endif

#endif /* _KERNEL_UNWIND_LOOK_H */
