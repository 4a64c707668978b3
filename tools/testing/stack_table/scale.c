// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compare insertions from 1 to 64 CPUs at once into kernel/bpf/stack_table.c and into the
 * stack map of the base.  The base has one bucket for each hash, which it exchanges, and
 * keeps free buckets in a list for each CPU under a lock.
 *
 * Built with STACK_EXPLORE, CPUs are coroutines, and a random one makes the next access
 * to shared memory.  Each cache line remembers which CPUs have it.  The program counts
 * per stored stack how often a CPU must fetch a line that another CPU wrote, how many of
 * these fetches are of the most contended line, which limits scaling, and how many atomic
 * operations are retried.  The counts do not depend on the machine.
 *
 * Built without STACK_EXPLORE, CPUs are threads, and the program measures their CPU time.
 * With more threads than the machine has CPUs, few threads conflict, but some are
 * preempted during an insertion or with a lock held.
 *
 * usage: scale [SEED]
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <ucontext.h>

#include <linux/atomic.h>

/* Number of operations that failed because of another CPU */
static __thread u64 failed;

static inline s64 count_failed(s64 got, s64 want)
{
	failed += got != want;
	return got;
}

#define atomic64_cmpxchg(v, old, new) ({				\
	s64 _old = (old);						\
	count_failed((atomic64_cmpxchg)(v, _old, new), _old);		\
})

#include "stack_pool.c"
#include "stack_table.c"

#define MAX_CPUS	64
#define DEPTH		20

#define ENTRIES		16384
#ifdef STACK_EXPLORE
#define ROUNDS		1
#else
#define ROUNDS		50
#endif
/* Half full; the old algorithm loses 21 % of these stacks. */
#define NR_STACKS	(ENTRIES / 2)

static int nr_cpus;

/* ---- the stacks ---- */

static u64 words[NR_STACKS][DEPTH];
static u64 hashes[NR_STACKS];

static struct bpf_stack_key key_of(u32 n)
{
	return (struct bpf_stack_key) {
		.word = words[n],
		.nr = DEPTH,
		.hash = hashes[n],
	};
}

/* ---- the old algorithm ---- */

struct bucket {
	struct bucket *next;
	u32 hash;
	u32 nr;
	u64 word[127];
};

struct head {
	struct bucket *first;
	atomic64_t lock;
} ____cacheline_aligned_in_smp;

static struct head heads[MAX_CPUS];
static struct bucket **buckets;
static struct bucket *all_buckets;

static void head_lock(struct head *head)
{
	/* Each wait counts as one retry, however long it is. */
	while ((atomic64_cmpxchg)(&head->lock, 0, 1)) {
		failed++;
		while (atomic64_read(&head->lock)) {
#ifndef STACK_EXPLORE
			/* The kernel does not preempt the holder of a raw spinlock. */
			sched_yield();
#endif
		}
	}
}

static void head_unlock(struct head *head)
{
	sched_point(&head->lock, true);
	__atomic_store_n(&head->lock.counter, 0, __ATOMIC_RELEASE);
}

static struct bucket *bucket_pop(int cpu)
{
	for (int i = 0; i < nr_cpus; i++) {
		struct head *head = &heads[(cpu + i) % nr_cpus];
		struct bucket *bucket;

		if (!READ_ONCE(head->first))
			continue;
		head_lock(head);
		bucket = head->first;
		if (bucket)
			WRITE_ONCE(head->first, bucket->next);
		head_unlock(head);
		if (bucket)
			return bucket;
	}
	return NULL;
}

static bool old_get(const struct bpf_stack_key *key)
{
	u32 id = (u32)key->hash / 2 % ENTRIES;
	struct bucket *bucket = READ_ONCE(buckets[id]);

	if (bucket)
		return false;
	bucket = bucket_pop(raw_smp_processor_id());
	if (!bucket)
		return false;
	memcpy(bucket->word, key->word, key->nr * sizeof(u64));
	bucket->hash = key->hash;
	bucket->nr = key->nr;
	bucket = xchg(&buckets[id], bucket);
	if (bucket) {
		struct head *head = &heads[raw_smp_processor_id()];

		head_lock(head);
		bucket->next = READ_ONCE(head->first);
		WRITE_ONCE(head->first, bucket);
		head_unlock(head);
	}
	return true;
}

static void old_begin(void)
{
	memset(buckets, 0, ENTRIES * sizeof(*buckets));
	memset(heads, 0, sizeof(heads));
	for (u32 i = 0; i < ENTRIES; i++) {
		struct head *head = &heads[(u64)i * nr_cpus / ENTRIES];

		all_buckets[i].next = head->first;
		head->first = &all_buckets[i];
	}
}

static void old_end(void)
{
}

/* ---- the new one ---- */

static struct bpf_stack_table table;

static bool new_get(const struct bpf_stack_key *key)
{
	return bpf_stack_table_get(&table, key, false) >= 0;
}

static void new_begin(void)
{
	memset(&table, 0, sizeof(table));
	shim_cpus = nr_cpus;
	if (bpf_stack_table_init(&table, ENTRIES, 127, DEPTH, 0))
		abort();
}

static void new_end(void)
{
	bpf_stack_table_destroy(&table);
}

static const struct algorithm {
	const char *name;
	void (*begin)(void);
	bool (*get)(const struct bpf_stack_key *key);
	void (*end)(void);
} algorithms[] = {
	{ "old", old_begin, old_get, old_end },
	{ "new", new_begin, new_get, new_end },
};

static const struct algorithm *algorithm;
static u64 stored[MAX_CPUS], all_failed;

static void insert_share(int cpu)
{
	for (u32 n = cpu; n < NR_STACKS; n += nr_cpus) {
		struct bpf_stack_key key = key_of(n);

		stored[cpu] += algorithm->get(&key);
	}
}

static u64 sum_stored(void)
{
	u64 sum = 0;

	for (int cpu = 0; cpu < nr_cpus; cpu++)
		sum += stored[cpu];
	return sum;
}

#ifdef STACK_EXPLORE

/* ---- CPUs as coroutines, and their caches ---- */

static struct cpu {
	ucontext_t context;
	jmp_buf resume;
	bool begun;
	u8 stack[64 << 10] ____cacheline_aligned_in_smp;
} cpus[MAX_CPUS];

static jmp_buf scheduler;
static volatile int current = -1;
static int running[MAX_CPUS], nr_running;

/* A cache line: address, CPUs that have it, and number of moves between CPUs */
static struct line {
	uintptr_t addr;
	u64 has;
	u64 moved;
} lines[1 << 20];

static u64 moved, most_moved;

static struct line *line_of(const volatile void *addr)
{
	uintptr_t want = (uintptr_t)addr / 64;
	u32 i = want * 0x9e3779b97f4a7c15ULL >> 44;

	while (lines[i].addr && lines[i].addr != want)
		i = (i + 1) % ARRAY_SIZE(lines);
	lines[i].addr = want;
	return &lines[i];
}

static void touch(const volatile void *addr, bool write)
{
	struct line *line = line_of(addr);
	u64 me = 1ULL << current;
	bool fetch = write ? line->has & ~me : line->has && !(line->has & me);

	line->has = write ? me : line->has | me;
	if (!fetch)
		return;
	moved++;
	most_moved = max(most_moved, ++line->moved);
}

void sched_point(const volatile void *addr, bool write)
{
	int self = current;

	if (self < 0)
		return;
	if (!_setjmp(cpus[self].resume))
		_longjmp(scheduler, 1);
	touch(addr, write);
}

static void cpu_main(int self)
{
	insert_share(self);
	for (int i = 0; i < nr_running; i++) {
		if (running[i] == self) {
			running[i] = running[--nr_running];
			break;
		}
	}
	_longjmp(scheduler, 1);
}

static void run(void)
{
	memset(lines, 0, sizeof(lines));
	moved = 0;
	most_moved = 0;
	for (int i = 0; i < nr_cpus; i++) {
		cpus[i].begun = false;
		running[i] = i;
		getcontext(&cpus[i].context);
		cpus[i].context.uc_stack.ss_sp = cpus[i].stack;
		cpus[i].context.uc_stack.ss_size = sizeof(cpus[i].stack);
		makecontext(&cpus[i].context, (void (*)(void))cpu_main, 1, i);
	}
	nr_running = nr_cpus;
	_setjmp(scheduler);
	while (nr_running) {
		current = running[get_random_u64() % nr_running];
		shim_cpu = current;
		if (cpus[current].begun)
			_longjmp(cpus[current].resume, 1);
		cpus[current].begun = true;
		setcontext(&cpus[current].context);
	}
	current = -1;
	shim_cpu = 0;
	all_failed = failed;
	failed = 0;
}

static void print_result(void)
{
	double n = sum_stored();

	printf("%s, %2d CPUs: %5.2f lines fetched, %5.2f of them one line, %5.3f retries\n",
	       algorithm->name, nr_cpus, moved / n, most_moved / n, all_failed / n);
}

#else

static pthread_barrier_t barrier;
static u64 all_nanoseconds;

static u64 now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return time.tv_sec * 1000000000ULL + time.tv_nsec;
}

static void *thread_main(void *arg)
{
	u64 nanoseconds;

	shim_cpu = (uintptr_t)arg;
	pthread_barrier_wait(&barrier);
	nanoseconds = now();
	insert_share(shim_cpu);
	nanoseconds = now() - nanoseconds;
	__atomic_fetch_add(&all_nanoseconds, nanoseconds, __ATOMIC_RELAXED);
	__atomic_fetch_add(&all_failed, failed, __ATOMIC_RELAXED);
	return NULL;
}

static void run(void)
{
	pthread_t threads[MAX_CPUS];

	pthread_barrier_init(&barrier, NULL, nr_cpus);
	for (int i = 0; i < nr_cpus; i++)
		pthread_create(&threads[i], NULL, thread_main, (void *)(uintptr_t)i);
	for (int i = 0; i < nr_cpus; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&barrier);
}

static void print_result(void)
{
	double n = sum_stored();

	printf("%s, %2d threads: %6.1f ns of CPU time for each stack stored, %.5f retries\n",
	       algorithm->name, nr_cpus, all_nanoseconds / n, all_failed / n);
	all_nanoseconds = 0;
}

#endif

static void measure(const struct algorithm *which)
{
	algorithm = which;
	memset(stored, 0, sizeof(stored));
	all_failed = 0;
	for (int round = 0; round < ROUNDS; round++) {
		which->begin();
		for (u32 n = 0; n < NR_STACKS; n++)
			hashes[n] = get_random_u64() | 1;
		run();
		which->end();
	}
	print_result();
}

int main(int argc, char **argv)
{
	static const int counts[] = { 1, 2, 8, 32, 64 };

	if (argc > 1)
		shim_seed = strtoull(argv[1], NULL, 0);
	buckets = bpf_map_area_alloc(ENTRIES * sizeof(*buckets), 0);
	all_buckets = bpf_map_area_alloc(ENTRIES * sizeof(*all_buckets), 0);
	for (u32 n = 0; n < NR_STACKS; n++)
		for (u32 i = 0; i < DEPTH; i++)
			words[n][i] = get_random_u64();
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		nr_cpus = counts[i];
		for (size_t a = 0; a < ARRAY_SIZE(algorithms); a++)
			measure(&algorithms[a]);
	}
	return 0;
}
