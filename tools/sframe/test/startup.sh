#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# What libsframe-audit.so costs a program: instructions of a start, memory while
# it runs. For a guest that counts an instruction as a nanosecond, as QEMU does
# with -icount shift=0; anywhere else the limits mean nothing.
#
# usage: test/startup.sh OUT
#
#   OUT      what prepare.sh has filled
#   STARTS   starts of a program that are measured (20)
#   PROCESSES  how many share a memory cgroup (50)
#
# One line a case on stdout, lines with figures start with "#"; at the end
# "suite sframe-startup: run R passed P failed F skipped S".
set -euo pipefail

HERE=$(cd "$(dirname "$0")" && pwd -P)
export srctree=${srctree:-$(cd "$HERE/../../.." && pwd -P)}
[ $# = 1 ] || {
	sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$0" >&2
	exit 2
}
OUT=$(realpath -m "$1")
export SFRAME=$OUT/sframe
STARTS=${STARTS:-20}
PROCESSES=${PROCESSES:-50}

# Instructions that a start may cost more with the library: as it is for any
# program, and for each of its objects.
MAX_START=200000
MAX_OBJECT=40000
# Bytes that a process may take more, as it is and for each of its objects.
MAX_PROCESS=40000
MAX_BYTES=2000

# shellcheck source-path=SCRIPTDIR
source "$HERE/try.sh"
# shellcheck source-path=SCRIPTDIR
source "$HERE/audit.sh"

LIBC=$(ldconfig -p | sed -n 's/.*libc.so.6 (libc6,x86-64.* => //p' | head -n 1)
LOADER=/lib64/ld-linux-x86-64.so.2

# A root in memory: what lies on a file system of the host's costs what that costs.
make_root() {
	local ROOT

	ROOT=$(mktemp -d)
	echo "$ROOT" > "$OUT/root"
	mkdir -p "$ROOT/proc" "$ROOT/lib64" "$ROOT${LIBC%/*}"
	mount -t proc none "$ROOT/proc"
	cp -L "$LOADER" "$ROOT$LOADER"
	cp -L "$LIBC" "$ROOT$LIBC"
	cp /bin/true "$OUT/sixty" "$OUT/audit_program" "$AUDIT" "$ROOT/"
	cp -r "$OUT/libs" "$ROOT/libs"
	cp -r "$OUT/$TABLES" "$ROOT/cache"
}

# in_root [VARIABLE=VALUE]... PROGRAM [ARGUMENT]...
in_root() {
	exec "$OUT/audit_program" in "$ROOT" "LD_LIBRARY_PATH=${LIBC%/*}" "$@"
}

WITH=(LD_AUDIT=/libsframe-audit.so SFRAME_CACHE_DIR=/cache)

# start_costs PROGRAM OBJECTS: instructions of a start, and how many are added
start_costs() {
	local program=$1 objects=$2 without with off limit

	without=$(in_root /audit_program starts "$STARTS" "/$program")
	# audit_program itself has the library too, which counts for nothing.
	with=$(in_root "${WITH[@]}" /audit_program starts "$STARTS" "/$program")
	off=$(in_root "${WITH[@]}" SFRAME_AUDIT=off /audit_program starts "$STARTS" "/$program")
	limit=$((MAX_START + objects * MAX_OBJECT))
	echo "# start of $program, $objects objects: $without instructions;" \
		"with tables $((with - without)) more, with SFRAME_AUDIT=off $((off - without))" |
		tee -a "$OUT/figures"
	[ "$with" -gt "$off" ] || {
		echo "tables cost nothing: are there any?"
		return 1
	}
	[ $((with - without)) -le $limit ] || {
		echo "more than $limit"
		return 1
	}
}

# all_asleep PID...: all run sixty, and wait for a signal
all_asleep() {
	local pid comm state

	for pid in "$@"; do
		read -r _ comm state _ < "/proc/$pid/stat"
		[ "$comm $state" = "(sixty) S" ] || return 1
	done
}

# memory [VARIABLE=VALUE]...: bytes of a memory cgroup with PROCESSES of them
memory() {
	local group=/sys/fs/cgroup/startup pids=() i

	mkdir "$group"
	for ((i = 0; i < PROCESSES; i++)); do
		(
			echo "$BASHPID" > "$group/cgroup.procs"
			in_root "$@" /sixty wait
		) > "$OUT/null" &
		pids+=($!)
	done
	for ((i = 0; i < 300; i++)); do
		! all_asleep "${pids[@]}" || break
		sleep 0.1
	done
	all_asleep "${pids[@]}"
	cat "$group/memory.current"
	kill "${pids[@]}"
	wait "${pids[@]}" 2> "$OUT/null" || true
	rmdir "$group"
}

memory_of_a_process() {
	local without with each

	[ -e /sys/fs/cgroup/cgroup.controllers ] || mount -t cgroup2 cgroup2 /sys/fs/cgroup
	echo +memory > /sys/fs/cgroup/cgroup.subtree_control
	# What all of them share is in memory before.
	memory "${WITH[@]}" > "$OUT/null"
	without=$(memory)
	with=$(memory "${WITH[@]}")
	each=$(((with - without) / PROCESSES))
	echo "# memory of sixty, 62 objects: $((without / PROCESSES)) bytes," \
		"with tables $each more" |
		tee -a "$OUT/figures"
	[ $each -gt 0 ] && [ $each -le $((MAX_PROCESS + 62 * MAX_BYTES)) ]
}

main() {
	mkdir -p "$OUT/log"
	: > "$OUT/figures"
	try startup-root make_root
	ROOT=$(cat "$OUT/root")
	try startup-true start_costs true 3
	try startup-sixty start_costs sixty 63
	try startup-memory memory_of_a_process
	cat "$OUT/figures"
	finish sframe-startup
}

main
