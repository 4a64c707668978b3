# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# How dev/kernel makes the .config of $NAME, in $OBJ, from the fragments of vm/.
# shellcheck disable=SC2154 # REPO, OBJ and SOURCE are the script's

SERIES_ONLY='/^# series only/,/^# end of series only/'

is_base() {
	[ "$NAME" = base ]
}

# The configuration fragments of $NAME, with or without the series' own block. Of a
# symbol that stands in two of them, the last line.
fragments() {
	local files=("$REPO/vm/kernel.config")

	case $NAME in
	debug | kcsan) files+=("$REPO/vm/$NAME.config") ;;
	esac
	if is_base; then
		sed "${SERIES_ONLY}d" "${files[@]}"
	else
		cat "${files[@]}"
	fi | tac | awk -F= '!/^CONFIG_/ || !seen[$1]++' | tac
}

# Print the lines of standard input, a fragment, that are not in .config.
unmet() {
	awk -v config="$OBJ/.config" '
		BEGIN { while ((getline line < config) > 0) is_set[line] = 1 }
		/^CONFIG_/ {
			symbol = value = $0
			sub(/=.*/, "", symbol); sub(/[^=]*=/, "", value)
			want[symbol] = value
		}
		END {
			for (symbol in want) {
				if (want[symbol] == "n") {
					for (line in is_set)
						if (index(line, symbol "=") == 1) print symbol "=n"
				} else if (!((symbol "=" want[symbol]) in is_set)) {
					print symbol "=" want[symbol]
				}
			}
		}' | sort
}

# Every option must have arrived. Those of the series' own block may be absent
# from a tree that holds only its first steps.
check_config() {
	local missing=()

	mapfile -t missing < <(fragments | sed "${SERIES_ONLY}d" | unmet)
	[ ${#missing[@]} = 0 ] || {
		rm -f "$OBJ/.config"
		fail "$NAME: not in .config, so renamed or without a dependency: ${missing[*]}; edit vm/*.config"
	}
	is_base || {
		mapfile -t missing < <(sed -n "${SERIES_ONLY}p" "$REPO/vm/kernel.config" | unmet)
		[ ${#missing[@]} = 0 ] ||
			echo "kernel $NAME: this tree does not have (yet): ${missing[*]}" >&2
	}
}

# Writes .config only when it changes, so that nothing is rebuilt without need.
configure() {
	local fragment=$OBJ/.fragment

	fragments >"$fragment.new"
	if [ -e "$OBJ/.config" ] && cmp -s "$fragment.new" "$fragment"; then
		# New Kconfig symbols in the source take their defaults.
		kernel_make -s olddefconfig
	else
		kernel_make -s tinyconfig >/dev/null
		# merge_config.sh complains about overridden and unknown values;
		# check_config says what matters.
		"$SOURCE/scripts/kconfig/merge_config.sh" -m -Q -O "$OBJ" \
			"$OBJ/.config" "$fragment.new" >/dev/null
		kernel_make -s olddefconfig
	fi
	check_config
	mv "$fragment.new" "$fragment"
}
