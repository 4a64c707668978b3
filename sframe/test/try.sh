# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# How the scripts here run cases and print their results as TAP.
# shellcheck disable=SC2154 # OUT is the script's

RUN=0
FAILED=0

echo "TAP version 13"

# try NAME FUNCTION [ARG...]: run one case; its output goes to the log.
try() {
	local name=$1

	shift
	RUN=$((RUN + 1))
	# A subshell with its own set -e, which "if" would disable.
	set +e
	(set -eu; "$@") > "$OUT/log/$name" 2>&1
	local status=$?
	set -e
	if [ $status = 0 ]; then
		echo "ok $RUN $name"
	else
		FAILED=$((FAILED + 1))
		echo "not ok $RUN $name (see $OUT/log/$name)"
	fi
}

# status WANT COMMAND...: COMMAND has to end with the exit status WANT.
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

# lacks FILE TEXT: FILE must not contain TEXT.  (A statement "! grep" would not
# fail: set -e ignores commands after "!".)
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
	echo "ok $RUN $1 # SKIP $2"
}

# try_as_root NAME FUNCTION [ARG...]: a case that needs root.
try_as_root() {
	if [ "$(id -u)" = 0 ]; then
		try "$@"
	else
		skip "$1" "needs root"
	fi
}

# finish: the plan; its status is the script's.
finish() {
	echo "1..$RUN"
	[ $FAILED = 0 ]
}
