# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Cases of run.sh: table files, and whether check notices a wrong table.
# shellcheck disable=SC2154 # OUT, HERE, SFRAME and CHECKED are those of run.sh

# u32/u64 OFFSET FILE: print a field of the header
u32() { od -An -tu4 -j"$1" -N4 "$2" | tr -d ' '; }
u64() { od -An -tx8 -j"$1" -N8 "$2" | tr -d ' '; }

# layout_in FILE: print the layout in a table's header
layout_in() { od -An -tx1 -v -j136 -N12 "$1" | tr -d ' \n'; }

header_says_what_is_there() {
	local file=$OUT/rules.table start size

	"$SFRAME" gen -o "$file" "$OUT/rules"
	[ "$(head -c 8 "$file")" = SFRMTAB1 ]
	[ "$(u32 8 "$file")" = 4 ]
	[ "$(u64 16 "$file")" = 0000000000001000 ]
	[ $((4096 + 16#$(u64 24 "$file"))) = "$(stat -c %s "$file")" ]
	[ "$(u64 32 "$file")" = ffffffffc0000000 ]
	[ "$(u32 40 "$file") $(u32 44 "$file") $(u32 48 "$file")" = "3 1 16" ]
	[ "$(od -An -tx1 -j56 -N16 "$file" | tr -d ' ')" = 00112233445566778899aabbccddeeff ]
	[ "$(layout_in "$file")" = "$("$HERE/layout.py" "$OUT/rules" | cut -d- -f2)" ]
	[ "$(u32 148 "$file")" = 0 ]
	[ "$(u64 152 "$file")" = 0000000000010000 ]
	objcopy -O binary --only-section=.eh_frame "$OUT/rules" "$OUT/rules.eh_frame"
	start=$((16#$(u64 88 "$file"))) size=$((16#$(u64 96 "$file")))
	cmp -n $size -i $start:0 "$OUT/rules" "$OUT/rules.eh_frame"
	[ $size = "$(stat -c %s "$OUT/rules.eh_frame")" ]
	[ "$(od -An -tx1 -v -j104 -N32 "$file" | tr -d ' \n')" = \
		"$(sha256sum < "$OUT/rules.eh_frame" | cut -d' ' -f1)" ]
	[ "$(od -An -tx2 -j4096 -N2 "$file" | tr -d ' ')" = dee2 ]
}

# One executable segment and several, with and without PT_GNU_EH_FRAME, and build-ids of
# several sizes
layouts_are_those_of_the_headers() {
	local file other seen=''

	cat > "$OUT/layout.c" <<-'END'
		#ifdef FAR
		__attribute__((section(".far"))) int far(void) { return 1; }
		#endif
		int main(void) { return 0; }
	END
	gcc -O2 -o "$OUT/layout-usual" "$OUT/layout.c" -Wl,--build-id
	gcc -O2 -o "$OUT/layout-short" "$OUT/layout.c" -Wl,--build-id=0x12345678
	gcc -O2 -o "$OUT/layout-fixed" "$OUT/layout.c" -Wl,--build-id -no-pie
	gcc -O2 -o "$OUT/layout-no-search" "$OUT/layout.c" -Wl,--build-id,--no-eh-frame-hdr
	gcc -O2 -o "$OUT/layout-segments" "$OUT/layout.c" -Wl,--build-id \
		-Wl,--section-start=.far=0x5000000 -DFAR
	[ "$(readelf -lW "$OUT/layout-segments" | grep -c 'LOAD.* R E ')" = 2 ]
	[ "$(readelf -lW "$OUT/layout-no-search" | grep -c GNU_EH_FRAME)" = 0 ]
	for file in "$OUT"/layout-{usual,short,fixed,no-search,segments}; do
		"$CHECKED" gen --quiet -o "$OUT/layout.table" "$file"
		other=$("$HERE/layout.py" "$file" | cut -d- -f2)
		[ "$(layout_in "$OUT/layout.table")" = "$other" ]
		lacks <(echo "$seen") "$other"
		seen+=" $other"
	done
}

same_input_same_bytes() {
	"$SFRAME" gen -o "$OUT/one" "$OUT/O2"
	"$SFRAME" gen -o "$OUT/two" "$OUT/O2"
	cmp "$OUT/one" "$OUT/two"
}

place_of_the_table_changes_no_row() {
	"$SFRAME" gen -o "$OUT/one" "$OUT/O2"
	"$SFRAME" gen --vaddr 0x70000000 -o "$OUT/two" "$OUT/O2"
	has <("$SFRAME" dump "$OUT/two") "at 0x70000000"
	diff <("$SFRAME" dump --rows "$OUT/one" | grep '^ ') \
	     <("$SFRAME" dump --rows "$OUT/two" | grep '^ ')
}

table_of_fixed_program_lies_above() {
	"$SFRAME" gen -o "$OUT/one" "$OUT/Ofixed"
	[[ $(u64 32 "$OUT/one") == 0000000040* ]]
	[[ $(u64 152 "$OUT/one") == 0000000000401000 ]]
}

far_table_is_for_version_3() {
	"$CHECKED" gen --format v2 --vaddr 0x700000000000 -o "$OUT/one" "$OUT/O2"
	has <("$CHECKED" dump "$OUT/one") ": 0 functions, 0 rows"
	"$CHECKED" gen --format v3 --vaddr 0x700000000000 -o "$OUT/one" "$OUT/O2"
	"$CHECKED" gen --format v3 -o "$OUT/two" "$OUT/O2"
	diff <("$SFRAME" dump --rows "$OUT/one" | grep '^ ') \
	     <("$SFRAME" dump --rows "$OUT/two" | grep '^ ')
}

signal_trampoline_is_marked() {
	compile_program static -O2 -static
	"$SFRAME" gen --format v3 -o "$OUT/one" "$OUT/static"
	"$SFRAME" dump --rows "$OUT/one" > "$OUT/static.rows"
	grep -A1 'signal frame' "$OUT/static.rows" | grep -F '[sp+160]' |
		grep -F '[sp+168]' | grep -F '[sp+120]'
}

# The rows of functions that .eh_frame describes
described() {
	"$CHECKED" dump --rows "$1" | awk '/^ +[0-9a-f]+ +[0-9]+ bytes/ { keep = !/followed/ } keep'
}

# Without symbols, less of the code that .eh_frame does not describe is followed.
no_section_headers_same_table() {
	local format

	cp "$OUT/O2" "$OUT/stripped"
	strip --strip-section-headers "$OUT/stripped"
	for format in v2 v3; do
		"$CHECKED" gen --format $format -o "$OUT/one" "$OUT/O2"
		"$CHECKED" gen --format $format -o "$OUT/two" "$OUT/stripped"
		described "$OUT/one" > "$OUT/one.rows"
		described "$OUT/two" > "$OUT/two.rows"
		# Its .eh_frame reaches to the end of its segment.
		cmp "$OUT/one.rows" "$OUT/two.rows"
		[ "$(wc -l < "$OUT/one.rows")" -gt 100 ]
	done
	"$CHECKED" check "$OUT/stripped"
}

debug_frame_fills_in() {
	printf '%s\n' '.cfi_sections .debug_frame' '.globl f' 'f: .cfi_startproc' \
		'push %rax' '.cfi_def_cfa_offset 16' 'ret' '.cfi_endproc' > "$OUT/df.s"
	as -o "$OUT/df.o" "$OUT/df.s"
	ld -shared -o "$OUT/df" "$OUT/df.o"
	objcopy --compress-debug-sections=zlib "$OUT/df" "$OUT/df.z"
	for file in "$OUT/df" "$OUT/df.z"; do
		"$CHECKED" check --every-byte "$file" > "$OUT/df.check"
		has "$OUT/df.check" "rows 2, equal 2, differing 0"
	done
	# The entries of .eh_frame come first.
	sed -i 's/^.cfi_sections.*/.cfi_sections .eh_frame, .debug_frame/' "$OUT/df.s"
	as -o "$OUT/df.o" "$OUT/df.s"
	ld -shared -o "$OUT/df" "$OUT/df.o"
	"$CHECKED" check --every-byte "$OUT/df" > "$OUT/df.check"
	has "$OUT/df.check" "functions 1, covered 1"
	has "$OUT/df.check" "entries 2, of them empty 0, in both sections 1"
}

# cfi_functions SECTION NAME...: print functions that SECTION describes, in assembly
cfi_functions() {
	local name

	echo ".cfi_sections $1"
	shift
	for name in "$@"; do
		printf '%s\n' ".globl $name" ".type $name, @function" "$name: .cfi_startproc" \
			'push %rax' '.cfi_def_cfa_offset 16' ret .cfi_endproc
	done
}

# Both sections have a CIE at offset 0; the reader must not take one for the other.
both_sections_are_read_whole() {
	cfi_functions .eh_frame a > "$OUT/both-a.s"
	{
		cfi_functions .debug_frame b c d e
		printf '%s\n' 'empty: .cfi_startproc' .cfi_endproc
	} > "$OUT/both-b.s"
	as -o "$OUT/both-a.o" "$OUT/both-a.s"
	as -o "$OUT/both-b.o" "$OUT/both-b.s"
	ld --no-ld-generated-unwind-info -shared -o "$OUT/both" "$OUT"/both-{a,b}.o
	"$CHECKED" check --every-byte --verbose "$OUT/both" > "$OUT/both.check"
	cat "$OUT/both.check"
	has "$OUT/both.check" "entries 6, of them empty 1, in both sections 0"
	[ "$(grep -c 'functions 5, covered 5' "$OUT/both.check")" = 4 ]
	"$CHECKED" gen --quiet -o "$OUT/both.table" "$OUT/both"
	has <("$CHECKED" dump "$OUT/both.table") ": 5 functions, "
}

debug_frame_of_one_file_is_read_whole() {
	local flags=(-O1 -g -fPIC -c -x c -)

	echo 'int f1(int n) { return n + 1; }' | gcc "${flags[@]}" -o "$OUT/one-a.o"
	printf 'int f%d(int n) { return n; }\n' 2 3 4 5 |
		gcc -fno-asynchronous-unwind-tables -fno-unwind-tables "${flags[@]}" \
			-o "$OUT/one-b.o"
	gcc -shared -nostdlib -Wl,--build-id -o "$OUT/one" "$OUT"/one-{a,b}.o
	"$CHECKED" check --every-byte "$OUT/one" > "$OUT/one.check"
	cat "$OUT/one.check"
	has "$OUT/one.check" "entries 5, of them empty 0, in both sections 0"
	[ "$(grep -c 'functions 5, covered 5' "$OUT/one.check")" = 4 ]
}

# A copy of the tool and of the kernel's code in it, built in BROKEN/out.
copy_to_break() {
	BROKEN=$OUT/broken
	rm -rf "$BROKEN"
	cp -r "$HERE/.." "$BROKEN"
	cp -r "$srctree/kernel/unwind" "$BROKEN/kernel"
	build_broken
}

build_broken() {
	make -s -C "$BROKEN" O="$BROKEN/out" KERNEL="$BROKEN/kernel" CFLAGS=-O0
}

# broken NAME FILE EXPRESSION [TEXT]: put one fault into a file of the copy, by sed, and take
# it out again; check has to fail, and print TEXT
broken() {
	local file=$BROKEN/$2 text=${4:-'differing [1-9]'}

	cp "$file" "$BROKEN/whole"
	sed -i "$3" "$file"
	if cmp -s "$file" "$BROKEN/whole"; then
		echo "$1: sed did not change $2; adapt the expression"
		return 1
	fi
	build_broken
	cp "$BROKEN/whole" "$file"
	status 1 "$BROKEN/out/sframe" check "$OUT/O2" "$OUT/drap" "$OUT/static" \
		"$OUT/rules" "$OUT/both" > "$BROKEN/check-$1" 2>&1
	grep -E "$text" "$BROKEN/check-$1"
}

# check has to notice faults in the writer and in the kernel's reader, one at a time.
check_notices_faults() {
	copy_to_break
	broken cfa table/write.c 's/add_word(words, row->cfa.offset/& + 8/'
	broken fp table/write.c 's/add_word(words, row->fp.offset/& - 8/'
	broken base table/write.c 's/row->cfa.base == REG_SP/row->cfa.base == REG_FP/'
	broken start table/write.c 's/put_fixed(out, row->start, 1/put_fixed(out, row->start + 1, 1/'
	broken size table/write.c 's/put_fixed(out, entry->size, 4)/put_fixed(out, entry->size + 1, 4)/'
	broken signal table/write.c 's/info |= SFRAME_V3_FDE_SIGNAL/info |= 0/'
	broken deref table/write.c 's/control |= SFRAME_V3_CONTROL_DEREF/control |= 0/'
	broken addend table/write.c 's/add_word(words, rule->add,/add_word(words, rule->add + 1,/'
	broken kernel-addend kernel/table.c 's/\*add = table_take_word/*add = 1 + table_take_word/'
	broken share table/write.c 's/return other;/return other ? 0 : 0;/'
	broken remember cfi/rows.c 's/run->now = run->remembered/run->initial = run->remembered/'
	broken restore cfi/rows.c 's/\(run->now.rule\[column\] = run->\)initial/\1now/'
	broken gap table/plan.c 's/leave_out(pl, start, end - start, cause);/;/'
	broken followed table/write.c 's/info2 |= SFRAME_V3_FDE_FOLLOWED/info2 |= 0/'
	broken kernel-followed kernel/table.c 's/rule.followed = .*;/rule.followed = false;/'
	broken kernel-row kernel/table.c \
		's/offset + row.start, rule)/offset + row.start + 1, rule)/'
	broken silence table/plan.c 's/if (size && size < CODE_ALIGNMENT)/if (size > CODE_ALIGNMENT)/'
	broken kernel-unaligned kernel/table.c 's/IS_ALIGNED(func->address, TABLE_PADDING)/true/'
	broken kernel-end kernel/table.c 's/!table_is_padding(build, func)/false/'
	# Functions that the reader loses appear in no row.
	broken stale cfi/read.c 's/rd.next_cie = 0/rd.next_cie = 1/' \
		'both: of 6 entries \(1 empty, 0 twice\) .* were read'
	broken empty cfi/read.c 's/if (!function.size)/if (function.size < 16)/' \
		'of .* were read'
	broken repeated cfi/read.c 's/if (!cfi_find(/if (cfi_find(/' 'of .* were read'
}

parallel_and_serial_agree() {
	"$SFRAME" check -j 4 "$OUT"/O* | grep -v ' MB/s$' | sort > "$OUT/one"
	"$SFRAME" check -j 1 "$OUT"/O* | grep -v ' MB/s$' | sort > "$OUT/two"
	cmp "$OUT/one" "$OUT/two"
}
