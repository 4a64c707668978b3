#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# In a guest: perf record --off-cpu on programs whose waits the kernel traces too.
#
# usage: guest.sh PERF DIR CASE...
#
# Inputs:  PERF, the perf to test; DIR with waits, sframe and its cache.
# Outputs: a line "ok ..." or "not ok ..." per case; DIR/*.txt.
set -uo pipefail

HERE=$(cd "$(dirname "$0")" && pwd -P)
PERF=$1 DIR=$2
TRACING=/sys/kernel/tracing
WORK=/tmp/off-cpu
DATA=$WORK/perf.data
SCRIPT_FIELDS=comm,tid,time,period,event,ip,sym,dso

say() {
	local verdict=ok

	"$@" || verdict='not ok'
	echo "$verdict ${FUNCNAME[1]#case_}"
}

check() {
	python3 -B "$HERE/check.py" "$@"
}

trace_on() {
	echo mono >$TRACING/trace_clock
	echo 16384 >$TRACING/buffer_size_kb
	echo 'prev_comm == "waits" || next_comm == "waits"' >$TRACING/events/sched/sched_switch/filter
	echo 'comm == "waits"' >$TRACING/events/sched/sched_wakeup/filter
	echo 1 >$TRACING/events/sched/sched_switch/enable
	echo 1 >$TRACING/events/sched/sched_wakeup/enable
}

# traced NAME PERF-OPTION... -- WAITS-ARGUMENT...: record waits, with the kernel's trace.
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
		"$DIR/sframe" run --cache-dir "$WORK/cache" "$DIR/waits" "$@" \
		>"$DIR/$name.waits.txt" 2>"$DIR/$name.log" || return 1
	cat $TRACING/trace >"$DIR/$name.trace.txt"
	script_of "$DATA" >"$DIR/$name.script.txt"
	report_of "$DATA" >"$DIR/$name.report.txt"
}

script_of() {
	"$PERF" script -i "$1" -F "$SCRIPT_FIELDS"
}

report_of() {
	"$PERF" report -i "$1" --stdio -q -g none --no-children -F period -s pid,task_state -t ';'
}

# sum FILE: of the periods in perf script's output.
sum() {
	awk '/ offcpu-time:/ { sub(/ *offcpu-time:.*/, ""); n += $NF } END { printf "%.0f\n", n }' "$1"
}

# lasts NANOSECONDS MILLISECONDS: as long at least, and at most a fifth longer, as perf
# itself takes time to begin and to end.
lasts() {
	echo "# $1 ns, of $2 ms"
	awk -v got="$1" -v want="$2" 'BEGIN { exit !(got >= want * 1e6 && got <= want * 1.2e6) }'
}

kinds() {
	traced "$1" "${@:3}" -- 200 10000 || return 1
	check kinds "$1" "$DIR/$1.waits.txt" "$DIR/$1.trace.txt" "$DIR/$1.script.txt" "$2"
}

# Six cases each.
case_samples() {
	kinds samples 100000 --off-cpu-thresh 100us
}

case_sums() {
	kinds sums 0 --off-cpu-thresh 100s
}

# All states, of all threads, with a third of the CPUs that there are threads for.
case_states() {
	traced states --off-cpu-thresh 0 --off-cpu-states S,D,I,T,t,R -- 100 10000
	check totals states 0.01 "$DIR/states.trace.txt" "$DIR/states.report.txt"
}

case_period() {
	traced period --off-cpu-period 1ms -- 200 10000
	check totals period 0.02 "$DIR/period.trace.txt" "$DIR/period.report.txt"
}

# Many waits that are shorter than the period.
case_short_waits() {
	traced short_waits --off-cpu-period 1ms -- 10000 50 wait_futex
	check totals short_waits 0.02 "$DIR/short_waits.trace.txt" "$DIR/short_waits.report.txt"
}

blocked() {
	local pid ns

	sleep 100 &
	pid=$!
	sleep 1
	"$PERF" record -q --off-cpu -e dummy -p $pid -o "$DATA" -- sleep 5
	kill $pid
	script_of "$DATA" >"$DIR/blocked.script.txt"
	ns=$(sum "$DIR/blocked.script.txt")
	lasts "$ns" 5000 && grep -q nanosleep "$DIR/blocked.script.txt"
}

case_blocked() {
	say blocked
}

stopped() {
	local pid

	sleep 100 &
	pid=$!
	"$PERF" record -q --off-cpu --off-cpu-states T -e dummy -p $pid -o "$DATA" -- \
		bash -c "sleep 0.5; kill -STOP $pid; sleep 2; kill -CONT $pid; sleep 0.5"
	kill $pid
	report_of "$DATA" >"$DIR/stopped.report.txt"
	lasts "$(awk -F ';' '$3 ~ /T/ { print $1 + 0 }' "$DIR/stopped.report.txt")" 2000
}

case_stopped() {
	say stopped
}

pipe() {
	"$PERF" record -q --off-cpu -e dummy -o - -- sleep 1 |
		"$PERF" script -i - -F "$SCRIPT_FIELDS" >"$DIR/pipe.script.txt"
	grep -q '^sleep' "$DIR/pipe.script.txt" && lasts "$(sum "$DIR/pipe.script.txt")" 1000
}

case_pipe() {
	say pipe
}

# Each file has its own part of a sleep.
switch_output() {
	local file files=0 pid

	rm -f "$WORK"/switch.*
	"$PERF" record -q --off-cpu --switch-output -e dummy -o "$WORK/switch" -- sleep 3.5 &
	pid=$!
	until pgrep -P $pid -x sleep >/dev/null; do sleep 0.1; done
	for _ in 1 2; do
		sleep 1
		kill -USR2 $pid
	done
	wait $pid
	for file in "$WORK"/switch.2*; do
		script_of "$file" >"$DIR/switch_output.script.txt"
		[ "$(sum "$DIR/switch_output.script.txt")" -gt 100000000 ] && files=$((files + 1))
		cat "$DIR/switch_output.script.txt" >>"$WORK/switch.all"
	done
	[ $files -ge 3 ] && lasts "$(sum "$WORK/switch.all")" 3500
}

case_switch_output() {
	say switch_output
}

# Two of four seconds are enabled.
control() {
	local pid

	mkfifo "$WORK/control" "$WORK/ack"
	sleep 100 &
	pid=$!
	"$PERF" record -q --off-cpu -e dummy -p $pid -o "$DATA" -D -1 \
		--control "fifo:$WORK/control,$WORK/ack" &
	exec 8>"$WORK/control" 9<"$WORK/ack"
	sleep 1
	echo enable >&8 && read -r -u 9
	sleep 2
	echo disable >&8 && read -r -u 9
	sleep 1
	echo stop >&8
	wait $!
	exec 8>&- 9<&-
	kill $pid
	script_of "$DATA" >"$DIR/control.script.txt"
	lasts "$(sum "$DIR/control.script.txt")" 2000
}

case_control() {
	say control
}


# Starts after its delay, also where nothing else happens.
delay() {
	local pid

	sleep 100 &
	pid=$!
	"$PERF" record -q --off-cpu -e dummy -p $pid -D 1000 -o "$DATA" -- sleep 3
	kill $pid
	script_of "$DATA" >"$DIR/delay.script.txt"
	lasts "$(sum "$DIR/delay.script.txt")" 2000
}

case_delay() {
	say delay
}

# Children that were forked before the recording began are followed.
early_child() {
	"$PERF" record -q --off-cpu -e dummy -D 500 -o "$DATA" -- bash -c 'sleep 1.5; true'
	"$PERF" script -i "$DATA" -F comm | grep -q sleep
}

case_early_child() {
	say early_child
}

# What the workload is blocked in when the recording is interrupted.
interrupted() {
	local pid

	"$PERF" record -q --off-cpu -e dummy -o "$DATA" -- sleep 100 &
	pid=$!
	until pgrep -P $pid -x sleep >/dev/null; do sleep 0.1; done
	sleep 2
	kill -INT $pid
	wait $pid
	script_of "$DATA" >"$DIR/interrupted.script.txt"
	[ "$(sum "$DIR/interrupted.script.txt")" -gt 1500000000 ]
}

case_interrupted() {
	say interrupted
}

cpu() {
	local zero one

	(for _ in 1 2 3 4 5 6; do taskset -c 1 sleep 0.1; done) &
	"$PERF" record -q --off-cpu --off-cpu-thresh 50ms -e dummy -o "$DATA" -C 0 -- \
		bash -c 'for i in 1 2 3 4 5; do taskset -c 0 sleep 0.1; done'
	wait
	"$PERF" script -i "$DATA" -F comm,cpu,event | grep -w sleep >"$DIR/cpu.script.txt"
	zero=$(grep -c '\[000\]' "$DIR/cpu.script.txt")
	one=$(grep -c '\[001\]' "$DIR/cpu.script.txt")
	echo "# samples on CPU 0: $zero, on CPU 1: $one"
	[ "$zero" -ge 4 ] && [ "$one" = 0 ]
}

case_cpu() {
	say cpu
}

# With -t, the other threads of a process are not recorded.
thread() {
	local pid

	"$DIR/waits" 100 10000 >/dev/null &
	pid=$!
	"$PERF" record -q --off-cpu -e dummy -o "$DATA" -t $pid -- sleep 1
	kill $pid
	[ "$("$PERF" script -i "$DATA" -F tid | sort -u | tr -d ' \n')" = $pid ]
}

case_thread() {
	say thread
}

inherit() {
	"$PERF" record -q --off-cpu -e dummy -o "$DATA" "$@" -- bash -c 'sleep 0.2; true'
	"$PERF" script -i "$DATA" -F comm | grep -c sleep
}

children() {
	[ "$(inherit)" -gt 0 ] && [ "$(inherit --no-inherit)" = 0 ]
}

case_children() {
	say children
}

cgroup() {
	local report

	mkdir -p /sys/fs/cgroup/in
	"$PERF" record -q --off-cpu --all-cgroups -e dummy -o "$DATA" -- \
		bash -c 'echo $$ >/sys/fs/cgroup/in/cgroup.procs; exec sleep 1'
	report=$("$PERF" report -i "$DATA" --stdio -q -g none --no-children -F period -s comm,cgroup -t ';')
	echo "# ${report//$'\n'/$'\n'# }"
	grep -q 'sleep *; */in' <<<"$report"
}

case_cgroup() {
	say cgroup
}

# Debian's perf reads the same from the file.
stock() {
	local option=(-F 'comm,tid,time,period,event,ip')

	traced stock --off-cpu-thresh 1ms -- 20 5000
	"$PERF" script -i "$DATA" "${option[@]}" 2>/dev/null >"$DIR/stock.ours.txt"
	/usr/bin/perf script -i "$DATA" "${option[@]}" 2>/dev/null >"$DIR/stock.theirs.txt"
	# Of programs that have ended before a row was written, it does not know the name.
	sed -i 's/^ *[^ ]* *//' "$DIR/stock.ours.txt" "$DIR/stock.theirs.txt"
	diff "$DIR/stock.ours.txt" "$DIR/stock.theirs.txt" | head -5 | sed 's/^/# /' | grep . && return 1
	[ "$(grep -c offcpu-time "$DIR/stock.theirs.txt")" -ge 100 ]
}

case_stock() {
	say stock
}

# fails PATTERN PERF-OPTION...: perf record refuses that, and says why.
fails() {
	local pattern=$1 said

	shift
	said=$("$PERF" record -o "$DATA" "$@" -- true 2>&1) && { echo "# accepted: $*"; return 1; }
	grep -q -- "$pattern" <<<"$said" || { echo "# $*: $said"; return 1; }
}

bad_values() {
	local value status=0

	for value in -1 x 1.5 '' 1h 99999999999999999999 9223372036854775807s; do
		fails '--off-cpu-thresh' --off-cpu --off-cpu-thresh "$value" || status=1
	done
	for value in 0 -1 1ns 5s x; do
		fails '--off-cpu-period' --off-cpu --off-cpu-period "$value" || status=1
	done
	for value in '' X 'S,' ',S' SD; do
		fails '--off-cpu-states' --off-cpu --off-cpu-states "$value" || status=1
	done
	fails 'cannot be used together' --off-cpu --off-cpu-thresh 1 --off-cpu-period 1ms || status=1
	fails 'need.* --off-cpu' --off-cpu-thresh 1 || status=1
	return $status
}

case_bad_values() {
	say bad_values
}

# Without room in the ring buffer, the time is in the sums.
ring_full() {
	traced ring_full -m 1 --off-cpu-thresh 0 -- 20000 50 wait_futex
	sed 's/^/# /' "$DIR/ring_full.log"
	grep -q 'in the sums for lack of room' "$DIR/ring_full.log" || return 1
	check totals ring_full.total 0.01 "$DIR/ring_full.trace.txt" "$DIR/ring_full.report.txt" | grep -q '^ok'
}

case_ring_full() {
	say ring_full
}

hotplug() {
	local online=/sys/devices/system/cpu/cpu1/online

	(for _ in 1 2 3 4 5; do echo 0 >$online; sleep 0.3; echo 1 >$online; sleep 0.3; done) &
	traced hotplug --off-cpu-thresh 1ms -- 50 10000
	wait
	check totals hotplug 0.01 "$DIR/hotplug.trace.txt" "$DIR/hotplug.report.txt" | grep -q '^ok'
}

case_hotplug() {
	say hotplug
}

disk_full() {
	local said

	mkdir -p "$WORK/small"
	mount -t tmpfs -o size=64k tmpfs "$WORK/small"
	said=$("$PERF" record --off-cpu --off-cpu-thresh 0 -e dummy -o "$WORK/small/data" -- \
		"$DIR/waits" 2000 50 wait_futex 2>&1) && { echo "# succeeded"; return 1; }
	umount "$WORK/small"
	grep -q 'No space left' <<<"$said" || { echo "# $said"; return 1; }
}

case_disk_full() {
	say disk_full
}

# The commands of the page, in their order, in one shell.
page() {
	local page=$HERE/../../../Documentation/admin-guide/off-cpu.rst status

	sed -n 's/^\t\$ //p' "$page" >"$WORK/commands"
	[ "$(wc -l <"$WORK/commands")" -ge 18 ] || return 1
	mkdir -p "$WORK/page"
	sleep 1000 &
	(cd "$WORK/page" && PATH=${PERF%/*}:$PATH PAGER=cat PID=$! script -qec "bash -ex $WORK/commands" \
		"$DIR/page.txt" >/dev/null)
	status=$?
	kill $!
	tail -n 15 "$DIR/page.txt" | sed 's/^/# /'
	[ $status = 0 ] && grep -q 'nanosleep' "$DIR/page.txt"
}

case_page() {
	say page
}

main() {
	local name

	shift 2
	mkdir -p "$WORK"
	cp -r "$DIR/cache" "$WORK/cache"
	export PERF_BUILDID_DIR=$WORK/buildid
	cd "$DIR" || exit 1
	trace_on
	for name; do
		"case_$name"
	done
}

main "$@"
