# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Cases: bad values, full buffers and disks, many programs and hostile ones. Read by guest.sh.

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

# Without room in the ring buffer, the time is in the sums: perf reads nothing for a second.
case_ring_full() {
	(
		until pgrep -x waits >/dev/null; do sleep 0.01; done
		pkill -STOP -x perf
		sleep 1
		pkill -CONT -x perf
	) &
	traced ring_full -m 1 --off-cpu-thresh 0 -- 20000 50 wait_futex
	wait
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

# The emulator runs one CPU after the other, and time goes on meanwhile: between two clocks of one
# CPU, too.
case_switches() {
	local online=/sys/devices/system/cpu/cpu1/online status=0

	echo 0 >$online
	loads switches || status=$?
	echo 1 >$online
	return $status
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
