# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Cases of run.sh: .debug_frame of separate debug files, as packages of debug symbols have them.
# shellcheck disable=SC2154 # OUT, CHECKED and PROGRAM: run.sh

DEBUG=$OUT/debug

# What packages do with a library that is compiled for a debugger only: DEBUG/lib and its file.
# Nobody who follows its code can tell where leaf() ends: it jumps by a pointer.
make_debug_file() {
	local id

	rm -rf "$DEBUG"
	mkdir -p "$DEBUG"
	printf '%s\n' 'int (*next)(int);' \
		'int leaf(int n) { volatile char s[100]; s[n] = 1; return n + s[n] + next(n); }' \
		'int calls(int n) { return leaf(n) * leaf(n + 1); }' |
		gcc -O1 -g -fPIC -shared -nostdlib -fno-asynchronous-unwind-tables \
			-fno-unwind-tables -Wl,--build-id -o "$DEBUG/whole" -x c -
	id=$(build_id_of "$DEBUG/whole")
	DEBUG_FILE=$DEBUG/.build-id/${id:0:2}/${id:2}.debug
	mkdir -p "${DEBUG_FILE%/*}"
	objcopy --only-keep-debug "$DEBUG/whole" "$DEBUG_FILE"
	strip --strip-all -o "$DEBUG/lib" "$DEBUG/whole"
	chmod 644 "$DEBUG_FILE"
}

build_id_of() {
	readelf -n "$1" | sed -n 's/.*Build ID: //p'
}

# rows_of FILE [OPTION...]: the rows that do not follow from the code
rows_of() {
	"$CHECKED" gen --quiet -o "$DEBUG/table" "${@:2}" "$1"
	described "$DEBUG/table"
}

separate_debug_file_is_read() {
	make_debug_file
	rows_of "$DEBUG/whole" > "$DEBUG/whole.rows"
	rows_of "$DEBUG/lib" --debug-dir "$DEBUG" > "$DEBUG/lib.rows"
	cat "$DEBUG/lib.rows"
	cmp "$DEBUG"/{whole,lib}.rows
	[ "$(grep -c ' bytes  *[0-9]* rows' "$DEBUG/lib.rows")" = 2 ]
	status 0 "$CHECKED" check --debug-dir "$DEBUG" --table "$DEBUG/table" "$DEBUG/lib"
	objcopy --compress-debug-sections=zlib "$DEBUG_FILE"
	rows_of "$DEBUG/lib" --debug-dir "$DEBUG" | cmp - "$DEBUG/lib.rows"
	status 0 "$CHECKED" check --every-byte --debug-dir "$DEBUG" "$DEBUG/lib" > "$DEBUG/out"
	has "$DEBUG/out" "functions 2, covered 2"
	rows_of "$DEBUG/lib" --debug-dir "$DEBUG/none" > "$DEBUG/lib.rows"
	[ ! -s "$DEBUG/lib.rows" ]
	# The debug file alone says as much.
	rows_of "$DEBUG_FILE" | cmp - "$DEBUG/whole.rows"
}

# fill_with_debug DIR TEXT [OPTION...]: what the cache has, it says, and it is in order.
fill_with_debug() {
	status 0 cache --debug-dir "$1" "${@:3}" "$DEBUG/lib" > "$OUT/cache.out"
	has "$OUT/cache.out" "$2"
	status 0 "$CHECKED" check --cache-dir "$OUT/cache" --debug-dir "$1" "$DEBUG/lib"
}

tables_follow_debug_files() {
	make_debug_file
	rm -rf "$OUT/cache"
	fill_with_debug "$DEBUG/none" " 1 written"
	fill_with_debug "$DEBUG/none" " 0 written (0.0 MB), 1 there already"
	# It is installed,
	fill_with_debug "$DEBUG" " 1 written"
	fill_with_debug "$DEBUG" " 0 written (0.0 MB), 1 there already"
	described "$(table_of "$DEBUG/lib")" > "$DEBUG/lib.rows"
	[ "$(grep -c ' bytes  *[0-9]* rows' "$DEBUG/lib.rows")" = 2 ]
	# and removed.
	status 1 "$CHECKED" check --cache-dir "$OUT/cache" --debug-dir "$DEBUG/none" \
		"$DEBUG/lib" 2> "$OUT/cache.err"
	has "$OUT/cache.err" "it was made with a separate debug file, which is gone; make the table"
	fill_with_debug "$DEBUG/none" " 1 written"
	described "$(table_of "$DEBUG/lib")" > "$DEBUG/lib.rows"
	[ ! -s "$DEBUG/lib.rows" ]
	# A table of a package does not depend on what is installed, unless the package says so.
	rm -rf "$OUT/cache" "$DEBUG/system"
	mkdir -p "$DEBUG/system/usr/lib/debug" "$DEBUG/system/usr/bin"
	cp -r "$DEBUG/.build-id" "$DEBUG/system/usr/lib/debug"
	cp "$DEBUG/lib" "$DEBUG/system/usr/bin"
	status 0 cache --all --root "$DEBUG/system" --no-index > "$OUT/cache.out"
	has "$OUT/cache.out" " 1 written"
	[ -z "$(described "$(table_of "$DEBUG/lib")")" ]
	rm -rf "$OUT/cache"
	status 0 cache --all --root "$DEBUG/system" > "$OUT/cache.out"
	has "$OUT/cache.out" " 1 written"
	[ -n "$(described "$(table_of "$DEBUG/lib")")" ]
}

# ignores_debug_file WHY: the table is made as without
ignores_debug_file() {
	rm -rf "$OUT/cache"
	echo "a debug file that $1"
	fill_with_debug "$DEBUG" " 1 written"
	[ -z "$(described "$(table_of "$DEBUG/lib")")" ]
	fill_with_debug "$DEBUG" " 0 written (0.0 MB), 1 there already"
}

hostile_debug_files_change_nothing() {
	make_debug_file
	if [ "$(id -u)" = 0 ]; then
		chmod 646 "$DEBUG_FILE"
		ignores_debug_file "others may write"
		chmod 644 "$DEBUG_FILE"
		chown 65534 "$DEBUG_FILE"
		ignores_debug_file "is another user's"
		chown 0 "$DEBUG_FILE"
		chmod 600 "$DEBUG_FILE"
		ignores_debug_file "others may not read"
		chmod 644 "$DEBUG_FILE"
	fi
	cp "$DEBUG_FILE" "$DEBUG/good"
	echo 'int other;' | gcc -g -shared -nostdlib -Wl,--build-id -o "$DEBUG_FILE" -x c -
	ignores_debug_file "is of another program"
	head -c 3000 "$DEBUG/good" > "$DEBUG_FILE"
	ignores_debug_file "is cut off"
	: > "$DEBUG_FILE"
	ignores_debug_file "is empty"
	rm "$DEBUG_FILE"
	mkfifo "$DEBUG_FILE"
	ignores_debug_file "is a pipe"
	rm "$DEBUG_FILE"
	ln -s "$DEBUG_FILE" "$DEBUG_FILE"
	ignores_debug_file "is a link to itself"
	rm "$DEBUG_FILE"
	cp "$DEBUG/good" "$DEBUG_FILE"
	damage_section "$DEBUG_FILE"
	ignores_debug_file "is damaged"
	status 1 "$CHECKED" check --debug-dir "$DEBUG" "$DEBUG/lib" 2> "$OUT/cache.err"
	has "$OUT/cache.err" "the .debug_frame of its separate debug file is damaged"
	status 0 "$CHECKED" gen -o "$DEBUG/table" --debug-dir "$DEBUG" "$DEBUG/lib" 2> "$OUT/cache.err"
	has "$OUT/cache.err" "of its separate debug file is damaged; the table is made without"
	# It is mended.
	cp "$DEBUG/good" "$DEBUG_FILE"
	fill_with_debug "$DEBUG" " 1 written"
	[ -n "$(described "$(table_of "$DEBUG/lib")")" ]
	# The same build-id, but code elsewhere
	cp "$DEBUG/lib" "$DEBUG/elsewhere"
	grow_text "$DEBUG/elsewhere"
	[ -z "$(rows_of "$DEBUG/elsewhere" --debug-dir "$DEBUG")" ]
}

# Let the first executable segment be 16 bytes longer in memory.
grow_text() {
	python3 - "$1" <<-'END'
		import struct, sys

		with open(sys.argv[1], "r+b") as file:
		    head = file.read(64)
		    at, = struct.unpack_from("<Q", head, 32)
		    while True:
		        file.seek(at)
		        kind, flags, *words = struct.unpack("<IIQQQQQQ", file.read(56))
		        if kind == 1 and flags & 1:
		            break
		        at += 56
		    words[4] += 16
		    file.seek(at)
		    file.write(struct.pack("<IIQQQQQQ", kind, flags, *words))
	END
}

# Make the length of the first entry of .debug_frame larger than the section.
damage_section() {
	local at

	at=$(readelf -SW "$1" |
		sed -n 's/.* \.debug_frame  *PROGBITS  *[0-9a-f]* \([0-9a-f]*\) .*/\1/p')
	printf '\377\377\377\17' | dd of="$1" bs=1 seek=$((16#$at)) conv=notrunc status=none
}

debug_file_cases() {
	try debug-file separate_debug_file_is_read
	try debug-file-cache tables_follow_debug_files
	try debug-file-hostile hostile_debug_files_change_nothing
}
