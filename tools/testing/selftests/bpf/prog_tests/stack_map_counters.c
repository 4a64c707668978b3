// SPDX-License-Identifier: GPL-2.0
/* Test the counters in a stack map's fdinfo: each stack that was stored, found or lost. */
#include <test_progs.h>
#include "stack_map_lib.h"
#include "stack_map_take.skel.h"

#define USER	BPF_F_USER_STACK

/* Value of the line @name in fdinfo, or -1 if there is none. */
static long long counter(const struct stacks *stacks, const char *name)
{
	long long value = -1;
	char path[64], line[256];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", stacks->fd);
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file)) {
		if (!strncmp(line, name, strlen(name)) && line[strlen(name)] == ':')
			value = atoll(line + strlen(name) + 1);
	}
	if (file)
		fclose(file);
	return value;
}

/* Take the stacks from @first to @end - 1, and return how many ended in @result. */
static unsigned int take(struct stacks *stacks, uint32_t first, uint32_t end, uint64_t flags,
			 long result)
{
	unsigned int nr = 0;

	for (uint32_t i = first; i < end; i++) {
		long id = stacks_take(stacks, 0, i, 10, USER | flags);

		nr += (id < 0 ? id : 0) == result;
	}
	return nr;
}

static void test_stored_and_hit(struct stacks *stacks)
{
	ASSERT_EQ(take(stacks, 0, 40, 0, 0), 40, "take");
	ASSERT_EQ(counter(stacks, "stacks"), 40, "stacks");
	ASSERT_EQ(counter(stacks, "stacks_stored"), 40, "stored");
	ASSERT_EQ(counter(stacks, "stacks_hit"), 0, "hit");
	ASSERT_EQ(take(stacks, 0, 40, 0, 0), 40, "take_again");
	ASSERT_EQ(counter(stacks, "stacks_stored"), 40, "stored_again");
	ASSERT_EQ(counter(stacks, "stacks_hit"), 40, "hit_again");
	ASSERT_EQ(counter(stacks, "stacks_lost_full"), 0, "lost_full");
	ASSERT_EQ(counter(stacks, "stacks_lost_nomem"), 0, "lost_nomem");
}

static void test_deleted(struct stacks *stacks)
{
	long id = stacks_take(stacks, 0, 1, 10, USER);
	uint32_t key = id;

	if (!ASSERT_GE(id, 0, "take") ||
	    !ASSERT_OK(bpf_map_delete_elem(stacks->fd, &key), "delete"))
		return;
	ASSERT_EQ(bpf_map_delete_elem(stacks->fd, &key), -ENOENT, "delete_again");
	ASSERT_EQ(counter(stacks, "stacks"), 0, "stacks");
	ASSERT_EQ(counter(stacks, "stacks_deleted"), 1, "deleted");
}

static void test_evicted(struct stacks *stacks)
{
	ASSERT_EQ(take(stacks, 0, 100, BPF_F_REUSE_STACKID, 0), 100, "take");
	ASSERT_EQ(counter(stacks, "stacks"), 64, "stacks");
	ASSERT_EQ(counter(stacks, "stacks_evicted"), 36, "evicted");
	ASSERT_EQ(counter(stacks, "stacks_lost_full"), 0, "lost_full");
}

/* The map must count each stack that is deeper than the value. */
static void test_truncated(struct stacks *stacks)
{
	ASSERT_GE(stacks_take(stacks, 0, 1, 16, USER), 0, "fits");
	ASSERT_EQ(counter(stacks, "stacks_truncated"), 0, "none");
	ASSERT_GE(stacks_take(stacks, 0, 2, 17, USER), 0, "one_more");
	ASSERT_EQ(counter(stacks, "stacks_truncated"), 1, "one");
	ASSERT_GE(stacks_take(stacks, 0, 3, 60, USER), 0, "many_more");
	ASSERT_EQ(counter(stacks, "stacks_truncated"), 2, "two");
}

static void test_lost_when_full(struct stacks *stacks)
{
	ASSERT_EQ(take(stacks, 0, 64, 0, 0), 64, "take");
	ASSERT_EQ(take(stacks, 64, 100, 0, -ENOMEM), 36, "refused");
	ASSERT_EQ(counter(stacks, "stacks"), 64, "stacks");
	ASSERT_EQ(counter(stacks, "stacks_lost_full"), 36, "lost_full");
}

/* The map must not count errors and stacks without frames as losses. */
static void test_errors(struct stacks *stacks)
{
	ASSERT_EQ(stacks_take(stacks, 0, 1, 10, USER | 1 << 20), -EINVAL, "bad_flag");
	ASSERT_EQ(stacks_take(stacks, 0, 1, 10, USER | 200), -EFAULT, "skips_all");
	ASSERT_EQ(counter(stacks, "stacks"), 0, "stacks");
	ASSERT_EQ(counter(stacks, "stacks_lost_full"), 0, "lost_full");
	ASSERT_EQ(counter(stacks, "stacks_lost_nomem"), 0, "lost_nomem");
	ASSERT_EQ(counter(stacks, "stacks_lost_nested"), 0, "lost_nested");
}

/* The map must count as many losses as the program saw. */
static void test_program_sees_losses(struct stacks *stacks)
{
	unsigned int lost = 500 - take(stacks, 0, 500, 0, 0);

	ASSERT_EQ(counter(stacks, "stacks_lost_full") + counter(stacks, "stacks_lost_nomem") +
		  counter(stacks, "stacks_lost_nested"), lost, "lost");
}

static void run(const char *name, void (*test)(struct stacks *stacks))
{
	struct stacks stacks;

	if (!test__start_subtest(name) ||
	    !ASSERT_OK(stacks_open(&stacks, 64, 16, 0, 0), "open"))
		return;
	test(&stacks);
	stacks_close(&stacks);
}

void test_stack_map_counters(void)
{
	run("stored_and_hit", test_stored_and_hit);
	run("deleted", test_deleted);
	run("evicted", test_evicted);
	run("truncated", test_truncated);
	run("lost_when_full", test_lost_when_full);
	run("errors", test_errors);
	run("program_sees_losses", test_program_sees_losses);
}
