# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# How dev/env makes the environment's tree.
#
# A tree is made as trixie.partial and renamed when it is whole, so that an interrupted run
# restarts cleanly; downloaded packages are kept and reused.
# shellcheck disable=SC2153,SC2154 # TREE, CACHE, SUITE, HERE and others are the script's

# For the tree 2 GB, kernel trees 5 GB, objects 3 GB, downloads and caches 2 GB
NEED_MIB=12000

# The package names in dev/packages, one a line.
packages() {
	sed -e 's/#.*//' -e '/^[[:space:]]*$/d' -e 's/[[:space:]]//g' "$HERE/packages"
}

# What a complete tree carries: a changed list completes the tree again.
stamp() {
	packages | sort | sha256sum | cut -d' ' -f1
}

# The tree has a stamp for each list that it was completed for, as checkouts that
# share it may have different ones, and packages are only added.
is_ready() {
	grep -qxsF "$(stamp)" "$TREE/etc/linux-stacks.stamp"
}

# Print the mirror that the machine's apt uses for LABEL (Debian or
# Debian-Security); nothing where it has none.
mirror() {
	command -v apt-get >/dev/null || return 0
	# shellcheck disable=SC2016 # apt's own format letters
	apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
		awk -v label="$1" '$1 == label { print $2; exit }'
}

check_machine() {
	[ "$(uname -m)" = x86_64 ] ||
		refuse "this machine is $(uname -m); an x86_64 machine is needed"
	[ "$(id -u)" = 0 ] ||
		refuse "debootstrap and mounts need root: run the same command as root"

	local dir=$CACHE
	while [ ! -d "$dir" ]; do dir=$(dirname "$dir"); done
	local free
	free=$(df -Pm "$dir" | awk 'NR == 2 { print $4 }')
	[ -d "$TREE" ] || [ "$free" -ge "$NEED_MIB" ] ||
		refuse "$dir has $free MiB free; $NEED_MIB MiB are needed: free some, or set XDG_CACHE_HOME"
}

# Install PACKAGE on the machine itself unless COMMAND is there.
host_tool() {
	local cmd=$1 package=$2

	command -v "$cmd" >/dev/null && return
	command -v apt-get >/dev/null ||
		refuse "'$cmd' is missing: install it (Debian: $package)"
	say "installing on this machine: $package"
	{ apt-get update && apt-get install -y --no-install-recommends "$package"; } \
		>"$CACHE/host-apt.log" 2>&1 ||
		refuse "cannot install $package: see $CACHE/host-apt.log (is the network up?)"
}

# A progress line per 50 packages in the output of apt or debootstrap.
progress() {
	awk '
	function count(what) {
		if (++done[what] % 50 == 0)
			print "env:   " what " " done[what] " packages"
	}
	/^Need to get/            { print "env:   " $0 }
	/^(Get:|I: Retrieving)/   { count("downloaded") }
	/^(I: )?Unpacking/        { count("unpacked") }
	/^(Setting up|I: Configuring)/ { count("set up") }
	{ fflush() }' >&2
}

bootstrap() {
	local uri partial=$TREE.partial

	host_tool debootstrap debootstrap
	# Debian 12's debootstrap knows trixie; an old archive keyring may not.
	uri=$(mirror Debian)
	rm -rf --one-file-system "$partial"
	mkdir -p "$CACHE/archives" "$CACHE/ccache"
	say "step 1/2: debootstrap of Debian $SUITE into $TREE"
	# shellcheck disable=SC2086 # an absent mirror is no argument
	debootstrap --variant=minbase --include=ca-certificates \
		--cache-dir="$CACHE/archives" "$SUITE" "$partial" ${uri:+"$uri"} 2>&1 |
		tee "$CACHE/debootstrap.log" | progress || {
		rm -rf --one-file-system "$partial"
		refuse "debootstrap failed: $(tail -n 1 "$CACHE/debootstrap.log") (whole log: $CACHE/debootstrap.log; is the network up?)"
	}
	# By these and linux-stacks.packages dev/test/env knows what was installed by hand.
	dpkg_names "$partial" >"$partial/etc/linux-stacks.bootstrap"
	mv "$partial" "$TREE"
}

# The packages that tree $1 has, one a line.
dpkg_names() {
	sed -n 's/^Package: //p' "$1/var/lib/dpkg/status" 2>/dev/null | sort || true
}

# Give the tree the machine's apt sources (for its own suites), proxy and resolver.
configure_apt() {
	local uri security
	uri=$(sed -n 's/^deb \([^ ]*\) .*/\1/p' "$TREE/etc/apt/sources.list" 2>/dev/null | head -n 1)
	[ -n "$uri" ] || uri=$(mirror Debian)
	security=$(mirror Debian-Security)

	rm -f "$TREE/etc/apt/sources.list.d/"*
	{
		echo "deb $uri $SUITE main"
		echo "deb $uri $SUITE-updates main"
		echo "deb $uri $SUITE-backports main"
		[ -z "$security" ] || echo "deb $security $SUITE-security main"
	} >"$TREE/etc/apt/sources.list"
	{
		apt-config dump Acquire 2>/dev/null | grep -E '^Acquire::(https?::)?(Proxy|Check-Valid-Until|Check-Date)' || true
		echo 'APT::Install-Recommends "false";'
		echo 'Acquire::Retries "3";'
	} >"$TREE/etc/apt/apt.conf.d/50linux-stacks"
	cp -L /etc/resolv.conf "$TREE/etc/resolv.conf" 2>/dev/null || true
	# A power failure may cost the tree, which "fresh" makes again; so no sync per file.
	mkdir -p "$TREE/etc/dpkg/dpkg.cfg.d"
	echo force-unsafe-io >"$TREE/etc/dpkg/dpkg.cfg.d/50linux-stacks"
	printf '#!/bin/sh\nexit 101\n' >"$TREE/usr/sbin/policy-rc.d"
	chmod 755 "$TREE/usr/sbin/policy-rc.d"
}

install_packages() {
	local list missing=() p

	mapfile -t list < <(packages)
	for p in "${list[@]}"; do
		[ -e "$TREE/var/lib/dpkg/info/${p%%/*}.list" ] ||
			[ -e "$TREE/var/lib/dpkg/info/${p%%/*}:amd64.list" ] || missing+=("$p")
	done
	say "step 2/2: installing ${#missing[@]} packages: ${missing[*]%%/*}"
	enter bash -c '
		set -e
		export DEBIAN_FRONTEND=noninteractive LC_ALL=C
		dpkg --configure -a
		apt-get update
		apt-get -y --fix-broken install
		apt-get -y install "$@"
	' env "${list[@]}" 2>&1 | tee "$CACHE/packages.log" | progress ||
		refuse "installing failed: $(grep -m1 '^E:' "$CACHE/packages.log" || tail -n 1 "$CACHE/packages.log") (whole log: $CACHE/packages.log); the next run resumes"
	packages | sed 's|/.*||' >>"$TREE/etc/linux-stacks.packages"
	stamp >>"$TREE/etc/linux-stacks.stamp"
}

# Hold the lock on the making of trees, as descriptor 9.
lock() {
	mkdir -p "$CACHE"
	exec 9>"$CACHE/lock"
	flock -n 9 || {
		say "another run is making the environment; waiting for it"
		flock 9
	}
}

complete() {
	[ -d "$TREE" ] || bootstrap
	configure_apt
	install_packages
	say "ready: $TREE ($(du -sm "$TREE" | cut -f1) MiB)"
}
