// SPDX-License-Identifier: GPL-2.0
/* What the map says of itself in fdinfo: everything stored, found and lost. */
#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "map_lib.h"
#include "map_take.skel.h"

#define USER	BPF_F_USER_STACK

/* A line of fdinfo; -1 when it is not there. */
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

FIXTURE(counters)
{
	struct stacks stacks;
};

FIXTURE_SETUP(counters)
{
	ASSERT_EQ(0, stacks_open(&self->stacks, 64, 16, 0, 0));
}

FIXTURE_TEARDOWN(counters)
{
	if (self->stacks.skel)
		stacks_close(&self->stacks);
}

TEST_F(counters, stored_and_hit)
{
	for (uint32_t i = 0; i < 40; i++)
		ASSERT_LE(0, stacks_take(&self->stacks, 0, i, 10, USER));
	EXPECT_EQ(40, counter(&self->stacks, "stacks"));
	EXPECT_EQ(40, counter(&self->stacks, "stacks_stored"));
	EXPECT_EQ(0, counter(&self->stacks, "stacks_hit"));
	for (uint32_t i = 0; i < 40; i++)
		ASSERT_LE(0, stacks_take(&self->stacks, 0, i, 10, USER));
	EXPECT_EQ(40, counter(&self->stacks, "stacks_stored"));
	EXPECT_EQ(40, counter(&self->stacks, "stacks_hit"));
	EXPECT_EQ(0, counter(&self->stacks, "stacks_lost_full"));
	EXPECT_EQ(0, counter(&self->stacks, "stacks_lost_nomem"));
}

TEST_F(counters, deleted)
{
	long id = stacks_take(&self->stacks, 0, 1, 10, USER);
	uint32_t key = id;

	ASSERT_LE(0, id);
	ASSERT_EQ(0, bpf_map_delete_elem(self->stacks.fd, &key));
	EXPECT_EQ(-ENOENT, bpf_map_delete_elem(self->stacks.fd, &key));
	EXPECT_EQ(0, counter(&self->stacks, "stacks"));
	EXPECT_EQ(1, counter(&self->stacks, "stacks_deleted"));
}

TEST_F(counters, lost_when_full)
{
	for (uint32_t i = 0; i < 64; i++)
		ASSERT_LE(0, stacks_take(&self->stacks, 0, i, 10, USER));
	for (uint32_t i = 64; i < 100; i++)
		ASSERT_EQ(-ENOMEM, stacks_take(&self->stacks, 0, i, 10, USER));
	EXPECT_EQ(64, counter(&self->stacks, "stacks"));
	EXPECT_EQ(36, counter(&self->stacks, "stacks_lost_full"));
}

TEST_F(counters, evicted_by_reuse)
{
	for (uint32_t i = 0; i < 100; i++)
		ASSERT_LE(0, stacks_take(&self->stacks, 0, i, 10,
					 USER | BPF_F_REUSE_STACKID));
	EXPECT_EQ(64, counter(&self->stacks, "stacks"));
	EXPECT_EQ(36, counter(&self->stacks, "stacks_evicted"));
	EXPECT_EQ(0, counter(&self->stacks, "stacks_lost_full"));
}

/* Each time that a stack was longer than the value. */
TEST_F(counters, truncated)
{
	ASSERT_LE(0, stacks_take(&self->stacks, 0, 1, 16, USER));
	EXPECT_EQ(0, counter(&self->stacks, "stacks_truncated"));
	ASSERT_LE(0, stacks_take(&self->stacks, 0, 2, 17, USER));
	EXPECT_EQ(1, counter(&self->stacks, "stacks_truncated"));
	ASSERT_LE(0, stacks_take(&self->stacks, 0, 3, 60, USER));
	EXPECT_EQ(2, counter(&self->stacks, "stacks_truncated"));
}

/* What was refused is not counted as lost, nor is what was never there. */
TEST_F(counters, errors_are_not_losses)
{
	EXPECT_EQ(-EINVAL, stacks_take(&self->stacks, 0, 1, 10, USER | 1 << 20));
	EXPECT_EQ(-EFAULT, stacks_take(&self->stacks, 0, 1, 10, USER | 200));
	EXPECT_EQ(0, counter(&self->stacks, "stacks"));
	EXPECT_EQ(0, counter(&self->stacks, "stacks_lost_full"));
	EXPECT_EQ(0, counter(&self->stacks, "stacks_lost_nomem"));
	EXPECT_EQ(0, counter(&self->stacks, "stacks_lost_nested"));
}

/* What the programs were refused is what the map counts. */
TEST_F(counters, losses_are_what_programs_saw)
{
	unsigned int lost = 0;

	for (uint32_t i = 0; i < 500; i++)
		lost += stacks_take(&self->stacks, 0, i, 10, USER) < 0;
	EXPECT_EQ(lost, counter(&self->stacks, "stacks_lost_full") +
			counter(&self->stacks, "stacks_lost_nomem") +
			counter(&self->stacks, "stacks_lost_nested"));
}

TEST_HARNESS_MAIN
