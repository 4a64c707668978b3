# SPDX-License-Identifier: GPL-2.0
# What the suites of stock tools share; sourced, with REPO, OUT and CASES set.
# shellcheck shell=bash

# build_tree KERNEL: in a guest, where bcc finds the headers that it compiles against.
build_tree() {
	local source=linux

	[ "$1" != base ] || source=linux-base
	mkdir -p "/lib/modules/$(uname -r)"
	ln -sfn "$REPO/.build/obj/$1" "/lib/modules/$(uname -r)/build"
	ln -sfn "$REPO/.build/$source" "/lib/modules/$(uname -r)/source"
}

# run_tools SUITE KERNEL SECONDS COMMAND...: COMMAND in a guest; it prints a line for each
# of CASES. Then the suite's line.
run_tools() {
	local suite=$1 kernel=$2 seconds=$3 status=0 passed failed
	# Another kernel may run the same beside.
	local log=$OUT/log-$2

	shift 3
	"$REPO/vm/run" --kernel "$kernel" --timeout "$seconds" -- "$@" |
		tee "$log" || status=$?
	passed=$(grep -c '^ok ' "$log" || true)
	failed=$(grep -c '^not ok ' "$log" || true)
	# A tool that died says nothing.
	[ $((passed + failed)) = ${#CASES[@]} ] && [ "$status" = 0 ] ||
		failed=$((${#CASES[@]} - passed))
	echo "suite $suite: run ${#CASES[@]} passed $passed failed $failed skipped 0"
	[ "$failed" = 0 ]
}
