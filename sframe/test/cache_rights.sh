# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Cases of run.sh: sframe cache and files that others own or may not read.
# shellcheck disable=SC2154 # OUT, HERE, SFRAME, CHECKED, SEEDS: run.sh

files_of_others_are_not_for_all() {
	make_system "$OUT/system"
	rm -rf "$OUT/cache"
	chown 65534 "$OUT/system/opt/app/d"
	chmod 775 "$OUT/system/lib64/e.so"
	cache --all --root "$OUT/system" > "$OUT/cache.out"
	has "$OUT/cache.out" "7 written"
	has "$OUT/cache.out" "2 that others may change"
	# The user who names a directory may not know all files in it.
	cache "$OUT/system/opt" > "$OUT/cache.out"
	has "$OUT/cache.out" " 0 written"
	has "$OUT/cache.out" "1 that others may change"
	cache "$OUT/system/opt" "$OUT/system/opt/app/d" > "$OUT/cache.out"
	has "$OUT/cache.out" " 1 written"
	lacks "$OUT/cache.out" "others may change"
}

# with_nosuid DIR COMMAND...: run COMMAND with DIR mounted nosuid.
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

# table_of PROGRAM: print the name of its table in the cache.
table_of() {
	readelf -n "$1" | sed -nE "s|.*Build ID: (..)(.*)|$OUT/cache/\1/\2.v4|p"
}

# is_table_of FILE: the cache's table has to be that of FILE.
is_table_of() {
	"$SFRAME" gen --quiet --format v3 -o "$OUT/generated" "$1"
	# The files differ in a flag.
	cmp -i 4096 "$(table_of "$1")" "$OUT/generated"
}

# A file can claim to have any build-id, so a user's or a container's could be seen first.
forged_table_gives_way_to_the_systems() {
	local system real=/usr/bin/xz forged=$OUT/forged container=$OUT/forged-root before

	python3 "$HERE/forge.py" $real "$forged"
	chown 65534 "$forged"
	rm -rf "$container"
	mkdir -p "$container/usr/bin"
	cp "$forged" "$container/usr/bin/xz"
	for system in "$forged" "$container" "--all --root $container"; do
		rm -rf "$OUT/cache"
		# shellcheck disable=SC2086 # words
		cache $system > "$OUT/cache.out"
		has "$OUT/cache.out" " 1 written"
		is_table_of "$forged"
		status 1 is_table_of $real
		cache $real > "$OUT/cache.out"
		has "$OUT/cache.out" " 1 written"
		is_table_of $real
		# The system's table stays.
		before=$(stat -c '%i %Z' "$(table_of $real)")
		# shellcheck disable=SC2086
		status 1 cache $system > "$OUT/cache.out" 2> "$OUT/cache.err"
		has "$OUT/cache.out" " 0 written"
		has "$OUT/cache.err" "is that of a file of the system, which stays; if the system has no"
		has "$OUT/cache.err" "remove $(table_of $real) first; it gets no table"
		# shellcheck disable=SC2086
		status 1 cache --dry-run $system 2> "$OUT/cache.err"
		[ "$(stat -c '%i %Z' "$(table_of $real)")" = "$before" ]
		cache $real > "$OUT/cache.out"
		has "$OUT/cache.out" " 0 written (0.0 MB), 1 there already"
	done
}

# Of two equal files, .debug_frame may differ; its hash is not in the table.
table_of_a_copy_is_made_anew_for_the_system() {
	rm -rf "$OUT/cache"
	cp /usr/bin/xz "$OUT/copy"
	cache "$OUT/copy" > "$OUT/cache.out"
	has "$OUT/cache.out" " 1 written"
	cache "$OUT/copy" > "$OUT/cache.out"
	has "$OUT/cache.out" " 1 there already"
	cache /usr/bin/xz > "$OUT/cache.out"
	has "$OUT/cache.out" " 1 written"
	cache "$OUT/copy" /usr/bin/xz > "$OUT/cache.out"
	has "$OUT/cache.out" " 2 there already"
}

# In a mount namespace of their own, users can make any file seem to be root's.
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
	# Link the program to the name that the process's maps show.
	top=/proc/$pid/root
	mkdir -p "$top${name%/*}"
	ln "$top/program" "$top$name"
	cache --running > "$OUT/cache.out"
	cat "$OUT/cache.out"
	kill $pid
	wait $pid || true
	[ "$tries" -lt 500 ]
	[ ! -e "$(table_of "$program")" ]
	# In the caller's mount namespace, it gets a table.
	"$program" & pid=$!
	for ((tries = 0; tries < 500; tries++)); do
		[ "$(readlink "/proc/$pid/exe")" != "$(realpath "$program")" ] || break
		sleep 0.01
	done
	cache --running > "$OUT/cache.out"
	kill $pid
	wait $pid || true
	[ -e "$(table_of "$program")" ]
}

# The link /proc/PID/root has a name that means another directory to the caller, or none.
all_reads_the_root_of_a_process() {
	local dir=$OUT/other-root program=$OUT/container-program pid tries root
	# shellcheck disable=SC2034 # object()
	local NUMBER=0

	rm -rf "$OUT/cache" "$dir"
	object "$dir/usr/bin/of-the-caller"
	gcc -O2 -Wall -static -Wl,--build-id -o "$program" "$HERE/spin.c"
	# shellcheck disable=SC2016 # the inner shell's
	unshare -m sh -ec 'mount -t tmpfs none "$1"; cd "$1"
		mkdir -p usr/bin usr/lib etc srv/libs
		cp "$2" usr/bin/program
		cp "$2" srv/libs/program
		ln -s ../bin/program usr/lib/inside
		ln -s /usr/bin/xz usr/lib/outside
		ln -s ../../../../../../../../../../../usr/bin/xz usr/lib/above
		ln -s usr/lib lib
		ln -s /usr/bin opt
		echo /srv/libs > etc/ld.so.conf
		exec chroot . /usr/bin/program 300' x "$dir" "$program" & pid=$!
	for ((tries = 0; tries < 500; tries++)); do
		[[ "$(readlink "/proc/$pid/exe")" != */usr/bin/program ]] || break
		sleep 0.01
	done
	root=/proc/$pid/root
	cache --dry-run --all --root "$root/" > "$OUT/dry.out" 2>&1 || true
	cache --all --root "$root" > "$OUT/cache.out" 2>&1 || true
	status 1 cache --all --root "/proc/$pid/exe" 2> "$OUT/cache.err"
	kill $pid
	wait $pid || true
	cat "$OUT/dry.out"
	has "$OUT/dry.out" "would make the table of $root/srv/libs/program"
	has "$OUT/dry.out" ": 2 files: 2 would be written"
	has "$OUT/cache.out" ": 2 files: 1 written"
	has "$OUT/cache.err" "Not a directory; --root takes a directory"
	[ -e "$(table_of "$program")" ]
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
	# For a user, a file without the right to read it is not a failure.
	as_user "$tmp/sframe" cache --cache-dir "$tmp/cache" "$tmp/programs" \
		> "$OUT/cache.out" 2> "$OUT/cache.err"
	has "$OUT/cache.out" "1 files: 1 written"
	has "$OUT/cache.out" "2 not readable, 0 failed"
	has "$OUT/cache.err" "programs/secret: Permission denied; it is passed over"
	has "$OUT/cache.err" "programs/closed: Permission denied; it is passed over"
	rm -rf "$tmp"
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

# as_user COMMAND...: run COMMAND without root's rights.
as_user() {
	if [ "$(id -u)" = 0 ]; then
		setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
	else
		"$@"
	fi
}

# Use a directory that the user can reach; OUT may not be one.
users_name_a_directory() {
	local tmp

	tmp=$(mktemp -d)
	chmod 755 "$tmp"
	mkdir -m 777 "$tmp/own"
	cp "$SFRAME" "$tmp/sframe"
	status 1 as_user "$tmp/sframe" cache /usr/bin/xz 2> "$OUT/cache.err"
	has "$OUT/cache.err" \
		"/var/cache/sframe: Permission denied; name another directory by --cache-dir"
	as_user "$tmp/sframe" cache --cache-dir "$tmp/own/cache" /usr/bin/xz
	[ "$(find "$tmp/own/cache" -path '*/??/*.v4' | wc -l)" = 1 ]
	as_user "$tmp/sframe" cache --cache-dir "$tmp/own/cache" --running > "$OUT/cache.out"
	rm -rf "$tmp"
}

# Build a library that does what ATTEMPT says when the tool begins to parse a file, as if a
# hostile file had taken the process over.
build_attempts() {
	gcc -O2 -Wall -shared -fPIC -o "$OUT/attempts.so" "$HERE/attempts.c"
}

# attempt WHAT COMMAND...: run COMMAND so, with the tool without sanitizers.
attempt() {
	local what=$1

	shift
	env ATTEMPT="$what" LD_PRELOAD="$OUT/attempts.so" "$@"
}

# Whether the machine's kernel has the system calls of i386, and does not end who makes one.
has_calls_of_i386() {
	# shellcheck disable=SC2016 # the assembler's $
	echo 'int main(void) { asm volatile("int $0x80" :: "a" (20) : "memory"); }' |
		gcc -x c -o "$OUT/i386" - && "$OUT/i386" 2> "$OUT/null"
	[ $? != 139 ]
}

reader_that_attempts_more_is_killed() {
	local what table attempts=(open exec kill signal-owner socket stat x32)

	build_attempts
	cache_programs
	! has_calls_of_i386 || attempts+=(i386)
	echo "attempts: ${attempts[*]}"
	for what in "${attempts[@]}"; do
		rm -rf "$OUT/cache"
		status 1 attempt "$what" timeout 60 "$SFRAME" cache --cache-dir "$OUT/cache" \
			"$OUT/programs" > "$OUT/cache.out" 2> "$OUT/cache.err"
		has "$OUT/cache.err" "programs/Os: its reader was killed: it made a system call"
		has "$OUT/cache.out" "5 failed"
	done
	cache --quiet "$OUT/programs"
	table=$(table_files | head -n 1)
	find "$OUT/cache" -type f -exec touch -d yesterday {} +
	rm "$OUT/programs/Os"
	status 1 attempt open "$SFRAME" cache --cache-dir "$OUT/cache" --prune "$OUT/programs" \
		> "$OUT/cache.out" 2> "$OUT/cache.err"
	has "$OUT/cache.err" "programs/drap: its reader was killed: it made a system call"
	has "$OUT/cache.err" "nothing is removed"
	[ -e "$table" ]
}

# What a reader says may be false.
false_finding_fails_alone() {
	build_attempts
	cache_programs
	status 1 attempt lie timeout 60 "$SFRAME" cache --cache-dir "$OUT/cache" "$OUT/programs" \
		> "$OUT/cache.out" 2> "$OUT/cache.err"
	has "$OUT/cache.err" "programs/Os: the worker ended without a result"
	has "$OUT/cache.out" "5 failed"
	[ -z "$(table_files)" ]
}

# sandboxed_process DIR: print the process that parses a file for the cache DIR.
sandboxed_process() {
	local pid tries

	for ((tries = 0; tries < 600; tries++)); do
		for pid in $(pgrep -f "cache --cache-dir $1"); do
			! grep -q '^Seccomp:[[:space:]]*2$' "/proc/$pid/status" || {
				echo "$pid"
				return
			}
		done
		sleep 0.1
	done
	return 1
}

# reader_has OPTION STATUS...: the process that parses a file has to have these lines in its
# status.
reader_has() {
	local option=$1 pid tool line

	shift
	ATTEMPT=spin LD_PRELOAD="$OUT/attempts.so" "$SFRAME" cache --cache-dir "$OUT/cache" \
		"$option" -t 20 "$OUT/programs/O2" > "$OUT/cache.out" 2> "$OUT/cache.err" & tool=$!
	pid=$(sandboxed_process "$OUT/cache")
	tr '\t' ' ' < "/proc/$pid/status" > "$OUT/reader.status"
	for line; do
		has "$OUT/reader.status" "$line"
	done
	ls -l "/proc/$pid/fd" > "$OUT/reader.fds"
	lacks "$OUT/reader.fds" /kept-open
	kill $tool
	pkill -KILL -P $tool || true
	wait $tool || true
	kill -KILL "$pid" || true
}

reader_of_root_is_nobody() {
	local action

	build_attempts
	cache_programs
	mkdir -p "$OUT/cache"
	exec 9>> "$OUT/kept-open"
	for action in --quiet --prune; do
		reader_has $action "Uid: 65534 65534 65534 65534" "Gid: 65534 65534 65534 65534" \
			"CapInh: 0000000000000000" "CapPrm: 0000000000000000" \
			"CapEff: 0000000000000000" "CapAmb: 0000000000000000" \
			"NoNewPrivs: 1" "Seccomp: 2"
		grep -qE '^Groups: *$' "$OUT/reader.status"
	done
	exec 9>&-
}

# Its owner can be known before anything of it is parsed.
file_of_others_is_not_parsed() {
	build_attempts
	cache_programs
	chown 65534 "$OUT/programs"/*
	attempt abort "$SFRAME" cache --cache-dir "$OUT/cache" "$OUT/programs" > "$OUT/cache.out"
	has "$OUT/cache.out" "5 that others may change"
}

# without CALLS COMMAND...: run COMMAND where these system calls fail.
without() {
	local calls=$1

	shift
	strace -f -qq -o "$OUT/strace" -e "inject=$calls:error=EINVAL" "$@"
}

# A kernel may have been built without the filter, and a user namespace may have one user only.
one_barrier_is_enough() {
	cache_programs
	without seccomp "$SFRAME" cache --cache-dir "$OUT/cache" --verbose "$OUT/programs" \
		> "$OUT/cache.out" 2> "$OUT/cache.err"
	has "$OUT/cache.err" "this kernel cannot filter the system calls of readers"
	[ "$(wc -l < "$OUT/cache.err")" = 1 ]
	has "$OUT/cache.out" " 5 written"
	rm -rf "$OUT/cache"
	without setresuid "$SFRAME" cache --cache-dir "$OUT/cache" "$OUT/programs" \
		> "$OUT/cache.out"
	has "$OUT/cache.out" " 5 written"
	status 1 without seccomp,setresuid "$SFRAME" cache --cache-dir "$OUT/cache" \
		"$OUT/programs/O2" 2> "$OUT/cache.err"
	has "$OUT/cache.err" "its reader can neither change its user nor filter its system calls"
	status 1 without seccomp,setresuid "$SFRAME" cache --cache-dir "$OUT/cache" --prune \
		2> "$OUT/cache.err"
	has "$OUT/cache.err" "nor filter its system calls; it may need a table"
}

# A library calls abort() when it notices damage, which makes no file hostile.
abort_of_a_reader_is_no_attempt() {
	build_attempts
	cache_programs
	status 1 attempt abort "$SFRAME" cache --cache-dir "$OUT/cache" "$OUT/programs/O2" \
		2> "$OUT/cache.err"
	has "$OUT/cache.err" "programs/O2: signal 11 (Segmentation fault) ended the worker"
	lacks "$OUT/cache.err" hostile
}

reader_prints_nothing() {
	local action

	build_attempts
	cache_programs
	for action in --verbose --prune; do
		attempt forge "$SFRAME" cache --cache-dir "$OUT/cache" $action "$OUT/programs/O2" \
			> "$OUT/cache.out" 2> "$OUT/cache.err"
		lacks "$OUT/cache.out" forged
		lacks "$OUT/cache.err" forged
	done
}

closed_streams_are_no_pipes() {
	cache_programs
	timeout 60 "$SFRAME" cache --quiet --cache-dir "$OUT/cache" "$OUT/programs" <&- >&-
	rm -rf "$OUT/cache"
	timeout 60 "$SFRAME" cache --quiet --cache-dir "$OUT/cache" "$OUT/programs" \
		<&- >&- 2>&-
	[ "$(table_files | wc -l)" = 5 ]
}

# ended PID: wait until the process has ended.
ended() {
	local tries

	for ((tries = 0; tries < 100; tries++)); do
		grep -q '^State:[[:space:]]*[^ZX]' "/proc/$1/status" 2> "$OUT/status.err" || return 0
		sleep 0.1
	done
	cat "/proc/$1/status"
	return 1
}

# Readers have a user of their own, whose other processes can stop them.
stopped_reader_is_ended() {
	local action pid tool

	build_attempts
	cache_programs
	mkdir -p "$OUT/cache"
	for action in --quiet --prune; do
		ATTEMPT=spin LD_PRELOAD="$OUT/attempts.so" timeout 60 "$SFRAME" cache \
			--cache-dir "$OUT/cache" $action -t 2 -j 1 "$OUT/programs/O2" \
			-x /usr -x /opt -x /bin -x /sbin -x /lib -x /lib64 \
			> "$OUT/cache.out" 2> "$OUT/cache.err" & tool=$!
		pid=$(sandboxed_process "$OUT/cache")
		as_user kill -STOP "$pid"
		status 1 wait $tool
		has "$OUT/cache.err" "programs/O2: takes too long; allow more time by --timeout"
		ended "$pid"
	done
}

reader_that_cannot_start_is_told() {
	build_attempts
	cache_programs
	status 1 attempt no-pipe "$SFRAME" cache --cache-dir "$OUT/cache" "$OUT/programs/O2" \
		2> "$OUT/cache.err"
	has "$OUT/cache.err" "programs/O2: Too many open files; it gets no table"
}

# A copy of the tool, whose reader says what is false of files with certain names.
lies_about_a_table_are_noticed() {
	local dir=$OUT/lying-reader name

	rm -rf "$dir"
	cp -r "$HERE/.." "$dir"
	cat > "$OUT/lies" <<-'END'
		/^	fwrite(&reply, sizeof(reply), 1, to);$/i \
			if (strstr(obj->name, "bytes")) \
				memset(image.bytes + 28, 0xff, image.size - 28);
		/^	fwrite(&finding, sizeof(finding), 1, stream);$/i \
			if (strstr(obj->name, "format")) \
				finding.wanted.head.format = 9; \
			if (strstr(obj->name, "version")) \
				finding.wanted.head.format = FORMAT_V2; \
			if (strstr(obj->name, "tail")) \
				memset(finding.wanted.head.build_id + 20, 0xff, 12), \
				memset(finding.wanted.head.text + 2, 0xff, 62 * 16);
	END
	sed -i -f "$OUT/lies" "$dir/cache/reader.c"
	make -s -C "$dir" O="$dir/out" CFLAGS=-O0 "$dir/out/sframe"
	for name in bytes format version; do
		cache_programs
		mv "$OUT/programs/O2" "$OUT/programs/$name"
		status 1 "$dir/out/sframe" cache --cache-dir "$OUT/cache" "$OUT/programs/$name" \
			2> "$OUT/cache.err"
		cat "$OUT/cache.err"
		[ -z "$(table_files)" ]
	done
	cache_programs
	cp "$OUT/programs/O2" "$OUT/programs/tail"
	# Without an index, the table does not name its file.
	"$dir/out/sframe" cache --no-index --cache-dir "$OUT/cache" "$OUT/programs/tail"
	mv "$(table_files)" "$OUT/tail.v4"
	cache --no-index "$OUT/programs/O2"
	cmp "$OUT/tail.v4" "$(table_files)"
}
