# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Cases of run.sh: sframe doctor checks the tables of files.
# shellcheck disable=SC2154 # OUT, HERE and CHECKED: run.sh; KERNEL and others: doctor.sh

missing_table_is_told() {
	local remedy

	make_kernel
	make_program
	status 1 doctor "$OUT/doctor-program"
	has "$OUT/doctor.out" "problem  $OUT/doctor-program: it has no table; make it: "
	[ "$(tail -n 1 "$OUT/doctor.out")" = "1 problem." ]
	# The printed remedy works.
	remedy=$(sed -n 's/.*make it: sframe //p' "$OUT/doctor.out")
	# shellcheck disable=SC2086 # words
	"$CHECKED" $remedy
	status 0 doctor "$OUT/doctor-program"
	has "$OUT/doctor.out" "ok       $OUT/doctor-program: it has a table in the path"
}

refused_table_is_told() {
	local table

	make_kernel
	make_program
	fill "$OUT/doctor-program"
	table=$(find "$TABLES" -path '*/??/*.v4')
	chmod 664 "$table"
	status 1 doctor "$OUT/doctor-program"
	has "$OUT/doctor.out" "a table that the kernel refuses: others than root may write to it"
	chmod 644 "$table"
	chown 65534 "$table"
	status 1 doctor "$OUT/doctor-program"
	has "$OUT/doctor.out" "a table that the kernel refuses: its owner is not root; make it again"
	chown 0 "$table"
	cp "$table" "$table.good"
	truncate -s -1 "$table"
	status 1 doctor "$OUT/doctor-program"
	has "$OUT/doctor.out" "the table lies beyond the end of the file"
	cp "$table.good" "$table"
	printf '\377' | dd of="$table" bs=1 seek=$((4096 + 28)) conv=notrunc status=none
	status 1 doctor "$OUT/doctor-program"
	has "$OUT/doctor.out" "a table that the kernel refuses: the table is damaged; make it again"
	mv "$table.good" "$table.real"
	ln -sf "${table##*/}.real" "$table"
	status 1 doctor "$OUT/doctor-program"
	has "$OUT/doctor.out" "it is a link or no regular file"
	fill "$OUT/doctor-program"
	status 0 doctor "$OUT/doctor-program"
	chmod 664 "$table"
	# The first directory decides, even if the second has a good table.
	mkdir -p "$OUT/doctor-second"
	"$CHECKED" cache --quiet --cache-dir "$OUT/doctor-second" "$OUT/doctor-program"
	echo "$TABLES:$OUT/doctor-second" > "$SYSCTL"
	status 1 doctor "$OUT/doctor-program"
	has "$OUT/doctor.out" "; make it again: sframe cache --cache-dir $TABLES "
	rm "$table"
	status 0 doctor "$OUT/doctor-program"
}

# The kernel compares the build-id and the layout only.
table_of_a_forged_file_is_told() {
	local remedy

	make_kernel
	python3 "$HERE/forge.py" /usr/bin/xz "$OUT/doctor-forged"
	chmod 755 "$OUT/doctor-forged"
	chown 65534 "$OUT/doctor-forged"
	fill "$OUT/doctor-forged"
	status 1 doctor "$OUT/doctor-forged"
	has "$OUT/doctor.out" "ok       $OUT/doctor-forged: it has a table in the path"
	status 1 doctor /usr/bin/xz
	has "$OUT/doctor.out" "problem  /usr/bin/xz: it has a table that was made from another file with its build-id; make it again: "
	remedy=$(sed -n 's/.*make it again: sframe //p' "$OUT/doctor.out")
	# shellcheck disable=SC2086 # words
	"$CHECKED" $remedy
	status 1 doctor /usr/bin/xz
	has "$OUT/doctor.out" "ok       /usr/bin/xz: it has a table in the path"
	status 1 doctor "$OUT/doctor-forged"
	has "$OUT/doctor.out" "problem  $OUT/doctor-forged: it has a table that was made from another file"
}

# Two programs with one build-id
table_of_another_layout_is_not_taken() {
	make_kernel
	make_twins
	fill "$OUT/twins/1"
	status 1 doctor "$OUT/twins/2"
	has "$OUT/doctor.out" "problem  $OUT/twins/2: it has no table"
	fill "$OUT/twins/2"
	status 1 doctor "$OUT"/twins/{1,2,3}
	has "$OUT/doctor.out" "ok       $OUT/twins/1: it has a table in the path"
	has "$OUT/doctor.out" "ok       $OUT/twins/2: it has a table in the path"
	has "$OUT/doctor.out" "problem  $OUT/twins/3: it has no table"
}

# A program without a build-id
headers_name_a_table() {
	make_kernel
	echo 'int main(void) { return 0; }' > "$OUT/doctor-no-id.c"
	gcc -O2 -static -Wl,--build-id=none -o "$OUT/doctor-no-id" "$OUT/doctor-no-id.c"
	status 1 doctor "$OUT/doctor-no-id"
	has "$OUT/doctor.out" "problem  $OUT/doctor-no-id: it has no table"
	fill "$OUT/doctor-no-id"
	doctor "$OUT/doctor-no-id" || [ "$(id -u)" != 0 ]
	has "$OUT/doctor.out" "ok       $OUT/doctor-no-id: it has a table in the path"
}

files_that_get_no_table_are_told() {
	make_kernel
	printf '%s\n' '.globl _start' '_start: ret' > "$OUT/doctor-bare.s"
	as -o "$OUT/doctor-bare.o" "$OUT/doctor-bare.s"
	ld --build-id -o "$OUT/doctor-no-frames" "$OUT/doctor-bare.o"
	status 1 doctor "$OUT/doctor-no-frames"
	has "$OUT/doctor.out" "it has no .eh_frame to make a table from, and its code cannot be followed; compile it"
	as --32 -o "$OUT/doctor-bare.o" "$OUT/doctor-bare.s"
	ld -m elf_i386 -o "$OUT/doctor-32" "$OUT/doctor-bare.o"
	status 1 doctor "$OUT/doctor-32"
	has "$OUT/doctor.out" "it is 32-bit code, which SFrame does not support; run a 64-bit build"
}

own_table_is_seen() {
	make_kernel
	cp "$OUT/doctor-own" "$OUT/doctor-own.cut"
	status 0 doctor "$OUT/doctor-own"
	has "$OUT/doctor.out" "ok       $OUT/doctor-own: it has a table of its own"
	# Damage the version, which follows two bytes of magic.
	printf '\11' | dd bs=1 conv=notrunc status=none of="$OUT/doctor-own.cut" \
		seek=$((0x$(readelf -lW "$OUT/doctor-own" |
			sed -nE 's/.*SFRAME +0x(\S+).*/\1/p') + 2))
	status 1 doctor "$OUT/doctor-own.cut"
	has "$OUT/doctor.out" "its own table is damaged: a version of SFrame that is neither 2 nor 3; make one for the path: sframe cache --cache-dir $TABLES $OUT/doctor-own.cut"
}

# functions COUNT NAME SECTIONS: print functions that SECTIONS describe.
functions() {
	local number

	echo ".cfi_sections $3"
	for ((number = 0; number < $1; number++)); do
		printf '%s\n' ".globl $2$number" ".type $2$number, @function" \
			"$2$number: .cfi_startproc" 'push %rax' '.cfi_def_cfa_offset 16' \
			'pop %rax' '.cfi_def_cfa_offset 8' ret .cfi_endproc
	done
}

# library FILE FLAGS COUNT SECTIONS [COUNT SECTIONS]: make a library of one or two objects.
library() {
	local file=$1 flags=$2 part=0 objects=()

	shift 2
	while [ $# != 0 ]; do
		part=$((part + 1))
		functions "$1" "f${part}_" "$2" > "$file.s"
		as -o "$file.$part.o" "$file.s"
		objects+=("$file.$part.o")
		shift 2
	done
	# shellcheck disable=SC2086 # words
	ld -shared --no-ld-generated-unwind-info $flags -o "$file" "${objects[@]}"
	chmod 755 "$file"
}

# "All is well" would be wrong: the kernel has no table for the other functions.
partial_own_table_is_told() {
	local file=$OUT/doctor-partial remedy

	make_kernel
	library "$file" --build-id 5 '.eh_frame, .sframe' 2 .eh_frame
	status 1 doctor "$file"
	has "$OUT/doctor.out" "problem  $file: its own table is partial: 5 of 7 functions; make one for the path: sframe cache --cache-dir $TABLES $file"
	[ "$(tail -n 1 "$OUT/doctor.out")" = "1 problem." ]
	library "$file" --build-id=none 5 '.eh_frame, .sframe' 2 .eh_frame
	status 1 doctor "$file"
	has "$OUT/doctor.out" "5 of 7 functions; make one for the path: sframe cache"
	library "$file" --build-id 5 '.eh_frame, .sframe' 2 '.eh_frame, .sframe'
	status 0 doctor "$file"
	has "$OUT/doctor.out" "ok       $file: it has a table of its own"
	# The remedy works.
	library "$file" --build-id 5 '.eh_frame, .sframe' 2 .eh_frame
	status 1 doctor "$file"
	remedy=$(sed -n 's/.*make one for the path: sframe //p' "$OUT/doctor.out")
	# shellcheck disable=SC2086 # words
	"$CHECKED" $remedy
	[ "$(id -u)" = 0 ] || return 0
	status 0 doctor "$file"
	has "$OUT/doctor.out" "ok       $file: it has a table in the path, which comes before its own"
}

large_own_table_is_told() {
	local file=$OUT/doctor-large size

	make_kernel
	library "$file" --build-id 1600 .sframe
	size=$(($(own_header 5 "$file")))
	[ $size -gt 32768 ]
	status 1 doctor "$file"
	has "$OUT/doctor.out" "problem  $file: its own table is too large: $(((size + 1023) / 1024)) KiB, and the kernel reads at most 32 KiB of an object; make one for the path as root: sframe cache --cache-dir $TABLES $file"
	fill "$file"
	[ "$(id -u)" != 0 ] || {
		status 0 doctor "$file"
		has "$OUT/doctor.out" ", which comes before its own"
	}
	library "$file" --build-id=none 1600 .sframe
	status 1 doctor "$file"
	has "$OUT/doctor.out" "; make one for the path as root: sframe cache"
	# Up to the limit, it is read: a function takes 20 bytes and three rows of 3 bytes.
	library "$file" --build-id $(((32768 - 28) / 29)) .sframe
	[ $(($(own_header 5 "$file"))) -le 32768 ]
	status 0 doctor "$file"
	has "$OUT/doctor.out" "ok       $file: it has a table of its own"
	# 17 MiB of code
	rm -rf "${TABLES:?}"/*
	library "$file" --build-id 2 .sframe
	printf '%s\n' '.text' '.skip 17 << 20' > "$file.s"
	as -o "$file.2.o" "$file.s"
	ld -shared --no-ld-generated-unwind-info --build-id -o "$file" "$file.1.o" "$file.2.o"
	chmod 755 "$file"
	status 1 doctor "$file"
	has "$OUT/doctor.out" "too large: for 18 MiB of code, and the kernel reads those for at most 16 MiB"
}

# Assemblers before binutils 2.44, and linkers without SFrame, make no table.
has_own_table() {
	echo 'int main(void) { return 0; }' |
		gcc -O2 -nostdlib -nostartfiles -Wl,-emain -static -Wa,--gsframe -Wl,--build-id \
			-o "$OUT/doctor-own" -x c - 2> "$OUT/null" &&
		readelf -lW "$OUT/doctor-own" | grep -q SFRAME
}
