#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Tests of libsframe-audit.so and "sframe run" on a kernel that takes tables: the
# cases of audit.sh.  Needs root.
#
# usage: test/guest.sh OUT
#
#   OUT      what prepare.sh has filled; works on a copy in /tmp, and leaves
#            OUT/guest
#   DLOPENS  libraries to load one after the other (10000)
#   srctree  top of the tree, where it is not three levels up
#
# One line a case on stdout; details of failures
# in OUT/guest/log; at the end "suite sframe-guest: run R passed P failed F skipped S".
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

# shellcheck source-path=SCRIPTDIR
source "$HERE/try.sh"
# shellcheck source-path=SCRIPTDIR
source "$HERE/audit.sh"

# keep: what the next reader wants to see
keep() {
	rm -rf "$FROM/guest"
	mkdir "$FROM/guest"
	cp -r "$OUT/log" "$FROM/guest/"
	rm -r "$OUT"
}

main() {
	trap keep EXIT
	mkdir -p "$OUT/log"
	cp -rp "$FROM"/{sframe,libsframe-audit.so,audit_program,sixty,libs,static-*} "$OUT/"
	try kernel-takes-tables has_feature
	audit_cases
	finish sframe-guest
}

main
