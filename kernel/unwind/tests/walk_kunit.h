/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Walks of stacks that a test has written.
 *
 * Each test runs in a kernel thread with a user address space of its own.  The test fills the
 * pages for text, table and stack itself:
 *
 *	text + 0x00-0x1f	leaf: CFA = SP + 8
 *	text + 0x20-0x2f	middle: CFA = SP + 16
 *	text + 0x30-0x3f	outermost, from its byte 2 on
 *	text + 0x40-0x4f	circle: CFA = FP - 64
 *	text + 0x60		signal trampoline
 *	text + 0x80-		no table
 */
#ifndef _KERNEL_UNWIND_WALK_KUNIT_H
#define _KERNEL_UNWIND_WALK_KUNIT_H

#include <kunit/test.h>

#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/sframe.h>
#include <linux/uaccess.h>
#include <linux/unaligned.h>
#include <linux/unwind_user.h>

#include <asm/unwind_user.h>

#include "../sframe.h"
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
	/* R10 in the innermost frame */
	unsigned long		r10;
	/* How sframe_test_walk() reads user memory */
	enum unwind_user_access	access;
};

static inline unsigned long sframe_test_map(struct kunit *test, unsigned long prot)
{
	unsigned long addr = kunit_vm_mmap(test, NULL, 0, PAGE_SIZE, prot,
					   MAP_PRIVATE | MAP_ANONYMOUS, 0);

	KUNIT_ASSERT_NE(test, addr, 0);
	KUNIT_ASSERT_FALSE(test, IS_ERR_VALUE(addr));
	return addr;
}

static inline void sframe_test_write(struct kunit *test, unsigned long to, const void *from,
				     size_t len)
{
	KUNIT_ASSERT_EQ(test, copy_to_user((void __user *)to, from, len), 0);
}

/* Write a call of @target right before @ip; both are offsets in the text. */
static inline void sframe_test_write_call(struct kunit *test, unsigned long ip, long target)
{
	struct sframe_test *t = test->priv;
	u8 code[5] = { 0xe8 };

	put_unaligned_le32(target - ip, code + 1);
	sframe_test_write(test, t->text + ip - sizeof(code), code, sizeof(code));
}

static inline void sframe_test_write_indirect_call(struct kunit *test, unsigned long ip)
{
	struct sframe_test *t = test->priv;
	static const u8 code[] = { 0xff, 0xd1 };

	sframe_test_write(test, t->text + ip - sizeof(code), code, sizeof(code));
}

/* Write the registers that a signal has interrupted to its frame at @context. */
static inline void sframe_test_write_interrupted(struct kunit *test, unsigned long context,
						 u64 ip, u64 sp, u64 fp)
{
	sframe_test_write(test, context + ARCH_UNWIND_SIGFRAME_IP, &ip, sizeof(ip));
	sframe_test_write(test, context + ARCH_UNWIND_SIGFRAME_SP, &sp, sizeof(sp));
	sframe_test_write(test, context + ARCH_UNWIND_SIGFRAME_FP, &fp, sizeof(fp));
}

static inline int sframe_test_init(struct kunit *test)
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
	/* Linkers may leave a section that is larger than the table. */
	t->region.sframe_size = t->build.len + 64;
	t->region.text_start = t->text;
	t->region.text_size = TEXT_SIZE;
	return 0;
}

/* Write @region to user memory and return its address there, for prctl(). */
static inline unsigned long sframe_test_put(struct kunit *test, const struct sframe_region *region)
{
	struct sframe_test *t = test->priv;
	unsigned long at = t->table + PAGE_SIZE - sizeof(*region);

	sframe_test_write(test, at, region, sizeof(*region));
	return at;
}

static inline int sframe_test_add(struct kunit *test, const struct sframe_region *region)
{
	return sframe_prctl_add(sframe_test_put(test, region), sizeof(*region), 0);
}

static inline void sframe_test_register(struct kunit *test)
{
	struct sframe_test *t = test->priv;

	KUNIT_ASSERT_EQ(test, sframe_test_add(test, &t->region), 0);
}

/* Find the row for @ip with @cursor.  Returns 0, or an error of sframe_seek() or sframe_row(). */
static inline int sframe_test_find(struct sframe_cursor *cursor, unsigned long ip,
				   struct sframe_row *row)
{
	int ret = sframe_recall(cursor, ip) ? 0 : sframe_seek(cursor, ip);

	return ret ?: sframe_row(cursor, ip, row);
}

/* Walk from @ip (an offset in the text) with @sp and @fp (offsets in the stack). */
static inline void sframe_test_walk(struct kunit *test, struct unwind_user_trace *trace,
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

/* Expect the frames in @want: offsets in the text, innermost frame first. */
static inline void sframe_test_expect(struct kunit *test,
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

#endif /* _KERNEL_UNWIND_WALK_KUNIT_H */
