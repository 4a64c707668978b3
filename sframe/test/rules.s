/* SPDX-License-Identifier: GPL-2.0 */
# One function for each rule of .eh_frame; rules.v2 and rules.v3 have the rows of each
# format.  Linked at 0x10000, with 16 bytes for each function.
	.text
	.macro	function name
	.balign	16
	.globl	\name
\name:
	.cfi_startproc
	.endm

	function plain			# 10000
	nop
	.cfi_def_cfa_offset 16
	nop
	.cfi_offset rbp, -16
	nop
	.cfi_def_cfa_register rbp
	nop
	.cfi_def_cfa rsp, 8
	nop
	.cfi_endproc

	function remembered		# 10010
	.cfi_remember_state
	nop
	.cfi_def_cfa_offset 200
	nop
	.cfi_restore_state
	nop
	.cfi_endproc

	function no_caller		# 10020
	.cfi_undefined rip
	nop
	.cfi_endproc

	function repeated		# 10030
	nop
	.cfi_offset rbx, -16
	nop
	.cfi_offset r12, -24
	nop
	.cfi_endproc

	function other_base		# 10040
	nop
	.cfi_def_cfa r10, 0
	nop
	.cfi_def_cfa rsp, 8
	nop
	.cfi_endproc

	function cfa_in_memory		# 10050: *(rbp - 8); FP at 0(rbp)
	.cfi_escape 0x0f, 3, 0x76, 0x78, 0x06
	.cfi_escape 0x10, 6, 2, 0x76, 0
	nop
	.cfi_endproc

	function cfa_computed		# 10060: *(rsp + 8) + 8
	nop
	.cfi_escape 0x0f, 5, 0x77, 8, 0x06, 0x23, 8
	nop
	.cfi_def_cfa rsp, 8
	nop
	.cfi_endproc

	function ra_in_register		# 10070
	.cfi_register rip, rbx
	nop
	.cfi_endproc

	function fp_in_register		# 10080
	.cfi_register rbp, r12
	nop
	.cfi_endproc

	function fp_is_cfa		# 10090
	.cfi_val_offset rbp, -16
	nop
	.cfi_endproc

	function fp_undefined		# 100a0
	.cfi_undefined rbp
	nop
	.cfi_endproc

	function signal_frame		# 100b0: as glibc's __restore_rt
	.cfi_signal_frame
	.cfi_escape 0x0f, 4, 0x77, 0xa0, 0x01, 0x06
	.cfi_escape 0x10, 7, 3, 0x77, 0xa0, 0x01
	.cfi_escape 0x10, 16, 3, 0x77, 0xa8, 0x01
	.cfi_escape 0x10, 6, 3, 0x77, 0xf8, 0x00
	nop
	.cfi_endproc

	function stub			# 100c0: a PLT, two stubs
	.cfi_escape 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22
	.skip	32, 0x90
	.cfi_endproc

	function odd_stub		# 100e0: starts inside of a stub
	.skip	4, 0x90
	.cfi_escape 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x39, 0x2a, 0x33, 0x24, 0x22
	.skip	8, 0x90
	.cfi_endproc

	function stack_switch		# 100f0: as longjmp: SP comes from r8
	.cfi_def_cfa rdi, 0
	.cfi_register rsp, r8
	.cfi_register rip, rdx
	.cfi_offset rbp, 8
	nop
	.cfi_endproc

	function expression_sums	# 10100: rsp + 8 + 24
	.cfi_escape 0x0f, 4, 0x77, 8, 0x23, 24
	nop
	.cfi_endproc

	function restored		# 10110
	nop
	.cfi_offset rbp, -16
	nop
	.cfi_restore rbp
	nop
	.cfi_endproc

	function huge_frame		# 10120
	nop
	.cfi_def_cfa_offset 100000
	nop
	.cfi_def_cfa_offset 1000
	.cfi_offset rbp, -16
	nop
	.cfi_endproc

	function silent_end		# 10130: no rule up to where the next function begins
	.skip	14, 0x90
	.cfi_escape 0x0f, 4, 0x77, 8, 0x06, 0x06
	nop
	.cfi_endproc

	function silent_middle		# 10140: no rule up to an aligned address
	.skip	10, 0x90
	.cfi_escape 0x0f, 4, 0x77, 8, 0x06, 0x06
	.skip	6, 0x90
	.cfi_def_cfa rsp, 8
	nop
	.cfi_endproc

	.skip	5, 0x90			# 10151: code that nothing describes
	.globl	unaligned
unaligned:				# 10156
	.cfi_startproc
	nop
	.cfi_endproc

	function base_after_expression	# 10160: has no meaning, so no rule for byte 2
	nop
	.cfi_escape 0x0f, 5, 0x77, 8, 0x06, 0x23, 8
	nop
	.cfi_def_cfa_register rsp
	nop
	.cfi_def_cfa rsp, 16
	nop
	.cfi_endproc

	.section .note.GNU-stack, "", @progbits
