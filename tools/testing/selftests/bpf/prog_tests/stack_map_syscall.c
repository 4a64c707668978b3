// SPDX-License-Identifier: GPL-2.0
/*
 * Test the stack map from user space: lookup, deletion, iteration and batches, alone and
 * while other threads write, and the errors for invalid arguments.
 */
#include <pthread.h>
#include <sys/mman.h>
#include <test_progs.h>
#include "stack_map_lib.h"
#include "stack_map_take.skel.h"

#define USER	BPF_F_USER_STACK
#define ENTRIES	512
/* Few enough that the old table finds a slot for most of them. */
#define STORED	64
#define ROOM	64

struct filled {
	struct stacks stacks;
	/* Seed of each stack; seeds[i] % STORED == i. */
	uint32_t seeds[STORED];
	uint32_t ids[STORED];
	uint64_t values[ENTRIES][ROOM];
	uint32_t keys[ENTRIES];
};

static unsigned int depth_of(uint32_t i)
{
	return 3 + i % 50;
}

/*
 * Store STORED stacks.  If the old table has no slot for a seed, try another seed, as
 * these tests are not about capacity.
 */
static bool fill(struct filled *self)
{
	memset(self, 0, sizeof(*self));
	if (!ASSERT_OK(stacks_open(&self->stacks, ENTRIES, ROOM, 0, 0), "open"))
		return false;
	for (uint32_t i = 0; i < STORED; i++) {
		long id = -EEXIST;

		for (uint32_t seed = i; id == -EEXIST && seed < 100 * STORED; seed += STORED) {
			id = stacks_take(&self->stacks, 0, seed, depth_of(i), USER);
			self->seeds[i] = seed;
		}
		if (!ASSERT_GE(id, 0, "fill")) {
			stacks_close(&self->stacks);
			return false;
		}
		self->ids[i] = id;
	}
	return true;
}

/* Read a stack, and compare its seed modulo STORED, see above. */
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

/* Number of the stacks that can be read. */
static unsigned int readable(const struct filled *self)
{
	unsigned int nr = 0;

	for (uint32_t i = 0; i < STORED; i++)
		nr += !read_as(&self->stacks, self->ids[i], i);
	return nr;
}

static bool delete_all(const struct filled *self)
{
	unsigned int failed = 0;

	for (uint32_t i = 0; i < STORED; i++)
		failed += !!bpf_map_delete_elem(self->stacks.fd, &self->ids[i]);
	return ASSERT_EQ(failed, 0, "delete_all");
}

static void test_lookup(struct filled *self)
{
	uint32_t absent[] = { ENTRIES * 8, UINT32_MAX, UINT32_MAX / 2 };
	unsigned int twice = 0, nonzero = 0;
	uint64_t value[ROOM];

	/* Lookups must not remove stacks. */
	for (int round = 0; round < 3; round++)
		ASSERT_EQ(readable(self), STORED, "readable");
	for (uint32_t i = 0; i < STORED; i++)
		twice += index_of(self->ids, self->ids[i]) != (int)i;
	ASSERT_EQ(twice, 0, "ids_differ");
	for (unsigned int i = 0; i < ARRAY_SIZE(absent); i++)
		ASSERT_EQ(bpf_map_lookup_elem(self->stacks.fd, &absent[i], value), -ENOENT,
			  "absent");
	/* The rest of the value must be zeroed. */
	memset(value, 0xff, sizeof(value));
	ASSERT_OK(bpf_map_lookup_elem(self->stacks.fd, &self->ids[0], value), "short_stack");
	ASSERT_NEQ(value[2], 0, "last_frame");
	for (unsigned int i = 3; i < ROOM; i++)
		nonzero += !!value[i];
	ASSERT_EQ(nonzero, 0, "zeroed");
	ASSERT_EQ(bpf_map_lookup_elem(self->stacks.fd, &self->ids[0], (void *)8), -EFAULT,
		  "bad_address");
	ASSERT_OK(read_as(&self->stacks, self->ids[0], 0), "after_bad_address");
}

static void test_delete(struct filled *self)
{
	uint32_t gone = self->ids[7], again = self->ids[3], absent = UINT32_MAX;
	int err;
	long id;

	ASSERT_OK(bpf_map_delete_elem(self->stacks.fd, &gone), "delete");
	ASSERT_EQ(read_as(&self->stacks, gone, 7), -ENOENT, "lookup_deleted");
	ASSERT_EQ(bpf_map_delete_elem(self->stacks.fd, &gone), -ENOENT, "delete_deleted");
	ASSERT_EQ(readable(self), STORED - 1, "others");
	err = bpf_map_delete_elem(self->stacks.fd, &absent);
	/* The old table returns E2BIG for an id above its size. */
	ASSERT_TRUE(err == -ENOENT || err == -E2BIG, "delete_absent");
	ASSERT_OK(bpf_map_delete_elem(self->stacks.fd, &again), "delete_another");
	id = stacks_take(&self->stacks, 0, self->seeds[3], depth_of(3), USER);
	if (ASSERT_GE(id, 0, "store_again"))
		ASSERT_OK(read_as(&self->stacks, id, 3), "read_again");
}

static void test_update(struct filled *self)
{
	uint64_t value[ROOM] = { 1 };

	ASSERT_EQ(bpf_map_update_elem(self->stacks.fd, &self->ids[0], value, BPF_ANY), -EINVAL,
		  "update");
}

/* A deleted id must not name another stack, even after all free records were reused. */
static void test_deleted_ids(struct filled *self)
{
	uint32_t wrong = 0, seed;

	if (!delete_all(self))
		return;
	for (uint32_t i = 0; i < ENTRIES; i++)
		stacks_take(&self->stacks, 0, 100000 + i, 20, USER);
	for (uint32_t i = 0; i < STORED; i++)
		wrong += stacks_read(&self->stacks, self->ids[i], &seed) != -ENOENT;
	ASSERT_EQ(wrong, 0, "wrong");
}

/* Reuse each slot many times. */
static void test_deleted_ids_over_generations(struct filled *self)
{
	uint32_t n = 0, wrong = 0, failed = 0, seed, key;
	static uint32_t old[32 * ENTRIES];
	long id;

	for (uint32_t i = 0; i < 32 * ENTRIES; i++) {
		id = stacks_take(&self->stacks, 0, 1000000 + i, 3, USER);
		if (id < 0)
			continue;
		key = id;
		old[n++] = key;
		failed += !!bpf_map_delete_elem(self->stacks.fd, &key);
		/* The ids of the 64 stacks before, whose slots may be in use again. */
		id = stacks_take(&self->stacks, 0, 5000000 + i, 3, USER);
		for (uint32_t j = n > 64 ? n - 64 : 0; j < n; j++)
			wrong += stacks_read(&self->stacks, old[j], &seed) != -ENOENT;
		key = id;
		if (id >= 0)
			bpf_map_delete_elem(self->stacks.fd, &key);
	}
	ASSERT_EQ(failed, 0, "delete");
	ASSERT_EQ(wrong, 0, "wrong");
	ASSERT_EQ(n, 32 * ENTRIES, "stored");
}

static void test_lookup_and_delete(struct filled *self)
{
	uint64_t value[ROOM];
	uint32_t seed = 0;

	for (uint32_t i = 0; i < STORED; i++) {
		if (!ASSERT_OK(bpf_map_lookup_and_delete_elem(self->stacks.fd, &self->ids[i],
							      value), "first"))
			return;
		ASSERT_GT(stacks_check(value, ROOM, &seed), 0, "whole");
		ASSERT_EQ(seed % STORED, i, "seed");
		ASSERT_EQ(bpf_map_lookup_and_delete_elem(self->stacks.fd, &self->ids[i], value),
			  -ENOENT, "second");
	}
}

/* Result of visit(): how often it saw each stack */
struct visits {
	unsigned int of[STORED], others, steps;
	/* Error that ended the iteration */
	int err;
};

/* Iterate over the keys.  With @delete, delete every second stack after its visit. */
static void visit(struct filled *self, bool delete, volatile uint32_t *at, struct visits *visits)
{
	uint32_t key, next;
	int err;

	memset(visits, 0, sizeof(*visits));
	for (err = bpf_map_get_next_key(self->stacks.fd, NULL, &next);
	     !err && visits->steps < 10 * ENTRIES;
	     err = bpf_map_get_next_key(self->stacks.fd, &key, &next), visits->steps++) {
		int i = index_of(self->ids, next);

		if (i < 0)
			visits->others++;
		else
			visits->of[i]++;
		if (delete && i % 2)
			bpf_map_delete_elem(self->stacks.fd, &next);
		key = next;
		if (!at)
			continue;
		*at = key;
		/* The key may or may not be deleted when the iteration continues after it. */
		if (visits->steps % 3)
			sched_yield();
	}
	visits->err = err;
}

static void expect_each_once(const struct visits *visits)
{
	unsigned int missed = 0, twice = 0;

	for (uint32_t i = 0; i < STORED; i++) {
		missed += !visits->of[i];
		twice += visits->of[i] > 1;
	}
	printf("%u steps, %u missed, %u twice\n", visits->steps, missed, twice);
	ASSERT_EQ(missed, 0, "missed");
	ASSERT_EQ(twice, 0, "twice");
}

static void test_next_key(struct filled *self)
{
	struct visits visits;
	uint32_t next;

	visit(self, false, NULL, &visits);
	ASSERT_EQ(visits.err, -ENOENT, "end");
	ASSERT_EQ(visits.others, 0, "others");
	expect_each_once(&visits);
	if (delete_all(self))
		ASSERT_EQ(bpf_map_get_next_key(self->stacks.fd, NULL, &next), -ENOENT,
			  "empty_map");
}

/*
 * bcc's clear() and many tools delete a key and then ask for the next one.  The iteration
 * must not start again, and must return each other stack exactly once.
 */
static void test_next_key_after_deleted(struct filled *self)
{
	struct visits visits;

	visit(self, true, NULL, &visits);
	ASSERT_EQ(visits.others, 0, "others");
	ASSERT_EQ(visits.steps, STORED, "steps");
	expect_each_once(&visits);
}

struct deleter {
	const struct stacks	*stacks;
	const uint32_t		*ids;
	volatile uint32_t	*at;
};

/* Thread that deletes the keys at which the iteration stands. */
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

static void test_next_key_while_deleting(struct filled *self)
{
	volatile uint32_t at = UINT32_MAX;
	struct deleter deleter = { &self->stacks, self->ids, &at };
	struct visits visits;
	pthread_t thread;

	if (!ASSERT_OK(pthread_create(&thread, NULL, delete_odd, &deleter), "thread"))
		return;
	visit(self, false, &at, &visits);
	at = UINT32_MAX - 1;
	pthread_join(thread, NULL);
	expect_each_once(&visits);
}

/*
 * Dump the map in steps of @step.  Returns the number of stacks or a negative errno.
 * Sets *@once to whether each stack was returned once, and undamaged.
 */
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

static void expect_dump(struct filled *self, uint32_t step, bool take)
{
	bool once;

	ASSERT_EQ(dump(&self->stacks, self->ids, step, take, self->keys, self->values, &once),
		  STORED, "dump");
	ASSERT_TRUE(once, "each_once");
}

static void test_batch_lookup(struct filled *self)
{
	expect_dump(self, ENTRIES / 2, false);
	/* The dump must not remove stacks. */
	expect_dump(self, ENTRIES / 2, false);
	for (uint32_t step = 1; step < 80; step += 13)
		expect_dump(self, step, false);
}

static void test_batch_lookup_and_delete(struct filled *self)
{
	uint32_t next;

	expect_dump(self, 10, true);
	ASSERT_EQ(bpf_map_get_next_key(self->stacks.fd, NULL, &next), -ENOENT, "empty");
}

static void test_batch_errors(struct filled *self)
{
	LIBBPF_OPTS(bpf_map_batch_opts, flags, .elem_flags = 1 << 20);
	int fd = self->stacks.fd;
	uint32_t count, out;

	/* A batch of 0 stacks must do nothing. */
	count = 0;
	ASSERT_OK(bpf_map_lookup_batch(fd, NULL, &out, self->keys, self->values, &count, NULL),
		  "none");
	ASSERT_EQ(count, 0, "none_count");
	count = 4;
	ASSERT_EQ(bpf_map_lookup_batch(fd, NULL, &out, self->keys, self->values, &count,
				       &flags), -EINVAL, "bad_flag");
	count = 4;
	ASSERT_EQ(bpf_map_lookup_batch(fd, NULL, &out, self->keys, (void *)8, &count, NULL),
		  -EFAULT, "bad_address");
	/* None of these calls may remove a stack. */
	ASSERT_EQ(readable(self), STORED, "readable");
}

/* A fault must not lose stacks that could not be copied. */
static void test_batch_fault(struct filled *self)
{
	long page_size = sysconf(_SC_PAGESIZE);
	uint32_t count = 16, out;
	char *page;

	page = mmap(NULL, 2 * page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		    -1, 0);
	if (!ASSERT_NEQ(page, MAP_FAILED, "mmap"))
		return;
	if (!ASSERT_OK(mprotect(page + page_size, page_size, PROT_NONE), "mprotect"))
		goto unmap;
	ASSERT_EQ(bpf_map_lookup_and_delete_batch(self->stacks.fd, NULL, &out, self->keys,
						  page + page_size, &count, NULL), -EFAULT,
		  "fault");
	/* At most the stack being copied may be lost. */
	ASSERT_GE(readable(self), STORED - 1, "readable");
unmap:
	munmap(page, 2 * page_size);
}

static void test_frozen(struct filled *self)
{
	uint32_t seed, key = self->ids[0];
	long id;

	if (!ASSERT_OK(bpf_map_freeze(self->stacks.fd), "freeze"))
		return;
	ASSERT_OK(read_as(&self->stacks, key, 0), "read");
	ASSERT_EQ(bpf_map_delete_elem(self->stacks.fd, &key), -EPERM, "delete");
	id = stacks_take(&self->stacks, 0, 999, 9, USER);
	if (id == -EEXIST || !ASSERT_GE(id, 0, "take"))
		return;
	ASSERT_OK(stacks_read(&self->stacks, id, &seed), "read_new");
	ASSERT_EQ(seed, 999, "seed");
}

/* Stored ids must be found while other threads read, dump and insert. */
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

static void test_readers(struct filled *self)
{
	struct reader readers[READERS + 1];
	unsigned int changed = 0, started;
	unsigned long missed = 0, wrong = 0;
	volatile bool stop = false;

	for (started = 0; started <= READERS; started++) {
		struct reader *reader = &readers[started];

		*reader = (struct reader){
			.stacks = &self->stacks, .ids = self->ids, .stop = &stop,
		};
		if (!ASSERT_OK(pthread_create(&reader->thread, NULL,
					      started < READERS ? read_all : iterate, reader),
			       "thread"))
			break;
	}
	/* Meanwhile, insert these stacks again and again, and new ones as well. */
	for (uint32_t i = 0; i < 40000; i++) {
		uint32_t seed = i % STORED;
		long id = stacks_take(&self->stacks, 0, seed, depth_of(seed), USER);

		if (id >= 0)
			changed += id != self->ids[seed];
		else
			changed += id != -EEXIST;
		if (i % 200 == 0)
			stacks_take(&self->stacks, 0, 100000 + i, 20, USER);
	}
	stop = true;
	for (unsigned int i = 0; i < started; i++) {
		pthread_join(readers[i].thread, NULL);
		printf("%s: %lu reads, %lu missed, %lu wrong\n",
		       i < READERS ? "lookup" : "iterator", readers[i].reads,
		       readers[i].missed, readers[i].wrong);
		missed += readers[i].missed;
		wrong += readers[i].wrong;
	}
	ASSERT_EQ(missed, 0, "missed");
	ASSERT_EQ(wrong, 0, "wrong");
	ASSERT_EQ(changed, 0, "changed");
}

/* Store and delete stacks until no index has an id below ENTRIES any more. */
static bool age(struct filled *self)
{
	uint32_t key;
	long id;

	if (!delete_all(self))
		return false;
	for (uint32_t i = 0; i < 4 * ENTRIES; i++) {
		id = stacks_take(&self->stacks, 0, 200000 + i, 3, USER);
		key = id;
		if (id >= 0)
			bpf_map_delete_elem(self->stacks.fd, &key);
	}
	return true;
}

/* Store STORED stacks with the seeds from @first on.  Returns the number of new ids. */
static uint32_t store(struct filled *self, uint32_t first, uint32_t *ids)
{
	uint32_t stored = 0;

	for (uint32_t i = 0; i < STORED; i++) {
		long id = stacks_take(&self->stacks, 0, first + i, depth_of(i), USER);

		if (id >= 0)
			ids[stored++] = id;
	}
	return stored;
}

static uint32_t still_stored(const struct filled *self, const uint32_t *ids, uint32_t nr)
{
	uint32_t left = 0, seed;

	for (uint32_t i = 0; i < nr; i++)
		left += !stacks_read(&self->stacks, ids[i], &seed);
	return left;
}

/*
 * A tool that deletes all keys below max_entries must empty the map, whatever the ids.  It
 * must leave stacks that the program stores at keys that the tool has already deleted.
 */
static void test_sweep(struct filled *self)
{
	uint32_t before[STORED], behind[STORED], nr, nr_behind = 0, key;

	if (!age(self))
		return;
	nr = store(self, 300000, before);
	ASSERT_GT(nr, 0, "stored");
	for (key = 0; key < ENTRIES; key++) {
		if (key == ENTRIES - 1)
			nr_behind = store(self, 400000, behind);
		bpf_map_delete_elem(self->stacks.fd, &key);
	}
	ASSERT_EQ(still_stored(self, before, nr), 0, "swept");
	ASSERT_GT(nr_behind, 0, "stored_behind");
	/* One of them may be at the last key. */
	ASSERT_GE(still_stored(self, behind, nr_behind), nr_behind - 1, "behind");
}

/*
 * A reader that takes one key after the other must not delete a stack that it has not read,
 * even if the program stores that stack at a key that the reader has already deleted.
 */
static void test_drain(struct filled *self)
{
	uint32_t ids[STORED], nr = 0, key, taken = 0;
	uint64_t value[ROOM];
	bool is_taken;

	for (int round = 0; round < 3; round++) {
		for (key = 0; key < ENTRIES; key++) {
			if (key == ENTRIES / 2) {
				nr = store(self, 300000 + round * STORED, ids);
				taken = 0;
			}
			is_taken = !bpf_map_lookup_elem(self->stacks.fd, &key, value);
			bpf_map_delete_elem(self->stacks.fd, &key);
			for (uint32_t i = 0; is_taken && i < nr; i++)
				taken += ids[i] == key;
		}
		ASSERT_GT(nr, 0, "stored");
		ASSERT_EQ(still_stored(self, ids, nr), nr - taken, "unread");
	}
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

static void test_create(void)
{
	ASSERT_OK(create(4, 8, 1, 0), "one_frame");
	ASSERT_OK(create(4, 1016, 3, 0), "three_entries");
	ASSERT_EQ(create(8, 1016, 16, 0), -EINVAL, "key_size");
	ASSERT_EQ(create(4, 1016, 0, 0), -EINVAL, "no_entries");
	ASSERT_EQ(create(4, 4, 16, 0), -EINVAL, "half_a_frame");
	ASSERT_EQ(create(4, 1020, 16, 0), -EINVAL, "and_a_half");
	ASSERT_EQ(create(4, 0, 16, 0), -EINVAL, "no_value");
	ASSERT_EQ(create(4, 1016, 16, BPF_F_MMAPABLE), -EINVAL, "mmapable");
	ASSERT_EQ(create(4, 1016, 16, 1 << 30), -EINVAL, "unknown_flag");
	ASSERT_EQ(create(4, 8, (1U << 31) + 1, 0), -E2BIG, "too_many_entries");
	ASSERT_EQ(create(4, 40, 16, BPF_F_STACK_BUILD_ID), -EINVAL, "build_id_value");
	ASSERT_OK(create(4, 64, 16, BPF_F_STACK_BUILD_ID), "build_id");
	ASSERT_OK(create(4, 1016, 16, BPF_F_RDONLY), "rdonly");
	ASSERT_OK(create(4, 1016, 16, BPF_F_WRONLY), "write_only");
}

static void run(const char *name, void (*test)(struct filled *self))
{
	static struct filled self;

	if (!test__start_subtest(name) || !fill(&self))
		return;
	test(&self);
	stacks_close(&self.stacks);
}

void test_stack_map_syscall(void)
{
	run("lookup", test_lookup);
	run("delete", test_delete);
	run("update", test_update);
	run("deleted_ids", test_deleted_ids);
	run("deleted_ids_over_generations", test_deleted_ids_over_generations);
	run("lookup_and_delete", test_lookup_and_delete);
	run("next_key", test_next_key);
	run("next_key_after_deleted", test_next_key_after_deleted);
	run("next_key_while_deleting", test_next_key_while_deleting);
	run("batch_lookup", test_batch_lookup);
	run("batch_lookup_and_delete", test_batch_lookup_and_delete);
	run("batch_errors", test_batch_errors);
	run("batch_fault", test_batch_fault);
	run("sweep", test_sweep);
	run("drain", test_drain);
	run("frozen", test_frozen);
	run("readers", test_readers);
	if (test__start_subtest("create"))
		test_create();
	/* BPF_F_NO_PREALLOC is the old name for memory on demand. */
	if (test__start_subtest("create_no_prealloc"))
		ASSERT_OK(create(4, 1016, 16, BPF_F_NO_PREALLOC), "no_prealloc");
}
