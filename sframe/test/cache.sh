# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Cases of run.sh: sframe cache.  What its parts share, and the order of the cases.
# shellcheck disable=SC2154 # OUT, HERE, PROGRAM, SFRAME, CHECKED, SEEDS: run.sh

# shellcheck source-path=SCRIPTDIR
source "$HERE/cache_fill.sh"
# shellcheck source-path=SCRIPTDIR
source "$HERE/cache_interrupt.sh"
# shellcheck source-path=SCRIPTDIR
source "$HERE/cache_system.sh"
# shellcheck source-path=SCRIPTDIR
source "$HERE/cache_rights.sh"
# shellcheck source-path=SCRIPTDIR
source "$HERE/cache_keep.sh"

# shellcheck source-path=SCRIPTDIR
source "$HERE/cache_own.sh"

# TOOL=$SFRAME cache ...: what reads all files of the system takes minutes with sanitizers.
cache() {
	"${TOOL:-$CHECKED}" cache --cache-dir "$OUT/cache" --jobs 2 "$@"
}

cache_programs() {
	local name number=0

	rm -rf "$OUT/cache" "$OUT/programs"
	mkdir "$OUT/programs"
	for name in O0 O2 Os drap Ofixed; do
		# Equal programs have equal build-ids.
		number=$((number + 1))
		echo "int main(void) { return $number; }" |
			gcc -O2 -Wl,--build-id -o "$OUT/programs/$name" -x c -
	done
	# One file by two names, and what is no program.
	ln "$OUT/programs/O2" "$OUT/programs/O2-again"
	cp "$PROGRAM" "$OUT/programs"
}

table_files() {
	find "$OUT/cache" -type f ! -name .lock ! -name index.v4 | sort
}

cache_cases() {
	try cache-second-fill second_fill_writes_nothing
	try cache-damaged-table damaged_table_is_made_anew
	try cache-damaged-body table_with_damaged_body_is_made_anew
	try cache-table-of-others table_that_others_can_write_is_made_anew
	try cache-layouts layouts_lie_side_by_side
	try cache-layouts-concurrent layouts_are_told_apart_by_concurrent_workers
	try cache-without-build-id files_without_build_id_get_tables
	try cache-concurrent concurrent_fills_agree
	try cache-interrupted interrupted_fill_leaves_whole_tables
	try cache-resumed interrupted_fill_is_resumed
	try cache-copies copies_are_written_once
	try cache-all all_is_the_whole_system
	try check-all check_all_takes_the_same_files
	try cache-configuration configuration_of_another_system_may_be_anything
	try cache-exclude excluded_directories_are_not_searched
	if [ -c /dev/fuse ]; then
		try_as_root cache-dead-server servers_that_are_down_do_not_stop_all
	else
		skip cache-dead-server "the kernel has no FUSE"
	fi
	if grep -qw autofs /proc/filesystems; then
		try_as_root cache-automounted automounted_directories_are_read
	else
		skip cache-automounted "the kernel has no autofs"
	fi
	try_as_root cache-files-of-others files_of_others_are_not_for_all
	try_as_root cache-files-of-media files_of_media_are_not_for_all
	try_as_root cache-forged forged_table_gives_way_to_the_systems
	try_as_root cache-copy-of-system table_of_a_copy_is_made_anew_for_the_system
	try_as_root cache-files-of-containers files_of_containers_are_not_for_all
	try_as_root cache-root-of-process all_reads_the_root_of_a_process
	try_as_root cache-no-proc missing_proc_is_told
	try cache-changing-files changing_files_are_survived
	try cache-worker crashing_worker_fails_alone
	try cache-reader-attempts reader_that_attempts_more_is_killed
	try cache-reader-lies false_finding_fails_alone
	try cache-reader-lies-on lies_about_a_table_are_noticed
	try cache-reader-abort abort_of_a_reader_is_no_attempt
	try cache-reader-prints reader_prints_nothing
	try cache-reader-unstarted reader_that_cannot_start_is_told
	try cache-closed-streams closed_streams_are_no_pipes
	try_as_root cache-reader-stopped stopped_reader_is_ended
	try_as_root cache-reader-nobody reader_of_root_is_nobody
	try_as_root cache-not-parsed file_of_others_is_not_parsed
	if command -v strace > "$OUT/log/strace"; then
		try_as_root cache-one-barrier one_barrier_is_enough
	else
		skip cache-one-barrier "no strace"
	fi
	try_as_root cache-unreadable unreadable_is_told_and_passed_over
	try cache-progress progress_is_for_terminals
	try cache-hostile-file hostile_file_fails_alone
	try cache-damaged-programs damaged_programs_are_survived
	try cache-no-unwind-data no_unwind_data_is_skipped
	try cache-named-without-table named_file_without_table_fails
	try_as_root cache-full-disk full_disk_stops_at_once
	try cache-unusable-directory unusable_directories_are_told
	try cache-users users_name_a_directory
	try cache-running running_programs_get_tables
	try_as_root cache-list list_tells_what_the_kernel_refuses
	try cache-list-usage list_of_no_cache_fails
	try cache-prune prune_keeps_what_is_used
	if [ -c /dev/fuse ] && command -v bindfs > "$OUT/log/bindfs"; then
		try_as_root cache-prune-dead-server prune_waits_for_no_server
	else
		skip cache-prune-dead-server "no bindfs, or the kernel has no FUSE"
	fi
	try cache-prune-layouts prune_tells_layouts_apart
	try cache-prune-obsolete prune_removes_tables_of_earlier_versions
	try cache-prune-writers prune_waits_for_writers
	try_as_root cache-locks-of-others locks_of_others_stop_nobody
	try_as_root cache-prune-mapped prune_keeps_what_another_process_maps
	try_as_root cache-prune-unreadable prune_without_right_removes_nothing
	try_as_root cache-prune-owner prune_is_for_ones_own
	try cache-prune-links prune_follows_no_link
	own_table_cases
	try cache-dry-run dry_run_writes_nothing
}
