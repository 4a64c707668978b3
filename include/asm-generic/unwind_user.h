/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Stubs for architectures whose user stacks the kernel cannot walk: all that kernel/unwind
 * needs from <asm/unwind_user.h> to compile.  Walks find no stack.
 */
#ifndef _ASM_GENERIC_UNWIND_USER_H
#define _ASM_GENERIC_UNWIND_USER_H

#include <linux/mm_types.h>
#include <linux/ptrace.h>
#include <linux/types.h>

/* arch/x86/include/asm/unwind_user.h describes these functions and constants. */
static inline unsigned int arch_unwind_user_word(const struct pt_regs *regs)
{
	return 0;
}

#define ARCH_UNWIND_SIGRETURN_CODE	""
#define ARCH_UNWIND_SIGRETURN_WORD	0UL
#define ARCH_UNWIND_SIGRETURN_SYSCALL	0
#define ARCH_UNWIND_SIGRETURN_LEN	1

#define ARCH_UNWIND_SIGFRAME_IP		0
#define ARCH_UNWIND_SIGFRAME_SP		0
#define ARCH_UNWIND_SIGFRAME_FP		0

static inline bool arch_unwind_user_at_entry(const struct pt_regs *regs)
{
	return false;
}

#define ARCH_UNWIND_URETPROBE_LEN	0UL
#define ARCH_UNWIND_URETPROBE_PUSHED	0

static inline int arch_unwind_uretprobe_slot(unsigned long offset)
{
	return -1;
}

static inline bool arch_unwind_is_direct_call(const u8 *bytes, unsigned int len,
					      unsigned long ip, unsigned long *target)
{
	return false;
}

static inline bool arch_unwind_is_indirect_call(const u8 *bytes, unsigned int len)
{
	return false;
}

#define ARCH_UNWIND_PROLOGUE		1

static inline int arch_unwind_prologue(const u8 *bytes, unsigned int len, unsigned long done)
{
	return -1;
}

static inline unsigned long arch_unwind_user_register(const struct pt_regs *regs,
						      unsigned int reg)
{
	return 0;
}

static inline unsigned int arch_unwind_sigframe_register(unsigned int reg)
{
	return 0;
}

static inline const void *arch_unwind_vdso(size_t *size)
{
	return NULL;
}

static inline bool arch_unwind_is_vdso(const struct vm_area_struct *vma)
{
	return false;
}

#endif /* _ASM_GENERIC_UNWIND_USER_H */
