/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Loads from the memory of the process, which here is what the program has put in
 * its place.
 */
#ifndef _SFRAME_TEST_LINUX_UACCESS_H
#define _SFRAME_TEST_LINUX_UACCESS_H

#include <linux/types.h>

/* The program's; returns 0 or -EFAULT. */
int user_memory_read(void *to, u64 from, size_t len);
/* Whether all of a range is the process's; nothing else may then be read. */
bool user_memory_begin(u64 from, u64 len);
void user_memory_end(void);

#define user_read_access_begin(from, len) \
	user_memory_begin((u64)(uintptr_t)(from), len)
#define user_read_access_end() user_memory_end()
#define unsafe_get_user(to, from, label) do {				\
	__typeof__(to) __got;						\
									\
	if (user_memory_read(&__got, (u64)(uintptr_t)(from), sizeof(__got))) \
		goto label;						\
	(to) = __got;							\
} while (0)

#endif /* _SFRAME_TEST_LINUX_UACCESS_H */
