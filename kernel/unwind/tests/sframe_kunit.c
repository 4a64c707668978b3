// SPDX-License-Identifier: GPL-2.0
/*
 * Tests the tables of a process and walks that use them.
 */

#include <linux/kthread.h>
#include <linux/sched/mm.h>

#include "walk_kunit.h"

static void sframe_walk_follows_rows_to_the_outermost_frame(struct kunit *test)
{
	struct sframe_test *t = test->priv;
	u64 stack[] = { t->text + MIDDLE + 4, 0x1111, t->text + OUTERMOST + 2 };
	DEFINE_TRACE(trace);

	sframe_test_register(test);
	sframe_test_write(test, t->stack, stack, sizeof(stack));
	sframe_test_walk(test, &trace, LEAF, 0, -1);
	sframe_test_expect(test, &trace, UNWIND_USER_COMPLETE, 3,
			   (u64[]){ LEAF, MIDDLE + 4, OUTERMOST + 2 });
}

/* A call that does not return may be the last instruction of its function. */
static void sframe_walk_looks_callers_up_at_the_call(struct kunit *test)
{
	struct sframe_test *t = test->priv;
	/* The return address is the first byte of OUTERMOST's function. */
	u64 stack[] = { t->text + 0x30, 0x1111, t->text + OUTERMOST + 2 };
	DEFINE_TRACE(trace);

	sframe_test_register(test);
	sframe_test_write(test, t->stack, stack, sizeof(stack));
	sframe_test_walk(test, &trace, LEAF, 0, -1);
	sframe_test_expect(test, &trace, UNWIND_USER_COMPLETE, 3,
			   (u64[]){ LEAF, 0x30, OUTERMOST + 2 });
}

static void sframe_walk_follows_a_signal_frame(struct kunit *test)
{
	struct sframe_test *t = test->priv;
	u64 handler[] = { t->text + TRAMPOLINE };
	u64 interrupted[] = { t->text + OUTERMOST + 2 };
	DEFINE_TRACE(trace);

	sframe_test_register(test);
	/* The handler's stack is at 0x800, above the interrupted stack at 0. */
	sframe_test_write(test, t->stack + 0x800, handler, sizeof(handler));
	sframe_test_write_interrupted(test, t->stack + 0x808, t->text + LEAF, t->stack, 0);
	sframe_test_write(test, t->stack, interrupted, sizeof(interrupted));

	sframe_test_walk(test, &trace, LEAF + 8, 0x800, -1);
	/* The interrupted instruction is byte 0 of leaf: its lookup must not subtract 1. */
	sframe_test_expect(test, &trace, UNWIND_USER_COMPLETE, 4,
			   (u64[]){ LEAF + 8, TRAMPOLINE, LEAF, OUTERMOST + 2 });
}

#define REALIGNED	0x20
#define REALIGNED_SET	0x28
#define MARKED		0x30
#define SIGNAL		0x40
#define BY_FP		0x50
#define FP_KEPT		0x70
#define FP_KEPT_SAME	0x78
#define RA_KEPT		0x80

/*
 * Registers a table of version 3 instead of the usual one:
 *
 *	text + 0x00-0x1f	leaf: CFA = SP + 8
 *	text + 0x20-0x2f	realigned: CFA = R10, *(FP - 16) from its byte 8 on
 *	text + 0x30-0x3f	outermost
 *	text + 0x40-0x4f	signal: SP, IP and FP at SP + 16, 8 and 0
 *	text + 0x50-0x57	CFA = FP - 64
 *	text + 0x70-0x7f	CFA = R10, FP = R11, R10 + 0x58 from byte 8 on
 *	text + 0x80-0x8f	CFA = SP, the return address is in R10
 */
static void sframe_test_register_v3(struct kunit *test)
{
	struct sframe_test *t = test->priv;
	struct sframe_build *build = &t->build;

	sframe_build_start(build, SFRAME_VERSION_3);
	sframe_build_function(build, LEAF, 0x20, SFRAME_FRE_ADDR1, 0);
	sframe_build_row(build, 0, false, 1, (s8[]){ 8 });
	sframe_build_function(build, REALIGNED, 0x10, SFRAME_FRE_ADDR1, 0);
	sframe_build_flexible(build);
	sframe_build_row(build, 0, false, 2, (s8[]){ SFRAME_BUILD_REG(10), 0 });
	sframe_build_row(build, 8, false, 5,
			 (s8[]){ SFRAME_BUILD_MEM(6), -16, 0, SFRAME_BUILD_MEM(6), 0 });
	sframe_build_function(build, MARKED, 0x10, SFRAME_FRE_ADDR1, 0);
	sframe_build_function(build, SIGNAL, 0x10,
			      SFRAME_FRE_ADDR1 | SFRAME_V3_FDE_SIGNAL, 0);
	sframe_build_flexible(build);
	sframe_build_row(build, 0, false, 6,
			 (s8[]){ SFRAME_BUILD_MEM(7), 16, SFRAME_BUILD_MEM(7), 8,
				 SFRAME_BUILD_MEM(7), 0 });
	sframe_build_function(build, BY_FP, 8, SFRAME_FRE_ADDR1, 0);
	sframe_build_row(build, 0, true, 1, (s8[]){ -64 });
	sframe_build_function(build, FP_KEPT, 0x10, SFRAME_FRE_ADDR1, 0);
	sframe_build_flexible(build);
	sframe_build_row(build, 0, false, 5,
			 (s8[]){ SFRAME_BUILD_REG(10), 0, 0, SFRAME_BUILD_REG(11), 0 });
	sframe_build_row(build, 8, false, 5,
			 (s8[]){ SFRAME_BUILD_REG(10), 0, 0, SFRAME_BUILD_REG(10), 0x58 });
	sframe_build_function(build, RA_KEPT, 0x10, SFRAME_FRE_ADDR1, 0);
	sframe_build_flexible(build);
	sframe_build_row(build, 0, false, 4,
			 (s8[]){ SFRAME_BUILD_REG(7), 0, SFRAME_BUILD_REG(10), 0 });
	sframe_build_finish(build, t->table, t->text);
	sframe_test_write(test, t->table, build->bytes, build->len);
	t->region.sframe_size = build->len;
	sframe_test_register(test);
}

static void sframe_walk_follows_a_realigned_stack(struct kunit *test)
{
	struct sframe_test *t = test->priv;
	u64 stack[] = {
		/* The return address of leaf, then the realigned frame with FP at 0x20 */
		t->text + REALIGNED_SET + 4, 0x1111,
		t->stack + 0x40, 0x1111,
		0x2222, 0x1111,
		/* The realigned frame has saved 0x40 as its CFA. */
		0x1111, t->text + MARKED + 4,
	};
	DEFINE_TRACE(trace);

	sframe_test_register_v3(test);
	sframe_test_write(test, t->stack, stack, sizeof(stack));
	sframe_test_walk(test, &trace, LEAF, 0, 0x20);
	sframe_test_expect(test, &trace, UNWIND_USER_COMPLETE, 3,
			   (u64[]){ LEAF, REALIGNED_SET + 4, MARKED + 4 });

	/* The realigned function is innermost and has not saved anything yet. */
	t->r10 = t->stack + 0x40;
	sframe_test_walk(test, &trace, REALIGNED, 0x8, -1);
	sframe_test_expect(test, &trace, UNWIND_USER_COMPLETE, 2,
			   (u64[]){ REALIGNED, MARKED + 4 });
}

/* Each kind of row leads to the other; where one contradicts the stack, the walk says why. */
static void sframe_walk_alternates_between_kinds_of_rows(struct kunit *test)
{
	struct sframe_test *t = test->priv;
	u64 stack[] = {
		t->text + REALIGNED_SET + 4, 0x1111,
		/* The first realigned frame, with FP at 0x20 and CFA 0x40 */
		t->stack + 0x40, 0x1111, t->stack + 0x70, 0, 0x1111, t->text + LEAF + 4,
		t->text + LEAF + 8, t->text + REALIGNED_SET + 4, 0x1111, 0x1111,
		/* The second one, with FP at 0x70 and CFA 0x90 */
		t->stack + 0x90, 0x1111, 0x2222, 0x1111, 0x1111, t->text + MARKED + 4,
	};
	const struct {
		u64			cfa;
		enum unwind_user_end	end;
	} wrong[] = {
		{ t->stack + 0x48, UNWIND_USER_CORRUPT },
		{ t->stack + 0x50, UNWIND_USER_CORRUPT },
		{ t->stack + 0x8c, UNWIND_USER_CORRUPT },
		{ -64, UNWIND_USER_CORRUPT },
		{ TASK_SIZE_MAX - 64, UNWIND_USER_FAULT },
	};
	const u64 want[] = {
		LEAF, REALIGNED_SET + 4, LEAF + 4, LEAF + 8, REALIGNED_SET + 4, MARKED + 4,
	};
	const u64 from_realigned[] = {
		REALIGNED_SET, LEAF + 4, LEAF + 8, REALIGNED_SET + 4, MARKED + 4,
	};
	DEFINE_TRACE(trace);
	unsigned int i;

	sframe_test_register_v3(test);
	for (t->access = UNWIND_USER_RESIDENT; t->access <= UNWIND_USER_FAULTABLE; t->access++) {
		stack[12] = t->stack + 0x90;
		sframe_test_write(test, t->stack, stack, sizeof(stack));
		sframe_test_walk(test, &trace, LEAF, 0, 0x20);
		sframe_test_expect(test, &trace, UNWIND_USER_COMPLETE, 6, want);
		sframe_test_walk(test, &trace, REALIGNED_SET, 0x8, 0x20);
		sframe_test_expect(test, &trace, UNWIND_USER_COMPLETE, 5, from_realigned);
		trace.max = 5;
		sframe_test_walk(test, &trace, LEAF, 0, 0x20);
		sframe_test_expect(test, &trace, UNWIND_USER_FULL, 5, want);
		trace.max = ENTRIES;
		for (i = 0; i < ARRAY_SIZE(wrong); i++) {
			stack[12] = wrong[i].cfa;
			sframe_test_write(test, t->stack, stack, sizeof(stack));
			sframe_test_walk(test, &trace, LEAF, 0, 0x20);
			sframe_test_expect(test, &trace, wrong[i].end, 5, want);
		}
	}
}

/* A stack where leaf has returned to a realigned function that keeps its CFA, 0x40, in R10 */
static void sframe_test_call_from_realigned(struct kunit *test)
{
	struct sframe_test *t = test->priv;
	u64 ret = t->text + REALIGNED + 4, outer = t->text + MARKED + 7;

	sframe_test_register_v3(test);
	sframe_test_write(test, t->stack, &ret, sizeof(ret));
	sframe_test_write(test, t->stack + 0x38, &outer, sizeof(outer));
	sframe_test_write_call(test, MARKED + 7, REALIGNED);
	t->r10 = t->stack + 0x40;
}

static void sframe_walk_uses_a_register_that_callees_keep(struct kunit *test)
{
	struct sframe_test *t = test->priv;
	DEFINE_TRACE(trace);

	sframe_test_call_from_realigned(test);
	for (t->access = UNWIND_USER_RESIDENT; t->access <= UNWIND_USER_FAULTABLE; t->access++) {
		sframe_test_walk(test, &trace, LEAF, 0, -1);
		sframe_test_expect(test, &trace, UNWIND_USER_COMPLETE, 3,
				   (u64[]){ LEAF, REALIGNED + 4, MARKED + 7 });
	}
}

/* A callee has used R10 for something else. */
static void sframe_walk_refuses_a_register_that_a_callee_has_changed(struct kunit *test)
{
	struct sframe_test *t = test->priv;
	u64 code = t->text + MARKED + 8, no_code = t->stack, null = 0;
	u64 values[] = {
		/* No stack pointer */
		0, 1, t->stack + 0x41, TASK_SIZE_MAX, -8UL, S64_MIN, t->text + LEAF,
		/* Not above the stack pointer of the realigned function, which is 8 */
		t->stack - PAGE_SIZE, t->stack, t->stack + 0x8,
		/* There, no return address is below: no code, 0, and code without a call before */
		t->stack + 0x50, t->stack + 0x58, t->stack + 0x60,
	};
	DEFINE_TRACE(trace);
	int i;

	sframe_test_call_from_realigned(test);
	sframe_test_write(test, t->stack + 0x48, &no_code, sizeof(no_code));
	sframe_test_write(test, t->stack + 0x50, &null, sizeof(null));
	sframe_test_write(test, t->stack + 0x58, &code, sizeof(code));
	for (i = 0; i < ARRAY_SIZE(values); i++) {
		t->r10 = values[i];
		sframe_test_walk(test, &trace, LEAF, 0, -1);
		KUNIT_EXPECT_EQ_MSG(test, trace.nr, 2, "R10 is %#lx", t->r10);
		KUNIT_EXPECT_EQ_MSG(test, trace.end, UNWIND_USER_NO_REGISTER, "R10 is %#lx",
				    t->r10);
	}
}

/* A signal has interrupted leaf.  Its handler's R10 is not that of leaf's caller. */
static void sframe_walk_uses_a_register_that_a_signal_saved(struct kunit *test)
{
	struct sframe_test *t = test->priv;
	u64 handler[] = { t->text + TRAMPOLINE };
	unsigned long context = t->stack + 0x808;
	u64 r10;
	DEFINE_TRACE(trace);

	sframe_test_call_from_realigned(test);
	r10 = t->r10;
	sframe_test_write(test, t->stack + 0x800, handler, sizeof(handler));
	sframe_test_write_interrupted(test, context, t->text + LEAF, t->stack, 0);
	sframe_test_write(test, context + arch_unwind_sigframe_register(10), &r10, sizeof(r10));
	t->r10 = 0;
	sframe_test_walk(test, &trace, LEAF, 0x800, -1);
	sframe_test_expect(test, &trace, UNWIND_USER_COMPLETE, 5,
			   (u64[]){ LEAF, TRAMPOLINE, LEAF, REALIGNED + 4, MARKED + 7 });

	t->r10 = r10;
	r10 = 0;
	sframe_test_write(test, context + arch_unwind_sigframe_register(10), &r10, sizeof(r10));
	sframe_test_walk(test, &trace, LEAF, 0x800, -1);
	sframe_test_expect(test, &trace, UNWIND_USER_NO_REGISTER, 4,
			   (u64[]){ LEAF, TRAMPOLINE, LEAF, REALIGNED + 4 });
}

/* What a table calls a signal frame says where SP, IP and FP are, and no other register. */
static void sframe_walk_knows_no_register_above_a_marked_signal_frame(struct kunit *test)
{
	struct sframe_test *t = test->priv;
	u64 frame[] = { 0, t->text + LEAF, t->stack };
	DEFINE_TRACE(trace);

	sframe_test_call_from_realigned(test);
	sframe_test_write(test, t->stack + 0x800, frame, sizeof(frame));
	sframe_test_walk(test, &trace, SIGNAL + 4, 0x800, -1);
	sframe_test_expect(test, &trace, UNWIND_USER_NO_REGISTER, 3,
			   (u64[]){ SIGNAL + 4, LEAF, REALIGNED + 4 });
}

/* The innermost function may have its return address in a register.  So may no caller. */
static void sframe_walk_does_not_go_round_by_a_register(struct kunit *test)
{
	struct sframe_test *t = test->priv;
	DEFINE_TRACE(trace);

	sframe_test_register_v3(test);
	sframe_test_write_call(test, RA_KEPT + 8, RA_KEPT);
	t->r10 = t->text + RA_KEPT + 8;
	sframe_test_walk(test, &trace, RA_KEPT, 0, -1);
	sframe_test_expect(test, &trace, UNWIND_USER_NO_REGISTER, 2,
			   (u64[]){ RA_KEPT, RA_KEPT + 8 });
}

/* OCaml keeps its stack pointer in a register while C runs on another stack. */
static void sframe_walk_switches_stacks_by_a_register(struct kunit *test)
{
	unsigned long other = sframe_test_map(test, PROT_READ | PROT_WRITE | PROT_EXEC);
	struct sframe_test *t = test->priv;
	u64 ret = t->text + REALIGNED + 4, outer = t->text + MARKED + 7;
	DEFINE_TRACE(trace);

	sframe_test_call_from_realigned(test);
	KUNIT_ASSERT_LT(test, other, t->stack);
	sframe_test_write(test, other + 0x38, &outer, sizeof(outer));
	t->r10 = other + 0x40;
	sframe_test_walk(test, &trace, LEAF, 0, -1);
	sframe_test_expect(test, &trace, UNWIND_USER_COMPLETE, 3,
			   (u64[]){ LEAF, REALIGNED + 4, MARKED + 7 });

	/* On the same stack, that would be a call that has ended. */
	sframe_test_write(test, t->stack + 0x800, &ret, sizeof(ret));
	t->r10 = t->stack + 0x40;
	sframe_test_walk(test, &trace, LEAF, 0x800, -1);
	sframe_test_expect(test, &trace, UNWIND_USER_NO_REGISTER, 2,
			   (u64[]){ LEAF, REALIGNED + 4 });
}

/* Code that switches stacks may change all registers. */
static void sframe_walk_uses_no_register_from_another_stack(struct kunit *test)
{
	DEFINE_TRACE(trace);

	sframe_test_call_from_realigned(test);
	sframe_test_write_call(test, REALIGNED + 4, BY_FP);
	sframe_test_walk(test, &trace, BY_FP, 0, 0x48);
	sframe_test_expect(test, &trace, UNWIND_USER_COMPLETE, 3,
			   (u64[]){ BY_FP, REALIGNED + 4, MARKED + 7 });
	sframe_test_walk(test, &trace, BY_FP, 0x800, 0x48);
	sframe_test_expect(test, &trace, UNWIND_USER_NO_REGISTER, 2,
			   (u64[]){ BY_FP, REALIGNED + 4 });
}

/* The return address proves that the CFA's register is right, and no other one. */
static void sframe_walk_checks_each_register_of_a_callee(struct kunit *test)
{
	struct sframe_test *t = test->priv;
	u64 ret = t->text + FP_KEPT + 4, outer = t->text + BY_FP + 7;
	u64 outermost = t->text + MARKED + 4;
	DEFINE_TRACE(trace);

	sframe_test_call_from_realigned(test);
	sframe_test_write(test, t->stack, &ret, sizeof(ret));
	sframe_test_write(test, t->stack + 0x38, &outer, sizeof(outer));
	sframe_test_write(test, t->stack + 0x50, &outermost, sizeof(outermost));
	sframe_test_write_call(test, BY_FP + 7, FP_KEPT);
	sframe_test_walk(test, &trace, LEAF, 0, -1);
	sframe_test_expect(test, &trace, UNWIND_USER_NO_REGISTER, 3,
			   (u64[]){ LEAF, FP_KEPT + 4, BY_FP + 7 });

	ret = t->text + FP_KEPT_SAME + 4;
	sframe_test_write(test, t->stack, &ret, sizeof(ret));
	sframe_test_walk(test, &trace, LEAF, 0, -1);
	sframe_test_expect(test, &trace, UNWIND_USER_COMPLETE, 4,
			   (u64[]){ LEAF, FP_KEPT_SAME + 4, BY_FP + 7, MARKED + 4 });
}

static void sframe_walk_knows_registers_that_a_signal_saved(struct kunit *test)
{
	struct sframe_test *t = test->priv;
	u64 handler[] = { t->text + TRAMPOLINE };
	u64 ret = t->text + MARKED + 4;
	u64 r10 = t->stack + 0x40;
	unsigned long context = t->stack + 0x808;
	DEFINE_TRACE(trace);

	sframe_test_register_v3(test);
	sframe_test_write(test, t->stack + 0x800, handler, sizeof(handler));
	sframe_test_write_interrupted(test, context, t->text + REALIGNED + 4, t->stack, 0);
	sframe_test_write(test, context + arch_unwind_sigframe_register(10),
			  &r10, 8);
	sframe_test_write(test, t->stack + 0x38, &ret, 8);
	sframe_test_walk(test, &trace, LEAF, 0x800, -1);
	sframe_test_expect(test, &trace, UNWIND_USER_COMPLETE, 4,
			   (u64[]){ LEAF, TRAMPOLINE, REALIGNED + 4, MARKED + 4 });
}

/* The table marks the signal frame; the code is not that of a signal trampoline. */
static void sframe_walk_follows_a_marked_signal_frame(struct kunit *test)
{
	struct sframe_test *t = test->priv;
	/* The signal interrupted byte 0 of leaf, on another stack further down. */
	u64 frame[] = { 0, t->text + LEAF, t->stack };
	u64 stack[] = { t->text + MARKED + 4 };
	DEFINE_TRACE(trace);

	sframe_test_register_v3(test);
	sframe_test_write(test, t->stack + 0x800, frame, sizeof(frame));
	sframe_test_write(test, t->stack, stack, sizeof(stack));
	sframe_test_walk(test, &trace, SIGNAL + 4, 0x800, -1);
	sframe_test_expect(test, &trace, UNWIND_USER_COMPLETE, 3,
			   (u64[]){ SIGNAL + 4, LEAF, MARKED + 4 });
}

/* A signal frame may lead to any stack pointer, so only the caller's room ends the walk. */
static void sframe_walk_ends_in_a_circle_of_signal_frames(struct kunit *test)
{
	struct sframe_test *t = test->priv;
	u64 frame[] = { 0, t->text + SIGNAL + 4, t->stack + 0x800 };
	DEFINE_TRACE(trace);

	sframe_test_register_v3(test);
	sframe_test_write(test, t->stack + 0x800, frame, sizeof(frame));
	sframe_test_walk(test, &trace, SIGNAL + 4, 0x800, -1);
	KUNIT_EXPECT_EQ(test, trace.nr, ENTRIES);
	KUNIT_EXPECT_EQ(test, trace.end, UNWIND_USER_FULL);
}

static void sframe_walk_stops_when_the_stack_does_not_rise(struct kunit *test)
{
	DEFINE_TRACE(trace);

	sframe_test_register(test);
	sframe_test_walk(test, &trace, CIRCLE, 0x100, 0x110);
	sframe_test_expect(test, &trace, UNWIND_USER_CORRUPT, 1,
			   (u64[]){ CIRCLE });
}

static void sframe_walk_stops_at_memory_that_is_not_there(struct kunit *test)
{
	struct sframe_test *t = test->priv;
	DEFINE_TRACE(trace);

	sframe_test_register(test);
	KUNIT_ASSERT_EQ(test, vm_munmap(t->stack, PAGE_SIZE), 0);
	sframe_test_walk(test, &trace, LEAF, 0, -1);
	sframe_test_expect(test, &trace, UNWIND_USER_FAULT, 1, (u64[]){ LEAF });
}

static void sframe_walk_stops_when_there_is_no_more_room(struct kunit *test)
{
	struct sframe_test *t = test->priv;
	u64 stack[] = { t->text + MIDDLE + 4, 0x1111, t->text + OUTERMOST + 2 };
	DEFINE_TRACE(trace);

	sframe_test_register(test);
	sframe_test_write(test, t->stack, stack, sizeof(stack));
	trace.max = 2;
	sframe_test_walk(test, &trace, LEAF, 0, -1);
	sframe_test_expect(test, &trace, UNWIND_USER_FULL, 2,
			   (u64[]){ LEAF, MIDDLE + 4 });
}

/* An immediate walk succeeds if the stack is resident. */
static void sframe_walk_with_faults_disabled(struct kunit *test)
{
	struct sframe_test *t = test->priv;
	u64 stack[] = { t->text + MIDDLE + 4, 0x1111, t->text + OUTERMOST + 2 };
	DEFINE_TRACE(trace);

	sframe_test_register(test);
	sframe_test_write(test, t->stack, stack, sizeof(stack));
	t->access = UNWIND_USER_RESIDENT;
	sframe_test_walk(test, &trace, LEAF, 0, -1);
	sframe_test_expect(test, &trace, UNWIND_USER_COMPLETE, 3,
			   (u64[]){ LEAF, MIDDLE + 4, OUTERMOST + 2 });
}

/* The text is mapped over, and another table describes the new text at the same address. */
static void sframe_rows_go_with_their_table(struct kunit *test)
{
	struct sframe_test *t = test->priv;
	u64 stack[] = { t->text + MIDDLE + 4, t->text + OUTERMOST + 2 };
	enum unwind_user_access access;
	unsigned long addr;
	DEFINE_TRACE(trace);

	sframe_test_register(test);
	addr = vm_mmap(NULL, t->text, PAGE_SIZE, PROT_READ | PROT_EXEC,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, 0);
	KUNIT_ASSERT_EQ(test, addr, t->text);
	/* Without a table, no row. */
	t->access = UNWIND_USER_RESIDENT;
	sframe_test_walk(test, &trace, LEAF, 0, -1);
	KUNIT_EXPECT_EQ(test, trace.nr, 1);

	sframe_build_start(&t->build, SFRAME_VERSION_2);
	sframe_build_function(&t->build, LEAF, 0x20, SFRAME_FRE_ADDR1, 0);
	sframe_build_row(&t->build, 0, false, 1, (s8[]){ 16 });
	sframe_build_function(&t->build, 0x30, 0x10, SFRAME_FRE_ADDR1, 0);
	sframe_build_row(&t->build, 0, false, 0, NULL);
	sframe_build_finish(&t->build, t->table, t->text);
	sframe_test_write(test, t->table, t->build.bytes, t->build.len);
	sframe_test_write(test, t->stack, stack, sizeof(stack));
	sframe_test_register(test);
	for (access = UNWIND_USER_RESIDENT; access <= UNWIND_USER_FAULTABLE; access++) {
		t->access = access;
		sframe_test_walk(test, &trace, LEAF, 0, -1);
		sframe_test_expect(test, &trace, UNWIND_USER_COMPLETE, 2,
				   (u64[]){ LEAF, OUTERMOST + 2 });
	}
}

/*
 * The table has the function but no rows for it.  The walk goes on where a walk by frame pointers
 * alone would go on, and says so if that leads nowhere.
 */
static void sframe_walk_goes_on_above_a_function_without_rows(struct kunit *test)
{
	struct sframe_test *t = test->priv;
	u64 stack[] = { t->text + MIDDLE + 4, 0x1111, 0x2222 };
	/* The frame that the frame pointer would lead to */
	u64 frame[] = { 0, t->text + NO_TABLE };
	enum unwind_user_access access;
	DEFINE_TRACE(trace);

	sframe_build_start(&t->build, SFRAME_VERSION_2);
	sframe_build_function(&t->build, LEAF, 0x20, SFRAME_FRE_ADDR1, 0);
	sframe_build_row(&t->build, 0, false, 1, (s8[]){ 8 });
	sframe_build_function(&t->build, MIDDLE, 0x10, SFRAME_FRE_ADDR1, 0);
	sframe_build_finish(&t->build, t->table, t->text);
	sframe_test_write(test, t->table, t->build.bytes, t->build.len);
	sframe_test_write(test, t->stack, stack, sizeof(stack));
	sframe_test_write(test, t->stack + 64, frame, sizeof(frame));
	sframe_test_register(test);
	for (access = UNWIND_USER_RESIDENT; access <= UNWIND_USER_FAULTABLE; access++) {
		t->access = access;
		sframe_test_walk(test, &trace, LEAF, 0, 64);
		sframe_test_expect(test, &trace, UNWIND_USER_COMPLETE, 3,
				   (u64[]){ LEAF, MIDDLE + 4, NO_TABLE });
		sframe_test_walk(test, &trace, LEAF, 0, 0x100);
		sframe_test_expect(test, &trace, UNWIND_USER_NO_RULE, 2,
				   (u64[]){ LEAF, MIDDLE + 4 });
	}
}

/* Look up @ip with @cursor, and expect the table that covers text from @start on. */
static void sframe_test_find_at(struct kunit *test, struct sframe_cursor *cursor,
				unsigned long ip, unsigned long start)
{
	struct sframe_row row;

	guard(rcu)();
	KUNIT_EXPECT_EQ(test, sframe_test_find(cursor, ip, &row), 0);
	KUNIT_EXPECT_EQ(test, sframe_now(cursor)->start, start);
	KUNIT_EXPECT_EQ(test, row.cfa.offset, 16);
}

/* Register a copy of the test's table for text of its own. */
static struct sframe_region sframe_test_add_other(struct kunit *test)
{
	struct sframe_test *t = test->priv;
	struct sframe_region other = t->region;

	other.text_start = sframe_test_map(test, PROT_READ | PROT_WRITE | PROT_EXEC);
	other.sframe_start = sframe_test_map(test, PROT_READ | PROT_WRITE);
	sframe_build_finish(&t->build, other.sframe_start, other.text_start);
	sframe_test_write(test, other.sframe_start, t->build.bytes, t->build.len);
	KUNIT_ASSERT_EQ(test, sframe_test_add(test, &other), 0);
	return other;
}

/* Stacks alternate between objects.  All tables stay until the cursor has forgotten them. */
static void sframe_walk_remembers_tables(struct kunit *test)
{
	struct sframe_test *t = test->priv;
	struct sframe_cursor cursor = {};
	struct sframe_region other;
	struct sframe_row row;
	unsigned int next;

	sframe_test_register(test);
	other = sframe_test_add_other(test);
	sframe_test_find_at(test, &cursor, t->text + MIDDLE, t->text);
	sframe_test_find_at(test, &cursor, other.text_start + MIDDLE, other.text_start);
	next = cursor.next;
	/* A search that fails replaces no table. */
	scoped_guard(rcu)
		KUNIT_EXPECT_EQ(test, sframe_test_find(&cursor, t->stack, &row), -ENXIO);
	sframe_test_find_at(test, &cursor, t->text + MIDDLE, t->text);
	sframe_test_find_at(test, &cursor, other.text_start + MIDDLE, other.text_start);
	KUNIT_EXPECT_EQ(test, cursor.next, next);

	sframe_forget(&cursor);
	KUNIT_EXPECT_EQ(test, sframe_prctl_remove(sframe_test_put(test, &t->region),
						  sizeof(t->region)), 0);
	scoped_guard(rcu)
		KUNIT_EXPECT_EQ(test, sframe_test_find(&cursor, t->text + MIDDLE, &row), -ENXIO);
	sframe_test_find_at(test, &cursor, other.text_start + MIDDLE, other.text_start);
}

/* One table more than a cursor remembers */
static void sframe_walk_forgets_the_table_that_it_met_first(struct kunit *test)
{
	unsigned long texts[SFRAME_FOUND + 1];
	struct sframe_cursor cursor = {};
	unsigned int i, next;

	for (i = 0; i < ARRAY_SIZE(texts); i++) {
		texts[i] = sframe_test_add_other(test).text_start;
		sframe_test_find_at(test, &cursor, texts[i] + MIDDLE, texts[i]);
	}
	next = cursor.next;
	for (i = 1; i < ARRAY_SIZE(texts); i++) {
		sframe_test_find_at(test, &cursor, texts[i] + MIDDLE, texts[i]);
		KUNIT_EXPECT_EQ_MSG(test, cursor.next, next, "table %u", i);
	}
	/* The next in turn is the one that the cursor used last, so another one is forgotten. */
	sframe_test_find_at(test, &cursor, texts[1] + MIDDLE, texts[1]);
	KUNIT_EXPECT_EQ(test, cursor.now, next);
	sframe_test_find_at(test, &cursor, texts[0] + MIDDLE, texts[0]);
	KUNIT_EXPECT_EQ(test, cursor.now, (next + 1) % SFRAME_FOUND);
	sframe_forget(&cursor);
	for (i = 0; i < SFRAME_FOUND; i++)
		KUNIT_EXPECT_EQ_MSG(test, cursor.found[i].size, 0, "table %u", i);
}

/* Look up the row of @ip, an offset in the text.  Returns the result of sframe_test_find(). */
static int sframe_test_lookup(struct kunit *test, unsigned long ip)
{
	struct sframe_test *t = test->priv;
	struct sframe_cursor cursor = { };
	struct sframe_row row;

	guard(rcu)();
	return sframe_test_find(&cursor, t->text + ip, &row);
}

static void sframe_register_refuses_bad_regions(struct kunit *test)
{
	struct sframe_test *t = test->priv;
	struct sframe_region bad;

	bad = t->region;
	bad.sframe_size = 0;
	KUNIT_EXPECT_EQ(test, sframe_test_add(test, &bad), -EINVAL);
	bad = t->region;
	bad.text_size = -PAGE_SIZE;
	KUNIT_EXPECT_EQ(test, sframe_test_add(test, &bad), -EINVAL);
	bad = t->region;
	bad.text_start = TASK_SIZE_MAX - 8;
	KUNIT_EXPECT_EQ(test, sframe_test_add(test, &bad), -EINVAL);
	/* The text is not executable. */
	bad = t->region;
	bad.text_start = t->stack;
	KUNIT_EXPECT_EQ(test, sframe_test_add(test, &bad), -EFAULT);
	/* The table is not mapped. */
	KUNIT_ASSERT_EQ(test, vm_munmap(t->stack, PAGE_SIZE), 0);
	bad = t->region;
	bad.sframe_start = t->stack;
	KUNIT_EXPECT_EQ(test, sframe_test_add(test, &bad), -EFAULT);

	sframe_test_register(test);
	bad = t->region;
	bad.text_start += TEXT_SIZE - 16;
	bad.text_size = 16;
	KUNIT_EXPECT_EQ(test, sframe_test_add(test, &bad), -EEXIST);
}

static void sframe_tables_go_with_their_text(struct kunit *test)
{
	struct sframe_test *t = test->priv;

	sframe_test_register(test);
	KUNIT_EXPECT_EQ(test, sframe_test_lookup(test, LEAF), 0);
	KUNIT_ASSERT_EQ(test, vm_munmap(t->text, PAGE_SIZE), 0);
	KUNIT_EXPECT_EQ(test, sframe_test_lookup(test, LEAF), -ENXIO);
}

static void sframe_tables_outlive_their_own_bytes(struct kunit *test)
{
	struct sframe_test *t = test->priv;

	sframe_test_register(test);
	KUNIT_ASSERT_EQ(test, vm_munmap(t->table, PAGE_SIZE), 0);
	KUNIT_EXPECT_EQ(test, sframe_test_lookup(test, LEAF), 0);
}

static void sframe_tables_are_removed_by_their_place(struct kunit *test)
{
	struct sframe_test *t = test->priv;
	struct sframe_region region = t->region;
	unsigned long at = sframe_test_put(test, &region);

	KUNIT_EXPECT_EQ(test, sframe_prctl_remove(at, sizeof(region)), -ENOENT);
	sframe_test_register(test);
	region.text_start += 16;
	sframe_test_put(test, &region);
	KUNIT_EXPECT_EQ(test, sframe_prctl_remove(at, sizeof(region)), -ENOENT);
	region.sframe_start += 8;
	region.text_size = 0;
	sframe_test_put(test, &region);
	KUNIT_EXPECT_EQ(test, sframe_prctl_remove(at, sizeof(region)), -ENOENT);
	KUNIT_EXPECT_EQ(test, sframe_test_lookup(test, LEAF), 0);
	/* A text_size of 0 matches any text. */
	region.sframe_start -= 8;
	sframe_test_put(test, &region);
	KUNIT_EXPECT_EQ(test, sframe_prctl_remove(at, sizeof(region)), 0);
	KUNIT_EXPECT_EQ(test, sframe_test_lookup(test, LEAF), -ENXIO);
}

static void sframe_tables_go_when_their_text_is_mapped_over(struct kunit *test)
{
	struct sframe_test *t = test->priv;
	unsigned long addr;

	sframe_test_register(test);
	addr = vm_mmap(NULL, t->text, PAGE_SIZE, PROT_READ | PROT_EXEC,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, 0);
	KUNIT_ASSERT_EQ(test, addr, t->text);
	KUNIT_EXPECT_EQ(test, sframe_test_lookup(test, LEAF), -ENXIO);
	/* Another table may be registered for the new text. */
	KUNIT_EXPECT_EQ(test, sframe_test_add(test, &t->region), 0);
}

/* Look up leaf in a forked copy of this test's mm. */
static int sframe_test_lookup_forked(struct kunit *test)
{
	struct mm_struct *mm = mm_alloc(), *oldmm = current->mm;
	int ret;

	KUNIT_ASSERT_NOT_NULL(test, mm);
	mmap_write_lock(oldmm);
	mmap_write_lock_nested(mm, SINGLE_DEPTH_NESTING);
	KUNIT_EXPECT_EQ(test, sframe_dup_mm(mm, oldmm), 0);
	mmap_write_unlock(mm);
	mmap_write_unlock(oldmm);

	kthread_unuse_mm(oldmm);
	kthread_use_mm(mm);
	ret = sframe_test_lookup(test, LEAF);
	kthread_unuse_mm(mm);
	kthread_use_mm(oldmm);
	mmput(mm);
	return ret;
}

static void sframe_tables_are_shared_by_fork(struct kunit *test)
{
	sframe_test_register(test);
	KUNIT_EXPECT_EQ(test, sframe_test_lookup_forked(test), 0);
	KUNIT_EXPECT_EQ(test, sframe_test_lookup(test, LEAF), 0);
}

/* Otherwise the table would cover text that the child maps there later. */
static void sframe_tables_stay_behind_with_memory_that_does(struct kunit *test)
{
	struct sframe_test *t = test->priv;

	sframe_test_register(test);
	mmap_write_lock(current->mm);
	vm_flags_set(vma_lookup(current->mm, t->text), VM_DONTCOPY);
	mmap_write_unlock(current->mm);
	KUNIT_EXPECT_EQ(test, sframe_test_lookup_forked(test), -ENXIO);
}

static struct kunit_case sframe_cases[] = {
	KUNIT_CASE(sframe_walk_follows_rows_to_the_outermost_frame),
	KUNIT_CASE(sframe_walk_looks_callers_up_at_the_call),
	KUNIT_CASE(sframe_walk_follows_a_signal_frame),
	KUNIT_CASE(sframe_walk_follows_a_realigned_stack),
	KUNIT_CASE(sframe_walk_alternates_between_kinds_of_rows),
	KUNIT_CASE(sframe_walk_uses_a_register_that_callees_keep),
	KUNIT_CASE(sframe_walk_refuses_a_register_that_a_callee_has_changed),
	KUNIT_CASE(sframe_walk_uses_a_register_that_a_signal_saved),
	KUNIT_CASE(sframe_walk_knows_no_register_above_a_marked_signal_frame),
	KUNIT_CASE(sframe_walk_does_not_go_round_by_a_register),
	KUNIT_CASE(sframe_walk_switches_stacks_by_a_register),
	KUNIT_CASE(sframe_walk_uses_no_register_from_another_stack),
	KUNIT_CASE(sframe_walk_checks_each_register_of_a_callee),
	KUNIT_CASE(sframe_walk_knows_registers_that_a_signal_saved),
	KUNIT_CASE(sframe_walk_follows_a_marked_signal_frame),
	KUNIT_CASE(sframe_walk_ends_in_a_circle_of_signal_frames),
	KUNIT_CASE(sframe_walk_stops_when_the_stack_does_not_rise),
	KUNIT_CASE(sframe_walk_stops_at_memory_that_is_not_there),
	KUNIT_CASE(sframe_walk_stops_when_there_is_no_more_room),
	KUNIT_CASE(sframe_walk_with_faults_disabled),
	KUNIT_CASE(sframe_walk_remembers_tables),
	KUNIT_CASE(sframe_walk_forgets_the_table_that_it_met_first),
	KUNIT_CASE(sframe_rows_go_with_their_table),
	KUNIT_CASE(sframe_walk_goes_on_above_a_function_without_rows),
	KUNIT_CASE(sframe_register_refuses_bad_regions),
	KUNIT_CASE(sframe_tables_go_with_their_text),
	KUNIT_CASE(sframe_tables_outlive_their_own_bytes),
	KUNIT_CASE(sframe_tables_are_removed_by_their_place),
	KUNIT_CASE(sframe_tables_go_when_their_text_is_mapped_over),
	KUNIT_CASE(sframe_tables_are_shared_by_fork),
	KUNIT_CASE(sframe_tables_stay_behind_with_memory_that_does),
	{}
};

static struct kunit_suite sframe_suite = {
	.name = "unwind_user_sframe",
	.init = sframe_test_init,
	.test_cases = sframe_cases,
};

kunit_test_suite(sframe_suite);

MODULE_DESCRIPTION("KUnit tests of user stacks from SFrame tables");
MODULE_LICENSE("GPL");
