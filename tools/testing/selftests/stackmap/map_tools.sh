#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Test packaged tools on the stack map: bpftool, bpftrace, and bcc if the kernel's source
# and build tree are available (KERNEL_SOURCE, and KERNEL_BUILD, the directory that O=
# named).
#
# Inputs: the directory of map_hold in OUTPUT (default: that of this script); root.
# Outputs: TAP on stdout; exit status 0 all passed, 1 not.
set -euo pipefail

OUTPUT=${OUTPUT:-$(cd "$(dirname "$0")" && pwd)}
WORK=$(mktemp -d)
number=0
failed=0
skipped=0
hold=

clean_up() {
	[ -z "$hold" ] || kill "$hold" 2>/dev/null || true
	rm -rf "$WORK"
}
trap clean_up EXIT

result() {
	number=$((number + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $number tools.$2"
	else
		echo "not ok $number tools.$2"
		failed=$((failed + 1))
	fi
}

skip() {
	number=$((number + 1))
	skipped=$((skipped + 1))
	echo "ok $number tools.$1 # SKIP $2"
}

# Start map_hold, which creates a map of 1024 entries and stores 500 stacks.
start_hold() {
	local tries=0

	"$OUTPUT/map_hold" >"$WORK/hold" &
	hold=$!
	until [ -s "$WORK/hold" ]; do
		tries=$((tries + 1))
		if [ $tries -ge 200 ] || ! kill -0 $hold; then return 1; fi
		sleep 0.05
	done
	read -r map stored <"$WORK/hold"
	echo "# map $map: $stored of 500 stored"
}

# A dump must return all stored stacks, and remove none: dump twice.
bpftool_dump() {
	local n round

	for round in 1 2; do
		bpftool map dump id "$map" >"$WORK/dump" 2>&1 || return 1
		n=$(sed -n 's/^Found \([0-9]*\) element.*/\1/p' "$WORK/dump")
		echo "# dump $round: ${n:-no} elements"
		[ "$n" = "$stored" ] || return 1
	done
}

# Two simultaneous dumps must both be complete.
bpftool_dumps_at_once() {
	local n i pids=()

	for i in 1 2 3; do
		bpftool map dump id "$map" >"$WORK/dump$i" 2>&1 &
		pids+=($!)
	done
	for i in "${pids[@]}"; do wait "$i" || return 1; done
	for i in 1 2 3; do
		n=$(sed -n 's/^Found \([0-9]*\) element.*/\1/p' "$WORK/dump$i")
		[ "$n" = "$stored" ] || return 1
	done
}

bpftool_lookup_and_delete() {
	local key

	key=$(bpftool map getnext id "$map" | grep -A 1 'next key' |
		grep -oE '([0-9a-f]{2} ){3}[0-9a-f]{2}' | tail -n 1)
	[ -n "$key" ] || return 1
	# shellcheck disable=SC2086 # four bytes
	bpftool map lookup id "$map" key hex $key >/dev/null &&
		bpftool map delete id "$map" key hex $key >/dev/null || return 1
	# shellcheck disable=SC2086
	! bpftool map lookup id "$map" key hex $key >/dev/null 2>&1
}

# The reported memory must be that of 500 stacks, not of the 1024 that would fit.
bpftool_show() {
	local bytes base=$(((8 + 16 + 1016) * 1024))

	bytes=$(bpftool map show id "$map" | sed -n 's/.*memlock \([0-9]*\)B.*/\1/p')
	echo "# figure bpftool_show: $bytes bytes, base $base"
	[ "$bytes" -gt 0 ] && [ "$bytes" -le $((base / 3)) ]
}

bpftrace_stacks() {
	timeout 240 bpftrace -e 'tracepoint:syscalls:sys_enter_getpgid {
			@[ustack(8), kstack(8)] = count(); }
		interval:s:3 { exit(); }' >"$WORK/bpftrace" 2>&1 &
	local pid=$!

	while kill -0 $pid 2>/dev/null; do
		"$OUTPUT/map_hold" --once >/dev/null 2>&1 || true
		sleep 0.2
	done
	wait $pid || { sed 's/^/# /' "$WORK/bpftrace"; return 1; }
	grep -q '^@\[' "$WORK/bpftrace" || { sed 's/^/# /' "$WORK/bpftrace"; return 1; }
	! grep -iE 'failed to look up stack|lost' "$WORK/bpftrace"
}

bcc_stackcount() {
	local pid

	# A reader that causes hits.
	while :; do cat /proc/uptime; done >/dev/null &
	pid=$!
	timeout 300 stackcount-bpfcc -D 5 ksys_read >"$WORK/bcc" 2>&1 || true
	kill $pid
	if ! grep -q '^  ksys_read' "$WORK/bcc" || ! grep -q '^Detaching' "$WORK/bcc"; then
		tail -n 20 "$WORK/bcc" | sed 's/^/# /'
		return 1
	fi
}

main() {
	local status

	echo "TAP version 13"
	start_hold || { echo "Bail out! map_hold does not start"; exit 1; }
	for test in bpftool_dump bpftool_dumps_at_once bpftool_show bpftool_lookup_and_delete; do
		status=0
		"$test" || status=1
		result $status "$test"
	done
	if command -v bpftrace >/dev/null; then
		status=0
		bpftrace_stacks || status=1
		result $status bpftrace_stacks
	else
		skip bpftrace_stacks "no bpftrace"
	fi
	if command -v stackcount-bpfcc >/dev/null && [ -n "${KERNEL_BUILD:-}" ]; then
		mkdir -p "/lib/modules/$(uname -r)"
		ln -sfn "$KERNEL_BUILD" "/lib/modules/$(uname -r)/build"
		ln -sfn "$KERNEL_SOURCE" "/lib/modules/$(uname -r)/source"
		status=0
		bcc_stackcount || status=1
		result $status bcc_stackcount
	else
		echo "# bcc: not run, KERNEL_BUILD is not set"
	fi
	echo "1..$number"
	echo "# Totals: pass:$((number - failed - skipped)) fail:$failed xfail:0 xpass:0" \
		"skip:$skipped error:0"
	[ "$failed" -eq 0 ]
}

main "$@"
