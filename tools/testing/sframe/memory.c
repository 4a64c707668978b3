// SPDX-License-Identifier: GPL-2.0
/* The memory that the decoder reads in the tests. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

struct test_memory test_memory;

static int read_memory(void *to, u64 from, size_t len)
{
	struct test_memory *mem = &test_memory;
	bool inside = from >= mem->start && from - mem->start <= mem->len &&
		      mem->len - (from - mem->start) >= len;

	mem->reads++;
	mem->count += len;
	if (!inside) {
		mem->escaped++;
		return -EFAULT;
	}
	if (mem->fault && mem->fault >= from && mem->fault - from < len) {
		/* Like the kernel's copy: bytes before the fault are there. */
		memcpy(to, mem->bytes + (from - mem->start), mem->fault - from);
		memset(to + (mem->fault - from), 0xa5, len - (mem->fault - from));
		return -EFAULT;
	}
	memcpy(to, mem->bytes + (from - mem->start), len);
	if (mem->after)
		mem->after();
	return 0;
}

struct sframe_reader test_reader(u32 budget)
{
	test_memory.reads = 0;
	test_memory.count = 0;
	test_memory.escaped = 0;
	return (struct sframe_reader){ .read = read_memory, .budget = budget };
}

void test_memory_set(u64 start, const void *bytes, size_t len)
{
	free(test_memory.bytes);
	memset(&test_memory, 0, sizeof(test_memory));
	test_memory.start = start;
	test_memory.len = len;
	test_memory.bytes = malloc(len ? len : 1);
	if (!test_memory.bytes) {
		perror("malloc");
		exit(2);
	}
	if (bytes)
		memcpy(test_memory.bytes, bytes, len);
	else
		memset(test_memory.bytes, 0, len);
}

static const struct {
	int		error;
	const char	*name;
} errors[] = {
	{ 0, "0" },
	{ -ENOENT, "-ENOENT" },
	{ -EFAULT, "-EFAULT" },
	{ -EOPNOTSUPP, "-EOPNOTSUPP" },
	{ -EBADMSG, "-EBADMSG" },
	{ -E2BIG, "-E2BIG" },
};

const char *test_error(int error)
{
	static char other[16];

	for (size_t i = 0; i < ARRAY_SIZE(errors); i++)
		if (errors[i].error == error)
			return errors[i].name;
	snprintf(other, sizeof(other), "%d", error);
	return other;
}

bool test_known_error(int error)
{
	for (size_t i = 0; i < ARRAY_SIZE(errors); i++)
		if (errors[i].error == error)
			return true;
	return false;
}

void test_row_text(int error, const struct sframe_row *row, char *to, size_t len)
{
	if (error)
		snprintf(to, len, "%s", test_error(error));
	else if (row->outermost)
		snprintf(to, len, "outermost");
	else if (row->fp_saved)
		snprintf(to, len, "%s%+d ra%+d fp%+d", row->cfa_fp ? "fp" : "sp",
			 row->cfa_off, row->ra_off, row->fp_off);
	else
		snprintf(to, len, "%s%+d ra%+d", row->cfa_fp ? "fp" : "sp",
			 row->cfa_off, row->ra_off);
}

bool test_same_row(const struct sframe_row *a, const struct sframe_row *b)
{
	if (a->outermost || b->outermost)
		return a->outermost == b->outermost;
	return a->cfa_fp == b->cfa_fp && a->cfa_off == b->cfa_off &&
	       a->ra_off == b->ra_off && a->fp_saved == b->fp_saved &&
	       (!a->fp_saved || a->fp_off == b->fp_off);
}
