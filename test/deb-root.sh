# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# For tests that install the package: a small Debian, made of files of the environment.
# What the kernel would have, the sysctl, is a file there.
DEB=$(cat "$OUT/path")

# The packages without which "$@" do not work, one a line.
with_dependencies() {
	apt-cache depends --recurse --installed --no-recommends --no-suggests --no-conflicts \
		--no-breaks --no-replaces --no-enhances "$@" | grep -E '^[a-z]' | sort -u
}

# The files of the packages "$@"; on a merged /usr those of /lib are in /usr/lib.
files_of() {
	local name

	dpkg-query -L "$@" | sed -E 's,^/(s?bin|lib|lib64)/,/usr&,' | while read -r name; do
		[ -d "$name" ] && [ ! -L "$name" ] || echo "$name"
	done
}

# Make the directory $1 a Debian with dpkg, a shell and what the package needs.
make_root() {
	local root=$1 names

	mapfile -t names < <(with_dependencies dpkg dash bash coreutils util-linux tar sed grep \
		diffutils libc-bin init-system-helpers perl-base libdw1t64 libzydis4.1 procps)
	mkdir -p "$root"/{dev,proc,run,tmp,usr/bin,usr/sbin,usr/lib,usr/lib64,etc/sysctl.d} \
		"$root"/var/{cache,log,lib/dpkg/{info,updates,triggers}}
	ln -s usr/bin usr/sbin usr/lib usr/lib64 "$root/"
	files_of "${names[@]}" |
		grep -vE '^/usr/share/(doc|locale|man|info)/|^/(usr/)?(s?bin|lib|lib64)$' |
		tar -C / -cf - --files-from - 2>/dev/null | tar -C "$root" -xf - || true
	cp -a /usr/bin/sh "$root/usr/bin/"
	cp -a /etc/ld.so.c* "$root/etc/"
	printf 'root:x:0:0:root:/root:/bin/sh\n' >"$root/etc/passwd"
	printf 'root:x:0:\n' >"$root/etc/group"
	dpkg-query -s "${names[@]}" >"$root/var/lib/dpkg/status" 2>/dev/null || true
	: >"$root/var/lib/dpkg/available"
	mknod -m 666 "$root/dev/null" c 1 3
}

# A root to install into; $SYSCTL stands for the kernel's.
enter_root() {
	ROOT=$SCRATCH/root
	cp -a "$BASE_ROOT" "$ROOT"
	mount -t proc proc "$ROOT/proc"
	mount -t tmpfs -o mode=755 none "$ROOT/proc/sys/kernel"
	trap leave_root EXIT
	SYSCTL=$ROOT/proc/sys/kernel/unwind_table_path
	echo >"$SYSCTL"
	cp "$DEB" "$ROOT/tmp/sframe.deb"
	CACHE=$ROOT/var/cache/sframe
	export DEBIAN_FRONTEND=noninteractive
}

leave_root() {
	in_root /usr/libexec/sframe-update-cache --stop 2>/dev/null || true
	umount -l "$ROOT/proc/sys/kernel" "$ROOT/proc"
}

in_root() {
	chroot "$ROOT" "$@"
}

# Wait for a minute at most for the command "$@" to hold.
wait_for() {
	local i

	for ((i = 0; i < 600; i++)); do
		! "$@" 2>/dev/null || return 0
		sleep 0.1
	done
	echo "# not within a minute: $*"
	exit 1
}

# The cache's file for the program $1.
table_of() {
	local id

	id=$(readelf -n "$1" 2>/dev/null | sed -n 's/.*Build ID: //p')
	echo "$CACHE/${id:0:2}/${id:2}.v4"
}

# The lock is not asked: a run that begins would find it taken.
is_idle() {
	! pgrep -f /usr/libexec/sframe-update-cache >/dev/null
}

# Wait until the run that was started in the background has ended.
settle() {
	wait_for test -s "$ROOT/run/sframe-cache.working"
	wait_for is_idle
}

# The next settle is for what comes now.
forget_runs() {
	settle
	rm "$ROOT/run/sframe-cache.working"
}

is_gone() {
	! kill -0 "$1" 2>/dev/null
}

install_it() {
	expect_status 0 in_root dpkg -i /tmp/sframe.deb
}

# A package "toy" with a program that no other has, as /tmp/toy.deb.
make_toy() {
	local dir=$SCRATCH/toy

	mkdir -p "$dir/DEBIAN" "$dir/usr/bin"
	echo 'int main(void) { return 0; }' | gcc -x c -Wl,--build-id -o "$dir/usr/bin/toy" -
	printf 'Package: toy\nVersion: 1\nArchitecture: amd64\nMaintainer: nobody\nDescription: toy\n' \
		>"$dir/DEBIAN/control"
	dpkg-deb -b "$dir" "$ROOT/tmp/toy.deb" >/dev/null
	# shellcheck disable=SC2034 # the tests read it
	TOY=$(table_of "$dir/usr/bin/toy")
}
