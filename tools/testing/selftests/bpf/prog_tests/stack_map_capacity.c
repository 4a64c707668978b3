// SPDX-License-Identifier: GPL-2.0
/*
 * Test that a stack map of N entries holds N distinct stacks, in any order and from any
 * number of CPUs, and that its memory depends on the stacks stored.
 */
#include <pthread.h>
#include <test_progs.h>
#include "cgroup_helpers.h"
#include "stack_map_lib.h"
#include "stack_map_take.skel.h"

#define USER	BPF_F_USER_STACK

/* Numbers of outcomes of bpf_get_stackid(). */
struct tally {
	unsigned int stored, exist, nomem, other;
};

static void count(struct tally *tally, long id)
{
	if (id >= 0)
		tally->stored++;
	else if (id == -EEXIST)
		tally->exist++;
	else if (id == -ENOMEM)
		tally->nomem++;
	else
		tally->other++;
}

static void print(const char *what, uint32_t entries, const struct tally *tally)
{
	unsigned int lost = tally->exist + tally->nomem + tally->other;

	printf("%s: entries %u stored %u lost %u (EEXIST %u ENOMEM %u other %u)\n", what,
	       entries, tally->stored, lost, tally->exist, tally->nomem, tally->other);
}

/* Fill one eighth of the entries.  The old table overwrites on collision and loses 6 %. */
static void eighth_kept(const char *name, uint32_t entries, uint32_t depth)
{
	struct tally tally = {};
	struct stacks stacks;

	if (!ASSERT_OK(stacks_open(&stacks, entries, depth, 0, 0), name))
		return;
	for (uint32_t i = 0; i < entries / 8; i++)
		count(&tally, stacks_take(&stacks, 0, i, stacks_depth(i), USER));
	print(name, entries / 8, &tally);
	ASSERT_EQ(tally.stored, entries / 8, name);
	stacks_close(&stacks);
}

static void all_kept(const char *name, uint32_t entries, uint32_t depth)
{
	unsigned int wrong = 0, absent = 0, changed = 0;
	long *ids = calloc(entries, sizeof(*ids));
	struct tally tally = {};
	struct stacks stacks;
	uint32_t seed;

	if (!ASSERT_OK_PTR(ids, name) ||
	    !ASSERT_OK(stacks_open(&stacks, entries, depth, 0, 0), name))
		goto out;
	for (uint32_t i = 0; i < entries; i++) {
		ids[i] = stacks_take(&stacks, 0, i, stacks_depth(i), USER);
		count(&tally, ids[i]);
	}
	print(name, entries, &tally);
	for (uint32_t i = 0; i < entries; i++) {
		int err;

		if (ids[i] < 0)
			continue;
		err = stacks_read(&stacks, ids[i], &seed);
		absent += err == -ENOENT;
		wrong += err ? err != -ENOENT : seed != i;
	}
	/* Stored stacks must be found in a full map. */
	for (uint32_t i = 0; i < entries; i += 7)
		changed += ids[i] != stacks_take(&stacks, 0, i, stacks_depth(i), USER);
	ASSERT_EQ(tally.stored, entries, name);
	ASSERT_EQ(wrong, 0, "wrong");
	ASSERT_EQ(absent, 0, "absent");
	ASSERT_EQ(changed, 0, "changed");
	stacks_close(&stacks);
out:
	free(ids);
}

static void test_sizes(void)
{
	static const struct {
		const char *name;
		uint32_t entries, depth;
	} sizes[] = {
		{ "n1k", 1 << 10, MAP_DEPTH },
		{ "n2k", 1 << 11, MAP_DEPTH },
		{ "n4k", 1 << 12, MAP_DEPTH },
		{ "n8k", 1 << 13, MAP_DEPTH },
		{ "n16k", 1 << 14, MAP_DEPTH },
		{ "n32k", 1 << 15, MAP_DEPTH },
		{ "n64k", 1 << 16, MAP_DEPTH },
		{ "n128k", 1 << 17, MAP_DEPTH },
		/* Map of perf record --off-cpu */
		{ "perf", 102400, 32 },
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(sizes); i++) {
		if (!test__start_subtest(sizes[i].name))
			continue;
		eighth_kept("eighth_kept", sizes[i].entries, sizes[i].depth);
		all_kept("all_kept", sizes[i].entries, sizes[i].depth);
	}
}

static void test_full_map(void)
{
	unsigned int stored = 0, refused = 0;
	struct stacks stacks;
	uint32_t seed;
	long id;

	if (!ASSERT_OK(stacks_open(&stacks, 64, MAP_DEPTH, 0, 0), "open"))
		return;
	for (uint32_t i = 0; i < 64; i++)
		stored += stacks_take(&stacks, 0, i, 10, USER) >= 0;
	if (!ASSERT_EQ(stored, 64, "stored"))
		goto close;
	for (uint32_t i = 64; i < 128; i++)
		refused += stacks_take(&stacks, 0, i, 10, USER) == -ENOMEM;
	ASSERT_EQ(refused, 64, "enomem");
	id = stacks_take(&stacks, 0, 5, 10, USER);
	if (!ASSERT_GE(id, 0, "stored_one"))
		goto close;
	/* Replace one stack by another, which must be found. */
	seed = id;
	if (!ASSERT_OK(bpf_map_delete_elem(stacks.fd, &seed), "delete"))
		goto close;
	id = stacks_take(&stacks, 0, 100, 10, USER);
	if (!ASSERT_GE(id, 0, "new_one"))
		goto close;
	ASSERT_OK(stacks_read(&stacks, id, &seed), "read");
	ASSERT_EQ(seed, 100, "seed");
	ASSERT_EQ(stacks_take(&stacks, 0, 101, 10, USER), -ENOMEM, "full_again");
close:
	stacks_close(&stacks);
}

#define TREE_BITS	13

/* A binary tree of calls of real functions: each leaf has a different stack. */
struct tree {
	struct stacks	*stacks;
	unsigned int	path;
	long		id;
	/* Return addresses that the leaf finds by its frame pointers. */
	uint64_t	ips[TREE_BITS + 1];
};

static void tree_left(struct tree *tree, unsigned int depth);
static void tree_right(struct tree *tree, unsigned int depth);

static noinline void tree_leaf(struct tree *tree)
{
	void **frame = __builtin_frame_address(0);

	for (int i = 0; i <= TREE_BITS; i++, frame = *frame)
		tree->ips[i] = (uint64_t)frame[1];
	tree->id = stacks_take_here(tree->stacks, 0, BPF_F_USER_STACK);
	asm volatile("");
}

static __always_inline void tree_step(struct tree *tree, unsigned int depth)
{
	if (depth == TREE_BITS)
		tree_leaf(tree);
	else if (tree->path >> depth & 1)
		tree_right(tree, depth + 1);
	else
		tree_left(tree, depth + 1);
	asm volatile("");
}

static noinline void tree_left(struct tree *tree, unsigned int depth)
{
	tree_step(tree, depth);
}

static noinline void tree_right(struct tree *tree, unsigned int depth)
{
	tree_step(tree, depth);
}

/*
 * Check @value against the tree.  It starts with the system call and the functions
 * between it and the leaf, which are the same in all stacks; the leaf's callers follow.
 */
static bool has_frames(const uint64_t *value, const struct tree *tree)
{
	for (unsigned int first = 1; first < 8; first++) {
		if (!memcmp(&value[first], tree->ips, sizeof(tree->ips)))
			return true;
	}
	return false;
}

static void test_functions(void)
{
	const uint32_t entries = 1 << TREE_BITS;
	uint64_t value[MAP_DEPTH];
	struct tally tally = {};
	struct stacks stacks;
	struct tree tree = { .stacks = &stacks };
	unsigned int wrong = 0;

	if (!ASSERT_OK(stacks_open(&stacks, entries, MAP_DEPTH, 0, 0), "open"))
		return;
	for (tree.path = 0; tree.path < entries; tree.path++) {
		uint32_t key;

		tree_step(&tree, 0);
		count(&tally, tree.id);
		key = tree.id;
		if (tree.id >= 0)
			wrong += bpf_map_lookup_elem(stacks.fd, &key, value) ||
				 !has_frames(value, &tree);
	}
	print("tree", entries, &tally);
	ASSERT_EQ(tally.stored, entries, "stored");
	ASSERT_EQ(wrong, 0, "wrong");
	stacks_close(&stacks);
}

/* Threads insert at the same time: first each its share, then all the same stacks. */
#define WRITERS	4

struct writer {
	pthread_t		thread;
	pthread_barrier_t	*barrier;
	struct stacks		*stacks;
	unsigned int		slot;
	uint32_t		entries;
	long			*ids;
	struct tally		tally;
};

static void *write_share(void *data)
{
	struct writer *writer = data;

	pthread_barrier_wait(writer->barrier);
	for (uint32_t i = writer->slot; i < writer->entries; i += WRITERS)
		count(&writer->tally, stacks_take(writer->stacks, writer->slot, i,
						  stacks_depth(i), BPF_F_USER_STACK));
	return NULL;
}

static void *write_all(void *data)
{
	struct writer *writer = data;

	pthread_barrier_wait(writer->barrier);
	for (uint32_t i = 0; i < writer->entries; i++) {
		writer->ids[i] = stacks_take(writer->stacks, writer->slot, i,
					     stacks_depth(i), BPF_F_USER_STACK);
		count(&writer->tally, writer->ids[i]);
	}
	return NULL;
}

static struct tally write_by(struct writer *writers, struct stacks *stacks,
			     void *(*function)(void *))
{
	pthread_barrier_t barrier;
	struct tally sum = {};

	pthread_barrier_init(&barrier, NULL, WRITERS);
	for (unsigned int i = 0; i < WRITERS; i++) {
		writers[i] = (struct writer){
			.barrier = &barrier, .stacks = stacks, .slot = i,
			.entries = stacks->entries,
			.ids = calloc(stacks->entries, sizeof(long)),
		};
		pthread_create(&writers[i].thread, NULL, function, &writers[i]);
	}
	for (unsigned int i = 0; i < WRITERS; i++) {
		pthread_join(writers[i].thread, NULL);
		sum.stored += writers[i].tally.stored;
		sum.exist += writers[i].tally.exist;
		sum.nomem += writers[i].tally.nomem;
		sum.other += writers[i].tally.other;
	}
	return sum;
}

static void free_ids(struct writer *writers)
{
	for (unsigned int i = 0; i < WRITERS; i++)
		free(writers[i].ids);
}

static void fill_together(void)
{
	struct writer writers[WRITERS];
	struct stacks stacks;
	struct tally tally;

	if (!ASSERT_OK(stacks_open(&stacks, 1 << 13, MAP_DEPTH, 0, 0), "open"))
		return;
	tally = write_by(writers, &stacks, write_share);
	print("shares", stacks.entries, &tally);
	ASSERT_EQ(tally.stored, stacks.entries, "shares_stored");
	free_ids(writers);
	stacks_close(&stacks);
}

/*
 * Several CPUs that insert the same new stack must get one id.  The map is only half
 * filled, as an insertion that loses a race holds an entry of its own for a moment.
 */
static void insert_the_same(void)
{
	unsigned int differ = 0;
	struct writer writers[WRITERS];
	struct stacks stacks;
	struct tally tally;

	if (!ASSERT_OK(stacks_open(&stacks, 1 << 14, MAP_DEPTH, 0, 0), "open"))
		return;
	stacks.entries /= 2;
	tally = write_by(writers, &stacks, write_all);
	print("same", stacks.entries, &tally);
	for (uint32_t i = 0; i < stacks.entries; i++) {
		for (unsigned int j = 1; j < WRITERS; j++)
			differ += writers[j].ids[i] != writers[0].ids[i];
	}
	ASSERT_EQ(tally.stored, WRITERS * stacks.entries, "same_stored");
	ASSERT_EQ(differ, 0, "ids_differ");
	free_ids(writers);
	stacks_close(&stacks);
}

static long long memlock(int fd)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	return number_in(path, "memlock:");
}

static long long charged_to(int cgroup)
{
	char text[32] = {};
	int fd = openat(cgroup, "memory.current", O_RDONLY);
	ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	return len > 0 ? atoll(text) : -1;
}

/* Size of a map on 6.12: a table of pointers, and 16 bytes and a value for each entry. */
static long long base_bytes(uint32_t entries, uint32_t depth)
{
	long long buckets = 1;

	while (buckets < entries)
		buckets *= 2;
	return 8 * buckets + (16LL + 8 * depth) * entries;
}

/*
 * A map of 16384 stacks with a mean depth of 20 must take at most a third of the old
 * table, both by the kernel's report and by the charge to the control group.
 */
static void memory_of_a_full_map(int cgroup)
{
	const uint32_t entries = 1 << 14;
	long long base = base_bytes(entries, MAP_DEPTH);
	long long before, empty, said, charged;
	struct tally tally = {};
	struct stacks stacks;

	/*
	 * Load the program twice: memory that the first load leaves behind is not the
	 * map's.
	 */
	if (!ASSERT_OK(stacks_open(&stacks, 1, MAP_DEPTH, 0, 0), "first_open"))
		return;
	stacks_take(&stacks, 0, 1, 3, USER);
	before = charged_to(cgroup);
	stacks_close(&stacks);
	if (!ASSERT_GE(before, 0, "memory_current") ||
	    !ASSERT_OK(stacks_open(&stacks, entries, MAP_DEPTH, 0, 0), "open"))
		return;
	empty = memlock(stacks.fd);
	for (uint32_t i = 0; i < entries; i++)
		count(&tally, stacks_take(&stacks, 0, i, stacks_depth(i), USER));
	said = memlock(stacks.fd);
	charged = charged_to(cgroup) - before;
	print("memory", entries, &tally);
	printf("memory: base %lld, empty %lld, said %lld, charged %lld\n", base, empty, said,
	       charged);
	ASSERT_LE(said, base / 3, "said");
	ASSERT_LE(charged, base / 3, "charged");
	/* The map had all memory from the beginning. */
	ASSERT_EQ(said, empty, "said_when_empty");
	/* The reported size must agree with the charge. */
	ASSERT_GE(said, charged * 3 / 4, "said_enough");
	ASSERT_LE(said, charged * 5 / 4, "said_no_more");
	stacks_close(&stacks);
}

static void memory_of_an_empty_map(void)
{
	const uint32_t entries = 1 << 17;
	struct stacks stacks;

	if (!ASSERT_OK(stacks_open(&stacks, entries, MAP_DEPTH, 0, 0), "open_empty"))
		return;
	ASSERT_LE(memlock(stacks.fd), base_bytes(entries, MAP_DEPTH) / 10, "empty");
	stacks_close(&stacks);
}

static void test_memory(void)
{
	int cgroup;

	/*
	 * Outside of the group, whose charge drops only when the memory of the full map
	 * is freed.
	 */
	memory_of_an_empty_map();
	cgroup = test__join_cgroup("/stack_map_capacity");
	if (!ASSERT_OK_FD(cgroup, "cgroup"))
		return;
	memory_of_a_full_map(cgroup);
	close(cgroup);
}

/* The memory of deleted stacks must be reused or freed. */
static void test_memory_of_turnover(void)
{
	unsigned int failed = 0;
	struct stacks stacks;
	long long full = 0;

	if (!ASSERT_OK(stacks_open(&stacks, 256, MAP_DEPTH, 0, 0), "open"))
		return;
	for (uint32_t i = 0; i < 20 * 256; i++) {
		long id = stacks_take(&stacks, 0, i, 20, USER);
		uint32_t key = id;

		/*
		 * Keep 200 of 256 entries in use, as entries of deleted stacks may have
		 * to wait for readers.
		 */
		if (i >= 200 && id >= 0)
			failed += !!bpf_map_delete_elem(stacks.fd, &key);
		if (i == 255)
			full = memlock(stacks.fd);
	}
	ASSERT_EQ(failed, 0, "delete");
	ASSERT_LE(memlock(stacks.fd), full * 3 / 2, "memory");
	stacks_close(&stacks);
}

void test_stack_map_capacity(void)
{
	test_sizes();
	if (test__start_subtest("full_map"))
		test_full_map();
	if (test__start_subtest("functions"))
		test_functions();
	if (test__start_subtest("threads_fill_together"))
		fill_together();
	if (test__start_subtest("threads_insert_the_same"))
		insert_the_same();
	if (test__start_subtest("memory"))
		test_memory();
	if (test__start_subtest("memory_of_turnover"))
		test_memory_of_turnover();
}
