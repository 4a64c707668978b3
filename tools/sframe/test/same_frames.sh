#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Hold the stacks of stock programs, as the kernel walks them by the tables of the
# cache, against those that libdwfl finds in the same samples by .eh_frame.  Needs
# root and a kernel that takes tables.
#
# usage: test/same_frames.sh OUT
#
#   OUT      what prepare.sh has filled; OUT/same_frames.out gets the figures
#            and the differences of each program
#   LOADS    directory of programs NAME, run as NAME SECONDS COMMAND..., that give
#            COMMAND work; without it ($srctree/bench/load) the cases are skipped
#   SECONDS_EACH  how long a program is recorded (7)
#   srctree  top of the tree, where it is not three levels up
#
# One line a case on stdout, lines with figures start with "#"; details of failures
# in OUT/same_frames.out/log; at the end "suite same-frames: run R passed P ...".
set -euo pipefail

HERE=$(cd "$(dirname "$0")" && pwd -P)
srctree=${srctree:-$(cd "$HERE/../../.." && pwd -P)}
[ $# = 1 ] || {
	sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$0" >&2
	exit 2
}
FROM=$(realpath "$1")
# FROM may lie on a file system of a host's, where all of this takes ten times as long.
OUT=$(mktemp -d)
LOADS=${LOADS:-$srctree/bench/load}
SECONDS_EACH=${SECONDS_EACH:-7}
# Of 1000 frames; at once with all that its first walks have fetched.
WANT=995
AT_ONCE=(--at-once --skip 3 --min-equal 998)

# shellcheck source-path=SCRIPTDIR
source "$HERE/try.sh"

# recorder CASE NAME: how programs of that name are recorded, as the array RECORD; CASE
# names the files with figures and differences.
recorder() {
	RECORD=("$OUT/same_frames" --frequency 499 --name "${2:0:15}" --min-equal "$WANT"
		--output "$OUT/out/$1" --differences "$OUT/out/$1.differ")
	[[ $1 != *-at-once ]] || RECORD+=("${AT_ONCE[@]}")
}

# compare CASE NAME PROGRAM COMMAND...: PROGRAM by way of COMMAND, as NAME's load runs it.
compare() {
	local case=$1 name=$2 program=$3

	shift 3
	recorder "$case" "${program##*/}"
	"$LOADS/$name" "$SECONDS_EACH" "${RECORD[@]}" -- "$@" "$program" > "$OUT/loaded"
}

# enough CASE: Each whole one that differs is in the file; nothing is passed over.
enough() {
	[ "$(sed -n 's/^dwarf-whole \([0-9]*\) .*/\1/p' "$OUT/out/$1")" -gt 300 ]
	[ "$(sed -n 's/.* unanswered \([0-9]*\) elsewhere.*/\1/p' "$OUT/out/$1")" = 0 ]
	[ "$(sed -n 's/.* elsewhere \([0-9]*\)$/\1/p' "$OUT/out/$1")" = 0 ]
}

frames_are_equal() {
	local case=$1 name=$2 program=$3

	"$OUT/sframe" cache --quiet --cache-dir "$OUT/cache" "$program"
	compare "$case" "$name" "$program" "$OUT/sframe" run --cache-dir "$OUT/cache"
	enough "$case"
}

# Built with tables, and threaded; its libraries have theirs from the cache.
server_frames_are_equal() {
	recorder "$1" server
	"${RECORD[@]}" -- "$OUT/sframe" run --cache-dir "$OUT/cache" \
		"$OUT/server" "$SECONDS_EACH"
	enough "$1"
}

# Static programs have all of their libc in them, and no dynamic linker.
static_frames_are_equal() {
	local case=$1

	# Samples of 'sframe run' before its exec are not the program's.
	recorder "$case" "$case"
	"${RECORD[@]}" -- "$OUT/sframe" run --cache-dir "$OUT/cache" \
		"$OUT/$case" spin "$SECONDS_EACH"
	[ "$(sed -n 's/^dwarf-whole \([0-9]*\) .*/\1/p' "$OUT/out/$case")" -gt 300 ]
}

# Or the comparison compares nothing.
frames_differ_without_tables() {
	status 1 compare without xz /usr/bin/xz env
}

keep() {
	rm -rf "$FROM/same_frames.out"
	cp -r "$OUT/out" "$FROM/same_frames.out"
	rm -r "$OUT"
}

# case_with_figures CASE FUNCTION ARGUMENT...: FUNCTION CASE ARGUMENT...
case_with_figures() {
	local case=$1 function=$2

	shift 2
	try "same-frames-$case" "$function" "$case" "$@"
	[ ! -e "$OUT/out/$case" ] || sed "s/^/# $case: /" "$OUT/out/$case"
}

main() {
	local program name case

	trap keep EXIT
	mkdir -p "$OUT/out/log"
	ln -s out/log "$OUT/log"
	cp "$FROM"/{sframe,libsframe-audit.so,same_frames,server,static-static{,-pie}} "$OUT/"
	"$OUT/sframe" cache --quiet --cache-dir "$OUT/cache" /usr/lib/x86_64-linux-gnu \
		/usr/lib/python3*
	for program in /usr/bin/{xz,python3,perl,sqlite3} /usr/sbin/nginx; do
		name=${program##*/}
		for case in "$name" "$name-at-once"; do
			# Three sorts are enough: one thread, several, and processes.
			[[ ! $case =~ (perl|sqlite3)-at-once ]] || continue
			if [ -x "$LOADS/$name" ] && [ -x "$program" ]; then
				case_with_figures "$case" frames_are_equal "$name" "$program"
			else
				skip "same-frames-$case" "no load in $LOADS, or no $program"
			fi
		done
	done
	case_with_figures server server_frames_are_equal
	case_with_figures server-at-once server_frames_are_equal
	for name in static-static static-static-pie; do
		case_with_figures "$name" static_frames_are_equal
	done
	if [ -x "$LOADS/xz" ]; then
		try same-frames-without-tables frames_differ_without_tables
	else
		skip same-frames-without-tables "no load in $LOADS"
	fi
	finish same-frames
}

main
