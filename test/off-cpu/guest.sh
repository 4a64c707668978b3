#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# In a guest: perf record --off-cpu on programs whose waits the kernel traces too.
#
# usage: guest.sh prepare|CASE
#
# Inputs:  KERNEL; PERF_TREE, whose perf it is (the kernel's); OUT with waits and a cache of
#          tables; COUNT (20000), how many short waits the programs of loads.py have.
# Outputs: OUT/*.txt; exit status 0 passed, 1 not. Two cases print TAP, a test for each kind
#          of wait.
set -uo pipefail

HERE=$(cd "$(dirname "$0")" && pwd -P)
BASE='' PERF=$REPO/.build/perf/series/perf DIR=$OUT
[ "${PERF_TREE:-$KERNEL}" != base ] || BASE=--base PERF=$REPO/.build/perf/base/perf
export COUNT=${COUNT:-20000} DISK=/dev/slow
TRACING=/sys/kernel/tracing
WORK=/tmp/off-cpu
# Of perf's scripts, which are not installed
PERF_EXEC_PATH=$(cd "$HERE/../../.build/linux/tools/perf" && pwd -P)
DATA=$WORK/perf.data
SCRIPT_FIELDS=comm,tid,time,period,event,wakee,ip,sym,dso

# shellcheck source=test/off-cpu/cases-waits.sh
. "$HERE/cases-waits.sh"
# shellcheck source=test/off-cpu/cases-sessions.sh
. "$HERE/cases-sessions.sh"
# shellcheck source=test/off-cpu/cases-formats.sh
. "$HERE/cases-formats.sh"
# shellcheck source=test/off-cpu/cases-limits.sh
. "$HERE/cases-limits.sh"

check() {
	python3 -B "$HERE/check.py" "$@"
}

trace_on() {
	echo mono >$TRACING/trace_clock
	echo 16384 >$TRACING/buffer_size_kb
	# Of the programs that are executed one after the other by the same task: see traced()
	echo 'prev_comm == "waits" || prev_comm == "env" || next_comm == "waits" || next_comm == "env"' \
		>$TRACING/events/sched/sched_switch/filter
	echo 'comm == "waits" || comm == "env"' >$TRACING/events/sched/sched_wakeup/filter
	echo 1 >$TRACING/events/sched/sched_switch/enable
	echo 1 >$TRACING/events/sched/sched_wakeup/enable
}

# A disk that takes 10 ms to answer.
slow_disk() {
	local config=/sys/kernel/config/nullb/slow

	mountpoint -q /sys/kernel/config || mount -t configfs configfs /sys/kernel/config
	mkdir $config
	echo 2 >$config/irqmode
	echo 10000000 >$config/completion_nsec
	echo 1 >$config/power
}

# traced NAME PERF-OPTION... -- WAITS-ARGUMENT...: record waits, with the kernel's trace. It is
# executed by a program whose name the trace knows, as recording begins within that one's exec.
traced() {
	local name=$1 options=()

	shift
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	echo >$TRACING/trace
	"$PERF" record --off-cpu "${options[@]}" -e dummy -o "$DATA" -- \
		env "$DIR/waits" "$@" \
		>"$DIR/$name.waits.txt" 2>"$DIR/$name.log" || return 1
	cat $TRACING/trace >"$DIR/$name.trace.txt"
	script_of "$DATA" >"$DIR/$name.script.txt"
	report_of "$DATA" >"$DIR/$name.report.txt"
}

script_of() {
	"$PERF" script --no-inline -i "$1" -F "$SCRIPT_FIELDS"
}

report_of() {
	"$PERF" report -i "$1" --stdio -q -g none --no-children -F period -s pid,task_state -t ';'
}

# sum FILE: of the periods in perf script's output.
sum() {
	awk '/ offcpu-time:/ { sub(/ *offcpu-time:.*/, ""); n += $NF } END { printf "%.0f\n", n }' "$1"
}

# lasts NANOSECONDS LEAST MOST: at least and at most so many milliseconds. MOST is measured: a
# busy host prolongs what a sleep should take.
lasts() {
	echo "# $1 ns, of $2 to $3 ms"
	awk -v got="$1" -v least="$2" -v most="$3" 'BEGIN { exit !(got >= least * 1e6 && got <= most * 1e6) }'
}

# Print the time in whole milliseconds: a difference of two is off by less than 1.
now() {
	echo $((${EPOCHREALTIME/./} / 1000))
}

# The commands of the page, in their order, in one shell.
case_page() {
	local page=$HERE/../../Documentation/admin-guide/off-cpu.rst status

	sed -n 's/^\t\$ //p' "$page" >"$WORK/commands"
	[ "$(wc -l <"$WORK/commands")" -ge 22 ] || return 1
	mkdir -p "$WORK/page"
	sleep 1d &
	(cd "$WORK/page" && PATH=${PERF%/*}:$PATH PAGER=cat PID=$! script -qec "bash -ex $WORK/commands" \
		"$DIR/page.txt" >/dev/null)
	status=$?
	kill $!
	tail -n 15 "$DIR/page.txt" | sed 's/^/# /'
	[ $status = 0 ] && grep -q 'nanosleep' "$DIR/page.txt"
}

# Tables for what the cases run, where the kernel takes some. It loads the table of a file once a
# stack leads there: sample each page fault, as these programs hardly run.
load_tables() {
	local path=/proc/sys/kernel/unwind_table_path

	[ -e $path ] || return 0
	cp -r "$DIR/cache" "$WORK/cache"
	echo "$WORK/cache" >$path
	# shellcheck disable=SC2016 # expanded by that shell
	"$PERF" record -q -g -e page-faults -c 1 -o "$WORK/first.data" -- sh -c '
		"$0" 1 100 wait_nanosleep; python3 -c "import http.server"; sqlite3 :memory: "select 1"' \
		"$DIR/waits" >/dev/null
	while grep -q ' loading$' /sys/kernel/debug/unwind/files; do
		sleep 0.1
	done
}

prepare() {
	load_tables
	trace_on
	slow_disk
}

main() {
	mkdir -p "$WORK"
	export PERF_BUILDID_DIR=$WORK/buildid PERF_EXEC_PATH
	cd "$DIR" || exit 1
	case $1 in
	prepare) prepare ;;
	*) "case_$1" ;;
	esac
}

main "$@"
