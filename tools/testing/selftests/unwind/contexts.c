// SPDX-License-Identifier: GPL-2.0
/*
 * Test immediate walks in the contexts that Documentation/trace/callchain-contexts.rst
 * lists: in NMI, for events of other tasks, for inherited events, for cgroups, while CPUs
 * go offline and online, and at the limit of a memory cgroup.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "contexts.h"
#include "unwind_test.h"
#include "contexts.skel.h"

#define PAGE	4096ul
#define FAULTS	20
/* Not a constant, so that a loop is not unrolled and its call has one return address. */
static volatile unsigned int warm = 3;

/* A breakpoint in the kernel counts as NMI. */
TEST(in_nmi)
{
	uint64_t address = unwind_kernel_symbol("__x64_sys_getppid");
	static struct unwind_record record;
	struct unwind_perf perf;
	struct chain chain = { };
	uint64_t back = 0;

	NEED_UNWIND();
	ASSERT_NE(0, address);
	ASSERT_EQ(0, unwind_perf_open(&perf, 0, PERF_TYPE_BREAKPOINT, address,
				      UNWIND_AT_ONCE));
	for (unsigned int i = 0; i < warm; i++) {
		unwind_perf_drain(&perf);
		back = chain_syscall(SYS_getppid, 0, 0, 0);
	}
	chain.ips[0] = (uintptr_t)chain_syscall_ip;
	chain.ips[1] = back;
	chain.nr = 2;
	chain.last = main_return;
	ASSERT_TRUE(unwind_perf_sample_at(&perf, chain.ips[0], &record));
	EXPECT_TRUE(chain_matches(&chain, &record));
}

/*
 * sched_stat_runtime counts nanoseconds, so one hit makes several records of an event.  The
 * breakpoint, in NMI, is hit between two of them.  Its stack, of one frame, must not get into
 * the second.
 */
TEST(between_two_overflows)
{
	struct unwind_event event = {
		.type = PERF_TYPE_TRACEPOINT,
		.config = unwind_tracepoint("sched/sched_stat_runtime"),
		.period = 10000,
		.flags = UNWIND_AT_ONCE,
		.cpu = -1,
	};
	struct unwind_event in_nmi = {
		.type = PERF_TYPE_BREAKPOINT,
		.config = unwind_kernel_symbol("__perf_event_overflow"),
		.flags = UNWIND_AT_ONCE,
		.cpu = -1,
		.max_stack = 1,
	};
	static struct unwind_record record;
	unsigned int samples = 0, breaks = 0, wrong = 0;
	struct unwind_perf perf, nmi;
	time_t end = time(NULL) + 2;

	ASSERT_NE(0, in_nmi.config);
	ASSERT_EQ(0, unwind_perf_open_event(&nmi, &in_nmi));
	ASSERT_EQ(0, unwind_perf_open_event(&perf, &event));
	while (time(NULL) < end) {
		while (unwind_perf_next(&perf, &record)) {
			bool whole = unwind_user_part(&record) > 3;

			/* The first stacks may be short, until the tables are loaded. */
			samples += samples || whole;
			wrong += samples && !whole;
		}
		while (unwind_perf_next(&nmi, &record))
			breaks++;
	}
	EXPECT_LT(100, samples);
	EXPECT_LT(100, breaks);
	EXPECT_EQ(0, wrong);
	EXPECT_EQ(0, perf.senseless);
	unwind_perf_close(&perf);
	unwind_perf_close(&nmi);
}

/* Shared memory in which a child reports to its parent. */
struct child {
	pid_t		pid;
	int		start[2];
	struct chain	*chain;
	/* Start signal for children that must not allocate memory. */
	volatile int	*go;
};

/* Start a child that calls @body on request. */
static bool start_child(struct child *child, bool (*body)(struct child *child))
{
	char byte;

	child->chain = mmap(NULL, sizeof(*child->chain) + sizeof(*child->go),
			    PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (child->chain == MAP_FAILED || pipe(child->start) || !chain_init(child->chain, 0))
		return false;
	child->go = (void *)(child->chain + 1);
	child->pid = fork();
	if (child->pid)
		return child->pid > 0;
	if (read(child->start[0], &byte, 1) != 1)
		_exit(99);
	_exit(!body(child));
}

static int end_child(struct child *child)
{
	int status;

	if (write(child->start[1], "", 1) != 1 ||
	    waitpid(child->pid, &status, 0) != child->pid)
		return -1;
	return status;
}

static keep bool take_faults(struct child *child)
{
	for (volatile int i = 0; i < FAULTS; i++) {
		child->chain->returns_nr = 0;
		chain_run(child->chain, 5);
	}
	child->chain->ips[child->chain->nr++] = chain_return_address();
	return true;
}

/* Number of the child's samples that are whole. */
static unsigned int whole_samples(struct unwind_perf *perf, const struct child *child)
{
	static struct unwind_record record;
	unsigned int whole = 0;

	while (unwind_perf_next(perf, &record))
		if (record.tid == child->pid && record.type == PERF_RECORD_SAMPLE &&
		    unwind_user_part(&record) && record.ips[0] == child->chain->ips[0])
			whole += chain_equal(child->chain, &record);
	return whole;
}

/* The kernel knows the files of the child, so its first sample is whole as well. */
TEST(of_another_task)
{
	struct unwind_perf perf;
	struct child child;

	NEED_UNWIND();
	ASSERT_TRUE(start_child(&child, take_faults));
	ASSERT_EQ(0, unwind_perf_open(&perf, child.pid, PERF_TYPE_SOFTWARE,
				      PERF_COUNT_SW_PAGE_FAULTS, UNWIND_AT_ONCE));
	ASSERT_EQ(0, end_child(&child));
	EXPECT_EQ(FAULTS, whole_samples(&perf, &child));
}

static const struct unwind_event faults_of_cpu_0 = {
	.type = PERF_TYPE_SOFTWARE,
	.config = PERF_COUNT_SW_PAGE_FAULTS,
	.flags = UNWIND_AT_ONCE,
	.pid = -1,
};

TEST(of_a_child_that_inherits_the_event)
{
	struct unwind_event event = faults_of_cpu_0;
	struct unwind_perf perf;
	struct child child;

	NEED_UNWIND();
	ASSERT_TRUE(stay_on_cpu_0());
	event.pid = 0;
	event.flags |= UNWIND_INHERIT;
	ASSERT_EQ(0, unwind_perf_open_event(&perf, &event));
	ASSERT_TRUE(start_child(&child, take_faults));
	ASSERT_EQ(0, end_child(&child));
	EXPECT_LE(FAULTS - warm, whole_samples(&perf, &child));
}

/* Records in a ring of one task, or of all other tasks. */
struct tally {
	unsigned int	samples;
	unsigned int	with_user;	/* frames, or a cookie for them */
};

static void count_samples(struct unwind_perf *perf, pid_t tid, struct tally *of_it,
			  struct tally *of_others)
{
	static struct unwind_record record;

	while (unwind_perf_next(perf, &record)) {
		struct tally *tally = record.tid == tid ? of_it : of_others;

		if (record.type != PERF_RECORD_SAMPLE)
			continue;
		tally->samples++;
		tally->with_user += record.cookie || unwind_user_part(&record);
	}
}

FIXTURE(way) { };

FIXTURE_VARIANT(way)
{
	unsigned int flags;
};

FIXTURE_VARIANT_ADD(way, at_once) { .flags = UNWIND_AT_ONCE };
FIXTURE_VARIANT_ADD(way, deferred) { .flags = 0 };
FIXTURE_SETUP(way) { }
FIXTURE_TEARDOWN(way) { }

/*
 * After exit_mm() a task has no user stack and does not return to user space.  Only
 * events of a CPU still sample it.
 */
TEST_F(way, of_a_task_that_has_lost_its_mm)
{
	struct unwind_event event = {
		.type = PERF_TYPE_TRACEPOINT,
		.config = unwind_tracepoint("sched/sched_process_exit"),
		.flags = variant->flags,
		.pid = -1,
	};
	struct tally its = { }, others = { };
	struct unwind_perf perf;
	struct child child;

	NEED_UNWIND();
	ASSERT_TRUE(stay_on_cpu_0());
	ASSERT_TRUE(start_child(&child, take_faults));
	ASSERT_EQ(0, unwind_perf_open_event(&perf, &event));
	ASSERT_EQ(0, end_child(&child));
	count_samples(&perf, child.pid, &its, &others);
	EXPECT_EQ(1, its.samples);
	EXPECT_EQ(0, its.with_user);
}

/* Samples of all tasks that are switched out, among them the idle task with pid 0. */
TEST_F(way, of_kernel_threads)
{
	const struct timespec nap = { .tv_nsec = 2000000 };
	struct unwind_event event = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CONTEXT_SWITCHES,
		.flags = variant->flags,
		.pid = -1,
	};
	struct tally idle = { }, others = { };
	struct unwind_perf perf;

	NEED_UNWIND();
	ASSERT_TRUE(stay_on_cpu_0());
	ASSERT_EQ(0, unwind_perf_open_event(&perf, &event));
	for (int i = 0; i < FAULTS; i++)
		nanosleep(&nap, NULL);
	count_samples(&perf, 0, &idle, &others);
	EXPECT_LT(0, idle.samples);
	EXPECT_EQ(0, idle.with_user);
	EXPECT_LE(FAULTS, others.with_user);
}

static keep bool sleep_often(struct child *child)
{
	const struct timespec nap = { .tv_nsec = 2000000 };

	for (volatile int i = 0; i < FAULTS; i++)
		nanosleep(&nap, NULL);
	return true;
}

/*
 * The waker of a task triggers the event of the woken task.  The waker's stack is not
 * that of the task, whose own stack cannot be walked from there.  A sample of the task,
 * if any, must have no user stack.  If an interrupt of the task itself wakes it, the
 * sample may have one.
 */
TEST_F(way, of_the_task_that_wakes)
{
	struct unwind_event event = {
		.type = PERF_TYPE_TRACEPOINT,
		.config = unwind_tracepoint("sched/sched_wakeup"),
		.flags = variant->flags,
	};
	struct tally own = { }, others = { };
	struct unwind_perf perf;
	struct child child;
	uint64_t wakeups;

	NEED_UNWIND();
	ASSERT_TRUE(stay_on_cpu_0());
	ASSERT_TRUE(start_child(&child, sleep_often));
	event.pid = child.pid;
	ASSERT_EQ(0, unwind_perf_open_event(&perf, &event));
	ASSERT_EQ(0, end_child(&child));
	count_samples(&perf, child.pid, &own, &others);
	ASSERT_EQ(sizeof(wakeups), read(perf.fd, &wakeups, sizeof(wakeups)));
	EXPECT_LE(FAULTS, wakeups);
	EXPECT_EQ(0, others.with_user);
}

TEST(stack_id_of_a_task_that_has_lost_its_mm)
{
	struct contexts_bpf *skel = contexts_bpf__open();
	struct child child;

	ASSERT_NE(NULL, skel);
	bpf_program__set_autoload(skel->progs.id_at_exit, true);
	ASSERT_EQ(0, contexts_bpf__load(skel));
	ASSERT_EQ(0, contexts_bpf__attach(skel));
	ASSERT_TRUE(start_child(&child, take_faults));
	skel->bss->tgid = child.pid;
	ASSERT_EQ(0, end_child(&child));
	EXPECT_EQ(-EFAULT, skel->data->at_exit_id);
	contexts_bpf__destroy(skel);
}

static keep bool call_getppid(struct child *child)
{
	struct chain *chain = child->chain;

	chain->ips[1] = chain_syscall(SYS_getppid, 0, 0, 0);
	chain->ips[0] = (uintptr_t)chain_syscall_ip;
	chain->ips[2] = chain_return_address();
	chain->nr = 3;
	return true;
}

/* A program has no second chance: the first stack of a process has to be whole. */
TEST(program_that_takes_one_stack_of_a_process)
{
	struct contexts_bpf *skel = contexts_bpf__open();
	static struct unwind_record record;
	struct child child;

	NEED_UNWIND();
	ASSERT_NE(NULL, skel);
	bpf_program__set_autoload(skel->progs.stack_at_getppid, true);
	ASSERT_EQ(0, contexts_bpf__load(skel));
	ASSERT_TRUE(start_child(&child, call_getppid));
	child.chain->last = main_return;
	skel->bss->tgid = child.pid;
	ASSERT_EQ(0, contexts_bpf__attach(skel));
	ASSERT_EQ(0, end_child(&child));
	EXPECT_EQ(1, skel->bss->samples);
	ASSERT_LT(0, skel->bss->bytes);
	record.nr = skel->bss->bytes / sizeof(uint64_t);
	memcpy(record.ips, skel->bss->ips, skel->bss->bytes);
	EXPECT_TRUE(chain_matches(child.chain, &record));
	contexts_bpf__destroy(skel);
}

/*
 * A program would take the cookie in a sample's callchain for a frame, so attaching must
 * fail.
 */
TEST(program_on_an_event_that_defers)
{
	struct contexts_bpf *skel = contexts_bpf__open();
	struct unwind_perf perf;
	struct bpf_link *link;

	NEED_UNWIND();
	ASSERT_NE(NULL, skel);
	bpf_program__set_autoload(skel->progs.sample, true);
	ASSERT_EQ(0, contexts_bpf__load(skel));
	ASSERT_EQ(0, open_faults(&perf, 0));
	link = bpf_program__attach_perf_event(skel->progs.sample, perf.fd);
	EXPECT_EQ(NULL, link);
	EXPECT_EQ(EPROTO, errno);
	unwind_perf_close(&perf);
	ASSERT_EQ(0, open_faults(&perf, UNWIND_AT_ONCE));
	link = bpf_program__attach_perf_event(skel->progs.sample, perf.fd);
	EXPECT_NE(NULL, link);
	bpf_link__destroy(link);
	unwind_perf_close(&perf);
	contexts_bpf__destroy(skel);
}

/* A program that takes part of a callchain must not remove it from the sample. */
TEST(program_that_takes_part_of_a_callchain)
{
	struct contexts_bpf *skel = contexts_bpf__open();
	static struct unwind_record record;
	struct unwind_perf perf;
	struct bpf_link *link;
	struct chain chain;

	NEED_UNWIND();
	ASSERT_NE(NULL, skel);
	bpf_program__set_autoload(skel->progs.sample, true);
	ASSERT_EQ(0, contexts_bpf__load(skel));
	ASSERT_TRUE(chain_init(&chain, 0));
	ASSERT_EQ(0, open_faults(&perf, UNWIND_AT_ONCE));
	link = bpf_program__attach_perf_event(skel->progs.sample, perf.fd);
	ASSERT_NE(NULL, link);
	for (unsigned int i = 0; i < warm; i++) {
		unwind_perf_drain(&perf);
		chain.returns_nr = 0;
		chain_run(&chain, 5);
	}
	chain.last = main_return;
	ASSERT_TRUE(unwind_perf_sample_at(&perf, chain.ips[0], &record));
	EXPECT_EQ(2 * sizeof(uint64_t), skel->bss->bytes);
	/* The program must get only frames, without perf's mark before them. */
	EXPECT_NE(0, skel->bss->ips[0]);
	EXPECT_GT(1UL << 47, skel->bss->ips[0]);
	EXPECT_TRUE(chain_matches(&chain, &record));
	bpf_link__destroy(link);
	contexts_bpf__destroy(skel);
}

/* A cgroup hierarchy for this test, with a group below its root. */
FIXTURE(group)
{
	char mount_point[32];
	char path[64];
};

FIXTURE_SETUP(group)
{
	strcpy(self->mount_point, "/tmp/contexts-XXXXXX");
	ASSERT_NE(NULL, mkdtemp(self->mount_point));
	ASSERT_EQ(0, mount("none", self->mount_point, "cgroup2", 0, NULL));
	ASSERT_TRUE(write_file(self->mount_point, "cgroup.subtree_control", "+memory"));
	snprintf(self->path, sizeof(self->path), "%s/contexts", self->mount_point);
	ASSERT_TRUE(!mkdir(self->path, 0755) || errno == EEXIST);
}

FIXTURE_TEARDOWN(group)
{
	rmdir(self->path);
	umount(self->mount_point);
	rmdir(self->mount_point);
}

static bool move_into(const char *path, pid_t pid)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", pid);
	return write_file(path, "cgroup.procs", text);
}

TEST_F(group, samples)
{
	struct unwind_event event = faults_of_cpu_0;
	struct unwind_perf perf;
	struct child child;

	NEED_UNWIND();
	ASSERT_TRUE(stay_on_cpu_0());
	event.pid = open(self->path, O_RDONLY);
	ASSERT_LE(0, event.pid);
	event.flags |= UNWIND_CGROUP;
	ASSERT_EQ(0, unwind_perf_open_event(&perf, &event));
	ASSERT_TRUE(start_child(&child, take_faults));
	ASSERT_TRUE(move_into(self->path, child.pid));
	ASSERT_EQ(0, end_child(&child));
	EXPECT_LE(FAULTS - warm, whole_samples(&perf, &child));
	unwind_perf_close(&perf);
	close(event.pid);
}

static long long read_event(const char *path, const char *name)
{
	long long value = -1, next;
	char file[128], word[32];
	FILE *stream;

	snprintf(file, sizeof(file), "%s/memory.events", path);
	stream = fopen(file, "r");
	while (stream && fscanf(stream, "%31s %lld", word, &next) == 2)
		if (!strcmp(word, name))
			value = next;
	if (stream)
		fclose(stream);
	return value;
}

#define LIMIT_TEXT	"16777216"
#define TOO_MUCH	(64ul << 20)

/* Fill the group's memory to the last page, then fault without allocating more. */
static keep bool take_faults_at_the_limit(struct child *child)
{
	/* The mapping stops at the limit without invoking the OOM killer. */
	if (mmap(NULL, TOO_MUCH, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0) == MAP_FAILED)
		return false;
	*child->go = 1;
	while (*child->go != 2)
		;
	/* The kernel looks at the files again, whose tables it has evicted. */
	for (volatile int i = 0; i < FAULTS; i++)
		chain_syscall(SYS_getppid, 0, 0, 0);
	*child->go = 3;
	while (*child->go != 4)
		;
	return true;
}

/* Map an object's first page as code, without reading it. */
static bool map_object_unread(const char *name)
{
	const char *object = path_beside_program(name);
	int fd = object ? open(object, O_RDONLY | O_CLOEXEC) : -1;
	void *code;

	code = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	close(fd);
	return code != MAP_FAILED;
}

/*
 * Have the kernel load all tables again, and read their files from the disk.  The rows are
 * evicted by a limit of 0 on all tables.
 */
static bool make_tables_cold(void)
{
	char limit[32] = "";
	FILE *file = fopen("/proc/sys/kernel/unwind_table_kbytes", "r");
	bool known = file && fgets(limit, sizeof(limit), file);

	if (file)
		fclose(file);
	return known && write_file("/proc/sys/kernel", "unwind_table_kbytes", "0") &&
	       write_file("/proc/sys/kernel", "unwind_table_kbytes", limit) &&
	       write_file("/proc/sys/vm", "drop_caches", "1");
}

/*
 * The kernel charges nobody for what it knows of files.  So a task in a group that is full
 * may be sampled: the kernel must not reclaim memory or kill a task for that.
 */
TEST_F(group, at_its_memory_limit)
{
	long id = unwind_tracepoint("syscalls/sys_enter_getppid");
	long long before, after;
	struct unwind_perf perf;
	struct child child;
	char path[64];

	NEED_UNWIND();
	ASSERT_LE(0, id);
	ASSERT_TRUE(write_file(self->path, "memory.max", LIMIT_TEXT));
	/* The child inherits code that nobody has read yet. */
	ASSERT_TRUE(map_object_unread("libcallee_none.so"));
	ASSERT_TRUE(start_child(&child, take_faults_at_the_limit));
	snprintf(path, sizeof(path), "/proc/%d", child.pid);
	ASSERT_TRUE(write_file(path, "oom_score_adj", "-1000"));
	ASSERT_TRUE(move_into(self->path, child.pid));
	ASSERT_EQ(0, unwind_perf_open(&perf, child.pid, PERF_TYPE_TRACEPOINT, id,
				      UNWIND_AT_ONCE));
	/* Before the group is full, as this gives some of its memory back. */
	ASSERT_TRUE(make_tables_cold());
	ASSERT_EQ(1, write(child.start[1], "", 1));
	while (*child.go != 1)
		sched_yield();
	before = read_event(self->path, "oom");
	EXPECT_LT(0, before);
	*child.go = 2;
	while (*child.go != 3 || unwind_is_loading())
		sched_yield();
	*child.go = 4;
	EXPECT_EQ(0, end_child(&child));
	after = read_event(self->path, "oom");
	EXPECT_EQ(before, after);
	unwind_perf_close(&perf);
}

#define CPU_1 "/sys/devices/system/cpu/cpu1"

static keep bool take_faults_until_told(struct child *child)
{
	const struct timespec nap = { .tv_nsec = 2000000 };

	while (*child->go != 1) {
		child->chain->returns_nr = 0;
		chain_run(child->chain, 5);
		nanosleep(&nap, NULL);
	}
	child->chain->ips[child->chain->nr++] = chain_return_address();
	return true;
}

/* Count the kernel entries whose samples wait for a record, and the records. */
static void count_deferred(struct unwind_perf *perf, unsigned int *entries,
			   unsigned int *records)
{
	static struct unwind_record record;
	static uint64_t last;

	while (unwind_perf_next(perf, &record)) {
		if (record.type == UNWIND_RECORD_DEFERRED) {
			(*records)++;
		} else if (record.cookie && record.cookie != last) {
			(*entries)++;
			last = record.cookie;
		}
	}
}

/* A CPU that goes offline moves the task and its events away at any point. */
TEST(while_cpus_go_offline)
{
	unsigned int deferred = 0, records = 0;
	struct unwind_perf at_once, later;
	struct child child;
	int status;

	NEED_UNWIND();
	if (access(CPU_1 "/online", W_OK))
		SKIP(return, "no second CPU that can go offline");
	ASSERT_TRUE(start_child(&child, take_faults_until_told));
	ASSERT_EQ(0, unwind_perf_open(&at_once, child.pid, PERF_TYPE_SOFTWARE,
				      PERF_COUNT_SW_PAGE_FAULTS, UNWIND_AT_ONCE));
	ASSERT_EQ(0, unwind_perf_open(&later, child.pid, PERF_TYPE_SOFTWARE,
				      PERF_COUNT_SW_PAGE_FAULTS, 0));
	ASSERT_EQ(1, write(child.start[1], "", 1));
	for (int i = 0; i < 10; i++) {
		/* The samples since the last move suffice. */
		unwind_perf_drain(&at_once);
		EXPECT_TRUE(write_file(CPU_1, "online", i % 2 ? "1" : "0"));
		count_deferred(&later, &deferred, &records);
	}
	*child.go = 1;
	ASSERT_EQ(child.pid, waitpid(child.pid, &status, 0));
	EXPECT_EQ(0, status);
	count_deferred(&later, &deferred, &records);
	EXPECT_EQ(0, later.lost);
	EXPECT_LT(0, deferred);
	EXPECT_EQ(deferred, records);
	EXPECT_LT(0, whole_samples(&at_once, &child));
}

TEST_HARNESS_MAIN
