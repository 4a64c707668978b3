# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Cases of run.sh: sframe cache fills a cache.
# shellcheck disable=SC2154 # OUT, HERE, PROGRAM, SFRAME, CHECKED, SEEDS: run.sh

second_fill_writes_nothing() {
	cache_programs
	cache "$OUT/programs" > "$OUT/cache.first"
	has "$OUT/cache.first" "5 files: 5 written"
	[ "$(table_files | wc -l)" = 5 ]
	[ "$(table_files | grep -cvE '/[0-9a-f]{2}/[0-9a-f]{38}\.v4$')" = 0 ]
	[ -z "$(find "$OUT/cache" -name '*.v4' ! -perm 644)$(find "$OUT/cache" -type d ! -perm 755)" ]
	find "$OUT/cache" -type f -printf '%p %i %T@\n' | sort > "$OUT/cache.before"
	cache "$OUT/programs" > "$OUT/cache.second"
	has "$OUT/cache.second" "5 files: 0 written (0.0 MB), 5 there already"
	find "$OUT/cache" -type f -printf '%p %i %T@\n' | sort > "$OUT/cache.after"
	cmp "$OUT/cache.before" "$OUT/cache.after"
	[ -z "$(cache --quiet "$OUT/programs" 2>&1)" ]
}

damaged_table_is_made_anew() {
	local table

	table=$(table_files | head -n 1)
	cp "$table" "$OUT/good"
	truncate -s -1 "$table"
	cache "$OUT/programs" > "$OUT/cache.out"
	has "$OUT/cache.out" "1 written"
	cmp "$table" "$OUT/good"
	: > "$table"
	cache "$OUT/programs" > "$OUT/cache.out"
	cmp "$table" "$OUT/good"
	# A table file of an earlier version
	printf '\1' | dd bs=1 seek=8 conv=notrunc status=none of="$table"
	cache "$OUT/programs" > "$OUT/cache.out"
	has "$OUT/cache.out" "1 written"
	cmp "$table" "$OUT/good"
}

# zero FILE OFFSET SIZE: overwrite a part of the file.
zero() {
	dd if=/dev/zero of="$1" bs=1 seek="$2" count="$3" conv=notrunc status=none
}

# As after a crash: the header is whole, the rest is zeros.
table_with_damaged_body_is_made_anew() {
	local table size note=2048

	cache_programs
	cache --quiet "$OUT/programs"
	table=$(table_files | head -n 1)
	size=$(stat -c %s "$table")
	cp "$table" "$OUT/good"
	zero "$table" $((size - 9)) 9
	cache --list > "$OUT/cache.out"
	has "$OUT/cache.out" "KB  refused: the table is damaged"
	cache "$OUT/programs" > "$OUT/cache.out"
	has "$OUT/cache.out" " 1 written"
	cmp "$table" "$OUT/good"
	# Files of other makers have no note of the table's checksum.
	zero "$table" $note 48
	cache "$OUT/programs" > "$OUT/cache.out"
	has "$OUT/cache.out" " 0 written"
	[ "$(id -u)" != 0 ] || {
		cache --list > "$OUT/cache.out"
		has "$OUT/cache.out" ", 0 that the kernel would refuse"
	}
	# The first function, after the page and the header of 28 bytes
	printf '\377%.0s' {1..16} |
		dd of="$table" bs=1 seek=$((4096 + 28)) conv=notrunc status=none
	cache --list > "$OUT/cache.out"
	has "$OUT/cache.out" "KB  refused: a function of the table is damaged"
	cache "$OUT/programs" > "$OUT/cache.out"
	has "$OUT/cache.out" " 1 written"
	cmp "$table" "$OUT/good"
}

# The kernel refuses them.
table_that_others_can_write_is_made_anew() {
	local table

	table=$(table_files | head -n 1)
	chmod 664 "$table"
	cache "$OUT/programs" > "$OUT/cache.out"
	has "$OUT/cache.out" "1 written"
	[ "$(stat -c %a "$table")" = 644 ]
	[ "$(id -u)" = 0 ] || return 0
	chown 65534 "$table"
	cache "$OUT/programs" > "$OUT/cache.out"
	has "$OUT/cache.out" "1 written"
	[ "$(stat -c %u "$table")" = 0 ]
}

# twin NUMBER ADDRESS: make a program with the same build-id as all others, and other code
twin() {
	echo "int main(void) { return $1; }" |
		gcc -O2 -no-pie -Wl,--build-id=0x12abcdef -Wl,-Ttext-segment="$2" \
			-o "$OUT/twins/$1" -x c -
}

make_twins() {
	rm -rf "$OUT/twins" "$OUT/cache"
	mkdir "$OUT/twins"
	twin 1 0x400000
	twin 2 0x500000
	twin 3 0x600000
	FIRST=$OUT/cache/12/abcdef.v4
}

# second_table NUMBER: print the second name of a twin's table.
second_table() {
	echo "${FIRST%.v4}-$("$HERE/layout.py" "$OUT/twins/$1" | cut -d- -f2).v4"
}

# is_of TABLE FILE: TABLE has to be that of FILE.
is_of() {
	[ "$(layout_in "$1")" = "$("$HERE/layout.py" "$2" | cut -d- -f2)" ]
	"$SFRAME" gen --quiet -o "$OUT/generated" "$2"
	cmp -i 4096 "$1" "$OUT/generated"
}

layouts_lie_side_by_side() {
	local number

	make_twins
	for number in 1 2 3; do
		cache "$OUT/twins/$number" > "$OUT/cache.out"
		has "$OUT/cache.out" "1 written"
	done
	is_of "$FIRST" "$OUT/twins/1"
	is_of "$(second_table 2)" "$OUT/twins/2"
	is_of "$(second_table 3)" "$OUT/twins/3"
	[ "$(table_files | wc -l)" = 3 ]
	cache "$OUT/twins" > "$OUT/cache.out"
	has "$OUT/cache.out" "3 files: 0 written (0.0 MB), 3 there already"
	# Each is repaired in its place.
	truncate -s -1 "$(second_table 3)"
	cache "$OUT/twins" > "$OUT/cache.out"
	has "$OUT/cache.out" " 1 written"
	is_of "$(second_table 3)" "$OUT/twins/3"
	# The kernel does not look for the second name if the first is damaged or missing.
	: > "$FIRST"
	cache "$OUT/twins/2" > "$OUT/cache.out"
	is_of "$FIRST" "$OUT/twins/2"
	[ ! -e "$(second_table 2)" ]
	cache "$OUT/twins" > "$OUT/cache.out"
	is_of "$FIRST" "$OUT/twins/2"
	is_of "$(second_table 1)" "$OUT/twins/1"
	[ "$(table_files | wc -l)" = 3 ]
}

# Workers that read them at the same time find that out under the lock.
layouts_are_told_apart_by_concurrent_workers() {
	local round

	make_twins
	for round in {1..8}; do
		rm -rf "$OUT/cache"
		TOOL=$SFRAME cache --jobs 3 "$OUT/twins" > "$OUT/cache.out"
		has "$OUT/cache.out" "3 files: 3 written"
		[ "$(table_files | wc -l)" = 3 ]
	done
}

# make_no_ids DIR: programs without a build-id, or with one that the index has no room for, or that
# is too short, or that no program header leads to.
make_no_ids() {
	rm -rf "$1"
	mkdir -p "$1"
	gcc -O2 -Wl,--build-id=none -o "$1/none" "$PROGRAM"
	gcc -O2 -Wl,--build-id=0x"$(printf '%042d' 1)" -o "$1/long" "$PROGRAM"
	gcc -O2 -Wl,--build-id=0x7f -o "$1/short" "$PROGRAM"
	gcc -O2 -Wl,--build-id=0x7777 -o "$1/hidden" "$PROGRAM"
	python3 - "$1/hidden" <<-'END'
		import struct, sys

		with open(sys.argv[1], "r+b") as file:
		    data = bytearray(file.read())
		    start, = struct.unpack_from("<Q", data, 32)
		    size, count = struct.unpack_from("<HH", data, 54)
		    for at in range(start, start + size * count, size):
		        if struct.unpack_from("<I", data, at)[0] == 4:
		            struct.pack_into("<I", data, at, 0x12345678)
		    file.seek(0)
		    file.write(data)
	END
}

# They are known by their headers.
files_without_build_id_get_tables() {
	local dir=$OUT/no-ids file keys

	make_no_ids "$dir"
	rm -rf "$OUT/cache"
	cache "$dir" > "$OUT/cache.out"
	cat "$OUT/cache.out"
	has "$OUT/cache.out" "4 files: 4 written"
	mapfile -t keys < <("$HERE/layout.py" "$dir"/*)
	printf '%s\n' "${keys[@]}"
	[ "$(printf '%s\n' "${keys[@]}" | cut -c 1-40 | sort -u | grep -c '^.\{40\}$')" = 4 ]
	"$HERE/index.py" "$OUT/cache" "${keys[@]}"
	for file in "$dir"/*; do
		status 0 "$CHECKED" check --cache-dir "$OUT/cache" "$file"
	done
	"$SFRAME" gen --quiet -o "$OUT/generated" "$dir/none"
	"$SFRAME" dump "$OUT/generated" > "$OUT/cache.out"
	has "$OUT/cache.out" "table file, headers $("$HERE/layout.py" "$dir/none" | cut -d- -f1)"
	cache "$dir" > "$OUT/cache.out"
	has "$OUT/cache.out" "4 files: 0 written (0.0 MB), 4 there already"
	find "$OUT/cache" -type f -exec touch -d yesterday {} +
	prune "$dir" > "$OUT/cache.out"
	has "$OUT/cache.out" ": 4 tables, 0 removed, "
	# Another program with the same headers: its table replaces the first one's.
	cp "$dir/none" "$OUT/same-headers"
	python3 - "$OUT/same-headers" <<-'END'
		import sys

		with open(sys.argv[1], "r+b") as file:
		    data = file.read()
		    # DW_CFA_def_cfa_offset 16 becomes 24.
		    at = data.index(b"\x0e\x10", 4096)
		    file.seek(at + 1)
		    file.write(b"\x18")
	END
	cache "$OUT/same-headers" > "$OUT/cache.out"
	has "$OUT/cache.out" "1 files: 1 written"
	# An object whose build-id is the hash of these headers, as one of a container might have
	gcc -O2 -Wl,--build-id=0x"$("$HERE/layout.py" "$dir/none" | cut -d- -f1)" \
		-o "$OUT/same-headers" "$PROGRAM"
	cache "$OUT/same-headers" "$dir" > "$OUT/cache.out"
	has "$OUT/cache.out" "5 files: 2 written"
	cache "$OUT/same-headers" "$dir" > "$OUT/cache.out"
	has "$OUT/cache.out" "5 files: 0 written (0.0 MB), 5 there already"
	mapfile -t keys < <("$HERE/layout.py" "$dir"/* "$OUT/same-headers")
	"$HERE/index.py" "$OUT/cache" "${keys[@]}"
	status 2 cache --format v2 "$dir/none"
}

# Only the first of several copies is written, even if workers read them at the same time.
copies_are_written_once() {
	local round copy

	mkdir -p "$OUT/copies"
	for ((copy = 0; copy < 16; copy++)); do
		cp /usr/lib/x86_64-linux-gnu/libc.so.6 "$OUT/copies/$copy"
	done
	for ((round = 0; round < 3; round++)); do
		rm -rf "$OUT/cache"
		cache --jobs 8 "$OUT/copies" > "$OUT/cache.out"
		has "$OUT/cache.out" "16 files: 1 written"
		has "$OUT/cache.out" ", 15 there already"
	done
}

progress_is_for_terminals() {
	cache_programs
	cache "$OUT/programs" > "$OUT/null" 2> "$OUT/cache.err"
	[ ! -s "$OUT/cache.err" ]
	cache --progress "$OUT/programs" > "$OUT/null" 2> "$OUT/cache.err"
	has "$OUT/cache.err" "sframe: 5 of 5 files, 0 written"
	cache --progress --quiet "$OUT/programs" > "$OUT/null" 2> "$OUT/cache.err"
	[ ! -s "$OUT/cache.err" ]
	command -v script || return 0
	script -qec "'$CHECKED' cache --cache-dir '$OUT/cache' '$OUT/programs' > '$OUT/null'" \
		"$OUT/null" < /dev/null > "$OUT/cache.err"
	has "$OUT/cache.err" $'\r5 of 5 files, 0 written\r'
}

hostile_file_fails_alone() {
	cache_programs
	head -c 9000 /usr/bin/xz > "$OUT/programs/cut"
	status 1 cache "$OUT/programs" > "$OUT/cache.out" 2> "$OUT/cache.err"
	has "$OUT/cache.out" "6 files: 5 written"
	has "$OUT/cache.out" "1 failed"
	has "$OUT/cache.err" "sframe: $OUT/programs/cut: "
	status 1 cache /no/such/file "$OUT/programs" > "$OUT/cache.out" 2>&1
	has "$OUT/cache.out" "5 there already"
}

damaged_programs_are_survived() {
	local file

	damage $((SEEDS / 4)) "$OUT/programs/O2"
	for file in "$OUT/damaged/"*; do
		survives "$CHECKED" cache --cache-dir "$OUT/cache" "$file"
	done
}

no_unwind_data_is_skipped() {
	rm -rf "$OUT/no-table"
	mkdir "$OUT/no-table"
	printf '%s\n' '.globl _start' '_start: ret' | as -o "$OUT/no-table.o"
	ld --build-id -o "$OUT/no-table/no-frames" "$OUT/no-table.o"
	cache "$OUT/no-table" > "$OUT/cache.out"
	has "$OUT/cache.out" "1 skipped (1 without unwind data, 0 no program)"
}

# The user expects a table for each file that he names.
named_file_without_table_fails() {
	local option

	for option in --quiet --dry-run; do
		status 1 cache $option "$OUT/no-table/no-frames" "$PROGRAM" \
			> "$OUT/cache.out" 2> "$OUT/cache.err"
		has "$OUT/cache.err" "no-frames: no unwind information, and no code that can be followed; compile it with -fasynchronous"
		has "$OUT/cache.err" "$PROGRAM: not an x86-64 program or library; leave it out"
		[ "$(wc -l < "$OUT/cache.err")" = 2 ]
	done
}

# with_tmpfs DIR OPTIONS COMMAND...: run COMMAND with a new file system on DIR.
with_tmpfs() {
	# shellcheck disable=SC2016 # the inner shell's
	unshare -m sh -ec 'mount -t tmpfs -o "$2" none "$1"; shift 2; exec "$@"' x "$@"
}

full_disk_stops_at_once() {
	cache_programs
	mkdir "$OUT/cache"
	status 1 with_tmpfs "$OUT/cache" size=12k,mode=755 "$CHECKED" cache --jobs 1 \
		--cache-dir "$OUT/cache" /usr/bin/xz "$OUT/programs" \
		> "$OUT/cache.out" 2> "$OUT/cache.err"
	has "$OUT/cache.err" \
		"sframe: $OUT/cache: No space left on device; free space there, or name another directory by --cache-dir"
	[ "$(wc -l < "$OUT/cache.err")" = 1 ]
	has "$OUT/cache.out" ", 5 not read, 1 failed"
	status 1 with_tmpfs "$OUT/cache" ro,mode=755 "$CHECKED" cache --jobs 1 \
		--cache-dir "$OUT/cache" "$OUT/programs" 2> "$OUT/cache.err"
	has "$OUT/cache.err" "sframe: $OUT/cache: Read-only file system; name another directory"
	status 1 with_tmpfs "$OUT/cache" size=12k "$CHECKED" gen -o "$OUT/cache/table" /usr/bin/xz \
		2> "$OUT/cache.err"
	has "$OUT/cache.err" "cannot be written: No space left on device; name another file by --output"
}

dry_run_writes_nothing() {
	cache_programs
	cp "$OUT/no-table/no-frames" "$OUT/programs"
	cache --dry-run "$OUT/programs" > "$OUT/cache.out"
	rm "$OUT/programs/no-frames"
	[ "$(grep -c "^would make the table of $OUT/programs/" "$OUT/cache.out")" = 5 ]
	has "$OUT/cache.out" ": 6 files: 5 would be written, 0 there already, 1 skipped"
	[ ! -e "$OUT/cache" ]
	cache --quiet "$OUT/programs/O2"
	cache --dry-run "$OUT/programs" > "$OUT/cache.out"
	has "$OUT/cache.out" ": 5 files: 4 would be written, 1 there already"
	[ "$(table_files | wc -l)" = 1 ]
}
