// SPDX-License-Identifier: GPL-2.0
/*
 * libFuzzer's way into the decoder and into what is checked of a region.
 *
 *	input = struct request | the table's bytes
 *
 * Whatever they are, no byte outside the table may be read, the budget holds, and
 * what is returned is what sframe_decode.c says there can be.  A table is looked
 * up in four of its functions, so that nearly every input reaches rows.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/err.h>

#include "row_pack.h"
#include "sframe_format.h"
#include "sframe_region.h"
#include "table.h"
#include "test.h"

#define TABLE		0x500000ull
/* Where the user's half of the address space ends. */
#define LIMIT		0x7ffffffff000ull
/* Enough for honest tables; more would make the hostile ones slow. */
#define BUDGET		(8u << 10)
#define LOOKUPS		4

/* How the table is looked up; from the input as well. */
struct request {
	u64			text_start;
	u64			text_end;
	u16			function[LOOKUPS];
	u16			offset[LOOKUPS];	/* in that function */
	u32			budget;
	u32			fault;		/* a byte that is not there, or 0 */
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

/* A word gives back the row that it was made of, and is at its address alone. */
static void check_pack(u64 ip, const struct sframe_row *row)
{
	u64 word = row_pack(ip, 0, row), other = ip ^ 1ull << 30;
	struct sframe_row back;

	if (!word)
		return;
	must(row_is_at(word, ip), "a packed row that is not at its address");
	must(row_slot(other) != row_slot(ip) || !row_is_at(word, other),
	     "a packed row at another address");
	must(!row_unpack(word, &back) && test_same_row(row, &back),
	     "a packed row that became another");
}

static int look_up_by(bool direct, u32 budget, const struct sframe_table *table,
		      u64 ip, struct sframe_row *row)
{
	struct sframe_reader reader;
	int error;

	test_direct = direct;
	reader = test_reader(budget);
	error = sframe_find_row(&reader, table, ip, row);
	must(test_known_error(error), "an error that is not in the contract");
	must(error || test_sound_row(row), "a row that there cannot be");
	must(!test_memory.escaped, "a read outside the table");
	must(test_budget_kept(&reader, budget), "a budget that was not kept");
	return error;
}

static void look_up(const struct request *req, struct sframe_table *table, u64 ip)
{
	u32 budget = req->budget % BUDGET;
	struct sframe_row row, other;
	int error;

	error = look_up_by(false, budget, table, ip, &row);
	must(look_up_by(true, budget, table, ip, &other) == error,
	     "an error that depends on the way of reading");
	must(error || test_same_row(&row, &other),
	     "a row that depends on the way of reading");
	if (!error)
		check_pack(ip, &row);
}

/* An address in a function, as the table has it: the search should lead there. */
static u64 address_in(const struct sframe_table *table, u32 index, u32 offset)
{
	bool v3 = table->version == SFRAME_VERSION_3;
	u64 at = table->fdes, start;
	struct sframe_v3_fde wide;
	struct sframe_fde narrow;

	if (!table->num_fdes)
		return offset;
	index %= table->num_fdes;
	at += index * (v3 ? sizeof(wide) : sizeof(narrow));
	memcpy(&wide, test_memory.bytes + (at - TABLE), sizeof(wide));
	memcpy(&narrow, test_memory.bytes + (at - TABLE),
	       v3 ? sizeof(wide) : sizeof(narrow));
	start = table->pcrel ? at : TABLE;
	start += v3 ? wide.func_start : narrow.func_start;
	return start + offset % (u64)((v3 ? wide.func_size : narrow.func_size) + 1ull);
}

/* What the decoder finds, the table that is made of it has, too. */
static void check_built(const struct request *req, const struct sframe_table *table)
{
	struct test_elf elf = { .text_start = req->text_start, .text_end = req->text_end };
	struct unwind_table *built = test_build(&elf);

	if (IS_ERR(built)) {
		must(test_known_error(PTR_ERR(built)) || PTR_ERR(built) == -ENOMEM,
		     "unwind_table_build: an error that is not in the contract");
		return;
	}
	/* A function that reaches behind that is left out. */
	if (req->text_end - req->text_start > UNWIND_TABLE_MAX_TEXT) {
		unwind_table_free(built);
		return;
	}
	for (int i = 0; i < LOOKUPS; i++) {
		u64 ip = address_in(table, req->function[i], req->offset[i]);
		struct sframe_reader reader = test_reader(TEST_BUDGET);
		struct sframe_row row;

		/* It does not look behind more than four empty functions. */
		if (sframe_find_row(&reader, table, ip, &row) == -ENOENT)
			continue;
		must(test_compare_built(built, table, ip) != BUILT_DIFFERENT,
		     "a built table that says something else");
	}
	unwind_table_free(built);
	must(!test_heap.used, "a built table that is not freed");
}

static void check_table(const struct request *req, const u8 *bytes, size_t len)
{
	struct sframe_reader reader;
	struct sframe_table table;
	int error;

	test_memory_set(TABLE, bytes, len);
	reader = test_reader(BUDGET);
	error = sframe_open(&reader, TABLE, TABLE + len, &table);
	must(test_known_error(error) && error != -ENOENT,
	     "sframe_open: an error that is not in the contract");
	must(!test_memory.escaped, "sframe_open: a read outside the table");
	if (error)
		return;
	must(table.start <= table.fdes && table.fdes <= table.fres &&
	     table.fres <= table.fres_end && table.fres_end <= TABLE + len,
	     "sframe_open: a table that reaches outside the section");

	table.text_start = req->text_start;
	table.text_end = req->text_end;
	check_built(req, &table);
	test_memory.fault = req->fault % (len + 1) ? TABLE + req->fault % (len + 1) : 0;
	for (int i = 0; i < LOOKUPS; i++)
		look_up(req, &table,
			address_in(&table, req->function[i], req->offset[i]));
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
