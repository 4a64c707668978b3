# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Cases of run.sh: unusual and damaged files, usage and exit status.
# shellcheck disable=SC2154 # OUT and CHECKED are those of run.sh

files_without_unwind_data_are_told() {
	printf '%s\n' '.globl _start' '_start: ret' > "$OUT/bare.s"
	as -o "$OUT/bare.o" "$OUT/bare.s"
	ld -o "$OUT/bare" "$OUT/bare.o"
	status 0 "$CHECKED" check "$OUT/bare" "$OUT/bare.o" "$OUT/bare.s" > "$OUT/bare.check"
	has "$OUT/bare.check" "bare: skipped: no .eh_frame"
	has "$OUT/bare.check" "bare.o: skipped: neither a program nor a shared library"
	has "$OUT/bare.check" "bare.s: skipped: not an ELF file"
	status 1 "$CHECKED" gen -o "$OUT/none" "$OUT/bare" 2> "$OUT/bare.err"
	has "$OUT/bare.err" "no .eh_frame; name an x86-64 program or library"
	[ ! -e "$OUT/none" ]
}

truncated_file_fails_others_go_on() {
	head -c 9000 "$OUT/O2" > "$OUT/cut"
	status 1 "$CHECKED" check --summary "$OUT/cut" "$OUT/O2" > "$OUT/cut.check" 2> "$OUT/cut.err"
	has "$OUT/cut.err" "sframe: $OUT/cut: the section headers are behind the file's end"
	has "$OUT/cut.check" "$OUT/O2: v2"
	has "$OUT/cut.check" "1 files checked, 0 skipped, 1 failed"
	status 1 "$CHECKED" gen -o "$OUT/none" "$OUT/cut"
	[ ! -e "$OUT/none" ]
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
	status 0 "$CHECKED" run --help
	status 2 "$CHECKED" cache
	status 2 "$CHECKED" cache --jobs 0 --all
	status 2 "$CHECKED" run
	status 2 "$CHECKED" run --cache-dir relative true
	status 2 "$CHECKED"
	status 2 "$CHECKED" nonsense
	status 2 "$CHECKED" gen --format v9 "$OUT/O2"
	status 2 "$CHECKED" gen -o one "$OUT/O2" "$OUT/O2"
	status 2 "$CHECKED" check -j 0 "$OUT/O2"
	status 1 "$CHECKED" gen -o /no/such/directory/table "$OUT/O2"
	cp "$OUT/O2" "$OUT/same"
	status 1 "$CHECKED" gen -o "$OUT/same" "$OUT/same"
	cmp "$OUT/O2" "$OUT/same"
	status 1 "$CHECKED" dump /etc/passwd
	status 1 "$CHECKED" check /no/such/file "$OUT/O2"
}

# A crash, a sanitizer's finding (99) or a hang is a failure; 0 and 1 are answers.
survives() {
	local got=0

	timeout 60 "$@" > "$OUT/damaged.out" 2>&1 || got=$?
	if [ $got -gt 1 ] ||
		grep -qE 'was ended by|without a result|too long' "$OUT/damaged.out"; then
		echo "exit status $got: $*"
		cat "$OUT/damaged.out"
		return 1
	fi
}

damaged_files() {
	local seed victims=("$OUT/rules" "$OUT/O2" "$OUT/drap" "$OUT/df" "$OUT/stripped")

	for ((seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed++)); do
		"$HERE/mutate.py" $seed "${victims[seed % 5]}" "$OUT/damaged"
		echo "seed $seed"
		survives "$CHECKED" gen --format v$((2 + seed % 2)) -o "$OUT/damaged.table" "$OUT/damaged"
		survives "$CHECKED" dump --rows "$OUT/damaged"
		survives "$CHECKED" check "$OUT/damaged"
	done
}

damaged_tables() {
	local seed

	for ((seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed++)); do
		"$HERE/mutate.py" $seed "$OUT/rules.v$((2 + seed % 2))" "$OUT/damaged"
		echo "seed $seed"
		survives "$CHECKED" dump --rows "$OUT/damaged"
	done
}
