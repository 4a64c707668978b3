#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Tests of libsframe-audit.so and "sframe run" on a kernel that takes tables: the
# cases of audit.sh, and the stacks of stock programs.  Needs root and a perf that
# knows --call-graph fp,defer.
#
# usage: tools/sframe/test/guest.sh OUT
#
#   OUT      what prepare.sh has filled; works on a copy in /tmp, and leaves
#            OUT/guest
#   SECONDS_EACH  how long a program is recorded (4)
#   DLOPENS  libraries to load one after the other (10000)
#   srctree  top of the tree, where it is not three levels up
#
# One line a case on stdout, lines with figures start with "#"; details of failures
# in OUT/log; at the end "suite sframe-guest: run R passed P failed F skipped S".
set -euo pipefail

HERE=$(cd "$(dirname "$0")" && pwd -P)
export srctree=${srctree:-$(cd "$HERE/../../.." && pwd -P)}
[ $# = 1 ] || {
	sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$0" >&2
	exit 2
}
FROM=$(realpath "$1")
# FROM may lie on a file system of a host's, where all of this takes ten times as long.
OUT=$(mktemp -d)
SFRAME=$OUT/sframe
SECONDS_EACH=${SECONDS_EACH:-4}
# Share of samples, in per mille, that has to reach the start of its thread.
WANT=990

# shellcheck source-path=SCRIPTDIR
source "$HERE/try.sh"
# shellcheck source-path=SCRIPTDIR
source "$HERE/audit.sh"

# record NAME PROGRAM COMMAND...: sets SAMPLES and WHOLE, the samples and those of
# them whose outermost frame is where a thread of PROGRAM begins.
record() {
	local name=$1 program=$2

	shift 2
	timeout $((SECONDS_EACH * 10)) perf record -q -e cpu-clock:u -F 999 \
		--call-graph fp,defer -o "$OUT/$name.data" -- "$@" \
		> "$OUT/null" 2> "$OUT/$name.log"
	perf script -i "$OUT/$name.data" -F ip,sym,dso,dsoff 2> "$OUT/script.log" |
		"$HERE/count_whole.py" "$program" > "$OUT/count"
	read -r SAMPLES WHOLE < "$OUT/count"
	echo "# $name: $SAMPLES samples, $WHOLE ($((WHOLE * 1000 / (SAMPLES + !SAMPLES))) per mille) whole" |
		tee -a "$OUT/figures"
}

# stacks_are_whole NAME COMMAND...
stacks_are_whole() {
	local name=$1

	shift
	"$SFRAME" cache --quiet --cache-dir "$OUT/$TABLES" --running "$(command -v "$1")"
	record "$name-without" "$1" "$@"
	record "$name" "$1" "$SFRAME" run --cache-dir "$OUT/$TABLES" "$@"
	[ "$SAMPLES" -gt 500 ]
	[ $((WHOLE * 1000)) -ge $((SAMPLES * WANT)) ]
}

stock_programs() {
	local loop="import time
t = time.time() + $SECONDS_EACH
while time.time() < t: sorted(str(i) for i in range(1000))"

	"$SFRAME" cache --quiet --cache-dir "$OUT/$TABLES" /usr/lib/x86_64-linux-gnu/lib{m,z,lzma,expat}.so.*
	head -c $((SECONDS_EACH * 500000)) /dev/urandom > "$OUT/noise"
	try stacks-python3 stacks_are_whole python3 /usr/bin/python3 -c "$loop"
	try stacks-xz stacks_are_whole xz /usr/bin/xz -k -c -T1 "$OUT/noise"
	try stacks-xz-threads stacks_are_whole xz-threads /usr/bin/xz -k -c -T2 --block-size=128KiB "$OUT/noise"
	try stacks-static stacks_are_whole static "$OUT/static-static" spin "$SECONDS_EACH"
	try stacks-static-pie stacks_are_whole static-pie "$OUT/static-static-pie" spin "$SECONDS_EACH"
}

# keep: what the next reader wants to see
keep() {
	rm -rf "$FROM/guest"
	mkdir "$FROM/guest"
	cp -r "$OUT/log" "$OUT/figures" "$FROM/guest/"
	rm -r "$OUT"
}

main() {
	trap keep EXIT
	mkdir -p "$OUT/log"
	: > "$OUT/figures"
	cp -rp "$FROM"/{sframe,libsframe-audit.so,audit_program,sixty,libs,static-*} "$OUT/"
	try kernel-takes-tables has_feature
	audit_cases
	stock_programs
	cat "$OUT/figures"
	finish sframe-guest
}

main
