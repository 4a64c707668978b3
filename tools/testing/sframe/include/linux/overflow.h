/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_TEST_LINUX_OVERFLOW_H
#define _SFRAME_TEST_LINUX_OVERFLOW_H

#include <stddef.h>

static inline size_t size_add(size_t a, size_t b)
{
	return __builtin_add_overflow(a, b, &a) ? (size_t)-1 : a;
}

static inline size_t array_size(size_t a, size_t b)
{
	return __builtin_mul_overflow(a, b, &a) ? (size_t)-1 : a;
}

#endif /* _SFRAME_TEST_LINUX_OVERFLOW_H */
