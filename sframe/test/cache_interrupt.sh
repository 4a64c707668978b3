# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Cases of run.sh: sframe cache beside others, interrupted, and with workers that die.
# shellcheck disable=SC2154 # OUT, HERE, SFRAME, CHECKED, SEEDS: run.sh

# Each table has to be complete as soon as its name appears.
concurrent_fills_agree() {
	local first second table

	cache_programs
	cache "$OUT/programs" /usr/bin/xz /usr/bin/find > "$OUT/fill.1" & first=$!
	cache "$OUT/programs" /usr/bin/xz /usr/bin/find > "$OUT/fill.2" & second=$!
	while kill -0 $first 2> "$OUT/null" || kill -0 $second 2> "$OUT/null"; do
		for table in "$OUT"/cache/??/*.v4; do
			[ ! -e "$table" ] || "$SFRAME" dump "$table" > "$OUT/null"
		done
	done
	wait $first
	wait $second
	[ "$(table_files | grep -vc '\.v4$')" = 0 ]
	[ "$(table_files | wc -l)" = 7 ]
}

# Enough files that a run can be interrupted
MUCH=(/usr/bin /usr/lib/x86_64-linux-gnu)

# interrupt SIGNAL DELAY DIR: fill DIR, and send SIGNAL after DELAY seconds.
interrupt() {
	local fill

	# The signal may come at any point of the run.
	env --default-signal="$1" "$SFRAME" cache --cache-dir "$3" --jobs 2 "${MUCH[@]}" \
		> "$OUT/null" 2>&1 & fill=$!
	sleep "$2"
	kill -"$1" $fill
	status $((128 + $(kill -l "$1"))) wait $fill
	# Wait for its workers, which may still write tables.
	while pgrep -f "cache-dir $3" > "$OUT/null"; do
		sleep 0.1
	done
}

tables_are_whole() {
	local table

	find "$1" -type f ! -name .lock ! -name index.v4 > "$OUT/interrupted"
	[ "$(grep -cv '\.v4$' "$OUT/interrupted")" = 0 ]
	while read -r table; do
		"$SFRAME" dump "$table" > "$OUT/null"
	done < "$OUT/interrupted"
}

interrupted_fill_leaves_whole_tables() {
	local delay dir

	for delay in 0.05 0.1 0.2 0.4; do
		dir=$OUT/interrupted.$delay
		rm -rf "$dir"
		# On a busy machine, the signal may come before sframe has made the directory.
		mkdir "$dir"
		interrupt TERM $delay "$dir"
		tables_are_whole "$dir"
		wc -l "$OUT/interrupted"
		rm -rf "$dir"
	done
}

interrupted_fill_is_resumed() {
	local dir=$OUT/resumed before all

	rm -rf "$dir" "$OUT/whole"
	mkdir "$dir"
	interrupt INT 0.2 "$dir"
	tables_are_whole "$dir"
	before=$(wc -l < "$OUT/interrupted")
	"$SFRAME" cache --cache-dir "$dir" --jobs 2 "${MUCH[@]}" > "$OUT/cache.out"
	"$SFRAME" cache --cache-dir "$OUT/whole" --jobs 2 "${MUCH[@]}" > "$OUT/null"
	all=$(find "$OUT/whole" -path '*/??/*.v4' | wc -l)
	has "$OUT/cache.out" " $((all - before)) written"
	diff -r "$dir" "$OUT/whole"
	rm -rf "$dir" "$OUT/whole"
}

# Files are deleted or replaced between two accesses.  sed puts that into the tool.
changing_files_are_survived() {
	local dir=$OUT/broken-list programs=$OUT/programs swap

	rm -rf "$dir" "$OUT/cache"
	cp -r "$HERE/.." "$dir"
	sed -i '/^	struct object obj;$/a if (strstr(name, "vanish")) unlink(name);' \
		"$dir/cache/cache.c"
	swap="if (strstr(name, \"swap\")) rename(\"$OUT/fifo\", name);"
	sed -i "/^	Elf64_Ehdr ehdr;\$/a $swap" "$dir/cache/list.c"
	make -s -C "$dir" O="$dir/out" CFLAGS=-O0 "$dir/out/sframe"
	cache_programs
	cp "$programs/O2" "$programs/vanish"
	cp "$programs/O2" "$programs/swap"
	rm -f "$OUT/fifo"
	block_writer "$OUT/fifo"
	status 0 "$dir/out/sframe" cache --cache-dir "$OUT/cache" --verbose "$programs" \
		> "$OUT/cache.out" 2> "$OUT/cache.err"
	cat "$OUT/cache.out" "$OUT/cache.err"
	writer_is_blocked "$programs/swap"
	[ ! -s "$OUT/cache.err" ]
	has "$OUT/cache.out" "vanish: it was deleted meanwhile"
	has "$OUT/cache.out" "6 files: 5 written"
	has "$OUT/cache.out" ", 1 gone), 0 failed"
	# A missing file that the user named is a failure.
	cp "$programs/O2" "$programs/vanish"
	status 1 "$dir/out/sframe" cache --cache-dir "$OUT/cache" "$programs/vanish" \
		2> "$OUT/cache.err"
	has "$OUT/cache.err" "vanish: No such file or directory; it gets no table"
}

# No file is known to end a worker, so sed puts the faults into the tool.
crashing_worker_fails_alone() {
	local dir=$OUT/broken-worker

	rm -rf "$dir" "$OUT/cache"
	cp -r "$HERE/.." "$dir"
	cat > "$OUT/faults" <<-'END'
		\|^#include "base/complain.h"|a #include "base/grow.h"
		/^	struct object obj;$/ {
			a if (strstr(name, "crash")) abort();
			a if (strstr(name, "hang")) for (;;) ;
			a if (strstr(name, "eat")) grow(NULL, &(size_t){ 0 }, 0, 1ULL << 32);
		}
	END
	sed -i -f "$OUT/faults" "$dir/cache/cache.c" "$dir/cache/used.c"
	# The same in the process that parses the file.
	sed -e 's|struct object obj;|alarm(seconds);|' -e 's/name,/obj->name,/' \
		-e 's/"crash"/"abort"/; s/"hang"/"spin"/; s/"eat"/"gorge"/' "$OUT/faults" \
		> "$OUT/reader-faults"
	sed -i -f "$OUT/reader-faults" "$dir/cache/reader.c"
	make -s -C "$dir" O="$dir/out" CFLAGS=-O0 "$dir/out/sframe"
	cache_programs
	cp "$OUT/programs/O2" "$OUT/programs/crash"
	cp "$OUT/programs/O2" "$OUT/programs/hang"
	cp "$OUT/programs/O2" "$OUT/programs/eat"
	cp "$OUT/programs/O2" "$OUT/programs/abort"
	cp "$OUT/programs/O2" "$OUT/programs/spin"
	cp "$OUT/programs/O2" "$OUT/programs/gorge"
	status 1 "$dir/out/sframe" cache --cache-dir "$OUT/cache" -j 2 -t 1 "$OUT/programs" \
		> "$OUT/cache.out" 2> "$OUT/cache.err"
	cat "$OUT/cache.err"
	has "$OUT/cache.err" "crash: signal 6 (Aborted) ended the worker"
	has "$OUT/cache.err" "hang: takes too long"
	has "$OUT/cache.err" "eat: the worker ended without a result"
	has "$OUT/cache.err" "abort: signal 6 (Aborted) ended the worker"
	has "$OUT/cache.err" "spin: takes too long"
	has "$OUT/cache.err" "gorge: the worker ended without a result"
	has "$OUT/cache.out" "11 files: 5 written"
	has "$OUT/cache.out" "6 failed"
	# Each of them may need one of the tables.
	rm "$OUT/programs/Os"
	find "$OUT/cache" -type f -exec touch -d yesterday {} +
	status 1 "$dir/out/sframe" cache --cache-dir "$OUT/cache" -t 1 --prune "$OUT/programs" \
		> "$OUT/cache.out" 2> "$OUT/cache.err"
	has "$OUT/cache.err" "crash: Aborted ended the worker; it may need a table"
	has "$OUT/cache.err" "hang: takes too long; allow more time by --timeout; it may need a table"
	has "$OUT/cache.err" "eat: the worker ended without a result; it may need a table"
	has "$OUT/cache.err" "sframe: cache: 3 files could not be read; nothing is removed"
	[ "$(table_files | wc -l)" = 5 ]
}
