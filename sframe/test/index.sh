# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Cases of run.sh: sframe index, and the index that sframe cache keeps.
# shellcheck disable=SC2154 # OUT, HERE, SFRAME and CHECKED: run.sh; FIRST: cache_fill.sh

# index_is_of FILE...: the cache's index has to name the tables of these files and no others.
index_is_of() {
	local keys

	mapfile -t keys < <("$HERE/layout.py" "$@")
	"$HERE/index.py" "$OUT/cache" "${keys[@]}"
}

index_of_cache() {
	"$CHECKED" index "$OUT/cache" "$@"
}

cache_keeps_its_index() {
	local before

	cache_programs
	cache --quiet "$OUT/programs/O2"
	index_is_of "$OUT/programs/O2"
	[ "$(stat -c %a "$OUT/cache/index.v4")" = 644 ]
	cache --quiet "$OUT/programs"
	index_is_of "$OUT"/programs/{O0,O2,Os,drap,Ofixed}
	# An index that is right stays.
	before=$(stat -c '%i %Z' "$OUT/cache/index.v4")
	cache --quiet "$OUT/programs"
	[ "$(stat -c '%i %Z' "$OUT/cache/index.v4")" = "$before" ]
	# What somebody else removed is not in the next index.
	rm "$(table_of "$OUT/programs/Os")"
	cache --quiet "$OUT/programs/O2"
	index_is_of "$OUT"/programs/{O0,O2,drap,Ofixed}
	cache --quiet "$OUT/programs"
	find "$OUT/cache" -type f -exec touch -d yesterday {} +
	rm "$OUT/programs/Os" "$OUT/programs/drap"
	cp "$OUT/cache/index.v4" "$OUT/cache/index.v4.aBc123"
	touch -d yesterday "$OUT/cache/index.v4.aBc123"
	prune --dry-run "$OUT/programs" > "$OUT/cache.out"
	"$HERE/index.py" "$OUT/cache"
	prune "$OUT/programs" > "$OUT/cache.out"
	has "$OUT/cache.out" "2 removed, 1 left over"
	index_is_of "$OUT"/programs/{O0,O2,Ofixed}
	[ ! -e "$OUT/cache/index.v4.aBc123" ]
	[ -z "$(find "$OUT/cache" -maxdepth 1 -name 'index.v4?*')" ]
}

damaged_index_is_made_anew() {
	local fault

	cache_programs
	cache --quiet "$OUT/programs"
	cp "$OUT/cache/index.v4" "$OUT/index.good"
	while read -r fault; do
		(cd "$OUT/cache" && eval "$fault")
		status 1 cmp -s "$OUT/cache/index.v4" "$OUT/index.good" ||
			[ "$(stat -c %a "$OUT/cache/index.v4")" != 644 ]
		status 1 index_of_cache --dry-run 2> "$OUT/cache.err"
		has "$OUT/cache.err" "sframe: $OUT/cache: "
		has "$OUT/cache.err" "; run sframe index without --dry-run"
		cache --quiet "$OUT/programs/O2"
		cmp "$OUT/cache/index.v4" "$OUT/index.good"
		[ "$(stat -c %a "$OUT/cache/index.v4")" = 644 ]
		index_of_cache --dry-run > "$OUT/cache.out"
		has "$OUT/cache.out" ": the index names all 5 tables"
	done <<-'END'
		rm index.v4
		: > index.v4
		truncate -s -1 index.v4
		truncate -s -32 index.v4
		echo >> index.v4
		printf 5 | dd bs=1 seek=8 conv=notrunc status=none of=index.v4
		printf '\377' | dd bs=1 seek=24 conv=notrunc status=none of=index.v4
		printf '\377' | dd bs=1 seek=23 conv=notrunc status=none of=index.v4
		chmod 664 index.v4
		chmod 640 index.v4
		rm index.v4 && ln -s ../index.good index.v4
	END
}

# The second name of a table, and build-ids of several lengths, one the start of another
index_names_each_layout() {
	make_twins
	cache --quiet "$OUT/twins"
	index_is_of "$OUT"/twins/{1,2,3}
	for id in 12abcdef00000000 12abcdef00000001 1000000000000000000000000000000000000001; do
		echo 'int main(void) { return 0; }' |
			gcc -O2 -Wl,--build-id=0x$id -o "$OUT/twins/$id" -x c -
	done
	cache --quiet "$OUT/twins"
	index_is_of "$OUT"/twins/*
	# Twice the same
	cp "$FIRST" "${FIRST%.v4}-$(layout_in "$FIRST").v4"
	cache --quiet "$OUT/twins/1"
	index_is_of "$OUT"/twins/*
}

# Each run reads the directory and replaces the index under a lock.
concurrent_runs_keep_the_index() {
	local file

	cache_programs
	for _ in {1..10}; do
		rm -rf "$OUT/cache"
		for file in "$OUT"/programs/{O0,O2,Os,drap,Ofixed}; do
			TOOL=$SFRAME cache --quiet "$file" &
		done
		wait
		index_is_of "$OUT"/programs/{O0,O2,Os,drap,Ofixed}
	done
}

# Another run may have read the directory already; its index must not replace a newer one.
index_waits_for_writers() {
	local pid lock

	cache_programs
	cache --quiet "$OUT/programs"
	rm "$OUT/cache/index.v4"
	exec {lock}< "$OUT/cache/.lock"
	flock $lock
	index_of_cache {lock}<&- & pid=$!
	process_has_state $pid S
	kill -0 $pid
	[ ! -e "$OUT/cache/index.v4" ]
	exec {lock}<&-
	wait $pid
	"$HERE/index.py" "$OUT/cache"
}

package_has_no_index() {
	cache_programs
	cache --quiet --no-index "$OUT/programs"
	[ "$(table_files | wc -l)" = 5 ]
	[ ! -e "$OUT/cache/index.v4" ]
	index_of_cache > "$OUT/cache.out"
	[ "$(cat "$OUT/cache.out")" = "$OUT/cache: 5 tables" ]
	index_is_of "$OUT"/programs/{O0,O2,Os,drap,Ofixed}
	[ -z "$(index_of_cache --quiet 2>&1)" ]
}

# What has a table's name and is none is told, and the others get into the index.
index_tells_what_it_leaves_out() {
	local table other

	cache_programs
	cache --quiet "$OUT/programs"
	table=$(table_files | head -n 1) other=$(table_files | tail -n 1)
	echo mine > "$OUT/cache/README"
	echo mine > "${table%/*}/notes"
	cp "$table" "${table%/*}/abcdef.v4"
	cp "$table" "${table%.v4}-000000000000000000000000.v4"
	: > "$other"
	ln -s "$table" "${table%/*}/0123.v4"
	mkfifo "${table%/*}/4567.v4"
	mkdir "${table%/*}/89ab.v4"
	status 1 index_of_cache > "$OUT/cache.out" 2> "$OUT/cache.err"
	has "$OUT/cache.err" "/abcdef.v4: it was made for another build-id; it is not in the index: remove"
	has "$OUT/cache.err" "000.v4: it was made for another layout; it is not in the index: "
	has "$OUT/cache.err" "sframe: $other: not a table file; it is not in the index: "
	has "$OUT/cache.err" "/0123.v4: it is a link; it is not in the index: "
	has "$OUT/cache.err" "/4567.v4: not a table file; "
	has "$OUT/cache.err" "/89ab.v4: not a table file; "
	[ "$(wc -l < "$OUT/cache.err")" = 6 ]
	has "$OUT/cache.out" "$OUT/cache: 4 tables"
	rm -r "${table%/*}"/{abcdef,0123,4567,89ab}.v4 "${table%.v4}-000000000000000000000000.v4" \
		"$other"
	index_of_cache
	"$HERE/index.py" "$OUT/cache"
}

index_errors_are_told() {
	local empty=$OUT/no-tables

	status 1 "$CHECKED" index /no/such 2> "$OUT/cache.err"
	has "$OUT/cache.err" "sframe: /no/such: no such directory; name one that holds tables"
	status 1 "$CHECKED" index "$HERE/index.sh" 2> "$OUT/cache.err"
	has "$OUT/cache.err" "index.sh: no such directory; name one that holds tables"
	# The others get their index all the same.
	rm -rf "$empty"
	mkdir "$empty"
	status 1 "$CHECKED" index /no/such "$empty" 2> "$OUT/cache.err" > "$OUT/cache.out"
	has "$OUT/cache.out" "$empty: 0 tables"
	"$HERE/index.py" "$empty"
	[ "$(stat -c %s "$empty/index.v4")" = 24 ]
	status 2 "$CHECKED" index 2> "$OUT/cache.err"
	has "$OUT/cache.err" "sframe: index: no directory; name one that holds tables"
	status 2 "$CHECKED" index --nonsense "$empty"
	"$CHECKED" index --help | grep -F 'usage: sframe index'
}

index_without_room_or_right_is_told() {
	local tmp

	cache_programs
	cache --quiet --no-index "$OUT/programs"
	status 1 with_tmpfs "$OUT/cache" ro,mode=755 "$CHECKED" index "$OUT/cache" 2> "$OUT/cache.err"
	has "$OUT/cache.err" "the index cannot be written; mount the file system writable"
	# shellcheck disable=SC2016 # the inner shell's
	status 1 with_tmpfs "$OUT/cache" size=4k,mode=755 sh -c '
		head -c 4096 /dev/zero > "$1/filler"; "$2" index "$1"' x "$OUT/cache" "$CHECKED" \
		2> "$OUT/cache.err"
	has "$OUT/cache.err" "sframe: $OUT/cache: no room for the index; free space there"
	tmp=$(mktemp -d)
	chmod 755 "$tmp"
	cp "$SFRAME" "$tmp/sframe"
	cp -r "$OUT/cache" "$tmp/cache"
	status 1 as_user "$tmp/sframe" index "$tmp/cache" 2> "$OUT/cache.err"
	has "$OUT/cache.err" "; run it as the owner"
	# Tables that a run could not see would be lost.
	"$SFRAME" index --quiet "$tmp/cache"
	chmod 755 "$tmp/cache"
	chown -R 65534 "$tmp/cache"
	chmod 000 "$(find "$tmp/cache" -mindepth 1 -maxdepth 1 -type d | head -n 1)"
	status 1 as_user "$tmp/sframe" index "$tmp/cache" 2> "$OUT/cache.err"
	has "$OUT/cache.err" "or to read a table; run it as the owner"
	chmod 755 "$tmp/cache"/??
	"$HERE/index.py" "$tmp/cache"
	rm -rf "$tmp"
}

# A copy of the tool has a smaller limit, because nobody has so many programs.
index_has_a_limit() {
	local dir=$OUT/small-index

	rm -rf "$dir"
	cp -r "$HERE/.." "$dir"
	sed -i 's/index->count > SFRAME_INDEX_MAX/index->count > 4/' "$dir/cache/index.c"
	make -s -C "$dir" O="$dir/out" CFLAGS=-O0 "$dir/out/sframe"
	cache_programs
	cache --quiet --no-index "$OUT/programs"
	status 1 "$dir/out/sframe" index "$OUT/cache" 2> "$OUT/cache.err"
	has "$OUT/cache.err" "sframe: $OUT/cache: it has more than 262144 tables; divide them"
	status 1 "$dir/out/sframe" cache --quiet --cache-dir "$OUT/cache" "$OUT/programs" \
		2> "$OUT/cache.err"
	has "$OUT/cache.err" "it has more than 262144 tables; divide them"
	[ ! -e "$OUT/cache/index.v4" ]
	rm "$(table_files | head -n 1)"
	"$dir/out/sframe" index "$OUT/cache" > "$OUT/cache.out"
	has "$OUT/cache.out" ": 4 tables"
}

index_cases() {
	try index-of-cache cache_keeps_its_index
	try index-damaged damaged_index_is_made_anew
	try index-layouts index_names_each_layout
	try index-concurrent concurrent_runs_keep_the_index
	try index-lock index_waits_for_writers
	try index-package package_has_no_index
	try index-left-out index_tells_what_it_leaves_out
	try index-errors index_errors_are_told
	try_as_root index-no-room index_without_room_or_right_is_told
	try index-limit index_has_a_limit
}
