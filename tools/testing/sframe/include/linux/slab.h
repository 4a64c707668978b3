/* SPDX-License-Identifier: GPL-2.0 */
#include <stdlib.h>

#include <linux/gfp_types.h>
#include <linux/overflow.h>

/* The next allocations that succeed, and bytes that are allocated: see memory.c. */
void *test_alloc(size_t size, int zero);
void test_free(const void *at);

#define kvmalloc(size, gfp)		((void)(gfp), test_alloc(size, 0))
#define kvmalloc_array(n, size, gfp)	((void)(gfp), test_alloc(array_size(n, size), 0))
#define kvcalloc(n, size, gfp)		((void)(gfp), test_alloc(array_size(n, size), 1))
#define kvfree(at)			test_free(at)
