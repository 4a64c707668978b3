# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
# Record workloads with offwaketime, and judge what it prints.
#
# Inputs: OUT, the directory with the built tool and workload; WORK, a directory for what is
# recorded; LOSSES=allowed on a kernel that loses stacks.
# Outputs: in WORK, test.folded and test.stderr of the tool, and test.workload, the waits that
# the workload itself has measured.

# Slow machines load the programs slowly: an emulated debug kernel takes half a minute.
START_SECONDS=120
NEVER_RECORDED=99

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

# A program whose file is cut off while the tool records.
run_cut_off() {
	cp "$OUT/workload" "$WORK/cut"
	"$WORK/cut" nap
	truncate --size 4096 "$WORK/cut"
}

# A program whose name and function are to mislead a terminal and those who read folded stacks.
# U+009B and its byte alone start control sequences, too; the last letter has it as a part.
run_named() {
	local named=$WORK/$'n;a\e[2J\nmed'

	cp "$OUT/workload" "$WORK/named"
	objcopy --redefine-sym take_a_nap=$'take;a\e[2J\nnap\xc2\x9b\x9bě' "$WORK/named"
	mv "$WORK/named" "$named"
	"$named" nap
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
