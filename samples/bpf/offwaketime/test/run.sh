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
HERE=$(cd "$(dirname "$0")" && pwd -P)
# shellcheck source=samples/bpf/offwaketime/test/lib.sh
source "$HERE/lib.sh"

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
	record run_named
	check output_stays_folded is_folded "$WORK/test.folded"
	check names_control_nothing has_no '[[:cntrl:]]' "$WORK/test.folded"
	check names_are_still_told grep -qE '^n\?a\?\[2J\?med;(.*;)?take\?a\?\[2J\?nap\?\?ě;' \
		"$WORK/test.folded"
	record run_cut_off
	check file_that_is_cut_off_exit_0 [ "$recorded" -eq 0 ]
	check name_in_a_file_that_is_cut_off agrees take_a_nap '[interrupt]'
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
