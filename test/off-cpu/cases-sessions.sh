# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Cases: what is recorded, when and where to, by perf's options and commands. Read by guest.sh.

case_pipe() {
	local start most

	start=$(now)
	"$PERF" record -q --off-cpu -e dummy -o - -- sleep 3 |
		script_of - >"$DIR/pipe.script.txt"
	most=$(($(now) - start + 1))
	grep -q '^sleep' "$DIR/pipe.script.txt" && lasts "$(sum "$DIR/pipe.script.txt")" 3000 $most
}

# Each file has its own part of a sleep.
case_switch_output() {
	local file files=0 pid start most

	rm -f "$WORK"/switch.*
	start=$(now)
	"$PERF" record -q --off-cpu --switch-output -e dummy -o "$WORK/switch" -- sleep 6 &
	pid=$!
	until pgrep -P $pid -x sleep >/dev/null; do sleep 0.1; done
	for _ in 1 2; do
		sleep 1
		kill -USR2 $pid
	done
	wait $pid
	most=$(($(now) - start + 1))
	for file in "$WORK"/switch.2*; do
		script_of "$file" >"$DIR/switch_output.script.txt"
		[ "$(sum "$DIR/switch_output.script.txt")" -gt 100000000 ] && files=$((files + 1))
		cat "$DIR/switch_output.script.txt" >>"$WORK/switch.all"
	done
	[ $files -ge 3 ] && lasts "$(sum "$WORK/switch.all")" 6000 $most || return 1
	# By time: the clock starts when all has been set up.
	rm -f "$WORK"/timed.*
	"$PERF" record -q --off-cpu --switch-output=1s -e dummy -o "$WORK/timed" -- sleep 3.5
	files=$(find "$WORK" -name 'timed.2*' | wc -l)
	echo "# $files files of a second each"
	[ "$files" -ge 3 ]
}

# Recorded from the command that enables to the one that disables, at most; and from the
# answer of the first to the second, at least.
case_control() {
	local pid asked answered end most

	mkfifo "$WORK/control" "$WORK/ack"
	sleep 1d &
	pid=$!
	"$PERF" record -q --off-cpu -e dummy -p $pid -o "$DATA" -D -1 \
		--control "fifo:$WORK/control,$WORK/ack" &
	exec 8>"$WORK/control" 9<"$WORK/ack"
	sleep 1
	asked=$(now)
	echo enable >&8 && read -r -u 9
	answered=$(now)
	sleep 2
	end=$(now)
	echo disable >&8 && read -r -u 9
	most=$(($(now) - asked))
	sleep 1
	echo stop >&8
	wait $!
	exec 8>&- 9<&-
	kill $pid
	script_of "$DATA" >"$DIR/control.script.txt"
	lasts "$(sum "$DIR/control.script.txt")" $((end - answered - 1)) $((most + 1))
}

# Starts after its delay, also where nothing else happens: perf says when it has, and ends when
# its command does.
case_delay() {
	local pid begin end most

	sleep 1d &
	pid=$!
	begin=$(now)
	# shellcheck disable=SC2016 # the other shell's
	"$PERF" record --off-cpu -e dummy -p $pid -D 1000 -o "$DATA" -- \
		bash -c 'sleep 3; echo ${EPOCHREALTIME/./} >"$0"' "$WORK/ended" 2>&1 |
		while read -r line; do
			[ "$line" != "Events enabled" ] || now >"$WORK/enabled"
		done
	# All of perf's time but the first second
	most=$(($(now) - begin - 1000))
	end=$(($(cat "$WORK/ended") / 1000))
	kill $pid
	script_of "$DATA" >"$DIR/delay.script.txt"
	lasts "$(sum "$DIR/delay.script.txt")" $((end - $(cat "$WORK/enabled") - 1)) $((most + 1))
}

# Children that were forked before the recording began are followed.
case_early_child() {
	"$PERF" record -q --off-cpu -e dummy -D 500 -o "$DATA" -- bash -c 'sleep 1.5; true'
	"$PERF" script -i "$DATA" -F comm | grep -q sleep
}

# What the workload is blocked in when the recording is interrupted.
case_interrupted() {
	local pid

	"$PERF" record -q --off-cpu -e dummy -o "$DATA" -- sleep 1d &
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

# waits_with_exec WHICH: records with -t and the tid of the thread, or of the first one, until the
# program ends. Both wait for half a second before the exec(), and the thread for two after it.
# perf would end with the first one, so it records this shell as well.
waits_with_exec() {
	local pid tid

	rm -f "$WORK/go" "$WORK/tid"
	mkfifo "$WORK/go" "$WORK/tid"
	"$DIR/thread_exec" <"$WORK/go" >"$WORK/tid" &
	pid=$!
	exec 7>"$WORK/go" 8<"$WORK/tid"
	read -r tid <&8
	[ "$1" = thread ] || tid=$pid
	"$PERF" record -q --off-cpu -e dummy -o "$DATA" -t "$tid,$$" -- \
		sh -c 'sleep 0.5; echo >&7; cat <&8'
	exec 7>&- 8<&-
	wait $pid
	script_of "$DATA" >"$DIR/thread_exec.$1.txt"
}

# waited_in WHICH FUNCTION: in ms, with FUNCTION in the stack
waited_in() {
	awk -v RS= -v function_name="$2" 'index($0, " " function_name " ")' ORS='\n\n' \
		"$DIR/thread_exec.$1.txt" >"$WORK/waited"
	echo $(($(sum "$WORK/waited") / 1000000))
}

# exec() gives the thread that calls it the pid of the first one. With -t, perf stays with the
# thread, and does not go over to it from the first one. How long an exec() takes is not measured.
case_thread_exec() {
	local which function
	local -A waited

	for which in thread first; do
		waits_with_exec $which
		for function in pipe_read futex_wait hrtimer_nanosleep; do
			waited[$which.$function]=$(waited_in $which $function)
			echo "# $which, $function: ${waited[$which.$function]} ms"
		done
	done
	[ "${waited[thread.pipe_read]}" -ge 450 ] && [ "${waited[thread.hrtimer_nanosleep]}" -ge 2000 ] &&
		[ "${waited[thread.futex_wait]}" = 0 ] && [ "${waited[first.futex_wait]}" -ge 450 ] &&
		[ "${waited[first.pipe_read]}" = 0 ] && [ "${waited[first.hrtimer_nanosleep]}" = 0 ]
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
