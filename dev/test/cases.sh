# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# For shell test suites: each function named test_* is a case, whose result is printed as KTAP.
#
#	source cases.sh
#	test_something() { expect_status 2 command; expect_output 'pattern'; }
#	run_cases
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
	local names name number=0 failed=0

	mapfile -t names < <(declare -F | awk '$3 ~ /^test_/ { print $3 }')
	printf 'KTAP version 1\n1..%d\n' ${#names[@]}
	for name in "${names[@]}"; do
		number=$((number + 1))
		SCRATCH=$(mktemp -d)
		if (set -e; "$name"); then
			echo "ok $number ${name#test_}"
		else
			echo "not ok $number ${name#test_}"
			failed=1
		fi
		rm -rf "$SCRATCH"
	done
	return $failed
}
