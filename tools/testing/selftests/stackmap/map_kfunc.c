// SPDX-License-Identifier: GPL-2.0
/* bpf_stack_map_copy(): programs read stored stacks, and may filter by a frame. */
#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "map_kfunc.h"
#include "map_kfunc.skel.h"
#include "map_lib.h"

#define DEPTH	20

FIXTURE(kfunc)
{
	struct map_kfunc_bpf *skel;
	struct map_kfunc_bpf__bss *bss;
	uint64_t ips[DEPTH];
};

FIXTURE_SETUP(kfunc)
{
	if (access("/sys/kernel/btf/vmlinux", R_OK))
		SKIP(return, "the kernel has no BTF");
	self->skel = map_kfunc_bpf__open();
	ASSERT_NE(NULL, self->skel);
	self->skel->rodata->tgid = getpid();
	ASSERT_EQ(0, map_kfunc_bpf__load(self->skel));
	ASSERT_EQ(0, map_kfunc_bpf__attach(self->skel));
	self->bss = self->skel->bss;
	stacks_fill(self->ips, 7, DEPTH);
}

FIXTURE_TEARDOWN(kfunc)
{
	map_kfunc_bpf__destroy(self->skel);
}

/* A stack of @depth frames, with the program's runs before. */
#define CALL(depth)							\
	do {								\
		uint64_t before = self->bss->runs;			\
									\
		stacks_call(0, self->ips, depth, 0);			\
		ASSERT_EQ(before + 1, self->bss->runs);			\
	} while (0)

TEST_F(kfunc, copies_what_was_stored)
{
	CALL(DEPTH);
	ASSERT_LE(0, self->bss->id);
	EXPECT_EQ(DEPTH * sizeof(uint64_t), self->bss->whole);
	EXPECT_EQ(0, memcmp(&self->bss->copy[1], &self->ips[1],
			    (DEPTH - 1) * sizeof(uint64_t)));
}

/* What was there before does not show behind a shorter stack. */
TEST_F(kfunc, rest_is_zeroed)
{
	CALL(DEPTH);
	CALL(5);
	EXPECT_EQ(5 * sizeof(uint64_t), self->bss->whole);
	for (unsigned int i = 5; i <= KFUNC_DEPTH; i++)
		EXPECT_EQ(0, self->bss->copy[i]);
}

TEST_F(kfunc, small_buffer_says_how_much_there_is)
{
	CALL(DEPTH);
	EXPECT_EQ(DEPTH * sizeof(uint64_t), self->bss->part);
	EXPECT_EQ(self->bss->copy[0], self->bss->first[0]);
}

TEST_F(kfunc, one_frame_decides)
{
	self->bss->wanted = self->ips[11];
	CALL(DEPTH);
	EXPECT_EQ(1, self->bss->matches);
	/* Not in this one */
	CALL(11);
	EXPECT_EQ(1, self->bss->matches);
}

TEST_F(kfunc, deleted_id_enoent)
{
	uint32_t key;

	CALL(DEPTH);
	key = self->bss->id;
	ASSERT_EQ(0, bpf_map_delete_elem(bpf_map__fd(self->skel->maps.stacks), &key));
	self->skel->data->wanted_id = key;
	/* The same stack is stored again, under another id. */
	CALL(DEPTH);
	EXPECT_EQ(-ENOENT, self->bss->whole);
	EXPECT_EQ(-ENOENT, self->bss->part);
}

TEST_F(kfunc, size_and_map_einval)
{
	CALL(DEPTH);
	EXPECT_EQ(-EINVAL, self->bss->odd);
	EXPECT_EQ(-EINVAL, self->bss->other_map);
}

TEST_HARNESS_MAIN
