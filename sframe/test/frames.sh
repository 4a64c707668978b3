# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Cases of run.sh: the tool's tables of frames of all sorts.
# shellcheck disable=SC2154 # OUT, HERE, PROGRAM, SFRAME and CHECKED are those of run.sh

# compile_program NAME FLAG...: compile PROGRAM to $OUT/NAME
compile_program() {
	local name=$1

	shift
	gcc -w -fno-inline -fno-ipa-icf -fasynchronous-unwind-tables -Wa,--gsframe -o "$OUT/$name" \
		-DCOMPILED_ONLY "$PROGRAM" "$@" 2> "$OUT/$name.gcc" || {
		cat "$OUT/$name.gcc"
		return 1
	}
}

# Every byte of the program's code, both formats, under the sanitizers.
program_equals_eh_frame() {
	local name=$1

	compile_program "$@"
	"$CHECKED" check --every-byte --verbose "$OUT/$name" > "$OUT/$name.check"
	cat "$OUT/$name.check"
	[ "$(grep -c 'differing 0,' "$OUT/$name.check")" = 4 ]
	# Version 3 can express all that compilers do.
	[ "$(grep -c '^  v3: .*(100.000 %).*(100.000 %)' "$OUT/$name.check")" = 2 ]
}

# The assembler and linker make the same functions and rows from the same code.
program_equals_assembler() {
	local name=$1 file=$OUT/$1 functions

	"$SFRAME" gen --quiet -o "$file.table" "$file"
	"$SFRAME" dump --rows "$file.table" > "$file.ours"
	"$SFRAME" dump --rows "$file" > "$file.theirs"
	functions=$("$HERE/same_rows.py" "$file.ours" "$file.theirs")
	echo "$name: $functions functions"
	[ "$functions" -ge 6 ]
}

link_rules() {
	as -o "$OUT/rules.o" "$HERE/rules.s"
	ld --no-ld-generated-unwind-info -shared -Ttext=0x10000 \
		--build-id=0x00112233445566778899aabbccddeeff -o "$OUT/rules" "$OUT/rules.o"
}

rules_are_those_written_down() {
	"$CHECKED" gen --format "$1" -o "$OUT/rules.$1" "$OUT/rules"
	"$CHECKED" dump --rows "$OUT/rules.$1" | grep '^ ' > "$OUT/rules.$1.rows"
	diff -u "$HERE/rules.$1" "$OUT/rules.$1.rows"
}

rules_equal_eh_frame() {
	"$CHECKED" check --every-byte --verbose "$OUT/rules" > "$OUT/rules.check"
	cat "$OUT/rules.check"
	[ "$(grep -c 'differing 0, ' "$OUT/rules.check")" = 4 ]
	has "$OUT/rules.check" "v2: cfa_computed at 0x10060: 0x10061..0x10062: the CFA is computed"
	has "$OUT/rules.check" "v2: fp_undefined at 0x100a0: 0x100a0..0x100a1: FP is undefined"
	has "$OUT/rules.check" \
		"v3: fp_is_cfa at 0x10090: 0x10090..0x10091: FP is the CFA plus an offset"
}

# The tool and libdw read directives that no compiler writes in the same way.  fuzz begins with
# such files, with sanitizers.
random_rules_equal_eh_frame() {
	local seed

	for ((seed = FIRST_SEED; seed < FIRST_SEED + SEEDS / 5; seed++)); do
		echo "seed $seed"
		"$HERE/random_rules.py" $seed > "$OUT/random.s"
		as -o "$OUT/random.o" "$OUT/random.s"
		ld -shared -o "$OUT/random" "$OUT/random.o"
		"$SFRAME" check --every-byte --verbose "$OUT/random" > "$OUT/random.check"
		[ "$(grep -c 'differing 0,' "$OUT/random.check")" = 4 ]
	done
}
