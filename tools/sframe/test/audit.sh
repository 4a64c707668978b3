# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Cases of run.sh and guest.sh: libsframe-audit.so and sframe run, on kernels with
# and without tables.
# shellcheck disable=SC2154 # OUT, HERE and SFRAME are those of the script

AUDIT=$OUT/libsframe-audit.so
# What no other mapping has in its name.
TABLES=audit-cache
# A process may have 8192 tables.
DLOPENS=${DLOPENS:-10000}

# compile SOURCE FILE [OPTION...]: unless it has been done already
compile() {
	local source=$1 file=$2

	shift 2
	[ "$file" -nt "$source" ] ||
		gcc -O2 -Wall -D_GNU_SOURCE -iquote "$HERE/.." -iquote "$srctree/include" \
			-Wl,--build-id -o "$file" "$source" "$@"
}

# A library, and a program that is linked with sixty.
build_libraries() {
	local i libs=()

	mkdir -p "$OUT/libs"
	for ((i = 1; i <= 60; i++)); do
		libs+=("-ll$i")
		[ ! -e "$OUT/libs/libl$i.so" ] || continue
		echo "int f$i(int n) { return n + $i; }" > "$OUT/libs/source.c"
		compile "$OUT/libs/source.c" "$OUT/libs/libl$i.so" -shared -fPIC
	done
	[ ! -e "$OUT/sixty" ] || return 0
	cat > "$OUT/sixty.c" <<-END
		#include <unistd.h>
		int main(int argc, char **argv) { return argc > 1 ? pause() : 0; }
	END
	# shellcheck disable=SC2016 # the dynamic linker's variable
	compile "$OUT/sixty.c" "$OUT/sixty" -Wl,--no-as-needed -L"$OUT/libs" \
		'-Wl,-rpath,$ORIGIN/libs' "${libs[@]}"
}

has_feature() {
	"$OUT/audit_program" feature
}

fill_audit_cache() {
	rm -rf "${OUT:?}/${TABLES:?}"
	"$SFRAME" cache --quiet --cache-dir "$OUT/$TABLES" "$OUT/audit_program" "$OUT/sixty" \
		"$OUT"/libs/*.so "$(realpath /lib64/ld-linux-x86-64.so.2)" \
		"$(ldconfig -p | sed -n 's/.*libc.so.6 (libc6,x86-64.* => //p' | head -n 1)"
}

audit() {
	LD_AUDIT=$AUDIT SFRAME_CACHE_DIR=$OUT/$TABLES "$@"
}

# same COMMAND...: it does and says the same with the library as without.
same() {
	local with=0 without=0

	"$@" > "$OUT/without.out" 2>&1 || without=$?
	audit "$@" > "$OUT/with.out" 2>&1 || with=$?
	[ $with = $without ]
	cmp "$OUT/without.out" "$OUT/with.out"
}

# tables COUNT COMMAND...: that many are mapped.
tables() {
	local want=$1 got

	shift
	got=$("$@" "$OUT/audit_program" tables "$OUT/$TABLES")
	[ "$got" = "$want" ] || {
		echo "$got tables instead of $want"
		return 1
	}
}

library_has_no_tls_and_needs_none() {
	readelf -lW "$AUDIT" > "$OUT/audit.phdr"
	readelf -dW "$AUDIT" > "$OUT/audit.dynamic"
	has "$OUT/audit.phdr" GNU_STACK
	lacks "$OUT/audit.phdr" TLS
	lacks "$OUT/audit.phdr" RWE
	lacks "$OUT/audit.dynamic" NEEDED
	[ -z "$(nm -D --undefined-only "$AUDIT")" ]
}

programs_run_as_without() {
	same true
	same false
	same python3 -c 'import ctypes, json, subprocess; print(subprocess.call(["true"]))'
	# shellcheck disable=SC2016 # the inner shell's
	same sh -c 'echo $0 | cat; exit 5' x
	# A shell within tells of the signal.
	same sh -c 'sh -c "kill -TERM \$\$"; echo $?'
	same "$OUT/sixty"
}

tables_are_mapped() {
	tables 3 audit
	tables 0 audit env SFRAME_AUDIT=off
	tables 3 "$SFRAME" run --cache-dir "$OUT/$TABLES"
}

# It is the dynamic linker that unloads the library, as soon as it can.
library_goes_where_it_is_of_no_use() {
	local got

	got=$(audit env SFRAME_AUDIT=off "$OUT/audit_program" tables libsframe-audit)
	[ "$got" = 0 ]
	has_feature || [ "$(audit "$OUT/audit_program" tables libsframe-audit)" = 0 ]
}

dlopen_maps_and_dlclose_unmaps() {
	[ "$(audit "$OUT/audit_program" dlopen "$OUT/libs/libl1.so" "$DLOPENS" \
		"$OUT/$TABLES")" = "3 4 3 ENOENT" ]
	# libl1, which needs no libc
	[ "$(audit "$OUT/audit_program" dlmopen "$OUT/libs/libl1.so" "$OUT/$TABLES")" = "4 3" ]
}

forked_processes_load_on() {
	[ "$(audit "$OUT/audit_program" fork "$OUT/libs/libl1.so" 5 "$OUT/$TABLES")" = 4 ]
}

# each_table COMMAND...: with the name of each at its end.
each_table() {
	find "$OUT/$TABLES" -type f -exec "$@" {} +
}

bad_tables_are_ignored() {
	each_table chmod 666
	tables 0 audit
	each_table chmod 644
	tables 3 audit
	if [ "$(id -u)" = 0 ]; then
		each_table chown 65534
		tables 0 audit
		each_table chown 0
	fi
	each_table truncate -s -1
	tables 0 audit
	each_table truncate -s 100
	tables 0 audit
	each_table truncate -s 100000
	tables 0 audit
	each_table rm
	tables 0 audit
	same true
	rm -r "${OUT:?}/$TABLES"
	same true
	tables 0 audit
	fill_audit_cache
	# Tables of another program.
	"$SFRAME" gen --quiet --output "$OUT/other" /usr/bin/xz
	find "$OUT/$TABLES" -type f -exec cp "$OUT/other" {} \;
	tables 0 audit
	rm -r "${OUT:?}/$TABLES"
	fill_audit_cache
}

# libc's, which each program maps.
damaged_tables_do_no_harm() {
	local seed table

	table=$(find "$OUT/$TABLES" -type f -printf '%s %p\n' | sort -n | tail -n 1 |
		cut -d ' ' -f 2-)
	cp "$table" "$OUT/undamaged"
	for ((seed = 1; seed <= 30; seed++)); do
		echo "seed $seed"
		"$HERE/mutate.py" $seed "$OUT/undamaged" "$table"
		same true
	done
	cp "$OUT/undamaged" "$table"
}

filters_are_survived() {
	same "$OUT/audit_program" filter "$OUT/libs/libl2.so"
	same "$OUT/audit_program" strict
}

# filtered COMMAND...: where prctl() kills
filtered() {
	"$OUT/audit_program" filtered "$@"
}

inherited_filter_is_seen() {
	status 0 filtered env LD_AUDIT="$AUDIT" SFRAME_CACHE_DIR="$OUT/$TABLES" true
	status 159 filtered env LD_AUDIT="$AUDIT" SFRAME_CACHE_DIR="$OUT/$TABLES" \
		SFRAME_AUDIT=seccomp true
}

# What the dynamic linker says where the library is not: a chroot, a container.
missing_library_is_told() {
	status 0 env LD_AUDIT=/no/such/libsframe-audit.so true 2> "$OUT/missing.err"
	has "$OUT/missing.err" "ERROR: ld.so: object '/no/such/libsframe-audit.so'"
	has "$OUT/missing.err" "cannot be loaded as audit interface"
}

set_user_id_ignores_it() {
	local tmp

	tmp=$(mktemp -d)
	chmod 755 "$tmp"
	cp "$OUT/audit_program" "$tmp/set-user-id"
	chmod 4755 "$tmp/set-user-id"
	[ "$(audit setpriv --reuid 65534 --regid 65534 --clear-groups "$tmp/set-user-id" \
		tables libsframe-audit)" = 0 ]
	rm -r "$tmp"
}

# largest_static_tls COMMAND...: bytes of it that a library can still get.
largest_static_tls() {
	local size

	for ((size = 256; size <= 8192; size += 256)); do
		[ -e "$OUT/libs/tls$size" ] || gcc -shared -fPIC -ftls-model=initial-exec \
			-o "$OUT/libs/tls$size" -x c - \
			<<< "__thread char t[$size]; char *f(void) { return t; }"
		"$@" "$OUT/audit_program" load "$OUT/libs/tls$size" 2> "$OUT/null" || break
	done
	echo $size
}

static_tls_is_left() {
	local with without

	without=$(largest_static_tls env)
	with=$(largest_static_tls audit)
	echo "static TLS: up to $without without, $with with the library"
	[ "$with" -ge "$without" ]
}

build_static_programs() {
	local kind

	# dlopen() in a static program is what the linker warns of.
	for kind in -static -static-pie; do
		compile "$HERE/audit_program.c" "$OUT/static$kind" $kind 2> "$OUT/static.warnings"
	done
}

static_programs_run() {
	local kind

	for kind in -static -static-pie; do
		"$SFRAME" cache --quiet --cache-dir "$OUT/$TABLES" "$OUT/static$kind"
		status 2 "$SFRAME" run --quiet "$OUT/static$kind" nonsense
	done
	status 127 "$SFRAME" run /no/such/program
	status 126 "$SFRAME" run /etc/passwd
}

static_programs_have_tables() {
	local kind

	for kind in -static -static-pie; do
		[ "$("$SFRAME" run --cache-dir "$OUT/$TABLES" "$OUT/static$kind" \
			tables "$OUT/$TABLES")" = 1 ]
		[ "$("$SFRAME" run "$OUT/static$kind" tables sframe-run)" = 1 ]
		# shellcheck disable=SC2016 # the inner shell's
		status 137 bash -c '"$1" run "$2" spin 20 & sleep 0.5; kill -KILL $!; wait $!' \
			x "$SFRAME" "$OUT/static$kind"
		[ "$(SFRAME_AUDIT=off "$SFRAME" run --cache-dir "$OUT/$TABLES" \
			"$OUT/static$kind" tables "$OUT/$TABLES")" = 0 ]
	done
}

# static_tables: how many of the cache a static program has, and how many made for it
static_tables() {
	echo "$("$SFRAME" run --cache-dir "$OUT/$TABLES" "$OUT/static-static" \
		tables "$OUT/$TABLES")" "$("$SFRAME" run --cache-dir "$OUT/$TABLES" \
		"$OUT/static-static" tables sframe-run)"
}

static_programs_take_no_table_of_others() {
	[ "$(static_tables)" = "1 0" ]
	each_table chmod 666
	[ "$(static_tables)" = "0 1" ]
	each_table chmod 644
	if [ "$(id -u)" = 0 ]; then
		each_table chown 65534
		[ "$(static_tables)" = "0 1" ]
		each_table chown 0
	fi
	# A number of segments that is more than there is room for.
	# shellcheck disable=SC2016 # the inner shell's
	each_table sh -c 'for f; do printf "\377\377\377\377" |
		dd bs=1 seek=44 conv=notrunc status=none of="$f"; done' x
	[ "$(static_tables)" = "0 1" ]
	rm -r "${OUT:?}/$TABLES"
	fill_audit_cache
}

static_programs_are_not_killed_by_filters() {
	local count_none=("$OUT/static-static" tables /no/such/table)

	[ "$(filtered "$SFRAME" run "${count_none[@]}" 2> "$OUT/filtered.err")" = 0 ]
	has "$OUT/filtered.err" "a seccomp filter might kill it for prctl(); it runs without"
	[ "$(filtered env SFRAME_AUDIT=off "$SFRAME" run "${count_none[@]}" \
		2> "$OUT/filtered.err")" = 0 ]
	[ ! -s "$OUT/filtered.err" ]
	status 159 filtered env SFRAME_AUDIT=seccomp "$SFRAME" run "${count_none[@]}"
}

# Who is traced at exec gets none of the rights that the file gives.
static_programs_keep_capabilities() {
	local tmp user=(setpriv --reuid 65534 --regid 65534 --clear-groups)

	tmp=$(mktemp -d)
	chmod 755 "$tmp"
	cp "$SFRAME" "$tmp/sframe"
	cp "$OUT/static-static" "$tmp/program"
	# cap_net_raw, permitted and effective
	python3 -c 'import os, struct, sys
os.setxattr(sys.argv[1], "security.capability", struct.pack("<5I", 0x2000001, 1 << 13, 0, 0, 0))' \
		"$tmp/program"
	[ "$("${user[@]}" "$tmp/program" status CapEff)" = 0000000000002000 ]
	[ "$("${user[@]}" "$tmp/sframe" run "$tmp/program" status CapEff 2> "$OUT/cap.err")" = \
		0000000000002000 ]
	# It is left alone, whatever the kernel can do.
	[ ! -s "$OUT/cap.err" ]
	rm -r "$tmp"
}

# try_with_tables NAME FUNCTION: without them it would prove nothing.
try_with_tables() {
	if has_feature; then
		try "$@"
	else
		skip "$1" "the kernel takes no tables"
	fi
}

audit_cases() {
	try audit-program compile "$HERE/audit_program.c" "$OUT/audit_program"
	try audit-libraries build_libraries
	try audit-cache fill_audit_cache
	try audit-no-tls library_has_no_tls_and_needs_none
	try audit-programs programs_run_as_without
	try_with_tables audit-tables tables_are_mapped
	try audit-unloaded library_goes_where_it_is_of_no_use
	try_with_tables audit-dlopen dlopen_maps_and_dlclose_unmaps
	try_with_tables audit-fork forked_processes_load_on
	try_with_tables audit-bad-tables bad_tables_are_ignored
	try_with_tables audit-damaged-tables damaged_tables_do_no_harm
	try_with_tables audit-seccomp filters_are_survived
	try audit-seccomp-inherited inherited_filter_is_seen
	try audit-missing-library missing_library_is_told
	if [ "$(id -u)" = 0 ]; then
		try_with_tables audit-set-user-id set_user_id_ignores_it
	else
		skip audit-set-user-id "needs root"
	fi
	try_with_tables audit-static-tls static_tls_is_left
	try run-static-programs build_static_programs
	try run-static static_programs_run
	try_with_tables run-static-tables static_programs_have_tables
	try_with_tables run-static-bad-tables static_programs_take_no_table_of_others
	try run-static-seccomp static_programs_are_not_killed_by_filters
	try_as_root run-static-capabilities static_programs_keep_capabilities
}
