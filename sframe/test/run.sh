#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Test sframe: build the tool with and without sanitizers, and programs with all sorts of
# frames, and compare the tool's tables with .eh_frame, with the assembler's own tables and
# with rows written by hand.
#
# usage: test/run.sh [OUT]
#
#   OUT      directory for all output (a new one in TMPDIR)
#   SEEDS    number of damaged files to try, at least 10 (200); FIRST_SEED is the first one's seed (1)
#   FUZZ_SECONDS  how long libFuzzer runs (30)
#   STOCK_EVERY  check one of so many of the system's files (20)
#   FUZZ_CC  a clang with libFuzzer (clang)
#   srctree  top of the tree, if it is not two levels up
#
# TAP on stdout, details of failures in OUT/log.
set -euo pipefail

HERE=$(cd "$(dirname "$0")" && pwd -P)
export srctree=${srctree:-$(cd "$HERE/../.." && pwd -P)}
OUT=$(realpath -m "${1:-$(mktemp -d)}")
SEEDS=${SEEDS:-200}
# Below, some commands would get no file at all.
[ "$SEEDS" -ge 10 ] || {
	echo "SEEDS=$SEEDS: give at least 10" >&2
	exit 2
}
FIRST_SEED=${FIRST_SEED:-1}
STOCK_EVERY=${STOCK_EVERY:-20}
SFRAME=$OUT/sframe
# A program with the frames that compilers make; the kernel's own tests use it, too.
PROGRAM=$srctree/tools/testing/sframe/program.c
CHECKED=$OUT/sanitized/sframe

# Ignore leaks: libdw keeps memory at exit.
export ASAN_OPTIONS=detect_leaks=0:exitcode=99
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1:exitcode=99

# shellcheck source-path=SCRIPTDIR
source "$HERE/try.sh"

build_both() {
	make -s -C "$HERE/.." O="$OUT" "CC=${CC:-gcc}"
	make -s -C "$HERE/.." O="$OUT/sanitized" CFLAGS="-O1 -g -Wc11-c2x-compat" "CC=${CC:-gcc}" \
		SANITIZE="-fsanitize=address,undefined -fno-sanitize-recover=all" 2> "$OUT/c11.log" || {
		cat "$OUT/c11.log"
		return 1
	}
	# clang 14 does not know these in C11.
	lacks "$OUT/c11.log" "[[]]"
}

# shellcheck source-path=SCRIPTDIR
source "$HERE/frames.sh"
# shellcheck source-path=SCRIPTDIR
source "$HERE/tables.sh"
# shellcheck source-path=SCRIPTDIR
source "$HERE/files.sh"
# shellcheck source-path=SCRIPTDIR
source "$HERE/cache.sh"
# shellcheck source-path=SCRIPTDIR
source "$HERE/index.sh"
# shellcheck source-path=SCRIPTDIR
source "$HERE/doctor.sh"
# shellcheck source-path=SCRIPTDIR
source "$HERE/uncovered.sh"
# shellcheck source-path=SCRIPTDIR
source "$HERE/followed.sh"
# shellcheck source-path=SCRIPTDIR
source "$HERE/debug_files.sh"

hostile_files() {
	local clang=${FUZZ_CC:-clang}

	if echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' |
		"$clang" -fsanitize=fuzzer -x c -o "$OUT/fuzzer" - 2> "$OUT/fuzzer.log"; then
		try fuzz "$HERE/fuzz.sh" "$OUT" "${FUZZ_SECONDS:-30}"
	else
		skip fuzz "no clang with libFuzzer (clang, libclang-rt-dev)"
	fi
}

helpers_can_fail() {
	echo text > "$OUT/helpers"
	has "$OUT/helpers" text
	lacks "$OUT/helpers" other
	status 1 has "$OUT/helpers" other
	status 1 lacks "$OUT/helpers" text
	status 1 lacks "$OUT/helpers.missing" text
}

programs() {
	try program-O0 program_equals_eh_frame O0 -O0
	try program-O2 program_equals_eh_frame O2 -O2
	try program-Os program_equals_eh_frame Os -Os
	try program-frame-pointer program_equals_eh_frame Ofp -O2 -fno-omit-frame-pointer
	try program-realigned program_equals_eh_frame drap -O2 -mavx2 -mstackrealign
	try program-plt-lazy program_equals_eh_frame Olazy -O2 -Wl,-z,lazy
	try program-plt-now program_equals_eh_frame Onow -O2 -Wl,-z,now
	try program-plt-ibt program_equals_eh_frame Oibt -O2 -fcf-protection=full \
		-Wl,-z,lazy,-z,ibtplt
	try program-fixed-address program_equals_eh_frame Ofixed -O2 -no-pie -fno-pie
	for name in O0 O2 Os Ofp drap Olazy Onow Oibt Ofixed; do
		try "assembler-$name" program_equals_assembler $name
	done
}

main() {
	mkdir -p "$OUT/log"
	try helpers helpers_can_fail
	try build build_both
	try rules-link link_rules
	try rules-v2 rules_are_those_written_down v2
	try rules-v3 rules_are_those_written_down v3
	try rules-equal-eh_frame rules_equal_eh_frame
	try random-rules random_rules_equal_eh_frame
	try header header_says_what_is_there
	try layout layouts_are_those_of_the_headers
	programs
	try same-input-same-bytes same_input_same_bytes
	try place-of-the-table place_of_the_table_changes_no_row
	try fixed-table table_of_fixed_program_lies_above
	try far-table far_table_is_for_version_3
	try signal-trampoline signal_trampoline_is_marked
	try no-section-headers no_section_headers_same_table
	try debug_frame debug_frame_fills_in
	try both-sections both_sections_are_read_whole
	try both-sections-gcc debug_frame_of_one_file_is_read_whole
	try no-unwind-data files_without_unwind_data_are_told
	try no-device what_is_no_file_is_not_opened
	try truncated truncated_file_fails_others_go_on
	try control-characters names_control_no_terminal
	try usage usage_and_exit_status
	try check-notices-faults check_notices_faults
	try parallel parallel_and_serial_agree
	try stock-files stock_files_equal_eh_frame
	try damaged-files damaged_files
	try long-cies many_long_cies_take_no_time
	try many-headers many_headers_take_no_memory
	try damaged-tables damaged_tables
	hostile_files
	cache_cases
	index_cases
	doctor_cases
	uncovered_cases
	followed_cases
	debug_file_cases
	finish
}

main
