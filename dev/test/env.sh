# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# What the tests of dev/env share; sourced, with HERE set. The commands that would change the
# machine are stubs.

# shellcheck source=dev/test/cases.sh
source "$HERE/cases.sh"

# dev/env with an empty cache, outside of any environment.
fresh_env() {
	env -u LINUX_STACKS_ENV XDG_CACHE_HOME="$SCRATCH/cache" "$HERE/../env" "$@"
}

# A debootstrap that makes a tree of one file.
stub_debootstrap() {
	# shellcheck disable=SC2016 # expanded by the stub
	stub debootstrap 'for dir; do case $dir in */trixie.partial) mkdir -p $dir/etc/apt/apt.conf.d $dir/etc/apt/sources.list.d $dir/usr/sbin; esac; done
echo "deb MIRROR trixie main" >$(echo "$XDG_CACHE_HOME"/linux-stacks/trixie.partial)/etc/apt/sources.list'
}

# A tree as setup makes it, with a file that somebody left in it.
setup_tree() {
	TREE=$SCRATCH/cache/linux-stacks/trixie
	stub_debootstrap
	stub unshare 'exit 0'
	expect_status 0 fresh_env setup
	touch "$TREE/by-hand" "$SCRATCH/cache/linux-stacks/"{archives,ccache}/kept
}
