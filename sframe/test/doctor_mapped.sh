# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Cases of run.sh: sframe doctor finds the files of processes and commands.
# shellcheck disable=SC2154 # OUT, HERE and CHECKED: run.sh; KERNEL and others: doctor.sh

process_is_looked_at() {
	local pid

	make_kernel
	make_program
	cp "$OUT/doctor-program" "$OUT/doctor-runs"
	"$OUT/doctor-runs" 60 & pid=$!
	wait_for_exec $pid doctor-runs
	status 1 doctor $pid
	has "$OUT/doctor.out" "ok       process $pid: it maps the code of 1 files"
	has "$OUT/doctor.out" "doctor-runs: it has no table; make it: "
	fill "$OUT/doctor-runs"
	status 0 doctor $pid
	kill $pid
	wait $pid || true
	status 1 doctor $pid
	has "$OUT/doctor.out" "problem  process $pid: there is none"
}

# wait_for_exec PID NAME
wait_for_exec() {
	local tries

	for ((tries = 0; tries < 500; tries++)); do
		[[ "$(readlink "/proc/$1/exe")" != *"/$2"* ]] || return 0
		sleep 0.01
	done
	return 1
}

# As after an upgrade: the process runs a file that was deleted.
deleted_file_of_a_process_gets_a_table() {
	local pid remedy

	make_kernel
	make_program
	cp "$OUT/doctor-program" "$OUT/doctor-gone"
	"$OUT/doctor-gone" 60 & pid=$!
	wait_for_exec $pid doctor-gone
	rm "$OUT/doctor-gone"
	status 1 doctor $pid
	has "$OUT/doctor.out" "doctor-gone: it has no table (the file was deleted); make it: "
	remedy=$(sed -n 's/.*make it: sframe //p' "$OUT/doctor.out")
	# shellcheck disable=SC2086 # words
	"$CHECKED" $remedy
	status 0 doctor $pid
	# Remove all other files with this build-id.
	rm -f "$OUT/doctor-program" "$OUT/doctor-runs"
	touch -d yesterday "$TABLES"/??/*
	"$CHECKED" cache --cache-dir "$TABLES" --prune > "$OUT/doctor.out"
	has "$OUT/doctor.out" ": 1 tables, 0 removed, "
	kill $pid
	wait $pid || true
	"$CHECKED" cache --cache-dir "$TABLES" --prune > "$OUT/doctor.out"
	has "$OUT/doctor.out" ": 1 tables, 1 removed, "
}

# Processes may end while the doctor reads their files.
processes_that_vanish_are_survived() {
	local running round

	make_kernel
	while :; do
		/bin/true
	done & running=$!
	for ((round = 0; round < 5; round++)); do
		survives "$CHECKED" doctor
		survives "$CHECKED" doctor --verbose --json
	done
	kill $running
	wait $running || true
}

all_processes_are_summed_up() {
	make_kernel
	status 1 doctor
	has "$OUT/doctor.out" " processes have mapped have a table"
	grep -E 'problem  files: [0-9]+ have no table: .* more, which --verbose names; make it: ' \
		"$OUT/doctor.out"
	status 1 doctor --verbose
	has "$OUT/doctor.out" "libc.so.6: it has no table; make it: sframe cache"
}

command_is_found_with_its_libraries() {
	make_kernel
	status 1 doctor xz
	has "$OUT/doctor.out" "/bin/xz: it has no table"
	has "$OUT/doctor.out" "/liblzma.so.5: it has no table"
	has "$OUT/doctor.out" "/ld-linux-x86-64.so.2: it has no table"
	# A script, and a script that env runs
	printf '#!/bin/sh\nexit 99\n' > "$OUT/doctor-script"
	printf '#! /usr/bin/env -S A=b doctor-script\n' > "$OUT/doctor-env"
	chmod 755 "$OUT/doctor-script" "$OUT/doctor-env"
	PATH=$OUT:$PATH status 1 doctor doctor-env
	has "$OUT/doctor.out" "note     $OUT/doctor-env: a script, which $OUT/doctor-script runs"
	has "$OUT/doctor.out" "note     $OUT/doctor-script: a script, which /bin/sh runs"
	has "$OUT/doctor.out" "problem  /bin/sh: it has no table"
	# The doctor must not loop on a script that names itself.
	printf '#!%s\n' "$OUT/doctor-loop" > "$OUT/doctor-loop"
	chmod 755 "$OUT/doctor-loop"
	doctor "$OUT/doctor-loop" || true
	status 1 doctor no-such-command
	has "$OUT/doctor.out" "problem  no-such-command: neither a process nor a command in PATH"
	status 1 doctor ./no/such/file
	has "$OUT/doctor.out" "problem  ./no/such/file: No such file or directory"
}

missing_library_is_told() {
	make_kernel
	mkdir -p "$OUT/doctor-libs"
	echo 'int f(void) { return 0; }' |
		gcc -shared -fPIC -o "$OUT/doctor-libs/libdoctorf.so" -x c -
	echo 'int f(void); int main(void) { return f(); }' |
		gcc -o "$OUT/doctor-linked" -x c - -L"$OUT/doctor-libs" -ldoctorf
	status 1 doctor "$OUT/doctor-linked"
	has "$OUT/doctor.out" "problem  $OUT/doctor-linked: the dynamic linker cannot load it: "
	has "$OUT/doctor.out" "libdoctorf.so"
	LD_LIBRARY_PATH=$OUT/doctor-libs status 1 doctor "$OUT/doctor-linked"
	has "$OUT/doctor.out" "/libdoctorf.so: it has no table"
}

# A program could name any program as its dynamic linker.
untrusted_linker_is_not_run() {
	make_kernel
	printf '#!/bin/sh\ntouch %s\n' "$OUT/doctor-ran" > "$OUT/ld-linux-x86-64.so.2"
	chmod 777 "$OUT/ld-linux-x86-64.so.2"
	echo 'int main(void) { return 0; }' |
		gcc -o "$OUT/doctor-linker" -Wl,-I"$OUT/ld-linux-x86-64.so.2" -x c -
	status 1 doctor "$OUT/doctor-linker"
	has "$OUT/doctor.out" "is not trusted and not run, so its libraries are not checked"
	[ ! -e "$OUT/doctor-ran" ]
}

# The dynamic linker runs the auditors that a program names, even if it only lists libraries.
auditors_of_others_are_not_run() {
	local tmp=$OUT/doctor-auditor

	make_kernel
	mkdir -p "$tmp"
	rm -f "$tmp/ran"
	gcc -shared -fPIC -DRAN="\"$tmp/ran\"" -o "$tmp/auditor.so" -x c - <<-'END'
		#include <fcntl.h>
		__attribute__((constructor)) static void run(void) { creat(RAN, 0600); }
		unsigned la_version(unsigned version) { return version; }
	END
	echo 'int main(void) { return 0; }' |
		gcc -o "$tmp/program" -Wl,--audit="$tmp/auditor.so" -x c -
	/lib64/ld-linux-x86-64.so.2 --list "$tmp/program" > "$OUT/doctor.out"
	rm "$tmp/ran"
	chown 65534 "$tmp/program"
	status 1 doctor "$tmp/program"
	has "$OUT/doctor.out" "note     $tmp/program: others than root may change it"
	chown 0 "$tmp/program"
	chown 65534 "$tmp"
	status 1 doctor "$tmp/program"
	has "$OUT/doctor.out" "note     $tmp/program: others than root may change it"
	[ ! -e "$tmp/ran" ]
}
