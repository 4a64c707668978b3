// SPDX-License-Identifier: GPL-2.0
/*
 * Tests the states of deferred walks, and which tasks may request one.  The walks themselves
 * need a task that returns to user space: tools/testing/selftests/unwind tests them.
 */

#include <kunit/test.h>

#include <linux/completion.h>
#include <linux/kthread.h>
#include <linux/mman.h>
#include <linux/perf_event.h>
#include <linux/sched/task_stack.h>
#include <linux/uaccess.h>
#include <linux/unwind_deferred.h>

#include "../deferred_state.h"

#define SEQUENCE(n)	((u64)(n) << UNWIND_SEQUENCE_SHIFT)

static void unwind_state_first_request_queues_the_work(struct kunit *test)
{
	u64 state = SEQUENCE(7), seen;

	KUNIT_EXPECT_EQ(test, unwind_state_request(&state, 3, &seen), 0);
	KUNIT_EXPECT_EQ(test, seen, SEQUENCE(7));
	KUNIT_EXPECT_EQ(test, state, SEQUENCE(7) | UNWIND_QUEUED | BIT(3));
}

static void unwind_state_later_requests_share_the_work(struct kunit *test)
{
	u64 state = 0, seen;

	unwind_state_request(&state, 3, &seen);
	KUNIT_EXPECT_EQ(test, unwind_state_request(&state, 3, &seen), 1);
	KUNIT_EXPECT_TRUE(test, seen & UNWIND_QUEUED);
	KUNIT_EXPECT_EQ(test, unwind_state_request(&state, 14, &seen), 0);
	KUNIT_EXPECT_TRUE(test, seen & UNWIND_QUEUED);
	KUNIT_EXPECT_EQ(test, state, UNWIND_QUEUED | BIT(3) | BIT(14));
}

static void unwind_state_serves_each_client_once_an_entry(struct kunit *test)
{
	u64 state = SEQUENCE(1), seen;

	unwind_state_request(&state, 0, &seen);
	unwind_state_clear(&state, UNWIND_QUEUED);
	KUNIT_EXPECT_FALSE(test, unwind_state_claim(&state, 1));
	KUNIT_EXPECT_TRUE(test, unwind_state_claim(&state, 0));
	KUNIT_EXPECT_FALSE(test, unwind_state_claim(&state, 0));
	KUNIT_EXPECT_EQ(test, unwind_state_request(&state, 0, &seen), -EALREADY);
	/* Another client may still make a request, which has the work queued again. */
	KUNIT_EXPECT_EQ(test, unwind_state_request(&state, 1, &seen), 0);
	KUNIT_EXPECT_FALSE(test, seen & UNWIND_QUEUED);
}

static void unwind_state_leaving_starts_the_next_sequence(struct kunit *test)
{
	u64 state = SEQUENCE(U32_MAX), seen;

	unwind_state_request(&state, 0, &seen);
	unwind_state_clear(&state, UNWIND_QUEUED);
	unwind_state_claim(&state, 0);
	unwind_state_next(&state);
	/* The sequence wraps to 0 and does not carry into other bits. */
	KUNIT_EXPECT_EQ(test, state, 0);
	KUNIT_EXPECT_EQ(test, unwind_state_request(&state, 0, &seen), 0);
}

/* Before a signal handler runs, requests are served early while the work stays queued. */
static void unwind_state_next_sequence_may_have_work_queued(struct kunit *test)
{
	u64 state = SEQUENCE(1), seen;

	unwind_state_request(&state, 0, &seen);
	unwind_state_claim(&state, 0);
	unwind_state_next(&state);
	KUNIT_EXPECT_EQ(test, state, SEQUENCE(2) | UNWIND_QUEUED);
	KUNIT_EXPECT_EQ(test, unwind_state_request(&state, 0, &seen), 0);
	KUNIT_EXPECT_TRUE(test, seen & UNWIND_QUEUED);
}

static void unwind_state_leaving_keeps_what_is_due(struct kunit *test)
{
	u64 state = SEQUENCE(5), seen, before;

	/* An NMI makes a request after the task work ran. */
	unwind_state_request(&state, 0, &seen);
	before = state;
	unwind_state_next(&state);
	KUNIT_EXPECT_EQ(test, state, before);
	/* The work runs but has not claimed the request yet. */
	unwind_state_clear(&state, UNWIND_QUEUED);
	before = state;
	unwind_state_next(&state);
	KUNIT_EXPECT_EQ(test, state, before);
}

static void unwind_state_exiting_task_takes_no_request(struct kunit *test)
{
	u64 state = 0, seen;

	unwind_state_request(&state, 0, &seen);
	unwind_state_kill(&state);
	KUNIT_EXPECT_EQ(test, unwind_state_request(&state, 1, &seen), -ESRCH);
	/* The earlier request is still due. */
	KUNIT_EXPECT_TRUE(test, unwind_state_claim(&state, 0));
}

/*
 * One thread makes requests as fast as it can, like NMIs.  The test thread does what the task
 * does.  Each accepted request has to be delivered, and only once per sequence.
 */
struct unwind_race {
	u64			state;
	unsigned long		taken;
	struct completion	done;
};

#define RACE_ROUNDS	200000

static int unwind_race_requester(void *data)
{
	struct unwind_race *race = data;
	u64 seen;
	int i;

	for (i = 0; i < RACE_ROUNDS; i++)
		if (!unwind_state_request(&race->state, 0, &seen))
			race->taken++;
	complete(&race->done);
	return 0;
}

static void unwind_state_survives_concurrent_requests(struct kunit *test)
{
	struct unwind_race *race = kunit_kzalloc(test, sizeof(*race), GFP_KERNEL);
	unsigned long delivered = 0, entries = 0;
	struct task_struct *thread;
	u32 last = 0;
	bool done;

	KUNIT_ASSERT_NOT_NULL(test, race);
	init_completion(&race->done);
	thread = kthread_run(unwind_race_requester, race, "unwind_race");
	KUNIT_ASSERT_FALSE(test, IS_ERR(thread));

	do {
		u32 sequence;

		done = try_wait_for_completion(&race->done);
		unwind_state_clear(&race->state, UNWIND_QUEUED);
		if (unwind_state_claim(&race->state, 0))
			delivered++;
		unwind_state_next(&race->state);
		sequence = READ_ONCE(race->state) >> UNWIND_SEQUENCE_SHIFT;
		if (sequence != last)
			entries++;
		last = sequence;
		cond_resched();
	} while (!done);
	/* The requester has ended; its last request may still be due. */
	unwind_state_clear(&race->state, UNWIND_QUEUED);
	if (unwind_state_claim(&race->state, 0))
		delivered++;

	KUNIT_EXPECT_EQ(test, delivered, race->taken);
	KUNIT_EXPECT_GT(test, delivered, 0);
	KUNIT_EXPECT_GE(test, entries + 1, delivered);
}

#define WITHOUT_MM_FRAMES	4

/* An exiting task has no mm any more, but its user registers are still there. */
static void unwind_user_without_mm_finds_no_stack(struct kunit *test)
{
	struct pt_regs regs = { .ip = 0x1234, .sp = 0x8000, .bp = 0x8000, .cs = __USER_CS };
	u64 ip;
	struct unwind_user_trace trace = { .entries = &ip, .max = 1 };
	struct perf_callchain_entry_ctx callchain = { .max_stack = WITHOUT_MM_FRAMES };

	KUNIT_ASSERT_NULL(test, current->mm);
	KUNIT_EXPECT_FALSE(test, unwind_user_has_tables());
	/* There is nothing to look at. */
	unwind_user_look_later(&regs);
	KUNIT_EXPECT_EQ(test, current->unwind.state & (UNWIND_REQUESTED | UNWIND_QUEUED), 0);
	unwind_user(&trace, &regs, UNWIND_USER_RESIDENT);
	KUNIT_EXPECT_EQ(test, trace.nr, 0);
	KUNIT_EXPECT_EQ(test, trace.end, UNWIND_USER_NO_STACK);

	/* bpf_get_task_stack() has perf walk by the registers of such a task. */
	callchain.entry = kunit_kzalloc(test, struct_size(callchain.entry, ip, WITHOUT_MM_FRAMES),
					GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, callchain.entry);
	scoped_guard(preempt) {
		guard(rcu)();
		perf_callchain_user(&callchain, &regs);
	}
	KUNIT_EXPECT_EQ(test, callchain.entry->nr, 1);
	KUNIT_EXPECT_EQ(test, callchain.entry->ip[0], 0x1234);
}

#define WALK_FRAMES	40
#define FEW_FRAMES	8

/* A client whose callback makes a request for another client */
struct unwind_nested {
	struct unwind_client	client;
	struct unwind_nested	*requests;
	unsigned int		calls;
	unsigned int		nr;
	enum unwind_user_end	end;
};

static void unwind_nested_callback(struct unwind_client *client,
				   const struct unwind_user_trace *trace, u64 cookie)
{
	struct unwind_nested *nested = container_of(client, struct unwind_nested, client);
	u64 seen;

	nested->calls++;
	nested->nr = trace->nr;
	nested->end = trace->end;
	if (nested->requests)
		unwind_state_request(&current->unwind.state,
				     nested->requests->client.slot, &seen);
}

static unsigned long unwind_test_map(struct kunit *test, unsigned long prot)
{
	unsigned long page = kunit_vm_mmap(test, NULL, 0, PAGE_SIZE, prot,
					   MAP_PRIVATE | MAP_ANONYMOUS, 0);

	KUNIT_ASSERT_NE(test, page, 0);
	KUNIT_ASSERT_FALSE(test, IS_ERR_VALUE(page));
	return page;
}

/*
 * Gives the thread user registers, a stack of WALK_FRAMES frames that keep a frame pointer,
 * and code that consists of calls.
 */
static void unwind_make_user_stack(struct kunit *test, struct pt_regs *regs)
{
	unsigned long code = unwind_test_map(test, PROT_READ | PROT_WRITE | PROT_EXEC);
	unsigned long stack = unwind_test_map(test, PROT_READ | PROT_WRITE);
	static const u8 call[8] = { 0, 0, 0, 0, 0, 0, 0xff, 0xd0 };
	unsigned int i;

	for (i = 0; i < WALK_FRAMES - 1; i++) {
		bool last = i == WALK_FRAMES - 2;
		u64 frame[2] = {
			last ? 0 : stack + (i + 1) * sizeof(frame),
			code + (i + 1) * sizeof(call),
		};

		KUNIT_ASSERT_EQ(test, copy_to_user((void __user *)stack + i * sizeof(frame),
						   frame, sizeof(frame)), 0);
		KUNIT_ASSERT_EQ(test, copy_to_user((void __user *)code + i * sizeof(call),
						   call, sizeof(call)), 0);
	}
	*regs = (struct pt_regs){
		.ip = 0x1234,
		.sp = stack,
		.bp = stack,
		.cs = __USER_CS,
	};
}

/* Clients can never be unregistered, so all tests share these. */
static struct unwind_nested unwind_late = {
	.client.callback = unwind_nested_callback,
	.client.max_entries = WALK_FRAMES + 1,
};

static struct unwind_nested unwind_first = {
	.client.callback = unwind_nested_callback,
	.client.max_entries = FEW_FRAMES,
	.requests = &unwind_late,
};

static int unwind_register_clients(struct kunit_suite *suite)
{
	static bool registered;
	int ret = 0;

	/* debugfs can run the suite again. */
	if (!registered)
		ret = unwind_client_register(&unwind_first.client) ?:
		      unwind_client_register(&unwind_late.client);
	registered = true;
	return ret;
}

static void unwind_request_is_refused_to_kernel_threads(struct kunit *test)
{
	u64 cookie;

	KUNIT_EXPECT_EQ(test, unwind_deferred_request(&unwind_first.client, &cookie), -EINVAL);
}

/*
 * The first client has received its stack when a second client makes a request.  The second
 * wants more frames than the first walk had room for.
 */
static void unwind_late_request_for_more_frames_gets_them(struct kunit *test)
{
	struct unwind_nested *late = &unwind_late, *first = &unwind_first;
	struct pt_regs *regs = task_pt_regs(current), saved = *regs;
	u64 *state = &current->unwind.state, seen;

	first->calls = 0;
	late->calls = 0;
	unwind_make_user_stack(test, regs);
	KUNIT_EXPECT_EQ(test, unwind_state_request(state, first->client.slot, &seen), 0);
	__unwind_deferred_exec();
	*regs = saved;
	KUNIT_EXPECT_EQ(test, first->calls, 1);
	KUNIT_EXPECT_EQ(test, first->nr, FEW_FRAMES);
	KUNIT_EXPECT_EQ(test, first->end, UNWIND_USER_FULL);
	KUNIT_EXPECT_EQ(test, late->calls, 1);
	KUNIT_EXPECT_EQ(test, late->nr, WALK_FRAMES);
	KUNIT_EXPECT_EQ(test, late->end, UNWIND_USER_COMPLETE);
	/* The test has queued no work that would clear these bits. */
	unwind_state_clear(state, UNWIND_REQUESTED | UNWIND_QUEUED);
}

static struct kunit_case unwind_deferred_cases[] = {
	KUNIT_CASE(unwind_state_first_request_queues_the_work),
	KUNIT_CASE(unwind_state_later_requests_share_the_work),
	KUNIT_CASE(unwind_state_serves_each_client_once_an_entry),
	KUNIT_CASE(unwind_state_leaving_starts_the_next_sequence),
	KUNIT_CASE(unwind_state_next_sequence_may_have_work_queued),
	KUNIT_CASE(unwind_state_leaving_keeps_what_is_due),
	KUNIT_CASE(unwind_state_exiting_task_takes_no_request),
	KUNIT_CASE(unwind_state_survives_concurrent_requests),
	KUNIT_CASE(unwind_request_is_refused_to_kernel_threads),
	KUNIT_CASE(unwind_user_without_mm_finds_no_stack),
	KUNIT_CASE(unwind_late_request_for_more_frames_gets_them),
	{}
};

static struct kunit_suite unwind_deferred_suite = {
	.name = "unwind_deferred",
	.suite_init = unwind_register_clients,
	.test_cases = unwind_deferred_cases,
};

kunit_test_suite(unwind_deferred_suite);

MODULE_DESCRIPTION("KUnit tests of deferred user stacks");
MODULE_LICENSE("GPL");
