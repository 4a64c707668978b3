/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _ASM_X86_UNWIND_USER_H
#define _ASM_X86_UNWIND_USER_H

#include <linux/mm_types.h>
#include <linux/stddef.h>
#include <linux/types.h>

#include <linux/uprobes.h>

#include <asm/ibt.h>
#include <asm/ptrace.h>
#include <asm/sigframe.h>
#include <asm/vdso.h>

/**
 * arch_unwind_user_word() - the size of a stack word
 * @regs: User registers.
 *
 * Return: 8 or 4, or 0 in a mode whose stack is not walked.
 */
static inline unsigned int arch_unwind_user_word(const struct pt_regs *regs)
{
	/* vm86: a segmented stack. */
	if (regs->flags & X86_VM_MASK)
		return 0;
	return user_64bit_mode((struct pt_regs *)regs) ? 8 : 4;
}

/*
 * What a signal handler of a 64-bit task returns to, in every C library, since
 * gdb and libgcc know it by this too:
 *
 *	48 c7 c0 0f 00 00 00	mov	$__NR_rt_sigreturn, %rax
 *	0f 05			syscall
 */
#define ARCH_UNWIND_SIGRETURN_CODE	"\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05"
#define ARCH_UNWIND_SIGRETURN_SYSCALL	7
#define ARCH_UNWIND_SIGRETURN_LEN	9

/*
 * Where the interrupted registers lie, counted from the stack pointer that the
 * handler's return leaves: it has popped rt_sigframe::pretcode.
 */
#define ARCH_UNWIND_SIGFRAME_REG(reg)				\
	(offsetof(struct rt_sigframe, uc.uc_mcontext.reg) -	\
	 sizeof_field(struct rt_sigframe, pretcode))
#define ARCH_UNWIND_SIGFRAME_IP		ARCH_UNWIND_SIGFRAME_REG(ip)
#define ARCH_UNWIND_SIGFRAME_SP		ARCH_UNWIND_SIGFRAME_REG(sp)
#define ARCH_UNWIND_SIGFRAME_FP		ARCH_UNWIND_SIGFRAME_REG(bp)

/**
 * arch_unwind_user_at_entry() - whether a uprobe is on a function's first instruction
 * @regs: User registers of the current task.
 *
 * As far as that shows: the instruction is one that functions start with which keep
 * a frame pointer.
 */
static inline bool arch_unwind_user_at_entry(const struct pt_regs *regs)
{
#ifdef CONFIG_UPROBES
	struct arch_uprobe *auprobe = current->utask ? current->utask->auprobe : NULL;

	if (!auprobe)
		return false;
	/* push %rbp, and endbr64 */
	return auprobe->insn[0] == 0x55 ||
	       (user_64bit_mode((struct pt_regs *)regs) &&
		is_endbr(*(u32 *)auprobe->insn));
#else
	return false;
#endif
}

#ifdef CONFIG_UPROBES
extern u8 uretprobe_trampoline_entry[];
extern u8 uretprobe_syscall_check[];
extern u8 uretprobe_trampoline_end[];

/* The trampoline of uretprobes; the breakpoint that 32-bit tasks have is shorter. */
#define ARCH_UNWIND_URETPROBE_LEN	\
	((unsigned long)(uretprobe_trampoline_end - uretprobe_trampoline_entry))
/* It saves three registers before its system call. */
#define ARCH_UNWIND_URETPROBE_PUSHED	(3 * 8)

/**
 * arch_unwind_uretprobe_slot() - where the trampoline finds its return address
 * @offset: Of the instruction in the trampoline.
 *
 * Return: How far above the stack pointer, or a negative number before its system call.
 */
static inline int arch_unwind_uretprobe_slot(unsigned long offset)
{
	/* Two pops and the return, of 2, 1 and 1 bytes. */
	switch (offset - (uretprobe_syscall_check - uretprobe_trampoline_entry)) {
	case 0:
		return 2 * 8;
	case 2:
		return 8;
	case 3:
		return 0;
	default:
		return -1;
	}
}
#endif

/* Where the kernel keeps a user register. */
#define ARCH_UNWIND_PT_REG(reg)	offsetof(struct pt_regs, reg)

/**
 * arch_unwind_user_register() - a register of the innermost frame
 * @regs: User registers.
 * @reg: The DWARF number of a 64-bit one, 0 to 15.
 */
static inline unsigned long arch_unwind_user_register(const struct pt_regs *regs,
						      unsigned int reg)
{
	static const u16 offsets[] = {
		ARCH_UNWIND_PT_REG(ax),
		ARCH_UNWIND_PT_REG(dx),
		ARCH_UNWIND_PT_REG(cx),
		ARCH_UNWIND_PT_REG(bx),
		ARCH_UNWIND_PT_REG(si),
		ARCH_UNWIND_PT_REG(di),
		ARCH_UNWIND_PT_REG(bp),
		ARCH_UNWIND_PT_REG(sp),
		ARCH_UNWIND_PT_REG(r8),
		ARCH_UNWIND_PT_REG(r9),
		ARCH_UNWIND_PT_REG(r10),
		ARCH_UNWIND_PT_REG(r11),
		ARCH_UNWIND_PT_REG(r12),
		ARCH_UNWIND_PT_REG(r13),
		ARCH_UNWIND_PT_REG(r14),
		ARCH_UNWIND_PT_REG(r15),
	};

	return *(const unsigned long *)((const void *)regs + offsets[reg]);
}

/**
 * arch_unwind_sigframe_register() - where a signal's frame keeps a register
 * @reg: The DWARF number of a 64-bit one, 0 to 15.
 *
 * Return: The offset, counted as for ARCH_UNWIND_SIGFRAME_IP.
 */
static inline unsigned int arch_unwind_sigframe_register(unsigned int reg)
{
	static const u16 offsets[] = {
		ARCH_UNWIND_SIGFRAME_REG(ax),
		ARCH_UNWIND_SIGFRAME_REG(dx),
		ARCH_UNWIND_SIGFRAME_REG(cx),
		ARCH_UNWIND_SIGFRAME_REG(bx),
		ARCH_UNWIND_SIGFRAME_REG(si),
		ARCH_UNWIND_SIGFRAME_REG(di),
		ARCH_UNWIND_SIGFRAME_REG(bp),
		ARCH_UNWIND_SIGFRAME_REG(sp),
		ARCH_UNWIND_SIGFRAME_REG(r8),
		ARCH_UNWIND_SIGFRAME_REG(r9),
		ARCH_UNWIND_SIGFRAME_REG(r10),
		ARCH_UNWIND_SIGFRAME_REG(r11),
		ARCH_UNWIND_SIGFRAME_REG(r12),
		ARCH_UNWIND_SIGFRAME_REG(r13),
		ARCH_UNWIND_SIGFRAME_REG(r14),
		ARCH_UNWIND_SIGFRAME_REG(r15),
	};

	return offsets[reg];
}

/**
 * arch_unwind_vdso() - the vDSO's image, if it is what is mapped
 * @vma: A mapping without a file that is no program's memory; the mmap_lock is held.
 * @size: Set to the image's bytes.
 *
 * Return: The image, or NULL.
 */
static inline const void *arch_unwind_vdso(const struct vm_area_struct *vma, size_t *size)
{
	const mm_context_t *context = &vma->vm_mm->context;

	if (context->vdso_image != &vdso_image_64 ||
	    vma->vm_start != (unsigned long)context->vdso)
		return NULL;
	*size = vdso_image_64.size;
	return vdso_image_64.data;
}

#endif /* _ASM_X86_UNWIND_USER_H */
