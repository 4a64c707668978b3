// SPDX-License-Identifier: GPL-2.0
/*
 * Stacks that are walked where the sample is taken: callchains of events that know
 * nothing of deferral, of a program without frame pointers.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "layout.h"
#include "unwind_test.h"

#define DEEPEST		100
#define PAGE		4096ul
#define TABLE_PAGES	64
/*
 * Samples until the tables are in memory and their rows known.  No constant: each
 * call of an unrolled loop would have a return address of its own.
 */
static volatile unsigned int warm = 3;

TEST(depth_1_to_100)
{
	static struct unwind_record record;
	struct unwind_perf perf;
	struct chain chain;

	NEED_UNWIND();
	ASSERT_TRUE(chain_init(&chain, 0));
	ASSERT_EQ(0, open_faults(&perf, UNWIND_AT_ONCE));
	chain.last = main_return;
	for (unsigned int i = 0; i < warm; i++)
		chain_run(&chain, 1);
	for (unsigned int depth = 0; depth < DEEPEST; depth++) {
		unwind_perf_drain(&perf);
		chain_run(&chain, depth);
		ASSERT_EQ(depth + 4, chain.nr);
		ASSERT_TRUE(unwind_perf_sample_at(&perf, chain.ips[0], &record))
			TH_LOG("depth %u: no sample", depth);
		ASSERT_EQ(0, record.cookie);
		ASSERT_TRUE(chain_matches(&chain, &record)) TH_LOG("depth %u", depth);
	}
	unwind_perf_close(&perf);
}

/* The sample that finds it missing has the task fetch it; the next are whole. */
TEST(table_that_is_not_in_memory)
{
	static struct unwind_record record;
	struct unwind_region region;
	struct unwind_perf perf;
	struct chain chain;

	NEED_UNWIND();
	ASSERT_TRUE(chain_init(&chain, 0));
	ASSERT_TRUE(unwind_find_region("", &region));
	/* It takes the place of the file's. */
	ASSERT_EQ(0, prctl(UNWIND_PR_ADD_SFRAME, &region, sizeof(region),
			   UNWIND_SFRAME_ADD_LAZY, 0));
	ASSERT_TRUE(unwind_forget_table(&region));
	ASSERT_EQ(0, open_faults(&perf, UNWIND_AT_ONCE));
	chain.last = main_return;

	for (unsigned int i = 0; i < warm; i++) {
		/* The walk that fetches the table takes page faults, too. */
		unwind_perf_drain(&perf);
		chain_run(&chain, 5);
		ASSERT_TRUE(unwind_perf_sample_at(&perf, chain.ips[0], &record));
		/* The first may be the one that finds it missing. */
		if (i)
			EXPECT_TRUE(chain_matches(&chain, &record));
	}
	unwind_perf_close(&perf);
}

/* KiB of the mapping at @address that are in memory, or -1. */
static long resident(const void *address)
{
	FILE *file = fopen("/proc/self/smaps", "r");
	bool here = false;
	char line[512];
	long size = -1;
	uint64_t start;
	char minus;

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%lx%c", &start, &minus) == 2 && minus == '-')
			here = start == (uintptr_t)address;
		else if (here && sscanf(line, "Rss: %ld", &size) == 1)
			break;
	}
	if (file)
		fclose(file);
	return size;
}

/* One page of a table that is missed brings it in whole, for other samples' sake. */
TEST(missed_table_is_fetched_whole)
{
	static struct unwind_record record;
	struct unwind_region region;
	struct unwind_perf perf;
	uint8_t *table, *text, *page;
	int file;

	NEED_UNWIND();
	file = memfd_create("table", 0);
	ASSERT_LE(0, file);
	ASSERT_EQ(0, ftruncate(file, TABLE_PAGES * PAGE));
	table = mmap(NULL, TABLE_PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	text = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, table);
	ASSERT_NE(MAP_FAILED, text);
	ASSERT_NE(MAP_FAILED, page);
	/* Each page has to be there, to be mapped. */
	memset(table, 0, TABLE_PAGES * PAGE);
	layout_write_text(text, LAYOUT_MAX_FRAME);
	layout_write_table(table, text, LAYOUT_MAX_FRAME);
	region = layout_region(table, text);
	region.sframe_size = TABLE_PAGES * PAGE;
	ASSERT_EQ(0, prctl(UNWIND_PR_ADD_SFRAME, &region, sizeof(region),
			   UNWIND_SFRAME_ADD_LAZY, 0));
	ASSERT_TRUE(unwind_forget_table(&region));
	ASSERT_EQ(0, resident(table));

	ASSERT_EQ(0, open_faults(&perf, UNWIND_AT_ONCE));
	for (unsigned int i = 0; i < warm; i++) {
		ASSERT_EQ(0, madvise(page, PAGE, MADV_DONTNEED));
		((layout_function *)text)(page);
	}
	EXPECT_EQ(TABLE_PAGES * PAGE / 1024, resident(table));
	while (unwind_perf_next(&perf, &record))
		;
	EXPECT_LT(2, record.nr);
	unwind_perf_close(&perf);
	close(file);
}

/* Rows that were found serve walks that could not read the table. */
TEST(rows_without_their_table)
{
	static struct unwind_record record;
	struct unwind_region region;
	struct unwind_perf perf;
	struct chain chain;

	NEED_UNWIND();
	ASSERT_TRUE(chain_init(&chain, 0));
	ASSERT_TRUE(unwind_find_region("", &region));
	ASSERT_EQ(0, open_faults(&perf, UNWIND_AT_ONCE));
	chain.last = main_return;
	for (unsigned int i = 0; i <= warm; i++) {
		unwind_perf_drain(&perf);
		if (i == warm)
			ASSERT_TRUE(unwind_forget_table(&region));
		chain_run(&chain, 5);
	}
	ASSERT_TRUE(unwind_perf_sample_at(&perf, chain.ips[0], &record));
	EXPECT_TRUE(chain_matches(&chain, &record));
	unwind_perf_close(&perf);
}

TEST_HARNESS_MAIN
