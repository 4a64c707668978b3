/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _ASM_X86_UNWIND_USER_H
#define _ASM_X86_UNWIND_USER_H

#include <linux/mm_types.h>
#include <linux/stddef.h>
#include <linux/types.h>
#include <linux/unaligned.h>
#include <linux/uprobes.h>

#include <asm/ibt.h>
#include <asm/ptrace.h>
#include <asm/sigframe.h>
#include <asm/vdso.h>

/**
 * arch_unwind_user_word() - get the size of a word on the user stack
 * @regs: User registers.
 *
 * Return: 8 or 4, or 0 if stacks in the current mode cannot be walked.
 */
static inline unsigned int arch_unwind_user_word(const struct pt_regs *regs)
{
	/* The stack of vm86 mode is segmented. */
	if (regs->flags & X86_VM_MASK)
		return 0;
	return user_64bit_mode((struct pt_regs *)regs) ? 8 : 4;
}

/*
 * The code that signal handlers of 64-bit tasks return to.  All C libraries use these
 * instructions, as gdb and libgcc recognise signal frames by them, too:
 *
 *	48 c7 c0 0f 00 00 00	mov	$__NR_rt_sigreturn, %rax
 *	0f 05			syscall
 */
#define ARCH_UNWIND_SIGRETURN_CODE	"\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05"
/* The first eight bytes of it */
#define ARCH_UNWIND_SIGRETURN_WORD	0x0f0000000fc0c748UL
#define ARCH_UNWIND_SIGRETURN_SYSCALL	7
#define ARCH_UNWIND_SIGRETURN_LEN	9

/*
 * Offsets of the interrupted registers from the stack pointer after the handler's return,
 * which pops rt_sigframe::pretcode.
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
 * This recognises the first instructions of functions that keep a frame pointer.
 *
 * Return: true if the probed instruction is one of them.
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

/* Size of the uretprobe trampoline.  The breakpoint of 32-bit tasks is shorter. */
#define ARCH_UNWIND_URETPROBE_LEN	\
	((unsigned long)(uretprobe_trampoline_end - uretprobe_trampoline_entry))
/* The trampoline pushes three registers before its system call. */
#define ARCH_UNWIND_URETPROBE_PUSHED	(3 * 8)

/**
 * arch_unwind_uretprobe_slot() - locate the return address of the uretprobe trampoline
 * @offset: Offset of the current instruction in the trampoline.
 *
 * Return: the offset of the return address from the stack pointer, or a negative number
 * if the trampoline has not yet made its system call.
 */
static inline int arch_unwind_uretprobe_slot(unsigned long offset)
{
	/* After the system call: pops of 2 and 1 bytes, then the return. */
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

/**
 * arch_unwind_is_direct_call() - whether code ends with a direct call
 * @bytes: Code bytes up to a possible return address.
 * @len: Number of bytes in @bytes.
 * @ip: First address after the code.
 * @target: Set to the address of the called function.
 *
 * Return: true if the last instruction is a direct call.
 */
static inline bool arch_unwind_is_direct_call(const u8 *bytes, unsigned int len,
					      unsigned long ip, unsigned long *target)
{
	/* call rel32 */
	if (len < 5 || bytes[len - 5] != 0xe8)
		return false;
	*target = ip + (s32)get_unaligned_le32(bytes + len - 4);
	return true;
}

/* Number of bytes at the start of a function that arch_unwind_prologue() looks at */
#define ARCH_UNWIND_PROLOGUE	24

/**
 * arch_unwind_prologue() - how much a function has pushed on the stack
 * @bytes: The code at the start of the function.
 * @len: Number of bytes in @bytes, at most ARCH_UNWIND_PROLOGUE.
 * @done: Number of bytes of the function that precede its current instruction.
 *
 * This follows a prologue of pushes and one subtraction from the stack pointer (Intel SDM,
 * volume 2, PUSH and SUB).  Later instructions are supposed to leave the stack pointer alone.
 *
 * Return: distance from the stack pointer to the return address, or -1 if the function has a
 * frame pointer.
 */
static inline int arch_unwind_prologue(const u8 *bytes, unsigned int len, unsigned long done)
{
	const unsigned int end = min_t(unsigned long, len, done);
	unsigned int at = 0, size;
	int pushed = 0;

	while (at < end) {
		const u8 *code = bytes + at;
		unsigned int left = len - at;

		/* endbr64, which programs have although the kernel may not use it */
		if (left >= 4 && get_unaligned_le32(code) == 0xfa1e0ff3) {
			at += 4;
			continue;
		}
		/* mov %rsp, %rbp, in both encodings */
		if (left >= 3 && code[0] == 0x48 &&
		    ((code[1] == 0x89 && code[2] == 0xe5) || (code[1] == 0x8b && code[2] == 0xec)))
			return -1;
		size = code[0] == 0x41 ? 2 : 1;
		if (left >= size && (code[size - 1] & 0xf8) == 0x50) {
			pushed += 8;
			at += size;
			continue;
		}
		/* sub $imm8, %rsp; sub $imm32, %rsp */
		if (left >= 4 && code[0] == 0x48 && code[1] == 0x83 && code[2] == 0xec)
			return pushed + (s8)code[3];
		if (left >= 7 && code[0] == 0x48 && code[1] == 0x81 && code[2] == 0xec)
			return pushed + (s32)get_unaligned_le32(code + 3);
		break;
	}
	return pushed;
}

/**
 * arch_unwind_is_indirect_call() - whether code may end with an indirect call
 * @bytes: Code bytes up to a possible return address.
 * @len: Number of bytes in @bytes.
 *
 * Looks for the opcode ff /2 at each distance from the end at which the length of the
 * instruction fits (Intel SDM, volume 2, 2.1.5).  Without prefixes that is 7 bytes at most.
 *
 * Return: true if the bytes before the end encode a call through a register or memory.
 */
static inline bool arch_unwind_is_indirect_call(const u8 *bytes, unsigned int len)
{
	unsigned int back;

	for (back = 2; back <= len; back++) {
		const u8 *call = bytes + len - back;
		unsigned int mod = call[1] >> 6, rm = call[1] & 7, size = 2;

		if (call[0] != 0xff || (call[1] >> 3 & 7) != 2)
			continue;
		if (mod != 3 && rm == 4)
			size++;
		if (mod == 1)
			size++;
		else if (mod == 2 || (!mod && (rm == 5 || (rm == 4 && back > 2 &&
							   (call[2] & 7) == 5))))
			size += 4;
		if (size == back)
			return true;
	}
	return false;
}

/* Offset of a user register in struct pt_regs. */
#define ARCH_UNWIND_PT_REG(reg)	offsetof(struct pt_regs, reg)

/**
 * arch_unwind_user_register() - get a register of the innermost frame
 * @regs: User registers.
 * @reg: DWARF number of a 64-bit register, 0 to 15.
 *
 * Return: the value of the register.
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
 * arch_unwind_sigframe_register() - locate a register in a signal frame
 * @reg: DWARF number of a 64-bit register, 0 to 15.
 *
 * Return: the offset of the register, relative to the same address as
 * ARCH_UNWIND_SIGFRAME_IP.
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
 * arch_unwind_vdso() - get the image of the 64-bit vDSO
 * @size: Set to the size of the image in bytes.
 *
 * Return: the image, which is never freed.
 */
static inline const void *arch_unwind_vdso(size_t *size)
{
	*size = vdso_image_64.size;
	return vdso_image_64.data;
}

/**
 * arch_unwind_is_vdso() - whether a mapping is that of the 64-bit vDSO
 * @vma: A mapping without a file, of the current process.
 *
 * Context: Any, NMI included.  The caller holds RCU.
 */
static inline bool arch_unwind_is_vdso(const struct vm_area_struct *vma)
{
	const mm_context_t *context = &current->mm->context;

	return READ_ONCE(context->vdso_image) == &vdso_image_64 &&
	       READ_ONCE(vma->vm_start) == (unsigned long)READ_ONCE(context->vdso);
}

#endif /* _ASM_X86_UNWIND_USER_H */
