// SPDX-License-Identifier: GPL-2.0
/*
 * The stack map from user space: lookup, deletion, iteration and batches, alone and
 * while others write; what is refused, and with which error.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "map_lib.h"

#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT 280

#define ENTRIES	512
/* Few enough that the base finds most of them a slot. */
#define STORED	64
#define ROOM	64

FIXTURE(filled)
{
	struct stacks stacks;
	/* Stack i has the seed seeds[i], which is i modulo STORED. */
	uint32_t seeds[STORED];
	uint32_t ids[STORED];
	uint64_t values[ENTRIES][ROOM];
	uint32_t keys[ENTRIES];
};

static unsigned int depth_of(uint32_t i)
{
	return 3 + i % 50;
}

/* A seed that the base has no slot for is replaced, so that each case is about one thing. */
FIXTURE_SETUP(filled)
{
	ASSERT_EQ(0, stacks_open(&self->stacks, ENTRIES, ROOM, 0, 0));
	for (uint32_t i = 0; i < STORED; i++) {
		long id = -EEXIST;

		for (uint32_t seed = i; id == -EEXIST && seed < 100 * STORED; seed += STORED) {
			id = stacks_take(&self->stacks, 0, seed, depth_of(i), BPF_F_USER_STACK);
			self->seeds[i] = seed;
		}
		ASSERT_LE(0, id);
		self->ids[i] = id;
	}
}

FIXTURE_TEARDOWN(filled)
{
	if (self->stacks.skel)
		stacks_close(&self->stacks);
}

/* Seeds are told modulo STORED, see above. */
static int read_as(const struct stacks *stacks, uint32_t id, uint32_t expected)
{
	uint32_t seed;
	int err = stacks_read(stacks, id, &seed);

	return err ?: seed % STORED == expected ? 0 : -EBADMSG;
}

static int index_of(const uint32_t *ids, uint32_t id)
{
	for (int i = 0; i < STORED; i++) {
		if (ids[i] == id)
			return i;
	}
	return -1;
}

TEST_F(filled, lookup_takes_nothing_away)
{
	for (int round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < STORED; i++)
			ASSERT_EQ(0, read_as(&self->stacks, self->ids[i], i));
	}
}

TEST_F(filled, ids_differ)
{
	for (uint32_t i = 0; i < STORED; i++)
		EXPECT_EQ(i, index_of(self->ids, self->ids[i]));
}

TEST_F(filled, lookup_of_absent_id_enoent)
{
	uint64_t value[ROOM];
	uint32_t absent[] = { ENTRIES * 8, UINT32_MAX, UINT32_MAX / 2 };

	for (unsigned int i = 0; i < 3; i++)
		EXPECT_EQ(-ENOENT, bpf_map_lookup_elem(self->stacks.fd, &absent[i], value));
}

TEST_F(filled, lookup_fills_up_with_zeroes)
{
	uint64_t value[ROOM];

	memset(value, 0xff, sizeof(value));
	ASSERT_EQ(0, bpf_map_lookup_elem(self->stacks.fd, &self->ids[0], value));
	EXPECT_NE(0, value[2]);
	for (unsigned int i = 3; i < ROOM; i++)
		EXPECT_EQ(0, value[i]);
}

TEST_F(filled, lookup_to_bad_address_efault)
{
	EXPECT_EQ(-EFAULT, bpf_map_lookup_elem(self->stacks.fd, &self->ids[0], (void *)8));
	/* And it is still there. */
	EXPECT_EQ(0, read_as(&self->stacks, self->ids[0], 0));
}

TEST_F(filled, delete_then_enoent)
{
	uint32_t gone = self->ids[7];

	ASSERT_EQ(0, bpf_map_delete_elem(self->stacks.fd, &gone));
	EXPECT_EQ(-ENOENT, read_as(&self->stacks, gone, 7));
	EXPECT_EQ(-ENOENT, bpf_map_delete_elem(self->stacks.fd, &gone));
	for (uint32_t i = 0; i < STORED; i++) {
		if (i != 7)
			EXPECT_EQ(0, read_as(&self->stacks, self->ids[i], i));
	}
}

/* An id is never another stack's: not even when all that is free is used again. */
TEST_F(filled, deleted_id_never_names_another)
{
	uint32_t wrong = 0, seed;

	for (uint32_t i = 0; i < STORED; i++)
		ASSERT_EQ(0, bpf_map_delete_elem(self->stacks.fd, &self->ids[i]));
	for (uint32_t i = 0; i < ENTRIES; i++)
		stacks_take(&self->stacks, 0, 100000 + i, 20, BPF_F_USER_STACK);
	for (uint32_t i = 0; i < STORED; i++)
		wrong += stacks_read(&self->stacks, self->ids[i], &seed) != -ENOENT;
	ksft_print_msg("figure old_ids: %u of %u deleted ids name another stack\n", wrong,
		       STORED);
	EXPECT_EQ(0, wrong);
}

/* Many lives of each slot, one after the other. */
TEST_F(filled, deleted_id_never_names_another_over_generations)
{
	static uint32_t old[32 * ENTRIES];
	uint32_t n = 0, wrong = 0, seed, key;
	long id;

	for (uint32_t i = 0; i < 32 * ENTRIES; i++) {
		id = stacks_take(&self->stacks, 0, 1000000 + i, 3, BPF_F_USER_STACK);
		if (id < 0)
			continue;
		key = id;
		old[n++] = key;
		ASSERT_EQ(0, bpf_map_delete_elem(self->stacks.fd, &key));
		/* The 64 before, while this slot may be in use again. */
		id = stacks_take(&self->stacks, 0, 5000000 + i, 3, BPF_F_USER_STACK);
		for (uint32_t j = n > 64 ? n - 64 : 0; j < n; j++)
			wrong += stacks_read(&self->stacks, old[j], &seed) != -ENOENT;
		key = id;
		if (id >= 0)
			bpf_map_delete_elem(self->stacks.fd, &key);
	}
	ksft_print_msg("figure generations: %u lookups of deleted ids found another stack\n",
		       wrong);
	EXPECT_EQ(0, wrong);
	EXPECT_EQ(32 * ENTRIES, n);
}

TEST_F(filled, delete_of_absent_id_fails)
{
	uint32_t absent = UINT32_MAX;

	int err = bpf_map_delete_elem(self->stacks.fd, &absent);

	/* The base says E2BIG above its table. */
	EXPECT_TRUE(err == -ENOENT || err == -E2BIG) TH_LOG("error %d", err);
}

TEST_F(filled, stored_again_after_delete)
{
	uint32_t key = self->ids[3];
	long id;

	ASSERT_EQ(0, bpf_map_delete_elem(self->stacks.fd, &key));
	id = stacks_take(&self->stacks, 0, self->seeds[3], depth_of(3), BPF_F_USER_STACK);
	ASSERT_LE(0, id);
	EXPECT_EQ(0, read_as(&self->stacks, id, 3));
}

TEST_F(filled, update_einval)
{
	uint64_t value[ROOM] = { 1 };

	EXPECT_EQ(-EINVAL, bpf_map_update_elem(self->stacks.fd, &self->ids[0], value, BPF_ANY));
}

TEST_F(filled, lookup_and_delete)
{
	uint64_t value[ROOM];
	uint32_t seed;

	for (uint32_t i = 0; i < STORED; i++) {
		ASSERT_EQ(0, bpf_map_lookup_and_delete_elem(self->stacks.fd, &self->ids[i],
							    value));
		EXPECT_LT(0, stacks_check(value, ROOM, &seed));
		EXPECT_EQ(i, seed % STORED);
		EXPECT_EQ(-ENOENT, bpf_map_lookup_and_delete_elem(self->stacks.fd, &self->ids[i],
								  value));
	}
}

/* Each present id exactly once, to the end. */
TEST_F(filled, next_key_visits_each_once)
{
	unsigned int visited[STORED] = {}, other = 0, n = 0;
	uint32_t key, next;
	int err;

	for (err = bpf_map_get_next_key(self->stacks.fd, NULL, &next); !err && n < 10 * ENTRIES;
	     err = bpf_map_get_next_key(self->stacks.fd, &key, &next), n++) {
		int i = index_of(self->ids, next);

		if (i < 0)
			other++;
		else
			visited[i]++;
		key = next;
	}
	EXPECT_EQ(-ENOENT, err);
	EXPECT_EQ(0, other);
	for (uint32_t i = 0; i < STORED; i++)
		EXPECT_EQ(1, visited[i]);
}

TEST_F(filled, next_key_of_empty_map_enoent)
{
	uint32_t next;

	for (uint32_t i = 0; i < STORED; i++)
		ASSERT_EQ(0, bpf_map_delete_elem(self->stacks.fd, &self->ids[i]));
	EXPECT_EQ(-ENOENT, bpf_map_get_next_key(self->stacks.fd, NULL, &next));
}

/*
 * What bcc's clear() and many tools do: delete the key, then ask for the one behind
 * it. The others that are present come exactly once, nothing is started again.
 */
TEST_F(filled, next_key_goes_on_behind_a_deleted_key)
{
	unsigned int visited[STORED] = {}, n = 0;
	uint32_t key, next;
	int err;

	/* Every second is deleted when it has been visited. */
	for (err = bpf_map_get_next_key(self->stacks.fd, NULL, &next); !err && n < 10 * ENTRIES;
	     err = bpf_map_get_next_key(self->stacks.fd, &key, &next), n++) {
		int i = index_of(self->ids, next);

		EXPECT_LE(0, i);
		if (i >= 0)
			visited[i]++;
		if (i % 2)
			bpf_map_delete_elem(self->stacks.fd, &next);
		key = next;
	}
	ksft_print_msg("figure iterate_and_delete: %u steps for %u ids\n", n, STORED);
	EXPECT_EQ(STORED, n);
	for (uint32_t i = 0; i < STORED; i++)
		EXPECT_EQ(1, visited[i]);
}

struct deleter {
	const struct stacks	*stacks;
	const uint32_t		*ids;
	volatile uint32_t	*at;
};

/* Another thread deletes what the iterator stands on. */
static void *delete_odd(void *data)
{
	struct deleter *deleter = data;
	uint32_t key, last = UINT32_MAX;

	while ((key = *deleter->at) != UINT32_MAX - 1) {
		int i = key == last ? -1 : index_of(deleter->ids, key);

		if (i >= 0 && i % 2)
			bpf_map_delete_elem(deleter->stacks->fd, &key);
		last = key;
	}
	return NULL;
}

TEST_F(filled, next_key_over_another_threads_deletions)
{
	unsigned int visited[STORED] = {}, n = 0, missed = 0, twice = 0;
	volatile uint32_t at = UINT32_MAX;
	struct deleter deleter = { &self->stacks, self->ids, &at };
	uint32_t key, next;
	pthread_t thread;
	int err;

	ASSERT_EQ(0, pthread_create(&thread, NULL, delete_odd, &deleter));
	for (err = bpf_map_get_next_key(self->stacks.fd, NULL, &next); !err && n < 10 * ENTRIES;
	     err = bpf_map_get_next_key(self->stacks.fd, &key, &next), n++) {
		int i = index_of(self->ids, next);

		if (i >= 0)
			visited[i]++;
		key = next;
		at = key;
		/* It may or may not be gone when it is asked for the next. */
		if (n % 3)
			sched_yield();
	}
	at = UINT32_MAX - 1;
	pthread_join(thread, NULL);
	for (uint32_t i = 0; i < STORED; i++) {
		missed += !visited[i];
		twice += visited[i] > 1;
	}
	ksft_print_msg("figure iterate_while_deleted: %u steps, %u missed, %u twice\n", n,
		       missed, twice);
	EXPECT_EQ(0, missed);
	EXPECT_EQ(0, twice);
}

/* A dump in steps of @step; returns how many, and whether each was there once. */
static int dump(struct stacks *stacks, const uint32_t *ids, uint32_t step, bool take,
		uint32_t *keys, uint64_t (*values)[ROOM], bool *once)
{
	unsigned int visited[STORED] = {};
	uint32_t in, out, count, n = 0;
	bool more = false;
	int err;

	*once = true;
	do {
		count = step;
		err = take ? bpf_map_lookup_and_delete_batch(stacks->fd, more ? &in : NULL, &out,
							     keys + n, values + n, &count, NULL) :
			     bpf_map_lookup_batch(stacks->fd, more ? &in : NULL, &out, keys + n,
						  values + n, &count, NULL);
		if (err && errno != ENOENT)
			return -errno;
		n += count;
		in = out;
		more = true;
	} while (!err && n + step <= ENTRIES);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t seed;
		int index = index_of(ids, keys[i]);

		if (index < 0 || visited[index]++ || !stacks_check(values[i], ROOM, &seed) ||
		    seed % STORED != (uint32_t)index)
			*once = false;
	}
	return n;
}

TEST_F(filled, batch_lookup_in_one)
{
	bool once;

	ASSERT_EQ(STORED, dump(&self->stacks, self->ids, ENTRIES / 2, false, self->keys,
			       self->values, &once));
	EXPECT_TRUE(once);
	/* And nothing was taken away. */
	ASSERT_EQ(STORED, dump(&self->stacks, self->ids, ENTRIES / 2, false, self->keys,
			       self->values, &once));
	EXPECT_TRUE(once);
}

TEST_F(filled, batch_lookup_in_steps)
{
	for (uint32_t step = 1; step < 80; step += 13) {
		bool once;

		ASSERT_EQ(STORED, dump(&self->stacks, self->ids, step, false, self->keys,
				       self->values, &once)) TH_LOG("step %u", step);
		EXPECT_TRUE(once);
	}
}

TEST_F(filled, batch_lookup_and_delete)
{
	uint32_t next;
	bool once;

	ASSERT_EQ(STORED, dump(&self->stacks, self->ids, 10, true, self->keys, self->values,
			       &once));
	EXPECT_TRUE(once);
	EXPECT_EQ(-ENOENT, bpf_map_get_next_key(self->stacks.fd, NULL, &next));
}

TEST_F(filled, batch_errors)
{
	uint32_t count, out;
	DECLARE_LIBBPF_OPTS(bpf_map_batch_opts, flags, .elem_flags = 1 << 20);

	/* Nothing wanted: nothing done. */
	count = 0;
	EXPECT_EQ(0, bpf_map_lookup_batch(self->stacks.fd, NULL, &out, self->keys,
					  self->values, &count, NULL));
	EXPECT_EQ(0, count);
	count = 4;
	EXPECT_EQ(-EINVAL, bpf_map_lookup_batch(self->stacks.fd, NULL, &out, self->keys,
						self->values, &count, &flags));
	count = 4;
	EXPECT_EQ(-EFAULT, bpf_map_lookup_batch(self->stacks.fd, NULL, &out, self->keys,
						(void *)8, &count, NULL));
	/* Nor has any of these taken something away. */
	for (uint32_t i = 0; i < STORED; i++)
		EXPECT_EQ(0, read_as(&self->stacks, self->ids[i], i));
}

/* A fault must not lose what could not be handed out. */
TEST_F(filled, batch_lookup_and_delete_at_fault_keeps)
{
	uint32_t count = 16, out;
	unsigned int present = 0;
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			  0);

	ASSERT_NE(MAP_FAILED, page);
	ASSERT_EQ(0, mprotect(page + 4096, 4096, PROT_NONE));
	EXPECT_EQ(-EFAULT, bpf_map_lookup_and_delete_batch(self->stacks.fd, NULL, &out,
							   self->keys, page + 4096, &count,
							   NULL));
	for (uint32_t i = 0; i < STORED; i++)
		present += !read_as(&self->stacks, self->ids[i], i);
	/* At most the one that was on its way. */
	EXPECT_LE(STORED - 1, present);
}

TEST_F(filled, frozen_map_is_read_and_still_filled)
{
	uint32_t seed, key = self->ids[0];
	long id;

	ASSERT_EQ(0, bpf_map_freeze(self->stacks.fd));
	EXPECT_EQ(0, read_as(&self->stacks, key, 0));
	EXPECT_EQ(-EPERM, bpf_map_delete_elem(self->stacks.fd, &key));
	id = stacks_take(&self->stacks, 0, 999, 9, BPF_F_USER_STACK);
	if (id != -EEXIST) {
		ASSERT_LE(0, id);
		EXPECT_EQ(0, stacks_read(&self->stacks, id, &seed));
		EXPECT_EQ(999, seed);
	}
}

/* Present ids are found, whoever else reads, dumps or inserts. */
struct reader {
	pthread_t		thread;
	struct stacks		*stacks;
	const uint32_t		*ids;
	volatile bool		*stop;
	unsigned long		reads, missed, wrong;
};

static void *read_all(void *data)
{
	struct reader *reader = data;

	while (!*reader->stop) {
		for (uint32_t i = 0; i < STORED; i++) {
			int err = read_as(reader->stacks, reader->ids[i], i);

			reader->reads++;
			if (err == -ENOENT)
				reader->missed++;
			else if (err)
				reader->wrong++;
		}
	}
	return NULL;
}

static void *iterate(void *data)
{
	struct reader *reader = data;
	uint32_t key, next;

	while (!*reader->stop) {
		uint32_t n = 0;
		int err;

		for (err = bpf_map_get_next_key(reader->stacks->fd, NULL, &next);
		     !err && n < 10 * ENTRIES;
		     err = bpf_map_get_next_key(reader->stacks->fd, &key, &next)) {
			n += index_of(reader->ids, next) >= 0;
			key = next;
		}
		reader->reads++;
		if (n < STORED)
			reader->missed++;
		else if (n > STORED)
			reader->wrong++;
	}
	return NULL;
}

#define READERS	4

TEST_F(filled, readers_never_miss)
{
	struct reader readers[READERS + 1];
	volatile bool stop = false;
	unsigned long missed = 0, wrong = 0, reads = 0;
	unsigned int changed = 0;

	for (unsigned int i = 0; i <= READERS; i++) {
		readers[i] = (struct reader){
			.stacks = &self->stacks, .ids = self->ids, .stop = &stop,
		};
		ASSERT_EQ(0, pthread_create(&readers[i].thread, NULL,
					    i < READERS ? read_all : iterate, &readers[i]));
	}
	/* Meanwhile these stacks come again and again, and others for the first time. */
	for (uint32_t i = 0; i < 40000; i++) {
		uint32_t seed = i % STORED;
		long id = stacks_take(&self->stacks, 0, seed, 3 + seed % 50,
				      BPF_F_USER_STACK);

		if (id >= 0)
			changed += id != self->ids[seed];
		else
			changed += id != -EEXIST;
		if (i % 200 == 0)
			stacks_take(&self->stacks, 0, 100000 + i, 20, BPF_F_USER_STACK);
	}
	stop = true;
	for (unsigned int i = 0; i <= READERS; i++) {
		pthread_join(readers[i].thread, NULL);
		if (i < READERS) {
			missed += readers[i].missed;
			wrong += readers[i].wrong;
			reads += readers[i].reads;
		}
	}
	ksft_print_msg("figure readers: %lu lookups, %lu missed (%.2f %%), %lu wrong\n",
		       reads, missed, 100.0 * missed / reads, wrong);
	ksft_print_msg("figure iterator: %lu rounds, %lu missed, %lu twice; %u ids changed\n",
		       readers[READERS].reads, readers[READERS].missed,
		       readers[READERS].wrong, changed);
	EXPECT_EQ(0, missed);
	EXPECT_EQ(0, wrong);
	EXPECT_EQ(0, changed);
	EXPECT_EQ(0, readers[READERS].missed);
	EXPECT_EQ(0, readers[READERS].wrong);
}

static int create(uint32_t key_size, uint32_t value_size, uint32_t entries, uint32_t flags)
{
	DECLARE_LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = flags);
	int fd = bpf_map_create(BPF_MAP_TYPE_STACK_TRACE, "stacks", key_size, value_size,
				entries, &opts);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

TEST(create_errors)
{
	EXPECT_EQ(0, create(4, 8, 1, 0));
	EXPECT_EQ(0, create(4, 1016, 3, 0));
	EXPECT_EQ(-EINVAL, create(8, 1016, 16, 0));
	EXPECT_EQ(-EINVAL, create(4, 1016, 0, 0));
	EXPECT_EQ(-EINVAL, create(4, 4, 16, 0));
	EXPECT_EQ(-EINVAL, create(4, 1020, 16, 0));
	EXPECT_EQ(-EINVAL, create(4, 0, 16, 0));
	EXPECT_EQ(-EINVAL, create(4, 1016, 16, BPF_F_MMAPABLE));
	EXPECT_EQ(-EINVAL, create(4, 1016, 16, 1 << 30));
	EXPECT_EQ(-E2BIG, create(4, 8, (1U << 31) + 1, 0));
	EXPECT_EQ(-EINVAL, create(4, 40, 16, BPF_F_STACK_BUILD_ID));
	EXPECT_EQ(0, create(4, 64, 16, BPF_F_STACK_BUILD_ID));
	EXPECT_EQ(0, create(4, 1016, 16, BPF_F_RDONLY));
	EXPECT_EQ(0, create(4, 1016, 16, BPF_F_WRONLY));
}

/* Memory on demand may be asked for by its old name. */
TEST(create_no_prealloc)
{
	EXPECT_EQ(0, create(4, 1016, 16, BPF_F_NO_PREALLOC));
}

TEST_HARNESS_MAIN
