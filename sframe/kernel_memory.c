// SPDX-License-Identifier: GPL-2.0
/* The kernel's allocator for its table.c: see linux/slab.h of the stand-in headers. */
#include <linux/slab.h>

void *test_alloc(size_t size, int zero)
{
	return zero ? calloc(1, size) : malloc(size);
}

void test_free(const void *at)
{
	free((void *)at);
}
