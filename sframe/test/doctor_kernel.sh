# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Cases of run.sh: sframe doctor checks the kernel and its settings.
# shellcheck disable=SC2154 # OUT, HERE and CHECKED: run.sh; KERNEL and others: doctor.sh

# line_of FILE WORDS...: add a line about FILE to unwind/files.
line_of() {
	local file=$1 device

	shift
	device=$(stat -c %d "$file")
	printf '%02x:%02x %s 4096 %s\n' $((device >> 8 & 0xfff)) \
		$((device & 0xff | device >> 12 & 0xfff00)) "$(stat -c %i "$file")" "$*" \
		>> "$DEBUGFS/files"
}

kernel_without_tables_is_told() {
	make_kernel
	rm "$SYSCTL"
	status 1 doctor true
	has "$OUT/doctor.out" "problem  kernel: it loads no tables from files"
	has "$OUT/doctor.out" "; build it with CONFIG_UNWIND_USER_SPLIT=y"
	echo '# CONFIG_UNWIND_USER_SFRAME is not set' > "$KERNEL/boot/config-$(uname -r)"
	status 1 doctor true
	has "$OUT/doctor.out" "it does not support tables; build it with CONFIG_UNWIND_USER_SFRAME=y"
}

path_is_checked() {
	make_kernel
	echo > "$SYSCTL"
	status 1 doctor true
	has "$OUT/doctor.out" \
		"problem  path: it is empty, so the kernel looks for no tables; sysctl "
	echo relative > "$SYSCTL"
	status 1 doctor true
	has "$OUT/doctor.out" "problem  path: the kernel ignores all of relative; name dir"
	echo /no/such:/nor/such > "$SYSCTL"
	status 1 doctor true
	has "$OUT/doctor.out" "note     /no/such: in the path, but it does not exist"
	has "$OUT/doctor.out" "problem  path: none of its directories exists; fill the cache"
	echo "$SYSCTL" > "$SYSCTL"
	status 1 doctor true
	has "$OUT/doctor.out" "in the path, but not a directory"
}

untrusted_directories_are_told() {
	make_kernel
	make_program
	fill "$OUT/doctor-program"
	chmod 777 "$TABLES"
	status 1 doctor "$OUT/doctor-program"
	has "$OUT/doctor.out" "problem  $TABLES: in the path, but others than root can write there"
	chmod 755 "$TABLES"
	chown 65534 "$TABLES"
	status 1 doctor "$OUT/doctor-program"
	has "$OUT/doctor.out" "problem  $TABLES: in the path, but it belongs to user 65534; make it"
	# A directory of the path that does not exist is only a note.
	chown 0 "$TABLES"
	echo "/no/such:$TABLES" > "$SYSCTL"
	status 0 doctor "$OUT/doctor-program"
	has "$OUT/doctor.out" "note     /no/such: "
	has "$OUT/doctor.out" "ok       $TABLES: in the path, and only root can write there"
	[ "$(tail -n 1 "$OUT/doctor.out")" = "All is well." ]
}

what_the_kernel_says_of_a_file_is_told() {
	local words

	make_kernel
	make_program
	fill "$OUT/doctor-program"
	status 0 doctor "$OUT/doctor-program"
	has "$OUT/doctor.out" ", which no profiler has made the kernel load yet"
	while read -r state words; do
		: > "$DEBUGFS/files"
		line_of "$OUT/doctor-program" "$state"
		status 0 doctor "$OUT/doctor-program"
		has "$OUT/doctor.out" "$words"
	done <<-END
		loaded which the kernel has loaded
		loading which the kernel is loading
		evicted which the kernel has evicted
		unsettled but the file is being written or has just changed, and the kernel waits
	END
	: > "$DEBUGFS/files"
	line_of "$OUT/doctor-program" not resident
	status 0 doctor "$OUT/doctor-program"
	has "$OUT/doctor.out" "and the kernel waits for the file's first bytes"
	: > "$DEBUGFS/files"
	line_of "$OUT/doctor-program" without
	status 1 doctor "$OUT/doctor-program"
	has "$OUT/doctor.out" "problem  $OUT/doctor-program: it has a table in the path, but the kernel found none when it looked; write kernel.unwind_table_path again: sysctl "
	: > "$DEBUGFS/files"
	# The newest comes first.
	line_of "$OUT/doctor-program" refused -74
	line_of "$OUT/doctor-program" loaded
	status 1 doctor "$OUT/doctor-program"
	has "$OUT/doctor.out" \
		"but the kernel refused it: the table is damaged, or of another object"
	: > "$DEBUGFS/files"
	line_of "$OUT/doctor-program" no object
	status 0 doctor "$OUT/doctor-program"
	has "$OUT/doctor.out" "but the kernel does not take the file for an object"
	rm "$DEBUGFS/files"
	status 0 doctor "$OUT/doctor-program"
	has "$OUT/doctor.out" "note     debugfs: there is no /sys/kernel/debug/unwind"
}

# The kernel uses no table that an index does not name.
missing_index_is_told() {
	local remedy

	make_kernel
	make_program
	fill "$OUT/doctor-program"
	status 0 doctor "$OUT/doctor-program"
	has "$OUT/doctor.out" "ok       $TABLES: its index names 1 tables"
	rm "$TABLES/index.v4"
	status 1 doctor "$OUT/doctor-program"
	has "$OUT/doctor.out" "problem  $TABLES: the kernel uses none of its tables: it has no index; make it as root: sframe index $TABLES"
	has "$OUT/doctor.out" "problem  $OUT/doctor-program: it has a table that the index of its directory does not name; make the index as root: sframe index $TABLES"
	# Both remedies work.
	remedy=$(sed -n 's/.*make the index as root: sframe //p' "$OUT/doctor.out")
	# shellcheck disable=SC2086 # words
	"$CHECKED" $remedy
	status 0 doctor "$OUT/doctor-program"
	printf 5 | dd bs=1 seek=8 conv=notrunc status=none of="$TABLES/index.v4"
	status 1 doctor "$OUT/doctor-program"
	has "$OUT/doctor.out" "the kernel uses none of its tables: its index has another version"
	"$CHECKED" index --quiet "$TABLES"
	chmod 664 "$TABLES/index.v4"
	status 1 doctor "$OUT/doctor-program"
	has "$OUT/doctor.out" ": others than its owner may write its index; make it as root: "
	"$CHECKED" index --quiet "$TABLES"
	chown 65534 "$TABLES/index.v4"
	status 1 doctor "$OUT/doctor-program"
	has "$OUT/doctor.out" "its index belongs to another user"
	"$CHECKED" index --quiet "$TABLES"
	status 0 doctor "$OUT/doctor-program"
}

# Its owner may read it, but the kernel would not.
index_of_a_user_is_told() {
	local tmp

	make_kernel
	tmp=$(mktemp -d)
	chmod 755 "$tmp"
	cp "$SFRAME" "$tmp/sframe"
	cp -r "$KERNEL" "$tmp/kernel"
	mv "$TABLES" "$tmp/tables"
	echo "$tmp/tables" > "$tmp/kernel/${SYSCTL#"$KERNEL"}"
	as_user env SFRAME_DOCTOR_ROOT="$tmp/kernel" "$tmp/sframe" doctor true > "$OUT/doctor.out" || :
	has "$OUT/doctor.out" "ok       $tmp/tables: its index names 0 tables"
	chown 65534 "$tmp/tables/index.v4"
	status 1 as_user env SFRAME_DOCTOR_ROOT="$tmp/kernel" "$tmp/sframe" doctor true \
		> "$OUT/doctor.out"
	has "$OUT/doctor.out" "problem  $tmp/tables: the kernel uses none of its tables: its index belongs to another user than root; make it as root: sframe index $tmp/tables"
	rm -rf "$tmp"
}

# An index of other tables; and a second directory whose index names the table
index_without_the_table_is_told() {
	make_kernel
	make_program
	fill "$OUT/doctor-program"
	rm -rf "$OUT/doctor-second"
	"$CHECKED" cache --quiet --cache-dir "$OUT/doctor-second" /usr/bin/xz
	cp "$OUT/doctor-second/index.v4" "$TABLES/index.v4"
	status 1 doctor "$OUT/doctor-program"
	has "$OUT/doctor.out" "ok       $TABLES: its index names 1 tables"
	has "$OUT/doctor.out" "a table that the index of its directory does not name; make the index as root: sframe index $TABLES"
	"$CHECKED" cache --quiet --cache-dir "$OUT/doctor-second" "$OUT/doctor-program"
	echo "$TABLES:$OUT/doctor-second" > "$SYSCTL"
	status 0 doctor "$OUT/doctor-program"
	has "$OUT/doctor.out" "ok       $OUT/doctor-program: it has a table in the path"
}

walks_are_put_into_words() {
	make_kernel
	status 1 doctor true
	has "$OUT/doctor.out" "note     walks: 0 since boot: nobody has asked for a user stack"
	printf '%s\n' 'walks_at_once_complete 60' 'walks_deferred_full 15' \
		'walks_at_once_no_table 20' 'walks_deferred_no_row 5' \
		'walks_at_once_no_stack 1000' 'frames_at_once 9' 'files_refused 3' \
		> "$DEBUGFS/stats"
	status 1 doctor true
	has "$OUT/doctor.out" "note     walks: 75.0 % of 100 since boot were complete; "
	has "$OUT/doctor.out" "80 % of the others ended at code without a table (no_table)"
	has "$OUT/doctor.out" "note     tables: the kernel has refused 3 since boot"
	echo 'walks_faultable_complete 7' > "$DEBUGFS/stats"
	status 1 doctor true
	has "$OUT/doctor.out" "ok       walks: 7 since boot, all complete"
}
