// SPDX-License-Identifier: GPL-2.0
/*
 * All operations on a stack map at the same time.  Only the thread that stored a stack
 * deletes it, so it must find the stack until then.
 *
 * STACKMAP_SECONDS sets the duration, STACKMAP_SEED the random seed.  With STACKMAP_NMIS,
 * the CPUs send each other NMIs, for which the kernel reports an unknown reason.  Do not
 * use that on a machine that does other work.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "stack_map_lib.h"

/* Long enough for a debug kernel under emulation */
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT 280

#define USER		BPF_F_USER_STACK
#define WRITERS		8
#define READERS		4
#define OWNED		64
#define ENTRIES		8192
#define LONGEST		4000

struct load {
	struct stacks		stacks;
	volatile bool		stop;
};

struct counts {
	unsigned long	stored, lost, missed, wrong, undead, reads, foreign;
};

struct thread {
	pthread_t	id;
	struct load	*load;
	unsigned int	slot;
	unsigned int	random;
	struct counts	counts;
};

static unsigned int seconds(void)
{
	const char *text = getenv("STACKMAP_SECONDS");

	return text ? atoi(text) : 10;
}

static unsigned int first_seed(void)
{
	const char *text = getenv("STACKMAP_SEED");

	return text ? atoi(text) : 1;
}

static unsigned int next_random(unsigned int *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

/* A stack that this thread owns must be stored and undamaged. */
static void read_owned(struct thread *thread, uint32_t id, uint32_t seed)
{
	uint32_t found;
	int err = stacks_read(&thread->load->stacks, id, &found);

	thread->counts.reads++;
	if (err == -ENOENT)
		thread->counts.missed++;
	else if (err || found != seed)
		thread->counts.wrong++;
}

static void *write_and_delete(void *data)
{
	struct thread *thread = data;
	struct stacks *stacks = &thread->load->stacks;
	uint32_t ids[OWNED], seeds[OWNED], next = 0, found;
	bool owned[OWNED] = {};

	while (!thread->load->stop) {
		unsigned int i = next_random(&thread->random) % OWNED;
		long id;

		if (owned[i]) {
			read_owned(thread, ids[i], seeds[i]);
			if (next_random(&thread->random) % 2)
				continue;
			if (bpf_map_delete_elem(stacks->fd, &ids[i]))
				thread->counts.missed++;
			/* A deleted id must not return, or name another stack. */
			if (stacks_read(stacks, ids[i], &found) != -ENOENT)
				thread->counts.undead++;
			owned[i] = false;
		}
		seeds[i] = thread->slot << 24 | (next++ & 0xffffff);
		id = stacks_take(stacks, thread->slot, seeds[i], stacks_depth(seeds[i]), USER);
		if (id < 0) {
			thread->counts.lost++;
			continue;
		}
		ids[i] = id;
		owned[i] = true;
		thread->counts.stored++;
		read_owned(thread, ids[i], seeds[i]);
		/* The stack must have the same id when it is taken again. */
		if (stacks_take(stacks, thread->slot, seeds[i], stacks_depth(seeds[i]),
				USER) != id)
			thread->counts.wrong++;
	}
	return NULL;
}

/*
 * Read all stacks.  Stacks that take() or sample() stored during one of our system calls
 * have a tag, and must be whole.
 */
static void *read_everything(void *data)
{
	struct thread *thread = data;
	uint64_t value[MAP_DEPTH + 1] = {};
	uint32_t key, next, seed;
	int fd = thread->load->stacks.fd;

	while (!thread->load->stop) {
		uint32_t n = 0;

		for (int err = bpf_map_get_next_key(fd, NULL, &next);
		     !err && n < 4 * ENTRIES && !thread->load->stop;
		     err = bpf_map_get_next_key(fd, &key, &next), n++) {
			key = next;
			if (bpf_map_lookup_elem(fd, &key, &value[1]))
				continue;
			thread->counts.reads++;
			/* From sample(), with the first frame left out? */
			if (value[1] >> 44 == 2)
				thread->counts.wrong += !stacks_check(value, MAP_DEPTH, &seed);
			else if (value[2] >> 44 == 2)
				thread->counts.wrong += !stacks_check(&value[1], MAP_DEPTH,
								      &seed);
			else
				thread->counts.foreign++;
		}
	}
	return NULL;
}

/* Delete the stacks that sample() stored. */
static void *clean(void *data)
{
	struct thread *thread = data;
	struct stacks *stacks = &thread->load->stacks;

	while (!thread->load->stop) {
		for (unsigned int i = 0; i < MAP_SAMPLED; i++) {
			__u64 *at = &stacks->skel->bss->sampled[i];
			uint32_t key;

			if (!__atomic_load_n(at, __ATOMIC_RELAXED))
				continue;
			key = __atomic_exchange_n(at, 0, __ATOMIC_RELAXED) - 1;
			if (!bpf_map_delete_elem(stacks->fd, &key))
				thread->counts.stored++;
		}
		usleep(100);
	}
	return NULL;
}

#define APIC_BASE	0xfee00000
#define APIC_VERSION	(0x030 / sizeof(uint32_t))
#define APIC_COMMAND	(0x300 / sizeof(uint32_t))
/* Interrupt command: NMI to all other CPUs */
#define APIC_NMI	0xc4400

/*
 * Map the registers of the local APIC, which each CPU sees as its own.  Returns NULL if
 * they are not at their traditional address, as with an x2APIC.
 */
static volatile uint32_t *map_apic(void)
{
	int fd = open("/dev/mem", O_RDWR | O_SYNC);
	volatile uint32_t *apic;

	if (fd < 0)
		return NULL;
	apic = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, APIC_BASE);
	close(fd);
	if (apic == MAP_FAILED)
		return NULL;
	return apic[APIC_VERSION] + 1 > 1 ? apic : NULL;
}

static void *send_nmis(void *data)
{
	volatile uint32_t *apic = map_apic();
	struct thread *thread = data;

	if (!apic) {
		ksft_print_msg("no NMIs: the APIC is not at its old place\n");
		return NULL;
	}
	while (!thread->load->stop) {
		apic[APIC_COMMAND] = APIC_NMI;
		thread->counts.stored++;
		usleep(1000);
	}
	return NULL;
}

static void start(struct thread *thread, struct load *load, unsigned int slot,
		  void *(*function)(void *))
{
	*thread = (struct thread){
		.load = load, .slot = slot, .random = slot + 1000 * first_seed(),
	};
	if (pthread_create(&thread->id, NULL, function, thread))
		abort();
}

static void join(struct thread *thread, struct counts *sum)
{
	pthread_join(thread->id, NULL);
	sum->stored += thread->counts.stored;
	sum->lost += thread->counts.lost;
	sum->missed += thread->counts.missed;
	sum->wrong += thread->counts.wrong;
	sum->undead += thread->counts.undead;
	sum->reads += thread->counts.reads;
	sum->foreign += thread->counts.foreign;
}

/* Run sample() in timer interrupts on all CPUs, and return the number of CPUs. */
static int attach_samples(struct stacks *stacks, struct bpf_link **links, int room)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK,
		.size = sizeof(attr), .freq = 1, .sample_freq = 997,
	};
	int cpus = sysconf(_SC_NPROCESSORS_ONLN);

	for (int cpu = 0; cpu < cpus && cpu < room; cpu++) {
		int fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, 0);

		if (fd < 0)
			return -errno;
		links[cpu] = bpf_program__attach_perf_event(stacks->skel->progs.sample, fd);
		if (!links[cpu])
			return -errno;
	}
	return cpus < room ? cpus : room;
}

static void wait_seconds(unsigned int n)
{
	struct timespec end, now;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += n;
	do {
		usleep(50000);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec < end.tv_sec ||
		 (now.tv_sec == end.tv_sec && now.tv_nsec < end.tv_nsec));
}

FIXTURE(stress)
{
	struct load load;
};

FIXTURE_SETUP(stress)
{
	ksft_print_msg("seed %u, %u seconds\n", first_seed(), seconds());
	ASSERT_EQ(0, stacks_open(&self->load.stacks, ENTRIES, MAP_DEPTH, 0,
				 STACKS_SAMPLE | STACKS_NMI));
}

FIXTURE_TEARDOWN(stress)
{
	if (self->load.stacks.skel)
		stacks_close(&self->load.stacks);
}

TEST_F_TIMEOUT(stress, insert_delete_read_interrupt, LONGEST)
{
	struct thread writers[WRITERS], readers[READERS], cleaner, sender;
	struct counts written = {}, read = {}, cleaned = {}, sent = {};
	struct stack_map_take__bss *bss = self->load.stacks.skel->bss;
	struct bpf_link *links[65];
	int cpus;

	cpus = attach_samples(&self->load.stacks, links, 64);
	ASSERT_LT(0, cpus);
	for (unsigned int i = 0; i < WRITERS; i++)
		start(&writers[i], &self->load, i + 1, write_and_delete);
	for (unsigned int i = 0; i < READERS; i++)
		start(&readers[i], &self->load, 0, read_everything);
	start(&cleaner, &self->load, 0, clean);
	if (getenv("STACKMAP_NMIS")) {
		links[cpus] = bpf_program__attach(self->load.stacks.skel->progs.sample_nmi);
		ASSERT_NE(NULL, links[cpus]);
		cpus++;
		start(&sender, &self->load, 0, send_nmis);
	}
	wait_seconds(seconds());
	self->load.stop = true;
	for (unsigned int i = 0; i < WRITERS; i++)
		join(&writers[i], &written);
	for (unsigned int i = 0; i < READERS; i++)
		join(&readers[i], &read);
	join(&cleaner, &cleaned);
	if (getenv("STACKMAP_NMIS"))
		join(&sender, &sent);
	for (int i = 0; i < cpus; i++)
		bpf_link__destroy(links[i]);

	ksft_print_msg("figure writers: stored %lu lost %lu\n", written.stored, written.lost);
	ksft_print_msg("figure owned: %lu lookups, missed %lu wrong %lu, not deleted %lu\n",
		       written.reads, written.missed, written.wrong, written.undead);
	ksft_print_msg("figure readers: %lu stacks, %lu damaged, %lu without tag\n", read.reads,
		       read.wrong, read.foreign);
	ksft_print_msg("figure samples: %llu, errors %llu, skipped %llu, deleted %lu\n",
		       (unsigned long long)bss->samples,
		       (unsigned long long)bss->samples_error,
		       (unsigned long long)bss->samples_skipped, cleaned.stored);
	ksft_print_msg("figure NMIs: %lu sent, %llu in this process\n", sent.stored,
		       (unsigned long long)bss->nmis);
	EXPECT_LT(0, written.stored);
	EXPECT_LT(0, read.reads);
	EXPECT_LT(0, bss->samples);
	EXPECT_EQ(0, written.lost);
	EXPECT_EQ(0, written.missed);
	EXPECT_EQ(0, written.wrong);
	EXPECT_EQ(0, written.undead);
	EXPECT_EQ(0, read.wrong);
	EXPECT_EQ(0, bss->samples_error);
	EXPECT_TRUE(!sent.stored || bss->nmis);
}

/* Processes start, store stacks, look them up and exit. */
TEST_F_TIMEOUT(stress, processes_come_and_go, LONGEST)
{
	enum { CHILDREN = 8, ROUNDS = 25, EACH = 20 };
	unsigned int bad = 0, status_bad = 0;

	for (unsigned int round = 0; round < ROUNDS; round++) {
		pid_t pids[CHILDREN];
		int status;

		for (unsigned int i = 0; i < CHILDREN; i++) {
			pids[i] = fork();
			if (pids[i])
				continue;
			bad = 0;
			for (unsigned int j = 0; j < EACH; j++) {
				uint32_t seed = (round * CHILDREN + i) * EACH + j, found;
				uint32_t key;
				long id = stacks_take(&self->load.stacks, 8 + i, seed,
						      stacks_depth(seed), USER);

				key = id;
				bad += id < 0 ||
				       stacks_read(&self->load.stacks, key, &found) ||
				       found != seed;
				if (j % 2 && id >= 0)
					bpf_map_delete_elem(self->load.stacks.fd, &key);
			}
			_exit(bad);
		}
		for (unsigned int i = 0; i < CHILDREN; i++) {
			waitpid(pids[i], &status, 0);
			status_bad += !WIFEXITED(status);
			bad += WEXITSTATUS(status);
		}
	}
	ksft_print_msg("figure processes: of %u stacks %u lost, missed or wrong\n",
		       CHILDREN * ROUNDS * EACH, bad);
	EXPECT_EQ(0, status_bad);
	EXPECT_EQ(0, bad);
}

static void *hammer(void *data)
{
	struct thread *thread = data;
	uint32_t n = 0;

	while (!thread->load->stop) {
		uint64_t ips[40];

		stacks_fill(ips, n++, 40);
		stacks_call(thread->slot, ips, 3 + n % 37, USER);
		thread->counts.stored++;
	}
	return NULL;
}

/* The map is freed while its program inserts a stack. */
TEST(map_freed_while_program_runs)
{
	struct load load = {};
	struct thread threads[4];
	struct counts sum = {};
	unsigned long runs = 0;

	for (unsigned int i = 0; i < 4; i++)
		start(&threads[i], &load, i, hammer);
	for (unsigned int i = 0; i < 25; i++) {
		ASSERT_EQ(0, stacks_open(&load.stacks, 64, MAP_DEPTH, 0, 0));
		for (unsigned int wait = 0; wait < 1000 &&
		     !load.stacks.skel->bss->results[0].calls; wait++)
			usleep(100);
		for (unsigned int j = 0; j < 4; j++)
			runs += load.stacks.skel->bss->results[j].calls;
		stacks_close(&load.stacks);
	}
	load.stop = true;
	for (unsigned int i = 0; i < 4; i++)
		join(&threads[i], &sum);
	EXPECT_LT(25, runs);
}

/* A map with an open descriptor must outlive its program. */
TEST(map_outlives_its_program)
{
	struct stacks stacks, kept;
	uint32_t seed;
	long id;

	ASSERT_EQ(0, stacks_open(&stacks, 64, MAP_DEPTH, 0, 0));
	id = stacks_take(&stacks, 0, 5, 20, USER);
	ASSERT_LE(0, id);
	kept = stacks;
	kept.fd = dup(stacks.fd);
	stacks_close(&stacks);
	EXPECT_EQ(0, stacks_read(&kept, id, &seed));
	EXPECT_EQ(5, seed);
	close(kept.fd);
}

TEST_HARNESS_MAIN
