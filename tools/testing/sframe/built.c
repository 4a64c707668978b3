// SPDX-License-Identifier: GPL-2.0
/* Tables that are made of SFrame tables, beside what the decoder finds in those. */
#include <errno.h>
#include <stdlib.h>

#include <linux/err.h>
#include <linux/slab.h>

#include "table.h"
#include "test.h"

/* Behind a function there may be so many bytes that have its last row: see table.c. */
#define PADDING	16

struct test_heap test_heap = { .left = -1 };

/* Each has its size in front of it. */
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

struct unwind_table *test_build(const struct test_elf *elf)
{
	/* As the decoder has it */
	struct unwind_table_source source = {
		.bytes = test_memory.bytes,
		.len = test_memory.len,
		.start = test_memory.start,
		.text_start = elf->text_start,
		.text_end = elf->text_end,
	};

	return unwind_table_build(&source, 1, GFP_KERNEL);
}

static int find_decoded(const struct sframe_table *table, u64 ip, struct sframe_row *row)
{
	struct sframe_reader reader = test_reader(TEST_BUDGET);

	return sframe_find_row(&reader, table, ip, row);
}

static bool is_padding(const struct sframe_table *table, u64 ip)
{
	struct sframe_row row;

	for (int i = 1; i < PADDING; i++)
		if (find_decoded(table, ip - i, &row) != -ENOENT)
			return true;
	return false;
}

enum test_built test_compare_built(const struct unwind_table *built,
				   const struct sframe_table *table, u64 ip)
{
	const struct sframe_row *ours = NULL;
	struct sframe_row row;
	int error, theirs = find_decoded(table, ip, &row);

	error = unwind_table_find(built, ip - table->text_start, &ours);
	if (!theirs && !error)
		return test_same_row(ours, &row) && ours->plain == row.plain ?
		       BUILT_SAME : BUILT_DIFFERENT;
	/* What is not known here means no rule ... */
	if (theirs == -EOPNOTSUPP && error == -ENODATA)
		return BUILT_SAME;
	/* ... and a function that does not lie in the code as a whole is none. */
	if (theirs == -EOPNOTSUPP || theirs == -EBADMSG)
		theirs = -ENOENT;
	if (error == theirs)
		return BUILT_SAME;
	return theirs == -ENOENT && is_padding(table, ip) ? BUILT_PADDING : BUILT_DIFFERENT;
}
