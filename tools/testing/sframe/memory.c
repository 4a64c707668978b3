// SPDX-License-Identifier: GPL-2.0
/* The memory that the decoder reads in the tests. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

/* Where the user's half of the address space ends. */
#define TEST_LIMIT	0x7ffffffff000ull

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

bool test_direct;

/* What may be read in place now, between user_memory_begin() and _end(). */
static struct {
	bool	open;
	u64	from;
	u64	len;
} section;

bool user_memory_begin(u64 from, u64 len)
{
	test_memory.escaped += section.open;
	/* As in the kernel, this only says that it is the user's half. */
	if (from > TEST_LIMIT || len > TEST_LIMIT - from)
		return false;
	section.open = true;
	section.from = from;
	section.len = len;
	return true;
}

void user_memory_end(void)
{
	test_memory.escaped += !section.open;
	section.open = false;
}

int user_memory_read(void *to, u64 from, size_t len)
{
	if (!section.open || from < section.from || len > section.len ||
	    from - section.from > section.len - len)
		test_memory.escaped++;
	test_memory.direct++;
	return read_memory(to, from, len);
}

struct sframe_reader test_reader(u32 budget)
{
	test_memory.reads = 0;
	test_memory.direct = 0;
	test_memory.count = 0;
	/* A lookup that leaves it open has failed the next one. */
	test_memory.escaped = section.open;
	return (struct sframe_reader){
		.read = read_memory,
		.budget = budget,
		.direct = test_direct,
	};
}

/*
 * A lookup reads the table's header, and of it: 32 starts of functions, five functions
 * and the attributes of one, the words of a row.  All that comes twice where it faults
 * in place.
 */
#define LOOKUP_BYTES	(2 * (32 + 32 * 8 + 5 * 20 + 5 + 60))
#define ROW_BYTES	(2 * 8)

bool test_budget_kept(const struct sframe_reader *reader, u32 budget)
{
	return reader->budget <= budget && !test_memory.escaped &&
	       test_memory.count <= LOOKUP_BYTES + ROW_BYTES * (budget + 1ull);
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
	{ -ENODATA, "-ENODATA" },
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

static const char *base_text(u8 base)
{
	static const char * const names[] = {
		"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "fp", "sp",
		"r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
		"cfa", "same", "unknown",
	};

	return base < ARRAY_SIZE(names) ? names[base] : "?";
}

static void rule_text(const struct sframe_rule *rule, char *to, size_t len)
{
	if (rule->base == SFRAME_BASE_SAME)
		snprintf(to, len, "same");
	else
		snprintf(to, len, rule->deref ? "*(%s%+d)" : "%s%+d",
			 base_text(rule->base), rule->offset);
}

static bool same_rule(const struct sframe_rule *a, const struct sframe_rule *b)
{
	if (a->base == SFRAME_BASE_SAME || b->base == SFRAME_BASE_SAME)
		return a->base == b->base;
	return a->base == b->base && a->offset == b->offset &&
	       a->deref == b->deref;
}

static bool in_frame(const struct sframe_rule *rule)
{
	return rule->base == SFRAME_BASE_CFA && rule->deref;
}

/* The rows of most functions are shown in short. */
static bool is_plain(const struct sframe_row *row)
{
	return !row->cfa.deref && in_frame(&row->ra) &&
	       (row->fp.base == SFRAME_BASE_SAME || in_frame(&row->fp));
}

void test_row_text(int error, const struct sframe_row *row, char *to, size_t len)
{
	char cfa[32], ra[32], fp[32];
	const char *signal;

	if (error) {
		snprintf(to, len, "%s", test_error(error));
		return;
	}
	signal = row->signal ? " signal" : "";
	if (row->outermost) {
		snprintf(to, len, "outermost%s", signal);
		return;
	}
	rule_text(&row->cfa, cfa, sizeof(cfa));
	rule_text(&row->ra, ra, sizeof(ra));
	rule_text(&row->fp, fp, sizeof(fp));
	if (!is_plain(row))
		snprintf(to, len, "cfa=%s ra=%s fp=%s%s", cfa, ra, fp, signal);
	else if (row->fp.base != SFRAME_BASE_SAME)
		snprintf(to, len, "%s ra%+d fp%+d%s", cfa, row->ra.offset,
			 row->fp.offset, signal);
	else
		snprintf(to, len, "%s ra%+d%s", cfa, row->ra.offset, signal);
}

bool test_same_row(const struct sframe_row *a, const struct sframe_row *b)
{
	if (a->signal != b->signal)
		return false;
	if (a->outermost || b->outermost)
		return a->outermost == b->outermost;
	return same_rule(&a->cfa, &b->cfa) && same_rule(&a->ra, &b->ra) &&
	       same_rule(&a->fp, &b->fp);
}

/* What the decoder promises of a row, whatever the table says. */
bool test_sound_row(const struct sframe_row *row)
{
	if (row->outermost)
		return true;
	return row->cfa.base <= SFRAME_BASE_UNKNOWN &&
	       row->cfa.base != SFRAME_BASE_CFA &&
	       row->cfa.base != SFRAME_BASE_SAME &&
	       row->ra.base <= SFRAME_BASE_UNKNOWN &&
	       row->ra.base != SFRAME_BASE_SAME &&
	       row->fp.base <= SFRAME_BASE_UNKNOWN;
}
