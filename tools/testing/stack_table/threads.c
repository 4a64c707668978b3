// SPDX-License-Identifier: GPL-2.0-only
/*
 * Real threads on one table of kernel/bpf/stack_table.c, for TSan.  Inserters and
 * deleters share a few stacks, so that they conflict all the time.  Readers read the ids
 * that inserters returned, and one thread iterates.  One stack stays stored all the time.
 *
 * usage: threads [SEED [MILLISECONDS]]
 */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "stack_pool.c"
#include "stack_table.c"
#include "test.h"

#define NR_WORKERS	8
#define NR_READERS	4
#define NR_STACKS	96
#define DEPTH		64
/* Number of the stack that stays stored */
#define STAYS		NR_STACKS

static struct bpf_stack_table table;
/* Ids that inserters returned, with their stacks: (id + 1) << 32 | stack */
static u64 box[256];
static bool stop;
static int stays_id;
static u64 wrong, lost, missed, stays_missed, reads, gone, inserted;

static u64 next_random(u64 *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static u32 stack_words(u32 n, u64 *word)
{
	u32 nr = 2 + n % (DEPTH - 2);

	for (u32 i = 0; i < nr; i++)
		word[i] = (u64)(n + 1) * 0x9e3779b97f4a7c15ULL ^ i;
	return nr;
}

static bool is_stack(const u64 *got, int nr, u32 n)
{
	u64 want[DEPTH] = {};

	return (u32)nr == stack_words(n, want) && !memcmp(got, want, sizeof(want));
}

static struct bpf_stack_key stack_key(u32 n, u64 *word)
{
	u32 nr = stack_words(n, word);

	return (struct bpf_stack_key) {
		.word = word,
		.nr = nr,
		.hash = bpf_stack_table_hash(&table, word, nr),
	};
}

static void add(u64 *counter)
{
	__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

static bool stopped(void)
{
	return __atomic_load_n(&stop, __ATOMIC_RELAXED);
}

static void *work(void *arg)
{
	unsigned int slot = (uintptr_t)arg;
	u64 state = shim_seed * 977 + slot + 1, word[DEPTH];

	shim_cpu = slot;
	while (!stopped()) {
		u64 random = next_random(&state);
		u32 n = random % NR_STACKS;
		u64 *place = &box[random >> 32 & 255];
		struct bpf_stack_key key = stack_key(n, word);
		int id;

		id = bpf_stack_table_get(&table, &key, random >> 60 == 0);
		if (id < 0)
			add(&lost);
		else
			add(&inserted);
		if (id >= 0)
			__atomic_store_n(place, (u64)(id + 1) << 32 | n, __ATOMIC_RELAXED);

		random = next_random(&state);
		if (random & 1)
			continue;
		word[0] = __atomic_load_n(&box[random >> 32 & 255], __ATOMIC_RELAXED);
		if (!word[0])
			continue;
		bpf_stack_table_delete(&table, (word[0] >> 32) - 1);
	}
	return NULL;
}

/* An id must lead to its own stack or to none. */
static void read_box(u64 *state)
{
	u64 got[DEPTH], seen;
	int nr;

	seen = __atomic_load_n(&box[next_random(state) & 255], __ATOMIC_RELAXED);
	if (!seen)
		return;
	nr = bpf_stack_table_copy(&table, (seen >> 32) - 1, got, DEPTH);
	add(&reads);
	if (nr < 0)
		add(&gone);
	else if (!is_stack(got, nr, (u32)seen))
		add(&wrong);
}

static void read_stays(void)
{
	u64 got[DEPTH], word[DEPTH];
	struct bpf_stack_key key = stack_key(STAYS, word);
	int nr;

	nr = bpf_stack_table_copy(&table, stays_id, got, DEPTH);
	if (nr < 0)
		add(&missed);
	else if (!is_stack(got, nr, STAYS))
		add(&wrong);
	if (find_key(&table, &key) != stays_id)
		add(&stays_missed);
}

static void *read_all(void *arg)
{
	unsigned int slot = (uintptr_t)arg;
	u64 state = shim_seed * 31 + slot;

	while (!stopped()) {
		read_box(&state);
		read_stays();
	}
	return NULL;
}

/* Each iteration must see the stack that stays exactly once. */
static void *iterate(void *arg)
{
	(void)arg;
	while (!stopped()) {
		s64 index = -1;
		u32 seen = 0;
		int id;

		for (;;) {
			id = bpf_stack_table_next(&table, index);
			if (id < 0)
				break;
			seen += id == stays_id;
			index = bpf_stack_table_index(&table, id);
		}
		if (seen != 1)
			add(&stays_missed);
	}
	return NULL;
}

/* Each stack must be stored at most once; after deletion, all blocks must be free. */
static bool left_over(void)
{
	int taken = 0;
	u64 word[DEPTH], got[DEPTH];
	u32 found = 0, listed = 0;
	int id;

	for (u32 n = 0; n <= NR_STACKS; n++) {
		struct bpf_stack_key key = stack_key(n, word);

		id = find_key(&table, &key);
		if (id < 0)
			continue;
		found++;
		EXPECT(is_stack(got, bpf_stack_table_copy(&table, id, got, DEPTH), n));
	}
	for (id = bpf_stack_table_next(&table, -1); id >= 0;
	     id = bpf_stack_table_next(&table, bpf_stack_table_index(&table, id)))
		listed++;
	EXPECT_EQ(listed, found);
	EXPECT_EQ(bpf_stack_table_count(&table), found);
	while ((id = bpf_stack_table_next(&table, -1)) >= 0)
		EXPECT_EQ(bpf_stack_table_delete(&table, id), 0);
	EXPECT_EQ(bpf_stack_table_count(&table), 0);
	for (u32 cpu = 0; cpu < shim_cpus; cpu++)
		taken += table.pool.cpus[cpu].taken.counter;
	EXPECT_EQ(table.pool.nr_free.counter - taken, table.pool.nr_blocks);
	return true;
}

static bool run(u32 max_entries, unsigned int ms)
{
	pthread_t threads[NR_WORKERS + NR_READERS + 1];
	struct timespec pause = { ms / 1000, ms % 1000 * 1000000L };
	struct bpf_stack_stats stats;
	u64 word[DEPTH];
	struct bpf_stack_key key;
	unsigned int n = 0;

	memset(&table, 0, sizeof(table));
	memset(box, 0, sizeof(box));
	wrong = 0;
	lost = 0;
	missed = 0;
	stays_missed = 0;
	reads = 0;
	gone = 0;
	inserted = 0;
	stop = false;
	shim_cpus = NR_WORKERS;
	EXPECT_EQ(bpf_stack_table_init(&table, max_entries, DEPTH, DEPTH, 0), 0);
	key = stack_key(STAYS, word);
	stays_id = bpf_stack_table_get(&table, &key, false);
	EXPECT(stays_id >= 0);

	for (; n < NR_WORKERS; n++)
		pthread_create(&threads[n], NULL, work, (void *)(uintptr_t)n);
	for (; n < NR_WORKERS + NR_READERS; n++)
		pthread_create(&threads[n], NULL, read_all, (void *)(uintptr_t)n);
	pthread_create(&threads[n], NULL, iterate, (void *)(uintptr_t)n);
	nanosleep(&pause, NULL);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (unsigned int i = 0; i <= n; i++)
		pthread_join(threads[i], NULL);

	stats = bpf_stack_table_stats(&table);
	printf("# insertions %llu, new %llu, races %llu, deleted %llu, reads %llu, too late %llu\n",
	       (unsigned long long)inserted, (unsigned long long)stats.stored,
	       (unsigned long long)stats.races, (unsigned long long)stats.deleted,
	       (unsigned long long)reads, (unsigned long long)gone);
	if (lost)
		printf("# lost: %llu full, %llu without memory\n",
		       (unsigned long long)stats.lost_full,
		       (unsigned long long)stats.lost_nomem);
	EXPECT(inserted > 1000);
	EXPECT(stats.deleted > 100);
	EXPECT_EQ(wrong, 0);
	EXPECT_EQ(lost, 0);
	EXPECT_EQ(missed, 0);
	EXPECT_EQ(stays_missed, 0);
	EXPECT_EQ(stats.stored + stats.hits, inserted + 1);
	EXPECT(left_over());
	bpf_stack_table_destroy(&table);
	return true;
}

int main(int argc, char **argv)
{
	unsigned int ms = 3000;

	if (argc > 1)
		shim_seed = strtoull(argv[1], NULL, 0);
	if (argc > 2)
		ms = strtoul(argv[2], NULL, 0);
	printf("# threads: seed %llu, %u ms each\n", (unsigned long long)shim_seed, ms);
	test_result(run(NR_STACKS + 1, ms), "threads: a table for all of them, exactly");
	test_result(run(4 * NR_STACKS, ms), "threads: a large table");
	return test_end();
}
