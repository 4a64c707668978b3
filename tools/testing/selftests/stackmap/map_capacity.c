// SPDX-License-Identifier: GPL-2.0
/*
 * A map of N entries holds N distinct stacks, whatever the order and whoever else
 * inserts; and its memory follows what is stored.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "map_lib.h"

/* Guests without KVM are slow. */
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT 280

FIXTURE(capacity)
{
	struct stacks stacks;
	/* By seed: what the map said. */
	long *ids;
};

FIXTURE_VARIANT(capacity)
{
	uint32_t entries;
	uint32_t depth;
};

#define CAPACITY(name, n, frames) \
	FIXTURE_VARIANT_ADD(capacity, name) { .entries = n, .depth = frames }

CAPACITY(n1k, 1 << 10, MAP_DEPTH);
CAPACITY(n2k, 1 << 11, MAP_DEPTH);
CAPACITY(n4k, 1 << 12, MAP_DEPTH);
CAPACITY(n8k, 1 << 13, MAP_DEPTH);
CAPACITY(n16k, 1 << 14, MAP_DEPTH);
CAPACITY(n32k, 1 << 15, MAP_DEPTH);
CAPACITY(n64k, 1 << 16, MAP_DEPTH);
CAPACITY(n128k, 1 << 17, MAP_DEPTH);
/* What perf record --off-cpu uses. */
CAPACITY(perf, 102400, 32);

FIXTURE_SETUP(capacity)
{
	self->ids = calloc(variant->entries, sizeof(*self->ids));
	ASSERT_NE(NULL, self->ids);
	ASSERT_EQ(0, stacks_open(&self->stacks, variant->entries, variant->depth, 0, 0));
}

FIXTURE_TEARDOWN(capacity)
{
	stacks_close(&self->stacks);
	free(self->ids);
}

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

	ksft_print_msg("figure %s: entries %u stored %u lost %u (%.2f %%)\n", what, entries,
		       tally->stored, lost, 100.0 * lost / (tally->stored + lost));
	ksft_print_msg("figure %s: EEXIST %u ENOMEM %u other %u\n", what, tally->exist,
		       tally->nomem, tally->other);
}

TEST_F_TIMEOUT(capacity, all_kept, TEST_TIMEOUT_DEFAULT)
{
	unsigned int wrong = 0, absent = 0, changed = 0;
	struct tally tally = {};
	uint32_t seed;

	for (uint32_t i = 0; i < variant->entries; i++) {
		self->ids[i] = stacks_take(&self->stacks, 0, i, stacks_depth(i),
					   BPF_F_USER_STACK);
		count(&tally, self->ids[i]);
	}
	print("distinct", variant->entries, &tally);
	for (uint32_t i = 0; i < variant->entries; i++) {
		if (self->ids[i] < 0)
			continue;
		switch (stacks_read(&self->stacks, self->ids[i], &seed)) {
		case 0:
			wrong += seed != i;
			break;
		case -ENOENT:
			absent++;
			break;
		default:
			wrong++;
		}
	}
	/* At full load, what is there is found again. */
	for (uint32_t i = 0; i < variant->entries; i += 7)
		changed += self->ids[i] != stacks_take(&self->stacks, 0, i,
						       stacks_depth(i), BPF_F_USER_STACK);
	EXPECT_EQ(variant->entries, tally.stored);
	EXPECT_EQ(0, wrong);
	EXPECT_EQ(0, absent);
	EXPECT_EQ(0, changed);
}

/* One eighth of the entries: the base loses 6 %. */
TEST_F_TIMEOUT(capacity, eighth_kept, TEST_TIMEOUT_DEFAULT)
{
	struct tally tally = {};

	for (uint32_t i = 0; i < variant->entries / 8; i++)
		count(&tally, stacks_take(&self->stacks, 0, i, stacks_depth(i),
					  BPF_F_USER_STACK));
	print("eighth", variant->entries, &tally);
	EXPECT_EQ(variant->entries / 8, tally.stored);
}

TEST(full_map_says_enomem)
{
	struct stacks stacks;
	uint32_t seed;
	long id;

	ASSERT_EQ(0, stacks_open(&stacks, 64, MAP_DEPTH, 0, 0));
	for (uint32_t i = 0; i < 64; i++)
		ASSERT_LE(0, stacks_take(&stacks, 0, i, 10, BPF_F_USER_STACK));
	for (uint32_t i = 64; i < 128; i++)
		EXPECT_EQ(-ENOMEM, stacks_take(&stacks, 0, i, 10, BPF_F_USER_STACK));
	id = stacks_take(&stacks, 0, 5, 10, BPF_F_USER_STACK);
	ASSERT_LE(0, id);
	/* One goes, one comes, and that one is found. */
	seed = id;
	ASSERT_EQ(0, bpf_map_delete_elem(stacks.fd, &seed));
	id = stacks_take(&stacks, 0, 100, 10, BPF_F_USER_STACK);
	ASSERT_LE(0, id);
	EXPECT_EQ(0, stacks_read(&stacks, id, &seed));
	EXPECT_EQ(100, seed);
	EXPECT_EQ(-ENOMEM, stacks_take(&stacks, 0, 101, 10, BPF_F_USER_STACK));
	stacks_close(&stacks);
}

#define TREE_BITS	13

/* A binary tree of real functions, so that each leaf is a stack of its own. */
struct tree {
	struct stacks	*stacks;
	unsigned int	path;
	long		id;
	/* What the leaf finds when it walks its own frame pointers. */
	uint64_t	ips[TREE_BITS + 1];
};

#define tree_function __attribute__((noinline, noipa, optimize("no-omit-frame-pointer")))

static void tree_left(struct tree *tree, unsigned int depth);
static void tree_right(struct tree *tree, unsigned int depth);

static tree_function void tree_leaf(struct tree *tree)
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

static tree_function void tree_left(struct tree *tree, unsigned int depth)
{
	tree_step(tree, depth);
}

static tree_function void tree_right(struct tree *tree, unsigned int depth)
{
	tree_step(tree, depth);
}

/*
 * The value starts with the system call and the functions between it and the leaf,
 * which are the same for all; then come the leaf's callers.
 */
static bool has_frames(const uint64_t *value, const struct tree *tree)
{
	for (unsigned int first = 1; first < 8; first++) {
		if (!memcmp(&value[first], tree->ips, sizeof(tree->ips)))
			return true;
	}
	return false;
}

TEST(functions_in_a_tree)
{
	const uint32_t entries = 1 << TREE_BITS;
	uint64_t value[MAP_DEPTH];
	struct tally tally = {};
	struct stacks stacks;
	struct tree tree = { .stacks = &stacks };
	unsigned int wrong = 0;

	ASSERT_EQ(0, stacks_open(&stacks, entries, MAP_DEPTH, 0, 0));
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
	EXPECT_EQ(entries, tally.stored);
	EXPECT_EQ(0, wrong);
	stacks_close(&stacks);
}

/* All at once: each thread a share, then all the same. */
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

TEST(threads_fill_it_together)
{
	struct writer writers[WRITERS];
	struct stacks stacks;
	struct tally tally;

	ASSERT_EQ(0, stacks_open(&stacks, 1 << 13, MAP_DEPTH, 0, 0));
	tally = write_by(writers, &stacks, write_share);
	print("shares", stacks.entries, &tally);
	EXPECT_EQ(stacks.entries, tally.stored);
	stacks_close(&stacks);
}

/*
 * The same new stack on several CPUs at once has one id. Half of the entries are left
 * over: insertions that lost a race give theirs back, but hold it for a moment.
 */
TEST(threads_insert_the_same)
{
	unsigned int differ = 0;
	struct writer writers[WRITERS];
	struct stacks stacks;
	struct tally tally;

	ASSERT_EQ(0, stacks_open(&stacks, 1 << 14, MAP_DEPTH, 0, 0));
	stacks.entries /= 2;
	tally = write_by(writers, &stacks, write_all);
	print("same", stacks.entries, &tally);
	for (uint32_t i = 0; i < stacks.entries; i++) {
		for (unsigned int j = 1; j < WRITERS; j++)
			differ += writers[j].ids[i] != writers[0].ids[i];
	}
	EXPECT_EQ(WRITERS * stacks.entries, tally.stored);
	EXPECT_EQ(0, differ);
	stacks_close(&stacks);
}

static long long memlock(int fd)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	return number_in(path, "memlock:");
}

#define CGROUP	"/sys/fs/cgroup/stackmap-test"

static bool enter_cgroup(void)
{
	write_to("/sys/fs/cgroup/cgroup.subtree_control", "+memory");
	mkdir(CGROUP, 0755);
	return write_to(CGROUP "/cgroup.procs", "0");
}

/* 6.12: a table of pointers, and for each entry 16 bytes and a value. */
static long long base_bytes(uint32_t entries, uint32_t depth)
{
	long long buckets = 1;

	while (buckets < entries)
		buckets *= 2;
	return 8 * buckets + (16LL + 8 * depth) * entries;
}

/*
 * 16384 stacks of 20 frames in the mean: at most a third of the base, in what the
 * kernel says and in what the control group is charged.
 */
TEST(memory_follows_the_stacks)
{
	const uint32_t entries = 1 << 14;
	long long base = base_bytes(entries, MAP_DEPTH);
	long long before, empty, said, charged;
	struct tally tally = {};
	struct stacks stacks;

	if (!enter_cgroup())
		SKIP(return, "no control group: %s", strerror(errno));
	/* Load it twice: what the first load leaves behind is not the map's. */
	ASSERT_EQ(0, stacks_open(&stacks, 1, MAP_DEPTH, 0, 0));
	stacks_take(&stacks, 0, 1, 3, BPF_F_USER_STACK);
	before = number_in(CGROUP "/memory.current", "");
	stacks_close(&stacks);
	ASSERT_EQ(0, stacks_open(&stacks, entries, MAP_DEPTH, 0, 0));
	empty = memlock(stacks.fd);
	for (uint32_t i = 0; i < entries; i++)
		count(&tally, stacks_take(&stacks, 0, i, stacks_depth(i), BPF_F_USER_STACK));
	said = memlock(stacks.fd);
	charged = number_in(CGROUP "/memory.current", "") - before;
	print("memory", entries, &tally);
	ksft_print_msg("figure memory: base %lld, empty %lld\n", base, empty);
	ksft_print_msg("figure memory: said %lld (%.3f of the base), charged %lld (%.3f)\n",
		       said, (double)said / base, charged, (double)charged / base);
	EXPECT_GE(base / 3, said);
	EXPECT_GE(base / 3, charged);
	/* All of it was there from the beginning: none had to be found in a hurry. */
	EXPECT_EQ(empty, said);
	/* What it says is true. */
	EXPECT_LE(charged * 3 / 4, said);
	EXPECT_GE(charged * 5 / 4, said);
	stacks_close(&stacks);
}

/* What a map without stacks takes is little. */
TEST(memory_of_an_empty_map)
{
	const uint32_t entries = 1 << 17;
	struct stacks stacks;
	long long said;

	ASSERT_EQ(0, stacks_open(&stacks, entries, MAP_DEPTH, 0, 0));
	said = memlock(stacks.fd);
	ksft_print_msg("figure empty: entries %u said %lld base %lld\n", entries, said,
		       base_bytes(entries, MAP_DEPTH));
	EXPECT_GE(base_bytes(entries, MAP_DEPTH) / 10, said);
	stacks_close(&stacks);
}

/* Deleted stacks give their memory back, or are used for the next. */
TEST(memory_does_not_grow_with_turnover)
{
	struct stacks stacks;
	long long full;

	ASSERT_EQ(0, stacks_open(&stacks, 256, MAP_DEPTH, 0, 0));
	full = 0;
	for (uint32_t i = 0; i < 20 * 256; i++) {
		long id = stacks_take(&stacks, 0, i, 20, BPF_F_USER_STACK);
		uint32_t key = id;

		/* Full is 200 of 256: what is deleted may have to wait for readers. */
		if (i >= 200 && id >= 0)
			EXPECT_EQ(0, bpf_map_delete_elem(stacks.fd, &key));
		if (i == 255)
			full = memlock(stacks.fd);
	}
	ksft_print_msg("figure turnover: said %lld after 256, %lld after %u\n", full,
		       memlock(stacks.fd), 20 * 256);
	EXPECT_GE(full * 3 / 2, memlock(stacks.fd));
	stacks_close(&stacks);
}

TEST_HARNESS_MAIN
