# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Cases of run.sh: sframe cache and objects that carry a table of their own (PT_GNU_SFRAME).
# shellcheck disable=SC2154 # OUT, HERE, SFRAME and CHECKED: run.sh

# with_own_table FILE SECTIONS PUSHED: make a library whose SECTIONS describe two functions.
with_own_table() {
	local file=$1 sections=$2 pushed=$3

	{
		echo ".cfi_sections $sections"
		for name in first second; do
			printf '%s\n' ".globl $name" ".type $name, @function" \
				"$name: .cfi_startproc" "push %$pushed" '.cfi_def_cfa_offset 16' \
				"pop %$pushed" '.cfi_def_cfa_offset 8' ret .cfi_endproc
		done
	} > "$file.s"
	as -o "$file.o" "$file.s"
	ld -shared --no-ld-generated-unwind-info --build-id=0x0123456789abcdef \
		-o "$file" "$file.o"
	rm "$file.s" "$file.o"
}

makes_own_tables() {
	mkdir -p "$OUT/own"
	with_own_table "$OUT/own/only" .sframe rax 2> "$OUT/null" &&
		readelf -lW "$OUT/own/only" | grep -q GNU_SFRAME
}

OWN_TABLE=$OUT/cache/01/23456789abcdef.v4

# own_header FIELD FILE: print the offset (2), address (3) or size (5) of the table in FILE.
own_header() {
	readelf -lW "$2" | awk -v field="$1" '$1 == "GNU_SFRAME" { print $field }'
}

# is_copy_of FILE: the table in the cache has to be the table that FILE carries.
is_copy_of() {
	local size

	size=$(($(own_header 5 "$1")))
	[ "$(stat -c %s "$OWN_TABLE")" = $((4096 + size)) ]
	[ $((16#$(u64 32 "$OWN_TABLE"))) = $(($(own_header 3 "$1"))) ]
	[ "$(layout_in "$OWN_TABLE")" = "$("$HERE/layout.py" "$1" | cut -d- -f2)" ]
	# Last, for the cases in which it has to fail
	cmp -i 4096:$(($(own_header 2 "$1"))) -n "$size" "$OWN_TABLE" "$1"
}

own_table_is_packed() {
	local version

	makes_own_tables
	[ "$(readelf -SW "$OUT/own/only" | grep -c eh_frame)" = 0 ]
	rm -rf "$OUT/cache"
	cache "$OUT/own" > "$OUT/cache.out"
	has "$OUT/cache.out" "1 files: 1 written"
	is_copy_of "$OUT/own/only"
	version=$(od -An -tu1 -j4098 -N1 "$OWN_TABLE")
	[ "$(u32 40 "$OWN_TABLE")" = "$((version))" ]
	# There is no .eh_frame.
	[ "$(u64 96 "$OWN_TABLE")" = 0000000000000000 ]
	"$HERE/index.py" "$OUT/cache" "$("$HERE/layout.py" "$OUT/own/only")"
	diff <("$SFRAME" dump --rows "$OWN_TABLE" | grep '^ ') \
		<("$SFRAME" dump --rows "$OUT/own/only" | grep '^ ')
	[ "$("$SFRAME" dump --rows "$OWN_TABLE" | grep -c ' sp+16 ')" = 2 ]
	cache "$OUT/own" > "$OUT/cache.out"
	has "$OUT/cache.out" "1 files: 0 written (0.0 MB), 1 there already"
	find "$OUT/cache" -type f -exec touch -d yesterday {} +
	prune "$OUT/own" > "$OUT/cache.out"
	has "$OUT/cache.out" ": 1 tables, 0 removed, "
	[ "$(id -u)" != 0 ] || {
		cache --list > "$OUT/cache.out"
		has "$OUT/cache.out" ", 0 that the kernel would refuse"
	}
}

# An object that was built again may have its build-id and its addresses.
changed_own_table_is_packed_anew() {
	local number

	makes_own_tables
	rm -rf "$OUT/cache"
	cache --quiet "$OUT/own"
	number=$(stat -c %i "$OWN_TABLE")
	# The CFA of the second row, after the header, two FDEs and a row of three bytes
	printf '\30' | dd bs=1 conv=notrunc status=none of="$OUT/own/only" \
		seek=$(($(own_header 2 "$OUT/own/only") + 28 + 2 * 20 + 3 + 2))
	status 1 is_copy_of "$OUT/own/only"
	cache "$OUT/own" > "$OUT/cache.out"
	has "$OUT/cache.out" " 1 written"
	is_copy_of "$OUT/own/only"
	[ "$(stat -c %i "$OWN_TABLE")" != "$number" ]
	"$SFRAME" dump --rows "$OWN_TABLE" | grep ' sp+24 '
}

# .eh_frame describes more than an own table, and its table is in version 3.
eh_frame_comes_before_an_own_table() {
	rm -rf "$OUT/cache" "$OUT/own"
	mkdir "$OUT/own"
	with_own_table "$OUT/own/both" '.eh_frame, .sframe' rax
	[ -n "$(own_header 2 "$OUT/own/both")" ]
	cache "$OUT/own" > "$OUT/cache.out"
	has "$OUT/cache.out" "1 files: 1 written"
	[ "$(u32 40 "$OWN_TABLE")" = 3 ]
	[ "$(u64 96 "$OWN_TABLE")" != 0000000000000000 ]
	"$SFRAME" gen --quiet -o "$OUT/generated" "$OUT/own/both"
	cmp -i 4096 "$OWN_TABLE" "$OUT/generated"
}

own_table_that_cannot_be_read_is_skipped() {
	local fault good=$OUT/own-good

	rm -rf "$OUT/own"
	makes_own_tables
	mv "$OUT/own/only" "$good"
	# The magic, the version, the number of functions, where a function starts, the size, and
	# two that only the kernel's code notices: not sorted, and functions elsewhere
	for fault in '0 \377' '2 \1' '8 \377' '28 \377\377\377\177' '20 \377\377' '3 \0' \
		'28 \0\0\1\0\3\0\0\0\0\0\0\0\3\0\0\0\3\0\1\0'; do
		cp "$good" "$OUT/own/only"
		# shellcheck disable=SC2059 # the format is the byte
		printf "${fault#* }" | dd bs=1 conv=notrunc status=none of="$OUT/own/only" \
			seek=$(($(own_header 2 "$good") + ${fault%% *}))
		rm -rf "$OUT/cache"
		cache --verbose "$OUT/own" > "$OUT/cache.out"
		has "$OUT/cache.out" "only: no .eh_frame, and the kernel does not read its own table"
		has "$OUT/cache.out" " 1 skipped (1 without unwind data,"
		status 1 cache "$OUT/own/only" > "$OUT/cache.out" 2> "$OUT/cache.err"
		has "$OUT/cache.err" "read its own table; compile it with -fasynchronous-unwind-tables"
		[ -z "$(table_files)" ]
	done
}

own_table_cases() {
	if ! makes_own_tables; then
		skip cache-own-table "no assembler and linker that make PT_GNU_SFRAME"
		return
	fi
	try cache-own-table own_table_is_packed
	try cache-own-table-changed changed_own_table_is_packed_anew
	try cache-own-table-both eh_frame_comes_before_an_own_table
	try cache-own-table-damaged own_table_that_cannot_be_read_is_skipped
}
