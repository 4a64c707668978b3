# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Cases of run.sh: sframe cache.
# shellcheck disable=SC2154 # OUT, HERE, CHECKED and SEEDS are those of run.sh

cache() {
	"$CHECKED" cache --cache-dir "$OUT/cache" --jobs 2 "$@"
}

cache_programs() {
	local name number=0

	rm -rf "$OUT/cache" "$OUT/programs"
	mkdir "$OUT/programs"
	for name in O0 O2 Os drap Ofixed; do
		# Equal programs have equal build-ids.
		number=$((number + 1))
		echo "int main(void) { return $number; }" |
			gcc -O2 -Wl,--build-id -o "$OUT/programs/$name" -x c -
	done
	# One file by two names, and what is no program.
	ln "$OUT/programs/O2" "$OUT/programs/O2-again"
	cp "$HERE/program.c" "$OUT/programs"
}

table_files() {
	find "$OUT/cache" -type f | sort
}

second_fill_writes_nothing() {
	cache_programs
	cache "$OUT/programs" > "$OUT/cache.first"
	has "$OUT/cache.first" "5 files: 5 written"
	[ "$(table_files | wc -l)" = 5 ]
	[ -z "$(table_files | grep -vE '/[0-9a-f]{2}/[0-9a-f]{38}\.v2$')" ]
	[ -z "$(find "$OUT/cache" -type f ! -perm 644)$(find "$OUT/cache" -type d ! -perm 755)" ]
	find "$OUT/cache" -type f -printf '%p %i %T@\n' | sort > "$OUT/cache.before"
	cache "$OUT/programs" > "$OUT/cache.second"
	has "$OUT/cache.second" "5 files: 0 written (0.0 MB), 5 there already"
	find "$OUT/cache" -type f -printf '%p %i %T@\n' | sort > "$OUT/cache.after"
	cmp "$OUT/cache.before" "$OUT/cache.after"
	[ -z "$(cache --quiet "$OUT/programs" 2>&1)" ]
}

damaged_table_is_made_anew() {
	local table

	table=$(table_files | head -n 1)
	cp "$table" "$OUT/good"
	truncate -s -1 "$table"
	cache "$OUT/programs" > "$OUT/cache.out"
	has "$OUT/cache.out" "1 written"
	cmp "$table" "$OUT/good"
	: > "$table"
	cache "$OUT/programs" > "$OUT/cache.out"
	cmp "$table" "$OUT/good"
}

formats_lie_side_by_side() {
	cache --format v3 "$OUT/programs/O2" > "$OUT/cache.out"
	has "$OUT/cache.out" "1 written"
	[ "$(table_files | grep -c '\.v3$')" = 1 ]
	[ "$(table_files | grep -c '\.v2$')" = 5 ]
}

# Each name that ever appears has to be that of a whole table.
concurrent_fills_agree() {
	local first second table

	cache_programs
	cache "$OUT/programs" /usr/bin/xz /usr/bin/find > "$OUT/fill.1" & first=$!
	cache "$OUT/programs" /usr/bin/xz /usr/bin/find > "$OUT/fill.2" & second=$!
	while kill -0 $first 2> "$OUT/null" || kill -0 $second 2> "$OUT/null"; do
		for table in "$OUT"/cache/??/*.v2; do
			[ ! -e "$table" ] || "$SFRAME" dump "$table" > "$OUT/null"
		done
	done
	wait $first
	wait $second
	[ "$(table_files | grep -vc '\.v2$')" = 0 ]
	[ "$(table_files | wc -l)" = 7 ]
}

interrupted_fill_leaves_whole_tables() {
	local delay dir fill table

	for delay in 0.05 0.1 0.2 0.4; do
		dir=$OUT/interrupted.$delay
		rm -rf "$dir"
		"$SFRAME" cache --cache-dir "$dir" --jobs 2 /usr/bin > "$OUT/null" 2>&1 & fill=$!
		# Wherever it is by then is as good as elsewhere.
		sleep $delay
		kill -TERM $fill
		status 143 wait $fill
		# Its workers may be about to write a table each.
		while pgrep -f "cache-dir $dir" > "$OUT/null"; do
			sleep 0.1
		done
		find "$dir" -type f > "$OUT/interrupted"
		! grep -v '\.v2$' "$OUT/interrupted"
		while read -r table; do
			"$SFRAME" dump "$table" > "$OUT/null"
		done < "$OUT/interrupted"
		wc -l "$OUT/interrupted"
		rm -rf "$dir"
	done
}

hostile_file_fails_alone() {
	cache_programs
	head -c 9000 /usr/bin/xz > "$OUT/programs/cut"
	status 1 cache "$OUT/programs" > "$OUT/cache.out" 2> "$OUT/cache.err"
	has "$OUT/cache.out" "6 files: 5 written"
	has "$OUT/cache.out" "1 failed"
	has "$OUT/cache.err" "sframe: $OUT/programs/cut: "
	status 1 cache /no/such/file "$OUT/programs" > "$OUT/cache.out" 2>&1
	has "$OUT/cache.out" "5 there already"
}

damaged_programs_are_survived() {
	local seed

	for ((seed = FIRST_SEED; seed < FIRST_SEED + SEEDS / 4; seed++)); do
		"$HERE/mutate.py" $seed "$OUT/programs/O2" "$OUT/damaged"
		echo "seed $seed"
		survives "$CHECKED" cache --cache-dir "$OUT/cache" "$OUT/damaged"
	done
}

no_build_id_is_skipped() {
	gcc -O2 -Wl,--build-id=none -o "$OUT/no-id" "$HERE/program.c"
	cache "$OUT/no-id" "$HERE/program.c" > "$OUT/cache.out"
	has "$OUT/cache.out" "2 skipped (1 without build-id, 0 without unwind data, 1 no program)"
}

unusable_directories_are_told() {
	status 1 "$CHECKED" cache --cache-dir /proc/sframe "$OUT/programs" 2> "$OUT/cache.err"
	has "$OUT/cache.err" "sframe: /proc/sframe: "
	has "$OUT/cache.err" "name another directory by --cache-dir"
	mkdir -p "$OUT/open"
	chmod 777 "$OUT/open"
	[ "$(id -u)" != 0 ] || {
		status 1 "$CHECKED" cache --cache-dir "$OUT/open" "$OUT/programs" 2> "$OUT/cache.err"
		has "$OUT/cache.err" "others can write there"
	}
}

# as_user COMMAND...: without root's rights.
as_user() {
	if [ "$(id -u)" = 0 ]; then
		setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
	else
		"$@"
	fi
}

# The user needs a way to the files, which OUT need not be.
users_have_caches_of_their_own() {
	local tmp

	tmp=$(mktemp -d)
	chmod 755 "$tmp"
	mkdir -m 777 "$tmp/home" "$tmp/xdg"
	cp "$SFRAME" "$tmp/sframe"
	status 1 as_user env -u HOME -u XDG_CACHE_HOME "$tmp/sframe" cache /usr/bin/xz 2> "$OUT/cache.err"
	has "$OUT/cache.err" "no XDG_CACHE_HOME and no HOME is set"
	as_user env -u XDG_CACHE_HOME HOME="$tmp/home" "$tmp/sframe" cache /usr/bin/xz
	[ "$(find "$tmp/home/.cache/sframe" -name '*.v2' | wc -l)" = 1 ]
	as_user env XDG_CACHE_HOME="$tmp/xdg" HOME="$tmp/home" "$tmp/sframe" cache /usr/bin/xz
	[ "$(find "$tmp/xdg/sframe" -name '*.v2' | wc -l)" = 1 ]
	as_user env HOME="$tmp/home" "$tmp/sframe" cache --running > "$OUT/cache.out"
	status 1 as_user env XDG_CACHE_HOME="$tmp/none" "$tmp/sframe" cache /usr/bin/xz 2> "$OUT/cache.err"
	has "$OUT/cache.err" "Permission denied; name another directory"
	rm -rf "$tmp"
}

running_programs_get_tables() {
	rm -rf "$OUT/cache"
	"$OUT/audit_program" spin 20 & local pid=$!
	cache --running > "$OUT/cache.out"
	kill $pid
	wait $pid || true
	[ -n "$(table_files)" ]
	cache "$OUT/audit_program" > "$OUT/cache.out"
	has "$OUT/cache.out" "1 there already"
}

cache_cases() {
	try audit-program build_audit_program
	try cache-second-fill second_fill_writes_nothing
	try cache-damaged-table damaged_table_is_made_anew
	try cache-formats formats_lie_side_by_side
	try cache-concurrent concurrent_fills_agree
	try cache-interrupted interrupted_fill_leaves_whole_tables
	try cache-hostile-file hostile_file_fails_alone
	try cache-damaged-programs damaged_programs_are_survived
	try cache-no-build-id no_build_id_is_skipped
	try cache-unusable-directory unusable_directories_are_told
	try cache-users users_have_caches_of_their_own
	try cache-running running_programs_get_tables
}
