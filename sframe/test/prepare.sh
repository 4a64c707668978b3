#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Build what same_frames.sh needs, outside of its guest, where building is quicker.
#
# usage: test/prepare.sh OUT
#
# Outputs: in OUT, the tool, same_frames, and the test's own programs.
set -euo pipefail

HERE=$(cd "$(dirname "$0")" && pwd -P)
export srctree=${srctree:-$(cd "$HERE/../.." && pwd -P)}
[ $# = 1 ] || {
	sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$0" >&2
	exit 2
}
OUT=$(realpath -m "$1")

main() {
	local kind

	make -s -C "$HERE/.." O="$OUT" all "$OUT/same_frames"
	[ "$OUT/server" -nt "$HERE/server.cc" ] ||
		g++ -O3 -Wall -Wa,--gsframe -o "$OUT/server" "$HERE/server.cc" -lpthread
	for kind in static static-pie; do
		gcc -O2 -Wall -$kind -Wl,--build-id -o "$OUT/$kind" "$HERE/spin.c"
	done
}

main
