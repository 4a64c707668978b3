// SPDX-License-Identifier: GPL-2.0
/*
 * Test BPF programs that take stacks from the callchain of a perf sample.  They must
 * leave the callchain unchanged for the record, and must not store a PERF_CONTEXT_* mark
 * as a frame.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../unwind/perf_ring.h"
#include "kselftest_harness.h"
#include "stack_map_lib.h"

#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT 120

#define RING_SIZE	(512 * PERF_RING_PAGE)
#define DEPTH		40
#define MAX_IPS		256
#define SECONDS		2

/* Number of records, and numbers of those that no walk can have produced. */
struct tally {
	unsigned int records, whole, damaged;
};

FIXTURE(record)
{
	struct stacks stacks;
	struct bpf_link *link;
	struct perf_ring ring;
	int fd;
};

FIXTURE_VARIANT(record)
{
	uint32_t flags;
};

FIXTURE_VARIANT_ADD(record, addresses)
{
	.flags = 0,
};

FIXTURE_VARIANT_ADD(record, build_ids)
{
	.flags = BPF_F_STACK_BUILD_ID,
};

FIXTURE_SETUP(record)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK,
		.size = sizeof(attr), .sample_period = 200000,
		.sample_type = PERF_SAMPLE_CALLCHAIN, .disabled = 1,
	};

	ASSERT_EQ(0, stacks_open(&self->stacks, 1 << 12, MAP_DEPTH, variant->flags,
				 STACKS_RECORD));
	self->fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	ASSERT_LE(0, self->fd);
	ASSERT_TRUE(perf_ring_map(&self->ring, self->fd, RING_SIZE));
	/* Enables the event. */
	self->link = bpf_program__attach_perf_event(self->stacks.skel->progs.record,
						    self->fd);
	ASSERT_NE(NULL, self->link);
}

FIXTURE_TEARDOWN(record)
{
	bpf_link__destroy(self->link);
	perf_ring_unmap(&self->ring);
	stacks_close(&self->stacks);
}

/*
 * Whether all kernel addresses follow the kernel's mark, and all user addresses the
 * user's.
 */
static bool is_callchain(const uint64_t *ips, uint64_t nr)
{
	uint64_t mark = 0;

	for (uint64_t i = 0; i < nr; i++) {
		if (ips[i] >= (uint64_t)PERF_CONTEXT_MAX) {
			mark = ips[i];
			if (mark != (uint64_t)PERF_CONTEXT_KERNEL &&
			    mark != (uint64_t)PERF_CONTEXT_USER)
				return false;
		} else if (!mark || (mark == (uint64_t)PERF_CONTEXT_KERNEL) != ips[i] >> 63) {
			return false;
		}
	}
	return nr && mark;
}

/* Whether the user part is the stack of stacks_spin() with all of its frames. */
static bool is_whole(const uint64_t *ips, uint64_t nr)
{
	uint64_t user[MAP_DEEPEST] = {};
	uint32_t seed;

	for (uint64_t i = 0; i < nr; i++) {
		if (ips[i] != (uint64_t)PERF_CONTEXT_USER)
			continue;
		memcpy(user, &ips[i + 1], (nr - i - 1) * sizeof(*ips));
		return stacks_check(user, MAP_DEPTH, &seed) == DEPTH && seed == 7;
	}
	return false;
}

static void read_ring(struct perf_ring *ring, struct tally *tally)
{
	static uint64_t words[PERF_RING_WORDS];
	const uint64_t *nr = words, *ips = words + 1;
	struct perf_event_header header;

	while (perf_ring_next(ring, &header, words)) {
		if (header.type != PERF_RECORD_SAMPLE)
			continue;
		tally->records++;
		if (*nr > MAX_IPS || header.size < sizeof(header) + (*nr + 1) * sizeof(*nr)) {
			tally->damaged++;
			continue;
		}
		tally->damaged += !is_callchain(ips, *nr);
		tally->whole += is_whole(ips, *nr);
	}
}

/* Set while the process spins in user mode; a timer's signal handler clears it. */
static volatile uint32_t spinning;

static void enough(int signal)
{
	(void)signal;
	spinning = 0;
}

static void spin(int fd, struct perf_ring *ring)
{
	struct itimerspec when = { .it_value.tv_sec = SECONDS };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM };
	timer_t timer;

	signal(SIGALRM, enough);
	timer_create(CLOCK_MONOTONIC, &event, &timer);
	timer_settime(timer, 0, &when, NULL);
	/* What is sampled before and after is not of the loop. */
	perf_ring_drain(ring);
	stacks_spin(7, DEPTH, &spinning, 1);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	timer_delete(timer);
}

TEST_F(record, program_leaves_the_record_whole)
{
	struct tally tally = {};

	spin(self->fd, &self->ring);
	read_ring(&self->ring, &tally);
	ksft_print_msg("figure record: %u records, %u whole, %u damaged; %llu runs, %llu errors\n",
		       tally.records, tally.whole, tally.damaged,
		       (unsigned long long)self->stacks.skel->bss->samples,
		       (unsigned long long)self->stacks.skel->bss->samples_error);
	EXPECT_LT(100, tally.records);
	EXPECT_EQ(0, tally.damaged);
	/* A few samples are taken outside of the loop. */
	EXPECT_LE(tally.records * 95 / 100, tally.whole);
	EXPECT_LT(100, self->stacks.skel->bss->samples);
	EXPECT_EQ(0, self->stacks.skel->bss->samples_error);
}

/* Number of frames in a value; with build ids, all frames are addresses here. */
static unsigned int frames_of(const struct stacks *stacks, uint32_t flags, uint32_t id,
			      uint64_t *ips)
{
	struct bpf_stack_build_id frames[MAP_DEPTH];
	uint64_t words[MAP_DEPTH];
	unsigned int nr = 0;

	if (bpf_map_lookup_elem(stacks->fd, &id, flags ? (void *)frames : (void *)words))
		return 0;
	for (; nr < MAP_DEPTH; nr++) {
		ips[nr] = flags ? frames[nr].ip : words[nr];
		if (!ips[nr])
			break;
	}
	return nr;
}

TEST_F(record, stored_stacks_have_frames_only)
{
	unsigned int kernel = 0, marks = 0, mixed = 0;
	uint64_t ips[MAP_DEPTH], *sampled;
	struct timespec now, end;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += SECONDS;
	do {
		for (int i = 0; i < 100; i++)
			syscall(SYS_getppid);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec < end.tv_sec);

	sampled = (uint64_t *)self->stacks.skel->bss->sampled;
	for (unsigned int i = 0; i < MAP_SAMPLED; i++) {
		unsigned int nr;

		if (!sampled[i])
			continue;
		nr = frames_of(&self->stacks, variant->flags, sampled[i] - 1, ips);
		kernel += nr > 0;
		for (unsigned int k = 0; k < nr; k++) {
			marks += ips[k] >= (uint64_t)PERF_CONTEXT_MAX;
			mixed += !(ips[k] >> 63);
		}
	}
	ksft_print_msg("figure frames: %u stacks of the kernel, %u marks, %u that are not its\n",
		       kernel, marks, mixed);
	EXPECT_LT(20, kernel);
	EXPECT_EQ(0, marks);
	EXPECT_EQ(0, mixed);
}

TEST_HARNESS_MAIN
