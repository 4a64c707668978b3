#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Fuzz the readers of "sframe gen", "cache" and "check" with libFuzzer, ASan and UBSan,
# starting from a corpus of small programs, libraries and tables.
#
# usage: fuzz.sh OUT [SECONDS]
#
#   OUT       directory with the built tool; OUT/fuzz keeps the corpus
#   SECONDS   how long (30)
#   FUZZ_CC   a clang with libFuzzer (clang)
#   srctree   top of the tree, if it is not two levels up
#
# Fails on a crash, a leak, 2 seconds for one file, or 512 MB of memory.  It then keeps the
# file in OUT/fuzz, prints the command to run it again, and exits with 1.
set -euo pipefail

HERE=$(cd "$(dirname "$0")" && pwd -P)
export srctree=${srctree:-$(cd "$HERE/../.." && pwd -P)}
# Only libdw allocates more at a time, and it handles failure.  The tool itself exits without
# memory, which libFuzzer reports.
export ASAN_OPTIONS=quarantine_size_mb=8:max_allocation_size_mb=128:allocator_may_return_null=1
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1

# seed_program NAME FLAG...: compile the kernel tests' program to $seeds/NAME
seed_program() {
	local name=$1

	shift
	gcc -w -DCOMPILED_ONLY "$@" -o "$seeds/$name" "$srctree/tools/testing/sframe/program.c"
}

# Make programs of all sorts, small programs of the system, and tables.
make_seeds() {
	local seeds=$1 count=0 file

	seed_program O2 -O2
	seed_program plt -O2 -Wl,-z,lazy -fcf-protection=full -Wl,-z,ibtplt
	seed_program debug -Os -no-pie -fno-pie -g -gz=zlib -Wa,--gsframe
	seed_program drap -O2 -mavx2 -mstackrealign
	as -o "$seeds/rules.o" "$HERE/rules.s"
	ld -shared -o "$seeds/rules" "$seeds/rules.o"
	cp "$seeds/O2" "$seeds/stripped"
	strip --strip-section-headers "$seeds/stripped"
	{
		echo '.cfi_sections .debug_frame'
		"$HERE/random_rules.py" 1
	} | as -o "$seeds/frames.o" -
	ld -shared -o "$seeds/frames" "$seeds/frames.o"
	objcopy --compress-debug-sections=zlib "$seeds/frames" "$seeds/frames.z"
	# Files that are mostly .eh_frame
	for seed in 2 3; do
		"$HERE/random_rules.py" $seed | as -o "$seeds/random.o" -
		ld -shared -o "$seeds/random$seed" "$seeds/random.o"
	done
	while read -r file; do
		cp "$file" "$seeds/system.$count"
		count=$((count + 1))
	done < <(find /usr/bin /usr/lib -type f -size -40k \( -name '*.so*' -o -executable \) \
		-exec grep -lsq '^.ELF' {} \; -print | sort | head -n 40)
	for file in O2 rules drap; do
		"$OUT/sframe" gen -q -f v2 -o "$seeds/$file.v2" "$seeds/$file"
		"$OUT/sframe" gen -q -f v3 -o "$seeds/$file.v3" "$seeds/$file"
	done
}

main() {
	local dir status=0

	if [ $# = 0 ] || [ "$1" = --help ] || [ "$1" = -h ]; then
		sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$0"
		[ $# != 0 ] || exit 2
		return
	fi
	OUT=$(realpath -m "$1")
	dir=$OUT/fuzz
	mkdir -p "$dir/corpus" "$dir/seeds" "$dir/found"
	make -s -C "$HERE/.." O="$OUT" "$OUT/sframe" "$OUT/fuzz-file"
	make_seeds "$dir/seeds"
	"$OUT/fuzz-file" -max_total_time="${2:-30}" -timeout=2 -rss_limit_mb=512 -max_len=1048576 \
		-print_final_stats=1 -artifact_prefix="$dir/found/" \
		"$dir/corpus" "$dir/seeds" > "$dir/log" 2>&1 || status=1
	grep -E '^(stat::number_of_exec|stat::average_exec|stat::peak_rss|Done )' "$dir/log" || true
	[ $status = 0 ] || {
		grep -vE '^#[0-9]' "$dir/log" | tail -n 60
		for file in "$dir"/found/*; do
			echo "to see it again: ASAN_OPTIONS=$ASAN_OPTIONS $OUT/fuzz-file $file"
		done
	}
	return $status
}

main "$@"
