/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The headers here stand for the kernel's, for kernel/unwind/table.c in this tool.  Each has
 * only the names that the file uses.
 */
#ifndef _SFRAME_LINUX_TYPES_H
#define _SFRAME_LINUX_TYPES_H

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

#endif /* _SFRAME_LINUX_TYPES_H */
