# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
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
	[ "$(table_files | grep -cvE '/[0-9a-f]{2}/[0-9a-f]{38}\.v3$')" = 0 ]
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
	# Of an earlier version.
	printf '\1' | dd bs=1 seek=8 conv=notrunc status=none of="$table"
	cache "$OUT/programs" > "$OUT/cache.out"
	has "$OUT/cache.out" "1 written"
	cmp "$table" "$OUT/good"
}

# libsframe-audit.so will not take them.
table_that_others_can_write_is_made_anew() {
	local table

	table=$(table_files | head -n 1)
	chmod 664 "$table"
	cache "$OUT/programs" > "$OUT/cache.out"
	has "$OUT/cache.out" "1 written"
	[ "$(stat -c %a "$table")" = 644 ]
	[ "$(id -u)" = 0 ] || return 0
	chown 65534 "$table"
	cache "$OUT/programs" > "$OUT/cache.out"
	has "$OUT/cache.out" "1 written"
	[ "$(stat -c %u "$table")" = 0 ]
}

formats_lie_side_by_side() {
	cache --format v2 "$OUT/programs/O2" > "$OUT/cache.out"
	has "$OUT/cache.out" "1 written"
	[ "$(table_files | grep -c '\.v2$')" = 1 ]
	[ "$(table_files | grep -c '\.v3$')" = 5 ]
}

# Each name that ever appears has to be that of a whole table.
concurrent_fills_agree() {
	local first second table

	cache_programs
	cache "$OUT/programs" /usr/bin/xz /usr/bin/find > "$OUT/fill.1" & first=$!
	cache "$OUT/programs" /usr/bin/xz /usr/bin/find > "$OUT/fill.2" & second=$!
	while kill -0 $first 2> "$OUT/null" || kill -0 $second 2> "$OUT/null"; do
		for table in "$OUT"/cache/??/*.v3; do
			[ ! -e "$table" ] || "$SFRAME" dump "$table" > "$OUT/null"
		done
	done
	wait $first
	wait $second
	[ "$(table_files | grep -vc '\.v3$')" = 0 ]
	[ "$(table_files | wc -l)" = 7 ]
}

# What takes long enough to be interrupted.
MUCH=(/usr/bin /usr/lib/x86_64-linux-gnu)

# interrupt SIGNAL DELAY DIR: fill DIR, and send the signal after a while.
interrupt() {
	local fill

	# Wherever it is by then is as good as elsewhere.
	env --default-signal="$1" "$SFRAME" cache --cache-dir "$3" --jobs 2 "${MUCH[@]}" \
		> "$OUT/null" 2>&1 & fill=$!
	sleep "$2"
	kill -"$1" $fill
	status $((128 + $(kill -l "$1"))) wait $fill
	# Its workers may be about to write a table each.
	while pgrep -f "cache-dir $3" > "$OUT/null"; do
		sleep 0.1
	done
}

tables_are_whole() {
	local table

	find "$1" -type f > "$OUT/interrupted"
	[ "$(grep -cv '\.v3$' "$OUT/interrupted")" = 0 ]
	while read -r table; do
		"$SFRAME" dump "$table" > "$OUT/null"
	done < "$OUT/interrupted"
}

interrupted_fill_leaves_whole_tables() {
	local delay dir

	for delay in 0.05 0.1 0.2 0.4; do
		dir=$OUT/interrupted.$delay
		rm -rf "$dir"
		# On a busy machine the signal may come before it has made it.
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
	all=$(find "$OUT/whole" -type f | wc -l)
	has "$OUT/cache.out" " $((all - before)) written"
	diff -r "$dir" "$OUT/whole"
	rm -rf "$dir" "$OUT/whole"
}

# object FILE [FLAG...]: a library with a build-id of its own
object() {
	local file=$1

	shift
	mkdir -p "${file%/*}"
	NUMBER=$((NUMBER + 1))
	echo "int f(void) { return $NUMBER; }" |
		gcc -O2 -shared -fPIC -Wl,--build-id -o "$file" "$@" -x c -
}

# Whoever comes second finds the table there, at the same moment too.
copies_are_written_once() {
	local round copy

	mkdir -p "$OUT/copies"
	for ((copy = 0; copy < 16; copy++)); do
		cp /usr/lib/x86_64-linux-gnu/libc.so.6 "$OUT/copies/$copy"
	done
	for ((round = 0; round < 3; round++)); do
		rm -rf "$OUT/cache"
		cache --jobs 8 "$OUT/copies" > "$OUT/cache.out"
		has "$OUT/cache.out" "16 files: 1 written"
		has "$OUT/cache.out" ", 15 there already"
	done
}

# A system as --all has to see it: a file of each kind in each kind of place.
make_system() {
	local root=$1

	NUMBER=0
	rm -rf "$root"
	object "$root/usr/bin/a"
	object "$root/usr/lib/plugins/deep/b.so"
	object "$root/usr/share/editor/c"
	object "$root/opt/app/d"
	object "$root/lib64/e.so"
	object "$root/srv/libs/below/f.so"
	object "$root/usr/local/sbin/g"
	object "$root/usr/lib/debugged" -g -nostdlib -fno-asynchronous-unwind-tables
	mkdir -p "$root/etc/ld.so.conf.d"
	echo 'include ld.so.conf.d/*.conf # all of them' > "$root/etc/ld.so.conf"
	printf '%s\n' '# places' /srv/libs=libc6 'include ../ld.so.conf' \
		> "$root/etc/ld.so.conf.d/x.conf"
	# More names and copies of what is there already.
	ln -s usr/lib "$root/lib"
	ln -s ../share/editor/c "$root/usr/bin/c"
	ln -s . "$root/usr/lib/loop"
	ln "$root/usr/bin/a" "$root/usr/bin/a-too"
	cp "$root/usr/bin/a" "$root/opt/app/a-copy"
	# What gets no table.
	object "$root/usr/lib/no-id.so" -Wl,--build-id=none
	object "$root/home/u/h"
	cp "$root/usr/bin/a" "$root/usr/lib/other-machine.so"
	printf '\267' | dd bs=1 seek=18 conv=notrunc status=none of="$root/usr/lib/other-machine.so"
	ln -s /usr/bin/xz "$root/usr/bin/leads-outside"
	mkdir -p "$root/usr/lib/debug"
	objcopy --only-keep-debug "$root/usr/lib/debugged" "$root/usr/lib/debug/debugged"
	echo no program > "$root/usr/bin/script"
	mkfifo "$root/usr/lib/fifo"
}

all_is_the_whole_system() {
	local root=$OUT/system

	make_system "$root"
	rm -rf "$OUT/cache"
	cache --all --root "$root" --verbose > "$OUT/cache.out"
	cat "$OUT/cache.out"
	[ "$(table_files | wc -l)" = 8 ]
	has "$OUT/cache.out" ": 11 files: 8 written"
	has "$OUT/cache.out" " 1 there already, 2 skipped (1 without build-id"
	has "$OUT/cache.out" "no-id.so: no build-id, by which its table would be found"
	has "$OUT/cache.out" "debug/debugged: not an x86-64 program or library"
	has "$OUT/cache.out" " 0 failed; "
	grep -E '[0-9.]+ MB read in [0-9.]+ s, [0-9.]+ MB/s$' "$OUT/cache.out"
	# Where the root is the system's own, and the directories are those of PATH.
	rm -rf "$OUT/cache"
	PATH=$root/home/u:$PATH cache --all > "$OUT/cache.out"
	cache --verbose "$root/home/u/h" /usr/bin/xz > "$OUT/cache.out"
	has "$OUT/cache.out" "2 files: 0 written (0.0 MB), 2 there already"
	status 2 cache --root "$root" "$root"
	status 1 cache --all --root /no/such/directory
}

check_all_takes_the_same_files() {
	"$CHECKED" check --all --root "$OUT/system" --summary > "$OUT/all.check"
	[ "$(grep -c ': v2 functions' "$OUT/all.check")" = 11 ]
	has "$OUT/all.check" "total: 11 files checked, 0 skipped, 0 failed"
	status 2 "$CHECKED" check --root "$OUT/system" "$OUT/O2"
	status 1 "$CHECKED" check --all --root /no/such/directory
}

files_of_others_are_not_for_all() {
	make_system "$OUT/system"
	rm -rf "$OUT/cache"
	chown 65534 "$OUT/system/opt/app/d"
	chmod 775 "$OUT/system/lib64/e.so"
	cache --all --root "$OUT/system" > "$OUT/cache.out"
	has "$OUT/cache.out" "6 written"
	has "$OUT/cache.out" "2 that others may change"
	# Whoever names a directory has not looked at each file in it.
	cache "$OUT/system/opt" > "$OUT/cache.out"
	has "$OUT/cache.out" " 0 written"
	has "$OUT/cache.out" "1 that others may change"
	cache "$OUT/system/opt" "$OUT/system/opt/app/d" > "$OUT/cache.out"
	has "$OUT/cache.out" " 1 written"
	lacks "$OUT/cache.out" "others may change"
}

# with_nosuid DIR COMMAND...: DIR is mounted so for the command.
with_nosuid() {
	# shellcheck disable=SC2016 # the inner shell's
	unshare -m sh -ec 'mount --bind "$1" "$1"; mount -o remount,bind,nosuid "$1"
		shift; exec "$@"' x "$@"
}

files_of_media_are_not_for_all() {
	local system=$OUT/system

	make_system "$system"
	rm -rf "$OUT/cache"
	with_nosuid "$system" "$CHECKED" cache --cache-dir "$OUT/cache" --all --root "$system" \
		> "$OUT/cache.out"
	has "$OUT/cache.out" ": 11 files: 0 written"
	has "$OUT/cache.out" "11 that others may change"
	with_nosuid "$system" "$CHECKED" cache --cache-dir "$OUT/cache" "$system/opt/app/d" \
		> "$OUT/cache.out"
	has "$OUT/cache.out" "1 files: 1 written"
}

# The cache's file for a program.
table_of() {
	readelf -n "$1" | sed -nE "s|.*Build ID: (..)(.*)|$OUT/cache/\1/\2.v3|p"
}

# In a mount namespace of their own users may make root any file's owner.
files_of_containers_are_not_for_all() {
	local dir=$OUT/container program=$OUT/container-program pid tries top name=''

	rm -rf "$dir" "$OUT/cache"
	mkdir "$dir"
	echo '#include <unistd.h>
		int main(int argc, char **argv) { return argc + (argv == 0) + pause(); }' |
		gcc -O2 -static -Wl,--build-id -o "$program" -x c -
	# shellcheck disable=SC2016 # the inner shell's
	unshare -m sh -ec 'mount -t tmpfs none "$1"; cp "$2" "$1/program"
		exec chroot "$1" /program' x "$dir" "$program" & pid=$!
	for ((tries = 0; tries < 500; tries++)); do
		name=$(readlink "/proc/$pid/exe")
		[[ "$name" != */container/program ]] || break
		sleep 0.01
	done
	# Where the process's maps say that it is, whatever root has a part in that.
	top=/proc/$pid/root
	mkdir -p "$top${name%/*}"
	ln "$top/program" "$top$name"
	cache --running > "$OUT/cache.out"
	cat "$OUT/cache.out"
	kill $pid
	wait $pid || true
	[ "$tries" -lt 500 ]
	[ ! -e "$(table_of "$program")" ]
	# Here it is in the caller's.
	"$program" & pid=$!
	cache --running > "$OUT/cache.out"
	kill $pid
	wait $pid || true
	[ -e "$(table_of "$program")" ]
}

without_proc() {
	# shellcheck disable=SC2016 # the inner shell's
	unshare -m sh -ec 'mount -t tmpfs none /proc; exec "$@"' x "$@"
}

missing_proc_is_told() {
	status 1 without_proc "$SFRAME" cache --cache-dir "$OUT/cache" --running \
		> "$OUT/cache.out" 2> "$OUT/cache.err"
	has "$OUT/cache.err" "sframe: /proc: it shows no process; mount it"
	has "$OUT/cache.out" "1 failed"
	status 1 without_proc "$SFRAME" cache --cache-dir "$OUT/cache" "$OUT/programs" \
		> "$OUT/cache.out" 2> "$OUT/cache.err"
	has "$OUT/cache.err" "it can be opened only where /proc is mounted; it is passed over"
}

# Files come and go, and change what they are, between one look and the next.
changing_files_are_survived() {
	local dir=$OUT/broken-list programs=$OUT/programs swap

	rm -rf "$dir" "$OUT/cache"
	cp -r "$HERE/.." "$dir"
	sed -i '/^	struct object obj;$/a if (strstr(name, "vanish")) unlink(name);' \
		"$dir/cache.c"
	swap="if (strstr(name, \"swap\")) rename(\"$OUT/fifo\", name);"
	sed -i "/^	Elf64_Ehdr ehdr;\$/a $swap" "$dir/cache_list.c"
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
	has "$OUT/cache.out" "vanish: it is gone"
	has "$OUT/cache.out" "6 files: 5 written"
	has "$OUT/cache.out" ", 1 gone), 0 failed"
	# One that was named is missed.
	cp "$programs/O2" "$programs/vanish"
	status 1 "$dir/out/sframe" cache --cache-dir "$OUT/cache" "$programs/vanish" \
		2> "$OUT/cache.err"
	has "$OUT/cache.err" "vanish: No such file or directory; it gets no table"
}

# What ends a worker is put into the tool, since no file is known that would do.
crashing_worker_fails_alone() {
	local dir=$OUT/broken-worker

	rm -rf "$dir" "$OUT/cache"
	cp -r "$HERE/.." "$dir"
	cat > "$OUT/faults" <<-'END'
		/^	struct object obj;$/ {
			a if (strstr(name, "crash")) abort();
			a if (strstr(name, "hang")) for (;;) ;
			a if (strstr(name, "eat")) grow(NULL, &(size_t){ 0 }, 0, 1ULL << 32);
		}
	END
	sed -i -f "$OUT/faults" "$dir/cache.c"
	make -s -C "$dir" O="$dir/out" CFLAGS=-O0 "$dir/out/sframe"
	cache_programs
	cp "$OUT/programs/O2" "$OUT/programs/crash"
	cp "$OUT/programs/O2" "$OUT/programs/hang"
	cp "$OUT/programs/O2" "$OUT/programs/eat"
	status 1 "$dir/out/sframe" cache --cache-dir "$OUT/cache" -j 2 -t 1 "$OUT/programs" \
		> "$OUT/cache.out" 2> "$OUT/cache.err"
	cat "$OUT/cache.err"
	has "$OUT/cache.err" "crash: the worker was ended by signal 6"
	has "$OUT/cache.err" "hang: takes too long"
	has "$OUT/cache.err" "eat: the worker ended without a result"
	has "$OUT/cache.out" "8 files: 5 written"
	has "$OUT/cache.out" "3 failed"
}

unreadable_is_told_and_passed_over() {
	local tmp

	tmp=$(mktemp -d)
	chmod 755 "$tmp"
	cp "$SFRAME" "$tmp/sframe"
	mkdir "$tmp/programs" "$tmp/programs/closed"
	cp /usr/bin/xz "$tmp/programs/xz"
	cp /usr/bin/xz "$tmp/programs/secret"
	chmod 700 "$tmp/programs/secret" "$tmp/programs/closed"
	mkdir -m 777 "$tmp/cache"
	# A user has no right to read everything: no failure.
	as_user "$tmp/sframe" cache --cache-dir "$tmp/cache" "$tmp/programs" \
		> "$OUT/cache.out" 2> "$OUT/cache.err"
	has "$OUT/cache.out" "1 files: 1 written"
	has "$OUT/cache.out" "2 not readable, 0 failed"
	has "$OUT/cache.err" "programs/secret: Permission denied; it is passed over"
	has "$OUT/cache.err" "programs/closed: Permission denied; it is passed over"
	rm -rf "$tmp"
}

progress_is_for_terminals() {
	cache_programs
	cache "$OUT/programs" > "$OUT/null" 2> "$OUT/cache.err"
	[ ! -s "$OUT/cache.err" ]
	cache --progress "$OUT/programs" > "$OUT/null" 2> "$OUT/cache.err"
	has "$OUT/cache.err" "sframe: 5 of 5 files, 0 written"
	cache --progress --quiet "$OUT/programs" > "$OUT/null" 2> "$OUT/cache.err"
	[ ! -s "$OUT/cache.err" ]
	command -v script || return 0
	script -qec "'$CHECKED' cache --cache-dir '$OUT/cache' '$OUT/programs' > '$OUT/null'" \
		"$OUT/null" < /dev/null > "$OUT/cache.err"
	has "$OUT/cache.err" $'\r5 of 5 files, 0 written\r'
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
		status 1 "$CHECKED" cache --cache-dir "$OUT/open" "$OUT/programs" \
			2> "$OUT/cache.err"
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
	status 1 as_user env -u HOME -u XDG_CACHE_HOME "$tmp/sframe" cache /usr/bin/xz \
		2> "$OUT/cache.err"
	has "$OUT/cache.err" "no XDG_CACHE_HOME and no HOME is set"
	as_user env -u XDG_CACHE_HOME HOME="$tmp/home" "$tmp/sframe" cache /usr/bin/xz
	[ "$(find "$tmp/home/.cache/sframe" -name '*.v3' | wc -l)" = 1 ]
	as_user env XDG_CACHE_HOME="$tmp/xdg" HOME="$tmp/home" "$tmp/sframe" cache /usr/bin/xz
	[ "$(find "$tmp/xdg/sframe" -name '*.v3' | wc -l)" = 1 ]
	as_user env HOME="$tmp/home" "$tmp/sframe" cache --running > "$OUT/cache.out"
	status 1 as_user env XDG_CACHE_HOME="$tmp/none" "$tmp/sframe" cache /usr/bin/xz \
		2> "$OUT/cache.err"
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
	try audit-program compile "$HERE/audit_program.c" "$OUT/audit_program"
	try cache-second-fill second_fill_writes_nothing
	try cache-damaged-table damaged_table_is_made_anew
	try cache-table-of-others table_that_others_can_write_is_made_anew
	try cache-formats formats_lie_side_by_side
	try cache-concurrent concurrent_fills_agree
	try cache-interrupted interrupted_fill_leaves_whole_tables
	try cache-resumed interrupted_fill_is_resumed
	try cache-copies copies_are_written_once
	try cache-all all_is_the_whole_system
	try check-all check_all_takes_the_same_files
	try_as_root cache-files-of-others files_of_others_are_not_for_all
	try_as_root cache-files-of-media files_of_media_are_not_for_all
	try_as_root cache-files-of-containers files_of_containers_are_not_for_all
	try_as_root cache-no-proc missing_proc_is_told
	try cache-changing-files changing_files_are_survived
	try cache-worker crashing_worker_fails_alone
	try_as_root cache-unreadable unreadable_is_told_and_passed_over
	try cache-progress progress_is_for_terminals
	try cache-hostile-file hostile_file_fails_alone
	try cache-damaged-programs damaged_programs_are_survived
	try cache-no-build-id no_build_id_is_skipped
	try cache-unusable-directory unusable_directories_are_told
	try cache-users users_have_caches_of_their_own
	try cache-running running_programs_get_tables
}
