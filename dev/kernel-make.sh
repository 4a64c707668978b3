# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# How dev/kernel and dev/kernel-deb run the kernel's make: in a fixed place, with progress.
# shellcheck disable=SC2154 # REPO, NAME, SOURCE, OBJ, LOG, SAYS and the array FIXED are the script's

PROGRESS_SECONDS=10

# make in the fixed place; "$@" are its arguments. What it puts beside its objects, as packages,
# goes to $BESIDE, if that is set.
kernel_make() {
	# shellcheck disable=SC2016 # expanded by the inner shell
	SOURCE=$SOURCE OBJ=$OBJ BESIDE=${BESIDE:-} unshare --mount --propagation private bash -c '
		set -e
		if [ -n "$BESIDE" ]; then
			mount --bind "$BESIDE" /mnt
		else
			mount -t tmpfs tmpfs /mnt
		fi
		mkdir -p /mnt/source /mnt/build
		mount --bind "$SOURCE" /mnt/source
		mount --bind "$OBJ" /mnt/build
		exec make -C /mnt/source O=/mnt/build "$@"
	' make "${FIXED[@]}" "$@"
}

# Counts make's step lines on standard input: a line every PROGRESS_SECONDS on
# descriptor 3, the number on standard output.
progress() {
	local total=$1 count=0 last=$SECONDS said=-1 line

	while read -r line; do
		case $line in
		CC* | AS* | LD* | AR* | HOSTCC* | GEN* | OBJCOPY* | VDSO* | UPD*) count=$((count + 1)) ;;
		esac
		if [ $((SECONDS - last)) -ge "$PROGRESS_SECONDS" ]; then
			last=$SECONDS
			if [ "$count" = "$said" ]; then
				echo "$SAYS: still working: $line" >&3
			elif [ "$count" -lt "$total" ]; then
				echo "$SAYS: $count/$total objects" >&3
			else
				echo "$SAYS: $count objects" >&3
			fi
			said=$count
		fi
	done
	echo "$count"
}

# The first errors of the log, with paths as the reader knows them.
first_errors() {
	grep -nE '(error:|Error [0-9]|undefined reference|No such file|\*\*\*)' "$LOG" | head -n 12 |
		sed -e "s|/mnt/source|${SOURCE#"$REPO"/}|g" -e "s|/mnt/build|${OBJ#"$REPO"/}|g" >&2 || true
}
