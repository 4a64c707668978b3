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
#   SECONDS_EACH  how long a program is recorded (6)
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
SECONDS_EACH=${SECONDS_EACH:-6}
# Of 1000 frames.
WANT=995

# shellcheck source-path=SCRIPTDIR
source "$HERE/try.sh"

# compare CASE NAME PROGRAM COMMAND...: PROGRAM by way of COMMAND, as NAME's load runs
# it; CASE names the files with figures and differences.
compare() {
	local case=$1 name=$2 program=$3

	shift 3
	"$LOADS/$name" "$SECONDS_EACH" "$OUT/same_frames" --frequency 499 --name "${program##*/}" \
		--min-equal $WANT --output "$OUT/out/$case" \
		--differences "$OUT/out/$case.differ" -- \
		"$@" "$program" > "$OUT/loaded"
}

frames_are_equal() {
	local name=$1 program=$2 whole

	"$OUT/sframe" cache --quiet --cache-dir "$OUT/cache" "$program"
	compare "$name" "$name" "$program" "$OUT/sframe" run --cache-dir "$OUT/cache"
	whole=$(sed -n 's/^dwarf-whole \([0-9]*\) .*/\1/p' "$OUT/out/$name")
	[ "$whole" -gt 300 ]
	# Each whole one that differs is in the file; nothing is passed over.
	[ "$(sed -n 's/.* unanswered \([0-9]*\) elsewhere.*/\1/p' "$OUT/out/$name")" = 0 ]
	[ "$(sed -n 's/.* elsewhere \([0-9]*\)$/\1/p' "$OUT/out/$name")" = 0 ]
}

# Static programs have all of their libc in them, and no dynamic linker.
static_frames_are_equal() {
	local case=$1

	# Samples of 'sframe run' before its exec are not the program's.
	"$OUT/same_frames" --frequency 499 --name "${case:0:15}" --min-equal $WANT \
		--output "$OUT/out/$case" \
		--differences "$OUT/out/$case.differ" -- "$OUT/sframe" run \
		--cache-dir "$OUT/cache" "$OUT/$case" spin "$SECONDS_EACH"
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

main() {
	local program name

	trap keep EXIT
	mkdir -p "$OUT/out/log"
	ln -s out/log "$OUT/log"
	cp "$FROM"/{sframe,libsframe-audit.so,same_frames,static-static,static-static-pie} "$OUT/"
	"$OUT/sframe" cache --quiet --cache-dir "$OUT/cache" /usr/lib/x86_64-linux-gnu \
		/usr/lib/python3*
	for program in /usr/bin/{xz,python3,perl,sqlite3} /usr/sbin/nginx; do
		name=${program##*/}
		if [ -x "$LOADS/$name" ] && [ -x "$program" ]; then
			try "same-frames-$name" frames_are_equal "$name" "$program"
			[ ! -e "$OUT/out/$name" ] || sed "s/^/# $name: /" "$OUT/out/$name"
		else
			skip "same-frames-$name" "no load in $LOADS, or no $program"
		fi
	done
	for name in static-static static-static-pie; do
		try "same-frames-$name" static_frames_are_equal $name
		[ ! -e "$OUT/out/$name" ] || sed "s/^/# $name: /" "$OUT/out/$name"
	done
	if [ -x "$LOADS/xz" ]; then
		try same-frames-without-tables frames_differ_without_tables
	else
		skip same-frames-without-tables "no load in $LOADS"
	fi
	finish same-frames
}

main
