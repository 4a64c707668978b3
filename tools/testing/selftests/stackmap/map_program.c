// SPDX-License-Identifier: GPL-2.0
/*
 * bpf_get_stackid() as programs call it: ids, flags, errors, depth, and what runs in
 * between.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "map_lib.h"
#include "map_take.skel.h"

#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT 120

#define USER	BPF_F_USER_STACK

FIXTURE(map)
{
	struct stacks stacks;
};

FIXTURE_SETUP(map)
{
	ASSERT_EQ(0, stacks_open(&self->stacks, 1024, MAP_DEPTH, 0, 0));
}

FIXTURE_TEARDOWN(map)
{
	if (self->stacks.skel)
		stacks_close(&self->stacks);
}

TEST_F(map, same_stack_same_id)
{
	long first = stacks_take(&self->stacks, 0, 1, 20, USER);

	ASSERT_LE(0, first);
	for (int i = 0; i < 100; i++)
		ASSERT_EQ(first, stacks_take(&self->stacks, 0, 1, 20, USER));
}

/* A stack that is another's beginning is another stack. */
TEST_F(map, prefix_is_another_stack)
{
	uint64_t ips[MAP_DEPTH], value[MAP_DEPTH];
	uint32_t key;
	long ids[40], lost = 0;

	stacks_fill(ips, 1, 40);
	for (unsigned int depth = 2; depth < 40; depth++) {
		ids[depth] = stacks_take_ips(&self->stacks, 0, ips, depth, USER);
		if (ids[depth] == -EEXIST) {
			lost++;
			continue;
		}
		ASSERT_LE(0, ids[depth]);
		key = ids[depth];
		ASSERT_EQ(0, bpf_map_lookup_elem(self->stacks.fd, &key, value));
		EXPECT_EQ(0, memcmp(&value[1], &ips[1], (depth - 1) * sizeof(*ips)));
		EXPECT_EQ(0, value[depth]);
		for (unsigned int other = 2; other < depth; other++)
			EXPECT_NE(ids[other], ids[depth]);
	}
	ksft_print_msg("figure prefixes: %ld of 38 lost\n", lost);
	EXPECT_EQ(0, lost);
}

TEST_F(map, depth_2_to_127)
{
	uint32_t seed;

	for (unsigned int depth = 2; depth <= MAP_DEPTH; depth++) {
		long id = -EEXIST;

		/* The base: whichever finds a slot. */
		for (uint32_t try = 0; id == -EEXIST && try < 50; try++)
			id = stacks_take(&self->stacks, 0, depth + 1000 * try, depth, USER);
		ASSERT_LE(0, id) TH_LOG("depth %u", depth);
		ASSERT_EQ(0, stacks_read(&self->stacks, id, &seed)) TH_LOG("depth %u", depth);
		EXPECT_EQ(depth, seed % 1000);
	}
}

TEST_F(map, fast_compare_same_id)
{
	long id = stacks_take(&self->stacks, 0, 1, 20, USER);

	ASSERT_LE(0, id);
	EXPECT_EQ(id, stacks_take(&self->stacks, 0, 1, 20, USER | BPF_F_FAST_STACK_CMP));
}

TEST_F(map, fast_compare_inserts)
{
	uint32_t seed;
	long id = stacks_take(&self->stacks, 0, 1, 20, USER | BPF_F_FAST_STACK_CMP);

	ASSERT_LE(0, id);
	EXPECT_EQ(0, stacks_read(&self->stacks, id, &seed));
	EXPECT_EQ(1, seed);
	EXPECT_EQ(id, stacks_take(&self->stacks, 0, 1, 20, USER));
}

TEST_F(map, skip_leaves_out_the_innermost)
{
	uint64_t ips[MAP_DEPTH], value[MAP_DEPTH];

	stacks_fill(ips, 1, 30);
	for (unsigned int skip = 1; skip < 30; skip++) {
		long id = stacks_take_ips(&self->stacks, 0, ips, 30, USER | skip);
		uint32_t key = id;

		if (id == -EEXIST)
			continue;
		ASSERT_LE(0, id);
		ASSERT_EQ(0, bpf_map_lookup_elem(self->stacks.fd, &key, value));
		EXPECT_EQ(0, memcmp(value, &ips[skip], (30 - skip) * sizeof(*ips)));
		EXPECT_EQ(0, value[30 - skip]);
	}
}

TEST_F(map, skip_of_all_efault)
{
	EXPECT_EQ(-EFAULT, stacks_take(&self->stacks, 0, 1, 10, USER | 10));
	EXPECT_EQ(-EFAULT, stacks_take(&self->stacks, 0, 1, 10, USER | 255));
	EXPECT_LE(0, stacks_take(&self->stacks, 0, 1, 10, USER | 9));
}

TEST_F(map, unknown_flags_einval)
{
	for (unsigned int bit = 11; bit < 32; bit++)
		EXPECT_EQ(-EINVAL, stacks_take(&self->stacks, 0, 1, 10, USER | 1UL << bit));
}

TEST_F(map, kernel_stack)
{
	uint64_t value[MAP_DEPTH];
	unsigned int depth = 0;
	uint32_t key;
	long id;

	id = stacks_take(&self->stacks, 0, 1, 10, 0);
	ASSERT_LE(0, id);
	/* Its user part is not in it. */
	EXPECT_EQ(id, stacks_take(&self->stacks, 0, 2, 30, 0));
	key = id;
	ASSERT_EQ(0, bpf_map_lookup_elem(self->stacks.fd, &key, value));
	for (; depth < MAP_DEPTH && value[depth]; depth++)
		EXPECT_LT(1ULL << 63, value[depth]);
	EXPECT_LE(3, depth);
}

TEST_F(map, no_frame_pointer_gives_one_frame)
{
	uint64_t value[MAP_DEPTH];
	uint32_t key;
	long id;

	id = stacks_take_ips(&self->stacks, 0, NULL, 1, USER);
	ASSERT_LE(0, id);
	key = id;
	ASSERT_EQ(0, bpf_map_lookup_elem(self->stacks.fd, &key, value));
	EXPECT_NE(0, value[0]);
	EXPECT_EQ(0, value[1]);
}

/* What does not fit is cut off at the outer end, and what remains is one stack. */
TEST(value_smaller_than_stack)
{
	uint64_t ips[MAP_DEPTH], value[8];
	struct stacks stacks;
	uint32_t key;
	long id;

	/* Two stacks, which the base keeps apart if there are many places. */
	ASSERT_EQ(0, stacks_open(&stacks, 4096, 8, 0, 0));
	stacks_fill(ips, 1, 30);
	id = stacks_take_ips(&stacks, 0, ips, 30, USER);
	ASSERT_LE(0, id);
	key = id;
	ASSERT_EQ(0, bpf_map_lookup_elem(stacks.fd, &key, value));
	EXPECT_EQ(0, memcmp(&value[1], &ips[1], 7 * sizeof(*ips)));
	ips[20] = 0x1234;
	EXPECT_EQ(id, stacks_take_ips(&stacks, 0, ips, 30, USER));
	EXPECT_EQ(id, stacks_take_ips(&stacks, 0, ips, 8, USER));
	/* With frames skipped, as many are left as fit. */
	id = stacks_take_ips(&stacks, 0, ips, 30, USER | 10);
	ASSERT_LE(0, id);
	key = id;
	ASSERT_EQ(0, bpf_map_lookup_elem(stacks.fd, &key, value));
	EXPECT_EQ(0, memcmp(value, &ips[10], 8 * sizeof(*ips)));
	stacks_close(&stacks);
}

/* Deeper than the system's limit, for this map alone. */
TEST(deeper_than_the_system_limit)
{
	struct stacks stacks;
	uint32_t seed;
	long id;
	int err = stacks_open(&stacks, 64, 256, 0, 0);

	ASSERT_EQ(0, err);
	for (uint32_t i = 0; i < 32; i++) {
		id = stacks_take(&stacks, 0, i, 140 + i, USER);
		ASSERT_LE(0, id);
		ASSERT_EQ(0, stacks_read(&stacks, id, &seed)) TH_LOG("depth %u", 140 + i);
		EXPECT_EQ(i, seed);
	}
	stacks_close(&stacks);
}

/*
 * Full, and each new one is taken in for an old one. An id that was handed out before
 * names its stack or none.
 */
TEST(reuse_when_full)
{
	enum { N = 256 };
	uint32_t wrong = 0, refused = 0, seed, present = 0, fresh = 0;
	struct stacks stacks;
	long ids[4 * N];

	ASSERT_EQ(0, stacks_open(&stacks, N, MAP_DEPTH, 0, 0));
	for (uint32_t i = 0; i < 4 * N; i++) {
		int err;

		ids[i] = stacks_take(&stacks, 0, i, 20, USER | BPF_F_REUSE_STACKID);
		if (ids[i] < 0) {
			refused++;
			continue;
		}
		/* The newest is there. */
		err = stacks_read(&stacks, ids[i], &seed);
		fresh += !err && seed == i;
	}
	for (uint32_t i = 0; i < 4 * N; i++) {
		int err;

		if (ids[i] < 0)
			continue;
		err = stacks_read(&stacks, ids[i], &seed);
		present += !err && seed == i;
		wrong += err ? err != -ENOENT : seed != i;
	}
	ksft_print_msg("figure reuse: %u into %u: refused %u, on a wrong stack %u, present %u\n",
		       4 * N, N, refused, wrong, present);
	EXPECT_EQ(0, refused);
	EXPECT_EQ(4 * N, fresh);
	EXPECT_EQ(0, wrong);
	EXPECT_EQ(N, present);
	stacks_close(&stacks);
}

TEST(reuse_of_same_stack_keeps_id)
{
	struct stacks stacks;
	long id;

	ASSERT_EQ(0, stacks_open(&stacks, 64, MAP_DEPTH, 0, 0));
	id = stacks_take(&stacks, 0, 1, 20, USER | BPF_F_REUSE_STACKID);
	ASSERT_LE(0, id);
	EXPECT_EQ(id, stacks_take(&stacks, 0, 1, 20, USER | BPF_F_REUSE_STACKID));
	EXPECT_EQ(id, stacks_take(&stacks, 0, 1, 20, USER));
	stacks_close(&stacks);
}

TEST(map_of_one_entry)
{
	struct stacks stacks;
	uint32_t seed;
	long id;

	ASSERT_EQ(0, stacks_open(&stacks, 1, MAP_DEPTH, 0, 0));
	id = stacks_take(&stacks, 0, 1, 20, USER);
	ASSERT_LE(0, id);
	EXPECT_GT(0, stacks_take(&stacks, 0, 2, 20, USER));
	EXPECT_EQ(id, stacks_take(&stacks, 0, 1, 20, USER));
	EXPECT_EQ(0, stacks_read(&stacks, id, &seed));
	EXPECT_EQ(1, seed);
	stacks_close(&stacks);
}

/*
 * Functions in which an insertion can be interrupted: what the base and the table call
 * on that path.
 */
static const char * const inside[] = {
	"pcpu_freelist_pop", "__pcpu_freelist_pop", "stackid_new_bucket",
	"stack_map_get_build_id_offset", "bpf_mem_cache_alloc", "bpf_mem_alloc",
	"unit_alloc", "irq_work_queue", "bpf_mem_cache_alloc_flags",
};

static bool starts_with(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

/* Of those, and of the table's own functions, the ones that this kernel can trace. */
static unsigned int traceable(const char **names, unsigned int room)
{
	FILE *file = fopen("/sys/kernel/tracing/available_filter_functions", "r");
	char name[256], line[256];
	unsigned int n = 0;

	while (file && n < room && fgets(line, sizeof(line), file)) {
		bool wanted = false;

		if (sscanf(line, "%255s", name) != 1)
			continue;
		for (unsigned int i = 0; i < sizeof(inside) / sizeof(*inside); i++)
			wanted |= !strcmp(name, inside[i]);
		wanted |= starts_with(name, "bpf_stack_table_");
		if (wanted)
			names[n++] = strdup(name);
	}
	if (file)
		fclose(file);
	return n;
}

/* A program that takes a stack inside another's insertion does not overwrite it. */
TEST(nested_program_leaves_the_outer_stack)
{
	enum { N = 256 };
	unsigned int wrong = 0, stored = 0, all = 0, n;
	const char *names[64];
	struct stacks stacks;
	uint32_t seed;

	n = traceable(names, 64);
	if (!n)
		SKIP(return, "none of the functions can be traced");
	ASSERT_EQ(0, stacks_open(&stacks, 4 * N, MAP_DEPTH, 0, STACKS_NESTED));
	/* One function at a time: an outer one would keep the program from inner ones. */
	for (unsigned int i = 0; i < n; i++) {
		LIBBPF_OPTS(bpf_kprobe_multi_opts, opts, .syms = &names[i], .cnt = 1);
		struct bpf_program *program = stacks.skel->progs.nested;
		struct bpf_link *link = bpf_program__attach_kprobe_multi_opts(program, NULL,
									      &opts);
		uint64_t before = stacks.skel->bss->nested_runs;
		unsigned int damaged = 0;

		if (!link)
			continue;
		for (uint32_t j = i * 10; j < i * 10 + 10; j++) {
			long id = stacks_take(&stacks, 0, j, 30, USER);

			if (id < 0)
				continue;
			stored++;
			damaged += stacks_read(&stacks, id, &seed) || seed != j;
		}
		all += stacks.skel->bss->nested_runs - before;
		ksft_print_msg("figure nested: in %s %llu runs, %u stacks damaged\n", names[i],
			       (unsigned long long)(stacks.skel->bss->nested_runs - before),
			       damaged);
		wrong += damaged;
		bpf_link__destroy(link);
	}
	EXPECT_LT(0, stored);
	/* Otherwise it shows nothing. */
	EXPECT_LT(0, all);
	EXPECT_EQ(0, wrong);
	stacks_close(&stacks);
}

/* A timer interrupt for this task, each millisecond of it */
static struct bpf_link *attach_burst(struct stacks *stacks)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK,
		.size = sizeof(attr), .sample_period = 1000000,
	};
	int fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);

	return fd < 0 ? NULL :
	       bpf_program__attach_perf_event(stacks->skel->progs.burst, fd);
}

#define BURST	60

/* Stacks lost in five bursts; -1: it cannot be tried. */
static long lost_in_bursts(uint32_t flags)
{
	const unsigned int rounds = 5;
	struct map_take_bpf__bss *bss;
	struct bpf_link *link;
	struct stacks stacks;
	long lost = -1;

	/* So many that the reserve has BURST objects. */
	if (stacks_open(&stacks, BURST * 64, MAP_DEPTH, flags, STACKS_BURST))
		return -1;
	bss = stacks.skel->bss;
	link = attach_burst(&stacks);
	for (uint32_t seed = 0; link && seed < rounds; seed++)
		stacks_spin(seed, MAP_DEPTH, &bss->burst_wanted, BURST);
	ksft_print_msg("figure burst%s: %llu taken, %llu lost\n", flags ? " without reserve" : "",
		       (unsigned long long)bss->burst_taken,
		       (unsigned long long)bss->burst_lost);
	if (bss->burst_taken + bss->burst_lost == rounds * BURST)
		lost = bss->burst_lost;
	bpf_link__destroy(link);
	stacks_close(&stacks);
	return lost;
}

/* As many new stacks with interrupts off as the reserve has objects. */
TEST(burst_with_interrupts_off_is_kept)
{
	EXPECT_EQ(0, lost_in_bursts(0));
}

/* Without a reserve it is the allocator's stock that says how many, but some. */
TEST(burst_without_reserve)
{
	long lost = lost_in_bursts(BPF_F_NO_PREALLOC);

	EXPECT_LE(0, lost);
	EXPECT_GT(5 * BURST, lost);
}

/* Programs that interrupt: their stacks and the interrupted program's are whole. */
TEST(perf_event_program)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK,
		.size = sizeof(attr), .sample_period = 100000,
	};
	unsigned int wrong = 0, stored = 0;
	struct bpf_link *link;
	struct stacks stacks;
	uint32_t seed;
	int fd;

	ASSERT_EQ(0, stacks_open(&stacks, 1 << 14, MAP_DEPTH, 0, STACKS_SAMPLE));
	fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	ASSERT_LE(0, fd);
	link = bpf_program__attach_perf_event(stacks.skel->progs.sample, fd);
	ASSERT_NE(NULL, link);
	for (uint32_t i = 0; i < 4000; i++) {
		long id = stacks_take(&stacks, 0, i, stacks_depth(i), USER);

		if (id < 0)
			continue;
		stored++;
		wrong += stacks_read(&stacks, id, &seed) || seed != i;
	}
	ksft_print_msg("figure perf_event: %llu samples, %llu errors, %u stored, %u wrong\n",
		       (unsigned long long)stacks.skel->bss->samples,
		       (unsigned long long)stacks.skel->bss->samples_error, stored, wrong);
	EXPECT_LT(100, stacks.skel->bss->samples);
	EXPECT_EQ(0, stacks.skel->bss->samples_error);
	EXPECT_EQ(4000, stored);
	EXPECT_EQ(0, wrong);
	bpf_link__destroy(link);
	stacks_close(&stacks);
}

TEST_HARNESS_MAIN
