# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Cases: files that other versions of perf read, and what perf exports. Read by guest.sh.

# same FILE FILE: prints how they differ.
same() {
	diff "$@" >"$WORK/differences" && return
	head -5 "$WORK/differences" | sed 's/^/# /'
	return 1
}

# Debian's perf reads the same from the file.
case_stock() {
	local option=(-F 'comm,tid,time,period,event,ip')

	traced stock --off-cpu-thresh 1ms -- 20 5000
	# shellcheck disable=SC2153 # guest.sh sets PERF
	"$PERF" script --no-inline -i "$DATA" "${option[@]}" 2>/dev/null >"$DIR/stock.ours.txt"
	/usr/bin/perf script --no-inline -i "$DATA" "${option[@]}" 2>/dev/null >"$DIR/stock.theirs.txt"
	# Of programs that have ended before a row was written, it does not know the name.
	sed -i 's/^ *[^ ]* *//' "$DIR/stock.ours.txt" "$DIR/stock.theirs.txt"
	same "$DIR/stock.ours.txt" "$DIR/stock.theirs.txt" || return 1
	[ "$(grep -c offcpu-time "$DIR/stock.theirs.txt")" -ge 100 ]
}

case_json() {
	"$PERF" record -q --off-cpu -e dummy -o "$DATA" -- bash -c 'sleep 0.3; sleep 0.6; true'
	"$PERF" data convert -i "$DATA" --force --to-json "$DIR/json.json" >/dev/null || return 1
	script_of "$DATA" >"$DIR/json.script.txt"
	check weights json "$DIR/json.json" "$DIR/json.script.txt"
}

flamegraph() {
	"$PERF" script -i "$DATA" -s "$PERF_EXEC_PATH/scripts/python/flamegraph.py" -- "$@"
}

# Its widths are times, and it says so. A profile of several events has no common unit but
# the number of samples.
case_flamegraph() {
	local said json=(-f json -o "$DIR/flamegraph.json") page=$DIR/flamegraph.html

	"$PERF" record -q --off-cpu -e cpu-clock -o "$DATA" -- bash -c 'sleep 0.3; sleep 0.6; true'
	said=$(flamegraph "${json[@]}" 2>&1) || { echo "# mixed: $said"; return 1; }
	grep -q 'samples of cpu-clock.*, offcpu-time are counted' <<<"$said" || { echo "# $said"; return 1; }
	grep -q '^{"n": "all", "l": "root"' "$DIR/flamegraph.json" || { echo "# counted in ns"; return 1; }
	flamegraph "${json[@]}" -e offcpu-time >/dev/null || return 1
	grep -q '^{"n": "all, in ns off the CPU",' "$DIR/flamegraph.json" || { echo "# no unit"; return 1; }
	echo '<script>options = [/** @options_json **/];</script></body>' >"$WORK/template.html"
	flamegraph -f html --template "$WORK/template.html" -o "$page" -e offcpu-time >/dev/null || return 1
	grep -q 'Focused event: offcpu-time' "$page" || { echo "# page without the event"; return 1; }
	grep -q 'ms off the CPU' "$page" || { echo "# page without unit"; return 1; }
	script_of "$DATA" >"$DIR/flamegraph.script.txt"
	check weights flamegraph "$DIR/flamegraph.json" "$DIR/flamegraph.script.txt"
}

# Deferred user callchains: what either perf records, both merge to the same samples.
case_deferred_stock() {
	local perf reader name status=0 option=(-F 'comm,tid,time,event,ip')

	for perf in "$PERF" /usr/bin/perf; do
		name=deferred_of_${perf#/}
		name=$DIR/${name//\//_}
		"$perf" record -q --call-graph fp,defer -e cpu-clock -F 999 -o "$DATA" -- \
			python3 -c 'for i in range(300000): str(i)' || return 1
		for reader in "$PERF" /usr/bin/perf; do
			"$reader" script -i "$DATA" --no-inline "${option[@]}" \
				2>"$name.log" >"$name.${reader//\//_}.txt" || sed 's/^/# /' "$name.log"
		done
		same "$name".*.txt || status=1
		awk -v RS= -F '\n' 'NF > 6 { deep++ } END { print "# " NR " samples, " deep " deep"; exit deep < 50 }' \
			"$name.${PERF//\//_}.txt" || status=1
	done
	return $status
}
