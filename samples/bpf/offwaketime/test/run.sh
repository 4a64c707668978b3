#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Run offwaketime on a workload whose waits are known.
#
# Inputs: $1, the directory with the built tool and workload. Root; LOSSES=allowed on
# a kernel that loses stacks.
# Outputs: waits.folded in that directory; TAP on stdout; exit status 0 all passed, 1 not,
# 2 usage.
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

# Whether the tool and the workload agree on $1 woken by $2, within a tenth: not more than
# what the clock says, and not less than that without CPU time where no stack may be lost.
agrees() {
	local said most least

	most=$(awk -v f="$1" '$1 == f { print $3 }' "$WORK/test.workload")
	least=$(awk -v f="$1" '$1 == f { print $4 }' "$WORK/test.workload")
	said=$(sum_of "$1" "$2" "$WORK/test.folded")
	echo "# figure $1 woken by $2: offwaketime $said us, the program itself ${most:-no} us," \
		"${least:-no} us off the CPU"
	[ -n "$least" ] && [ "$said" -gt 0 ] && [ $((said * 10)) -le $((most * 11)) ] &&
		{ [ "${LOSSES:-}" = allowed ] || [ $((said * 10)) -ge $((least * 9)) ]; }
}

is_folded() {
	[ -s "$1" ] && ! grep -vE '^[^;]+(;[^;]+)*;--(;[^;]+)*;[^;]+ [0-9]+$' "$1"
}

has_no() {
	[ -s "$2" ] && ! grep -E "$1" "$2"
}

# Whether all targets of the file have names as $1.
is_only() {
	[ -s "$2" ] && ! grep -vE "^($1);" "$2"
}

# Whether the output has other waits, and none in $1.
leaves_out() {
	has_no ";$1;" "$WORK/test.folded" >/dev/null || {
		echo "# waits in $1, or none at all"
		return 1
	}
}

# A shell that becomes the workload when the gate opens: its number is known before.
shut_gate() {
	rm -f "$WORK/gate"
	mkfifo "$WORK/gate"
	bash -c 'read -r _ <"$0"; exec "$@"' "$WORK/gate" "$OUT/workload" \
		>"$WORK/test.workload" &
	gated=$!
}

open_gate() {
	echo >"$WORK/gate"
	wait "$gated"
}

# Programs whose paths mean nothing to the tool: one in a mount that only its own mount
# namespace has, one that is deleted before it starts. And one of C++.
run_hidden() {
	mkdir "$WORK/hidden"
	# shellcheck disable=SC2016 # expanded by the inner shell
	unshare --mount bash -c 'mount -t tmpfs none "$0"; cp "$1" "$0/hidden"; "$0/hidden" nap' \
		"$WORK/hidden" "$OUT/workload"
	cp "$OUT/workload" "$WORK/deleted"
	bash -c 'exec 3<"$0"; rm "$0"; exec /proc/self/fd/3 pipe' "$WORK/deleted"
	"$OUT/workload-cxx"
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

# Start the tool with the options $2..., wait until it records, run $1, the workload or a
# function, and stop it. The exit status is in $recorded; what the cases read is empty
# where the tool did not record.
record() {
	local pid load
	read -ra load <<<"$1"
	shift

	recorded=0
	: >"$WORK/test.workload"
	"$OUT/offwaketime" "$@" >"$WORK/test.folded" 2>"$WORK/test.stderr" &
	pid=$!
	if begins_to_record $pid; then
		"${load[@]}" >"$WORK/test.workload"
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

test_usage() {
	local bad

	check help_exit_0 status_is 0 "$OUT/offwaketime" --help
	for bad in '-d ten' '-d 0' --what 4711 '--max-stacks 0' '-p -1' '-t x' '--state X' \
		'--state -' '-m 1s' '-u -k'; do
		# shellcheck disable=SC2086 # an option and its argument
		check "exit_2_for_$bad" status_is 2 "$OUT/offwaketime" $bad
	done
	check empty_state_exit_2 status_is 2 "$OUT/offwaketime" --state ''
	check output_that_cannot_be_opened_exit_1 status_is 1 \
		"$OUT/offwaketime" -o "$WORK/no/file"
}

test_waits() {
	record "$OUT/workload" -o "$WORK/test.output"
	check output_goes_to_the_file [ ! -s "$WORK/test.folded" ]
	# For who wants to draw it
	cp "$WORK/test.output" "$OUT/waits.folded"
	mv "$WORK/test.output" "$WORK/test.folded"
	check output_is_folded is_folded "$WORK/test.folded"
	check lock_waits_for_its_holder agrees take_lock release_lock
	check reader_waits_for_its_writer agrees await_byte send_byte
	check sleeper_is_woken_by_interrupt agrees take_a_nap '[interrupt]'
	check parent_waits_for_its_child agrees await_child wake_parent
	if [ "${LOSSES:-}" != allowed ]; then
		check nothing_lost [ "$recorded" -eq 0 ]
		check no_lost_or_unknown_stack has_no '\[(lost|unknown) stack\]' \
			"$WORK/test.folded"
	fi
}

test_filters() {
	local gated

	shut_gate
	record open_gate --pid "$gated"
	check process_has_its_threads agrees take_lock release_lock
	check process_has_its_exec agrees take_a_nap '[interrupt]'
	check process_has_no_other is_only 'workload|bash' "$WORK/test.folded"

	shut_gate
	record open_gate --tid "$gated"
	check thread_has_its_waits agrees take_a_nap '[interrupt]'
	check thread_has_no_other leaves_out take_lock

	record "$OUT/workload nap child" --state D
	check state_d_has_vfork agrees await_child wake_parent
	check state_d_has_no_sleep leaves_out take_a_nap
	record "$OUT/workload nap child" --state TS
	check state_s_has_sleep agrees take_a_nap '[interrupt]'
	check state_s_has_no_vfork [ "$(sum_of await_child wake_parent "$WORK/test.folded")" = 0 ]

	record "$OUT/workload nap pipe" --user
	check user_has_no_kernel_frame has_no '_\[k\]' "$WORK/test.folded"
	check user_has_interrupts agrees take_a_nap '[interrupt]'
	check user_has_both_stacks agrees await_byte send_byte
	record "$OUT/workload pipe" --kernel
	check kernel_has_no_user_frame leaves_out await_byte
	check kernel_has_both_stacks grep -qE \
		'^workload;.*;pipe_read_\[k\];.*;--;.*;pipe_write_\[k\];' "$WORK/test.folded"

	record "$OUT/workload nap" --max-us 10000
	check max_leaves_out_longer leaves_out take_a_nap
	record "$OUT/workload nap" --min-us 10000000 -M 4000000000
	check min_leaves_out_shorter \
		[ "$(sum_of take_a_nap '[interrupt]' "$WORK/test.folded")" = 0 ]
}

test_names() {
	record run_hidden
	check name_in_another_mount_namespace agrees take_a_nap '[interrupt]'
	check name_in_a_deleted_file agrees await_byte send_byte
	check name_of_cxx_is_demangled agrees 'pool::worker::idle(long)' '[interrupt]'
}

# Too few entries: what is lost is said, and shows in the exit status.
test_losses() {
	record "$OUT/workload" --max-stacks 2
	check losses_exit_1 [ "$recorded" -eq 1 ]
	check losses_are_counted grep -qE '[1-9][0-9]* stacks lost' "$WORK/test.stderr"
	check lost_stacks_stand_in_the_output grep -q '\[lost stack\]' "$WORK/test.folded"
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
	echo "TAP version 13"
	test_usage
	test_waits
	test_filters
	test_names
	test_losses
	echo "1..$run"
	[ "$failed" -eq 0 ]
}

main "$@"
