// SPDX-License-Identifier: GPL-2.0
/*
 * Test immediate walks of a program without frame pointers, by events that do not use
 * deferred callchains.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <unistd.h>

#include "unwind_test.h"

#define DEEPEST		100
/*
 * Number of samples until the tables are known.  Not a constant, as each call of an
 * unrolled loop would have a different return address.
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

/* A walk must not read the table in the program's memory. */
TEST(without_the_bytes_of_its_table)
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
