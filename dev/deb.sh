# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# What dev/deb, dev/kernel-deb and dev/perf-deb have in common.
# shellcheck disable=SC2154 # REPO and HERE are the script's

# enter_environment OUTPUT COMMAND...: run it in the environment, which passes no variable on, and
# has this repository and OUTPUT only.
enter_environment() {
	local output=$1 name settings=()

	shift
	for name in SOURCE_DATE_EPOCH DEBFULLNAME DEBEMAIL; do
		[ -z "${!name:-}" ] || settings+=("$name=${!name}")
	done
	mkdir -p "$output"
	export LINUX_STACKS_BIND="${LINUX_STACKS_BIND:+$LINUX_STACKS_BIND$'\n'}$output"
	exec "$HERE/env" run -- env "${settings[@]}" "$@"
}

# The version of packages of the series: Debian's of the base, and that of the series
series_version() {
	echo "$(awk '$1 == "version" { print $2 }' "$REPO/base")+stacks$(cat "$REPO/series/version")"
}
