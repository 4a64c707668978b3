// SPDX-License-Identifier: GPL-2.0-only
/*
 * Single-threaded tests for each guarantee of kernel/bpf/stack_table.c.
 *
 * usage: unit [SEED]
 */
#include <stdlib.h>

/* Include the code under test, so that tests reach its static functions. */
/* The other tests have what most kernels use to multiply. */
#undef CONFIG_ARCH_SUPPORTS_INT128
#include "stack_pool.c"
#include "stack_table.c"
#include "test.h"

#define ROOM 4096

/* Write stack number @n to @word.  Its last word is a checksum of the others. */
static u32 stack_words(u64 n, u32 depth, u64 *word)
{
	u64 sum = 0;
	u32 i;

	for (i = 0; i + 1 < depth; i++) {
		word[i] = 0xffffffff81000000ULL + (n + 1) * (i + 7) * 16;
		sum = sum * 31 + word[i];
	}
	word[i] = sum ^ n;
	return depth;
}

static u32 stack_depth(u64 n)
{
	return 2 + n % 39;
}

static struct bpf_stack_key stack_key(struct bpf_stack_table *table, u64 n,
				      u32 depth, u64 *word)
{
	u32 nr = stack_words(n, depth, word);

	return (struct bpf_stack_key) {
		.word = word,
		.nr = nr,
		.hash = bpf_stack_table_hash(table, word, nr),
	};
}

static int get_depth(struct bpf_stack_table *table, u64 n, u32 depth, bool reuse)
{
	u64 word[ROOM];
	struct bpf_stack_key key = stack_key(table, n, depth, word);

	return bpf_stack_table_get(table, &key, reuse);
}

static int get(struct bpf_stack_table *table, u64 n)
{
	return get_depth(table, n, stack_depth(n), false);
}

static int find(struct bpf_stack_table *table, u64 n)
{
	u64 word[ROOM];
	struct bpf_stack_key key = stack_key(table, n, stack_depth(n), word);

	return find_key(table, &key);
}

/* Whether @id is stack @n to the last word, and the rest of the buffer is zeroed. */
static bool id_is_depth(struct bpf_stack_table *table, int id, u64 n, u32 depth,
			u32 room)
{
	u64 want[ROOM], got[ROOM];

	memset(got, 0x5a, sizeof(got));
	stack_words(n, depth, want);
	EXPECT_EQ(bpf_stack_table_copy(table, id, got, room), depth);
	EXPECT(!memcmp(got, want, min(depth, room) * sizeof(u64)));
	for (u32 i = depth; i < room; i++)
		EXPECT_EQ(got[i], 0);
	if (room < ROOM)
		EXPECT_EQ(got[room], 0x5a5a5a5a5a5a5a5aULL);
	return true;
}

static bool id_is(struct bpf_stack_table *table, int id, u64 n)
{
	return id_is_depth(table, id, n, stack_depth(n), 127);
}

static u32 listed(atomic64_t *head, const void *owner, stack_link_fn link_of)
{
	u32 n = 0;

	for (u32 number = (u32)head->counter; number; number = *link_of(owner, number))
		n++;
	return n;
}

static bool consistent(struct bpf_stack_table *table, u32 count)
{
	u64 cells = 0;

	for (u32 line = 0; line < table->nr_lines; line++)
		for (u32 i = 1; i < STACK_LINE; i++) {
			u64 cell = table->cells[line * STACK_LINE + i].counter;
			u32 home, reach;

			if (!cell)
				continue;
			cells++;
			EXPECT(!(cell & STACK_PENDING));
			home = tag_home(table, cell >> 32);
			reach = ctl_reach(table->cells[home * STACK_LINE].counter);
			EXPECT(line_distance(table, home, line) <= reach);
		}
	EXPECT_EQ(cells, count);
	EXPECT_EQ(bpf_stack_table_count(table), count);
	EXPECT_EQ(listed(&table->free[0], table, rec_link) +
		  listed(&table->free[1], table, rec_link), table->nr_index - count);
	EXPECT_EQ(listed(&table->pool.free, &table->pool, block_link),
		  table->pool.nr_free.counter);
	if (!count)
		EXPECT_EQ(table->pool.nr_free.counter, table->pool.nr_blocks);
	return true;
}

/* N entries must hold N different stacks, for any N, and refuse one more. */
static bool capacity_of(u32 n)
{
	struct bpf_stack_table table = {};
	int id;

	EXPECT_EQ(bpf_stack_table_init(&table, n, ROOM, 20, 0), 0);
	for (u32 i = 0; i < n; i++) {
		id = get(&table, i);
		EXPECT(id >= 0);
		/* Some programs use the id as the index of an array. */
		EXPECT_EQ(id, i);
		EXPECT_EQ(get(&table, i), id);
	}
	EXPECT_EQ(get(&table, n), -ENOMEM);
	EXPECT_EQ(bpf_stack_table_stats(&table).lost_full, 1);
	EXPECT_EQ(bpf_stack_table_stats(&table).stored, n);
	EXPECT_EQ(bpf_stack_table_stats(&table).hits, n);
	for (u32 i = 0; i < n; i++)
		EXPECT(id_is(&table, find(&table, i), i));
	EXPECT(consistent(&table, n));
	bpf_stack_table_destroy(&table);
	return true;
}

static bool capacity(void)
{
	static const u32 sizes[] = { 1, 2, 3, 7, 8, 63, 64, 65, 1000, 1024, 8191, 16384 };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		EXPECT(capacity_of(sizes[i]));
	return true;
}

/* Stacks that all have the same hash and home must be stored completely. */
static bool same_hash(void)
{
	struct bpf_stack_table table = {};
	const u32 n = 300;
	int ids[300];
	u64 word[8];

	EXPECT_EQ(bpf_stack_table_init(&table, n, ROOM, 20, 0), 0);
	for (int round = 0; round < 2; round++) {
		for (u32 i = 0; i < n; i++) {
			struct bpf_stack_key key = {
				.word = word,
				.nr = stack_words(i, 8, word),
				.hash = 0xfffffff012345678ULL,
			};

			ids[i] = bpf_stack_table_get(&table, &key, false);
			EXPECT(ids[i] >= 0);
			EXPECT_EQ(find_key(&table, &key), ids[i]);
			/* The fast comparison trusts the hash. */
			key.fast = true;
			EXPECT_EQ(find_key(&table, &key), ids[0]);
		}
		EXPECT(consistent(&table, n));
		for (u32 i = 0; i < n; i++)
			EXPECT(id_is_depth(&table, ids[i], i, 8, 8));
		for (u32 i = 0; i < n; i++)
			EXPECT_EQ(bpf_stack_table_delete(&table, ids[i]), 0);
		EXPECT(consistent(&table, 0));
		/* Deletion must lower the reach back to 0. */
		for (u32 line = 0; line < table.nr_lines; line++)
			EXPECT_EQ(ctl_reach(table.cells[line * STACK_LINE].counter), 0);
	}
	bpf_stack_table_destroy(&table);
	return true;
}

/* Odd hashes whose cells might be taken for free or pending ones. */
static bool special_hashes(void)
{
	static const u64 hashes[] = {
		1, 3, 1ULL << 32 | 1, 0xffffffffULL, ~0ULL, 1ULL << 63 | 1,
	};
	struct bpf_stack_table table = {};
	u64 word[4];

	EXPECT_EQ(bpf_stack_table_init(&table, 8, ROOM, 20, 0), 0);
	for (u32 i = 0; i < 6; i++) {
		struct bpf_stack_key key = {
			.word = word,
			.nr = stack_words(i, 4, word),
			.hash = hashes[i],
		};
		int id = bpf_stack_table_get(&table, &key, false);

		EXPECT_EQ(id, i);
		EXPECT_EQ(find_key(&table, &key), i);
	}
	EXPECT(consistent(&table, 6));
	bpf_stack_table_destroy(&table);
	return true;
}

/* Depths around multiples of the block size, and copies to buffers of all sizes. */
static bool depths(void)
{
	static const u32 sizes[] = {
		1, 2, 3, 4, 5, 14, 15, 16, 20, 29, 30, 31, 127, 135, 150, 509,
		1527, 2048, 4095,
	};
	struct bpf_stack_table table = {};
	int ids[32];
	u32 nr = ARRAY_SIZE(sizes);

	EXPECT_EQ(bpf_stack_table_init(&table, 64, ROOM, 20, 0), 0);
	for (u32 i = 0; i < nr; i++) {
		ids[i] = get_depth(&table, i, sizes[i], false);
		EXPECT(ids[i] >= 0);
		EXPECT_EQ(get_depth(&table, i, sizes[i], false), ids[i]);
	}
	EXPECT_EQ(bpf_stack_table_count(&table), nr);
	for (u32 i = 0; i < nr; i++)
		for (u32 room = 1; room < ROOM; room += room < 12 ? 1 : 101)
			EXPECT(id_is_depth(&table, ids[i], i, sizes[i], room));
	for (u32 i = 0; i < nr; i++)
		EXPECT_EQ(bpf_stack_table_delete(&table, ids[i]), 0);
	EXPECT(consistent(&table, 0));
	bpf_stack_table_destroy(&table);
	return true;
}

/* Deep stacks must differ if one word of any block differs. */
static bool deep_difference(void)
{
	struct bpf_stack_table table = {};
	u64 word[2048];
	struct bpf_stack_key key = { .word = word, .nr = 2048, .hash = 77 };
	static const u32 at[] = { 0, 14, 15, 16, 29, 30, 1016, 1017, 2039, 2047 };

	EXPECT_EQ(bpf_stack_table_init(&table, 16, ROOM, 20, 0), 0);
	stack_words(1, 2048, word);
	EXPECT_EQ(bpf_stack_table_get(&table, &key, false), 0);
	for (u32 i = 0; i < ARRAY_SIZE(at); i++) {
		word[at[i]] ^= 1;
		EXPECT_EQ(find_key(&table, &key), -ENOENT);
		word[at[i]] ^= 1;
		EXPECT_EQ(find_key(&table, &key), 0);
	}
	bpf_stack_table_destroy(&table);
	return true;
}

/* A deleted id must not name another stack, however often its index is reused. */
static bool generations(void)
{
	struct bpf_stack_table table = {};
	const u32 rounds = 1 << 16;
	int *ids = calloc(rounds, sizeof(*ids));

	EXPECT_EQ(bpf_stack_table_init(&table, 8, ROOM, 20, 0), 0);
	for (u32 i = 0; i < rounds; i++) {
		ids[i] = get(&table, i);
		EXPECT(ids[i] >= 0);
		EXPECT_EQ(bpf_stack_table_delete(&table, ids[i]), 0);
		EXPECT_EQ(bpf_stack_table_delete(&table, ids[i]), -ENOENT);
	}
	for (u32 i = 0; i < 8; i++)
		EXPECT(get(&table, rounds + i) >= 0);
	for (u32 i = 0; i < rounds; i++) {
		EXPECT_EQ(bpf_stack_table_copy(&table, ids[i], NULL, 0), -ENOENT);
		EXPECT_EQ(bpf_stack_table_delete(&table, ids[i]), -ENOENT);
	}
	EXPECT(consistent(&table, 8));
	bpf_stack_table_destroy(&table);
	free(ids);
	return true;
}

/* Ids must stay below 2^31 and distinct when the generations wrap. */
static bool generation_wrap(void)
{
	struct bpf_stack_table table = {};
	int id;

	EXPECT_EQ(bpf_stack_table_init(&table, 8, ROOM, 20, 0), 0);
	for (u32 i = 0; i < table.nr_index; i++)
		table.recs[i].id = (1U << 31) - 2 * table.nr_index + i;
	for (u32 i = 0; i < 4 * table.nr_index; i++) {
		id = get(&table, i);
		EXPECT(id >= 0);
		EXPECT(id_is(&table, id, i));
		EXPECT_EQ(find(&table, i), id);
		EXPECT_EQ(bpf_stack_table_delete(&table, id), 0);
	}
	EXPECT(consistent(&table, 0));
	bpf_stack_table_destroy(&table);
	return true;
}

static bool wrong_ids(void)
{
	static const u32 wrong[] = { 5, 63, 64, 1000, 1U << 20, 0x7fffffff, 0x80000000, ~0U };
	struct bpf_stack_table table = {};
	u64 word[4];

	EXPECT_EQ(bpf_stack_table_init(&table, 8, ROOM, 20, 0), 0);
	for (u32 i = 0; i < 5; i++)
		EXPECT_EQ(get(&table, i), i);
	for (u32 i = 0; i < ARRAY_SIZE(wrong); i++) {
		EXPECT_EQ(bpf_stack_table_copy(&table, wrong[i], word, 4), -ENOENT);
		EXPECT_EQ(bpf_stack_table_delete(&table, wrong[i]), -ENOENT);
	}
	EXPECT_EQ(bpf_stack_table_next(&table, 4), -ENOENT);
	EXPECT_EQ(bpf_stack_table_next(&table, table.nr_index), -ENOENT);
	bpf_stack_table_destroy(&table);
	return true;
}

/* In a full table, each insertion with reuse must evict one stack with its id. */
static bool reuse(void)
{
	struct bpf_stack_table table = {};
	const u32 n = 1000, more = 20000;
	int *ids = calloc(n + more, sizeof(*ids));
	u32 there = 0;

	EXPECT_EQ(bpf_stack_table_init(&table, n, ROOM, 20, 0), 0);
	for (u32 i = 0; i < n + more; i++) {
		ids[i] = get_depth(&table, i, stack_depth(i), true);
		EXPECT(ids[i] >= 0);
		EXPECT(id_is(&table, ids[i], i));
	}
	EXPECT_EQ(bpf_stack_table_stats(&table).evicted, more);
	for (u32 i = 0; i < n + more; i++) {
		u64 word[64];
		int ret = bpf_stack_table_copy(&table, ids[i], word, 64);

		if (ret == -ENOENT)
			continue;
		EXPECT(id_is(&table, ids[i], i));
		there++;
	}
	EXPECT_EQ(there, n);
	EXPECT(consistent(&table, n));
	bpf_stack_table_destroy(&table);
	free(ids);
	return true;
}

/* An iteration must continue after a deleted key, and see no stack twice. */
static bool iteration(void)
{
	struct bpf_stack_table table = {};
	const u32 n = 1000;
	u32 seen = 0;
	int id;

	EXPECT_EQ(bpf_stack_table_init(&table, n, ROOM, 20, 0), 0);
	EXPECT_EQ(bpf_stack_table_next(&table, -1), -ENOENT);
	for (u32 i = 0; i < n; i++)
		EXPECT(get(&table, i) >= 0);
	for (id = bpf_stack_table_next(&table, -1); id >= 0; seen++) {
		int next = bpf_stack_table_next(&table, bpf_stack_table_index(&table, id));

		EXPECT(next < 0 || next > id);
		EXPECT_EQ(bpf_stack_table_delete(&table, id), 0);
		EXPECT_EQ(bpf_stack_table_next(&table, bpf_stack_table_index(&table, id)),
			  next);
		id = next;
	}
	EXPECT_EQ(seen, n);
	EXPECT(consistent(&table, 0));
	bpf_stack_table_destroy(&table);
	return true;
}

/* Without memory, losses must be counted, no block leak, and returned blocks be reused. */
static bool no_memory(void)
{
	struct bpf_stack_table table = {};
	int deep;

	EXPECT_EQ(bpf_stack_table_init(&table, 64, 127, 0, 0), 0);
	EXPECT_EQ(table.pool.nr_blocks, STACK_FILL_MIN);
	shim_no_memory = true;
	EXPECT_EQ(get(&table, 0), 0);
	deep = get_depth(&table, 1, 20 * STACK_BLOCK_WORDS, false);
	EXPECT(deep >= 0);
	EXPECT_EQ(get_depth(&table, 2, 20 * STACK_BLOCK_WORDS, false), -ENOMEM);
	EXPECT_EQ(get(&table, 0), 0);
	EXPECT_EQ(bpf_stack_table_stats(&table).lost_nomem, 1);
	EXPECT(consistent(&table, 2));
	/* While nobody asks, the worker does not try again; then it waits longer each time. */
	table.pool.grow.delay = 0;
	pool_grow(&table.pool.grow.work);
	EXPECT_EQ(table.pool.grow.delay, 0);
	EXPECT_EQ(get_depth(&table, 2, 20 * STACK_BLOCK_WORDS, false), -ENOMEM);
	EXPECT(table.pool.grow.delay > STACK_POOL_RETRY_MS);
	EXPECT_EQ(bpf_stack_table_delete(&table, deep), 0);
	EXPECT(get_depth(&table, 2, 20 * STACK_BLOCK_WORDS, false) >= 0);
	shim_no_memory = false;
	/* The worker has been asked already; run its retry. */
	pool_grow(&table.pool.grow.work);
	EXPECT(get_depth(&table, 3, 60 * STACK_BLOCK_WORDS, false) >= 0);
	EXPECT(consistent(&table, 3));
	bpf_stack_table_destroy(&table);
	return true;
}

/*
 * With memory for no more stacks, a new one must replace others, as many as it needs; a
 * stack that is already stored must replace none.
 */
static bool reuse_without_memory(void)
{
	struct bpf_stack_table table = {};
	struct bpf_stack_stats stats;
	int id = -1;

	EXPECT_EQ(bpf_stack_table_init(&table, 64, 127, 0, 0), 0);
	shim_no_memory = true;
	for (u32 i = 0; i < 1000; i++) {
		id = get_depth(&table, i, stack_depth(i), true);
		EXPECT(id_is(&table, id, i));
	}
	stats = bpf_stack_table_stats(&table);
	EXPECT_EQ(stats.stored, 1000);
	EXPECT_EQ(stats.lost_nomem, 0);
	EXPECT_EQ(stats.evicted, 1000 - bpf_stack_table_count(&table));
	EXPECT(bpf_stack_table_count(&table) < 64);
	EXPECT_EQ(get_depth(&table, 999, stack_depth(999), true), id);
	EXPECT_EQ(bpf_stack_table_stats(&table).evicted, stats.evicted);
	/* The longest stack replaces no more than it has blocks. */
	EXPECT(get_depth(&table, 1000, 127, true) >= 0);
	EXPECT(bpf_stack_table_stats(&table).evicted - stats.evicted <= blocks_of(127));
	/* Without the flag, nothing is replaced. */
	EXPECT_EQ(get_depth(&table, 1001, 127, false), -ENOMEM);
	shim_no_memory = false;
	EXPECT(consistent(&table, bpf_stack_table_count(&table)));
	bpf_stack_table_destroy(&table);
	return true;
}

/* The same in a large table, most of which is empty. */
static bool reuse_in_sparse_table(void)
{
	struct bpf_stack_table table = {};

	EXPECT_EQ(bpf_stack_table_init(&table, 1 << 20, 127, 0, 0), 0);
	shim_no_memory = true;
	for (u32 i = 0; i < 3000; i++)
		EXPECT(get_depth(&table, i, 3 + i * 13 % 35, true) >= 0);
	EXPECT_EQ(bpf_stack_table_stats(&table).lost_nomem, 0);
	shim_no_memory = false;
	bpf_stack_table_destroy(&table);
	return true;
}

/*
 * A table must take as many stacks as it has entries without the worker, if their mean
 * depth is the one that it was filled for.
 */
static bool filled(void)
{
	struct bpf_stack_table table = {};
	const u32 n = 4096;

	EXPECT_EQ(bpf_stack_table_init(&table, n, 127, 20, 0), 0);
	shim_no_memory = true;
	for (u32 i = 0; i < n; i++)
		EXPECT(get_depth(&table, i, 1 + i % 39, false) >= 0);
	shim_no_memory = false;
	EXPECT_EQ(bpf_stack_table_stats(&table).lost_nomem, 0);
	EXPECT(consistent(&table, n));
	bpf_stack_table_destroy(&table);
	return true;
}

/* With deeper stacks, the worker must add blocks in time, and not many too many. */
static bool grown(u32 depth)
{
	struct bpf_stack_table table = {};
	const u32 n = 4096;

	EXPECT_EQ(bpf_stack_table_init(&table, n, 127, 20, 0), 0);
	for (u32 i = 0; i < n; i++)
		EXPECT(get_depth(&table, i, depth, false) >= 0);
	EXPECT_EQ(bpf_stack_table_stats(&table).lost_nomem, 0);
	EXPECT(table.pool.nr_blocks <= max(2 * n, n * blocks_of(depth) * 9 / 8) + 1024);
	EXPECT(consistent(&table, n));
	bpf_stack_table_destroy(&table);
	return true;
}

static bool grows(void)
{
	static const u32 sizes[] = { 1, 20, 30, 31, 60, 127 };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		EXPECT(grown(sizes[i]));
	return true;
}

/* Print how many lines lookups read, for stored stacks and for new ones. */
static void print_probes(struct bpf_stack_table *table, const char *when,
			 const u64 *there, u32 nr)
{
	u32 hit[4] = {}, miss[4] = {}, most = 0;
	u64 word[64], lines = 0;

	for (u32 i = 0; i < nr; i++) {
		struct bpf_stack_key key = stack_key(table, there[i],
						     stack_depth(there[i]), word);
		u32 home = tag_home(table, hash_tag(key.hash)), at;
		u64 cell;

		stored_get(table, find_key(table, &key), &at, &cell);
		hit[min(line_distance(table, home, at / STACK_LINE), 3U)]++;
	}
	for (u32 line = 0; line < table->nr_lines; line++) {
		u32 reach = ctl_reach(table->cells[line * STACK_LINE].counter);

		miss[min(reach, 3U)]++;
		lines += reach + 1;
		most = max(most, reach + 1);
	}
	printf("# %-22s found in line 1: %5.2f %%  2: %5.2f %%  3: %4.2f %%  more: %4.2f %%;"
	       " new: %4.2f lines, 1: %5.2f %%  2: %5.2f %%  3: %4.2f %%  more: %4.2f %%, most %u\n",
	       when, 100.0 * hit[0] / nr, 100.0 * hit[1] / nr, 100.0 * hit[2] / nr,
	       100.0 * hit[3] / nr, (double)lines / table->nr_lines,
	       100.0 * miss[0] / table->nr_lines, 100.0 * miss[1] / table->nr_lines,
	       100.0 * miss[2] / table->nr_lines, 100.0 * miss[3] / table->nr_lines, most);
}

static double mean_lines(struct bpf_stack_table *table, u32 *most)
{
	u64 lines = 0;

	*most = 0;
	for (u32 line = 0; line < table->nr_lines; line++) {
		u32 reach = ctl_reach(table->cells[line * STACK_LINE].counter);

		lines += reach + 1;
		*most = max(*most, reach + 1);
	}
	return (double)lines / table->nr_lines;
}

/* Lookups must read few lines at any load, and after 100 deletions for each entry. */
static bool probes(void)
{
	struct bpf_stack_table table = {};
	const u32 n = 16384;
	static const u32 loads[] = { 50, 75, 90, 100 };
	u64 *there = calloc(n, sizeof(*there)), next = 0;
	u32 most;
	int id;

	EXPECT_EQ(bpf_stack_table_init(&table, n, ROOM, 20, 0), 0);
	for (size_t i = 0; i < ARRAY_SIZE(loads); i++) {
		u32 percent = loads[i];
		char when[32];

		for (; next < (u64)n * percent / 100; next++) {
			there[next] = next;
			EXPECT(get(&table, next) >= 0);
		}
		snprintf(when, sizeof(when), "%u %% of %u:", percent, n);
		print_probes(&table, when, there, next);
		EXPECT(mean_lines(&table, &most) < 1.35);
		EXPECT(most <= 12);
	}
	for (u64 i = 0; i < 100ULL * n; i++) {
		u32 victim = get_random_u64() % n;

		id = find(&table, there[victim]);
		EXPECT(id >= 0);
		EXPECT_EQ(bpf_stack_table_delete(&table, id), 0);
		there[victim] = next;
		EXPECT(get(&table, next++) >= 0);
	}
	print_probes(&table, "after 100 x churn:", there, n);
	EXPECT(mean_lines(&table, &most) < 1.35);
	EXPECT(most <= 16);
	EXPECT(consistent(&table, n));
	for (u32 i = 0; i < n; i++)
		EXPECT(id_is(&table, find(&table, there[i]), there[i]));
	bpf_stack_table_destroy(&table);
	free(there);
	return true;
}

/* Compare with the base, which takes 16 + 8 * 127 bytes and a pointer for each entry. */
static bool memory(void)
{
	struct bpf_stack_table table = {};
	const u32 n = 16384, base = 16 + 8 * 127 + 8;
	double each;

	EXPECT_EQ(bpf_stack_table_init(&table, n, 127, 20, 0), 0);
	for (u32 i = 0; i < n; i++)
		EXPECT(get_depth(&table, i, 1 + i % 39, false) >= 0);
	each = (double)bpf_stack_table_bytes(&table) / n;
	printf("# memory at mean depth 20: %.1f bytes a stack, base %u: %.3f\n",
	       each, base, each / base);
	EXPECT(each / base <= 1.0 / 3);
	bpf_stack_table_destroy(&table);
	return true;
}

static struct bpf_stack_table secrets(void)
{
	return (struct bpf_stack_table){ .seed = get_random_u64(), .mul = get_random_u64() };
}

/* The hash as its description says, with words after the stack's that change nothing. */
static u64 hash_model(const struct bpf_stack_table *table, const u64 *word, u32 nr)
{
	u64 hash = table->seed + nr * table->mul;

	for (u32 i = 0; i < nr; i += 2) {
		u64 second = i + 1 < nr ? word[i + 1] : 0;
		__uint128_t product = hash + word[i];

		product *= table->mul + second;
		hash = product ^ product >> 64;
	}
	return hash | 1;
}

/* The hash must depend on the secrets, the length, and each bit. */
static bool hashes(void)
{
	struct bpf_stack_table a = secrets(), b = secrets(), c = a;
	u64 word[129];

	c.seed = b.seed;
	stack_words(1, 129, word);
	for (u32 nr = 1; nr <= 128; nr++) {
		u64 hash = bpf_stack_table_hash(&a, word, nr);

		EXPECT_EQ(hash, hash_model(&a, word, nr));
		EXPECT((u32)hash != (u32)bpf_stack_table_hash(&b, word, nr));
		EXPECT((u32)hash != (u32)bpf_stack_table_hash(&c, word, nr));
		for (u32 i = 0; i <= nr; i++)
			for (u32 bit = 0; bit < 64; bit++) {
				u64 other;

				word[i] ^= BIT_ULL(bit);
				other = bpf_stack_table_hash(&a, word, nr);
				word[i] ^= BIT_ULL(bit);
				EXPECT((other != hash) == (i < nr));
			}
		word[nr] = 0;
		EXPECT(bpf_stack_table_hash(&a, word, nr + 1) != hash);
		stack_words(1, 129, word);
	}
	return true;
}

/*
 * Stacks that hashes with known constants, or weaker uses of a secret, give one hash, or that pairs
 * of them have.  Returns the number of words.
 */
static u32 choose(u32 kind, u32 i, u64 *word)
{
	const u64 top = BIT_ULL(63), other = -(u64)(i % 2);

	memset(word, 0, 4 * sizeof(*word));
	switch (kind) {
	case 0: /* The halves have the same sum. */
		word[0] = (u64)(0x70000 + i) << 32 | (0x10000000 - i);
		return 4;
	case 1: /* Only the highest bits differ. */
		word[0] = (u64)(0x10000 + i) << 44 | 0x1000;
		return 4;
	case 2: /* Two words and their complements */
		word[0] = (0x70000ULL + i / 2) ^ other;
		word[1] = (0x90000ULL + i / 2) ^ other;
		return 4;
	case 3: /* A word and its complement */
		word[0] = (0x70000ULL + i / 2) ^ other;
		return 4;
	case 4: /* Two words change places. */
		word[i % 2] = 0x7000ULL + i / 2;
		word[!(i % 2)] = 0x90000ULL + i / 2;
		return 4;
	case 5: /* A highest bit, and another one in the next words that may cancel it */
		word[0] = other & top;
		word[1] = i / 2 * 16;
		word[2] = other & BIT_ULL(i / 2 % 64);
		return 4;
	case 6: /* The second word takes the first one away. */
		word[0] = 0x1000ULL * i;
		word[1] = -0x1000ULL * i;
		return 4;
	default: /* A word of zeros more, and its number taken away or cancelled in the first */
		word[0] = kind == 7 ? 0x1000ULL * (i / 2) - i % 2 : 0x1000ULL * (i / 2) ^ i % 2;
		word[2] = 1;
		return 3 + i % 2;
	}
}

/* A program must not be able to choose stacks that all have one home, nor two that have. */
static bool chosen_stacks(void)
{
	enum { STACKS = 16384, KINDS = 9 };
	struct bpf_stack_table table = secrets();
	static bool used[KINDS][1 << 20];

	for (u32 kind = 0; kind < KINDS; kind++) {
		u32 same = 0, pairs = 0, last = 0;

		for (u32 i = 0; i < STACKS; i++) {
			bool *there = used[kind];
			u64 word[4];
			u32 nr = choose(kind, i, word), hash;

			hash = (u32)bpf_stack_table_hash(&table, word, nr) >> 12;
			same += there[hash];
			there[hash] = true;
			pairs += i % 2 && hash == last;
			last = hash;
		}
		/* Random hashes of 20 bits: 127 share one, and a pair does in one of 128 runs. */
		EXPECT(same < 256);
		EXPECT(pairs < 6);
	}
	return true;
}

/*
 * With many CPUs, each of which has blocks that the worker does not see, a table that begins
 * nearly empty must still take all stacks.
 */
static bool many_cpus(void)
{
	static const u32 cpus[] = { 4, 24, 64, 256 };
	const u32 n = 16384;

	for (size_t c = 0; c < ARRAY_SIZE(cpus); c++) {
		struct bpf_stack_table table = {};

		shim_cpus = cpus[c];
		EXPECT_EQ(bpf_stack_table_init(&table, n, 127, 0, 0), 0);
		for (u32 i = 0; i < n; i++) {
			shim_cpu = i % shim_cpus;
			EXPECT(get_depth(&table, i, 1 + i % 40, false) >= 0);
		}
		EXPECT_EQ(bpf_stack_table_stats(&table).lost_nomem, 0);
		shim_cpu = 0;
		bpf_stack_table_destroy(&table);
	}
	shim_cpus = 2;
	return true;
}

/* A table of few entries must have room for its first blocks, however long its stacks are. */
static bool few_long_stacks(void)
{
	static const u32 words[] = { 127, 1024, 16395, 655360 };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		for (u32 n = 1; n < 4; n++) {
			struct bpf_stack_table table = {};

			EXPECT_EQ(bpf_stack_table_init(&table, n, words[i], 0, 0), 0);
			EXPECT(table.pool.nr_chunks <= table.pool.max_chunks);
			bpf_stack_table_destroy(&table);
			table = (struct bpf_stack_table){};
			EXPECT_EQ(bpf_stack_table_init(&table, n, words[i], words[i], 0), 0);
			EXPECT(table.pool.nr_chunks <= table.pool.max_chunks);
			bpf_stack_table_destroy(&table);
		}
	return true;
}

static const struct {
	const char *name;
	bool (*run)(void);
} tests[] = {
	{ "capacity: N stacks into N entries", capacity },
	{ "same hash: complete, and the reach shrinks to 0", same_hash },
	{ "special hashes", special_hashes },
	{ "depths: around each limit of memory", depths },
	{ "deep stacks that differ in one word", deep_difference },
	{ "generations: a deleted id stays deleted", generations },
	{ "generations wrap", generation_wrap },
	{ "wrong ids", wrong_ids },
	{ "reuse: one for one", reuse },
	{ "iteration with deletion", iteration },
	{ "no memory", no_memory },
	{ "no memory: reuse evicts what it needs", reuse_without_memory },
	{ "no memory: reuse in a sparse table", reuse_in_sparse_table },
	{ "a filled table takes all without the worker", filled },
	{ "the worker keeps ahead of deep stacks", grows },
	{ "probes: short at any load and after churn", probes },
	{ "memory follows what is stored", memory },
	{ "hashes", hashes },
	{ "hashes of chosen stacks", chosen_stacks },
	{ "many CPUs: no stack is lost", many_cpus },
	{ "few entries of long stacks", few_long_stacks },
};

int main(int argc, char **argv)
{
	if (argc > 1)
		shim_seed = strtoull(argv[1], NULL, 0);
	printf("# unit: seed %llu\n", (unsigned long long)shim_seed);
	for (size_t i = 0; i < ARRAY_SIZE(tests); i++)
		test_result(tests[i].run(), "%s", tests[i].name);
	return test_end();
}
