# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Cases of run.sh: sframe cache finds the files of a system and of its processes.
# shellcheck disable=SC2154 # OUT, HERE, SFRAME, CHECKED, SEEDS: run.sh

# object FILE [FLAG...]: make a library with a build-id of its own
object() {
	local file=$1

	shift
	mkdir -p "${file%/*}"
	NUMBER=$((NUMBER + 1))
	echo "int f(void) { return $NUMBER; }" |
		gcc -O2 -shared -fPIC -Wl,--build-id -o "$file" "$@" -x c -
}

# Make a system with a file of each kind in each kind of place that --all has to find.
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
	# More names and copies of these files
	ln -s usr/lib "$root/lib"
	ln -s ../share/editor/c "$root/usr/bin/c"
	ln -s . "$root/usr/lib/loop"
	ln "$root/usr/bin/a" "$root/usr/bin/a-too"
	cp "$root/usr/bin/a" "$root/opt/app/a-copy"
	# Files that get no table
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
	[ "$(table_files | wc -l)" = 9 ]
	has "$OUT/cache.out" ": 11 files: 9 written"
	has "$OUT/cache.out" " 1 there already, 1 skipped (0 without unwind data"
	has "$OUT/cache.out" "debug/debugged: not an x86-64 program or library"
	has "$OUT/cache.out" " 0 failed; "
	grep -E '[0-9.]+ MB read in [0-9.]+ s, [0-9.]+ MB/s$' "$OUT/cache.out"
	# --all without --root takes the directories of PATH.
	rm -rf "$OUT/cache"
	TOOL=$SFRAME PATH=$root/home/u:$PATH cache --all > "$OUT/cache.out"
	cache --verbose "$root/home/u/h" /usr/bin/xz > "$OUT/cache.out"
	has "$OUT/cache.out" "2 files: 0 written (0.0 MB), 2 there already"
	# A DIRECTORY is none of the other system's.
	rm -rf "$OUT/cache" "$OUT/homes"
	cp -r "$root/home" "$OUT/homes"
	cache --all --root "$root" "$OUT/homes" > "$OUT/cache.out"
	has "$OUT/cache.out" ": 12 files: 10 written"
	status 2 cache --root "$root" "$root"
	status 2 cache --prune --root "$root" 2> "$OUT/cache.err"
	has "$OUT/cache.err" "--root is not for --prune; name directories below it, as DIR/usr"
	status 1 cache --all --root /no/such/directory
}

excluded_directories_are_not_searched() {
	local root=$OUT/system

	make_system "$root"
	rm -rf "$OUT/cache"
	cache --all --root "$root" -x /opt --exclude /usr/share/ --dry-run > "$OUT/cache.out"
	has "$OUT/cache.out" ": 9 files: "
	lacks "$OUT/cache.out" "$root/opt/"
	# The link usr/bin/c leads to it.
	lacks "$OUT/cache.out" "$root/usr/share/"
	has "$OUT/cache.out" "$root/usr/bin/c"
	# Those of the dynamic linker, and one below one that is excluded
	cache --all --root "$root" --exclude /srv --exclude /usr/lib/plugins/deep/ --dry-run \
		> "$OUT/cache.out"
	lacks "$OUT/cache.out" "$root/srv/"
	lacks "$OUT/cache.out" "b.so"
	cache "$root/usr" --exclude "$root/usr/lib" --dry-run > "$OUT/cache.out"
	lacks "$OUT/cache.out" "$root/usr/lib/"
	has "$OUT/cache.out" "$root/usr/bin/a"
	cache "$root/usr/lib/plugins" --exclude "$root/usr/lib" --dry-run > "$OUT/cache.out"
	has "$OUT/cache.out" "b.so"
	# By way of /bin, too
	if [ -L /bin ]; then
		PATH=/bin "$SFRAME" cache --cache-dir "$OUT/cache" --all --dry-run \
			--exclude /usr > "$OUT/cache.out"
		[ "$(grep -cE ' /(bin|usr)/' "$OUT/cache.out")" = 0 ]
	fi
	# However the DIRECTORY is written
	cache "$root/usr/" --exclude "$root/usr/lib" --dry-run > "$OUT/cache.out"
	lacks "$OUT/cache.out" "b.so"
	has "$OUT/cache.out" "$root/usr/bin/a"
	(cd "$root" && cache usr --exclude "$root/usr/lib" --dry-run) > "$OUT/cache.out"
	lacks "$OUT/cache.out" "usr/lib/"
	has "$OUT/cache.out" "usr/bin/a"
	echo /srv/ > "$root/etc/ld.so.conf"
	cache --all --root "$root" --exclude /srv/libs --dry-run > "$OUT/cache.out"
	lacks "$OUT/cache.out" "$root/srv/"
	cache --quiet "$root/opt" "$root/usr/lib/plugins"
	find "$OUT/cache" -name '*.v4' -exec touch -d yesterday {} +
	prune --exclude "$root/opt" "$root" > "$OUT/cache.out"
	has "$OUT/cache.out" ": 3 tables, 1 removed, "
	status 2 cache --all --exclude opt
	status 2 cache --running --exclude /opt
}

# with_dead_server DIR COMMAND...: run COMMAND where DIR is of a server that does not answer.
with_dead_server() {
	unshare -m python3 - "$@" <<-'END'
		import ctypes, os, sys

		fuse = os.open("/dev/fuse", os.O_RDWR)
		os.set_inheritable(fuse, True)
		options = b"fd=%d,rootmode=40000,user_id=0,group_id=0" % fuse
		libc = ctypes.CDLL(None, use_errno=True)
		if libc.mount(b"none", sys.argv[1].encode(), b"fuse.dead", 0, options):
		    sys.exit(os.strerror(ctypes.get_errno()))
		os.execvp(sys.argv[2], sys.argv[2:])
	END
}

servers_that_are_down_do_not_stop_all() {
	# shellcheck disable=SC2034 # object()
	local NUMBER=0
	local all=(timeout -s KILL 100 "$SFRAME" cache --cache-dir "$OUT/cache" --all --dry-run)

	with_dead_server /usr/local "${all[@]}" --verbose > "$OUT/cache.out"
	has "$OUT/cache.out" ", 1 file systems left out, "
	has "$OUT/cache.out" "/usr/local: a file system of a server or a user; name it to read it"
	with_dead_server /usr/local "${all[@]}" --exclude /usr/local > "$OUT/cache.out"
	lacks "$OUT/cache.out" "left out"
	# The file system that is seen is another one.
	# shellcheck disable=SC2016 # the inner shell's
	with_dead_server /usr/local sh -ec 'mount -t tmpfs none /usr/local
		cp /usr/bin/xz /usr/local/own-xz; exec "$@"' x "${all[@]}" > "$OUT/cache.out"
	lacks "$OUT/cache.out" "left out"
	has "$OUT/cache.out" "would make the table of /usr/local/own-xz"
	# A link to it, and a directory of the system that is a link
	mkdir -p "$OUT/data/dead" "$OUT/data/bin"
	object "$OUT/data/bin/of-data"
	# shellcheck disable=SC2016 # the inner shell's
	with_dead_server "$OUT/data/dead" sh -ec 'mount -t tmpfs none /usr/local
		mkdir /usr/local/bin; ln -s "$1/dead/tool" /usr/local/bin/tool
		ln -s "$1" /usr/local/sbin; shift
		exec "$@"' x "$OUT/data" env PATH=/usr/local/sbin:/usr/local/bin:/usr/bin \
		"${all[@]}" --verbose > "$OUT/cache.out"
	has "$OUT/cache.out" "$OUT/data/dead: a file system of a server or a user"
	# What is below a directory that another file system covers is not seen.
	# shellcheck disable=SC2016 # the inner shell's
	with_dead_server "$OUT/data/dead" sh -ec 'mount -t tmpfs none "$1"
		mkdir "$1/dead"; cp /usr/bin/xz "$1/dead/seen-xz"; export PATH="$1/dead:$PATH"
		shift; exec "$@"' x "$OUT/data" "${all[@]}" > "$OUT/cache.out"
	has "$OUT/cache.out" "dead/seen-xz"
}

# with_automounter DIR COMMAND...: run COMMAND, as the automounter itself, with autofs on DIR.
with_automounter() {
	unshare -m python3 - "$@" <<-'END'
		import ctypes, os, sys

		pipe = os.pipe()[1]
		os.set_inheritable(pipe, True)
		options = b"fd=%d,pgrp=%d,minproto=5,maxproto=5,indirect" % (pipe, os.getpgrp())
		libc = ctypes.CDLL(None, use_errno=True)
		if libc.mount(b"none", sys.argv[1].encode(), b"autofs", 0, options):
		    sys.exit(os.strerror(ctypes.get_errno()))
		os.execvp(sys.argv[2], sys.argv[2:])
	END
}

# What is mounted when it is walked may be a local file system.
automounted_directories_are_read() {
	# shellcheck disable=SC2016 # the inner shell's
	with_automounter /usr/local sh -ec 'mkdir /usr/local/lib
		mount -t tmpfs none /usr/local/lib; cp /usr/bin/xz /usr/local/lib/own-xz
		exec "$@"' x timeout -s KILL --foreground 100 "$SFRAME" cache \
		--cache-dir "$OUT/cache" --all --dry-run > "$OUT/cache.out"
	has "$OUT/cache.out" "would make the table of /usr/local/lib/own-xz"
	lacks "$OUT/cache.out" "left out"
}

configuration_of_another_system_may_be_anything() {
	local root=$OUT/system config=$OUT/system/etc/ld.so.conf
	local all=(timeout -s KILL 60 "$SFRAME" cache --cache-dir "$OUT/cache" --all --dry-run
		--root "$OUT/system")

	make_system "$root"
	rm -rf "$OUT/cache" "$config"
	mkfifo "$config"
	"${all[@]}" > "$OUT/cache.out" 2> "$OUT/cache.err"
	has "$OUT/cache.err" "ld.so.conf: not a regular file; it is passed over"
	has "$OUT/cache.out" "$root/usr/bin/a"
	echo /srv/libs > "$OUT/outside.conf"
	ln -sf "$OUT/outside.conf" "$config"
	"${all[@]}" > "$OUT/cache.out"
	lacks "$OUT/cache.out" "$root/srv/"
	rm "$config"
	head -c 2M /dev/zero > "$config"
	status 1 "${all[@]}" > "$OUT/cache.out" 2> "$OUT/cache.err"
	has "$OUT/cache.err" "ld.so.conf: more than 1 MiB; it is passed over"
}

check_all_takes_the_same_files() {
	"$CHECKED" check --all --root "$OUT/system" --summary > "$OUT/all.check"
	[ "$(grep -c ': v2 functions' "$OUT/all.check")" = 11 ]
	has "$OUT/all.check" "total: 11 files checked, 0 skipped, 0 failed"
	status 2 "$CHECKED" check --root "$OUT/system" "$OUT/O2"
	status 1 "$CHECKED" check --all --root /no/such/directory
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

running_programs_get_tables() {
	rm -rf "$OUT/cache"
	gcc -O2 -Wall -Wl,--build-id -o "$OUT/spin" "$HERE/spin.c"
	"$OUT/spin" 300 & local pid=$!
	# It is a copy of this shell until it has called exec().
	until [ "/proc/$pid/exe" -ef "$OUT/spin" ]; do
		sleep 0.1
	done
	cache --running > "$OUT/cache.out"
	kill $pid
	wait $pid || true
	[ -n "$(table_files)" ]
	cache "$OUT/spin" > "$OUT/cache.out"
	has "$OUT/cache.out" "1 there already"
}
