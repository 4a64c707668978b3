# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Cases of run.sh: sframe check --code, which follows code and compares it with .eh_frame.
# shellcheck disable=SC2154 # OUT, HERE, CHECKED and SFRAME: run.sh

SHAPES=$OUT/followed/shapes

# What the tool says of the code of all files, after "code "
followed() {
	sed -n '/^total:$/,$s/^  code \(.* instructions, .*\)/\1/p'
}

# make_shapes NAME [OPTION...]: assemble and link the standard input.
make_shapes() {
	mkdir -p "$OUT/followed"
	as -o "$SHAPES-$1.o" -
	ld --build-id --eh-frame-hdr "${@:2}" -o "$SHAPES-$1" "$SHAPES-$1.o"
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
			call flags
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
		function flags
			pushfq
			.cfi_adjust_cfa_offset 8
			pop %rax
			.cfi_adjust_cfa_offset -8
			push %rax
			.cfi_adjust_cfa_offset 8
			popfq
			.cfi_adjust_cfa_offset -8
			call 1f
		1:	.cfi_adjust_cfa_offset 8
			pop %rdx
			.cfi_adjust_cfa_offset -8
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
			lea -4096(%rsp), %r12
			xchg %r12, %rsp
			.cfi_def_cfa_offset 4104
			call *%rax
			xchg %r12, %rsp
			.cfi_def_cfa_offset 8
			ret
			.cfi_endproc
		function table
			push %rbx
			.cfi_def_cfa %rsp, 16
			lea offsets(%rip), %rdx
			cmp $1, %edi
			ja 9f
			movslq (%rdx, %rdi, 4), %rax
			add %rdx, %rax
			jmp *%rax
		8:	mov $1, %ebx
		9:	pop %rbx
			.cfi_def_cfa %rsp, 8
			ret
			.cfi_endproc
		function bounded
			push %rbx
			.cfi_def_cfa %rsp, 16
			and $3, %edi
			lea 4(%rdi), %rsi
			cmp $4, %edx
			cmovg %rsi, %rdi
			lea more(%rip), %rdx
			movslq (%rdx, %rdi, 4), %rax
			add %rdx, %rax
			jmp *%rax
		.Lmore1: nop
		.Lmore2: pop %rbx
			.cfi_def_cfa %rsp, 8
			ret
			.cfi_endproc
		function labels
			push %rbx
			.cfi_def_cfa %rsp, 16
			lea 3f(%rip), %rdx
			test %edi, %edi
			je 5f
			lea 4f(%rip), %rdx
		5:	jmp *%rdx
		3:	nop
		4:	pop %rbx
			.cfi_def_cfa %rsp, 8
			ret
			.cfi_endproc
		function several
			push %rbx
			.cfi_def_cfa %rsp, 16
			lea 3f(%rip), %r8
			test %edi, %edi
			je 5f
			lea 4f(%rip), %r8
		5:	call leaf
			jmp *%r8
		3:	nop
		4:	pop %rbx
			.cfi_def_cfa %rsp, 8
			ret
			.cfi_endproc
		function leaf
			xor %eax, %eax
			ret
			.cfi_endproc
		function probed
			lea -0x9000(%rsp), %r11
			.cfi_def_cfa %r11, 0x9008
		1:	sub $0x1000, %rsp
			orq $0, (%rsp)
			cmp %r11, %rsp
			jne 1b
			.cfi_def_cfa %rsp, 0x9008
			sub $0x28, %rsp
			.cfi_def_cfa_offset 0x9030
			call leaf
			add $0x9028, %rsp
			.cfi_def_cfa_offset 8
			ret
			.cfi_endproc
		function pointers
			push %rbp
			.cfi_def_cfa %rsp, 16
			.cfi_offset %rbp, -16
			sub $512, %rsp
			.cfi_def_cfa_offset 528
			.set at, 0
			.rept 30
			lea at+8(%rsp), %rax
			mov %rax, at(%rsp)
			.set at, at+16
			.endr
			add $512, %rsp
			.cfi_def_cfa_offset 16
			pop %rbp
			.cfi_restore %rbp
			.cfi_def_cfa_offset 8
			ret
			.cfi_endproc
		function byte
			push %rbx
			.cfi_def_cfa %rsp, 16
			lea bytes(%rip), %rcx
			movzbl (%rdi), %edx
			cmp $0x82, %dl
			ja .Lbyte2
			movslq (%rcx, %rdx, 4), %rax
			add %rcx, %rax
			jmp *%rax
		.Lbyte1: nop
		.Lbyte2: pop %rbx
			.cfi_def_cfa %rsp, 8
			ret
			.cfi_endproc
		function either
			push %rbx
			.cfi_def_cfa %rsp, 16
			xor %esi, %esi
			mov $1, %eax
			test %edi, %edi
			je 3f
			mov (%rdi), %eax
			cmp $3, %eax
			ja .Lfew2
		3:	lea few(%rip), %rdx
			movslq (%rdx, %rax, 4), %rax
			add %rdx, %rax
			jmp *%rax
		.Lfew1: nop
		.Lfew2: pop %rbx
			.cfi_def_cfa %rsp, 8
			ret
			.cfi_endproc
		function register
			mov %rsp, %r8
			.cfi_def_cfa %r8, 8
			and $-64, %rsp
			sub $64, %rsp
			mov %r8, %rsp
			.cfi_def_cfa %rsp, 8
			ret
			.cfi_endproc
		.section .rodata
		offsets: .long 8b - offsets, 9b - offsets
		more: .rept 4; .long .Lmore1 - more, .Lmore2 - more; .endr
		bytes: .rept 0x82; .long .Lbyte1 - bytes; .endr; .long .Lbyte2 - bytes
		few: .rept 2; .long .Lfew1 - few, .Lfew2 - few; .endr
	END
	code_is good "202 instructions, followed 202 (100.000 %): equal 124, by other rules 78, not"
	has "$OUT/followed/out" " not known 0, errors of .eh_frame 0, differing 0"
}

# What looks like a bound, or like an equal register, and is none: no row is wrong.
false_hints_are_not_followed() {
	make_shapes hints <<-'END'
		.macro function name
		.globl \name
		\name: .cfi_startproc
		.endm
		function _start
			call signed
			call moved
			call changed
			call masked
			ret
			.cfi_endproc
		function signed
			lea bytes(%rip), %rcx
			cmp $0x81, %dl
			ja .Lout
			movsbq %dl, %rax
			movslq (%rcx, %rax, 4), %rdx
			add %rcx, %rdx
			jmp *%rdx
		.Lout:	ret
			.cfi_endproc
		function framed
			push %rbx
			.cfi_def_cfa %rsp, 16
			mov $1, %eax
		.Lframed: mov $2, %eax
			pop %rbx
			.cfi_def_cfa %rsp, 8
			ret
			.cfi_endproc
		function moved
			lea -0x2000(%rsp), %r11
			.cfi_def_cfa %r11, 0x2008
		1:	sub $0x1000, %rsp
			cmp %r11, %rsp
			lea 8(%r11), %r11
			.cfi_def_cfa_offset 0x2000
			jne 1b
			.cfi_def_cfa %rsp, 0x2008
			add $0x2000, %rsp
			.cfi_def_cfa_offset 8
			ret
			.cfi_endproc
		function changed
			lea .Lframed(%rip), %r8
			call changes
			jmp *%r8
			.cfi_endproc
		function changes
			lea .Lout(%rip), %r8
			ret
			.cfi_endproc
		# The index is 3 at most; at 4, another table begins.
		function masked
			lea four(%rip), %rcx
			and $7, %edi
			movslq (%rcx, %rdi, 4), %rdx
			add %rcx, %rdx
			jmp *%rdx
		.Lmasked: ret
			.cfi_endproc
		function named
			push %rbx
			.cfi_def_cfa %rsp, 16
			lea others(%rip), %rcx
			cmp $3, %edi
			ja .Lnamed
			movslq (%rcx, %rdi, 4), %rdx
			add %rcx, %rdx
			jmp *%rdx
		.Lnamed: pop %rbx
			.cfi_def_cfa %rsp, 8
			ret
			.cfi_endproc
		.section .rodata
		four: .rept 4; .long .Lmasked - four; .endr
		others: .rept 4; .long .Lnamed - others; .endr
		.rept 0x80; .long .Lout - bytes; .endr
		bytes: .rept 0x80; .long .Lout - bytes; .endr; .long .Lframed - bytes
			.long .Lframed - bytes
	END
	code_is hints "45 instructions, followed 38 (84.444 %): equal 38, by other rules 0, not known 0"
}

# A call by the PLT does not return if the function of this name in the same object does not.
calls_of_exported_functions_may_not_return() {
	make_shapes exports -shared <<-'END'
		.globl stops, calls
		.type stops, @function
		stops:	.cfi_startproc
			hlt
			.cfi_endproc
		.type calls, @function
		calls:	.cfi_startproc
			push %rbx
			.cfi_def_cfa %rsp, 16
			call stops@PLT
			.cfi_endproc
		# A part of another function, with a larger frame
			.cfi_startproc
			.cfi_def_cfa %rsp, 32
			nop
			hlt
			.cfi_endproc
	END
	code_is exports "9 instructions, followed 4 (44.444 %): equal 3"
	has "$OUT/followed/out" "differing 0"
}

# Nothing but an exception leads to what handles it.
handlers_of_exceptions_are_followed() {
	make_shapes caught <<-'END'
		.globl _start
		personality:
		_start: .cfi_startproc
			.cfi_personality 0x1b, personality
			.cfi_lsda 0x1b, handlers
			push %rbx
			.cfi_def_cfa %rsp, 16
		throws:	call *%rdi
		back:	pop %rbx
			.cfi_def_cfa %rsp, 8
			ret
		caught:	.cfi_def_cfa %rsp, 16
			mov %rax, %rdi
			call *%rbx
			hlt
			.cfi_endproc
		.section .gcc_except_table, "a"
		# Offsets from the function, of 4 bytes; no types
		handlers: .byte 0xff, 0xff, 3, 2f - 1f
		1:	.long throws - _start, back - throws, caught - _start
			.byte 0
		2:
	END
	code_is caught "7 instructions, followed 7 (100.000 %): equal 7, by other rules 0, not known 0"
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

# Of Debian's files (all of them if STOCK_EVERY is 20, as in a long run), at least 95 % of the
# instructions are followed, and at most 1 in 100,000 differs from .eh_frame; of these twelve, none.
code_of_stock_files_equals_eh_frame() {
	local each=$((STOCK_EVERY / 20))

	status 0 "$SFRAME" check --code --format v3 -j 2 /lib64/ld-linux-x86-64.so.2 \
		/usr/bin/{bash,perl,python3,xz,make,ld.bfd} \
		/lib/x86_64-linux-gnu/lib{c.so.6,m.so.6,lzma.so.5,z.so.1,crypto.so.3} \
		> "$OUT/followed/out"
	followed < "$OUT/followed/out"
	find /usr/bin /usr/lib -type f \( -name '*.so*' -o -executable \) |
		sort | awk "NR % ${each/#0/1} == 0" > "$OUT/followed/stock"
	xargs -d '\n' "$SFRAME" check --code --format v3 --summary -j 2 \
		< "$OUT/followed/stock" > "$OUT/followed/out" || true
	# code N instructions, followed N (SHARE %): ..., differing N
	# total: N files checked, N skipped, N failed; ...
	awk '/^total:$/ { total = 1 }
		total && $1 == "code" { insns += $2; followed += $5; differing += $NF }
		/^total: / { checked += $2; failed += $7 }
		END {
			printf "%d files, %d failed; %d instructions, followed %d, differing %d\n",
				checked, failed, insns, followed, differing
			exit failed || !checked || followed < 0.95 * insns ||
				differing > followed / 100000
		}' "$OUT/followed/out"
}

# dump_rows NAME: what the table has goes to OUT/followed/out.
dump_rows() {
	"$CHECKED" gen --quiet -o "$SHAPES-$1.table" "$SHAPES-$1"
	"$CHECKED" dump --rows "$SHAPES-$1.table" > "$OUT/followed/out"
	cat "$OUT/followed/out"
}

# rows_gained NAME BYTES: following the code yields rows for so much.
rows_gained() {
	status 0 "$CHECKED" check --every-byte "$SHAPES-$1" > "$OUT/followed/out"
	cat "$OUT/followed/out"
	[ "$(sed -n 's/^  text .*, followed \([0-9]*\)$/\1/p' "$OUT/followed/out" | tail -n 1)" = "$2" ]
}

# Functions without .eh_frame, 13 bytes long: right behind a function, aligned, or called
code_without_eh_frame_is_followed() {
	# shellcheck disable=SC2016 # an assembler's $
	local body='push %rbx; sub $16, %rsp; nop; add $16, %rsp; pop %rbx; nop; ret'

	make_shapes found <<-END
		.globl _start
		_start: .cfi_startproc
			call called
			ret
			.cfi_endproc
			$body
			.p2align 4
			$body
			.p2align 4, 0xcc
			nop
		called: $body
	END
	rows_gained found 39
	dump_rows found
	# The function of .eh_frame, and three others
	[ "$(grep -c ' bytes  *1 rows$' "$OUT/followed/out")" = 1 ]
	[ "$(grep -c ' 13 bytes  *5 rows, followed$' "$OUT/followed/out")" = 3 ]
	[ "$(grep -c '  sp+8  *\[cfa-8\]  *=$' "$OUT/followed/out")" = 7 ]
	[ "$(grep -c '  sp+16  *\[cfa-8\]  *=$' "$OUT/followed/out")" = 6 ]
	[ "$(grep -c '  sp+32  *\[cfa-8\]  *=$' "$OUT/followed/out")" = 3 ]
	# Version 2 has no mark for them.
	"$CHECKED" gen --quiet --format v2 -o "$SHAPES-found.table" "$SHAPES-found"
	has <("$CHECKED" dump "$SHAPES-found.table") ": 1 functions, "
}

# An object without any unwind information gets a table of its code; others do not.
code_alone_makes_a_table() {
	# shellcheck disable=SC2016 # an assembler's $
	local body='sub $16, %rsp; call *%rdi; add $16, %rsp; ret' name=$SHAPES-alone

	make_shapes alone --build-id=none <<-END
		.globl _start
		_start: call called
			hlt
		called: $body
			.p2align 4
		other: $body
	END
	rows_gained alone 28
	has "$OUT/followed/out" " without rows 0 (0.000 %), ~0 with frame pointers, followed 28"
	status 0 "$CHECKED" check --format v2 "$name"
	rm -rf "$OUT/cache"
	cache "$name" > "$OUT/cache.out"
	has "$OUT/cache.out" "1 files: 1 written"
	status 0 "$CHECKED" check --cache-dir "$OUT/cache" "$name"
	cache "$name" > "$OUT/cache.out"
	has "$OUT/cache.out" "1 files: 0 written (0.0 MB), 1 there already"
	dump_rows alone
	[ "$(grep -c ' rows, followed$' "$OUT/followed/out")" = 2 ]
	status 1 "$CHECKED" gen --format v2 -o "$name.table" "$name" 2> "$OUT/followed/out"
	has "$OUT/followed/out" "no .eh_frame; name an x86-64 program"
	# The code decides whether the table is this object's.
	python3 - "$name" <<-'END'
		import sys

		with open(sys.argv[1], "r+b") as file:
		    at = file.read().index(b"\x48\x83\xec\x10")
		    file.seek(at + 3)
		    file.write(b"\x18")
		    file.seek(at + 9)
		    file.write(b"\x18")
	END
	status 1 "$CHECKED" check --cache-dir "$OUT/cache" "$name"
	cache "$name" > "$OUT/cache.out"
	has "$OUT/cache.out" "1 files: 1 written"
	status 0 "$CHECKED" check --cache-dir "$OUT/cache" "$name"
	# More than is followed
	make_shapes alone <<-END
		.globl _start
		_start: call called
			hlt
		called: $body
			.skip 16 << 20, 0x90
	END
	status 0 "$CHECKED" check "$name" > "$OUT/followed/out"
	has "$OUT/followed/out" "skipped: no .eh_frame"
	status 1 cache "$name" 2> "$OUT/cache.err"
	has "$OUT/cache.err" "no unwind information, and no code that can be followed; compile"
	# Frame pointers are enough.
	make_shapes alone <<-END
		.globl _start
		_start:	push %rbp
			mov %rsp, %rbp
			call *%rdi
			pop %rbp
			ret
	END
	status 0 "$CHECKED" check "$name" > "$OUT/followed/out"
	has "$OUT/followed/out" "skipped: no .eh_frame"
	status 0 cache "$name" > "$OUT/cache.out"
	has "$OUT/cache.out" "no unwind information, but frame pointers, which the kernel follows"
	status 1 "$CHECKED" gen -o "$name.table" "$name" 2> "$OUT/followed/out"
	has "$OUT/followed/out" "but frame pointers, which the kernel follows; leave it out"
	# As many a program of Go: larger, too
	make_shapes alone <<-END
		.globl _start
		_start:
		.rept 1 << 20
			push %rbp
			mov %rsp, %rbp
			call *%rdi
			pop %rbp
			ret
			.skip 20, 0xcc
		.endr
	END
	status 0 cache "$name" > "$OUT/cache.out"
	has "$OUT/cache.out" "but frame pointers, which the kernel follows"
}

# Haskell code has the row of the jump that leads to it, but where it calls C.
code_of_ghc_has_the_row_of_its_entry() {
	make_shapes haskell <<-'END'
		.globl _start
		_start: .cfi_startproc
			call stg_run
			hlt
			.cfi_endproc
			.p2align 4
		stg_run: .cfi_startproc
			sub $0x30, %rsp
			.cfi_def_cfa_offset 56
			mov %rsp, %rax
			sub $0x4000, %rsp
			.cfi_def_cfa_offset 16440
			mov %rbx, 0(%rax)
			mov %rbp, 8(%rax)
			.cfi_offset %rbp, -48
			mov %rsi, %r13
			mov %rdi, %rax
			jmp *%rax
			mov %rbx, %rax
			add $0x4000, %rsp
			.cfi_def_cfa_offset 56
			mov 8(%rsp), %rbp
			.cfi_restore %rbp
			add $0x30, %rsp
			.cfi_def_cfa_offset 8
			ret
			.cfi_endproc
		# Data, code that calls, and code that moves its stack pointer for good
			.quad 0x1e, 0x300000000
		haskell: add $16, %rbp
			sub $8, %rsp
			mov %rbx, %rdi
			call *%rax
			add $8, %rsp
			jmp *(%rbp)
			.long 0x08ec8348
			sub $24, %rsp
			jmp *(%rbx)
		c: .cfi_startproc
			ret
			.cfi_endproc
		# Not enough jumps of Haskell's for so many bytes
		other:	sub $8, %rsp
			call *%rax
			add $8, %rsp
			ret
			.skip 1000, 0xcc
	END
	rows_gained haskell 57
	has "$OUT/followed/out" " not expressed 0"
	dump_rows haskell
	[ "$(grep -c ' 3 rows, followed' "$OUT/followed/out")" = 2 ]
	[ "$(grep -cF '  sp+16440     [cfa-8]    [cfa-48]' "$OUT/followed/out")" = 3 ]
	[ "$(grep -cF '  sp+16448     [cfa-8]    [cfa-48]' "$OUT/followed/out")" = 1 ]
	# Without the jump, the code is followed as any other.
	python3 - "$SHAPES-haskell" <<-'END'
		import sys

		with open(sys.argv[1], "r+b") as file:
		    at = file.read().index(b"\x49\x89\xf5\x48\x89\xf8\xff\xe0")
		    file.seek(at)
		    file.write(b"\x49\x89\xf4")
	END
	dump_rows haskell
	lacks "$OUT/followed/out" "sp+16448"
}

# Nothing leads to the bytes after a function, which are no alignment: they must have no row.
gaps_beside_followed_code_have_no_row() {
	make_shapes gaps <<-'END'
		.globl _start
		_start: .cfi_startproc
			call 1f
			ret
			.cfi_endproc
		1:	push %rbx
			pop %rbx
			ret
			.byte 0x06
			.p2align 4, 0x06
		first: .cfi_startproc
			ret
			.cfi_endproc
			.byte 0x06
			.p2align 4, 0x06
		2:	push %rbx
			pop %rbx
			ret
			.p2align 4, 0xcc
		second: .cfi_startproc
			call 2b
			ret
			.cfi_endproc
	END
	rows_gained gaps 6
	dump_rows gaps
	[ "$(grep -c ' 0 rows, followed$' "$OUT/followed/out")" = 2 ]
}

# A walk cannot know rbx in the caller of a function that saves it first, but where it is saved.
callers_have_rows_by_what_callees_save() {
	make_shapes callees <<-'END'
		.globl _start
		_start: .cfi_startproc
			push %rbx
			.cfi_def_cfa_offset 16
			mov %rsp, %rbx
			.cfi_def_cfa_register %rbx
			and $-64, %rsp
			call saves
			nop
			call saves
			call keeps
			call changes
			call *%rax
			mov %rbx, %rsp
			.cfi_def_cfa_register %rsp
			pop %rbx
			.cfi_def_cfa_offset 8
			call saves
			ret
			.cfi_endproc
		saves: .cfi_startproc
			endbr64
			push %r14
			.cfi_def_cfa_offset 16
			xor %ecx, %ecx
			push %rbx
			.cfi_def_cfa_offset 24
			pop %rbx
			.cfi_def_cfa_offset 16
			pop %r14
			.cfi_def_cfa_offset 8
			ret
			.cfi_endproc
		keeps: .cfi_startproc
			test %ecx, %ecx
			je 1f
			push %rbx
			.cfi_def_cfa_offset 16
			pop %rbx
			.cfi_def_cfa_offset 8
		1:	ret
			.cfi_endproc
		changes: .cfi_startproc
			mov %rbx, %rcx
			mov %rdi, %rbx
			push %rbx
			.cfi_def_cfa_offset 16
			mov %rcx, %rbx
			pop %rcx
			.cfi_def_cfa_offset 8
			ret
			.cfi_endproc
	END
	rows_gained callees 2
	has "$OUT/followed/out" " not expressed 0"
	dump_rows callees
	[ "$(grep -c ' 1 bytes  *1 rows, followed, flexible$' "$OUT/followed/out")" = 2 ]
	[ "$(grep -cF '  [sp-24]+16 ' "$OUT/followed/out")" = 2 ]
	# The row for each last byte stands between two parts of the function.
	[ "$(grep -c ' rows, flexible$' "$OUT/followed/out")" = 3 ]
}

# Another function begins right after a call that never returns, and one that is called may never
# return itself.
last_calls_end_functions() {
	make_shapes last <<-'END'
		.globl _start
		_start: .cfi_startproc
			ret
			.cfi_endproc
			.p2align 4
			push %rbx
			test %edi, %edi
			je 2f
			call 1f
		2:	pop %rbx
			ret
		1:	push %rbx
			sub $16, %rsp
			call *%rax
			push %rbp
			xor %ebp, %ebp
			pop %rbp
			ret
	END
	rows_gained last 24
	dump_rows last
	[ "$(grep -c '  sp+32  *\[cfa-8\]  *=$' "$OUT/followed/out")" = 1 ]
	[ "$(grep -c '  sp+16  *\[cfa-8\]  *\[cfa-16\]$' "$OUT/followed/out")" = 1 ]
}

# Hand-written code calls parts of itself that change the frame pointer, which it has saved.  Walks
# find it if that is so at each call, and the caller does not use it for its own frame.
parts_may_change_the_frame_pointer() {
	make_shapes parts <<-'END'
		.globl _start
		_start: .cfi_startproc
			call f
			call g
			call h
			call k
			ret
			.cfi_endproc
		f:	push %rbp
			xor %ebp, %ebp
			call part
			call of_f_and_g
			call of_f_and_h
			call of_f_and_k
			pop %rbp
			ret
		g:	push %rbp
			mov %rsp, %rbp
			call of_f_and_g
			leave
			ret
		h:	call of_f_and_h
			ret
		k:	jmp of_f_and_k
		part:	inc %ebp
			call inner
			jmp inner
		inner:	test %edi, %edi
			je 1f
			xor %ebp, %ebp
			nop
		1:	ret
		of_f_and_g: xor %ebp, %ebp
			ret
		of_f_and_h: xor %ebp, %ebp
			ret
		of_f_and_k: xor %ebp, %ebp
			ret
	END
	rows_gained parts 59
	dump_rows parts
	# f, g and h; part and inner
	[ "$(grep -c ' 42 bytes  *7 rows, followed$' "$OUT/followed/out")" = 1 ]
	[ "$(grep -c ' 17 bytes  *1 rows, followed$' "$OUT/followed/out")" = 1 ]
}

# Nothing says how many entries the tables have, but they lead to what follows the jumps; after h's
# jump, the frame is not undone.
jumps_by_tables_without_an_end_are_followed() {
	make_shapes tables <<-'END'
		.globl _start
		_start: .cfi_startproc
			ret
			.cfi_endproc
			.p2align 4
		f:	push %rbx
			lea f(%rip), %rcx
			lea shorts(%rip), %rax
			movzwl (%rax, %rdi, 2), %edi
			add %rcx, %rdi
			jmp *%rdi
		1:	pop %rbx
			ret
			.byte 0x06
		2:	xor %eax, %eax
			pop %rbx
			ret
			.p2align 4
		g:	push %rbx
			lea longs(%rip), %rax
			movslq 4(%rax, %rdi, 4), %rdi
			lea 4(%rax, %rdi), %rdi
			jmp *%rdi
		3:	pop %rbx
			ret
			.p2align 4
		h:	push %rbx
			lea bad(%rip), %rax
			movslq (%rax, %rdi, 4), %rdi
			add %rax, %rdi
			jmp *%rdi
		4:	ret
		.section .rodata
		shorts:	.short 0, 1b - f, 2b - f, 0
		longs:	.long 0, 3b - (longs + 4), 0
		bad:	.long 0, 4b - bad, 0
	END
	rows_gained tables 52
	dump_rows tables
	[ "$(grep -c '  sp+16  *\[cfa-8\]  *=$' "$OUT/followed/out")" = 3 ]
}

# Hand-written code keeps its stack pointer in a register that functions may change, but no part
# that it calls does.  The others are bad: their callees, those that these call or jump to, the
# kernel, and code that nobody knows may change it.
registers_that_parts_keep_are_known() {
	make_shapes kept <<-'END'
		.macro frame part
			mov %rsp, %rcx
			and $-64, %rsp
			sub $64, %rsp
			call \part
			mov %rcx, %rsp
			ret
		.endm
		.globl _start
		_start: .cfi_startproc
			call good
			call bad1
			call bad2
			call bad3
			call bad4
			call bad5
			call bad6
			call bad7
			ret
			.cfi_endproc
		good:	frame keeps
		bad1:	frame calls
		bad2:	frame jumps
		bad3:	frame enters
		bad4:	frame leaves
		bad5:	frame loops
		bad6:	frame *%rdx
		bad7:	frame counts
		keeps:	push %rcx
			lea 1(%rcx), %eax
			call inner
			pop %rdx
			jmp inner
		inner:	test %edi, %edi
			je 1f
			xor %r8d, %r8d
			call keeps
		1:	ret
		calls:	call changes
			ret
		changes: inc %ecx
			ret
		jumps:	test %edi, %edi
			jne changes
			ret
		enters:	mov $39, %eax
			syscall
			ret
		leaves:	jmp *%rsi
		loops:	test %edi, %edi
			je 1f
			dec %edi
			call loops
			call last
		1:	ret
		counts:	loop counts
			ret
		last:	test %edi, %edi
			jne 2f
			ret
		2:	call loops
			pop %rcx
			push %rcx
			ret
	END
	# good, and the parts but for the one that jumps away
	rows_gained kept 102
	dump_rows kept
	[ "$(grep -c '  rcx+8  *\[cfa-8\]  *=$' "$OUT/followed/out")" = 1 ]
}

# Not aligned, and nothing calls it, but a pointer leads there.
functions_behind_pointers_are_followed() {
	make_shapes pointers -pie --no-dynamic-linker <<-'END'
		.globl _start
		_start: .cfi_startproc
			ret
			.cfi_endproc
			.p2align 4
			.byte 0x06
		1:	push %rbx
			pop %rbx
			ret
			.byte 0x06
		2:	ret
		.section .data.rel.ro, "aw"
			.quad 1b
	END
	rows_gained pointers 3
}

# All of a PLT has rows, also what runs at the first call of a function.
plts_of_all_linkers_are_followed() {
	local linker bind

	mkdir -p "$OUT/followed"
	for linker in bfd lld mold; do
		for bind in lazy now; do
			echo 'int puts(const char *); int main(void) { return puts("") < 0; }' |
				gcc -O1 "-fuse-ld=$linker" "-Wl,-z,$bind" -x c -o "$SHAPES-plt" -
			status 0 "$CHECKED" check --every-byte --format v3 "$SHAPES-plt" \
				> "$OUT/followed/out"
			cat "$OUT/followed/out"
			has "$OUT/followed/out" ", without rows 0 (0.000 %)"
		done
	done
}

# A table that an older tool made without following code is made anew, once.
tables_of_an_older_tool_are_made_anew() {
	local dir=$OUT/followed/cache table

	code_without_eh_frame_is_followed
	rm -rf "$dir"
	"$CHECKED" cache --cache-dir "$dir" "$SHAPES-found" > "$OUT/followed/out"
	has "$OUT/followed/out" " 1 written "
	table=$(echo "$dir"/??/*.v4)
	cp "$table" "$OUT/followed/new"
	# sframe_note::maker, after the magic and the flags
	printf '\0' | dd of="$table" bs=1 seek=$((2048 + 12)) conv=notrunc status=none
	status 1 "$CHECKED" check --cache-dir "$dir" "$SHAPES-found" > "$OUT/followed/out" 2>&1
	has "$OUT/followed/out" "an older version of the tool made it; make the table by 'sframe cache'"
	"$CHECKED" cache --cache-dir "$dir" "$SHAPES-found" > "$OUT/followed/out"
	has "$OUT/followed/out" " 1 written "
	cmp "$table" "$OUT/followed/new"
	"$CHECKED" cache --cache-dir "$dir" "$SHAPES-found" > "$OUT/followed/out"
	has "$OUT/followed/out" " 1 there already"
	status 0 "$CHECKED" check --cache-dir "$dir" "$SHAPES-found"
}

# What does not return to its caller with the frame as it was is no function.
guesses_that_code_refutes_yield_nothing() {
	make_shapes guesses <<-'END'
		.globl _start
		_start: .cfi_startproc
			ret
			.cfi_endproc
		# Amid a function with a frame
			.p2align 4
			add $24, %rsp
			pop %rbp
			ret
		# With a register that the caller wants back
			.p2align 4
			xor %ebp, %ebp
			ret
		# Never returns
			.p2align 4
			push %rbx
			jmp *%rax
			.p2align 4
			hlt
		# No instruction
			.p2align 4
			push %rbx
			.byte 0x06
		# The only good guess, after the end of another function
			.p2align 4
			ret
			push %rbx
			pop %rbx
			ret
	END
	rows_gained guesses 3
}

# Code after f and g reads bytes amid them as other instructions.  h moves its return address to a
# register; only the first and the last of its instructions find it on the stack.
guesses_do_no_harm() {
	make_shapes harm <<-'END'
		.globl _start
		_start: .cfi_startproc
			ret
			.cfi_endproc
		.type f, @function
		f:	push %rbx
			mov $0x90909090, %eax
			pop %rbx
			ret
			jne f + 3
			hlt
		.type g, @function
		g:	push %rbx
			mov $0x90909090, %eax
			pop %rbx
			ret
			call g + 3
			hlt
		.type h, @function
		h:	pop %r11
			push %rbx
			nop
			pop %rbx
			push %r11
			ret
		# A frame that is undone right after a call, and aligned
		.type k, @function
			.p2align 4
		k:	push %rbp
			mov %rsp, %rbp
			call *%rax
			.p2align 4
			leave
			ret
	END
	rows_gained harm 38
	dump_rows harm
	[ "$(grep -c '  sp+16  *\[cfa-8\]  *=$' "$OUT/followed/out")" = 3 ]
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
	try code-hints false_hints_are_not_followed
	try code-exports calls_of_exported_functions_may_not_return
	try code-exceptions handlers_of_exceptions_are_followed
	try code-refutes rules_that_code_refutes_are_found
	try code-programs code_of_programs_equals_eh_frame
	try code-stock-files code_of_stock_files_equals_eh_frame
	try code-without-eh_frame code_without_eh_frame_is_followed
	try code-alone code_alone_makes_a_table
	try code-haskell code_of_ghc_has_the_row_of_its_entry
	try code-gaps gaps_beside_followed_code_have_no_row
	try code-callees callers_have_rows_by_what_callees_save
	try code-last-calls last_calls_end_functions
	try code-parts parts_may_change_the_frame_pointer
	try code-tables jumps_by_tables_without_an_end_are_followed
	try code-kept registers_that_parts_keep_are_known
	try code-pointers functions_behind_pointers_are_followed
	try code-plts plts_of_all_linkers_are_followed
	try code-older-tables tables_of_an_older_tool_are_made_anew
	try code-guesses guesses_that_code_refutes_yield_nothing
	try code-harm guesses_do_no_harm
	try code-hostile hostile_code_ends
}
