# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Cases of run.sh: sframe doctor, sframe help and sframe --version.  What the parts share,
# the doctor's output, and the order of the cases.
# shellcheck disable=SC2154 # OUT, HERE and CHECKED: run.sh

# shellcheck source-path=SCRIPTDIR
source "$HERE/doctor_kernel.sh"
# shellcheck source-path=SCRIPTDIR
source "$HERE/doctor_table.sh"
# shellcheck source-path=SCRIPTDIR
source "$HERE/doctor_mapped.sh"

# The files of /proc/sys and /sys that the doctor reads
KERNEL=$OUT/kernel
SYSCTL=$KERNEL/proc/sys/kernel/unwind_table_path
DEBUGFS=$KERNEL/sys/kernel/debug/unwind
TABLES=$OUT/doctor-tables

doctor() {
	SFRAME_DOCTOR_ROOT=$KERNEL "$CHECKED" doctor "$@" > "$OUT/doctor.out"
}

# make_kernel: imitate a kernel that looks for tables in TABLES, which has none, and has not
# walked yet.
make_kernel() {
	rm -rf "$KERNEL" "$TABLES"
	mkdir -p "${SYSCTL%/*}" "$DEBUGFS" "$KERNEL/boot"
	mkdir -m 755 "$TABLES"
	"$SFRAME" index --quiet "$TABLES"
	echo "$TABLES" > "$SYSCTL"
	: > "$DEBUGFS/files"
	: > "$DEBUGFS/stats"
}

# fill FILE...: make the files' tables in TABLES.
fill() {
	"$CHECKED" cache --quiet --cache-dir "$TABLES" "$@"
}

# make_program: make a static program, which needs no libraries.
make_program() {
	gcc -O2 -Wall -static -Wl,--build-id -o "$OUT/doctor-program" "$HERE/spin.c"
}

doctor_survives_damaged_programs() {
	local file

	make_kernel
	make_program
	damage $((SEEDS / 4)) "$OUT/O2"
	chmod 755 "$OUT/damaged/"*
	for file in "$OUT/damaged/"*; do
		survives "$CHECKED" doctor "$file"
	done
}

json_is_whole() {
	make_kernel
	make_program
	cp "$OUT/doctor-program" "$OUT/doctor "$'\e\xff'"\"it's\\"
	status 1 doctor --json "$OUT/doctor "$'\e\xff'"\"it's\\" no-such-command
	python3 - "$OUT/doctor.out" <<-'END'
		import json, sys

		answer = json.load(open(sys.argv[1], encoding="utf-8"))
		problems = [c for c in answer["checks"] if c["result"] == "problem"]
		assert answer["problems"] == len(problems) == 2, answer
		assert problems[0]["about"].endswith("doctor \x1b\ufffd\"it's\\"), problems
		assert problems[0]["remedy"].startswith("make it: sframe cache"), problems
	END
	# Names must not send control sequences to a terminal.
	status 1 doctor "$OUT/doctor "$'\e\xff'"\"it's\\"
	lacks "$OUT/doctor.out" $'\e'
}

doctor_usage() {
	status 0 "$CHECKED" doctor --help > "$OUT/doctor.out"
	has "$OUT/doctor.out" "usage: sframe doctor"
	status 2 "$CHECKED" doctor --no-such-option
	status 2 "$CHECKED" doctor -x 1
	status 1 "$CHECKED" doctor ''
}

help_and_version() {
	local command

	status 0 "$CHECKED" --version > "$OUT/doctor.out"
	grep -qE '^sframe [0-9.]+ ' "$OUT/doctor.out"
	status 0 "$CHECKED" help > "$OUT/doctor.out"
	has "$OUT/doctor.out" "usage: sframe COMMAND"
	for command in gen dump check cache index doctor; do
		status 0 "$CHECKED" help $command > "$OUT/doctor.out"
		has "$OUT/doctor.out" "usage: sframe $command "
	done
	status 2 "$CHECKED" help nonsense
}

doctor_cases() {
	try doctor-no-kernel kernel_without_tables_is_told
	try doctor-path path_is_checked
	try_as_root doctor-untrusted untrusted_directories_are_told
	try_as_root doctor-missing missing_table_is_told
	try_as_root doctor-refused refused_table_is_told
	try_as_root doctor-forged table_of_a_forged_file_is_told
	try doctor-no-build-id headers_name_a_table
	try doctor-no-table files_that_get_no_table_are_told
	if has_own_table; then
		try doctor-own-table own_table_is_seen
		try doctor-own-partial partial_own_table_is_told
		try doctor-own-large large_own_table_is_told
	else
		skip doctor-own-table "no linker that makes PT_GNU_SFRAME"
	fi
	try_as_root doctor-layouts table_of_another_layout_is_not_taken
	try_as_root doctor-no-index missing_index_is_told
	try_as_root doctor-users-index index_of_a_user_is_told
	try_as_root doctor-not-indexed index_without_the_table_is_told
	try_as_root doctor-kernel-says what_the_kernel_says_of_a_file_is_told
	try doctor-walks walks_are_put_into_words
	try_as_root doctor-process process_is_looked_at
	try_as_root doctor-deleted deleted_file_of_a_process_gets_a_table
	try doctor-vanishing processes_that_vanish_are_survived
	try doctor-all all_processes_are_summed_up
	try doctor-command command_is_found_with_its_libraries
	try doctor-missing-library missing_library_is_told
	try doctor-libraries libraries_are_those_of_the_dynamic_linker
	try doctor-linker no_linker_is_run
	try_as_root doctor-auditor auditors_are_not_run
	try doctor-endless search_for_libraries_is_limited
	try doctor-damaged-programs doctor_survives_damaged_programs
	try doctor-json json_is_whole
	try doctor-usage doctor_usage
	try help-and-version help_and_version
}
