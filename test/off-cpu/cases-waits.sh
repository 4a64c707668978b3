# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Cases: known waits, each with its time, its stacks, its state and its waker. Read by guest.sh.

kinds() {
	traced "$1" "${@:3}" -- 200 10000 || return 1
	check kinds "$1" "$DIR/$1.waits.txt" "$DIR/$1.trace.txt" "$DIR/$1.script.txt" "$2"
}

# totals CASE ERROR [STATES [PERIOD]]
totals() {
	check totals "$2" "${3:-SDI}" "$DIR/$1.trace.txt" "$DIR/$1.report.txt" ${4:+"$4"}
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
	totals period 0.01 SDI 1000000
}

# Many waits that are shorter than the period.
case_short_waits() {
	traced short_waits --off-cpu-period 1ms -- 40000 50 wait_futex
	totals short_waits 0.01 SDI 1000000
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
	"$PERF" record -q --off-cpu --off-cpu-thresh 10ms --off-cpu-waker -e dummy -p $pid -o "$DATA" -- \
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
	local pid ns start most

	sleep 1d &
	pid=$!
	sleep 1
	start=$(now)
	"$PERF" record -q --off-cpu -e dummy -p $pid -o "$DATA" -- sleep 10
	most=$(($(now) - start + 1))
	kill $pid
	script_of "$DATA" >"$DIR/blocked.script.txt"
	ns=$(sum "$DIR/blocked.script.txt")
	lasts "$ns" 10000 $most && grep -q nanosleep "$DIR/blocked.script.txt"
}

# At least from the time when the process is seen to be stopped to the signal that continues it,
# and at most between the two times when it is not.
case_stopped() {
	local pid asked stopped ask_again continued

	sleep 1d &
	pid=$!
	"$PERF" record -q --off-cpu --off-cpu-states T -e dummy -p $pid -o "$DATA" -- \
		bash -c "
			is_stopped() { grep -q '^State:.*T (stopped)' /proc/$pid/status; }
			$(declare -f now)
			sleep 0.5
			now
			kill -STOP $pid
			until is_stopped; do sleep 0.01; done
			now
			sleep 2
			now
			kill -CONT $pid
			while is_stopped; do sleep 0.01; done
			now
			sleep 0.5" >"$WORK/stopped"
	kill $pid
	mapfile -t <"$WORK/stopped"
	asked=${MAPFILE[0]} stopped=${MAPFILE[1]} ask_again=${MAPFILE[2]} continued=${MAPFILE[3]}
	report_of "$DATA" >"$DIR/stopped.report.txt"
	lasts "$(awk -F ';' '$3 ~ /T/ { print $1 + 0 }' "$DIR/stopped.report.txt")" \
		$((ask_again - stopped - 1)) $((continued - asked + 1))
}
