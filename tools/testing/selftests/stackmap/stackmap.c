// SPDX-License-Identifier: GPL-2.0-only
/*
 * BPF_MAP_TYPE_STACK_TRACE: what goes in comes out.
 *
 * A stack's frames spell a number: descend() calls itself from one of two places
 * for each bit.  So there are as many different stacks as one likes, and each can
 * be told from its frames.
 *
 * usage: stackmap            the tests
 *        stackmap --bench    what an insertion and a hit cost, see the output
 *        stackmap --lost N   put N stacks into a map of N entries, and tell
 */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "kselftest.h"
#include "stackmap.skel.h"

#define MAX_FRAMES	2048
#define BITS		17

static struct stackmap_bpf *skel;
/* The two return addresses in descend(), by bit */
static __u64 return_to[2];

/* A leaf without a frame of its own: frame 0 is in descend(). */
static inline __attribute__((always_inline)) void trap(void)
{
	long ret;

	asm volatile("syscall" : "=a"(ret) : "0"(SYS_getpgid), "D"(0)
		     : "rcx", "r11", "memory");
}

static __attribute__((noinline, noclone)) void descend(unsigned int number,
						       unsigned int bits)
{
	if (!bits) {
		trap();
		asm volatile("");
		return;
	}
	if (number & 1) {
		descend(number >> 1, bits - 1);
		asm volatile("nop");
	} else {
		descend(number >> 1, bits - 1);
		asm volatile("nop; nop");
	}
}

/* The id of the stack that spells @number, or what the helper returned. */
static long take(unsigned int number, unsigned int bits)
{
	skel->bss->last_id = -EPERM;
	descend(number, bits);
	return skel->bss->last_id;
}

static int map_fd(void)
{
	return bpf_map__fd(skel->maps.stacks);
}

/* The number that a stack spells, or -1. */
static long spelt(const __u64 *ip, unsigned int bits)
{
	long number = 0;

	/* The innermost call is the last bit. */
	for (unsigned int i = 1; i <= bits; i++) {
		if (ip[i] != return_to[0] && ip[i] != return_to[1])
			return -1;
		number = number << 1 | (ip[i] == return_to[1]);
	}
	return number;
}

static long read_number(__u32 id, unsigned int bits)
{
	static __thread __u64 ip[MAX_FRAMES];
	int err = bpf_map_lookup_elem(map_fd(), &id, ip);

	return err ? err : spelt(ip, bits);
}

/* Load the programs for test_nested() instead of the usual one. */
static bool nesting;

static bool load(__u32 max_entries, __u32 depth, __u32 map_flags)
{
	__u64 ip[MAX_FRAMES];
	__u32 id;
	int err;

	skel = stackmap_bpf__open();
	if (!skel)
		return false;
	bpf_program__set_autoload(skel->progs.outer, nesting);
	bpf_program__set_autoload(skel->progs.inner, nesting);
	bpf_program__set_autoload(skel->progs.take_stack, !nesting);
	bpf_map__set_max_entries(skel->maps.stacks, max_entries);
	bpf_map__set_value_size(skel->maps.stacks, depth * sizeof(__u64));
	bpf_map__set_map_flags(skel->maps.stacks, map_flags);
	err = stackmap_bpf__load(skel) ?: stackmap_bpf__attach(skel);
	if (err) {
		stackmap_bpf__destroy(skel);
		return false;
	}
	skel->bss->pid = getpid();
	skel->bss->flags = BPF_F_USER_STACK;
	if (nesting)
		return true;

	for (int bit = 0; bit < 2; bit++) {
		id = take(bit, 1);
		if (bpf_map_lookup_elem(map_fd(), &id, ip) ||
		    bpf_map_delete_elem(map_fd(), &id))
			return false;
		return_to[bit] = ip[1];
	}
	skel->bss->taken = 0;
	return return_to[0] != return_to[1];
}

static void unload(void)
{
	stackmap_bpf__destroy(skel);
}

/* A counter of fdinfo; -1: there is none. */
static long counter(const char *name)
{
	char path[64], line[128];
	size_t len = strlen(name);
	long value = -1;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", map_fd());
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, name, len) && line[len] == ':')
			value = atol(line + len + 1);
	if (file)
		fclose(file);
	return value;
}

/* Stacks of @n that do not come out; @wrong: those that come out as another one. */
static unsigned int lost(unsigned int n, unsigned int *wrong)
{
	long *ids = calloc(n, sizeof(*ids)), number;
	unsigned int missing = 0;

	*wrong = 0;
	for (unsigned int i = 0; i < n; i++)
		ids[i] = take(i, BITS);
	for (unsigned int i = 0; i < n; i++) {
		number = ids[i] < 0 ? -ENOENT : read_number(ids[i], BITS);
		if (number == -ENOENT)
			missing++;
		else if (number != i)
			++*wrong;
	}
	free(ids);
	return missing;
}

static void test_capacity(unsigned int n)
{
	unsigned int missing, wrong;
	long beyond;

	if (!load(n, 127, 0)) {
		ksft_test_result_fail("capacity %u: load\n", n);
		return;
	}
	missing = lost(n, &wrong);
	beyond = take(n, BITS);
	ksft_print_msg("%u stacks into %u entries: %u lost, %u wrong, memory %ld\n",
		       n, n, missing, wrong, counter("memlock"));
	ksft_test_result(!missing && !wrong && beyond == -ENOMEM,
			 "capacity: %u stacks into as many entries\n", n);
	ksft_test_result(counter("stacks") == n && counter("stacks_lost_full") == 1,
			 "capacity: fdinfo tells\n");
	unload();
}

static void test_ids(void)
{
	long id, other, ids[2];
	__u32 key;

	if (!load(64, 127, BPF_F_NO_PREALLOC)) {
		ksft_test_result_fail("ids: load\n");
		return;
	}
	/* From one place, so no unrolling: the stack goes on behind descend(). */
	for (volatile int i = 0; i < 2; i++)
		ids[i] = take(5, BITS);
	id = ids[0];
	ksft_test_result(id >= 0 && ids[1] == id && read_number(id, BITS) == 5 &&
			 read_number(id, BITS) == 5, "ids: the same stack, the same id\n");
	key = id;
	ksft_test_result(!bpf_map_delete_elem(map_fd(), &key) &&
			 read_number(id, BITS) == -ENOENT &&
			 bpf_map_delete_elem(map_fd(), &key) == -ENOENT,
			 "ids: a deleted one is gone\n");
	for (unsigned int i = 0; i < 1000; i++) {
		other = take(6, BITS);
		key = other;
		if (other < 0 || other == id || bpf_map_delete_elem(map_fd(), &key))
			break;
		if (read_number(id, BITS) != -ENOENT) {
			other = -1;
			break;
		}
	}
	ksft_test_result(other >= 0 && other != id, "ids: an old one is no other stack\n");
	unload();
}

static void test_reuse(void)
{
	unsigned int wrong = 0, there = 0;
	long ids[1000];

	if (!load(64, 127, 0)) {
		ksft_test_result_fail("reuse: load\n");
		return;
	}
	skel->bss->flags = BPF_F_USER_STACK | BPF_F_REUSE_STACKID;
	for (unsigned int i = 0; i < 1000; i++)
		ids[i] = take(i, BITS);
	for (unsigned int i = 0; i < 1000; i++) {
		long number = ids[i] < 0 ? -EIO : read_number(ids[i], BITS);

		there += number == i;
		wrong += number != i && number != -ENOENT;
	}
	ksft_test_result(there == 64 && !wrong, "reuse: 64 of 1000 are there, none is wrong\n");
	unload();
}

static void test_iteration(void)
{
	static __u64 values[300][127];
	__u32 keys[300], key, next, batch, count = 100, seen = 0;
	unsigned int bad = 0;
	int err;

	if (!load(256, 127, 0)) {
		ksft_test_result_fail("iteration: load\n");
		return;
	}
	for (unsigned int i = 0; i < 256; i++)
		bad += take(i, BITS) < 0;
	err = bpf_map_lookup_batch(map_fd(), NULL, &batch, keys, values, &count, NULL);
	seen = count;
	while (!err && seen < 300) {
		count = 300 - seen;
		err = bpf_map_lookup_batch(map_fd(), &batch, &batch, keys + seen,
					   values + seen, &count, NULL);
		seen += count;
	}
	for (unsigned int i = 0; i < seen; i++)
		bad += spelt(values[i], BITS) < 0 || spelt(values[i], BITS) > 255;
	ksft_test_result(err == -ENOENT && seen == 256 && !bad, "iteration: batch lookup\n");

	err = bpf_map_get_next_key(map_fd(), NULL, &next);
	for (seen = 0; !err; seen++) {
		key = next;
		bad += bpf_map_delete_elem(map_fd(), &key);
		err = bpf_map_get_next_key(map_fd(), &key, &next);
	}
	ksft_test_result(seen == 256 && !bad && counter("stacks") == 0,
			 "iteration: goes on when its key is deleted\n");

	for (unsigned int i = 0; i < 256; i++)
		bad += take(i, BITS) < 0;
	count = 300;
	err = bpf_map_lookup_and_delete_batch(map_fd(), NULL, &batch, keys, values,
					      &count, NULL);
	for (unsigned int i = 0; i < count; i++)
		bad += spelt(values[i], BITS) < 0;
	ksft_test_result(err == -ENOENT && count == 256 && !bad && counter("stacks") == 0,
			 "iteration: batch lookup and deletion\n");
	key = take(9, BITS);
	ksft_test_result(!bpf_map_lookup_and_delete_elem(map_fd(), &key, values[0]) &&
			 spelt(values[0], BITS) == 9 && counter("stacks") == 0,
			 "lookup and deletion of one\n");
	unload();
}

static void test_deep(void)
{
	static __u64 ip[1024];
	unsigned int n = 0;
	__u32 id;

	if (!load(64, 1024, 0)) {
		ksft_test_result_fail("deep: load\n");
		return;
	}
	id = take(0, 900);
	if (!bpf_map_lookup_elem(map_fd(), &id, ip))
		while (n < 1024 && ip[n])
			n++;
	ksft_print_msg("deep: %u frames, sysctl as it is\n", n);
	ksft_test_result(n > 900 && spelt(ip, 900) == 0, "deep: 900 frames\n");
	take(0, 1100);
	ksft_test_result(counter("stacks_truncated") == 1, "deep: truncation is counted\n");
	unload();
}

/* Readers of one id, and a writer of others. */
static volatile bool stop_readers;
static __u32 read_id;
static unsigned long nr_reads, nr_misses;

static void *reader(void *unused)
{
	unsigned long reads = 0, misses = 0;

	while (!stop_readers) {
		misses += read_number(read_id, BITS) != 77;
		reads++;
	}
	__atomic_fetch_add(&nr_reads, reads, __ATOMIC_RELAXED);
	__atomic_fetch_add(&nr_misses, misses, __ATOMIC_RELAXED);
	return unused;
}

static void test_readers(void)
{
	pthread_t threads[2];

	if (!load(4096, 127, 0)) {
		ksft_test_result_fail("readers: load\n");
		return;
	}
	read_id = take(77, BITS);
	nr_reads = 0;
	nr_misses = 0;
	stop_readers = false;
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, reader, NULL);
	for (unsigned int round = 0; round < 200; round++)
		for (unsigned int i = 1000; i < 1200; i++)
			take(i, BITS);
	stop_readers = true;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	ksft_print_msg("readers: %lu of %lu lookups missed\n", nr_misses, nr_reads);
	ksft_test_result(nr_reads > 100 && !nr_misses, "readers: no lookup misses\n");
	unload();
}

/*
 * A program on a function that is called between the walk and the end of the
 * insertion walks the kernel's stack; the user's stack must get into the map.
 */
static void test_nested(void)
{
	static const char *const between[] = {
		"bpf_stack_table_get", "pcpu_freelist_pop",
	};
	struct bpf_link *link = NULL;
	unsigned int wrong = 0;
	__u64 before;

	nesting = true;
	if (!load(1024, 127, 0)) {
		ksft_test_result_fail("nested: load\n");
		goto out;
	}
	for (size_t i = 0; i < 2 && !link; i++)
		link = bpf_program__attach_kprobe(skel->progs.inner, false, between[i]);
	before = skel->bss->nested;
	for (unsigned int i = 0; i < 100; i++) {
		descend(i, BITS);
		if (skel->bss->outer_id >= 0)
			wrong += read_number(skel->bss->outer_id, BITS) != i;
	}
	ksft_print_msg("nested: %llu walks within, %u of 100 stacks are not what was taken\n",
		       skel->bss->nested - before, wrong);
	ksft_test_result(link && skel->bss->nested - before >= 50 && !wrong,
			 "nested: an inner walk leaves the outer stack alone\n");
	bpf_link__destroy(link);
	unload();
out:
	nesting = false;
}

static int compare(const void *a, const void *b)
{
	__u64 x = *(const __u64 *)a, y = *(const __u64 *)b;

	return x < y ? -1 : x > y;
}

/* Median cost of bpf_get_stackid() for stacks of about @depth frames. */
static void bench_depth(unsigned int depth, bool hit, bool fast)
{
	enum { N = 201 };
	__u64 id[N], walk[N], empty[N];
	unsigned int lost = 0;

	/*
	 * First to know how deep it is, then into that room, so that there is
	 * nothing to clear; and one more, so that the walk finds its end.
	 */
	skel->bss->walk_size = 127 * sizeof(__u64);
	take(~0U, depth);
	skel->bss->walk_size = skel->bss->walked + sizeof(__u64);
	skel->bss->flags = BPF_F_USER_STACK | (fast ? BPF_F_FAST_STACK_CMP : 0);
	for (unsigned int i = 0; i < N; i++) {
		/* Numbers differ in their outer bits; those of hits do not. */
		lost += take(hit ? 1 : i, depth) < 0;
		id[i] = skel->bss->id_ns;
		walk[i] = skel->bss->walk_ns;
		empty[i] = skel->bss->empty_ns;
	}
	qsort(id, N, sizeof(*id), compare);
	qsort(walk, N, sizeof(*walk), compare);
	qsort(empty, N, sizeof(*empty), compare);
	printf("%-3s %-4s frames %3lu, stackid %5llu, walk %5llu, difference %5lld, lost %u\n",
	       hit ? "hit" : "new", fast ? "fast" : "", (unsigned long)skel->bss->walked / 8,
	       id[N / 2] - empty[N / 2], walk[N / 2] - empty[N / 2],
	       (long long)(id[N / 2] - walk[N / 2]), lost);
}

static int bench(void)
{
	static const unsigned int depths[] = { 8, 20, 60, 110 };

	for (size_t i = 0; i < ARRAY_SIZE(depths); i++) {
		if (!load(8192, 127, 0))
			return KSFT_FAIL;
		bench_depth(depths[i], false, false);
		bench_depth(depths[i], true, false);
		bench_depth(depths[i], true, true);
		unload();
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "--bench"))
		return bench();
	if (argc > 2 && !strcmp(argv[1], "--lost")) {
		unsigned int n = atoi(argv[2]), wrong, missing;

		if (!load(n, 127, 0))
			return KSFT_FAIL;
		missing = lost(n, &wrong);
		printf("%u stacks into %u entries: %u lost (%.1f %%), %u wrong, memory %ld\n",
		       n, n, missing, 100.0 * missing / n, wrong, counter("memlock"));
		unload();
		return 0;
	}
	ksft_print_header();
	ksft_set_plan(16);
	test_capacity(1024);
	test_capacity(16384);
	test_ids();
	test_reuse();
	test_iteration();
	test_deep();
	test_readers();
	test_nested();
	ksft_finished();
}
