# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# For shell test suites: each function named test_* is a case.
#
#	source cases.sh
#	test_something() { expect_status 2 command; expect_output 'pattern'; }
#	run_cases SUITE
#
# A case runs in a subshell with an empty directory $SCRATCH and ends at the first
# expectation that does not hold.

# Run "$@"; its exit status has to be $1, its output is kept for expect_output.
expect_status() {
	local want=$1 got=0
	shift

	OUTPUT=$("$@" 2>&1) || got=$?
	[ "$got" = "$want" ] || {
		echo "# exit status $got instead of $want: $*"
		echo "#   ${OUTPUT//$'\n'/$'\n'#   }"
		exit 1
	}
}

# The output of the last command has to match the extended regular expression $1.
expect_output() {
	grep -qE -- "$1" <<<"$OUTPUT" || {
		echo "# no line matches: $1"
		echo "#   ${OUTPUT//$'\n'/$'\n'#   }"
		exit 1
	}
}

# The test command "$@" has to hold.
expect() {
	test "$@" || {
		echo "# does not hold: $*"
		exit 1
	}
}

# Put a command $1 that does $2 in front of all others.
stub() {
	mkdir -p "$SCRATCH/bin"
	printf '#!/bin/bash\n%s\n' "$2" >"$SCRATCH/bin/$1"
	chmod 755 "$SCRATCH/bin/$1"
	PATH=$SCRATCH/bin:$PATH
}

run_cases() {
	local suite=$1 name passed=0 failed=0

	for name in $(declare -F | awk '$3 ~ /^test_/ { print $3 }'); do
		SCRATCH=$(mktemp -d)
		if (set -e; "$name"); then
			echo "ok ${name#test_}"
			passed=$((passed + 1))
		else
			echo "not ok ${name#test_}"
			failed=$((failed + 1))
		fi
		rm -rf "$SCRATCH"
	done
	echo "suite $suite: run $((passed + failed)) passed $passed failed $failed skipped 0"
	[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
}
