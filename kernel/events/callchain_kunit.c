// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests for the callchain entries of a CPU: which ones users get, and until when.
 */
#include <kunit/test.h>
#include <linux/perf_callchain.h>
#include <linux/perf_event.h>

#include "internal.h"

/* Entries that task context can have at once: the others are for what interrupts it. */
#define TASK_ENTRIES	5

/* Take an entry without walking. */
static const struct perf_callchain_entry *callchain_test_hold(void)
{
	struct pt_regs regs = {};

	return __perf_callchain_hold(&regs, false, false, 1, false, false);
}

static void callchain_is_held_until_it_is_released(struct kunit *test)
{
	const struct perf_callchain_entry *first, *second, *again;
	int mark, after;

	scoped_guard(preempt) {
		guard(rcu)();
		mark = perf_callchain_mark();
		first = callchain_test_hold();
		second = callchain_test_hold();
		perf_callchain_release(mark);
		again = callchain_test_hold();
		perf_callchain_release(mark);
		after = perf_callchain_mark();
	}
	KUNIT_EXPECT_NOT_NULL(test, first);
	KUNIT_EXPECT_NOT_NULL(test, second);
	KUNIT_EXPECT_PTR_NE(test, first, second);
	KUNIT_EXPECT_PTR_EQ(test, first, again);
	KUNIT_EXPECT_EQ(test, mark, after);
}

/* As of the drivers of PEBS and IBS, which walk before perf begins to work on the sample */
static void callchain_of_a_driver_is_taken_again(struct kunit *test)
{
	const struct perf_callchain_entry *drivers, *next, *other;
	int mark;

	scoped_guard(preempt) {
		guard(rcu)();
		mark = perf_callchain_mark();
		drivers = callchain_test_hold();
		perf_callchain_release(mark);
		perf_callchain_take(drivers);
		next = callchain_test_hold();
		perf_callchain_release(mark);
		/* This one is not what the CPU gives next. */
		perf_callchain_take(next);
		other = callchain_test_hold();
		perf_callchain_release(mark);
	}
	KUNIT_EXPECT_NOT_NULL(test, drivers);
	KUNIT_EXPECT_NOT_NULL(test, next);
	KUNIT_EXPECT_PTR_NE(test, drivers, next);
	KUNIT_EXPECT_PTR_EQ(test, drivers, other);
}

static void callchains_leave_entries_to_interrupts(struct kunit *test)
{
	unsigned int nr = 0;
	int mark;

	scoped_guard(preempt) {
		guard(rcu)();
		mark = perf_callchain_mark();
		while (nr <= TASK_ENTRIES && callchain_test_hold())
			nr++;
		perf_callchain_release(mark);
	}
	KUNIT_EXPECT_EQ(test, nr, TASK_ENTRIES);
}

static void callchain_test_exit(void *unused)
{
	put_callchain_buffers();
}

static int callchain_test_init(struct kunit *test)
{
	int err = get_callchain_buffers(sysctl_perf_event_max_stack);

	return err ?: kunit_add_action_or_reset(test, callchain_test_exit, NULL);
}

static struct kunit_case callchain_cases[] = {
	KUNIT_CASE(callchain_is_held_until_it_is_released),
	KUNIT_CASE(callchain_of_a_driver_is_taken_again),
	KUNIT_CASE(callchains_leave_entries_to_interrupts),
	{}
};

static struct kunit_suite callchain_suite = {
	.name = "perf_callchain",
	.init = callchain_test_init,
	.test_cases = callchain_cases,
};

kunit_test_suite(callchain_suite);
