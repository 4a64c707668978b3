# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Cases of run.sh: sframe check --code, which follows code and compares it with .eh_frame.
# shellcheck disable=SC2154 # OUT, HERE, CHECKED and SFRAME: run.sh

SHAPES=$OUT/followed/shapes

# What the tool says of the code of all files, after "code "
followed() {
	sed -n '/^total:$/,$s/^  code \(.* instructions, .*\)/\1/p'
}

# make_shapes NAME: assemble and link the standard input.
make_shapes() {
	mkdir -p "$OUT/followed"
	as -o "$SHAPES-$1.o" -
	ld --build-id --eh-frame-hdr -o "$SHAPES-$1" "$SHAPES-$1.o"
}

# code_is NAME TEXT: each instruction is followed, and compares as TEXT says.
code_is() {
	"$CHECKED" check --code --verbose --format v3 "$SHAPES-$1" > "$OUT/followed/out" || true
	has "$OUT/followed/out" "$2"
}

# What compilers and people do with the stack: each instruction has the right rule here.
shapes_are_followed() {
	make_shapes good <<-'END'
		.macro function name
		.globl \name
		\name: .cfi_startproc
		.endm
		function _start
			call pushes
			call frame
			call realigned
			call saved
			call swapped
			xor %edi, %edi
			call table
			ret
			.cfi_endproc
		function pushes
			push %rbp
			.cfi_adjust_cfa_offset 8
			.cfi_offset %rbp, -16
			push %rbx
			.cfi_adjust_cfa_offset 8
			sub $24, %rsp
			.cfi_adjust_cfa_offset 24
			xor %ebp, %ebp
			push $1
			.cfi_adjust_cfa_offset 8
			popq 8(%rsp)
			.cfi_adjust_cfa_offset -8
			lea 24(%rsp), %rsp
			.cfi_adjust_cfa_offset -24
			pop %rbx
			.cfi_adjust_cfa_offset -8
			pop %rbp
			.cfi_adjust_cfa_offset -8
			.cfi_restore %rbp
			ret
			.cfi_endproc
		function frame
			enter $32, $0
			.cfi_def_cfa %rbp, 16
			.cfi_offset %rbp, -16
			sub %rdi, %rsp
			call *%rax
			leave
			.cfi_def_cfa %rsp, 8
			.cfi_restore %rbp
			ret
			.cfi_endproc
		function realigned
			push %rbp
			.cfi_def_cfa %rsp, 16
			.cfi_offset %rbp, -16
			mov %rsp, %rbp
			.cfi_def_cfa %rbp, 16
			and $-64, %rsp
			sub $64, %rsp
			call *%rax
			mov %rbp, %rsp
			pop %rbp
			.cfi_def_cfa %rsp, 8
			.cfi_restore %rbp
			ret
			.cfi_endproc
		function saved
			mov %rsp, %rax
			.cfi_def_cfa %rax, 8
			push %rbp
			.cfi_offset %rbp, -16
			sub $128, %rsp
			and $-64, %rsp
			mov %rax, 16(%rsp)
			# CFA = *(rsp + 16) + 8
			.cfi_escape 0x0f, 5, 0x77, 16, 0x06, 0x23, 8
			xor %ebp, %ebp
			mov 16(%rsp), %rsi
			.cfi_def_cfa %rsi, 8
			mov -8(%rsi), %rbp
			.cfi_restore %rbp
			lea (%rsi), %rsp
			.cfi_def_cfa %rsp, 8
			ret
			.cfi_endproc
		function swapped
			mov %rsp, %rcx
			lea -4096(%rsp), %rdx
			xchg %rdx, %rsp
			.cfi_def_cfa_offset 4104
			call *%rax
			xchg %rdx, %rsp
			add $4096, %rsp
			ret
			.cfi_endproc
		function table
			push %rbx
			.cfi_def_cfa %rsp, 16
			lea offsets(%rip), %rdx
			cmp $1, %edi
			ja 2f
			movslq (%rdx, %rdi, 4), %rax
			add %rdx, %rax
			jmp *%rax
		1:	mov $1, %ebx
		2:	pop %rbx
			.cfi_def_cfa %rsp, 8
			ret
			.cfi_endproc
		.section .rodata
		offsets: .long 1b - offsets, 2b - offsets
	END
	# But for three instructions behind those that have the CFA in %rax or %rsi only
	code_is good "58 instructions, followed 55 (94.828 %): equal 55, not known 0, errors of"
	has "$OUT/followed/out" "errors of .eh_frame 0, differing 0"
}

rules_that_code_refutes_are_found() {
	make_shapes bad <<-'END'
		.globl _start
		_start: .cfi_startproc
			call wrong
			call forgot
			ret
			.cfi_endproc
		wrong: .cfi_startproc
			push %rbx
			.cfi_adjust_cfa_offset 8
			jmp 1f
			.cfi_adjust_cfa_offset 8
		1:	nop
			jmp 1b
			.cfi_endproc
		forgot: .cfi_startproc
			push %rbx
			nop
			pop %rbx
			ret
			.cfi_endproc
	END
	status 1 "$CHECKED" check --code --verbose "$SHAPES-bad" > "$OUT/followed/out"
	cat "$OUT/followed/out"
	has "$OUT/followed/out" "errors of .eh_frame 2, differing 2"
	has "$OUT/followed/out" ": .eh_frame cfa 2:7+24+0 fp 0:0+0+0, code cfa 2:7+16+0 fp 0:0+0+0"
	"$CHECKED" check --code --summary "$SHAPES-bad" > "$OUT/followed/out" || true
	has "$OUT/followed/out" "errors of .eh_frame 2, differing 2"
}

code_of_programs_equals_eh_frame() {
	status 0 "$CHECKED" check --code --format v3 "$OUT"/{O0,O2,Os,Ofp,drap,Olazy,Ofixed} \
		> "$OUT/followed/out"
	followed < "$OUT/followed/out"
	followed < "$OUT/followed/out" | grep -q 'differing 0$'
}

# Of a sample of the system, at least 95 % of the instructions are followed, and none wrongly.
code_of_stock_files_equals_eh_frame() {
	local share

	status 0 "$SFRAME" check --code --format v3 -j 2 /lib64/ld-linux-x86-64.so.2 \
		/usr/bin/{bash,perl,python3,xz,make,ld.bfd} \
		/lib/x86_64-linux-gnu/lib{c.so.6,m.so.6,lzma.so.5,z.so.1,crypto.so.3} \
		> "$OUT/followed/out"
	followed < "$OUT/followed/out"
	share=$(followed < "$OUT/followed/out" | sed 's/.*(\([0-9]*\)\..*/\1/')
	[ "$share" -ge 95 ]
}

# Each byte begins an instruction, and jumps lead into the middle of others.
hostile_code_ends() {
	mkdir -p "$OUT/followed"
	python3 - > "$OUT/followed/random.s" <<-'END'
		import random

		random.seed(1)
		print(".globl _start\n_start: .cfi_startproc")
		for _ in range(20000):
		    # jne, call, prefixes, push, pop, enter, and lea n(%rsp), %rsp
		    print(".byte", random.choice((
		        *[f"0x75, {random.randrange(256)}"] * 4,
		        f"0xe8, {random.randrange(256)}, {random.randrange(64)}, 0, 0",
		        "0x66", "0x2e", "0x50", "0x58", "0x53", "0x5b", "0xc8, 16, 0, 0",
		        f"0x48, 0x8d, 0x64, 0x24, {random.randrange(256)}")))
		print(".cfi_endproc")
	END
	make_shapes random < "$OUT/followed/random.s"
	(
		ulimit -t 60
		"$CHECKED" check --code --summary "$SHAPES-random" > "$OUT/followed/out" 2>&1 ||
			[ $? = 1 ]
	)
	cat "$OUT/followed/out"
	has "$OUT/followed/out" "total: 1 files checked"
}

followed_cases() {
	try code-shapes shapes_are_followed
	try code-refutes rules_that_code_refutes_are_found
	try code-programs code_of_programs_equals_eh_frame
	try code-stock-files code_of_stock_files_equals_eh_frame
	try code-hostile hostile_code_ends
}
