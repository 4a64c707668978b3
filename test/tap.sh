# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# KTAP of shell scripts. Either each function named test_* is a case
#
#	source tap.sh
#	test_something() { expect_status 2 command; expect_output 'pattern'; }
#	run_cases
#
# and runs in a subshell with an empty directory $SCRATCH up to the first expectation that does
# not hold; or the script itself comes to results, and prints the plan when it has all of them:
#
#	result $? NAME
#	finish

TAP_COUNT=0
TAP_FAILED=0
echo "KTAP version 1"

# result STATUS NAME: print the line of a case that has passed if STATUS is 0.
result() {
	local verdict=ok

	[ "$1" = 0 ] || { verdict='not ok'; TAP_FAILED=1; }
	TAP_COUNT=$((TAP_COUNT + 1))
	echo "$verdict $TAP_COUNT $2"
}

# finish: print the plan; its status is the script's.
finish() {
	echo "1..$TAP_COUNT"
	[ "$TAP_FAILED" = 0 ] && [ "$TAP_COUNT" != 0 ]
}

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
	local name status

	for name in $(declare -F | awk '$3 ~ /^test_/ { print $3 }'); do
		SCRATCH=$(mktemp -d)
		# With "if", set -e would hold for nothing in it.
		set +e
		(set -e; "$name")
		status=$?
		set -e
		result $status "${name#test_}"
		rm -rf "$SCRATCH"
	done
	finish
}
