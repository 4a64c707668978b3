#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# In a guest: perf record --off-cpu on programs whose waits the kernel traces too.
#
# usage: guest.sh [--base] PERF DIR CASE...
#
# Inputs:  PERF, the perf to test, that of the base with --base; DIR with waits, sframe
#          and its cache; in the environment COUNT, for loads.py, and MOST, how many times
#          its nominal length a wait may last.
# Outputs: a line "ok ..." or "not ok ..." per case; DIR/*.txt.
set -uo pipefail

HERE=$(cd "$(dirname "$0")" && pwd -P)
BASE=
[ "$1" != --base ] || {
	BASE=--base
	shift
}
PERF=$1 DIR=$2
TRACING=/sys/kernel/tracing
WORK=/tmp/off-cpu
# Of perf's scripts, which are not installed
PERF_EXEC_PATH=$(cd "$HERE/../../../.build/linux/tools/perf" && pwd -P)
DATA=$WORK/perf.data
SCRIPT_FIELDS=comm,tid,time,period,event,wakee,ip,sym,dso

# run CASE: print its line; two of them print one for each kind of wait.
run() {
	case $1 in
	samples | sums) "case_$1" ;;
	*) if "case_$1"; then echo "ok $1"; else echo "not ok $1"; fi ;;
	esac
}

check() {
	python3 -B "$HERE/check.py" "$@"
}

trace_on() {
	echo mono >$TRACING/trace_clock
	echo 16384 >$TRACING/buffer_size_kb
	# Of the programs that are executed one after the other by the same task: see traced()
	echo 'prev_comm == "waits" || prev_comm == "sframe" || next_comm == "waits" || next_comm == "sframe"' \
		>$TRACING/events/sched/sched_switch/filter
	echo 'comm == "waits" || comm == "sframe"' >$TRACING/events/sched/sched_wakeup/filter
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
	export DISK=/dev/slow
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

# lasts NANOSECONDS MILLISECONDS [MOST]: as long at least, and at most MOST milliseconds or
# $MOST times as long, as perf itself takes time to begin and to end.
lasts() {
	echo "# $1 ns, of $2 ms, at most ${3:-$MOST times that}"
	awk -v got="$1" -v want="$2" -v times="$MOST" -v most="${3:-0}" \
		'BEGIN { exit !(got >= want * 1e6 && got <= (most ? most : want * times) * 1e6) }'
}

kinds() {
	traced "$1" "${@:3}" -- 200 10000 || return 1
	check kinds "$1" "$DIR/$1.waits.txt" "$DIR/$1.trace.txt" "$DIR/$1.script.txt" "$2"
}

# totals CASE ERROR [STATES]
totals() {
	check totals "$2" "${3:-SDI}" "$DIR/$1.trace.txt" "$DIR/$1.report.txt"
}

case_samples() {
	kinds samples 100000 --off-cpu-thresh 100us
}

case_sums() {
	kinds sums 0 --off-cpu-thresh 100s
}

# All states, of all threads, which are more than there are CPUs.
case_states() {
	traced states --off-cpu-thresh 0 --off-cpu-states S,D,I,T,t,R -- 100 10000
	totals states 0.01 SDITtR
}

case_period() {
	traced period --off-cpu-period 1ms -- 200 10000
	totals period 0.02
}

# Many waits that are shorter than the period.
case_short_waits() {
	traced short_waits --off-cpu-period 1ms -- 10000 50 wait_futex
	totals short_waits 0.02
}

# A mutex that another thread unlocks, and a pipe that it writes to.
case_waker() {
	local wait status=0

	for wait in wait_mutex wait_pipe; do
		traced waker --off-cpu-waker --off-cpu-thresh 100us -- 200 10000 $wait || return 1
		check waker "$DIR/waker.script.txt" $wait peer || status=1
	done
	return $status
}

# One that is not recorded itself has its name and its symbols all the same.
case_waker_outside() {
	local pid

	mkfifo "$WORK/fifo"
	cat "$WORK/fifo" >/dev/null &
	pid=$!
	exec 6>"$WORK/fifo"
	"$PERF" record -q --off-cpu --off-cpu-waker -e dummy -p $pid -o "$DATA" -- \
		bash -c 'for i in {1..20}; do sleep 0.05; echo x >&6; done'
	exec 6>&-
	script_of "$DATA" >"$DIR/waker_outside.script.txt"
	"$PERF" report -i "$DATA" --stdio -q -g none --no-children -s comm,wakee -t ';' >"$DIR/waker_outside.report.txt"
	sed 's/^/# /' "$DIR/waker_outside.report.txt"
	awk -v RS= '/^bash .*offcpu-waker: *cat:/ && /libc\.so/ { n++ } END { exit n < 15 }' \
		"$DIR/waker_outside.script.txt" &&
		grep -q ';bash *; *[0-9]*:cat' "$DIR/waker_outside.report.txt"
}

case_blocked() {
	local pid ns

	sleep 100 &
	pid=$!
	sleep 1
	"$PERF" record -q --off-cpu -e dummy -p $pid -o "$DATA" -- sleep 10
	kill $pid
	script_of "$DATA" >"$DIR/blocked.script.txt"
	ns=$(sum "$DIR/blocked.script.txt")
	lasts "$ns" 10000 && grep -q nanosleep "$DIR/blocked.script.txt"
}

case_stopped() {
	local pid

	sleep 100 &
	pid=$!
	"$PERF" record -q --off-cpu --off-cpu-states T -e dummy -p $pid -o "$DATA" -- \
		bash -c "sleep 0.5; kill -STOP $pid; sleep 2; kill -CONT $pid; sleep 0.5"
	kill $pid
	report_of "$DATA" >"$DIR/stopped.report.txt"
	lasts "$(awk -F ';' '$3 ~ /T/ { print $1 + 0 }' "$DIR/stopped.report.txt")" 2000
}

case_pipe() {
	"$PERF" record -q --off-cpu -e dummy -o - -- sleep 3 |
		"$PERF" script -i - -F "$SCRIPT_FIELDS" >"$DIR/pipe.script.txt"
	grep -q '^sleep' "$DIR/pipe.script.txt" && lasts "$(sum "$DIR/pipe.script.txt")" 3000
}

# Each file has its own part of a sleep.
case_switch_output() {
	local file files=0 pid

	rm -f "$WORK"/switch.*
	"$PERF" record -q --off-cpu --switch-output -e dummy -o "$WORK/switch" -- sleep 6 &
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
	[ $files -ge 3 ] && lasts "$(sum "$WORK/switch.all")" 6000 || return 1
	# By time: the clock starts when all has been set up.
	rm -f "$WORK"/timed.*
	"$PERF" record -q --off-cpu --switch-output=1s -e dummy -o "$WORK/timed" -- sleep 3.5
	files=$(find "$WORK" -name 'timed.2*' | wc -l)
	echo "# $files files of a second each"
	[ "$files" -ge 3 ]
}

# Two of four seconds are enabled.
case_control() {
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

# Starts after its delay, also where nothing else happens.
case_delay() {
	local pid begin end

	sleep 100 &
	pid=$!
	begin=${EPOCHREALTIME/./}
	"$PERF" record -q --off-cpu -e dummy -p $pid -D 1000 -o "$DATA" -- sleep 3
	end=${EPOCHREALTIME/./}
	kill $pid
	script_of "$DATA" >"$DIR/delay.script.txt"
	# All of perf's time but the first second
	lasts "$(sum "$DIR/delay.script.txt")" 2000 $(((end - begin) / 1000 - 1000))
}

# Children that were forked before the recording began are followed.
case_early_child() {
	"$PERF" record -q --off-cpu -e dummy -D 500 -o "$DATA" -- bash -c 'sleep 1.5; true'
	"$PERF" script -i "$DATA" -F comm | grep -q sleep
}

# What the workload is blocked in when the recording is interrupted.
case_interrupted() {
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

case_cpu() {
	local zero one

	(for _ in 1 2 3 4 5 6; do taskset -c 1 sleep 0.1; done) &
	"$PERF" record -q --off-cpu --off-cpu-thresh 50ms -e dummy -o "$DATA" -C 0 -- \
		bash -c 'for i in 1 2 3 4 5; do taskset -c 0 sleep 0.1; done'
	wait
	# Rows of shorter waits have no CPU.
	"$PERF" script -i "$DATA" -F comm,cpu,period,event |
		awk '$1 == "sleep" && $3 >= 50000000' >"$DIR/cpu.script.txt"
	zero=$(grep -c '\[000\]' "$DIR/cpu.script.txt")
	one=$(grep -c '\[001\]' "$DIR/cpu.script.txt")
	echo "# samples on CPU 0: $zero, on CPU 1: $one"
	[ "$zero" -ge 4 ] && [ "$one" = 0 ]
}

# With -t, the other threads of a process are not recorded.
case_thread() {
	local pid

	"$DIR/waits" 100 10000 >/dev/null &
	pid=$!
	"$PERF" record -q --off-cpu -e dummy -o "$DATA" -t $pid -- sleep 1
	kill $pid
	[ "$("$PERF" script -i "$DATA" -F tid | sort -u | tr -d ' \n')" = $pid ]
}

inherit() {
	"$PERF" record -q --off-cpu -e dummy -o "$DATA" "$@" -- bash -c 'sleep 0.2; true'
	"$PERF" script -i "$DATA" -F comm | grep -c sleep
}

case_children() {
	[ "$(inherit)" -gt 0 ] && [ "$(inherit --no-inherit)" = 0 ]
}

case_cgroup() {
	local report

	mkdir -p /sys/fs/cgroup/in
	"$PERF" record -q --off-cpu --all-cgroups -e dummy -o "$DATA" -- \
		bash -c 'echo $$ >/sys/fs/cgroup/in/cgroup.procs; exec sleep 1'
	report=$("$PERF" report -i "$DATA" --stdio -q -g none --no-children -F period -s comm,cgroup -t ';')
	echo "# ${report//$'\n'/$'\n'# }"
	grep -q 'sleep *; */in' <<<"$report"
}

# Debian's perf reads the same from the file.
case_stock() {
	local option=(-F 'comm,tid,time,period,event,ip')

	traced stock --off-cpu-thresh 1ms -- 20 5000
	"$PERF" script -i "$DATA" "${option[@]}" 2>/dev/null >"$DIR/stock.ours.txt"
	/usr/bin/perf script -i "$DATA" "${option[@]}" 2>/dev/null >"$DIR/stock.theirs.txt"
	# Of programs that have ended before a row was written, it does not know the name.
	sed -i 's/^ *[^ ]* *//' "$DIR/stock.ours.txt" "$DIR/stock.theirs.txt"
	diff "$DIR/stock.ours.txt" "$DIR/stock.theirs.txt" | head -5 | sed 's/^/# /' | grep . && return 1
	[ "$(grep -c offcpu-time "$DIR/stock.theirs.txt")" -ge 100 ]
}

case_json() {
	"$PERF" record -q --off-cpu -e dummy -o "$DATA" -- bash -c 'sleep 0.3; sleep 0.6; true'
	"$PERF" data convert -i "$DATA" --force --to-json "$DIR/json.json" >/dev/null || return 1
	check weights json "$DIR/json.json" 300 600
}

flamegraph() {
	"$PERF" script -i "$DATA" -s "$PERF_EXEC_PATH/scripts/python/flamegraph.py" -- -f json -o "$DIR/flamegraph.json" "$@"
}

# Its widths are times. A profile of several events has no common unit.
case_flamegraph() {
	local said

	"$PERF" record -q --off-cpu -e cpu-clock -o "$DATA" -- bash -c 'sleep 0.3; sleep 0.6; true'
	said=$(flamegraph 2>&1) && { echo "# mixed: $said"; return 1; }
	grep -q 'choose one with --event' <<<"$said" || { echo "# $said"; return 1; }
	flamegraph -e offcpu-time >/dev/null || return 1
	check weights flamegraph "$DIR/flamegraph.json" 300 600
}

# Deferred user callchains: what either perf records, both merge to the same samples.
case_deferred_stock() {
	local perf reader name status=0 option=(-F 'comm,tid,time,event,ip')

	for perf in "$PERF" /usr/bin/perf; do
		name=deferred_of_${perf#/}
		name=$DIR/${name//\//_}
		"$perf" record -q --call-graph fp,defer -e cpu-clock -F 999 -o "$DATA" -- \
			"$DIR/sframe" run --cache-dir "$WORK/cache" \
			python3 -c 'for i in range(300000): str(i)' || return 1
		for reader in "$PERF" /usr/bin/perf; do
			"$reader" script -i "$DATA" --no-inline "${option[@]}" \
				2>"$name.log" >"$name.${reader//\//_}.txt" || sed 's/^/# /' "$name.log"
		done
		diff "$name".*.txt | head -6 | sed 's/^/# /' | grep . && status=1
		awk -v RS= -F '\n' 'NF > 6 { deep++ } END { print "# " NR " samples, " deep " deep"; exit deep < 50 }' \
			"$name.${PERF//\//_}.txt" || status=1
	done
	return $status
}

# fails PATTERN PERF-OPTION...: perf record refuses that, and says why.
fails() {
	local pattern=$1 said

	shift
	said=$("$PERF" record -o "$DATA" "$@" -- true 2>&1) && { echo "# accepted: $*"; return 1; }
	grep -q -- "$pattern" <<<"$said" || { echo "# $*: $said"; return 1; }
}

case_bad_values() {
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
	fails 'need --off-cpu' --off-cpu-thresh 1 || status=1
	fails 'need --off-cpu' --off-cpu-waker || status=1
	return $status
}

# Without room in the ring buffer, the time is in the sums.
case_ring_full() {
	traced ring_full -m 1 --off-cpu-thresh 0 -- 20000 50 wait_futex
	sed 's/^/# /' "$DIR/ring_full.log"
	grep -q 'in the sums for lack of room' "$DIR/ring_full.log" || return 1
	totals ring_full 0.01
}

case_hotplug() {
	local online=/sys/devices/system/cpu/cpu1/online

	(for _ in 1 2 3 4 5; do echo 0 >$online; sleep 0.3; echo 1 >$online; sleep 0.3; done) &
	traced hotplug --off-cpu-thresh 1ms -- 50 10000
	wait
	totals hotplug 0.01
}

case_disk_full() {
	local said

	mkdir -p "$WORK/small"
	mount -t tmpfs -o size=64k tmpfs "$WORK/small"
	said=$("$PERF" record --off-cpu --off-cpu-thresh 0 -e dummy -o "$WORK/small/data" -- \
		"$DIR/waits" 2000 50 wait_futex 2>&1) && { echo "# succeeded"; return 1; }
	umount "$WORK/small"
	grep -q 'No space left' <<<"$said" || { echo "# $said"; return 1; }
}

loads() {
	# shellcheck disable=SC2086
	python3 -B "$HERE/loads.py" $BASE "$1" "$PERF" "$DIR" "$WORK"
}

case_programs() {
	loads programs
}

case_many() {
	loads many
}

case_switches() {
	loads switches
}

case_unprivileged() {
	loads unprivileged
}

case_hostile() {
	loads hostile
}

case_no_memory() {
	loads no_memory
}

# The commands of the page, in their order, in one shell.
case_page() {
	local page=$HERE/../../../Documentation/admin-guide/off-cpu.rst status

	sed -n 's/^\t\$ //p' "$page" >"$WORK/commands"
	[ "$(wc -l <"$WORK/commands")" -ge 22 ] || return 1
	mkdir -p "$WORK/page"
	sleep 1000 &
	(cd "$WORK/page" && PATH=${PERF%/*}:$PATH PAGER=cat PID=$! script -qec "bash -ex $WORK/commands" \
		"$DIR/page.txt" >/dev/null)
	status=$?
	kill $!
	tail -n 15 "$DIR/page.txt" | sed 's/^/# /'
	[ $status = 0 ] && grep -q 'nanosleep' "$DIR/page.txt"
}

main() {
	local name

	shift 2
	mkdir -p "$WORK"
	cp -r "$DIR/cache" "$WORK/cache"
	export PERF_BUILDID_DIR=$WORK/buildid PERF_EXEC_PATH
	cd "$DIR" || exit 1
	trace_on
	slow_disk
	for name; do
		run "$name"
	done
}

main "$@"
