// SPDX-License-Identifier: GPL-2.0
/* Makes tables of what tests write, and compares them with what the tests expect. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sframe_format.h"
#include "test.h"

/* Bytes on both sides of the code that are looked up, too */
#define AROUND	32

struct sframe_header test_header(u8 version, u32 num_fdes, u32 fre_len)
{
	size_t fde_len = version == SFRAME_VERSION_3 ? sizeof(struct sframe_v3_fde) :
			 sizeof(struct sframe_fde);

	return (struct sframe_header){
		.preamble = { SFRAME_MAGIC, version, SFRAME_F_FDE_SORTED },
		.abi_arch = SFRAME_ABI_AMD64_LE,
		.cfa_fixed_ra_offset = -8,
		.num_fdes = num_fdes,
		.fre_len = fre_len,
		.freoff = num_fdes * fde_len,
	};
}

struct unwind_table_source test_source(const void *bytes, size_t len, u64 text_start,
				       u64 text_end)
{
	return (struct unwind_table_source){
		.bytes = test_copy(bytes, len), .len = len, .start = TEST_TABLE,
		.text_start = text_start, .text_end = text_end,
	};
}

void test_source_free(const struct unwind_table_source *source)
{
	free((void *)source->bytes);
}

/* The row at @ip as a text, or the lookup's error. */
static const char *look_up(const struct unwind_table *table,
			   const struct unwind_table_source *source, u64 ip)
{
	static char text[128];
	struct sframe_row row;
	int error = unwind_table_find(table, ip - source->text_start, &row);

	test_row_text(error, &row, text, sizeof(text));
	return text;
}

/* The error of the build, or 0. */
static int error_of(const struct unwind_table *table)
{
	return IS_ERR(table) ? PTR_ERR(table) : 0;
}

static void free_table(struct unwind_table *table)
{
	if (!IS_ERR(table))
		unwind_table_free(table);
}

static const char *broken(void)
{
	return test_broken ? test_broken : "";
}

/* Change the @width bytes at @at. */
static void patch(u8 *at, u32 width, u64 value)
{
	while (width--) {
		*at++ = value;
		value >>= 8;
	}
}

static void test_damage(const char *prefix, const struct unwind_table_source *good,
			const struct test_damage *damage)
{
	u8 *bytes = test_copy(good->bytes, good->len);
	struct unwind_table_source source = *good;
	struct unwind_table *table;
	const char *found;
	bool passed;
	int error;

	source.bytes = bytes;
	for (int i = 0; i < TEST_MAX_PATCHES; i++)
		patch(bytes + damage->patches[i].at, damage->patches[i].width,
		      damage->patches[i].value);
	table = test_build(&source, 1);
	error = error_of(table);
	found = error ? test_error(error) : look_up(table, &source, damage->ip);
	passed = error == damage->refused && !test_broken &&
		 (error || !strcmp(found, damage->row));
	test_result(passed, "%s_%s: %s %s %s", prefix, damage->name, error ? "build" : "find",
		    found, broken());
	free_table(table);
	free(bytes);
}

void test_damages(const char *prefix, const struct unwind_table_source *good,
		  const struct test_damage *damages, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		test_damage(prefix, good, &damages[i]);
}

struct unwind_table *test_built(const struct unwind_table_source *source, const char *name)
{
	struct unwind_table *table = test_build(source, 1);

	if (test_result(!error_of(table) && !test_broken, "%s_is_built: %s %s", name,
			test_error(error_of(table)), broken()))
		return table;
	free_table(table);
	return NULL;
}

void test_refused(const char *name, const struct unwind_table_source *source, int error)
{
	struct unwind_table *table = test_build(source, 1);

	test_result(error_of(table) == error && !test_broken,
		    "%s: %s, %zu bytes at most, of %zu %s", name, test_error(error_of(table)),
		    test_heap.peak, test_bound(source), broken());
	free_table(table);
}

/* How many addresses have another row than they should; @first is the first one. */
static unsigned int count_wrong(const struct unwind_table *table,
				const struct unwind_table_source *source,
				const char *(*row_at)(u64 ip), char *first, size_t len)
{
	unsigned int wrong = 0;

	for (u64 ip = source->text_start - AROUND; ip < source->text_end + AROUND; ip++) {
		bool outside = ip < source->text_start || ip >= source->text_end;
		const char *want = outside ? "-ENOENT" : row_at(ip);
		const char *found = look_up(table, source, ip);

		if (strcmp(found, want) && !wrong++)
			snprintf(first, len, "first %#llx %s, not %s", (unsigned long long)ip,
				 found, want);
	}
	return wrong;
}

void test_every_byte(const char *name, const struct unwind_table_source *source,
		     const char *(*row_at)(u64 ip))
{
	struct unwind_table *table = test_build(source, 1);
	unsigned int wrong = 0;
	char first[320] = "";

	if (!IS_ERR(table))
		wrong = count_wrong(table, source, row_at, first, sizeof(first));
	test_result(!IS_ERR(table) && !wrong && !test_broken,
		    "%s: build %s, %u of %llu addresses wrong %s %s", name,
		    test_error(error_of(table)), wrong,
		    (unsigned long long)(source->text_end - source->text_start + 2 * AROUND),
		    first, broken());
	free_table(table);
}

void test_truncated(const char *name, const struct unwind_table_source *good, size_t needed,
		    const char *(*row_at)(u64 ip))
{
	struct unwind_table_source source = *good;
	unsigned int wrong = 0;
	char first[320];

	for (source.len = 0; source.len <= good->len; source.len++) {
		u8 *bytes = test_copy(good->bytes, source.len);
		struct unwind_table *table;

		source.bytes = bytes;
		table = test_build(&source, 1);
		if (source.len < needed)
			wrong += error_of(table) != -EBADMSG;
		else
			wrong += IS_ERR(table) ||
				 count_wrong(table, &source, row_at, first, sizeof(first));
		wrong += !!test_broken;
		free_table(table);
		free(bytes);
	}
	test_result(!wrong, "%s: -EBADMSG below %zu bytes, %u of %zu lengths wrong", name, needed,
		    wrong, good->len + 1);
}
