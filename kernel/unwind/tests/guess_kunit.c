// SPDX-License-Identifier: GPL-2.0
/*
 * Tests walks through code without a table.
 */

#include <linux/sizes.h>

#include "../walk.h"
#include "walk_kunit.h"

#define OTHER		(NO_TABLE + 0x40)

static void guess_walk_goes_on_by_frame_pointer_without_table(struct kunit *test)
{
	struct sframe_test *t = test->priv;
	u64 stack[] = {
		/* The caller of leaf keeps a frame pointer; the next caller has a row. */
		t->text + NO_TABLE, 0x1111,
		t->stack + 0x38, t->text + MIDDLE + 8,
		0x2222, t->text + OUTERMOST + 2,
	};
	DEFINE_TRACE(trace);

	sframe_test_register(test);
	sframe_test_write(test, t->stack, stack, sizeof(stack));
	sframe_test_write_call(test, MIDDLE + 8, NO_TABLE);
	sframe_test_walk(test, &trace, LEAF, 0, 0x10);
	sframe_test_expect(test, &trace, UNWIND_USER_COMPLETE, 4,
			   (u64[]){ LEAF, NO_TABLE, MIDDLE + 8, OUTERMOST + 2 });

	/* A word that does not follow a call, or is no address of code, ends the walk. */
	sframe_test_write(test, t->text + MIDDLE + 3, (u8[]){ 0x90 }, 1);
	sframe_test_walk(test, &trace, LEAF, 0, 0x10);
	sframe_test_expect(test, &trace, UNWIND_USER_NO_ROW, 2,
			   (u64[]){ LEAF, NO_TABLE });
	stack[3] = t->stack;
	sframe_test_write(test, t->stack, stack, sizeof(stack));
	sframe_test_walk(test, &trace, LEAF, 0, 0x10);
	sframe_test_expect(test, &trace, UNWIND_USER_NO_ROW, 2,
			   (u64[]){ LEAF, NO_TABLE });
}

/* A frame like that of a JIT's trampoline: one word of room, then the return address */
static void guess_walk_looks_for_a_return_address_without_table(struct kunit *test)
{
	struct sframe_test *t = test->priv;
	u64 stack[] = { 0x1111, t->text + MIDDLE + 8, 0x2222, t->text + OUTERMOST + 2 };
	u64 no_frame[] = { 0x3333, 0x4444 };
	enum unwind_user_access access;
	DEFINE_TRACE(trace);

	sframe_test_register(test);
	sframe_test_write(test, t->stack + 0x800, no_frame, sizeof(no_frame));
	sframe_test_write(test, t->stack, stack, sizeof(stack));
	sframe_test_write_indirect_call(test, MIDDLE + 8);
	sframe_test_write_call(test, OUTERMOST + 2, MIDDLE);
	for (access = UNWIND_USER_RESIDENT; access <= UNWIND_USER_FAULTABLE; access++) {
		t->access = access;
		sframe_test_walk(test, &trace, NO_TABLE, 0, 0x800);
		sframe_test_expect(test, &trace, UNWIND_USER_COMPLETE, 3,
				   (u64[]){ NO_TABLE, MIDDLE + 8, OUTERMOST + 2 });
	}
	/* A direct call has to target the code of the frame. */
	sframe_test_write_call(test, MIDDLE + 8, NO_TABLE);
	sframe_test_walk(test, &trace, NO_TABLE + 4, 0, 0x800);
	KUNIT_EXPECT_EQ(test, trace.end, UNWIND_USER_COMPLETE);
	sframe_test_write_call(test, MIDDLE + 8, NO_TABLE + 8);
	sframe_test_write_call(test, OUTERMOST + 2, NO_TABLE + 8);
	sframe_test_walk(test, &trace, NO_TABLE + 4, 0, 0x800);
	sframe_test_expect(test, &trace, UNWIND_USER_NO_ROW, 1, (u64[]){ NO_TABLE + 4 });
}

/* Otherwise the walk would report stale return addresses of earlier calls. */
static void guess_walk_forgets_a_guess_that_leads_nowhere(struct kunit *test)
{
	struct sframe_test *t = test->priv;
	u64 stack[] = { t->text + MIDDLE + 8, 0x1111, t->text + OUTERMOST + 2 };
	u64 no_frame[] = { 0x3333, 0x4444 };
	DEFINE_TRACE(trace);

	sframe_test_register(test);
	sframe_test_write(test, t->stack + 0x800, no_frame, sizeof(no_frame));
	sframe_test_write(test, t->stack, stack, sizeof(stack));
	sframe_test_write_indirect_call(test, MIDDLE + 8);
	sframe_test_walk(test, &trace, NO_TABLE, 0, 0x800);
	sframe_test_expect(test, &trace, UNWIND_USER_NO_ROW, 1, (u64[]){ NO_TABLE });
	sframe_test_walk(test, &trace, NO_TABLE, 0, -1);
	sframe_test_expect(test, &trace, UNWIND_USER_NO_ROW, 1, (u64[]){ NO_TABLE });
	sframe_test_write_call(test, OUTERMOST + 2, MIDDLE);
	sframe_test_walk(test, &trace, NO_TABLE, 0, -1);
	sframe_test_expect(test, &trace, UNWIND_USER_COMPLETE, 3,
			   (u64[]){ NO_TABLE, MIDDLE + 8, OUTERMOST + 2 });
}

/* Have entries for @max frames, and a stack of @words words, which are zero. */
static u64 *sframe_test_deep(struct kunit *test, struct unwind_user_trace *trace,
			     unsigned int max, unsigned int words)
{
	u64 *stack = kunit_kcalloc(test, words, sizeof(u64), GFP_KERNEL);
	struct sframe_test *t = test->priv;

	*trace = (struct unwind_user_trace){ .max = max };
	trace->entries = kunit_kcalloc(test, max, sizeof(u64), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, trace->entries);
	KUNIT_ASSERT_NOT_NULL(test, stack);
	t->stack = kunit_vm_mmap(test, NULL, 0, words * sizeof(u64), PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, 0);
	KUNIT_ASSERT_FALSE(test, IS_ERR_OR_NULL((void *)t->stack));
	return stack;
}

/* Walk a stack of @nr frames without tables; each has @words words, the return address last. */
static void sframe_test_guess(struct kunit *test, struct unwind_user_trace *trace, unsigned int nr,
			      unsigned int words)
{
	u64 *stack = sframe_test_deep(test, trace, nr + 8, nr * words + 8);
	struct sframe_test *t = test->priv;
	unsigned int i;

	for (i = words; i <= nr * words; i += words)
		stack[i] = t->text + NO_TABLE + 16;
	stack[nr * words] = t->text + OUTERMOST + 2;
	sframe_test_write(test, t->stack, stack, (nr * words + 8) * sizeof(u64));
	/* The frame pointer lies below the stack pointer, so the walk has to scan. */
	sframe_test_walk(test, trace, NO_TABLE, sizeof(u64), 0);
}

/*
 * A hostile stack must not make a walk in NMI scan forever.  The walk goes on as one without
 * tables does.
 */
static void guess_walk_scans_only_so_much(struct kunit *test)
{
	struct sframe_test *t = test->priv;
	struct unwind_user_trace trace;
	unsigned long records;

	sframe_test_register(test);
	sframe_test_write_indirect_call(test, NO_TABLE + 16);
	sframe_test_write_indirect_call(test, OUTERMOST + 2);
	/* As many as perf stores by default, if each caller is in the last place */
	sframe_test_guess(test, &trace, 127, 4);
	KUNIT_EXPECT_EQ(test, trace.end, UNWIND_USER_COMPLETE);
	KUNIT_EXPECT_EQ(test, trace.nr, 128);
	sframe_test_guess(test, &trace, 400, 2);
	sframe_test_expect(test, &trace, UNWIND_USER_NO_ROW, 1, (u64[]){ NO_TABLE });
	/* The register leads to data, and the data to a frame record. */
	records = t->stack + 800 * sizeof(u64);
	sframe_test_write(test, records, (u64[]){ records + 16, 0x1111, 0, t->text + OTHER }, 32);
	sframe_test_walk(test, &trace, NO_TABLE, sizeof(u64), records - t->stack);
	sframe_test_expect(test, &trace, UNWIND_USER_COMPLETE, 2, (u64[]){ NO_TABLE, OTHER });
}

/* The walk checks the first rows after a scan; to check all would cost too much. */
static void guess_walk_checks_only_so_many_rows(struct kunit *test)
{
	const unsigned int nr = 600;
	struct sframe_test *t = test->priv;
	struct unwind_user_trace trace;
	unsigned int i;
	u64 *stack;

	sframe_test_register(test);
	sframe_test_write_indirect_call(test, MIDDLE + 8);
	sframe_test_write_indirect_call(test, OUTERMOST + 2);
	stack = sframe_test_deep(test, &trace, nr + 8, 2 * nr + 8);
	for (i = 0; i < nr; i++)
		stack[2 * i + 1] = t->text + MIDDLE + 8;
	stack[2 * nr + 1] = t->text + OUTERMOST + 2;
	sframe_test_write(test, t->stack, stack, (2 * nr + 8) * sizeof(u64));
	sframe_test_walk(test, &trace, NO_TABLE, sizeof(u64), -t->stack);
	KUNIT_EXPECT_EQ(test, trace.end, UNWIND_USER_COMPLETE);
	KUNIT_EXPECT_EQ(test, trace.nr, nr + 2);
	/* Among the first rows, a return address without a call before it refutes the scan. */
	stack[2 * 8 + 1] = t->text + MIDDLE + 4;
	sframe_test_write(test, t->stack, stack, (2 * nr + 8) * sizeof(u64));
	sframe_test_walk(test, &trace, NO_TABLE, sizeof(u64), -t->stack);
	sframe_test_expect(test, &trace, UNWIND_USER_NO_ROW, 1, (u64[]){ NO_TABLE });
}

static void guess_calls_are_told_by_their_code(struct kunit *test)
{
	static const struct {
		const char	*what;
		u8		len;
		u8		code[7];
		bool		is_call;
	} cases[] = {
		{ "*%rax", 2, { 0xff, 0xd0 }, true },
		{ "*%r11", 3, { 0x41, 0xff, 0xd3 }, true },
		{ "*(%rax)", 2, { 0xff, 0x10 }, true },
		{ "*(%rsp)", 3, { 0xff, 0x14, 0x24 }, true },
		{ "*8(%rbp)", 3, { 0xff, 0x55, 0x08 }, true },
		{ "*8(%rsp)", 4, { 0xff, 0x54, 0x24, 0x08 }, true },
		{ "*(%rax,%rcx,8)", 3, { 0xff, 0x14, 0xc8 }, true },
		{ "*0x10(%rip)", 6, { 0xff, 0x15, 0x10, 0, 0, 0 }, true },
		{ "*0x100(%rax)", 6, { 0xff, 0x90, 0, 1, 0, 0 }, true },
		{ "*0x100(%rsp)", 7, { 0xff, 0x94, 0x24, 0, 1, 0, 0 }, true },
		{ "*0x100(,%rax,8)", 7, { 0xff, 0x14, 0xc5, 0, 1, 0, 0 }, true },
		{ "jmp *%rax", 2, { 0xff, 0xe0 }, false },
		{ "push (%rax)", 2, { 0xff, 0x30 }, false },
		{ "cut off", 5, { 0xff, 0x15, 0x10, 0, 0 }, false },
		{ "too long", 3, { 0xff, 0xd0, 0x90 }, false },
		{ "one byte", 1, { 0xff }, false },
	};
	unsigned long target;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		KUNIT_EXPECT_EQ_MSG(test,
				    arch_unwind_is_indirect_call(cases[i].code, cases[i].len),
				    cases[i].is_call, "%s", cases[i].what);
	KUNIT_EXPECT_TRUE(test, arch_unwind_is_direct_call((u8[]){ 0xe8, 0xfb, 0xff, 0xff, 0xff },
							   5, 0x1005, &target));
	KUNIT_EXPECT_EQ(test, target, 0x1000);
	KUNIT_EXPECT_FALSE(test, arch_unwind_is_direct_call((u8[]){ 0xfb, 0xff, 0xff, 0xff },
							    4, 0x1005, &target));
}

/*
 * A handler that keeps a frame pointer returns to the signal trampoline, although no call
 * instruction precedes that.
 */
static void guess_walk_leaves_a_handler_without_table(struct kunit *test)
{
	struct sframe_test *t = test->priv;
	u64 handler[] = { 0x1111, t->text + TRAMPOLINE };
	u64 interrupted[] = { t->text + OUTERMOST + 2 };
	DEFINE_TRACE(trace);

	sframe_test_register(test);
	sframe_test_write(test, t->stack + 0x800, handler, sizeof(handler));
	sframe_test_write_interrupted(test, t->stack + 0x810, t->text + LEAF, t->stack, 0);
	sframe_test_write(test, t->stack, interrupted, sizeof(interrupted));
	sframe_test_walk(test, &trace, NO_TABLE, 0x7f0, 0x800);
	sframe_test_expect(test, &trace, UNWIND_USER_COMPLETE, 4,
			   (u64[]){ NO_TABLE, TRAMPOLINE, LEAF, OUTERMOST + 2 });
}

static void guess_walk_without_rule_says_so(struct kunit *test)
{
	DEFINE_TRACE(trace);

	/* The frame pointer register does not hold a frame pointer. */
	sframe_test_walk(test, &trace, NO_TABLE, 0x100, 0x80);
	sframe_test_expect(test, &trace, UNWIND_USER_NO_TABLE, 1,
			   (u64[]){ NO_TABLE });
}

/* Write to the stack and walk it from code without a table. */
static void guess_walk(struct kunit *test, struct unwind_user_trace *trace, const u64 *stack,
		       size_t size, long fp)
{
	struct sframe_test *t = test->priv;

	sframe_test_write(test, t->stack, stack, size);
	sframe_test_walk(test, trace, NO_TABLE, 0, fp);
}

/* An interpreter pushes the address that its callee has to return to, and jumps. */
static void guess_follows_return_addresses_that_were_pushed(struct kunit *test)
{
	struct sframe_test *t = test->priv;
	u64 stack[] = {
		t->stack + 0x10, t->text + OTHER,
		t->stack + 0x20, t->text + OTHER + 0x10,
		0, t->text + OUTERMOST + 2,
	};
	enum unwind_user_access access;
	DEFINE_TRACE(trace);

	sframe_test_register(test);
	/* A scan must not find the call, which leads to other code. */
	sframe_test_write_call(test, OUTERMOST + 2, NO_TABLE + 0x100);
	for (access = UNWIND_USER_RESIDENT; access <= UNWIND_USER_FAULTABLE; access++) {
		t->access = access;
		guess_walk(test, &trace, stack, sizeof(stack), 0);
		sframe_test_expect(test, &trace, UNWIND_USER_COMPLETE, 4,
				   (u64[]){ NO_TABLE, OTHER, OTHER + 0x10, OUTERMOST + 2 });
	}
	/* Data is no return address; as without tables, the walk goes on above it. */
	stack[3] = t->stack;
	for (access = UNWIND_USER_RESIDENT; access <= UNWIND_USER_FAULTABLE; access++) {
		t->access = access;
		guess_walk(test, &trace, stack, sizeof(stack), 0);
		sframe_test_expect(test, &trace, UNWIND_USER_COMPLETE, 3,
				   (u64[]){ NO_TABLE, OTHER, OUTERMOST + 2 });
	}
	stack[2] = 0;
	guess_walk(test, &trace, stack, sizeof(stack), 0);
	sframe_test_expect(test, &trace, UNWIND_USER_NO_ROW, 2, (u64[]){ NO_TABLE, OTHER });
}

#define GUESS_RECORDS	400
#define GUESS_MAPPINGS	(UNWIND_USER_BARE + 2)

/*
 * Write @nr frame records to the stack, with code in @nr_code mappings in turn, and one more that
 * leads to @last with the frame pointer @fp.  Returns the stack pointer there.
 */
static unsigned long guess_write_records(struct kunit *test, const unsigned long *code,
					 unsigned int nr_code, unsigned int nr, u64 fp, u64 last)
{
	struct sframe_test *t = test->priv;
	u64 record[2];
	unsigned int i;

	for (i = 0; i <= nr; i++) {
		record[0] = i < nr ? t->stack + (i + 1) * sizeof(record) : fp;
		record[1] = i < nr ? code[i % nr_code] + 0x100 + i : last;
		sframe_test_write(test, t->stack + i * sizeof(record), record, sizeof(record));
	}
	return t->stack + i * sizeof(record);
}

/* Walk them in each way, and expect to find them all, then @last and, unless it is 0, @caller. */
static void guess_expect_records(struct kunit *test, struct unwind_user_trace *trace,
				 const unsigned long *code, unsigned int nr_code, unsigned int nr,
				 u64 last, u64 caller)
{
	static const enum unwind_user_access ways[] = {
		UNWIND_USER_RESIDENT, UNWIND_USER_FAULTABLE,
	};
	struct sframe_test *t = test->priv;
	const u64 *found = trace->entries;
	unsigned int i, way;

	for (way = 0; way < ARRAY_SIZE(ways); way++) {
		t->access = ways[way];
		sframe_test_walk(test, trace, NO_TABLE, 0, 0);
		KUNIT_EXPECT_EQ(test, trace->end, UNWIND_USER_COMPLETE);
		KUNIT_ASSERT_EQ(test, trace->nr, nr + 2 + !!caller);
		KUNIT_EXPECT_EQ(test, found[0], t->text + NO_TABLE);
		for (i = 0; i < nr; i++)
			KUNIT_EXPECT_EQ_MSG(test, found[i + 1], code[i % nr_code] + 0x100 + i,
					    "frame %u", i + 1);
		KUNIT_EXPECT_EQ(test, found[nr + 1], last);
		if (caller)
			KUNIT_EXPECT_EQ(test, found[nr + 2], caller);
	}
}

/* Code without tables, in more mappings than a walk remembers */
static void guess_follows_records_through_mappings(struct kunit *test)
{
	struct sframe_test *t = test->priv;
	unsigned long code[GUESS_MAPPINGS], outermost = t->text + OUTERMOST + 2, last, sp;
	struct unwind_user_trace trace;
	unsigned int i, nr;

	sframe_test_register(test);
	sframe_test_write_call(test, OUTERMOST + 2, NO_TABLE);
	sframe_test_deep(test, &trace, GUESS_RECORDS + 8, 2 * GUESS_RECORDS + 0x200);
	for (i = 0; i < GUESS_MAPPINGS; i++) {
		code[i] = sframe_test_map(test, PROT_READ | PROT_WRITE | PROT_EXEC);
		/* The walk reads resident code only. */
		sframe_test_write(test, code[i], (u8[]){ 0x90 }, 1);
		/* The next one has to be another mapping. */
		sframe_test_map(test, PROT_READ);
	}
	for (nr = 1; nr <= GUESS_MAPPINGS; nr++) {
		guess_write_records(test, code, nr, GUESS_RECORDS, 0, outermost);
		guess_expect_records(test, &trace, code, nr, GUESS_RECORDS, outermost, 0);
	}
	/* They cost nothing, so the walk may still scan where the frame pointer leads nowhere. */
	last = t->text + OTHER;
	sp = guess_write_records(test, code, 3, GUESS_RECORDS, 0x1111, last);
	sframe_test_write(test, sp, (u64[]){ outermost }, sizeof(u64));
	guess_expect_records(test, &trace, code, 3, GUESS_RECORDS, last, outermost);
	/* A signal trampoline at the start, or at the end, of such a mapping */
	for (i = 0; i < 2; i++) {
		last = code[1] + (i ? PAGE_SIZE - ARCH_UNWIND_SIGRETURN_LEN : 0);
		sframe_test_write(test, last, ARCH_UNWIND_SIGRETURN_CODE,
				  ARCH_UNWIND_SIGRETURN_LEN);
		sp = guess_write_records(test, code, 2, 8, 0x1111, last);
		sframe_test_write_interrupted(test, sp, outermost, t->stack + 0x800, 0);
		guess_expect_records(test, &trace, code, 2, 8, last, outermost);
	}
	/* An address of data is no return address; the walk goes on above it. */
	last = sframe_test_map(test, PROT_READ | PROT_WRITE) + 0x100;
	sp = guess_write_records(test, code, 3, 8, t->stack + 0x800, last);
	sframe_test_write(test, t->stack + 0x800, (u64[]){ 0, outermost }, 2 * sizeof(u64));
	guess_expect_records(test, &trace, code, 3, 8, outermost, 0);
}

/* Code that a table covers, but knows nothing of, as what interpreters generate when built */
static void guess_follows_records_through_code_without_rows(struct kunit *test)
{
	struct sframe_test *t = test->priv;
	unsigned long code[] = { t->text + NO_TABLE, t->text + NO_TABLE + 0x200 };
	u64 row = t->text + MIDDLE + 8, outermost = t->text + OUTERMOST + 2;
	struct unwind_user_trace trace;
	unsigned long sp;

	sframe_test_register(test);
	sframe_test_write_call(test, MIDDLE + 8, NO_TABLE);
	sframe_test_write_call(test, OUTERMOST + 2, MIDDLE);
	sframe_test_deep(test, &trace, GUESS_RECORDS + 8, 2 * GUESS_RECORDS + 8);
	guess_write_records(test, code, 2, GUESS_RECORDS, 0, outermost);
	guess_expect_records(test, &trace, code, 2, GUESS_RECORDS, outermost, 0);
	/* A frame with a row, from which the walk goes on by that */
	sp = guess_write_records(test, code, 2, 2, 0x1111, row);
	sframe_test_write(test, sp, (u64[]){ 0x2222, outermost }, 2 * sizeof(u64));
	guess_expect_records(test, &trace, code, 2, 2, row, outermost);
	/* An address with a row, but without a call before it, is no return address. */
	sp = guess_write_records(test, code, 2, 2, t->stack + 0x800, row - 4);
	sframe_test_write(test, sp, (u64[]){ 0, 0 }, 2 * sizeof(u64));
	sframe_test_write(test, t->stack + 0x800, (u64[]){ 0, outermost }, 2 * sizeof(u64));
	guess_expect_records(test, &trace, code, 2, 2, outermost, 0);
}

/* A register that holds 0 is no frame pointer yet; one that a function has saved is. */
static void guess_ends_at_a_frame_pointer_of_0(struct kunit *test)
{
	struct sframe_test *t = test->priv;
	u64 stack[] = { 0, t->text + OTHER, 0, 0 };
	DEFINE_TRACE(trace);

	sframe_test_register(test);
	guess_walk(test, &trace, stack, sizeof(stack), 0);
	sframe_test_expect(test, &trace, UNWIND_USER_COMPLETE, 2, (u64[]){ NO_TABLE, OTHER });
	guess_walk(test, &trace, stack, sizeof(stack), -1);
	sframe_test_expect(test, &trace, UNWIND_USER_NO_ROW, 1, (u64[]){ NO_TABLE });
	/* The same for a return address of 0. */
	guess_walk(test, &trace, stack, sizeof(stack), 0x10);
	sframe_test_expect(test, &trace, UNWIND_USER_NO_ROW, 1, (u64[]){ NO_TABLE });
}

/* The frames at the end of @stack called those at its start, further up in the address space. */
static void guess_follows_a_switch_of_stacks(struct kunit *test)
{
	struct sframe_test *t = test->priv;
	unsigned long upper = sframe_test_map(test, PROT_READ | PROT_WRITE);
	unsigned long lower = sframe_test_map(test, PROT_READ | PROT_WRITE);
	u64 on_upper[2], on_lower[] = { 0, t->text + OUTERMOST + 2 };
	DEFINE_TRACE(trace);

	if (upper < lower)
		swap(upper, lower);
	on_upper[0] = lower + 0x800;
	on_upper[1] = t->text + OTHER;
	sframe_test_register(test);
	sframe_test_write_call(test, OUTERMOST + 2, NO_TABLE);
	sframe_test_write(test, upper, on_upper, sizeof(on_upper));
	sframe_test_write(test, lower + 0x800, on_lower, sizeof(on_lower));
	t->stack = upper;
	sframe_test_walk(test, &trace, NO_TABLE, 0, 0);
	sframe_test_expect(test, &trace, UNWIND_USER_COMPLETE, 3,
			   (u64[]){ NO_TABLE, OTHER, OUTERMOST + 2 });
}

/*
 * The register holds an array of addresses of code, as in a function that calls what it has
 * compiled.  A return address that a call stands before is better evidence, but not more.
 */
static void guess_takes_an_array_of_functions_for_no_frame(struct kunit *test)
{
	struct sframe_test *t = test->priv;
	unsigned long heap = sframe_test_map(test, PROT_READ | PROT_WRITE | PROT_EXEC);
	u64 functions[] = { t->text + OTHER, t->text + OTHER + 0x10 };
	u64 stack[] = { t->text + MIDDLE + 8, 0x1111, t->text + OUTERMOST + 2 };
	DEFINE_TRACE(trace);

	/* Frame pointers of this test lie above the stack pointer. */
	if (heap < t->stack)
		swap(heap, t->stack);
	sframe_test_register(test);
	sframe_test_write_indirect_call(test, MIDDLE + 8);
	sframe_test_write_call(test, OUTERMOST + 2, MIDDLE);
	sframe_test_write(test, heap, functions, sizeof(functions));
	guess_walk(test, &trace, stack, sizeof(stack), heap - t->stack);
	sframe_test_expect(test, &trace, UNWIND_USER_COMPLETE, 3,
			   (u64[]){ NO_TABLE, MIDDLE + 8, OUTERMOST + 2 });
	/* Without such evidence, or if it leads nowhere, it may be a frame on another stack. */
	functions[0] = 0;
	sframe_test_write(test, heap, functions, sizeof(functions));
	stack[2] = 0x2222;
	guess_walk(test, &trace, stack, sizeof(stack), heap - t->stack);
	sframe_test_expect(test, &trace, UNWIND_USER_COMPLETE, 2,
			   (u64[]){ NO_TABLE, OTHER + 0x10 });
	stack[0] = 0x1111;
	guess_walk(test, &trace, stack, sizeof(stack), heap - t->stack);
	sframe_test_expect(test, &trace, UNWIND_USER_COMPLETE, 2,
			   (u64[]){ NO_TABLE, OTHER + 0x10 });
}

/*
 * A function switches to a stack that is amid the first one, and back.  Where the walk ends, it
 * must not go on with frames that it has been to.
 */
static void guess_goes_to_no_frame_twice(struct kunit *test)
{
	struct sframe_test *t = test->priv;
	/* Executable, so that it is not merged with the first stack. */
	unsigned long other = sframe_test_map(test, PROT_READ | PROT_WRITE | PROT_EXEC);
	u64 leaf[] = { other, t->text + OTHER };
	u64 on_other[] = { t->stack + 0x800, t->text + OTHER + 8 };
	u64 first[] = { 1, t->text + NO_TABLE + 0x60 };
	u64 entries[64];
	struct unwind_user_trace trace = { .entries = entries, .max = ARRAY_SIZE(entries) };

	sframe_test_register(test);
	/* Either stack may be the lower one. */
	sframe_test_write_indirect_call(test, OTHER);
	sframe_test_write_indirect_call(test, OTHER + 8);
	sframe_test_write_indirect_call(test, NO_TABLE + 0x60);
	sframe_test_write(test, other, on_other, sizeof(on_other));
	sframe_test_write(test, t->stack + 0x800, first, sizeof(first));
	t->stack += 0x100;
	guess_walk(test, &trace, leaf, sizeof(leaf), 0);
	sframe_test_expect(test, &trace, UNWIND_USER_NO_ROW, 4,
			   (u64[]){ NO_TABLE, OTHER, OTHER + 8, NO_TABLE + 0x60 });
}

/*
 * As in Go: rows that do not say where the frame pointer is saved, so that it still leads to
 * the innermost frame's caller where code without a table follows.
 */
static void guess_goes_by_no_frame_pointer_of_a_callee(struct kunit *test)
{
	struct sframe_test *t = test->priv;
	u64 stack[] = {
		t->text + MIDDLE + 8,
		t->stack + 0x18, t->text + MIDDLE + 8,
		0, t->text + NO_TABLE + 0x20,
		0x1111, 0x1111, 0x1111,
		0, t->text + OUTERMOST + 2,
	};
	u64 ips[] = { LEAF, MIDDLE + 8, MIDDLE + 8, NO_TABLE + 0x20, OUTERMOST + 2 };
	u64 entries[64];
	struct unwind_user_trace trace = { .entries = entries, .max = ARRAY_SIZE(entries) };

	sframe_test_register(test);
	sframe_test_write_indirect_call(test, MIDDLE + 8);
	sframe_test_write_indirect_call(test, OUTERMOST + 2);
	sframe_test_write(test, t->stack, stack, sizeof(stack));
	sframe_test_walk(test, &trace, LEAF, 0, 0x08);
	sframe_test_expect(test, &trace, UNWIND_USER_NO_ROW, ARRAY_SIZE(ips) - 1, ips);
	/* Its chain leads to the record of the frame. */
	stack[3] = t->stack + 0x40;
	sframe_test_write(test, t->stack, stack, sizeof(stack));
	sframe_test_walk(test, &trace, LEAF, 0, 0x08);
	sframe_test_expect(test, &trace, UNWIND_USER_COMPLETE, ARRAY_SIZE(ips), ips);
}

/* Frames that call each other in a circle would have no end. */
static void guess_switches_stacks_so_many_times(struct kunit *test)
{
	struct sframe_test *t = test->priv;
	u64 stack[] = { t->stack + 0x10, t->text + OTHER, t->stack, t->text + OTHER };
	u64 entries[64];
	struct unwind_user_trace trace = { .entries = entries, .max = ARRAY_SIZE(entries) };

	sframe_test_register(test);
	guess_walk(test, &trace, stack, sizeof(stack), 0);
	KUNIT_EXPECT_EQ(test, trace.end, UNWIND_USER_NO_ROW);
	KUNIT_EXPECT_LT(test, trace.nr, 2 * 8 + 8 + 4);
}

/* Frames of callees that have returned are below the stack pointer. */
static void guess_skips_frames_of_callees_that_returned(struct kunit *test)
{
	struct sframe_test *t = test->priv;
	u64 stack[] = {
		t->stack + 0x10, t->text + OTHER, t->stack + 0x40, t->text + OTHER + 1,
		0x1111, 0x1111, 0x1111, 0x1111,
		0, t->text + OUTERMOST + 2,
	};
	DEFINE_TRACE(trace);

	sframe_test_register(test);
	sframe_test_write_call(test, OUTERMOST + 2, NO_TABLE);
	sframe_test_write(test, t->stack, stack, sizeof(stack));
	sframe_test_walk(test, &trace, NO_TABLE, 0x20, 0);
	sframe_test_expect(test, &trace, UNWIND_USER_COMPLETE, 2,
			   (u64[]){ NO_TABLE, OUTERMOST + 2 });
}

/* The function does not keep a frame pointer, so the register still has its caller's. */
static void guess_takes_a_call_of_the_function_before_a_frame_pointer(struct kunit *test)
{
	static const struct {
		const char	*what;
		u8		len;
		u8		code[12];
		/* Words that the function has pushed; -1 if it keeps a frame pointer */
		int		pushed;
	} cases[] = {
		{ "nothing", 1, { 0x90 }, 0 },
		{ "push %rbx", 1, { 0x53 }, 1 },
		{ "endbr64; push %r12; push %rbx", 7,
		  { 0xf3, 0x0f, 0x1e, 0xfa, 0x41, 0x54, 0x53 }, 2 },
		{ "sub $24, %rsp", 4, { 0x48, 0x83, 0xec, 0x18 }, 3 },
		{ "push %rax; sub $16, %rsp", 8, { 0x50, 0x48, 0x81, 0xec, 0x10 }, 3 },
		{ "push %rbp; mov %rsp, %rbp", 4, { 0x55, 0x48, 0x89, 0xe5 }, -1 },
	};
	struct sframe_test *t = test->priv;
	DEFINE_TRACE(trace);
	unsigned int i;

	sframe_test_register(test);
	sframe_test_write_call(test, OTHER + 0x10, NO_TABLE);
	sframe_test_write_call(test, OUTERMOST + 2, OTHER);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		/* The caller's frame record is at 0x40. */
		u64 stack[10] = { [9] = t->text + OUTERMOST + 2 };
		unsigned int nr = 3;

		if (cases[i].pushed < 0)
			nr = 2;
		stack[max(cases[i].pushed, 0)] = t->text + OTHER + 0x10;
		sframe_test_write(test, t->stack, stack, sizeof(stack));
		sframe_test_write(test, t->text + NO_TABLE, cases[i].code, cases[i].len);
		sframe_test_walk(test, &trace, NO_TABLE + cases[i].len, 0, 0x40);
		KUNIT_EXPECT_EQ_MSG(test, trace.nr, nr, "%s", cases[i].what);
		KUNIT_EXPECT_EQ_MSG(test, trace.end, UNWIND_USER_COMPLETE, "%s", cases[i].what);
		/* The prologue has not been executed yet. */
		stack[max(cases[i].pushed, 0)] = 0x1111;
		stack[0] = t->text + OTHER + 0x10;
		sframe_test_write(test, t->stack, stack, sizeof(stack));
		sframe_test_walk(test, &trace, NO_TABLE, 0, 0x40);
		KUNIT_EXPECT_EQ_MSG(test, trace.nr, 3, "%s", cases[i].what);
	}
}

/* A row leads nowhere; the frame pointers of the callers do not depend on it. */
static void guess_goes_on_above_a_frame_with_a_wrong_row(struct kunit *test)
{
	struct sframe_test *t = test->priv;
	u64 stack[] = {
		/* leaf; middle, whose return address is 0 */
		t->text + MIDDLE + 4, 0x1111, 0, 0x1111,
		t->stack + 0x30, t->text + OTHER,
		0, t->text + OUTERMOST + 2,
	};
	enum unwind_user_access access;
	DEFINE_TRACE(trace);

	sframe_test_register(test);
	sframe_test_write_call(test, OUTERMOST + 2, OTHER);
	sframe_test_write(test, t->stack, stack, sizeof(stack));
	for (access = UNWIND_USER_RESIDENT; access <= UNWIND_USER_FAULTABLE; access++) {
		t->access = access;
		sframe_test_walk(test, &trace, LEAF, 0, 0x20);
		sframe_test_expect(test, &trace, UNWIND_USER_COMPLETE, 4,
				   (u64[]){ LEAF, MIDDLE + 4, OTHER, OUTERMOST + 2 });
		/* Without a frame pointer, the walk ends there, and has not reached the end. */
		sframe_test_walk(test, &trace, LEAF, 0, -1);
		sframe_test_expect(test, &trace, UNWIND_USER_CORRUPT, 2,
				   (u64[]){ LEAF, MIDDLE + 4 });
	}
}

/* The innermost function has pushed a word that its row does not know of. */
static void guess_the_caller_of_a_leaf_with_a_wrong_row(struct kunit *test)
{
	struct sframe_test *t = test->priv;
	u64 stack[] = { 0, t->text + MIDDLE + 8, 0x1111, t->text + OUTERMOST + 2 };
	enum unwind_user_access access;
	DEFINE_TRACE(trace);

	sframe_test_register(test);
	sframe_test_write_call(test, MIDDLE + 8, LEAF);
	sframe_test_write(test, t->text + LEAF, (u8[]){ 0x53 }, 1);
	sframe_test_write(test, t->stack, stack, sizeof(stack));
	for (access = UNWIND_USER_RESIDENT; access <= UNWIND_USER_FAULTABLE; access++) {
		t->access = access;
		sframe_test_walk(test, &trace, LEAF + 1, 0, -1);
		sframe_test_expect(test, &trace, UNWIND_USER_COMPLETE, 3,
				   (u64[]){ LEAF + 1, MIDDLE + 8, OUTERMOST + 2 });
	}
}

/* A signal interrupted a call through a bad pointer. */
static void guess_the_caller_of_an_address_that_is_no_code(struct kunit *test)
{
	struct sframe_test *t = test->priv;
	u64 handler[] = { t->text + TRAMPOLINE };
	u64 interrupted[] = { t->text + MIDDLE + 8, 0x1111, t->text + OUTERMOST + 2 };
	DEFINE_TRACE(trace);

	sframe_test_register(test);
	sframe_test_write_indirect_call(test, MIDDLE + 8);
	sframe_test_write(test, t->stack + 0x800, handler, sizeof(handler));
	sframe_test_write_interrupted(test, t->stack + 0x808, 0x1234, t->stack, 0);
	sframe_test_write(test, t->stack, interrupted, sizeof(interrupted));
	sframe_test_walk(test, &trace, LEAF, 0x800, -1);
	sframe_test_expect(test, &trace, UNWIND_USER_COMPLETE, 4,
			   (u64[]){ LEAF, TRAMPOLINE, MIDDLE + 8, OUTERMOST + 2 });
}

/* As in vfork(), whose child uses the same stack */
static void guess_is_not_needed_for_a_return_address_in_a_register(struct kunit *test)
{
	struct sframe_test *t = test->priv;
	struct sframe_build *build = &t->build;
	u64 stack[] = { t->text + OUTERMOST + 2 };
	DEFINE_TRACE(trace);

	sframe_build_start(build, SFRAME_VERSION_3);
	sframe_build_function(build, LEAF, 0x20, SFRAME_FRE_ADDR1, 0);
	sframe_build_flexible(build);
	/* CFA = SP, RA = R10 */
	sframe_build_row(build, 0, false, 4,
			 (s8[]){ SFRAME_BUILD_REG(7), 0, SFRAME_BUILD_REG(10), 0 });
	sframe_build_function(build, MIDDLE, 0x10, SFRAME_FRE_ADDR1, 0);
	sframe_build_row(build, 0, false, 1, (s8[]){ 8 });
	sframe_build_function(build, 0x30, 0x10, SFRAME_FRE_ADDR1, 0);
	sframe_build_row(build, 0, false, 0, NULL);
	sframe_build_finish(build, t->table, t->text);
	sframe_test_write(test, t->table, build->bytes, build->len);
	sframe_test_register(test);
	sframe_test_write(test, t->stack, stack, sizeof(stack));
	t->r10 = t->text + MIDDLE + 4;
	sframe_test_walk(test, &trace, LEAF, 0, -1);
	sframe_test_expect(test, &trace, UNWIND_USER_COMPLETE, 3,
			   (u64[]){ LEAF, MIDDLE + 4, OUTERMOST + 2 });
}

static struct kunit_case guess_cases[] = {
	KUNIT_CASE(guess_walk_goes_on_by_frame_pointer_without_table),
	KUNIT_CASE(guess_walk_looks_for_a_return_address_without_table),
	KUNIT_CASE(guess_walk_forgets_a_guess_that_leads_nowhere),
	KUNIT_CASE(guess_walk_scans_only_so_much),
	KUNIT_CASE(guess_walk_checks_only_so_many_rows),
	KUNIT_CASE(guess_calls_are_told_by_their_code),
	KUNIT_CASE(guess_walk_leaves_a_handler_without_table),
	KUNIT_CASE(guess_walk_without_rule_says_so),
	KUNIT_CASE(guess_follows_return_addresses_that_were_pushed),
	KUNIT_CASE(guess_follows_records_through_mappings),
	KUNIT_CASE(guess_follows_records_through_code_without_rows),
	KUNIT_CASE(guess_ends_at_a_frame_pointer_of_0),
	KUNIT_CASE(guess_follows_a_switch_of_stacks),
	KUNIT_CASE(guess_takes_an_array_of_functions_for_no_frame),
	KUNIT_CASE(guess_goes_to_no_frame_twice),
	KUNIT_CASE(guess_goes_by_no_frame_pointer_of_a_callee),
	KUNIT_CASE(guess_switches_stacks_so_many_times),
	KUNIT_CASE(guess_skips_frames_of_callees_that_returned),
	KUNIT_CASE(guess_takes_a_call_of_the_function_before_a_frame_pointer),
	KUNIT_CASE(guess_goes_on_above_a_frame_with_a_wrong_row),
	KUNIT_CASE(guess_the_caller_of_a_leaf_with_a_wrong_row),
	KUNIT_CASE(guess_the_caller_of_an_address_that_is_no_code),
	KUNIT_CASE(guess_is_not_needed_for_a_return_address_in_a_register),
	{}
};

static struct kunit_suite guess_suite = {
	.name = "unwind_user_guess",
	.init = sframe_test_init,
	.test_cases = guess_cases,
};

kunit_test_suite(guess_suite);
