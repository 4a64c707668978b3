# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Completion of sframe's commands and options for bash; installed as
# /usr/share/bash-completion/completions/sframe.  All lists come from --help.

_sframe_commands() {
	sframe --help 2>/dev/null | sed -nE 's/^  ([a-z]+)  .*/\1/p'
	echo help
}

# $1: the command
_sframe_options() {
	sframe help "$1" 2>/dev/null | grep -E '^ +-' | grep -oE -- '--[a-z][a-z-]*'
}

# Complete $2 with the names of files or directories ($1).
_sframe_names() {
	compopt -o filenames 2>/dev/null
	mapfile -t COMPREPLY < <(compgen -A "$1" -- "$2")
}

_sframe_words() {
	mapfile -t COMPREPLY < <(compgen -W "$1" -- "$2")
}

_sframe() {
	local command=${COMP_WORDS[1]} word=$2 previous=$3

	if [ "$COMP_CWORD" = 1 ]; then
		_sframe_words "$(_sframe_commands) --help --version" "$word"
		return
	fi
	case $command:$previous in
	help:help)
		_sframe_words "$(_sframe_commands)" "$word"
		;;
	*:--format | *:-f)
		_sframe_words 'v2 v3' "$word"
		;;
	*:--cache-dir | *:-c | *:--root | *:-R | *:--exclude | *:-x)
		_sframe_names directory "$word"
		;;
	*:--jobs | *:--timeout | *:--vaddr | check:-[jt] | cache:-[jt] | gen:-a)
		# A number.
		;;
	index:*)
		if [[ $word = -* ]]; then
			_sframe_words "$(_sframe_options index)" "$word"
		else
			_sframe_names directory "$word"
		fi
		;;
	doctor:*)
		if [[ $word = -* ]]; then
			_sframe_words "$(_sframe_options doctor)" "$word"
		else
			mapfile -t COMPREPLY < <(compgen -c -- "$word")
		fi
		;;
	*)
		if [[ $word = -* ]]; then
			_sframe_words "$(_sframe_options "$command")" "$word"
		else
			_sframe_names file "$word"
		fi
		;;
	esac
}

complete -F _sframe sframe
