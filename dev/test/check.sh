# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# What the tests of dev/check share; sourced, with HERE set.
REPO=$(dirname "$(dirname "$HERE")")

# shellcheck source=dev/test/cases.sh
source "$HERE/cases.sh"

# A repository with dev/check and no suite.
repository() {
	mkdir -p "$SCRATCH/dev" "$SCRATCH/.build"
	cp "$HERE/.."/{check,check.py,again.py,ktap.py,suite.py} "$SCRATCH/dev/"
	ln -s "$REPO/.build/linux" "$SCRATCH/.build/linux"
	printf '#!/bin/bash\n' >"$SCRATCH/dev/tree"
	: >"$SCRATCH/dev/suites.toml"
	: >"$SCRATCH/events"
}

check() {
	LINUX_STACKS_ENV=1 "$SCRATCH/dev/check" "$@"
}
