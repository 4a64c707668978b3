#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Tests of libsframe-audit.so and "sframe run" on a kernel that takes tables: the
# cases of audit.sh, and the stacks of stock programs.  Needs root and a perf that
# knows --call-graph fp,defer.
#
# usage: tools/sframe/test/guest.sh OUT
#
#   OUT      where "make -C tools/sframe O=OUT" has built the tool
#   SECONDS_EACH  how long a program is recorded (4)
#   DLOPENS  libraries to load one after the other (300)
#   STARTS   starts of a program that are measured (20)
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
OUT=$(realpath -m "$1")
SFRAME=$OUT/sframe
# OUT lies on a file system that the guest shares with its host.
DLOPENS=${DLOPENS:-300}
STARTS=${STARTS:-20}
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
	head -c $((SECONDS_EACH * 3000000)) /dev/urandom > "$OUT/noise"
	try stacks-python3 stacks_are_whole python3 /usr/bin/python3 -c "$loop"
	try stacks-xz stacks_are_whole xz /usr/bin/xz -k -c -T1 "$OUT/noise"
	try stacks-xz-threads stacks_are_whole xz-threads /usr/bin/xz -k -c -T2 "$OUT/noise"
	try stacks-static stacks_are_whole static "$OUT/static-static" spin "$SECONDS_EACH"
	try stacks-static-pie stacks_are_whole static-pie "$OUT/static-static-pie" spin "$SECONDS_EACH"
}

main() {
	mkdir -p "$OUT/log"
	: > "$OUT/figures"
	try audit-program build_audit_program
	try kernel-takes-tables has_feature
	audit_cases
	stock_programs
	cat "$OUT/figures"
	finish sframe-guest
}

main
