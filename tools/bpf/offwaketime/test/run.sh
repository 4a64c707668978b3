#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Run offwaketime on a workload whose waits are known.
#
# Inputs: $1, the directory with the built tool and workload. Root; LOSSES=allowed on
# a kernel that loses stacks.
# Outputs: waits.folded in that directory; what failed, and "suite offwaketime: run R
# passed P failed F skipped S" on stdout; exit status 0 all passed, 1 not, 2 usage.
set -euo pipefail

run=0
failed=0
# Slow machines load the programs slowly: an emulated debug kernel takes half a minute.
START_SECONDS=120
NEVER_RECORDED=99

# "ok" or "not ok" for the command behind the name.
check() {
	local name=$1
	shift

	run=$((run + 1))
	if "$@"; then
		echo "ok $run $name"
	else
		echo "not ok $run $name"
		failed=$((failed + 1))
	fi
}

status_is() {
	local want=$1 got=0
	shift

	"$@" >/dev/null 2>&1 || got=$?
	[ "$got" -eq "$want" ] || {
		echo "# $*: exit $got, not $want"
		return 1
	}
}

# Microseconds of the folded lines with $1 on the target's and $2 on the waker's side.
sum_of() {
	awk -v target="$1" -v waker="$2" '
	function has(frames, n, from, to, name,   i) {
		for (i = from; i <= to; i++)
			if (frames[i] == name)
				return 1
		return 0
	}
	{
		us = $NF
		sub(/ [0-9]+$/, "")
		n = split($0, frames, ";")
		for (middle = 1; middle <= n && frames[middle] != "--"; middle++)
			;
		if (has(frames, n, 1, middle - 1, target) &&
		    has(frames, n, middle + 1, n, waker))
			sum += us
	}
	END { print sum + 0 }' "$3"
}

# Whether the tool and the workload agree on $1 woken by $2, within a tenth; not more
# than that where stacks may be lost.
agrees() {
	local said measured

	measured=$(awk -v f="$1" '$1 == f { print $3 }' "$WORK/test.workload")
	said=$(sum_of "$1" "$2" "$WORK/test.folded")
	echo "# figure $1 woken by $2: offwaketime $said us, the program itself $measured us"
	[ -n "$measured" ] && [ "$said" -gt 0 ] &&
		[ $((said * 10)) -le $((measured * 11)) ] &&
		{ [ "${LOSSES:-}" = allowed ] || [ $((said * 10)) -ge $((measured * 9)) ]; }
}

is_folded() {
	[ -s "$1" ] && ! grep -vE '^[^;]+(;[^;]+)*;--(;[^;]+)*;[^;]+ [0-9]+$' "$1"
}

has_no() {
	[ -s "$2" ] && ! grep -E "$1" "$2"
}

# Whether the tool, process $1, says in time that it records.
begins_to_record() {
	local limit=$((SECONDS + START_SECONDS))

	until grep -q recording "$WORK/test.stderr"; do
		kill -0 "$1" 2>/dev/null || return 1
		[ $SECONDS -lt $limit ] || return 1
		sleep 0.1
	done
}

# Start the tool with "$@", wait until it records, run the workload, stop it. The exit
# status is in $recorded; what the cases read is empty where the tool did not record.
record() {
	local pid

	recorded=0
	: >"$WORK/test.workload"
	"$OUT/offwaketime" "$@" >"$WORK/test.folded" 2>"$WORK/test.stderr" &
	pid=$!
	if begins_to_record $pid; then
		"$OUT/workload" >"$WORK/test.workload"
		kill -INT $pid || true
		wait $pid || recorded=$?
	else
		echo "# offwaketime $*: not recording after $START_SECONDS s, or ended before"
		sed 's/^/# /' /proc/$pid/{wchan,syscall,stack} || true
		kill -KILL $pid 2>/dev/null || true
		wait $pid || true
		: >"$WORK/test.folded"
		recorded=$NEVER_RECORDED
	fi
	sed 's/^/# /' "$WORK/test.stderr"
}

main() {
	local recorded

	if [ $# -ne 1 ] || [ ! -x "$1/offwaketime" ]; then
		sed -n '3,9s/^# \{0,1\}//p' "$0" >&2
		exit 2
	fi
	OUT=$1
	# In memory: what grows on a 9p share is seen late, or with zeroes in it.
	WORK=$(mktemp -d)
	trap 'rm -rf "$WORK"' EXIT
	check help_exit_0 status_is 0 "$OUT/offwaketime" --help
	check bad_number_exit_2 status_is 2 "$OUT/offwaketime" -d ten
	check bad_option_exit_2 status_is 2 "$OUT/offwaketime" --what
	check argument_exit_2 status_is 2 "$OUT/offwaketime" 4711
	check no_stacks_exit_2 status_is 2 "$OUT/offwaketime" --max-stacks 0

	record --folded
	# For who wants to draw it
	cp "$WORK/test.folded" "$OUT/waits.folded"
	check output_is_folded is_folded "$WORK/test.folded"
	check lock_waits_for_its_holder agrees take_lock release_lock
	check reader_waits_for_its_writer agrees await_byte send_byte
	check sleeper_is_woken_by_interrupt agrees take_a_nap '[interrupt]'
	if [ "${LOSSES:-}" != allowed ]; then
		check nothing_lost [ "$recorded" -eq 0 ]
		check no_lost_or_unknown_stack has_no '\[(lost|unknown) stack\]' \
			"$WORK/test.folded"
	fi

	# Too few entries: what is lost is said, and shows in the exit status.
	record --folded --max-stacks 2
	check losses_exit_1 [ "$recorded" -eq 1 ]
	check losses_are_counted grep -qE '[1-9][0-9]* stacks lost' "$WORK/test.stderr"
	check lost_stacks_stand_in_the_output grep -q '\[lost stack\]' "$WORK/test.folded"

	echo "suite offwaketime: run $run passed $((run - failed)) failed $failed skipped 0"
	[ "$failed" -eq 0 ]
}

main "$@"
