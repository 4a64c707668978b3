// SPDX-License-Identifier: GPL-2.0
/*
 * Stacks that are walked where the sample is taken: callchains of events that know
 * nothing of deferral, of a program without frame pointers.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "unwind_test.h"

#define DEEPEST		100
/*
 * Samples until the tables are in memory and their rows known.  No constant: each
 * call of an unrolled loop would have a return address of its own.
 */
static volatile unsigned int warm = 3;

/* The sample of the chain's innermost frame. */
static bool take(struct unwind_perf *perf, const struct chain *chain,
		 struct unwind_record *record)
{
	while (unwind_perf_next(perf, record)) {
		if (unwind_user_part(record) && record->ips[0] == chain->ips[0])
			return true;
	}
	return false;
}

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
		ASSERT_TRUE(take(&perf, &chain, &record)) TH_LOG("depth %u: no sample", depth);
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
	/* Its rows go with it, too. */
	ASSERT_EQ(0, prctl(UNWIND_PR_REMOVE_SFRAME, &region, sizeof(region), 0, 0));
	ASSERT_EQ(0, prctl(UNWIND_PR_ADD_SFRAME, &region, sizeof(region), 0, 0));
	ASSERT_TRUE(unwind_forget_table(&region));
	ASSERT_EQ(0, open_faults(&perf, UNWIND_AT_ONCE));
	chain.last = main_return;

	for (unsigned int i = 0; i < warm; i++) {
		/* The walk that fetches the table takes page faults, too. */
		unwind_perf_drain(&perf);
		chain_run(&chain, 5);
		ASSERT_TRUE(take(&perf, &chain, &record));
		/* The first may be the one that finds it missing. */
		if (i)
			EXPECT_TRUE(chain_matches(&chain, &record));
	}
	unwind_perf_close(&perf);
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
	ASSERT_TRUE(take(&perf, &chain, &record));
	EXPECT_TRUE(chain_matches(&chain, &record));
	unwind_perf_close(&perf);
}

TEST_HARNESS_MAIN
