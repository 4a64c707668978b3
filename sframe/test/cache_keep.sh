# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Cases of run.sh: sframe cache lists and prunes a cache.
# shellcheck disable=SC2154 # OUT, HERE, SFRAME, CHECKED, SEEDS: run.sh

list_tells_what_the_kernel_refuses() {
	local table

	cache_programs
	cache --quiet "$OUT/programs"
	cache --list > "$OUT/cache.out"
	[ "$(grep -cE '^[0-9a-f]{40} +[0-9.]+ KB  trusted  [0-9.]+ % without rows  '"$OUT/programs/" "$OUT/cache.out")" = 5 ]
	has "$OUT/cache.out" ": 5 tables, "
	has "$OUT/cache.out" ", 0 that the kernel would refuse"
	table=$(table_files | head -n 1)
	chmod 664 "$table"
	: > "$(table_files | tail -n 1)"
	cp "$(table_files | sed -n 2p)" "${table%/*}/00.v4"
	: > "$table.aBc123"
	cache --list > "$OUT/cache.out"
	has "$OUT/cache.out" "KB  refused: others than root may write to it"
	has "$OUT/cache.out" "KB  refused: not a table file"
	has "$OUT/cache.out" "KB  refused: it was made for another build-id"
	has "$OUT/cache.out" ": 6 tables, "
	has "$OUT/cache.out" ", 3 that the kernel would refuse, 1 left over from interrupted writes"
	cache --list --json > "$OUT/cache.out"
	python3 - "$OUT/cache.out" <<-'END'
		import json, os, sys

		tables = json.load(open(sys.argv[1]))
		assert len(tables) == 6, tables
		assert sum(table["trusted"] for table in tables) == 3, tables
		for table in tables:
		    assert os.stat(table["file"]).st_size == table["bytes"], table
		    assert (table["refused"] is None) == table["trusted"], table
		    with open(table["file"], "rb") as file:
		        assert file.read(148)[136:].hex() == (table["layout"] or ""), table
	END
	chown 65534 "$table"
	cache --list > "$OUT/cache.out"
	has "$OUT/cache.out" "KB  refused: its owner is not root"
}

list_of_no_cache_fails() {
	status 1 "$CHECKED" cache --cache-dir /no/such --list 2> "$OUT/cache.err"
	has "$OUT/cache.err" \
		"sframe: /no/such: No such file or directory; name a cache by --cache-dir"
	mkdir -p "$OUT/empty"
	"$CHECKED" cache --cache-dir "$OUT/empty" --list --json > "$OUT/cache.out"
	[ "$(cat "$OUT/cache.out")" = "[]" ]
	status 2 cache --list "$OUT/programs"
	status 2 cache --list --prune
	status 2 cache --json "$OUT/programs"
	status 2 cache --prune --all
}

# Prune with the tool without sanitizers, which reads all files of the system faster.
prune() {
	TOOL=$SFRAME cache --prune "$@"
}

prune_keeps_what_is_used() {
	local table

	cache_programs
	cache --quiet "$OUT/programs" /usr/bin/xz
	table=$(table_files | head -n 1)
	cp "$table" "$table.aBc123"
	echo mine > "$OUT/cache/README"
	echo mine > "${table%/*}/notes"
	# A table that is newer than the run may belong to a new object, and is kept.
	find "$OUT/cache" -type f -exec touch -d tomorrow {} +
	cache --prune > "$OUT/cache.out"
	has "$OUT/cache.out" ": 6 tables, 0 removed, 0 left over"
	find "$OUT/cache" -type f -exec touch -d yesterday {} +
	rm "$OUT/programs/Os"
	prune --dry-run "$OUT/programs" > "$OUT/cache.out"
	[ "$(grep -c '^would remove ' "$OUT/cache.out")" = 2 ]
	has "$OUT/cache.out" ": 6 tables, 1 would be removed, 1 left over from interrupted writes"
	[ "$(table_files | wc -l)" = 9 ]
	prune "$OUT/programs" > "$OUT/cache.out"
	[ "$(grep -c '^removed ' "$OUT/cache.out")" = 2 ]
	[ "$(table_files | grep -c '\.v4$')" = 5 ]
	# Tables of the system stay, and files that are no tables.
	prune --quiet > "$OUT/cache.out"
	[ ! -s "$OUT/cache.out" ]
	[ "$(table_files | grep -c '\.v4$')" = 1 ]
	[ -e "$OUT/cache/README" ] && [ -e "${table%/*}/notes" ]
	cache /usr/bin/xz > "$OUT/cache.out"
	has "$OUT/cache.out" "1 there already"
}

# with_stopped_server DIR PROGRAM COMMAND...: run COMMAND while a process runs PROGRAM from DIR, which
# is of a server that no longer answers.
with_stopped_server() {
	# shellcheck disable=SC2016 # the inner shell's
	unshare -m sh -ec '
		bindfs -f "${2%/*}" "$1" & server=$!
		until mountpoint -q "$1"; do sleep 0.1; done
		"$1/${2##*/}" & pid=$!
		until grep -q "$1" "/proc/$pid/maps"; do sleep 0.1; done
		kill -STOP $server
		# The kernel may use what it knows of a file for a second.
		sleep 2
		shift 2
		status=0
		"$@" || status=$?
		kill -KILL $server $pid
		exit $status' x "$@"
}

prune_waits_for_no_server() {
	local tables pausing=$OUT/pausing/program
	local command=(timeout -s KILL 60 "$SFRAME" cache --cache-dir "$OUT/cache" --prune)

	cache_programs
	cache --quiet "$OUT/programs"
	find "$OUT/cache" -type f -exec touch -d yesterday {} +
	mkdir -p "$OUT/pausing" "$OUT/served"
	echo '#include <unistd.h>
		int main(void) { return pause(); }' | gcc -static -o "$pausing" -x c -
	tables=$(table_files)
	status 1 with_stopped_server "$OUT/served" "$pausing" "${command[@]}" --timeout 2 \
		> "$OUT/cache.out" 2> "$OUT/cache.err"
	has "$OUT/cache.err" "$OUT/served/program: takes too long; allow more time by --timeout"
	has "$OUT/cache.err" "nothing is removed"
	[ "$(table_files)" = "$tables" ]
}

# The table of each layout stays as long as an object with this layout is there.
prune_tells_layouts_apart() {
	local second third

	make_twins
	second=$(second_table 2) third=$(second_table 3)
	cache --quiet "$OUT/twins/1"
	cache --quiet "$OUT/twins"
	cache --list > "$OUT/cache.out"
	grep -E '^12abcdef +[0-9.]+ KB ' "$OUT/cache.out"
	[ "$(grep -cE '^12abcdef-[0-9a-f]{24} +[0-9.]+ KB ' "$OUT/cache.out")" = 2 ]
	find "$OUT/cache" -type f -exec touch -d yesterday {} +
	prune "$OUT/twins" > "$OUT/cache.out"
	has "$OUT/cache.out" ": 3 tables, 0 removed, 0 left over"
	rm "$OUT/twins/3"
	prune "$OUT/twins" > "$OUT/cache.out"
	has "$OUT/cache.out" "removed $third"
	[ "$(table_files)" = "$second"$'\n'"$FIRST" ]
	# The kernel looks for the second name only beside the first.
	mv "$OUT/twins/1" "$OUT/twin-1"
	prune --dry-run "$OUT/twins" > "$OUT/cache.out"
	is_of "$FIRST" "$OUT/twin-1"
	prune "$OUT/twins" > "$OUT/cache.out"
	has "$OUT/cache.out" "removed $FIRST"
	[ "$(table_files)" = "$FIRST" ]
	is_of "$FIRST" "$OUT/twins/2"
	# A damaged table may be made again for any layout.
	truncate -s 5000 "$FIRST"
	touch -d yesterday "$FIRST"
	prune "$OUT/twins" > "$OUT/cache.out"
	has "$OUT/cache.out" ": 1 tables, 0 removed, "
	prune > "$OUT/cache.out"
	has "$OUT/cache.out" ": 1 tables, 1 removed, "
}

prune_removes_tables_of_earlier_versions() {
	local table suffix

	cache_programs
	cache --quiet "$OUT/programs"
	table=$(table_files | head -n 1)
	for suffix in v2 v3; do
		cp "$table" "${table%.v4}.$suffix"
		printf '\3' | dd bs=1 seek=8 conv=notrunc status=none of="${table%.v4}.$suffix"
	done
	cp "$table" "${table%.v4}.v3.aBc123"
	cp "$table" "${table%.v4}.v5"
	cache --list > "$OUT/cache.out"
	[ "$(grep -c 'refused: an earlier version of sframe made it; --prune' "$OUT/cache.out")" = 2 ]
	find "$OUT/cache" -type f -exec touch -d yesterday {} +
	prune "$OUT/programs" > "$OUT/cache.out"
	has "$OUT/cache.out" ": 7 tables, 2 removed, 1 left over"
	[ "$(table_files | grep -c '\.v4$')" = 5 ]
	[ "$(table_files | grep -v '\.v4$')" = "${table%.v4}.v5" ]
}

# While a writer holds the lock, its unfinished table is not a leftover.
prune_waits_for_writers() {
	local table pid lock

	cache_programs
	cache --quiet "$OUT/programs"
	table=$(table_files | head -n 1)
	cp "$table" "$table.aBc123"
	find "$OUT/cache" -type f -exec touch -d yesterday {} +
	exec {lock}< "${table%/*}/.lock"
	flock $lock
	prune "$OUT/programs" > "$OUT/cache.out" {lock}<&- & pid=$!
	sleep 3
	kill -0 $pid
	mv "$table.aBc123" "$table"
	exec {lock}<&-
	wait $pid
	has "$OUT/cache.out" ": 5 tables, 0 removed, 0 left over"
}

# Anyone may lock a directory that he can read, and keep it locked.
locks_of_others_stop_nobody() {
	local holder table

	cache_programs
	cache --quiet "$OUT/programs"
	table=$(table_files | head -n 1)
	status 66 setpriv --reuid 65534 --clear-groups flock --nonblock "${table%/*}/.lock" true \
		2> "$OUT/cache.err"
	setpriv --reuid 65534 --clear-groups flock "${table%/*}" sleep 60 & holder=$!
	until ! flock --nonblock "${table%/*}" true; do
		sleep 0.1
	done
	rm "$table"
	timeout 30 "$CHECKED" cache --cache-dir "$OUT/cache" "$OUT/programs" > "$OUT/cache.out"
	[ -e "$table" ]
	timeout 60 "$SFRAME" cache --cache-dir "$OUT/cache" --prune "$OUT/programs" \
		> "$OUT/cache.out"
	kill $holder
}

prune_is_for_ones_own() {
	status 1 cache --prune /no/such/file 2> "$OUT/cache.err"
	has "$OUT/cache.err" "sframe: /no/such/file: No such file or directory; nothing is removed"
	status 1 "$CHECKED" cache --cache-dir /no/such --prune
	chown 65534 "$OUT/cache"
	status 1 cache --prune 2> "$OUT/cache.err"
	has "$OUT/cache.err" "it is another user's; only its owner may prune it"
	chown 0 "$OUT/cache"
	chmod 777 "$OUT/cache"
	status 1 cache --prune 2> "$OUT/cache.err"
	has "$OUT/cache.err" "others can write there"
	chmod 755 "$OUT/cache"
}

# A link would lead out of the cache.
prune_follows_no_link() {
	local dir

	cache_programs
	cache --quiet "$OUT/programs"
	rm -rf "$OUT/elsewhere"
	dir=$(dirname "$(table_files | head -n 1)")
	mv "$dir" "$OUT/elsewhere"
	ln -s "$OUT/elsewhere" "$dir"
	find "$OUT/elsewhere" -type f -exec touch -d yesterday {} +
	prune > "$OUT/cache.out"
	[ -n "$(find "$OUT/elsewhere" -name '*.v4')" ]
	rm -rf "$OUT/cache" "$OUT/elsewhere"
}

# process_has_state PID LETTER
process_has_state() {
	local tries

	for ((tries = 0; tries < 6000; tries++)); do
		! grep -q "^State:[[:space:]]*$2" "/proc/$1/status" || return 0
		sleep 0.01
	done
	return 1
}

# As after an upgrade: two processes have a deleted file mapped, and the first of them ends
# after its files were listed.  To be in time, sed makes the tool stop there.
prune_keeps_what_another_process_maps() {
	local dir=$OUT/stopping pids=() parent pruner table

	rm -rf "$OUT/cache" "$dir" "$OUT/first"
	cp -r "$HERE/.." "$dir"
	sed -i -e '/int err = mapped_add_all/a raise(SIGSTOP);' \
		-e '/^#include <errno.h>/a #include <signal.h>' "$dir"/cache/*.c
	make -s -C "$dir" O="$dir/out" "$dir/out/sframe"
	echo '#include <unistd.h>
		int main(void) { return sleep(300) + 3; }' |
		gcc -O2 -Wl,--build-id -o "$OUT/mapped-twice" -x c -
	# Nobody waits for the first one, so that a zombie is left of it.
	# shellcheck disable=SC2016 # the inner shell's
	sh -c '"$1" & echo $! > "$2"; exec sleep 300' x "$OUT/mapped-twice" "$OUT/first" & parent=$!
	until [ -s "$OUT/first" ]; do
		sleep 0.1
	done
	"$OUT/mapped-twice" &
	pids=("$(cat "$OUT/first")" $!)
	until [ "/proc/${pids[0]}/exe" -ef "$OUT/mapped-twice" ] &&
		[ "/proc/${pids[1]}/exe" -ef "$OUT/mapped-twice" ]; do
		sleep 0.1
	done
	cache --quiet "$OUT/mapped-twice"
	table=$(table_files)
	rm "$OUT/mapped-twice"
	touch -d yesterday "$table"
	"$dir/out/sframe" cache --cache-dir "$OUT/cache" --prune > "$OUT/cache.out" & pruner=$!
	process_has_state $pruner T
	kill "${pids[0]}"
	process_has_state "${pids[0]}" Z
	kill -CONT $pruner
	wait $pruner
	kill "${pids[1]}" $parent
	wait "${pids[1]}" $parent || true
	[ -e "$table" ]
	prune > "$OUT/cache.out"
	[ ! -e "$table" ]
}

# A file that the user named may need its table.
prune_without_right_removes_nothing() {
	local tmp

	tmp=$(mktemp -d)
	chmod 755 "$tmp"
	mkdir -m 777 "$tmp/own"
	cp "$SFRAME" "$tmp/sframe"
	cp /usr/bin/xz "$tmp/secret"
	echo 'int main(void) { return 7; }' | gcc -O2 -Wl,--build-id -o "$tmp/mine" -x c -
	as_user "$tmp/sframe" cache --quiet --cache-dir "$tmp/own/cache" "$tmp/mine"
	find "$tmp/own/cache" -type f -exec touch -d yesterday {} +
	rm "$tmp/mine"
	chmod 600 "$tmp/secret"
	status 1 as_user "$tmp/sframe" cache --cache-dir "$tmp/own/cache" --prune "$tmp/secret" \
		> "$OUT/cache.out" 2> "$OUT/cache.err"
	has "$OUT/cache.err" "sframe: $tmp/secret: Permission denied; it may need a table"
	has "$OUT/cache.err" "sframe: cache: 1 files could not be read; nothing is removed"
	[ "$(find "$tmp/own/cache" -path '*/??/*.v4' | wc -l)" = 1 ]
	as_user "$tmp/sframe" cache --cache-dir "$tmp/own/cache" --prune > "$OUT/cache.out"
	has "$OUT/cache.out" ": 1 tables, 1 removed, "
	rm -rf "$tmp"
}
