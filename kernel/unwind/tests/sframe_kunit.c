// SPDX-License-Identifier: GPL-2.0
/*
 * The tables of a process, and walks over stacks by them.
 *
 * Each test runs in a kernel thread with a user address space of its own, in
 * which text, table and stack are pages that it fills itself:
 *
 *	text + 0x00-0x1f	leaf: CFA = SP + 8
 *	text + 0x20-0x2f	middle: CFA = SP + 16
 *	text + 0x30-0x3f	outermost, from its byte 2 on
 *	text + 0x40-0x4f	circle: CFA = FP - 64
 *	text + 0x60		signal trampoline
 *	text + 0x80-		no table
 */

#include <kunit/test.h>

#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/sched/mm.h>
#include <linux/sframe.h>
#include <linux/sizes.h>
#include <linux/uaccess.h>
#include <linux/unwind_user.h>

#include <asm/unwind_user.h>

#include "../file.h"
#include "../row_pack.h"
#include "../sframe.h"
#include "../user.h"
#include "sframe_builder.h"

#define LEAF		0x00
#define MIDDLE		0x20
#define OUTERMOST	0x32
#define CIRCLE		0x40
#define TRAMPOLINE	0x60
#define NO_TABLE	0x80
#define TEXT_SIZE	PAGE_SIZE

struct sframe_test {
	struct sframe_build	build;
	struct sframe_region	region;
	unsigned long		text;
	unsigned long		table;
	unsigned long		stack;
	/* What R10 is in the innermost frame. */
	unsigned long		r10;
	/* How sframe_test_walk() reads. */
	enum unwind_user_access	access;
};

static unsigned long sframe_test_map(struct kunit *test, unsigned long prot)
{
	unsigned long addr = kunit_vm_mmap(test, NULL, 0, PAGE_SIZE, prot,
					   MAP_PRIVATE | MAP_ANONYMOUS, 0);

	KUNIT_ASSERT_NE(test, addr, 0);
	KUNIT_ASSERT_FALSE(test, IS_ERR_VALUE(addr));
	return addr;
}

static void sframe_test_write(struct kunit *test, unsigned long to,
			      const void *from, size_t len)
{
	KUNIT_ASSERT_EQ(test, copy_to_user((void __user *)to, from, len), 0);
}

static int sframe_test_init(struct kunit *test)
{
	struct sframe_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, t);
	test->priv = t;
	t->access = UNWIND_USER_FAULTABLE;
	t->text = sframe_test_map(test, PROT_READ | PROT_WRITE | PROT_EXEC);
	t->table = sframe_test_map(test, PROT_READ | PROT_WRITE);
	t->stack = sframe_test_map(test, PROT_READ | PROT_WRITE);

	sframe_build_start(&t->build, SFRAME_VERSION_2);
	sframe_build_function(&t->build, LEAF, 0x20, SFRAME_FRE_ADDR1, 0);
	sframe_build_row(&t->build, 0, false, 1, (s8[]){ 8 });
	sframe_build_function(&t->build, MIDDLE, 0x10, SFRAME_FRE_ADDR1, 0);
	sframe_build_row(&t->build, 0, false, 1, (s8[]){ 16 });
	sframe_build_function(&t->build, 0x30, 0x10, SFRAME_FRE_ADDR1, 0);
	sframe_build_row(&t->build, 0, false, 1, (s8[]){ 8 });
	sframe_build_row(&t->build, 2, false, 0, NULL);
	sframe_build_function(&t->build, CIRCLE, 0x10, SFRAME_FRE_ADDR1, 0);
	sframe_build_row(&t->build, 0, true, 1, (s8[]){ -64 });
	sframe_build_finish(&t->build, t->table, t->text);
	sframe_test_write(test, t->table, t->build.bytes, t->build.len);
	sframe_test_write(test, t->text + TRAMPOLINE, ARCH_UNWIND_SIGRETURN_CODE,
			  ARCH_UNWIND_SIGRETURN_LEN);

	t->region.sframe_start = t->table;
	/* As linkers leave it: longer than the table. */
	t->region.sframe_size = t->build.len + 64;
	t->region.text_start = t->text;
	t->region.text_size = TEXT_SIZE;
	return 0;
}

/* As prctl() does for the program, with the table read in place. */
static int sframe_test_add(struct kunit *test, const struct sframe_region *region)
{
	struct sframe_test *t = test->priv;
	unsigned long at = t->table + PAGE_SIZE - sizeof(*region);

	sframe_test_write(test, at, region, sizeof(*region));
	return sframe_prctl_add(at, sizeof(*region), SFRAME_ADD_LAZY);
}

static void sframe_test_register(struct kunit *test)
{
	struct sframe_test *t = test->priv;

	KUNIT_ASSERT_EQ(test, sframe_test_add(test, &t->region), 0);
}

/* Walk from @ip (an offset in the text) with @sp and @fp (offsets in the stack). */
static void sframe_test_walk(struct kunit *test, struct unwind_user_trace *trace,
			     unsigned long ip, unsigned long sp, long fp)
{
	struct sframe_test *t = test->priv;
	struct pt_regs regs = {
		.ip = t->text + ip,
		.sp = t->stack + sp,
		.bp = fp < 0 ? 0 : t->stack + fp,
		.r10 = t->r10,
		.cs = __USER_CS,
	};

	unwind_user(trace, &regs, t->access);
}

/* @want has offsets in the text, the innermost frame first. */
static void sframe_test_expect(struct kunit *test,
			       const struct unwind_user_trace *trace,
			       enum unwind_user_end end, unsigned int nr,
			       const u64 *want)
{
	struct sframe_test *t = test->priv;
	unsigned int i;

	KUNIT_EXPECT_EQ(test, trace->end, end);
	KUNIT_ASSERT_EQ(test, trace->nr, nr);
	for (i = 0; i < nr; i++)
		KUNIT_EXPECT_EQ_MSG(test, trace->entries[i] - t->text, want[i],
				    "frame %u", i);
}

#define ENTRIES		8
#define DEFINE_TRACE(name)						\
	u64 name##_entries[ENTRIES];					\
	struct unwind_user_trace name = {				\
		.entries = name##_entries,				\
		.max = ENTRIES,						\
	}

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

static void sframe_walk_goes_on_by_frame_pointer_without_table(struct kunit *test)
{
	struct sframe_test *t = test->priv;
	u64 stack[] = {
		/* leaf's caller keeps a frame pointer, its caller has a row */
		t->text + NO_TABLE, 0x1111,
		t->stack + 0x38, t->text + MIDDLE + 8,
		0x2222, t->text + OUTERMOST + 2,
	};
	DEFINE_TRACE(trace);

	sframe_test_register(test);
	sframe_test_write(test, t->stack, stack, sizeof(stack));
	sframe_test_walk(test, &trace, LEAF, 0, 0x10);
	sframe_test_expect(test, &trace, UNWIND_USER_COMPLETE, 4,
			   (u64[]){ LEAF, NO_TABLE, MIDDLE + 8, OUTERMOST + 2 });
}

static void sframe_walk_follows_a_signal_frame(struct kunit *test)
{
	struct sframe_test *t = test->priv;
	u64 handler[] = { t->text + TRAMPOLINE };
	u64 interrupted[] = { t->text + OUTERMOST + 2 };
	u64 ip = t->text + LEAF, sp = t->stack, fp = 0;
	unsigned long context = t->stack + 0x808;
	DEFINE_TRACE(trace);

	sframe_test_register(test);
	/* The handler runs at 0x800, above what it interrupted at 0. */
	sframe_test_write(test, t->stack + 0x800, handler, sizeof(handler));
	sframe_test_write(test, context + ARCH_UNWIND_SIGFRAME_IP, &ip, 8);
	sframe_test_write(test, context + ARCH_UNWIND_SIGFRAME_SP, &sp, 8);
	sframe_test_write(test, context + ARCH_UNWIND_SIGFRAME_FP, &fp, 8);
	sframe_test_write(test, t->stack, interrupted, sizeof(interrupted));

	sframe_test_walk(test, &trace, LEAF + 8, 0x800, -1);
	/* The interrupted instruction is looked up where it is: byte 0 of leaf. */
	sframe_test_expect(test, &trace, UNWIND_USER_COMPLETE, 4,
			   (u64[]){ LEAF + 8, TRAMPOLINE, LEAF, OUTERMOST + 2 });
}

#define REALIGNED	0x20
#define REALIGNED_SET	0x28
#define MARKED		0x30
#define SIGNAL		0x40

/*
 * A table of version 3 in place of the other:
 *
 *	text + 0x00-0x1f	leaf: CFA = SP + 8
 *	text + 0x20-0x2f	realigned: CFA = R10, from its byte 8 on *(FP - 16)
 *	text + 0x30-0x3f	outermost
 *	text + 0x40-0x4f	signal: SP, IP and FP at SP + 16, 8 and 0
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
	sframe_build_finish(build, t->table, t->text);
	sframe_test_write(test, t->table, build->bytes, build->len);
	sframe_test_register(test);
}

static void sframe_walk_follows_a_realigned_stack(struct kunit *test)
{
	struct sframe_test *t = test->priv;
	u64 stack[] = {
		/* leaf's return, then the realigned frame with its FP at 0x20 */
		t->text + REALIGNED_SET + 4, 0x1111,
		t->stack + 0x40, 0x1111,
		0x2222, 0x1111,
		/* The CFA that it saved is 0x40. */
		0x1111, t->text + MARKED + 4,
	};
	DEFINE_TRACE(trace);

	sframe_test_register_v3(test);
	sframe_test_write(test, t->stack, stack, sizeof(stack));
	sframe_test_walk(test, &trace, LEAF, 0, 0x20);
	sframe_test_expect(test, &trace, UNWIND_USER_COMPLETE, 3,
			   (u64[]){ LEAF, REALIGNED_SET + 4, MARKED + 4 });

	/* Innermost, before it has saved anything. */
	t->r10 = t->stack + 0x40;
	sframe_test_walk(test, &trace, REALIGNED, 0x8, -1);
	sframe_test_expect(test, &trace, UNWIND_USER_COMPLETE, 2,
			   (u64[]){ REALIGNED, MARKED + 4 });
}

static void sframe_walk_without_register_says_so(struct kunit *test)
{
	struct sframe_test *t = test->priv;
	u64 stack[] = { t->text + REALIGNED + 4 };
	DEFINE_TRACE(trace);

	sframe_test_register_v3(test);
	/* It is the innermost frame's, and not that of its caller. */
	t->r10 = t->stack + 0x40;
	sframe_test_write(test, t->stack, stack, sizeof(stack));
	sframe_test_walk(test, &trace, LEAF, 0, -1);
	sframe_test_expect(test, &trace, UNWIND_USER_NO_REGISTER, 2,
			   (u64[]){ LEAF, REALIGNED + 4 });
}

static void sframe_walk_knows_registers_that_a_signal_saved(struct kunit *test)
{
	struct sframe_test *t = test->priv;
	u64 handler[] = { t->text + TRAMPOLINE };
	u64 ret = t->text + MARKED + 4;
	u64 ip = t->text + REALIGNED + 4, sp = t->stack, r10 = t->stack + 0x40;
	unsigned long context = t->stack + 0x808;
	DEFINE_TRACE(trace);

	sframe_test_register_v3(test);
	sframe_test_write(test, t->stack + 0x800, handler, sizeof(handler));
	sframe_test_write(test, context + ARCH_UNWIND_SIGFRAME_IP, &ip, 8);
	sframe_test_write(test, context + ARCH_UNWIND_SIGFRAME_SP, &sp, 8);
	sframe_test_write(test, context + arch_unwind_sigframe_register(10),
			  &r10, 8);
	sframe_test_write(test, t->stack + 0x38, &ret, 8);
	sframe_test_walk(test, &trace, LEAF, 0x800, -1);
	sframe_test_expect(test, &trace, UNWIND_USER_COMPLETE, 4,
			   (u64[]){ LEAF, TRAMPOLINE, REALIGNED + 4, MARKED + 4 });
}

/* The table says it of code that is not known for a signal's trampoline. */
static void sframe_walk_follows_a_marked_signal_frame(struct kunit *test)
{
	struct sframe_test *t = test->priv;
	/* What it interrupted is further down: another stack.  Byte 0 of leaf. */
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

/* A signal's frame may lead anywhere; the caller's room ends the walk. */
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

static void sframe_walk_without_rule_says_so(struct kunit *test)
{
	DEFINE_TRACE(trace);

	/* A frame pointer register that holds something else. */
	sframe_test_walk(test, &trace, NO_TABLE, 0x100, 0x80);
	sframe_test_expect(test, &trace, UNWIND_USER_NO_TABLE, 1,
			   (u64[]){ NO_TABLE });
}

/* With what is in memory, and no more: the stack and the table are. */
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

/* Fills the row cache with what the stack of @stack needs. */
static void sframe_test_warm(struct kunit *test)
{
	struct sframe_test *t = test->priv;
	u64 stack[] = { t->text + MIDDLE + 4, 0x1111, t->text + OUTERMOST + 2 };
	DEFINE_TRACE(trace);

	if (!IS_ENABLED(CONFIG_UNWIND_ROW_CACHE))
		kunit_skip(test, "no row cache in this kernel");
	sframe_test_register(test);
	sframe_test_write(test, t->stack, stack, sizeof(stack));
	t->access = UNWIND_USER_FAULTABLE;
	sframe_test_walk(test, &trace, LEAF, 0, -1);
	KUNIT_ASSERT_EQ(test, trace.end, UNWIND_USER_COMPLETE);
}

/*
 * Whoever changes a table in place learns what a row is that was found before: this
 * shows that rows come from there, and that they are the same.
 */
static void sframe_rows_need_no_table_once_found(struct kunit *test)
{
	struct sframe_test *t = test->priv;
	enum unwind_user_access access;
	DEFINE_TRACE(trace);

	sframe_test_warm(test);
	KUNIT_ASSERT_EQ(test, clear_user((void __user *)t->table, t->build.len), 0);
	for (access = UNWIND_USER_RESIDENT; access <= UNWIND_USER_FAULTABLE; access++) {
		t->access = access;
		sframe_test_walk(test, &trace, LEAF, 0, -1);
		sframe_test_expect(test, &trace, UNWIND_USER_COMPLETE, 3,
				   (u64[]){ LEAF, MIDDLE + 4, OUTERMOST + 2 });
	}
	/* Another address of the same function has no row yet. */
	sframe_test_walk(test, &trace, LEAF + 4, 0, -1);
	KUNIT_EXPECT_EQ(test, trace.nr, 1);
}

/* The code is mapped over, and another table says something else of the same place. */
static void sframe_rows_go_with_their_table(struct kunit *test)
{
	struct sframe_test *t = test->priv;
	u64 stack[] = { t->text + MIDDLE + 4, t->text + OUTERMOST + 2 };
	enum unwind_user_access access;
	unsigned long addr;
	DEFINE_TRACE(trace);

	sframe_test_warm(test);
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
 * A table that has the function, and no row for it: that is known, and nothing goes on
 * by a frame pointer that it may not have.
 */
static void sframe_walk_ends_in_a_function_without_rows(struct kunit *test)
{
	struct sframe_test *t = test->priv;
	u64 stack[] = { t->text + MIDDLE + 4, 0x1111, 0x2222 };
	/* Where a frame pointer would lead on to. */
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
	/* The first finds no row cache, the last two do. */
	for (access = UNWIND_USER_RESIDENT; access <= UNWIND_USER_FAULTABLE; access++) {
		t->access = access;
		sframe_test_walk(test, &trace, LEAF, 0, 64);
		sframe_test_expect(test, &trace, UNWIND_USER_NO_RULE, 2,
				   (u64[]){ LEAF, MIDDLE + 4 });
	}
	t->access = UNWIND_USER_RESIDENT;
	sframe_test_walk(test, &trace, LEAF, 0, 64);
	sframe_test_expect(test, &trace, UNWIND_USER_NO_RULE, 2,
			   (u64[]){ LEAF, MIDDLE + 4 });
}

#define ENDLESS_BYTES	SZ_1M

/* A function of as many rows as a field can say, which all start at its first byte. */
static unsigned long sframe_test_endless(struct kunit *test)
{
	unsigned long addr = kunit_vm_mmap(test, NULL, 0, ENDLESS_BYTES,
					   PROT_READ | PROT_WRITE,
					   MAP_PRIVATE | MAP_ANONYMOUS, 0);
	struct sframe_test *t = test->priv;
	u8 *rows = kunit_kmalloc(test, 3 * SZ_1K, GFP_KERNEL);
	unsigned long at;

	KUNIT_ASSERT_FALSE(test, IS_ERR_OR_NULL((void *)addr));
	KUNIT_ASSERT_NOT_NULL(test, rows);
	for (at = 0; at < 3 * SZ_1K; at += 3)
		memcpy(rows + at, (u8[]){ 0, SFRAME_FRE_CFA_BASE_SP | 1 << 1, 8 }, 3);
	sframe_build_start(&t->build, SFRAME_VERSION_2);
	sframe_build_function(&t->build, LEAF, 0x20, SFRAME_FRE_ADDR1, 0);
	t->build.fdes[0].num_fres = U32_MAX;
	sframe_build_finish(&t->build, addr, t->text);
	at = addr + t->build.len;
	t->build.header.fre_len = (addr + ENDLESS_BYTES - at) / (3 * SZ_1K) * 3 * SZ_1K;
	sframe_test_write(test, addr, t->build.bytes, t->build.len);
	sframe_test_write(test, addr, &t->build.header, sizeof(t->build.header));
	for (; at + 3 * SZ_1K <= addr + ENDLESS_BYTES; at += 3 * SZ_1K)
		sframe_test_write(test, at, rows, 3 * SZ_1K);
	return addr;
}

static void sframe_walk_ends_when_it_has_passed_too_many_rows(struct kunit *test)
{
	struct sframe_test *t = test->priv;
	enum unwind_user_access access;
	DEFINE_TRACE(trace);

	t->region.sframe_start = sframe_test_endless(test);
	t->region.sframe_size = ENDLESS_BYTES;
	sframe_test_register(test);
	for (access = UNWIND_USER_RESIDENT; access <= UNWIND_USER_FAULTABLE; access++) {
		t->access = access;
		sframe_test_walk(test, &trace, LEAF, 0, -1);
		sframe_test_expect(test, &trace, UNWIND_USER_BUDGET, 1,
				   (u64[]){ LEAF });
	}
}

static void sframe_walk_counts_searches(struct kunit *test)
{
	struct sframe_test *t = test->priv;
	DEFINE_TRACE(trace);

	sframe_test_warm(test);
	t->access = UNWIND_USER_RESIDENT;
	sframe_test_walk(test, &trace, LEAF, 0, -1);
	KUNIT_EXPECT_EQ(test, trace.nr, 3);
	KUNIT_EXPECT_EQ(test, trace.searched, 0);
	/* Of another instruction, with the same callers. */
	sframe_test_walk(test, &trace, LEAF + 4, 0, -1);
	KUNIT_EXPECT_EQ(test, trace.searched, 1);

	/* The rows go with their table. */
	KUNIT_ASSERT_EQ(test, vm_munmap(t->text, PAGE_SIZE), 0);
	sframe_test_walk(test, &trace, LEAF, 0, -1);
	KUNIT_EXPECT_EQ(test, trace.searched, trace.nr);
}

static void sframe_test_pack(struct kunit *test, u64 ip, s32 cfa, s32 fp, bool fits)
{
	const struct sframe_row row = {
		.cfa = { .base = SFRAME_BASE_SP, .offset = cfa },
		.ra = { .base = SFRAME_BASE_CFA, .offset = -8, .deref = true },
		.fp = { .base = SFRAME_BASE_CFA, .offset = fp, .deref = true },
		.plain = true,
	};
	u64 word = row_pack(ip, 0, &row);
	struct sframe_row back;

	KUNIT_EXPECT_EQ_MSG(test, !!word, fits, "%#llx %d %d", ip, cfa, fp);
	if (!word)
		return;
	KUNIT_EXPECT_TRUE(test, row_is_at(word, ip));
	KUNIT_EXPECT_FALSE(test, row_is_at(word, ip ^ 0x1000));
	KUNIT_EXPECT_EQ(test, row_unpack(word, &back), 0);
	KUNIT_EXPECT_EQ(test, back.cfa.offset, cfa);
	KUNIT_EXPECT_EQ(test, back.fp.offset, fp);
}

static void sframe_rows_are_packed_whole_or_not_at_all(struct kunit *test)
{
	const u64 ip = 0x401234, top = BIT_ULL(47);

	/* Distances at the ends of what a word holds. */
	sframe_test_pack(test, ip, 16, -16, true);
	sframe_test_pack(test, ip, 0, -4088, true);
	sframe_test_pack(test, ip, 131064, -16, true);
	sframe_test_pack(test, ip, 131072, -16, false);
	sframe_test_pack(test, ip, 16, -4096, false);
	/* The return address is there; or above it. */
	sframe_test_pack(test, ip, 16, -8, false);
	sframe_test_pack(test, ip, 16, 16, false);
	/* No words, or down the stack. */
	sframe_test_pack(test, ip, 12, -16, false);
	sframe_test_pack(test, ip, 16, -20, false);
	sframe_test_pack(test, ip, -8, -16, false);
	sframe_test_pack(test, ip, S32_MIN, S32_MIN, false);
	sframe_test_pack(test, ip, S32_MAX, S32_MAX, false);
	/* Addresses. */
	sframe_test_pack(test, 0, 16, -16, true);
	sframe_test_pack(test, top - 1, 16, -16, true);
	sframe_test_pack(test, top, 16, -16, false);
	sframe_test_pack(test, ~0ULL, 16, -16, false);
}

/* Whether the table of @ip (an offset in the text) is found. */
static int sframe_test_lookup(struct kunit *test, unsigned long ip)
{
	struct sframe_reader reader = {
		.read = unwind_user_read_faultable,
		.budget = 4096,
	};
	struct sframe_test *t = test->priv;
	unsigned int searched = 0;
	struct sframe_row row;

	return sframe_lookup(&reader, t->text + ip, &row, &searched);
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
	/* Not executable: */
	bad = t->region;
	bad.text_start = t->stack;
	KUNIT_EXPECT_EQ(test, sframe_test_add(test, &bad), -EFAULT);
	/* Not mapped: */
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

static void sframe_tables_go_with_their_own_bytes(struct kunit *test)
{
	struct sframe_test *t = test->priv;

	sframe_test_register(test);
	KUNIT_ASSERT_EQ(test, vm_munmap(t->table, PAGE_SIZE), 0);
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
	/* And the place is free for another table. */
	KUNIT_EXPECT_EQ(test, sframe_test_add(test, &t->region), 0);
}

/* What sframe_test_lookup() of leaf says in a forked copy of this test's mm. */
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

static void sframe_tables_are_copied_by_fork(struct kunit *test)
{
	sframe_test_register(test);
	/* The copy is there; what it speaks of is not mapped in the other mm. */
	KUNIT_EXPECT_EQ(test, sframe_test_lookup_forked(test), -EFAULT);
	KUNIT_EXPECT_EQ(test, sframe_test_lookup(test, LEAF), 0);
}

/* Else the table would describe what the child maps there. */
static void sframe_tables_stay_behind_with_memory_that_does(struct kunit *test)
{
	struct sframe_test *t = test->priv;

	sframe_test_register(test);
	mmap_write_lock(current->mm);
	vm_flags_set(vma_lookup(current->mm, t->text), VM_DONTCOPY);
	mmap_write_unlock(current->mm);
	KUNIT_EXPECT_EQ(test, sframe_test_lookup_forked(test), -ENXIO);
}

static int sframe_test_discovered(struct kunit *test)
{
	struct sframe_test *t = test->priv;
	const struct unwind_table_source source = {
		.bytes = t->build.bytes,
		.len = t->build.len,
		.start = t->table,
		.text_start = t->text,
		.text_end = t->text + TEXT_SIZE,
	};
	struct unwind_part part = { .size = TEXT_SIZE };
	int ret;

	part.segment = unwind_segment_build(&source, GFP_KERNEL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, part.segment);
	mmap_write_lock(current->mm);
	ret = sframe_attach(current->mm, &part, t->text, t->text + TEXT_SIZE, 0);
	mmap_write_unlock(current->mm);
	unwind_segment_put(part.segment);
	return ret;
}

static void sframe_discovered_table_gives_way(struct kunit *test)
{
	struct sframe_test *t = test->priv;

	KUNIT_EXPECT_EQ(test, sframe_test_discovered(test), 0);
	KUNIT_EXPECT_EQ(test, sframe_test_discovered(test), -EEXIST);
	KUNIT_EXPECT_EQ(test, sframe_test_lookup(test, LEAF), 0);
	sframe_test_register(test);
	KUNIT_EXPECT_EQ(test, sframe_test_lookup(test, LEAF), 0);
	/* And not the other way round. */
	KUNIT_EXPECT_EQ(test, sframe_test_discovered(test), -EEXIST);
	KUNIT_EXPECT_EQ(test, sframe_test_add(test, &t->region), -EEXIST);
}

static bool sframe_test_is_known(struct kunit *test)
{
	struct sframe_test *t = test->priv;
	struct sframe_index *index = current->mm->sframe;
	bool known;

	mmap_read_lock(current->mm);
	known = index && sframe_is_known(index, t->text, t->text + TEXT_SIZE);
	mmap_read_unlock(current->mm);
	return known;
}

static int sframe_test_without(struct kunit *test, unsigned long start,
			       unsigned long end)
{
	int ret;

	mmap_write_lock(current->mm);
	ret = sframe_add_without(current->mm, start, end, SFRAME_WITHOUT);
	mmap_write_unlock(current->mm);
	return ret;
}

static void sframe_mapping_without_table_is_known_while_mapped(struct kunit *test)
{
	struct sframe_test *t = test->priv;

	KUNIT_EXPECT_FALSE(test, sframe_test_is_known(test));
	KUNIT_EXPECT_EQ(test, sframe_test_without(test, t->text, t->text + TEXT_SIZE), 0);
	KUNIT_EXPECT_TRUE(test, sframe_test_is_known(test));
	/* It is no table. */
	KUNIT_EXPECT_FALSE(test, unwind_user_has_tables());
	/* A table may be registered nevertheless, and taken back. */
	sframe_test_register(test);
	KUNIT_EXPECT_EQ(test, sframe_test_lookup(test, LEAF), 0);
	KUNIT_EXPECT_TRUE(test, unwind_user_has_tables());
	KUNIT_ASSERT_EQ(test, vm_munmap(t->table, PAGE_SIZE), 0);
	KUNIT_EXPECT_TRUE(test, sframe_test_is_known(test));
	KUNIT_ASSERT_EQ(test, vm_munmap(t->text, PAGE_SIZE), 0);
	KUNIT_EXPECT_FALSE(test, sframe_test_is_known(test));
}

static void sframe_mappings_without_table_are_bounded(struct kunit *test)
{
	/* Nothing is mapped there; the tree does not mind. */
	unsigned long start = SZ_4G;
	unsigned int i;
	int ret = 0;

	for (i = 0; i < 10000 && !ret; i++, start += 2 * PAGE_SIZE)
		ret = sframe_test_without(test, start, start + PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, ret, -ENOSPC);
	KUNIT_EXPECT_EQ(test, i, 8193);
	/* One for all of them makes room for the rest. */
	mmap_write_lock(current->mm);
	__sframe_unmap(current->mm, SZ_4G, start);
	mmap_write_unlock(current->mm);
	KUNIT_EXPECT_EQ(test, sframe_test_without(test, SZ_4G, start), 0);
}

static struct kunit_case sframe_cases[] = {
	KUNIT_CASE(sframe_walk_follows_rows_to_the_outermost_frame),
	KUNIT_CASE(sframe_walk_looks_callers_up_at_the_call),
	KUNIT_CASE(sframe_walk_goes_on_by_frame_pointer_without_table),
	KUNIT_CASE(sframe_walk_follows_a_signal_frame),
	KUNIT_CASE(sframe_walk_follows_a_realigned_stack),
	KUNIT_CASE(sframe_walk_without_register_says_so),
	KUNIT_CASE(sframe_walk_knows_registers_that_a_signal_saved),
	KUNIT_CASE(sframe_walk_follows_a_marked_signal_frame),
	KUNIT_CASE(sframe_walk_ends_in_a_circle_of_signal_frames),
	KUNIT_CASE(sframe_walk_stops_when_the_stack_does_not_rise),
	KUNIT_CASE(sframe_walk_stops_at_memory_that_is_not_there),
	KUNIT_CASE(sframe_walk_stops_when_there_is_no_more_room),
	KUNIT_CASE(sframe_walk_without_rule_says_so),
	KUNIT_CASE(sframe_walk_with_faults_disabled),
	KUNIT_CASE(sframe_rows_need_no_table_once_found),
	KUNIT_CASE(sframe_rows_go_with_their_table),
	KUNIT_CASE(sframe_walk_ends_in_a_function_without_rows),
	KUNIT_CASE(sframe_walk_ends_when_it_has_passed_too_many_rows),
	KUNIT_CASE(sframe_walk_counts_searches),
	KUNIT_CASE(sframe_rows_are_packed_whole_or_not_at_all),
	KUNIT_CASE(sframe_register_refuses_bad_regions),
	KUNIT_CASE(sframe_tables_go_with_their_text),
	KUNIT_CASE(sframe_tables_go_with_their_own_bytes),
	KUNIT_CASE(sframe_tables_go_when_their_text_is_mapped_over),
	KUNIT_CASE(sframe_tables_are_copied_by_fork),
	KUNIT_CASE(sframe_tables_stay_behind_with_memory_that_does),
	KUNIT_CASE(sframe_discovered_table_gives_way),
	KUNIT_CASE(sframe_mapping_without_table_is_known_while_mapped),
	KUNIT_CASE(sframe_mappings_without_table_are_bounded),
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
