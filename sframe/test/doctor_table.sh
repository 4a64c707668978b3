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
	table=$(find "$TABLES" -name '*.v4')
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

# The kernel compares .eh_frame with the table only if others may write the file.
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
	has "$OUT/doctor.out" "a table that the kernel refuses: it was made from another .eh_frame"
}

files_that_get_no_table_are_told() {
	make_kernel
	echo 'int main(void) { return 0; }' > "$OUT/doctor-no-id.c"
	gcc -O2 -static -Wl,--build-id=none -o "$OUT/doctor-no-id" "$OUT/doctor-no-id.c"
	status 1 doctor "$OUT/doctor-no-id"
	has "$OUT/doctor.out" "it has no build-id of 2 to 20 bytes, so the kernel cannot find its table; link it"
	printf '%s\n' '.globl _start' '_start: ret' > "$OUT/doctor-bare.s"
	as -o "$OUT/doctor-bare.o" "$OUT/doctor-bare.s"
	ld --build-id -o "$OUT/doctor-no-frames" "$OUT/doctor-bare.o"
	status 1 doctor "$OUT/doctor-no-frames"
	has "$OUT/doctor.out" "it has no .eh_frame to make a table from; compile it"
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
	has "$OUT/doctor.out" "its own table is damaged"
}

# Assemblers before binutils 2.44, and linkers without SFrame, make no table.
has_own_table() {
	echo 'int main(void) { return 0; }' |
		gcc -O2 -nostdlib -nostartfiles -Wl,-emain -static -Wa,--gsframe -Wl,--build-id \
			-o "$OUT/doctor-own" -x c - 2> "$OUT/null" &&
		readelf -lW "$OUT/doctor-own" | grep -q SFRAME
}
