/* SPDX-License-Identifier: GPL-2.0 */
/* What stacks.c calls its functions by, with frame pointers, and with CFI only where it says so. */
	.macro func name
	.globl	\name
	.type	\name, @function
	.p2align 4
\name:
	.endm
	.macro end name
	.size	\name, . - \name
	.endm

	.text
/* void run_on(void *stack, void (*f)(void)): call f on another stack */
func run_on
	push	%rbp
	mov	%rsp, %rbp
	mov	%rdi, %rsp
	call	*%rsi
	mov	%rbp, %rsp
	pop	%rbp
	ret
end run_on

/* The same with CFI, as a compiler would write it */
func run_on_cfi
	.cfi_startproc
	push	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	mov	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	mov	%rdi, %rsp
	call	*%rsi
	mov	%rbp, %rsp
	pop	%rbp
	.cfi_def_cfa %rsp, 8
	ret
	.cfi_endproc
end run_on_cfi

/* The return address is pushed, and no call stands before it, as in interpreters */
func pushed
	push	%rbp
	mov	%rsp, %rbp
	lea	1f(%rip), %rax
	push	%rax
	jmp	*%rdi
	.skip	8, 0x90
1:	pop	%rbp
	ret
end pushed

/* The same, with a direct jump before it */
func hand
	push	%rbp
	mov	%rsp, %rbp
	lea	1f(%rip), %rax
	push	%rax
	jmp	work
1:	pop	%rbp
	ret
end hand

/* The return address is in a register all the while, as in vfork() */
func in_register
	.cfi_startproc
	pop	%rdi
	.cfi_adjust_cfa_offset -8
	.cfi_register %rip, %rdi
	mov	$400000, %ecx
1:	lea	1(%rax), %rax
	dec	%ecx
	jnz	1b
	push	%rdi
	.cfi_adjust_cfa_offset 8
	.cfi_offset %rip, -8
	ret
	.cfi_endproc
end in_register
	.section .note.GNU-stack,"",@progbits
