/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The ways of reading the current task's user memory, see enum
 * unwind_user_access.  All return 0, or -EFAULT.
 */
#ifndef _KERNEL_UNWIND_USER_H
#define _KERNEL_UNWIND_USER_H

#include <linux/types.h>

int unwind_user_read_resident(void *to, u64 from, size_t len);
int unwind_user_read_nowait(void *to, u64 from, size_t len);
int unwind_user_read_faultable(void *to, u64 from, size_t len);

#endif /* _KERNEL_UNWIND_USER_H */
