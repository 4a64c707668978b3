// SPDX-License-Identifier: GPL-2.0
/*
 * Test bpf_get_stackid() as programs call it: ids, flags, errors, depth, and programs
 * that interrupt or nest in an insertion.
 */
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <test_progs.h>
#include "stack_map_lib.h"
#include "stack_map_take.skel.h"

#define USER	BPF_F_USER_STACK

/* Look up @id.  Returns false if that fails. */
static bool look_up(const struct stacks *stacks, long id, uint64_t *value)
{
	uint32_t key = id;

	return ASSERT_GE(id, 0, "id") &&
	       ASSERT_OK(bpf_map_lookup_elem(stacks->fd, &key, value), "lookup");
}

/* A stack must have the same id, with any flags for comparison and insertion. */
static void test_same_id(struct stacks *stacks)
{
	long first = stacks_take(stacks, 0, 1, 20, USER), fast, reused;
	unsigned int changed = 0;
	uint32_t seed;

	if (!ASSERT_GE(first, 0, "first"))
		return;
	for (int i = 0; i < 100; i++)
		changed += stacks_take(stacks, 0, 1, 20, USER) != first;
	ASSERT_EQ(changed, 0, "changed");
	ASSERT_EQ(stacks_take(stacks, 0, 1, 20, USER | BPF_F_FAST_STACK_CMP), first, "fast");

	fast = stacks_take(stacks, 0, 2, 20, USER | BPF_F_FAST_STACK_CMP);
	if (ASSERT_GE(fast, 0, "fast_inserts")) {
		ASSERT_OK(stacks_read(stacks, fast, &seed), "fast_read");
		ASSERT_EQ(seed, 2, "fast_seed");
		ASSERT_EQ(stacks_take(stacks, 0, 2, 20, USER), fast, "fast_again");
	}

	reused = stacks_take(stacks, 0, 3, 20, USER | BPF_F_REUSE_STACKID);
	if (ASSERT_GE(reused, 0, "reuse_inserts")) {
		ASSERT_EQ(stacks_take(stacks, 0, 3, 20, USER | BPF_F_REUSE_STACKID), reused,
			  "reuse_again");
		ASSERT_EQ(stacks_take(stacks, 0, 3, 20, USER), reused, "reuse_plain");
	}
}

/* A stack that is a prefix of another one is a different stack. */
static void test_prefix(struct stacks *stacks)
{
	uint64_t ips[MAP_DEPTH], value[MAP_DEPTH];
	unsigned int lost = 0, wrong = 0, same = 0;
	long ids[40];

	stacks_fill(ips, 1, 40);
	for (unsigned int depth = 2; depth < 40; depth++) {
		ids[depth] = stacks_take_ips(stacks, 0, ips, depth, USER);
		if (ids[depth] == -EEXIST) {
			lost++;
			continue;
		}
		if (!look_up(stacks, ids[depth], value))
			return;
		wrong += memcmp(&value[1], &ips[1], (depth - 1) * sizeof(*ips)) || value[depth];
		for (unsigned int other = 2; other < depth; other++)
			same += ids[other] == ids[depth];
	}
	ASSERT_EQ(wrong, 0, "wrong");
	ASSERT_EQ(same, 0, "same_id");
	ASSERT_EQ(lost, 0, "lost");
}

static void test_depth(struct stacks *stacks)
{
	unsigned int wrong = 0;
	uint64_t value[MAP_DEPTH];
	uint32_t seed;

	for (unsigned int depth = 2; depth <= MAP_DEPTH; depth++) {
		long id = -EEXIST;

		/* In the old table, retry with other stacks until one finds a free slot. */
		for (uint32_t try = 0; id == -EEXIST && try < 50; try++)
			id = stacks_take(stacks, 0, depth + 1000 * try, depth, USER);
		if (id < 0 || stacks_read(stacks, id, &seed) || seed % 1000 != depth) {
			printf("depth %u: id %ld\n", depth, id);
			wrong++;
		}
	}
	ASSERT_EQ(wrong, 0, "2_to_127");
	/* Without a frame pointer, a walk finds only the innermost frame. */
	if (look_up(stacks, stacks_take_ips(stacks, 0, NULL, 1, USER), value)) {
		ASSERT_NEQ(value[0], 0, "innermost");
		ASSERT_EQ(value[1], 0, "no_more");
	}
}

static void test_skip(struct stacks *stacks)
{
	uint64_t ips[MAP_DEPTH], value[MAP_DEPTH];
	unsigned int wrong = 0;

	stacks_fill(ips, 1, 30);
	for (unsigned int skip = 1; skip < 30; skip++) {
		long id = stacks_take_ips(stacks, 0, ips, 30, USER | skip);

		if (id == -EEXIST)
			continue;
		if (!look_up(stacks, id, value))
			return;
		wrong += memcmp(value, &ips[skip], (30 - skip) * sizeof(*ips)) ||
			 value[30 - skip];
	}
	ASSERT_EQ(wrong, 0, "wrong");
}

static void test_errors(struct stacks *stacks)
{
	unsigned int wrong = 0;

	ASSERT_EQ(stacks_take(stacks, 0, 1, 10, USER | 10), -EFAULT, "skip_all");
	ASSERT_EQ(stacks_take(stacks, 0, 1, 10, USER | 255), -EFAULT, "skip_more");
	ASSERT_GE(stacks_take(stacks, 0, 1, 10, USER | 9), 0, "skip_all_but_one");
	for (unsigned int bit = 11; bit < 32; bit++)
		wrong += stacks_take(stacks, 0, 1, 10, USER | 1UL << bit) != -EINVAL;
	ASSERT_EQ(wrong, 0, "unknown_flags");
}

static void test_kernel_stack(struct stacks *stacks)
{
	unsigned int depth = 0, wrong = 0;
	uint64_t value[MAP_DEPTH];
	long id;

	id = stacks_take(stacks, 0, 1, 10, 0);
	if (!look_up(stacks, id, value))
		return;
	/* A kernel stack must not depend on the user stack. */
	ASSERT_EQ(stacks_take(stacks, 0, 2, 30, 0), id, "another_user_stack");
	for (; depth < MAP_DEPTH && value[depth]; depth++)
		wrong += value[depth] <= 1ULL << 63;
	ASSERT_EQ(wrong, 0, "kernel_addresses");
	ASSERT_GE(depth, 3, "depth");
}

/* Outer frames that do not fit are cut off; stacks that then are equal must have one id. */
static void test_small_value(struct stacks *stacks)
{
	uint64_t ips[MAP_DEPTH], value[8];
	long id;

	stacks_fill(ips, 1, 30);
	id = stacks_take_ips(stacks, 0, ips, 30, USER);
	if (!look_up(stacks, id, value))
		return;
	ASSERT_OK(memcmp(&value[1], &ips[1], 7 * sizeof(*ips)), "frames");
	ips[20] = 0x1234;
	ASSERT_EQ(stacks_take_ips(stacks, 0, ips, 30, USER), id, "differs_outside");
	ASSERT_EQ(stacks_take_ips(stacks, 0, ips, 8, USER), id, "fits");
	/* With skipped frames, the value holds as many of the others as fit. */
	if (look_up(stacks, stacks_take_ips(stacks, 0, ips, 30, USER | 10), value))
		ASSERT_OK(memcmp(value, &ips[10], 8 * sizeof(*ips)), "skip");
}

/* One map may hold deeper stacks than the system's limit. */
static void test_deep(struct stacks *stacks)
{
	unsigned int wrong = 0;
	uint32_t seed;

	for (uint32_t i = 0; i < 32; i++) {
		long id = stacks_take(stacks, 0, i, 140 + i, USER);

		wrong += id < 0 || stacks_read(stacks, id, &seed) || seed != i;
	}
	ASSERT_EQ(wrong, 0, "140_to_171");
}

/*
 * In a full map, each new stack replaces an old one.  An id returned earlier must name
 * its own stack or none.
 */
static void test_reuse_when_full(struct stacks *stacks)
{
	uint32_t wrong = 0, refused = 0, seed, present = 0, fresh = 0;
	const uint32_t n = stacks->entries;
	long ids[4 * n];

	for (uint32_t i = 0; i < 4 * n; i++) {
		ids[i] = stacks_take(stacks, 0, i, 20, USER | BPF_F_REUSE_STACKID);
		refused += ids[i] < 0;
		/* The newest stack must be stored. */
		fresh += ids[i] >= 0 && !stacks_read(stacks, ids[i], &seed) && seed == i;
	}
	for (uint32_t i = 0; i < 4 * n; i++) {
		int err;

		if (ids[i] < 0)
			continue;
		err = stacks_read(stacks, ids[i], &seed);
		present += !err && seed == i;
		wrong += err ? err != -ENOENT : seed != i;
	}
	ASSERT_EQ(refused, 0, "refused");
	ASSERT_EQ(fresh, 4 * n, "fresh");
	ASSERT_EQ(wrong, 0, "wrong");
	ASSERT_EQ(present, n, "present");
}

static void test_one_entry(struct stacks *stacks)
{
	uint32_t seed;
	long id;

	id = stacks_take(stacks, 0, 1, 20, USER);
	if (!ASSERT_GE(id, 0, "first"))
		return;
	ASSERT_LT(stacks_take(stacks, 0, 2, 20, USER), 0, "second");
	ASSERT_EQ(stacks_take(stacks, 0, 1, 20, USER), id, "first_again");
	ASSERT_OK(stacks_read(stacks, id, &seed), "read");
	ASSERT_EQ(seed, 1, "seed");
}

/*
 * Functions of the insertion path, of the base and of the table, in which a program can
 * interrupt an insertion.
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

/* The functions of these, and of the table itself, that this kernel can trace. */
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

/* Insert ten stacks while nested() runs in @name.  Returns the number of damaged stacks. */
static unsigned int insert_around(struct stacks *stacks, const char *name, uint32_t first,
				  unsigned int *stored)
{
	LIBBPF_OPTS(bpf_kprobe_multi_opts, opts, .syms = &name, .cnt = 1);
	unsigned int damaged = 0;
	struct bpf_link *link;
	uint32_t seed;

	link = bpf_program__attach_kprobe_multi_opts(stacks->skel->progs.nested, NULL, &opts);
	if (!link)
		return 0;
	for (uint32_t i = first; i < first + 10; i++) {
		long id = stacks_take(stacks, 0, i, 30, USER);

		if (id < 0)
			continue;
		(*stored)++;
		damaged += stacks_read(stacks, id, &seed) || seed != i;
	}
	bpf_link__destroy(link);
	return damaged;
}

/* A program that takes a stack during another's insertion must not overwrite it. */
static void test_nested(struct stacks *stacks)
{
	unsigned int damaged = 0, stored = 0, nr;
	const char *names[64];

	nr = traceable(names, ARRAY_SIZE(names));
	if (!nr) {
		test__skip();
		return;
	}
	/*
	 * Probe one function at a time: a program that runs in an outer one blocks inner
	 * ones.
	 */
	for (unsigned int i = 0; i < nr; i++) {
		damaged += insert_around(stacks, names[i], i * 10, &stored);
		free((void *)names[i]);
	}
	ASSERT_GT(stored, 0, "stored");
	/* The test shows something only if nested() has run. */
	ASSERT_GT(stacks->skel->bss->nested_runs, 0, "nested_runs");
	ASSERT_EQ(damaged, 0, "damaged");
}

/* A timer interrupt for each millisecond of this task */
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

/* Number of stacks lost in five bursts, or -1 if the test cannot run. */
static long lost_in_bursts(uint32_t flags)
{
	const unsigned int rounds = 5;
	struct stack_map_take__bss *bss;
	struct bpf_link *link;
	struct stacks stacks;
	long lost = -1;

	/* As many entries as give the reserve BURST objects. */
	if (stacks_open(&stacks, BURST * 64, MAP_DEPTH, flags, STACKS_BURST))
		return -1;
	bss = stacks.skel->bss;
	link = attach_burst(&stacks);
	for (uint32_t seed = 0; link && seed < rounds; seed++)
		stacks_spin(seed, MAP_DEPTH, &bss->burst_wanted, BURST);
	printf("burst%s: %llu taken, %llu lost\n", flags ? " without reserve" : "",
	       (unsigned long long)bss->burst_taken, (unsigned long long)bss->burst_lost);
	if (bss->burst_taken + bss->burst_lost == rounds * BURST)
		lost = bss->burst_lost;
	bpf_link__destroy(link);
	stacks_close(&stacks);
	return lost;
}

/* When programs interrupt each other, all of their stacks must be whole. */
static void test_perf_event(struct stacks *stacks)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK,
		.size = sizeof(attr), .sample_period = 100000,
	};
	int fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	unsigned int wrong = 0, stored = 0;
	struct bpf_link *link;
	uint32_t seed;

	if (!ASSERT_OK_FD(fd, "event"))
		return;
	link = bpf_program__attach_perf_event(stacks->skel->progs.sample, fd);
	if (!ASSERT_OK_PTR(link, "attach")) {
		close(fd);
		return;
	}
	for (uint32_t i = 0; i < 4000; i++) {
		long id = stacks_take(stacks, 0, i, stacks_depth(i), USER);

		if (id < 0)
			continue;
		stored++;
		wrong += stacks_read(stacks, id, &seed) || seed != i;
	}
	ASSERT_GT(stacks->skel->bss->samples, 100, "samples");
	ASSERT_EQ(stacks->skel->bss->samples_error, 0, "samples_error");
	ASSERT_EQ(stored, 4000, "stored");
	ASSERT_EQ(wrong, 0, "wrong");
	bpf_link__destroy(link);
}

/* A subtest and its map */
struct test {
	const char *name;
	void (*run)(struct stacks *stacks);
	uint32_t entries, depth;
	enum stacks_with with;
};

static const struct test tests[] = {
	{ "same_id", test_same_id, 1024, MAP_DEPTH },
	{ "prefix", test_prefix, 1024, MAP_DEPTH },
	{ "depth", test_depth, 1024, MAP_DEPTH },
	{ "skip", test_skip, 1024, MAP_DEPTH },
	{ "errors", test_errors, 1024, MAP_DEPTH },
	{ "kernel_stack", test_kernel_stack, 1024, MAP_DEPTH },
	/* Many entries, so that two stacks do not collide in the old table. */
	{ "small_value", test_small_value, 4096, 8 },
	{ "deep", test_deep, 64, 256 },
	{ "reuse_when_full", test_reuse_when_full, 256, MAP_DEPTH },
	{ "one_entry", test_one_entry, 1, MAP_DEPTH },
	{ "nested", test_nested, 1024, MAP_DEPTH, STACKS_NESTED },
	{ "perf_event", test_perf_event, 1 << 14, MAP_DEPTH, STACKS_SAMPLE },
};

/* Serial: other tests must not interrupt a burst or call the probed functions. */
void serial_test_stack_map_program(void)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(tests); i++) {
		const struct test *test = &tests[i];
		struct stacks stacks;

		if (!test__start_subtest(test->name) ||
		    !ASSERT_OK(stacks_open(&stacks, test->entries, test->depth, 0, test->with),
			       "open"))
			continue;
		test->run(&stacks);
		stacks_close(&stacks);
	}
	/* With interrupts off, take as many new stacks as the reserve has objects. */
	if (test__start_subtest("burst"))
		ASSERT_EQ(lost_in_bursts(0), 0, "lost");
	/*
	 * Without a reserve, only as many as the allocator has in stock, but at least
	 * some.
	 */
	if (test__start_subtest("burst_without_reserve")) {
		long lost = lost_in_bursts(BPF_F_NO_PREALLOC);

		ASSERT_GE(lost, 0, "tried");
		ASSERT_LT(lost, 5 * BURST, "lost");
	}
}
