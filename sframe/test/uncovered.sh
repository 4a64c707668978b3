# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Cases of run.sh: text without rows, in sframe check, cache and doctor; and sframe check of
# tables that are there.
# shellcheck disable=SC2154 # OUT, HERE and CHECKED: run.sh; KERNEL, TABLES: doctor.sh

BARE=$OUT/uncovered/bare

# A function of 112 bytes has no row, and 200 bytes with a frame pointer have none either, because
# 0x06 is no instruction.  What aligns the others is no text.
make_bare() {
	rm -rf "$OUT/uncovered"
	mkdir -p "$OUT/uncovered"
	cat > "$BARE.s" <<-'END'
		.globl _start
		_start: .cfi_startproc
		ret
		.cfi_endproc
		.p2align 4
		.skip 112, 0x06
		second: .cfi_startproc
		ret
		.cfi_endproc
		.p2align 6
		third: .cfi_startproc
		ret
		.cfi_endproc
		push %rbp
		mov %rsp, %rbp
		.skip 196, 0x06
	END
	as -o "$BARE.o" "$BARE.s"
	ld --build-id --eh-frame-hdr -o "$BARE" "$BARE.o"
}

text_without_rows_is_counted() {
	local line="text 315 bytes, without rows 312 (99.048 %), ~200 with frame pointers"

	make_bare
	status 0 "$CHECKED" check "$BARE" > "$OUT/uncovered/out"
	[ "$(grep -cF "  $line" "$OUT/uncovered/out")" = 2 ]
	status 0 "$CHECKED" check --summary "$BARE" "$BARE" > "$OUT/uncovered/out"
	[ "$(grep -c ' text 315 without rows 99.048 %$' "$OUT/uncovered/out")" = 2 ]
	has "$OUT/uncovered/out" "  text 630 bytes, without rows 624 (99.048 %), ~400 with"
	# The total includes what has no .eh_frame at all.
	objcopy --remove-section .eh_frame "$BARE" "$BARE.none"
	status 0 "$CHECKED" check "$BARE.none" > "$OUT/uncovered/out"
	has "$OUT/uncovered/out" "bare.none: skipped: no .eh_frame"
	[ "$(grep -cE '  text [0-9]+ bytes, without rows [0-9]+ \(100.000 %\), ~[1-9]' \
		"$OUT/uncovered/out")" = 2 ]
	# Without sections, the segment is the text.
	if objcopy --strip-section-headers "$BARE" "$BARE.cut" 2> "$OUT/null"; then
		"$CHECKED" gen --quiet -o "$BARE.table" "$BARE"
		status 0 "$CHECKED" check --format v3 "$BARE.cut" > "$OUT/uncovered/out"
		has "$OUT/uncovered/out" " bytes, without rows 312 "
	fi
}

# 8000 sections of one file claim the same half megabyte.
text_is_read_once() {
	make_bare
	"$HERE/many_headers.py" texts "$BARE.many"
	(
		ulimit -t 1
		status 0 "$SFRAME" check "$BARE.many" > "$OUT/uncovered/out"
	)
	has "$OUT/uncovered/out" "bare.many: skipped: no .eh_frame"
}

list_names_files() {
	local dir=$OUT/uncovered/tables

	make_bare
	cd "$OUT/uncovered" || return
	"$CHECKED" cache --quiet --cache-dir tables bare
	"$CHECKED" cache --cache-dir tables --list > out
	grep -qE '^[0-9a-f]{40} +4\.[0-9] KB  trusted  99\.0 % without rows  '"$BARE\$" out
	has out ": 1 tables, 0.0 MB, 0 that the kernel would refuse; 0.0 MB of text, 99.0 % without rows"
	"$CHECKED" cache --cache-dir tables --list --json > out
	python3 - out "$BARE" <<-'END'
		import json, sys

		table, = json.load(open(sys.argv[1]))
		want = {"name": sys.argv[2], "text": 315, "without_rows": 312, "frame_pointers": 200}
		assert {key: table[key] for key in want} == want, table
	END
	# A note that the kernel refuses with its table may say anything.
	chmod 664 "$dir"/??/*.v4
	"$CHECKED" cache --cache-dir tables --list > out
	lacks out "without rows"
	# Not what others cannot see
	mkdir -m 700 hidden
	cp bare hidden
	"$CHECKED" cache --quiet --cache-dir private hidden/bare
	"$CHECKED" cache --cache-dir private --list --json > out
	has out '"name": null, "text": 315'
	# In an image, the name that the file has there
	mkdir -p hidden/image/usr/bin
	cp bare hidden/image/usr/bin
	"$CHECKED" cache --quiet --all --root "$PWD/hidden/image/" --cache-dir image
	"$CHECKED" cache --cache-dir image --list --json > out
	has out '"name": "/usr/bin/bare", "text": 315'
	chmod 700 hidden/image/usr/bin
	"$CHECKED" cache --quiet --all --root "$PWD/hidden/image/" --cache-dir image-private
	"$CHECKED" cache --cache-dir image-private --list --json > out
	has out '"name": null, "text": 315'
	# A package's tables do not depend on where it was built.
	mkdir other
	cp bare other
	"$CHECKED" cache --quiet --no-index --cache-dir first bare
	"$CHECKED" cache --quiet --no-index --cache-dir second other/bare
	cmp first/??/*.v4 second/??/*.v4
	"$CHECKED" cache --cache-dir first --list --json > out
	has out '"name": null, "text": 315'
}

# wipe TABLE: make it one of another maker, who notes no checksum.
wipe() {
	printf none | dd of="$1" bs=1 seek=2048 conv=notrunc status=none
}

table_that_is_there_is_checked() {
	local table=$OUT/uncovered/table dir=$OUT/uncovered/tables out=$OUT/uncovered/out format

	make_bare
	for format in v2 v3; do
		"$CHECKED" gen --quiet --format $format -o "$table" "$OUT/O2"
		status 0 "$CHECKED" check --table "$table" "$OUT/O2" > "$out"
		has "$out" "  $format: functions"
		has "$out" "differing 0,"
	done
	lacks "$out" "  v2: functions"
	status 1 "$CHECKED" check --table "$table" "$BARE" 2> "$out"
	has "$out" "sframe: $BARE: $table: it was made for another object; make the table by "
	printf '\377' | dd of="$table" bs=1 seek=$((4096 + 30)) conv=notrunc status=none
	status 1 "$CHECKED" check --table "$table" "$OUT/O2" 2> "$out"
	has "$out" "sframe: $OUT/O2: $table: the table is damaged; make the table by "
	# Who makes no checksum is found out by the rows.
	"$CHECKED" gen --quiet -o "$table" "$OUT/O2"
	wipe "$table"
	status 0 "$CHECKED" check --table "$table" "$OUT/O2"
	python3 - "$table" <<-'END'
		import struct, sys

		table = bytearray(open(sys.argv[1], "rb").read())
		count, = struct.unpack_from("<I", table, 4096 + 8)
		struct.pack_into("<I", table, 4096 + 8, count - 1)
		open(sys.argv[1], "wb").write(table)
	END
	status 1 "$CHECKED" check --table "$table" "$OUT/O2" > "$out" 2>&1
	cat "$out"
	lacks "$out" "differing 0,"
	# A cache: the table of each file has to be there.
	"$CHECKED" cache --quiet --cache-dir "$dir" "$OUT/O2"
	status 0 "$CHECKED" check --cache-dir "$dir" "$OUT/O2" > "$out"
	has "$out" "differing 0,"
	status 1 "$CHECKED" check --cache-dir "$dir" "$OUT/O2" "$BARE" > "$out" 2>&1
	has "$out" "sframe: $BARE: $dir: there is no table of it; make the table by 'sframe cache'"
	has "$out" "total: 1 files checked, 0 skipped, 1 failed"
	# Neither a name nor unwind information: there is nothing to have a table of, or to compare.
	objcopy --remove-section .eh_frame --remove-section .note.gnu.build-id "$BARE" "$BARE.none" \
		2> "$OUT/null"
	status 0 "$CHECKED" check --cache-dir "$dir" "$BARE.none"
	status 1 "$CHECKED" check --table "$table" "$BARE.none" 2> "$out"
	has "$out" "sframe: $BARE.none: $table: it was made for another object"
	status 1 "$CHECKED" check --table /no/such "$BARE.none" 2> "$out"
	has "$out" "sframe: $BARE.none: /no/such: there is no table of it"
	ld --build-id=none -o "$BARE.none" "$BARE.o"
	"$CHECKED" cache --quiet --cache-dir "$dir" "$BARE.none"
	status 0 "$CHECKED" check --cache-dir "$dir" "$BARE.none"
	status 2 "$CHECKED" check --table "$table" "$OUT/O2" "$BARE"
	status 2 "$CHECKED" check --table "$table" --all
	status 2 "$CHECKED" check --table "$table" --cache-dir "$dir" "$OUT/O2"
	status 2 "$CHECKED" check --format v3 --cache-dir "$dir" "$OUT/O2"
}

# edit TABLE OFFSET FORMAT VALUE: change a number in the table
edit() {
	python3 -c 'if True:
		import struct, sys

		name, offset, form, value = sys.argv[1:]
		with open(name, "r+b") as file:
		    file.seek(int(offset))
		    file.write(struct.pack(form, int(value, 0)))' "$@"
}

# A table that lacks all, or has more than .eh_frame describes, is not equal to it.
tables_of_others_are_not_believed() {
	local table=$OUT/uncovered/table out=$OUT/uncovered/out

	make_bare
	"$CHECKED" gen --quiet --format v2 -o "$table" "$BARE"
	wipe "$table"
	status 0 "$CHECKED" check --table "$table" "$BARE"
	cp "$table" "$table.good"
	# Too far for version 2, so that no function can be in it
	edit "$table" 32 '<Q' $((1 << 40))
	edit "$table" $((4096 + 8)) '<I' 0
	status 1 "$CHECKED" check --table "$table" "$BARE" > "$out"
	has "$out" "differing 3,"
	# The table claims 100 bytes for the last function, which has 1: the rest has no .eh_frame.
	cp "$table.good" "$table"
	edit "$table" $((4096 + 28 + 2 * 20 + 4)) '<I' 100
	status 1 "$CHECKED" check --table "$table" "$BARE" > "$out"
	lacks "$out" "differing 0,"
}

text_without_rows_is_told() {
	local file=$OUT/uncovered/large

	make_kernel
	make_bare
	sed 's/\.skip 112/.skip 9000/' "$BARE.s" > "$file.s"
	as -o "$file.o" "$file.s"
	ld --build-id -o "$file" "$file.o"
	fill "$file" "$BARE"
	doctor "$file" || [ "$(id -u)" != 0 ]
	if [ "$(id -u)" = 0 ]; then
		has "$OUT/doctor.out" "note     $file: 9.2 KB (100 %) of its text have no row, and only about 2 % of that keep frame pointers; stacks may end in the rest"
	fi
	# That little is in each program.
	doctor "$BARE" || [ "$(id -u)" != 0 ]
	lacks "$OUT/doctor.out" "have no row"
	# Like Go's: no unwind information and no build-id, but frame pointers
	echo 'int f(int n) { return n < 2 ? n : f(n - 1) + f(n - 2); } void _start(void) { f(9); }' |
		gcc -O0 -xc -nostdlib -static -fno-asynchronous-unwind-tables -Wl,--build-id=none \
			-o "$file" -
	status 0 doctor "$file"
	has "$OUT/doctor.out" "note     $file: it has no .eh_frame, but keeps frame pointers, which the kernel follows"
	# With .debug_frame
	echo 'int f(int n) { return n < 2 ? n : f(n - 1) + f(n - 2); } void _start(void) { f(9); }' |
		gcc -g -O0 -xc -nostdlib -static -fno-asynchronous-unwind-tables \
			-Wl,--build-id=none -o "$file" -
	status 0 doctor "$file"
	has "$OUT/doctor.out" "note     $file: it has no .eh_frame, but keeps frame pointers"
}

one_command_makes_many_tables() {
	local dir=$OUT/uncovered command

	make_kernel
	make_bare
	echo 'int f(void) { return 1; }' | gcc -O2 -shared -fPIC -nostdlib -xc -o "$dir/lib  a.so" -
	echo 'int f(void); int main(void) { return f(); }' |
		gcc -O2 -xc -o "$dir/prog" - -xnone "$dir/lib  a.so" -Wl,-rpath,"$dir"
	status 1 doctor --json "$dir/prog"
	python3 - "$OUT/doctor.out" > "$dir/commands" <<-'END'
		import json, sys

		for check in json.load(open(sys.argv[1]))["checks"]:
		    if check["command"]:
		        print(check["command"])
	END
	command=$(grep '^sframe cache' "$dir/commands")
	echo "$command"
	[ "$(wc -l <<< "$command")" = 1 ]
	[[ $command = *"'$dir/lib  a.so'"* ]]
	eval "\"$CHECKED\"${command#sframe}"
	[ "$(id -u)" = 0 ] || return 0
	status 0 doctor "$dir/prog"
}

# fake_perf TEXT: a perf in PATH, whose file contains TEXT
fake_perf() {
	mkdir -p "$OUT/uncovered/bin"
	printf '\177ELF %s' "$1" > "$OUT/uncovered/bin/perf"
	chmod 755 "$OUT/uncovered/bin/perf"
}

limits_of_perf_are_told() {
	local limits

	make_kernel
	make_bare
	limits=${SYSCTL%/*}
	fill "$BARE"
	doctor "$BARE" || [ "$(id -u)" != 0 ]
	lacks "$OUT/doctor.out" "up to"
	echo 127 > "$limits/perf_event_max_stack"
	echo 3 > "$limits/perf_event_paranoid"
	fake_perf 6.12
	# A directory is no perf.
	mkdir -p "$OUT/uncovered/other/perf"
	PATH=$OUT/uncovered/other:$OUT/uncovered/bin:$PATH doctor "$BARE" || [ "$(id -u)" != 0 ]
	has "$OUT/doctor.out" "note     perf: a stack has up to 127 frames, and those of Java, Ruby and compilers are often cut off; raise it while no profiler runs: sysctl kernel.perf_event_max_stack="
	has "$OUT/doctor.out" " perf: kernel.perf_event_paranoid is 3: with Debian's patch, only root may record"
	has "$OUT/doctor.out" "note     perf: $OUT/uncovered/bin/perf knows no deferred stacks"
	echo 1024 > "$limits/perf_event_max_stack"
	echo -1 > "$limits/perf_event_paranoid"
	fake_perf CALLCHAIN_DEFERRED
	PATH=$OUT/uncovered/bin:$PATH doctor "$BARE" || [ "$(id -u)" != 0 ]
	has "$OUT/doctor.out" "ok       perf: a stack has up to 1024 frames"
	has "$OUT/doctor.out" "perf_event_paranoid is -1: all users may record all processes and the kernel"
	has "$OUT/doctor.out" "ok       perf: $OUT/uncovered/bin/perf knows deferred stacks"
}

uncovered_cases() {
	try uncovered-text text_without_rows_is_counted
	try uncovered-once text_is_read_once
	try_as_root uncovered-list list_names_files
	try uncovered-given table_that_is_there_is_checked
	try uncovered-others tables_of_others_are_not_believed
	try uncovered-doctor text_without_rows_is_told
	try uncovered-one-command one_command_makes_many_tables
	try uncovered-perf limits_of_perf_are_told
}
