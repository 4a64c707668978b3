/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The headers here stand for the kernel's where tests compile kernel code in user space.
 * Each has only the names that this code uses.
 */
#ifndef _TESTING_LINUX_TYPES_H
#define _TESTING_LINUX_TYPES_H

#include_next <linux/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define __packed		__attribute__((packed))
#define __aligned(size)		__attribute__((aligned(size)))

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;
typedef unsigned int gfp_t;

struct rcu_head { void *next; };

#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))

#endif /* _TESTING_LINUX_TYPES_H */
