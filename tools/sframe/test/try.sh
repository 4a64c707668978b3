# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# How the scripts here run cases and count them.
# shellcheck disable=SC2154 # OUT is the script's

RUN=0
FAILED=0
SKIPPED=0

# try NAME FUNCTION [ARG...]: run one case; its output goes to the log.
try() {
	local name=$1

	shift
	RUN=$((RUN + 1))
	# A subshell with set -e of its own: "if" would switch it off.
	set +e
	(set -eu; "$@") > "$OUT/log/$name" 2>&1
	local status=$?
	set -e
	if [ $status = 0 ]; then
		echo "ok $name"
	else
		FAILED=$((FAILED + 1))
		echo "not ok $name (see $OUT/log/$name)"
	fi
}

# status WANT COMMAND...: COMMAND has to end with WANT.
status() {
	local want=$1 got=0

	shift
	"$@" || got=$?
	[ $got = "$want" ] || {
		echo "$*: exit status $got instead of $want"
		return 1
	}
}

# has FILE TEXT: FILE has to contain TEXT.
has() {
	grep -qF -- "$2" "$1" || {
		echo "$1 lacks: $2"
		cat "$1"
		return 1
	}
}

# lacks FILE TEXT: FILE must not contain TEXT.  ("! grep" as a statement fails nothing:
# set -e passes over what "!" begins.)
lacks() {
	[ -r "$1" ] || {
		echo "$1 cannot be read"
		return 1
	}
	! grep -nF -- "$2" "$1" || {
		echo "$1 contains: $2"
		return 1
	}
}

# skip NAME REASON: a case that cannot run here.
skip() {
	RUN=$((RUN + 1))
	SKIPPED=$((SKIPPED + 1))
	echo "skipped $1: $2"
}

# try_as_root NAME FUNCTION [ARG...]: a case that needs root.
try_as_root() {
	if [ "$(id -u)" = 0 ]; then
		try "$@"
	else
		skip "$1" "needs root"
	fi
}

# finish NAME: the suite's line; its status is the script's.
finish() {
	echo "suite $1: run $RUN passed $((RUN - FAILED - SKIPPED)) failed $FAILED skipped $SKIPPED"
	[ $FAILED = 0 ]
}
