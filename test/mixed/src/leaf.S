/* SPDX-License-Identifier: GPL-2.0 */
/* Functions without CFI, as in video codecs, BLAS and libraries for big numbers. */

/* Push the registers, set things up, work, and undo both. */
	.macro leaf name, setup, undo, regs:vararg
	.text
	.globl	\name
	.type	\name, @function
	.p2align 4
\name:
	push_all \regs
	\setup
	mov	$400000, %ecx
1:	lea	1(%rax), %rax
	dec	%ecx
	jnz	1b
	\undo
	pop_reversed \regs
	ret
	.size	\name, . - \name
	.endm

	.macro push_all first, rest:vararg
	.ifnb	\first
	push	%\first
	push_all \rest
	.endif
	.endm

	.macro pop_reversed first, rest:vararg
	.ifnb	\first
	pop_reversed \rest
	pop	%\first
	.endif
	.endm

	leaf	leaf_none
	leaf	leaf_three, , , rbx, r12, r13
/* The frame pointer is data, and there is room for spills. */
	leaf	leaf_six, "sub $88, %rsp; mov $77, %ebp", "add $88, %rsp", rbx, rbp, r12, r13, r14, r15
/* It is 0, as if this were the outermost frame. */
	leaf	leaf_zero, "xor %ebp, %ebp", , rbp
	leaf	leaf_zero_two, "xor %ebp, %ebp", , rbp, rbx
	.section .note.GNU-stack,"",@progbits
