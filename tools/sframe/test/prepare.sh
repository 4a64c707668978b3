#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Build what guest.sh, same_frames.sh and startup.sh need, where building is quicker than in their
# guest.
#
# usage: test/prepare.sh OUT
#
# Outputs: in OUT the tool, the library, the programs and a cache with their tables.
set -euo pipefail

HERE=$(cd "$(dirname "$0")" && pwd -P)
export srctree=${srctree:-$(cd "$HERE/../../.." && pwd -P)}
[ $# = 1 ] || {
	sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$0" >&2
	exit 2
}
OUT=$(realpath -m "$1")
SFRAME=$OUT/sframe

# shellcheck source-path=SCRIPTDIR
source "$HERE/try.sh"
# shellcheck source-path=SCRIPTDIR
source "$HERE/audit.sh"

main() {
	make -s -C "$HERE/.." O="$OUT" all "$OUT/same_frames"
	mkdir -p "$OUT"
	compile "$HERE/audit_program.c" "$OUT/audit_program"
	[ "$OUT/server" -nt "$HERE/server.cc" ] ||
		g++ -O3 -Wall -Wa,--gsframe -o "$OUT/server" "$HERE/server.cc" -lpthread
	build_static_programs
	build_libraries
	fill_audit_cache
	"$SFRAME" cache --quiet --cache-dir "$OUT/$TABLES" /bin/true
}

main
