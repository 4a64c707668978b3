// SPDX-License-Identifier: GPL-2.0
/*
 * Test bpf_stack_map_copy(), by which programs read stored stacks and may filter by a
 * frame.
 */
#include <test_progs.h>
#include "stack_map_kfunc.skel.h"
#include "stack_map_lib.h"
#include "stack_map_take.skel.h"

#define DEPTH	20

static struct stack_map_kfunc *skel;
static uint64_t ips[DEPTH];

/* Run the program once, on a stack of @depth frames. */
static bool call(unsigned int depth)
{
	uint64_t before = skel->bss->runs;

	stacks_call(0, ips, depth, 0);
	return ASSERT_EQ(skel->bss->runs, before + 1, "runs");
}

static void test_copy(void)
{
	unsigned int nonzero = 0;

	if (!call(DEPTH) || !ASSERT_GE(skel->bss->id, 0, "id"))
		return;
	ASSERT_EQ(skel->bss->whole, DEPTH * sizeof(uint64_t), "whole");
	ASSERT_OK(memcmp(&skel->bss->copy[1], &ips[1], (DEPTH - 1) * sizeof(uint64_t)), "copy");
	/* A small buffer gets the frames that fit, and the return value is the full size. */
	ASSERT_EQ(skel->bss->part, DEPTH * sizeof(uint64_t), "part");
	ASSERT_EQ(skel->bss->first[0], skel->bss->copy[0], "first");
	/* The rest of the buffer after a shorter stack must be zeroed. */
	if (!call(5))
		return;
	ASSERT_EQ(skel->bss->whole, 5 * sizeof(uint64_t), "shorter");
	for (unsigned int i = 5; i <= KFUNC_DEPTH; i++)
		nonzero += !!skel->bss->copy[i];
	ASSERT_EQ(nonzero, 0, "zeroed");
}

static void test_one_frame_decides(void)
{
	skel->bss->wanted = ips[11];
	if (!call(DEPTH))
		return;
	ASSERT_EQ(skel->bss->matches, 1, "has_it");
	if (call(11))
		ASSERT_EQ(skel->bss->matches, 1, "has_it_not");
}

static void test_deleted_id(void)
{
	uint32_t key;

	if (!call(DEPTH))
		return;
	key = skel->bss->id;
	if (!ASSERT_OK(bpf_map_delete_elem(bpf_map__fd(skel->maps.stacks), &key), "delete"))
		return;
	skel->data->wanted_id = key;
	/* The deleted stack is stored again under another id. */
	if (!call(DEPTH))
		return;
	ASSERT_EQ(skel->bss->whole, -ENOENT, "whole");
	ASSERT_EQ(skel->bss->part, -ENOENT, "part");
}

static void test_arguments(void)
{
	if (!call(DEPTH))
		return;
	ASSERT_EQ(skel->bss->odd, -EINVAL, "size");
	ASSERT_EQ(skel->bss->other_map, -EINVAL, "map");
}

static void run(const char *name, void (*test)(void))
{
	if (!test__start_subtest(name))
		return;
	skel = stack_map_kfunc__open();
	if (!ASSERT_OK_PTR(skel, "open"))
		return;
	skel->rodata->tgid = getpid();
	if (ASSERT_OK(stack_map_kfunc__load(skel), "load") &&
	    ASSERT_OK(stack_map_kfunc__attach(skel), "attach"))
		test();
	stack_map_kfunc__destroy(skel);
}

void test_stack_map_kfunc(void)
{
	stacks_fill(ips, 7, DEPTH);
	run("copy", test_copy);
	run("one_frame_decides", test_one_frame_decides);
	run("deleted_id", test_deleted_id);
	run("arguments", test_arguments);
}
