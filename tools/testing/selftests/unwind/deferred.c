// SPDX-License-Identifier: GPL-2.0
/* Test when deferred stacks are delivered, to which events, and with which cookie. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "contexts.h"
#include "unwind_test.h"

/* Maximum time to wait for a child's preparations. */
#define PATIENCE_MS 20000
/* Time to wait for the sample of a stopped child, and number of attempts. */
#define PENDING_SECONDS 3
#define STOPS 8

static int open_software(struct unwind_perf *perf, pid_t pid, uint64_t config,
			 unsigned int flags)
{
	return unwind_perf_open(perf, pid, PERF_TYPE_SOFTWARE, config, flags);
}

/* Contents of a ring. */
struct content {
	unsigned int		samples;
	unsigned int		deferred_samples;
	unsigned int		records;
	uint64_t		sample_cookie;
	uint64_t		record_cookie;
	struct unwind_record	record;		/* the last deferred one */
};

static void add_content(struct content *content, const struct unwind_record *record)
{
	if (record->type == PERF_RECORD_SAMPLE) {
		content->samples++;
		content->deferred_samples += !!record->cookie;
		content->sample_cookie = record->cookie;
	} else {
		content->records++;
		content->record_cookie = record->cookie;
		content->record = *record;
	}
}

static void take_all(struct unwind_perf *perf, struct content *content)
{
	static struct unwind_record record;

	memset(content, 0, sizeof(*content));
	while (unwind_perf_next(perf, &record))
		add_content(content, &record);
}

static void switch_all(struct unwind_perf *perfs, int nr, unsigned long how)
{
	for (int i = 0; i < nr; i++)
		ioctl(perfs[i].fd, how, 0);
}

/*
 * Fault once, with nothing else in the rings.  An earlier fault brings in the pages that
 * the program and the walk of its stack read, which would fault as well.
 */
static keep void fault_once(struct chain *chain, struct unwind_perf *perfs, int nr)
{
	for (int round = 0; round < 2; round++) {
		switch_all(perfs, nr, PERF_EVENT_IOC_DISABLE);
		madvise(chain->page, 4096, MADV_DONTNEED);
		for (int i = 0; i < nr; i++)
			unwind_perf_drain(&perfs[i]);
		switch_all(perfs, nr, PERF_EVENT_IOC_ENABLE);
		chain_fault(chain->page);
		switch_all(perfs, nr, PERF_EVENT_IOC_DISABLE);
	}
}

TEST(two_samples_in_one_entry_share_cookie_and_record)
{
	static struct content first, second;
	struct unwind_perf perfs[2];
	struct chain chain;
	uint64_t cookie;

	NEED_UNWIND();
	ASSERT_TRUE(chain_init(&chain, 0));
	/* Both events count the same page fault. */
	ASSERT_EQ(0, open_software(&perfs[0], 0, PERF_COUNT_SW_PAGE_FAULTS, 0));
	ASSERT_EQ(0, open_software(&perfs[1], 0, PERF_COUNT_SW_PAGE_FAULTS_MIN,
				   UNWIND_NO_RECORDS));
	fault_once(&chain, perfs, 2);
	take_all(&perfs[0], &first);
	take_all(&perfs[1], &second);
	ASSERT_EQ(1, first.samples);
	ASSERT_EQ(1, second.samples);
	EXPECT_NE(0, first.sample_cookie);
	EXPECT_EQ(first.sample_cookie, second.sample_cookie);
	EXPECT_EQ(1, first.records);
	EXPECT_EQ(first.sample_cookie, first.record_cookie);
	EXPECT_EQ((uintptr_t)chain_fault_ip, first.record.ips[0]);
	EXPECT_EQ(0, second.records);

	cookie = first.sample_cookie;
	fault_once(&chain, perfs, 2);
	take_all(&perfs[0], &first);
	take_all(&perfs[1], &second);
	EXPECT_NE(0, first.sample_cookie);
	EXPECT_NE(cookie, first.sample_cookie);
	EXPECT_EQ(first.sample_cookie, second.sample_cookie);
	EXPECT_EQ(1, first.records);
}

/*
 * Take all records.  Returns the number of those of @type with @cookie, and the last of
 * them in @record.  A preemption may add other records.
 */
static unsigned int take_cookie(struct unwind_perf *perf, uint32_t type,
				uint64_t cookie, struct unwind_record *record)
{
	static struct unwind_record next;
	unsigned int count = 0;

	while (unwind_perf_next(perf, &next)) {
		if (next.type != type || (cookie && next.cookie != cookie))
			continue;
		*record = next;
		count++;
		/* The first sample has the cookie of the record. */
		if (!cookie)
			break;
	}
	return count;
}

/*
 * A system call is traced at its start and then sleeps: both samples belong to one kernel
 * entry.
 */
TEST(samples_before_and_in_sleep_share_cookie)
{
	static struct unwind_record sample, record;
	/* Long enough that the task sleeps even on a slow machine. */
	struct timespec nap = { .tv_nsec = 50000000 };
	struct unwind_perf perfs[2];
	long id = unwind_tracepoint("syscalls/sys_enter_nanosleep");

	NEED_UNWIND();
	if (id < 0)
		SKIP(return, "no tracepoint syscalls/sys_enter_nanosleep");
	ASSERT_EQ(0, unwind_perf_open(&perfs[0], 0, PERF_TYPE_TRACEPOINT, id, 0));
	ASSERT_EQ(0, open_software(&perfs[1], 0, PERF_COUNT_SW_CONTEXT_SWITCHES,
				   UNWIND_NO_RECORDS));
	unwind_perf_drain(&perfs[1]);
	chain_syscall(SYS_nanosleep, (long)&nap, 0, 0);
	ASSERT_EQ(1, take_cookie(&perfs[0], PERF_RECORD_SAMPLE, 0, &sample));
	ASSERT_NE(0, sample.cookie);
	ASSERT_EQ(1, take_cookie(&perfs[0], UNWIND_RECORD_DEFERRED, sample.cookie,
				 &record));
	EXPECT_EQ((uintptr_t)chain_syscall_ip, record.ips[0]);
	EXPECT_LE(1, take_cookie(&perfs[1], PERF_RECORD_SAMPLE, sample.cookie,
				 &record));
}

TEST(cookies_do_not_repeat)
{
	enum { MANY = 1000 };
	static uint64_t cookies[MANY];
	static struct content content;
	struct unwind_perf perf;
	struct chain chain;
	unsigned int repeated = 0;

	NEED_UNWIND();
	ASSERT_TRUE(chain_init(&chain, 0));
	ASSERT_EQ(0, open_software(&perf, 0, PERF_COUNT_SW_PAGE_FAULTS, 0));
	for (int i = 0; i < MANY; i++) {
		fault_once(&chain, &perf, 1);
		take_all(&perf, &content);
		ASSERT_EQ(1, content.records);
		cookies[i] = content.record_cookie;
		ASSERT_NE(0, cookies[i]);
		for (int j = 0; j < i; j++)
			repeated += cookies[j] == cookies[i];
	}
	EXPECT_EQ(0, repeated);
}

TEST(two_sessions_get_a_record_each)
{
	static struct content first, second;
	struct unwind_perf perfs[2];
	struct chain chain;

	NEED_UNWIND();
	ASSERT_TRUE(chain_init(&chain, 0));
	for (int i = 0; i < 2; i++)
		ASSERT_EQ(0, open_software(&perfs[i], 0, PERF_COUNT_SW_PAGE_FAULTS, 0));
	fault_once(&chain, perfs, 2);
	take_all(&perfs[0], &first);
	take_all(&perfs[1], &second);
	EXPECT_EQ(1, first.samples);
	EXPECT_EQ(1, second.samples);
	EXPECT_EQ(1, first.records);
	EXPECT_EQ(1, second.records);
	EXPECT_EQ(first.sample_cookie, first.record_cookie);
	EXPECT_EQ(second.sample_cookie, second.record_cookie);
	EXPECT_EQ(first.record.nr, second.record.nr);
	EXPECT_EQ(0, memcmp(first.record.ips, second.record.ips,
			    first.record.nr * sizeof(uint64_t)));
}

/*
 * Events must not share callchains: at the same fault, one gets an immediate walk and the
 * other a deferred one, whichever was opened first.
 */
TEST(session_at_once_beside_deferred_one)
{
	static struct content content[3];
	struct unwind_perf perfs[3];
	struct chain chain;

	NEED_UNWIND();
	ASSERT_TRUE(chain_init(&chain, 0));
	for (int i = 0; i < 3; i++)
		ASSERT_EQ(0, open_faults(&perfs[i], i == 1 ? 0 : UNWIND_AT_ONCE));
	fault_once(&chain, perfs, 3);
	for (int i = 0; i < 3; i++) {
		take_all(&perfs[i], &content[i]);
		EXPECT_EQ(1, content[i].samples);
		EXPECT_EQ(i == 1, content[i].deferred_samples);
		EXPECT_EQ(i == 1, content[i].records);
	}
	EXPECT_EQ((uintptr_t)chain_fault_ip, content[1].record.ips[0]);
}

/* As in perf: one event receives the records, the others only request them. */
TEST(tracking_event_receives)
{
	static struct content asks, receives;
	struct unwind_perf perfs[2];
	struct chain chain;

	NEED_UNWIND();
	ASSERT_TRUE(chain_init(&chain, 0));
	ASSERT_EQ(0, open_software(&perfs[0], 0, PERF_COUNT_SW_PAGE_FAULTS,
				   UNWIND_NO_RECORDS));
	ASSERT_EQ(0, open_software(&perfs[1], 0, PERF_COUNT_SW_DUMMY, UNWIND_NO_REQUESTS));
	fault_once(&chain, perfs, 2);
	take_all(&perfs[0], &asks);
	take_all(&perfs[1], &receives);
	EXPECT_EQ(1, asks.samples);
	EXPECT_EQ(0, asks.records);
	EXPECT_EQ(1, receives.records);
	EXPECT_EQ(asks.sample_cookie, receives.record_cookie);
}

TEST(nobody_asks_nobody_receives)
{
	static struct content content;
	struct unwind_perf perf;
	struct chain chain;

	NEED_UNWIND();
	ASSERT_TRUE(chain_init(&chain, 0));
	ASSERT_EQ(0, open_software(&perf, 0, PERF_COUNT_SW_PAGE_FAULTS,
				   UNWIND_NO_REQUESTS));
	fault_once(&chain, &perf, 1);
	take_all(&perf, &content);
	EXPECT_EQ(1, content.samples);
	EXPECT_EQ(0, content.deferred_samples);
	EXPECT_EQ(0, content.records);
}

TEST(no_user_part_wanted)
{
	static struct content content;
	struct unwind_perf perf;
	struct chain chain;

	NEED_UNWIND();
	ASSERT_TRUE(chain_init(&chain, 0));
	ASSERT_EQ(0, open_software(&perf, 0, PERF_COUNT_SW_PAGE_FAULTS, UNWIND_NO_USER));
	fault_once(&chain, &perf, 1);
	take_all(&perf, &content);
	EXPECT_EQ(1, content.samples);
	EXPECT_EQ(0, content.deferred_samples);
	EXPECT_EQ(0, content.records);
}

TEST(user_mode_only)
{
	static struct content content;
	struct unwind_perf perf;
	struct chain chain;

	NEED_UNWIND();
	ASSERT_TRUE(chain_init(&chain, 0));
	ASSERT_EQ(0, open_software(&perf, 0, PERF_COUNT_SW_PAGE_FAULTS, UNWIND_USER_MODE));
	fault_once(&chain, &perf, 1);
	take_all(&perf, &content);
	EXPECT_EQ(1, content.deferred_samples);
	EXPECT_EQ(1, content.records);
	EXPECT_EQ(content.sample_cookie, content.record_cookie);
}

TEST(closed_event_leaves_nothing_behind)
{
	static struct content content;
	struct unwind_perf perf;
	struct chain chain;

	NEED_UNWIND();
	ASSERT_TRUE(chain_init(&chain, 0));
	for (int i = 0; i < 200; i++) {
		ASSERT_EQ(0, open_software(&perf, 0, PERF_COUNT_SW_PAGE_FAULTS, 0));
		fault_once(&chain, &perf, 1);
		take_all(&perf, &content);
		ASSERT_EQ(1, content.records);
		unwind_perf_close(&perf);
	}
}

/* Sort the samples and records of two threads in a ring. */
static void take_two(struct unwind_perf *perf, pid_t one, struct content *of_one,
		     pid_t other, struct content *of_other)
{
	static struct unwind_record record;

	memset(of_one, 0, sizeof(*of_one));
	memset(of_other, 0, sizeof(*of_other));
	while (unwind_perf_next(perf, &record)) {
		if (record.tid == one)
			add_content(of_one, &record);
		else if (record.tid == other)
			add_content(of_other, &record);
	}
}

static void take_own(struct unwind_perf *perf, pid_t tid, struct content *content)
{
	static struct content nobody;

	take_two(perf, tid, content, 0, &nobody);
}

#define FAULTS 20

static void fault_often(struct chain *chain)
{
	for (int i = 0; i < FAULTS; i++) {
		madvise(chain->page, 4096, MADV_DONTNEED);
		chain_fault(chain->page);
	}
}

static const struct unwind_event faults_of_cpu_0 = {
	.type = PERF_TYPE_SOFTWARE,
	.config = PERF_COUNT_SW_PAGE_FAULTS,
	.pid = -1,
};

TEST(session_of_a_cpu)
{
	static struct content content;
	struct unwind_perf perf;
	struct chain chain;

	NEED_UNWIND();
	ASSERT_TRUE(stay_on_cpu_0());
	ASSERT_TRUE(chain_init(&chain, 0));
	ASSERT_EQ(0, unwind_perf_open_event(&perf, &faults_of_cpu_0));
	fault_often(&chain);
	take_own(&perf, gettid(), &content);
	EXPECT_LE(FAULTS, content.samples);
	EXPECT_EQ(content.samples, content.deferred_samples);
	EXPECT_LE(FAULTS, content.records);
}

/* The parent's event must receive the child's records, with the child's pid. */
TEST(session_that_children_inherit)
{
	struct unwind_event event = faults_of_cpu_0;
	static struct content content;
	struct unwind_perf perf;
	struct chain chain;
	int status;
	pid_t pid;

	NEED_UNWIND();
	ASSERT_TRUE(stay_on_cpu_0());
	ASSERT_TRUE(chain_init(&chain, 0));
	event.pid = 0;
	event.flags = UNWIND_INHERIT;
	ASSERT_EQ(0, unwind_perf_open_event(&perf, &event));
	pid = fork();
	if (!pid) {
		fault_often(&chain);
		_exit(0);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	take_own(&perf, pid, &content);
	/* Faults during exit, after requests have ended, get immediate walks. */
	EXPECT_LE(FAULTS, content.deferred_samples);
	EXPECT_LE(FAULTS, content.records);
	EXPECT_EQ(pid, content.record.pid);
}

/* Tasks outside of the cgroup must leave no records. */
TEST(session_of_a_cgroup)
{
	char mount_point[] = "/tmp/unwind-cgroup-XXXXXX", path[64];
	struct unwind_event event = faults_of_cpu_0;
	static struct content inside, outside;
	struct unwind_perf perf;
	struct chain chain;
	int status;
	pid_t pid;

	NEED_UNWIND();
	ASSERT_TRUE(stay_on_cpu_0());
	ASSERT_TRUE(chain_init(&chain, 0));
	ASSERT_NE(NULL, mkdtemp(mount_point));
	ASSERT_EQ(0, mount("none", mount_point, "cgroup2", 0, NULL));
	/* perf has no state for this group until a controller is enabled. */
	ASSERT_TRUE(write_file(mount_point, "cgroup.subtree_control", "+pids"));
	snprintf(path, sizeof(path), "%s/unwind", mount_point);
	ASSERT_TRUE(!mkdir(path, 0755) || errno == EEXIST);
	event.pid = open(path, O_RDONLY);
	ASSERT_LE(0, event.pid);
	event.flags = UNWIND_CGROUP;
	ASSERT_EQ(0, unwind_perf_open_event(&perf, &event));
	fault_often(&chain);
	pid = fork();
	if (!pid) {
		if (!write_file(path, "cgroup.procs", "0"))
			_exit(1);
		fault_often(&chain);
		_exit(0);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	take_two(&perf, pid, &inside, gettid(), &outside);
	EXPECT_LE(FAULTS, inside.deferred_samples);
	EXPECT_LE(FAULTS, inside.records);
	EXPECT_EQ(0, outside.samples);
	EXPECT_EQ(0, outside.records);
	unwind_perf_close(&perf);
	close(event.pid);
	rmdir(path);
	umount(mount_point);
	rmdir(mount_point);
}

/* In a ring that no reader empties, lost samples and lost records must both be counted. */
TEST(lost_samples_and_records_are_counted)
{
	enum { MANY = 6000 };
	static struct unwind_record record;
	unsigned long samples = 0, records = 0;
	struct unwind_perf perf;
	struct chain chain;
	uint64_t faults;

	NEED_UNWIND();
	ASSERT_TRUE(chain_init(&chain, 0));
	ASSERT_EQ(0, open_faults(&perf, UNWIND_USER_MODE));
	for (int i = 0; i < MANY; i++) {
		madvise(chain.page, 4096, MADV_DONTNEED);
		chain_fault(chain.page);
	}
	/* Once the ring has room, the next record reports the number of losses. */
	for (int round = 0; round < 2; round++) {
		while (unwind_perf_next(&perf, &record)) {
			samples += record.type == PERF_RECORD_SAMPLE;
			records += record.type == UNWIND_RECORD_DEFERRED;
		}
		madvise(chain.page, 4096, MADV_DONTNEED);
		if (!round)
			chain_fault(chain.page);
	}
	ASSERT_EQ(0, ioctl(perf.fd, PERF_EVENT_IOC_DISABLE, 0));
	ASSERT_EQ(sizeof(faults), read(perf.fd, &faults, sizeof(faults)));
	EXPECT_LE(MANY, faults);
	EXPECT_NE(0, perf.lost);
	/* Each fault has a sample and a record. */
	EXPECT_EQ(2 * faults, samples + records + perf.lost);
}

/*
 * The sample is taken after the task work that would walk the stack; the system call must
 * still end.
 */
TEST(requests_at_the_end_of_system_calls)
{
	enum { CALLS = 1000 };
	long id = unwind_tracepoint("raw_syscalls/sys_exit");
	static struct content content;
	unsigned int records = 0, deferred = 0, samples = 0;
	struct unwind_perf perf;

	NEED_UNWIND();
	ASSERT_LE(0, id);
	ASSERT_EQ(0, unwind_perf_open(&perf, 0, PERF_TYPE_TRACEPOINT, id, 0));
	for (int i = 0; i < CALLS; i++) {
		chain_syscall(SYS_getppid, 0, 0, 0);
		if (i % 100)
			continue;
		take_all(&perf, &content);
		samples += content.samples;
		deferred += content.deferred_samples;
		records += content.records;
	}
	chain_syscall(SYS_getppid, 0, 0, 0);
	ASSERT_EQ(0, ioctl(perf.fd, PERF_EVENT_IOC_DISABLE, 0));
	take_all(&perf, &content);
	samples += content.samples;
	deferred += content.deferred_samples;
	records += content.records;
	EXPECT_LE(CALLS, samples);
	EXPECT_EQ(samples, deferred);
	/*
	 * The record of the last sample, in the ioctl(), may be pending when the event
	 * ends.
	 */
	EXPECT_LE(deferred - records, 1);
}

/*
 * A child that stops in a system call at a known place on the stack.  It waits until the
 * parent has opened its event.
 */
struct child {
	pid_t		pid;
	int		start[2];
	struct chain	*chain;
};

static keep int child_call(struct chain *chain, long number, long a, long b, long c)
{
	chain->ips[chain->nr++] = (uintptr_t)chain_syscall_ip;
	/* The return address of the call below is not known yet. */
	chain->ips[chain->nr++] = 0;
	chain->ips[chain->nr++] = chain_return_address();
	return chain_syscall(number, a, b, c) != 0;
}

/*
 * Load the tables of this program, which a child shares, as a task that exits or execs, or
 * that was killed, does not wait for them.
 */
static bool find_tables(void)
{
	static struct unwind_record record;
	struct unwind_perf perf;
	struct chain chain;
	time_t end = time(NULL) + 20;
	bool found = false;

	if (!chain_init(&chain, 0) || open_faults(&perf, 0))
		return false;
	while (!found && time(NULL) < end) {
		unwind_perf_drain(&perf);
		chain_run(&chain, 3);
		found = unwind_perf_stack_at(&perf, chain.ips[0], &record) &&
			chain_matches(&chain, &record);
	}
	unwind_perf_close(&perf);
	return found;
}

/* Argument of start_child() that stands for the child's own pid. */
#define SELF	(-1L)

static bool start_child(struct child *child, long number, long a, long b, long c)
{
	char byte;

	child->chain = mmap(NULL, sizeof(*child->chain), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (child->chain == MAP_FAILED || pipe(child->start))
		return false;
	child->pid = fork();
	if (child->pid)
		return child->pid > 0;
	close(child->start[1]);
	if (a == SELF)
		a = getpid();
	if (read(child->start[0], &byte, 1) == 1)
		_exit(child_call(child->chain, number, a, b, c));
	_exit(99);
}

static bool let_go(struct child *child)
{
	return write(child->start[1], "", 1) == 1;
}

/* Wait until the child sleeps in system call @number.  Returns false on timeout. */
static bool wait_for_sleep_in(struct child *child, long number)
{
	char path[64], line[256];

	snprintf(path, sizeof(path), "/proc/%d/syscall", child->pid);
	for (int i = 0; i < PATIENCE_MS; i++) {
		struct timespec nap = { .tv_nsec = 1000000 };
		FILE *file = fopen(path, "r");
		bool there = false;

		if (file && fgets(line, sizeof(line), file))
			there = strtol(line, NULL, 10) == number && line[0] != 'r';
		if (file)
			fclose(file);
		if (there)
			return true;
		nanosleep(&nap, NULL);
	}
	return false;
}

/* Check the child's stack, which is known except for the return address in child_call(). */
static bool child_stack(struct unwind_perf *perf, struct child *child,
			struct unwind_record *record)
{
	struct chain *chain = child->chain;

	if (!unwind_perf_stack_at(perf, chain->ips[0], record))
		return false;
	if (record->nr > 1 && record->ips[1] > (uintptr_t)child_call &&
	    record->ips[1] < (uintptr_t)child_call + 512)
		chain->ips[1] = record->ips[1];
	chain->last = main_return;
	return true;
}

TEST(killed_while_request_is_pending)
{
	static struct unwind_record record;
	struct unwind_perf perf;
	struct child child;
	int status;

	NEED_UNWIND();
	ASSERT_TRUE(find_tables());
	ASSERT_TRUE(start_child(&child, SYS_pause, 0, 0, 0));
	ASSERT_EQ(0, open_software(&perf, child.pid, PERF_COUNT_SW_CONTEXT_SWITCHES, 0));
	ASSERT_TRUE(let_go(&child));
	ASSERT_TRUE(wait_for_sleep_in(&child, SYS_pause));
	ASSERT_FALSE(child_stack(&perf, &child, &record));
	ASSERT_EQ(0, kill(child.pid, SIGKILL));
	ASSERT_EQ(child.pid, waitpid(child.pid, &status, 0));
	ASSERT_TRUE(child_stack(&perf, &child, &record));
	EXPECT_EQ(child.pid, record.tid);
	EXPECT_TRUE(chain_matches(child.chain, &record));
}

/*
 * A breakpoint in the kernel counts as NMI context: the request cannot just set a flag,
 * but must raise an interrupt on its own CPU.
 */
TEST(requested_in_nmi)
{
	static struct unwind_record record;
	uint64_t address = unwind_kernel_symbol("__x64_sys_getppid");
	struct unwind_perf perf;
	struct child child;
	int status;

	NEED_UNWIND();
	ASSERT_NE(0, address);
	ASSERT_TRUE(start_child(&child, SYS_getppid, 0, 0, 0));
	ASSERT_EQ(0, unwind_perf_open(&perf, child.pid, PERF_TYPE_BREAKPOINT, address, 0));
	ASSERT_TRUE(let_go(&child));
	ASSERT_EQ(child.pid, waitpid(child.pid, &status, 0));
	ASSERT_TRUE(child_stack(&perf, &child, &record));
	EXPECT_EQ(child.pid, record.tid);
	EXPECT_TRUE(chain_matches(child.chain, &record));
	/* One request must give exactly one record. */
	EXPECT_FALSE(unwind_perf_stack_at(&perf, child.chain->ips[0], &record));
}

static void do_nothing(int signal)
{
}

/* Wait for a sample without its record.  Returns false on timeout. */
static bool wait_for_pending(struct unwind_perf *perf)
{
	const struct timespec nap = { .tv_nsec = 1000000 };
	static struct unwind_record record;
	struct timespec now, end;
	uint64_t pending = 0;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += PENDING_SECONDS;
	do {
		while (unwind_perf_next(perf, &record)) {
			if (record.type == PERF_RECORD_SAMPLE)
				pending = record.cookie;
			else if (record.cookie == pending)
				pending = 0;
		}
		if (pending)
			return true;
		nanosleep(&nap, NULL);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec < end.tv_sec);
	return false;
}

/*
 * Let a child stop itself with a sample whose record is pending.  A preempted child has
 * already had the record of its kernel entry, so its stop gets an immediate walk; retry
 * with another child then.
 */
static bool stop_with_request(struct child *child, struct unwind_perf *perf)
{
	int status;

	for (int i = 0; i < STOPS; i++) {
		if (i)
			ksft_print_msg("the stop's record was out: child %d of %d\n", i + 1,
				       STOPS);
		if (!start_child(child, SYS_kill, SELF, SIGSTOP, 0) ||
		    open_software(perf, child->pid, PERF_COUNT_SW_CONTEXT_SWITCHES, 0) ||
		    !let_go(child) ||
		    waitpid(child->pid, &status, WUNTRACED) != child->pid ||
		    !WIFSTOPPED(status))
			return false;
		/*
		 * The child reports its stop a moment too early; if it were continued at
		 * once, it would take no sample.
		 */
		if (wait_for_pending(perf))
			return true;
		kill(child->pid, SIGKILL);
		waitpid(child->pid, &status, 0);
		unwind_perf_close(perf);
	}
	return false;
}

/*
 * The sample is taken as the child stops.  The next signal builds a handler's frame on
 * the stack, which must not be in the record.
 */
TEST(signal_handler_does_not_get_into_the_stack_before_it)
{
	static struct unwind_record record;
	struct unwind_perf perf;
	struct child child;
	int status;

	NEED_UNWIND();
	ASSERT_NE(SIG_ERR, signal(SIGUSR1, do_nothing));
	ASSERT_TRUE(stop_with_request(&child, &perf));
	ASSERT_EQ(0, kill(child.pid, SIGUSR1));
	ASSERT_EQ(0, kill(child.pid, SIGCONT));
	ASSERT_EQ(child.pid, waitpid(child.pid, &status, 0));
	ASSERT_TRUE(WIFEXITED(status));
	ASSERT_TRUE(child_stack(&perf, &child, &record));
	EXPECT_TRUE(chain_matches(child.chain, &record));
}

TEST(exits_while_request_is_pending)
{
	static struct unwind_record record;
	long id = unwind_tracepoint("syscalls/sys_enter_exit_group");
	struct unwind_perf perf;
	struct child child;
	int status;

	NEED_UNWIND();
	if (id < 0)
		SKIP(return, "no tracepoint syscalls/sys_enter_exit_group");
	ASSERT_TRUE(find_tables());
	ASSERT_TRUE(start_child(&child, SYS_exit_group, 7, 0, 0));
	ASSERT_EQ(0, unwind_perf_open(&perf, child.pid, PERF_TYPE_TRACEPOINT, id, 0));
	ASSERT_TRUE(let_go(&child));
	ASSERT_EQ(child.pid, waitpid(child.pid, &status, 0));
	EXPECT_EQ(7, WEXITSTATUS(status));
	ASSERT_TRUE(child_stack(&perf, &child, &record));
	EXPECT_EQ(child.pid, record.tid);
	EXPECT_TRUE(chain_matches(child.chain, &record));
}

TEST(exec_while_request_is_pending_shows_old_image)
{
	static struct unwind_record record;
	static char * const arguments[] = { "/bin/true", NULL };
	long id = unwind_tracepoint("syscalls/sys_enter_execve");
	struct unwind_perf perf;
	struct child child;
	int status;

	NEED_UNWIND();
	if (id < 0)
		SKIP(return, "no tracepoint syscalls/sys_enter_execve");
	ASSERT_TRUE(find_tables());
	ASSERT_TRUE(start_child(&child, SYS_execve, (long)arguments[0], (long)arguments, 0));
	ASSERT_EQ(0, unwind_perf_open(&perf, child.pid, PERF_TYPE_TRACEPOINT, id, 0));
	ASSERT_TRUE(let_go(&child));
	ASSERT_EQ(child.pid, waitpid(child.pid, &status, 0));
	EXPECT_EQ(0, status);
	ASSERT_TRUE(child_stack(&perf, &child, &record));
	EXPECT_EQ(child.pid, record.tid);
	EXPECT_TRUE(chain_matches(child.chain, &record));
	/* Only one record, with the stack of the program that requested it. */
	EXPECT_FALSE(unwind_perf_next(&perf, &record));
}

/* Two places of system calls.  The first lets another task run. */
static keep void call_yield(void)
{
	chain_syscall(SYS_sched_yield, 0, 0, 0);
	asm volatile("");
}

static keep void call_getppid(void)
{
	chain_syscall(SYS_getppid, 0, 0, 0);
	asm volatile("");
}

static bool is_in(uint64_t ip, void (*function)(void))
{
	return ip - (uintptr_t)function < 64;
}

static bool run_on_one_cpu(void)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	return !sched_setaffinity(0, sizeof(cpus), &cpus);
}

/*
 * The FPU's registers are loaded after the task's work, if another task has used them.  The
 * stack is that of the call that was left, not that of the next one.
 */
TEST(requests_when_registers_are_loaded)
{
	enum { CALLS = 500 };
	long id = unwind_tracepoint("x86_fpu/x86_fpu_regs_activated");
	static struct unwind_record record;
	unsigned int yields = 0, others = 0;
	struct unwind_perf perf;
	cpu_set_t before;
	int status;
	pid_t pid;

	NEED_UNWIND();
	ASSERT_LE(0, id);
	ASSERT_TRUE(find_tables());
	ASSERT_EQ(0, sched_getaffinity(0, sizeof(before), &before));
	ASSERT_TRUE(run_on_one_cpu());
	pid = fork();
	ASSERT_LE(0, pid);
	while (!pid)
		sched_yield();
	ASSERT_EQ(0, unwind_perf_open(&perf, 0, PERF_TYPE_TRACEPOINT, id, 0));
	for (unsigned int i = 0; i < CALLS; i++) {
		call_yield();
		call_getppid();
		while (unwind_perf_next(&perf, &record)) {
			if (record.type != UNWIND_RECORD_DEFERRED || record.nr < 2)
				continue;
			yields += is_in(record.ips[1], call_yield);
			others += is_in(record.ips[1], call_getppid);
		}
	}
	EXPECT_EQ(0, kill(pid, SIGKILL));
	EXPECT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, sched_setaffinity(0, sizeof(before), &before));
	/* A few calls are interrupted for the other task. */
	EXPECT_LT(CALLS / 10, yields);
	EXPECT_LT(10 * others, yields) TH_LOG("%u in yield, %u after it", yields, others);
}

/*
 * These tracepoints are hit after the kernel has looked for work for the last time.  So their
 * samples have the stack at once, as deferred it would be that of the next kernel entry.
 */
TEST(requests_on_the_way_to_user_space)
{
	static const char *const names[] = {
		"preemptirq/irq_enable", "context_tracking/user_enter", "rcu/rcu_watching",
	};
	static struct unwind_record record;
	unsigned int samples = 0, deferred = 0;
	struct unwind_perf perf;

	NEED_UNWIND();
	for (unsigned int i = 0; i < ARRAY_SIZE(names); i++) {
		long id = unwind_tracepoint(names[i]);

		if (id < 0)
			continue;
		ASSERT_EQ(0, unwind_perf_open(&perf, 0, PERF_TYPE_TRACEPOINT, id, 0));
		for (unsigned int call = 0; call < 500; call++) {
			call_getppid();
			while (unwind_perf_next(&perf, &record)) {
				samples += record.type == PERF_RECORD_SAMPLE;
				deferred += record.type == UNWIND_RECORD_DEFERRED;
			}
		}
		unwind_perf_close(&perf);
	}
	if (!samples)
		SKIP(return, "no such tracepoint is hit");
	EXPECT_EQ(0, deferred);
}

/* Probed instructions that the kernel emulates.  Each function leads to its caller by its rows. */
void probed_push(void);
void probed_call(void);
extern const char probed_call_ip[] __attribute__((visibility("hidden")));

asm(".pushsection .text\n"
	"	.type probed_push, @function\n"
	"probed_push:\n"
	"	.cfi_startproc\n"
	"	push %rbp\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	.cfi_offset %rbp, -16\n"
	"	pop %rbp\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	.cfi_restore %rbp\n"
	"	ret\n"
	"	.cfi_endproc\n"
	"	.size probed_push, . - probed_push\n"
	"	.type probed_call, @function\n"
	"probed_call:\n"
	"	.cfi_startproc\n"
	"	sub $8, %rsp\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"probed_call_ip:\n"
	"	call probed_push\n"
	"	add $8, %rsp\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	"	.size probed_call, . - probed_call\n"
	"	.popsection\n");

/* Calls @function, and returns the address that it returns to. */
static keep uint64_t call_probed(void (*function)(void))
{
	uint64_t next;

	asm volatile("	lea 1f(%%rip), %0\n"
		     "	call *%1\n"
		     "1:\n"
		     : "=&b" (next) : "r" (function)
		     : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory", "cc");
	return next;
}

/*
 * The stack of a uprobe is that before the probed instruction, although the kernel has emulated
 * it by the time when the task returns to user space.
 */
TEST(uprobe_shows_the_stack_before_its_instruction)
{
	static struct unwind_record record;
	const struct {
		uintptr_t	ip;
		void		(*function)(void);
	} probes[] = {
		{ (uintptr_t)probed_push, probed_push },
		{ (uintptr_t)probed_call_ip, probed_call },
	};

	NEED_UNWIND();
	for (unsigned int i = 0; i < 2; i++) {
		struct unwind_event event = {
			.type = unwind_pmu("uprobe"),
			.config1 = (uintptr_t)"/proc/self/exe",
			.config2 = unwind_file_offset(probes[i].ip),
			.cpu = -1,
		};
		struct unwind_perf perf;
		uint64_t caller;

		ASSERT_EQ(0, unwind_perf_open_event(&perf, &event));
		for (unsigned int round = 0; round < 5; round++) {
			unwind_perf_drain(&perf);
			caller = call_probed(probes[i].function);
			ASSERT_TRUE(unwind_perf_stack_at(&perf, probes[i].ip, &record))
				TH_LOG("probe %u, round %u: no stack", i, round);
			ASSERT_LT(2, record.nr);
			EXPECT_EQ(caller, record.ips[1]);
		}
		unwind_perf_close(&perf);
	}
}

/* Saves a frame pointer, uses the register for its second argument, and touches its first. */
static const uint8_t pointer_code[] = {
	0x55,				/* push %rbp */
	0x48, 0x89, 0xf5,		/* mov %rsi, %rbp */
	0xc6, 0x07, 0x01,		/* movb $1, (%rdi) */
	0x5d,				/* pop %rbp */
	0xc3,				/* ret */
};

#define POINTER_FAULT 4

/* Memory whose page faults wait for a program that does not answer; NULL if there is none. */
static void *unanswered_memory(void)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return page == MAP_FAILED || hold_faults(page) < 0 ? NULL : page;
}

/* Returns 0 if a deferred walk from code without a table came back. */
static int walk_past(void *pointer)
{
	static struct unwind_record record;
	void (*function)(void *page, void *pointer);
	struct unwind_perf perf;
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (!pointer || page == MAP_FAILED)
		return 2;
	memcpy(page, pointer_code, sizeof(pointer_code));
	function = (void *)page;
	if (open_software(&perf, 0, PERF_COUNT_SW_PAGE_FAULTS, 0))
		return 3;
	function(page + 4096, pointer);
	return !unwind_perf_stack_at(&perf, (uintptr_t)page + POINTER_FAULT, &record);
}

/* A register that is no frame pointer may lead to memory that nobody fills. */
TEST(guess_waits_for_nobody)
{
	int status = 0;
	pid_t pid;

	NEED_UNWIND();
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(walk_past(unanswered_memory()));
	for (unsigned int ms = 0; ms < PATIENCE_MS; ms += 10) {
		if (waitpid(pid, &status, WNOHANG) == pid) {
			EXPECT_TRUE(WIFEXITED(status));
			EXPECT_EQ(0, WEXITSTATUS(status));
			return;
		}
		usleep(10000);
	}
	EXPECT_TRUE(false) TH_LOG("the walk still waits");
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
}

TEST_HARNESS_MAIN
