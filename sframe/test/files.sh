# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Cases of run.sh: unusual and damaged files, usage and exit status.
# shellcheck disable=SC2154 # OUT, SFRAME, CHECKED and STOCK_EVERY are those of run.sh

files_without_unwind_data_are_told() {
	printf '%s\n' '.globl _start' '_start: ret' > "$OUT/bare.s"
	as -o "$OUT/bare.o" "$OUT/bare.s"
	ld -o "$OUT/bare" "$OUT/bare.o"
	status 0 "$CHECKED" check "$OUT/bare" "$OUT/bare.o" "$OUT/bare.s" > "$OUT/bare.check"
	has "$OUT/bare.check" "bare: skipped: no .eh_frame"
	has "$OUT/bare.check" "bare.o: skipped: neither a program nor a shared library"
	has "$OUT/bare.check" "bare.s: skipped: not an ELF file"
	status 1 "$CHECKED" gen -o "$OUT/none" "$OUT/bare" 2> "$OUT/bare.err"
	has "$OUT/bare.err" "no .eh_frame, and no code that can be followed; compile it with"
	[ ! -e "$OUT/none" ]
}

# block_writer FIFO: start a process that waits for a reader of FIFO; sets WRITER
block_writer() {
	local state='' tries

	mkfifo "$1"
	bash -c 'echo whole > "$1"' x "$1" & WRITER=$!
	for ((tries = 0; tries < 500; tries++)); do
		read -r _ _ state _ < "/proc/$WRITER/stat"
		[ "$state" != S ] || break
		sleep 0.01
	done
}

# If the tool had opened the FIFO, the writer would have continued, and its text be lost.
writer_is_blocked() {
	[ "$(timeout 10 cat "$1")" = whole ]
	wait "$WRITER"
}

what_is_no_file_is_not_opened() {
	local name=$OUT/device command

	for command in check "gen -o $OUT/none" dump "cache --cache-dir $OUT/cache"; do
		rm -f "$name"
		block_writer "$name"
		# shellcheck disable=SC2086 # words
		"$CHECKED" $command "$name" > "$OUT/device.out" 2>&1 || true
		cat "$OUT/device.out"
		writer_is_blocked "$name"
	done
}

truncated_file_fails_others_go_on() {
	head -c 9000 "$OUT/O2" > "$OUT/cut"
	status 1 "$CHECKED" check --summary "$OUT/cut" "$OUT/O2" \
		> "$OUT/cut.check" 2> "$OUT/cut.err"
	has "$OUT/cut.err" "sframe: $OUT/cut: the section headers lie beyond the end of the file"
	has "$OUT/cut.check" "$OUT/O2: v2"
	has "$OUT/cut.check" "1 files checked, 0 skipped, 1 failed"
	status 1 "$CHECKED" gen -o "$OUT/none" "$OUT/cut"
	[ ! -e "$OUT/none" ]
}

# control_nothing ARGUMENT...: what sframe prints must not control a terminal.
control_nothing() {
	"${TOOL:-$CHECKED}" "$@" > "$OUT/control.out" 2>&1 || true
	cat -v "$OUT/control.out"
	python3 - "$OUT/control.out" <<-'END'
		import sys, unicodedata

		text = open(sys.argv[1], "rb").read().decode()
		bad = [c for c in text if c != "\n" and unicodedata.category(c) == "Cc"]
		assert not bad, bad
	END
}

# A terminal may take U+009B, and its byte alone, for the start of a control sequence.  The
# last letter contains that byte, too, and is to be seen.
names_control_no_terminal() {
	local name=$'\e[31m\x9b2J\xc2\x9b2J\x7f\ně' symbol=$'\e[31m\xc2\x9b2Jě'
	local seen='?[31m?2J?2J??ě' out=$OUT/control.out word

	rm -rf "$OUT/control"
	mkdir -p "$OUT/control/$name"
	objcopy --redefine-sym "drap_in_memory=$symbol" "$OUT/O2" "$OUT/control/$name/$name"
	cd "$OUT/control" || return
	control_nothing check "$name/$name" "$name/no"
	has "$out" "$seen/$seen:"
	has "$out" "sframe: $seen/no: "
	control_nothing check --summary "$name/$name"
	has "$out" "$seen/$seen: v2 functions"
	control_nothing check --verbose --format v2 "$name/$name"
	has "$out" "$seen/$seen: v2: ?[31m?2Jě at 0x"
	control_nothing gen "$name/$name"
	has "$out" "$seen/$seen: $seen.sframe-table: SFrame v3"
	control_nothing gen -o "$name/no/table" "$name/$name"
	control_nothing dump "$name/no"
	has "$out" "sframe: $seen/no: No such file"
	control_nothing cache --cache-dir "$name/cache" --dry-run "$name"
	has "$out" "would make the table of $seen/$seen"
	control_nothing cache --cache-dir "$name/cache" "$name"
	has "$out" "$seen/cache: 1 files: 1 written"
	control_nothing cache --cache-dir "$name/cache" --list
	has "$out" "$seen/cache: 1 tables, "
	control_nothing cache --cache-dir "$name/cache" --list --json
	has "$out" '\u001b[31m\ufffd2J\u009b2J\u007f\u000aě/cache'
	find "$name/cache" -name '*.v4' -exec touch -d yesterday {} +
	TOOL=$SFRAME control_nothing cache --cache-dir "$name/cache" --prune
	has "$out" "removed $seen/cache/"
	control_nothing index "$name/cache"
	control_nothing index --dry-run "$name/cache" "$name/no"
	control_nothing doctor "./$name/$name"
	control_nothing $'\e[31m'
	for word in check gen dump cache index doctor; do
		control_nothing $word "--$name"
		has "$out" "sframe: $word: '--$seen' is no option here"
		control_nothing $word "-$name"
		has "$out" "sframe: $word: -? is no option here"
	done
	control_nothing check "--jobs"
	has "$out" "sframe: check: '--jobs' lacks its value"
	control_nothing check --all=3
	has "$out" "sframe: check: '--all=3' takes no value"
	control_nothing check -sj
	has "$out" "sframe: check: -j lacks its value"
}

usage_and_exit_status() {
	status 0 "$CHECKED" --help
	for command in gen dump check; do
		status 0 "$CHECKED" $command --help
		status 2 "$CHECKED" $command
		status 2 "$CHECKED" $command --no-such-option file
		status 1 "$CHECKED" $command /no/such/file
	done
	status 0 "$CHECKED" cache --help
	status 2 "$CHECKED" cache
	status 2 "$CHECKED" cache --jobs 0 --all
	status 2 "$CHECKED"
	status 2 "$CHECKED" nonsense
	status 2 "$CHECKED" gen --format v9 "$OUT/O2"
	status 2 "$CHECKED" gen --debug-dir '' "$OUT/O2"
	status 2 "$CHECKED" check --debug-dir '' "$OUT/O2"
	status 2 "$CHECKED" gen -o one "$OUT/O2" "$OUT/O2"
	status 2 "$CHECKED" check -j 0 "$OUT/O2"
	status 1 "$CHECKED" gen -o /no/such/directory/table "$OUT/O2"
	cp "$OUT/O2" "$OUT/same"
	status 1 "$CHECKED" gen -o "$OUT/same" "$OUT/same"
	cmp "$OUT/O2" "$OUT/same"
	status 1 "$CHECKED" dump /etc/passwd
	status 1 "$CHECKED" check /no/such/file "$OUT/O2"
}

# Check one of STOCK_EVERY of the system's files, and those that are known to be hard.
stock_files_equal_eh_frame() {
	find /usr/bin /usr/lib -type f \( -name '*.so*' -o -executable \) |
		sort | awk "NR % $STOCK_EVERY == 0" > "$OUT/stock"
	printf '%s\n' /usr/lib/x86_64-linux-gnu/{libc,libm,libmvec,ld-linux-x86-64}.so.* \
		>> "$OUT/stock"
	xargs -d '\n' "$SFRAME" check --summary -j 2 < "$OUT/stock" > "$OUT/stock.check"
	sed -n '/^total/,$p' "$OUT/stock.check" | tee "$OUT/stock.total"
	[ "$(grep -c 'differing 0,' "$OUT/stock.total")" = 2 ]
	# Only computed CFAs may be missing: hand-written cryptography, of which all of Debian
	# has 45 functions, in one library.
	sed '1,/^  v3: /d' "$OUT/stock.total" |
		awk '$2 == "functions" && !/: the CFA is computed$/ { bad = 1 }
		$2 == "functions" { missing += $1 }
		END { exit bad || missing > 45 }'
}

# A crash, a sanitizer's report (99) or a hang is a failure; 0 and 1 are valid results.
survives() {
	local got=0

	timeout 60 "$@" > "$OUT/damaged.out" 2>&1 || got=$?
	if [ $got -gt 1 ] ||
		grep -qE 'signal [0-9]+ .* ended|without a result|too long' "$OUT/damaged.out"; then
		echo "exit status $got: $*"
		cat "$OUT/damaged.out"
		return 1
	fi
}

# damage COUNT FILE...: damage them in turn, as OUT/damaged/SEED
damage() {
	local count=$1

	shift
	rm -rf "$OUT/damaged"
	mkdir "$OUT/damaged"
	"$HERE/mutate.py" "$FIRST_SEED" "$count" "$OUT/damaged/" "$@"
}

damaged_files() {
	local file seed

	damage "$SEEDS" "$OUT/rules" "$OUT/O2" "$OUT/drap" "$OUT/df" "$OUT/stripped"
	for file in "$OUT/damaged/"*; do
		seed=${file##*/}
		survives "$CHECKED" gen --format v$((2 + seed % 2)) -o "$OUT/damaged.table" "$file"
		survives "$CHECKED" dump --rows "$file"
	done
	# check has a process for each file.
	for ((seed = 0; seed < 10; seed++)); do
		survives "$CHECKED" check -j 2 "$OUT/damaged/"*$seed
	done
}

# Many functions name many long CIEs in turn: the tool must not read them again each time.
many_long_cies_take_no_time() {
	local seconds=$SECONDS

	"$HERE/long_cies.py" > "$OUT/cies.s"
	as -o "$OUT/cies.o" "$OUT/cies.s"
	ld --no-ld-generated-unwind-info -shared -o "$OUT/cies" "$OUT/cies.o"
	ls -l "$OUT/cies"
	"$SFRAME" gen -o "$OUT/cies.table" "$OUT/cies"
	[ $((SECONDS - seconds)) -le 10 ]
}

# A file of 1 MB would need 4 GB if the tool copied the bytes of each header.
many_headers_take_no_memory() {
	local kind

	for kind in notes frames segments; do
		"$HERE/many_headers.py" $kind "$OUT/many"
		(
			ulimit -v 524288
			survives timeout 2 "$SFRAME" gen -o "$OUT/many.table" "$OUT/many"
		)
		cat "$OUT/damaged.out"
		lacks "$OUT/damaged.out" 'out of memory'
	done
}

damaged_tables() {
	local file

	damage "$SEEDS" "$OUT/rules.v2" "$OUT/rules.v3"
	for file in "$OUT/damaged/"*; do
		survives "$CHECKED" dump --rows "$file"
	done
}
