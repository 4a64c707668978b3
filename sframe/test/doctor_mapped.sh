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
	has "$OUT/doctor.out" "libc.so.6: it has no table"
	has "$OUT/doctor.out" " of these have no table that the kernel can use; make them as root: sframe cache"
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

# doctor_library DIR NAME: make DIR/libNAME.so.
doctor_library() {
	mkdir -p "$1"
	echo "int $2(void) { return 0; }" |
		gcc -shared -fPIC -Wl,-soname,"lib$2.so" -o "$1/lib$2.so" -x c -
}

# doctor_linked OUT NAME OPTION...: make the program OUT, which needs libNAME.so.
doctor_linked() {
	local program=$1 name=$2

	shift 2
	echo "int $name(void); int main(void) { return $name(); }" |
		gcc -o "$program" -x c - "$@" "-l$name"
}

missing_library_is_told() {
	make_kernel
	doctor_library "$OUT/doctor-libs" doctorf
	doctor_linked "$OUT/doctor-linked" doctorf -L"$OUT/doctor-libs"
	status 1 doctor "$OUT/doctor-linked"
	has "$OUT/doctor.out" "problem  $OUT/doctor-linked: the dynamic linker cannot load it: "
	has "$OUT/doctor.out" "needs libdoctorf.so, which is in no directory that it searches"
	has "$OUT/doctor.out" "/libc.so.6: it has no table"
	LD_LIBRARY_PATH=$OUT/doctor-libs status 1 doctor "$OUT/doctor-linked"
	has "$OUT/doctor.out" "/libdoctorf.so: it has no table"
	lacks "$OUT/doctor.out" "cannot load it"
}

# libraries_as_listed PROGRAM: the doctor has to find what the dynamic linker itself lists.
libraries_as_listed() {
	/lib64/ld-linux-x86-64.so.2 --list "$1" |
		sed -nE 's/^\t(.* => )?(\/.*) \(0x.*/\2/p' | xargs realpath | sort -u > "$OUT/doctor.want"
	[ -s "$OUT/doctor.want" ]
	doctor --json "$1" || true
	python3 - "$OUT/doctor.out" "$1" <<-'END' | sort -u > "$OUT/doctor.got"
		import json, os, sys

		for check in json.load(open(sys.argv[1]))["checks"]:
		    if os.path.isfile(check["about"]) and check["about"] != sys.argv[2]:
		        print(os.path.realpath(check["about"]))
	END
	diff "$OUT/doctor.want" "$OUT/doctor.got"
}

# Rules of ld.so(8): RPATH is for the libraries' libraries, too, RUNPATH is not.
libraries_are_those_of_the_dynamic_linker() {
	local tmp=$OUT/doctor-rules program

	make_kernel
	rm -rf "$tmp"
	doctor_library "$tmp/inner" inner
	doctor_library "$tmp/other" inner
	mkdir "$tmp/outer"
	doctor_linked "$tmp/outer/libouter.so" inner -shared -fPIC -L"$tmp/inner" -Wl,-soname,libouter.so
	for program in xz python3 gdb perf; do
		! program=$(command -v $program) || libraries_as_listed "$(realpath "$program")"
	done
	# shellcheck disable=SC2016 # the dynamic linker's
	doctor_linked "$tmp/runpath" inner -L"$tmp/inner" -Wl,-rpath,'/no/such:$ORIGIN/inner'
	libraries_as_listed "$tmp/runpath"
	has "$OUT/doctor.got" "$tmp/inner/libinner.so"
	LD_LIBRARY_PATH=$tmp/other libraries_as_listed "$tmp/runpath"
	has "$OUT/doctor.got" "$tmp/other/libinner.so"
	echo 'int main(void) { return 0; }' > "$tmp/main.c"
	# shellcheck disable=SC2016
	gcc -o "$tmp/rpath" "$tmp/main.c" -Wl,--no-as-needed -L"$tmp/outer" -louter \
		-Wl,-rpath-link,"$tmp/inner",--disable-new-dtags,-rpath,'${ORIGIN}/outer:${ORIGIN}/inner'
	libraries_as_listed "$tmp/rpath"
	has "$OUT/doctor.got" "$tmp/inner/libinner.so"
	LD_LIBRARY_PATH=$tmp/other libraries_as_listed "$tmp/rpath"
	has "$OUT/doctor.got" "$tmp/inner/libinner.so"
	ASAN_OPTIONS=$ASAN_OPTIONS:verify_asan_link_order=0 LD_PRELOAD=$tmp/other/libinner.so \
		libraries_as_listed "$tmp/rpath"
	has "$OUT/doctor.got" "$tmp/other/libinner.so"
	# shellcheck disable=SC2016
	gcc -o "$tmp/short" "$tmp/main.c" -Wl,--no-as-needed -L"$tmp/outer" -louter \
		-Wl,-rpath-link,"$tmp/inner",-rpath,'$ORIGIN/outer:$ORIGIN/inner'
	status 1 doctor "$tmp/short"
	has "$OUT/doctor.out" "libouter.so needs libinner.so, which is in no directory"
	# The program's directory is that of the file, not of a link to it.
	mkdir "$tmp/bin"
	ln -s ../runpath "$tmp/bin/linked"
	doctor "$tmp/bin/linked" || true
	has "$OUT/doctor.out" "$tmp/inner/libinner.so: it has no table"
	# The best of the processor's subdirectories
	doctor_library "$tmp/inner/glibc-hwcaps/x86-64-v2" inner
	libraries_as_listed "$tmp/runpath"
}

# A program could name any program as its dynamic linker.
no_linker_is_run() {
	local linker=$OUT/ld-linux-x86-64.so.2

	make_kernel
	rm -f "$OUT/doctor-ran"
	printf '#!/bin/sh\ntouch %s\n' "$OUT/doctor-ran" > "$linker"
	chmod 755 "$linker"
	echo 'int main(void) { return 0; }' |
		gcc -o "$OUT/doctor-linker" -Wl,-I"$linker" -x c -
	status 1 doctor "$OUT/doctor-linker"
	has "$OUT/doctor.out" "its dynamic linker $linker is missing, or is no x86-64 program"
	cp /bin/true "$OUT/doctor-true"
	echo 'int main(void) { return 0; }' |
		gcc -o "$OUT/doctor-linker" -Wl,-I"$OUT/doctor-true" -x c -
	status 1 doctor "$OUT/doctor-linker"
	has "$OUT/doctor.out" "doctor-true is neither glibc's nor musl's, so its libraries are not"
	[ ! -e "$OUT/doctor-ran" ]
}

# The dynamic linker runs the auditors that a program names, even if it only lists libraries.
# The files of a container's image belong to root, too.
auditors_are_not_run() {
	local tmp user

	make_kernel
	tmp=$(mktemp -d)
	chmod 755 "$tmp"
	mkdir -m 777 "$tmp/writable"
	gcc -shared -fPIC -DRAN="\"$tmp/writable/ran\"" -o "$tmp/auditor.so" -x c - <<-'END'
		#include <fcntl.h>
		__attribute__((constructor)) static void run(void) { creat(RAN, 0600); }
		unsigned la_version(unsigned version) { return version; }
	END
	echo 'int main(void) { return 0; }' |
		gcc -o "$tmp/program" -Wl,--audit="$tmp/auditor.so" -x c -
	/lib64/ld-linux-x86-64.so.2 --list "$tmp/program" > "$OUT/doctor.out"
	rm "$tmp/writable/ran"
	cp "$SFRAME" "$tmp/sframe"
	for user in 0 65534; do
		SFRAME_DOCTOR_ROOT=$KERNEL status 1 setpriv --reuid $user --clear-groups \
			"$tmp/sframe" doctor "$tmp/program" > "$OUT/doctor.out"
		has "$OUT/doctor.out" "/libc.so.6: it "
		[ ! -e "$tmp/writable/ran" ]
	done
	# Other people's programs are looked at, too.
	chown 65534 "$tmp" "$tmp/program"
	status 1 doctor "$tmp/program"
	has "$OUT/doctor.out" "/libc.so.6: it has no table"
	[ ! -e "$tmp/writable/ran" ]
	rm -rf "$tmp"
}

# A library can need itself by endless names, and name endless directories.
search_for_libraries_is_limited() {
	local tmp=$OUT/doctor-endless

	make_kernel
	rm -rf "$tmp"
	mkdir "$tmp"
	python3 "$HERE/endless_libraries.py" "$tmp/program"
	chmod 755 "$tmp/program"
	status 1 timeout 60 env SFRAME_DOCTOR_ROOT="$KERNEL" "$CHECKED" doctor "$tmp/program" \
		> "$OUT/doctor.out"
	has "$OUT/doctor.out" "it needs more libraries than any program has, so not all are checked"
}
