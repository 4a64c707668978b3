# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Stacks as tools print them: how many there are and how many are whole, as TAP.
# shellcheck disable=SC2154 # OUT is the script's

# From the innermost function to main.
FRAMES=(spin inner middle outer main)
# Below a program's outermost function that has a name in all tools stand frames of the C++
# and the C library, and _start or clone3.
BELOW=3

# Reads one line a frame, stacks apart by empty lines; prints how many stacks there
# are that hold spin, and how many of these go on to main, by FRAMES.
count_whole() {
	awk -v frames="${FRAMES[*]}" '
	function judge(   i, at) {
		if (!nr || stack[1] != want[1]) { nr = 0; return }
		seen++
		for (i = 1; i in want; i++)
			if (stack[i] != want[i]) { nr = 0; return }
		whole++
		nr = 0
	}
	BEGIN { split(frames, want, " ") }
	NF == 0 { judge(); next }
	{ stack[++nr] = $1 }
	END { judge(); print seen + 0, whole + 0 }'
}

# known_result NAME: a passed case if all but 1 % of at least 100 stacks are whole; the
# first samples bring the table in.
known_result() {
	local seen whole status=1

	read -r seen whole
	[ "$seen" -lt 100 ] || [ $((whole * 100)) -lt $((seen * 99)) ] || status=0
	result $status "$1: $whole of $seen stacks whole"
}

# fold: perf script's stacks, a line each, the innermost function first.
fold() {
	awk 'NF == 0 { if (line) print 1 "\t" line; line = ""; next }
	{ $1 = ""; sub(/^ /, ""); line = line ? line ";" $0 : $0 }
	END { if (line) print 1 "\t" line }'
}

# folded: bcc's and bpftrace's folded stacks as those of fold: "root;...;leaf count".
folded() {
	awk '!/;/ { next }
	{
		count = $NF
		sub(/ [0-9]+$/, "")
		nr = split($0, frame, ";")
		line = frame[nr]
		# The first is the program.
		for (i = nr - 1; i > 1; i--) line = line ";" frame[i]
		print count "\t" line
	}'
}

# whole_stacks ROOTS: how many stacks there are, and how many of these end BELOW frames
# below the outermost function that ROOTS matches. Others go to OUT/NAME.misses, but for
# those in the last instruction of the unwinder of exceptions. It returns to a landing pad,
# which nothing has called: one byte before it, where a caller is looked up, stands
# whatever code the compiler has put there, and a row of that. DWARF's unwinders do the same.
whole_stacks() {
	awk -F '\t' -v roots="$1" -v below="$BELOW" -v misses="$OUT/$2.misses" '
	BEGIN { printf "" >misses }
	{
		nr = split($2, frame, ";")
		for (root = nr; root && frame[root] !~ roots; root--)
			;
		if (frame[1] ~ /^_Unwind_R(esume|aiseException)/ && !root) { between += $1; next }
		seen += $1
		if (root && nr - root == below || frame[nr] == "_start") whole += $1
		else print >misses
	}
	END { print seen + 0, whole + 0, between + 0 }'
}

# tool_result NAME: as known_result; all but 1 of 1000 of at least 300 stacks, or all but one.
tool_result() {
	local seen whole between status=1

	read -r seen whole between
	if [ "$seen" -ge 300 ] && [ $((seen - whole)) -le $((seen / 1000 + 1)) ]; then
		status=0
	fi
	result $status "$1: $whole of $seen stacks whole, $between on the way to a handler"
}

