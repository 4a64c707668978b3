#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Compare the stacks of stock programs, which the kernel walks with the tables of a cache,
# with the stacks that libdwfl finds by .eh_frame in the same samples.  Needs root and a
# kernel that finds tables (kernel.unwind_table_path).
#
# usage: test/same_frames.sh OUT
#
#   OUT      directory that prepare.sh has filled; OUT/same_frames.out gets the figures
#            and the differences of each program
#   LOADS    directory of programs NAME, run as NAME SECONDS COMMAND..., that give
#            COMMAND work; without it ($srctree/demo/load) the cases are skipped
#   SECONDS_EACH  how long a program is recorded (7)
#   srctree  top of the tree, where it is not two levels up
#
# TAP on stdout, with figures on lines that start with "#"; details of failures in
# OUT/same_frames.out/log.
set -euo pipefail

HERE=$(cd "$(dirname "$0")" && pwd -P)
srctree=${srctree:-$(cd "$HERE/../.." && pwd -P)}
[ $# = 1 ] || {
	sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$0" >&2
	exit 2
}
FROM=$(realpath "$1")
# FROM may be on a file system of the host, where all of this takes ten times as long.
OUT=$(mktemp -d)
LOADS=${LOADS:-$srctree/demo/load}
SECONDS_EACH=${SECONDS_EACH:-7}
# How many of 1000 frames have to be equal.  Immediate walks need tables, which the process's
# first samples load.
WANT=995
AT_ONCE=(--at-once --skip 3 --min-equal 998)
TABLE_PATH=/proc/sys/kernel/unwind_table_path
# The kernel's list of files
FILES=/sys/kernel/debug/unwind/files
STOCK=(/usr/bin/{xz,python3,perl,sqlite3} /usr/sbin/nginx)

# shellcheck source-path=SCRIPTDIR
source "$HERE/try.sh"

# recorder CASE NAME: set the array RECORD to the command that records programs of that name.
# CASE names the files with figures and differences.
recorder() {
	RECORD=("$OUT/same_frames" --frequency 499 --name "${2:0:15}" --min-equal "$WANT"
		--output "$OUT/out/$1" --differences "$OUT/out/$1.differ")
	[[ $1 != *-at-once ]] || RECORD+=("${AT_ONCE[@]}")
}

# work PROGRAM SECONDS: record PROGRAM with RECORD, under its load if it has one.
work() {
	local load=$LOADS/${1##*/}

	if [ -x "$load" ]; then
		"$load" "$2" "${RECORD[@]}" -- "$1"
	else
		"${RECORD[@]}" -- "$1" "$2"
	fi > "$OUT/loaded"
}

# load_tables PROGRAM: make the kernel load the tables of all that it maps.  In an emulator,
# this takes longer than a walk waits.
load_tables() {
	local tries

	RECORD=("$OUT/same_frames" --frequency 99 --output "$OUT/first")
	# Ignore the result: tables may be missing.
	work "$1" 1 || true
	for ((tries = 0; tries < 300; tries++)); do
		grep -q ' loading$' $FILES || return 0
		sleep 0.2
	done
	echo "tables are still being loaded:"
	cat $FILES
	return 1
}

# enough CASE: check that enough stacks were compared, and that each sample has its record.
enough() {
	[ "$(sed -n 's/^dwarf-whole \([0-9]*\) .*/\1/p' "$OUT/out/$1")" -gt 300 ]
	[ "$(sed -n 's/.* unanswered \([0-9]*\) elsewhere.*/\1/p' "$OUT/out/$1")" = 0 ]
	[ "$(sed -n 's/.* elsewhere \([0-9]*\)$/\1/p' "$OUT/out/$1")" = 0 ]
}

# frames_are_equal CASE PROGRAM
frames_are_equal() {
	load_tables "$2"
	recorder "$1" "${2##*/}"
	work "$2" "$SECONDS_EACH"
	enough "$1"
}

# Without tables, the comparison has to fail.
frames_differ_without_tables() {
	recorder without xz
	status 1 work /usr/bin/xz "$SECONDS_EACH"
}

keep() {
	rm -rf "$FROM/same_frames.out"
	cp -r "$OUT/out" "$FROM/same_frames.out"
	rm -r "$OUT"
}

# try_frames CASE PROGRAM
try_frames() {
	if [ -x "$2" ] && [[ $2 = "$OUT"/* || -x $LOADS/${2##*/} ]]; then
		try "same-frames-$1" frames_are_equal "$@"
	else
		skip "same-frames-$1" "no load in $LOADS, or no $2"
	fi
	[ ! -e "$OUT/out/$1" ] || sed "s/^/# $1: /" "$OUT/out/$1"
}

# fill_cache PROGRAM...: make the tables of those that exist, and of all libraries.
fill_cache() {
	local program found=()

	for program; do
		[ ! -x "$program" ] || found+=("$program")
	done
	"$OUT/sframe" cache --quiet --cache-dir "$OUT/cache" /usr/lib/x86_64-linux-gnu \
		/usr/lib/python3* "${found[@]}"
}

main() {
	local program name

	trap keep EXIT
	mkdir -p "$OUT/out/log"
	ln -s out/log "$OUT/log"
	cp "$FROM"/{sframe,same_frames,server,static{,-pie}} "$OUT/"
	fill_cache "${STOCK[@]}" "$OUT"/static{,-pie}
	# This case comes first: the kernel keeps tables that it has loaded.
	echo > $TABLE_PATH
	if [ -x "$LOADS/xz" ]; then
		try same-frames-without-tables frames_differ_without_tables
	else
		skip same-frames-without-tables "no load in $LOADS"
	fi
	echo "$OUT/cache" > $TABLE_PATH
	for program in "${STOCK[@]}"; do
		name=${program##*/}
		try_frames "$name" "$program"
		# Three programs are enough: with one thread, several threads, and processes.
		[[ $name = perl || $name = sqlite3 ]] || try_frames "$name-at-once" "$program"
	done
	# A threaded program with its own table; its libraries use the cache.
	try_frames server "$OUT/server"
	try_frames server-at-once "$OUT/server"
	# Static programs contain the C library, and have no dynamic linker.
	try_frames static "$OUT/static"
	try_frames static-pie "$OUT/static-pie"
	finish
}

main
