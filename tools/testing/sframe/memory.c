// SPDX-License-Identifier: GPL-2.0
/* The memory that table.c reads and allocates */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/slab.h>

#include "test.h"

struct test_heap test_heap = { .left = -1 };

/* Each allocation has its size in front of it. */
#define HEAD	(2 * sizeof(size_t))

void *test_alloc(size_t size, int zero)
{
	size_t *at;

	if (!test_heap.left || size > SIZE_MAX - HEAD)
		return NULL;
	if (test_heap.left > 0)
		test_heap.left--;
	at = zero ? calloc(1, size + HEAD) : malloc(size + HEAD);
	if (!at)
		return NULL;
	*at = size;
	test_heap.used += size;
	if (test_heap.used > test_heap.peak)
		test_heap.peak = test_heap.used;
	return (void *)at + HEAD;
}

void test_free(const void *at)
{
	size_t *size;

	if (!at)
		return;
	size = (size_t *)(at - HEAD);
	test_heap.used -= *size;
	free(size);
}

u8 *test_copy(const void *bytes, size_t len)
{
	u8 *copy = malloc(len);

	if (len && !copy) {
		perror("malloc");
		exit(2);
	}
	return len ? memcpy(copy, bytes, len) : copy;
}
