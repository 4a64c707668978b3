/* SPDX-License-Identifier: GPL-2.0 */
/* The kernel's names for integers, for kernel/unwind/table.c. */
#ifndef _SFRAME_TEST_LINUX_TYPES_H
#define _SFRAME_TEST_LINUX_TYPES_H

#include_next <linux/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;

#ifndef __aligned
#define __aligned(size) __attribute__((aligned(size)))
#endif
#ifndef __packed
#define __packed __attribute__((packed))
#endif

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

struct rcu_head {
	struct rcu_head *next;
	void (*func)(struct rcu_head *head);
};

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#endif /* _SFRAME_TEST_LINUX_TYPES_H */
