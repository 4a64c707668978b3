// SPDX-License-Identifier: GPL-2.0
/*
 * libFuzzer's way into table.c and into what is checked of a region.
 *
 *	input = struct request | the SFrame table's bytes
 *
 * No input may read outside the SFrame table, crash, leak or break a rule of build.c.  The
 * table does not depend on where the code lies, nor on the seed of the hash.  The rows at the
 * first bytes of the code and in four functions, so that nearly every input reaches rows, are
 * the model's.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sframe_region.h"
#include "test.h"

/* Where the user's half of the address space ends. */
#define LIMIT		0x7ffffffff000ull
#define LOOKUPS		4
/* Bytes that are all looked up: at the start of the code, and before it */
#define FIRST		16
#define BEFORE		4
/* Few inputs may have more code than this: its index takes long. */
#define MUCH_CODE	(1u << 20)

/* How the table is looked up; from the input as well. */
struct request {
	u64			text_start;
	u64			text_end;
	u16			function[LOOKUPS];
	u16			offset[LOOKUPS];	/* in that function */
	u32			seed;
	u32			shift;		/* how far all is moved, the second time */
	struct sframe_region	region;
};

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

static void must(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "sframe-fuzz: %s\n", what);
	abort();
}

/* An address in a function, as the table has it: there should be a row. */
static u64 address_in(const struct unwind_table_source *source, u32 index, u32 offset)
{
	struct test_function func = test_function(source, index % test_num_functions(source));

	return func.start + offset % (func.size + 1ull);
}

static void look_up(const struct unwind_table *table, const struct unwind_table_source *source,
		    u64 ip)
{
	must(test_compare(table, source, ip) != TEST_DIFFERENT, "a row that the model has not");
}

/* Beyond the code there is no row, at any offset of 64 bits. */
static void look_beyond(const struct unwind_table *table, u64 offset)
{
	struct sframe_row row;

	must(offset < table->text_size || unwind_table_find(table, offset, &row) == -ENOENT,
	     "a row beyond the code");
}

static bool same_table(const struct unwind_table *a, const struct unwind_table *b)
{
	u64 blocks = (a->text_size + (1ull << a->shift) - 1) >> a->shift;

	return a->text_size == b->text_size && a->size == b->size && a->shift == b->shift &&
	       a->nr_rules == b->nr_rules && a->nr_rows == b->nr_rows &&
	       !memcmp(a->rules, b->rules, a->nr_rules * sizeof(*a->rules)) &&
	       !memcmp(a->rows, b->rows, a->nr_rows * sizeof(*a->rows)) &&
	       !memcmp(a->index, b->index, blocks * sizeof(*a->index));
}

/* Only where functions lie in the code matters, not where the code lies. */
static void check_moved(const struct unwind_table *table, struct unwind_table_source source,
			const struct request *req)
{
	u64 by = req->shift * 16ull, size = source.text_end - source.text_start;
	struct unwind_table *moved;

	/* Code does not go on at address 0. */
	if (source.text_end < source.text_start || source.text_end + by < size)
		return;
	source.start += by;
	source.text_start += by;
	source.text_end += by;
	moved = test_build(&source, ~req->seed);
	must(!test_broken, test_broken);
	must(IS_ERR(moved) == IS_ERR(table), "an error that depends on the place");
	if (IS_ERR(moved)) {
		must(moved == table, "another error in another place");
		return;
	}
	must(same_table(table, moved), "a table that depends on its place or on the seed");
	unwind_table_free(moved);
}

static struct unwind_table_source source_of(const struct request *req, const u8 *bytes, size_t len)
{
	struct unwind_table_source source = {
		.bytes = test_copy(bytes, len), .len = len, .start = TEST_TABLE,
		.text_start = req->text_start, .text_end = req->text_end,
		.private_rules = req->seed >> 31,
	};

	if (req->text_end - req->text_start > MUCH_CODE && req->seed % 256)
		source.text_end = req->text_start + (req->text_end - req->text_start) % MUCH_CODE;
	return source;
}

static void check_table(const struct request *req, const u8 *bytes, size_t len)
{
	struct unwind_table_source source = source_of(req, bytes, len);
	struct unwind_table *table = test_build(&source, req->seed);

	must(!test_broken, test_broken);
	check_moved(table, source, req);
	if (!IS_ERR(table)) {
		for (u64 i = 0; i < BEFORE + FIRST; i++)
			look_up(table, &source, source.text_start - BEFORE + i);
		for (int i = 0; i < LOOKUPS; i++)
			look_up(table, &source,
				address_in(&source, req->function[i], req->offset[i]));
		look_beyond(table, req->region.sframe_start);
		look_beyond(table, req->region.text_start);
		look_beyond(table, table->text_size + req->region.text_size);
		unwind_table_free(table);
	}
	must(!test_heap.used, "memory that is not freed");
	free((void *)source.bytes);
}

static void check_range(u64 start, u64 size)
{
	must(size && start <= LIMIT && size <= LIMIT && start + size <= LIMIT,
	     "a region that ends outside the address space");
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct request req;

	if (size < sizeof(req))
		return 0;
	memcpy(&req, data, sizeof(req));
	if (sframe_region_valid(&req.region, LIMIT)) {
		check_range(req.region.sframe_start, req.region.sframe_size);
		check_range(req.region.text_start, req.region.text_size);
	}
	check_table(&req, data + sizeof(req), size - sizeof(req));
	return 0;
}
