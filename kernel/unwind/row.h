/* SPDX-License-Identifier: GPL-2.0 */
/* The rule that a table has for an instruction. */
#ifndef _KERNEL_UNWIND_ROW_H
#define _KERNEL_UNWIND_ROW_H

#include <linux/types.h>

#include <asm/sframe.h>

/*
 * The base of a rule: a register by its DWARF number, the CFA, or none.  A checked table
 * contains no other values.
 */
enum sframe_base {
	SFRAME_BASE_FP		= ARCH_SFRAME_FP,
	SFRAME_BASE_SP		= ARCH_SFRAME_SP,
	SFRAME_BASE_CFA		= ARCH_SFRAME_REGISTERS,
	SFRAME_BASE_SAME,		/* the caller's value is still in the register */
	SFRAME_BASE_UNKNOWN,		/* a register that no walk can read */
};

/**
 * struct sframe_rule - how to compute one register of the caller
 * @offset:	Added to the base.
 * @base:	enum sframe_base.
 * @deref:	1: the value is the word at base + @offset; 0: the sum itself.
 *
 * Eight bytes without a hole, so that one store writes a rule.
 */
struct sframe_rule {
	s32	offset;
	u16	base;
	u16	deref;
};

/**
 * struct sframe_row - how to get from a frame to its caller
 * @cfa:	The caller's stack pointer; its base is never SFRAME_BASE_CFA.
 * @ra:		The return address; its base is never SFRAME_BASE_SAME.
 * @fp:		The caller's frame pointer.
 * @outermost:	The frame has no caller; @cfa, @ra and @fp are not used.
 * @signal:	The frame is a signal frame.  The signal interrupted its caller at the
 *		return address, perhaps on another stack.
 * @followed:	The rules follow from the instructions: check the return address.
 * @plain:	The common form: @cfa has base SP or FP, the return address is the word
 *		below the CFA, and the frame pointer is unchanged or saved below that word, at
 *		@slot.
 * @direct:	A row that is neither plain, outermost, signal nor followed.  @cfa is SP or FP
 *		plus an offset, or the word there plus @cfa_add.  The return address is in memory,
 *		and the frame pointer is unchanged or in memory, both by SP, FP or the CFA.
 * @error:	0, or why there is no rule; the other fields are not used then.  -ENOENT: no
 *		function covers the instruction.  -ENODATA: a function does, but has no rule.
 * @slot:	Of a plain row: the offset of the saved frame pointer from the CFA; 0 if the
 *		frame pointer is unchanged.  With 16 bits, it leads from any user address to
 *		user memory or to the last 32 KiB of addresses, where nothing is ever mapped.
 * @cfa_add:	Added to the CFA after it has been loaded from memory.
 *
 * 32 bytes, because lookups index an array of them.
 */
struct sframe_row {
	struct sframe_rule	cfa;
	struct sframe_rule	ra;
	struct sframe_rule	fp;
	bool			outermost : 1;
	bool			signal : 1;
	bool			followed : 1;
	bool			plain : 1;
	bool			direct : 1;
	s8			error;
	s16			slot;
	s32			cfa_add;
} __aligned(8);

#endif /* _KERNEL_UNWIND_ROW_H */
