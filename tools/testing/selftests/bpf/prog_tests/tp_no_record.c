// SPDX-License-Identifier: GPL-2.0
/*
 * perf builds no record of a hit if no program and no event can read it.  Test that all
 * readers still find the right record: programs, programs attached to them, and events
 * with a ring buffer.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <test_progs.h>
#include "test_tp_no_record.skel.h"
#include "test_tp_no_record_ext.skel.h"
#include "tp_event.h"

#define EVENT	"task/task_rename"
#define HITS	10
/* Of so many programs, perf checks the events of all or of none, see bpf_tp.c. */
#define FEW	11
#define MANY	12

/* A sample with PERF_SAMPLE_RAW, up to the first field of the tracepoint. */
struct sample {
	struct perf_event_header header;
	__u32 size;
	__u16 common_type;
	__u8 common[6];
	__s32 pid;
} __attribute__((packed));

static struct test_tp_no_record *load(void)
{
	struct test_tp_no_record *skel = test_tp_no_record__open_and_load();

	if (ASSERT_OK_PTR(skel, "load"))
		skel->bss->self = getpid();
	return skel;
}

static void hit(void)
{
	prctl(PR_SET_NAME, "test_progs");
}

static void hit_often(void)
{
	int i;

	for (i = 0; i < HITS; i++)
		hit();
}

/*
 * With these programs attached in this order, the one that reads the record must find the
 * right pid.
 */
static void check_pid(struct test_tp_no_record *skel, struct bpf_program *first,
		      struct bpf_program *second)
{
	struct bpf_link *links[2] = {};

	links[0] = bpf_program__attach(first);
	if (second)
		links[1] = bpf_program__attach(second);
	skel->bss->pid = 0;
	hit();
	ASSERT_EQ(skel->bss->pid, getpid(), "pid");
	bpf_link__destroy(links[0]);
	bpf_link__destroy(links[1]);
}

static void test_reader(const char *name)
{
	struct test_tp_no_record *skel = load();
	struct bpf_program *reader;

	if (!skel)
		return;
	reader = bpf_object__find_program_by_name(skel->obj, name);
	check_pid(skel, reader, NULL);
	check_pid(skel, reader, skel->progs.reads_nothing);
	check_pid(skel, skel->progs.reads_nothing, reader);
	test_tp_no_record__destroy(skel);
}

/*
 * A reader must find the record while it is attached, and no hit may be lost before or
 * after.
 */
static void test_reader_comes_and_goes(void)
{
	struct test_tp_no_record *skel = load();
	struct bpf_link *link;

	if (!skel)
		return;
	link = bpf_program__attach(skel->progs.reads_nothing);
	if (ASSERT_OK_PTR(link, "attach")) {
		hit_often();
		ASSERT_EQ(skel->bss->hits, HITS, "before");
		check_pid(skel, skel->progs.by_a_helper, NULL);
		hit_often();
		ASSERT_EQ(skel->bss->hits, 2 * HITS + 1, "after");
	}
	bpf_link__destroy(link);
	test_tp_no_record__destroy(skel);
}

static void test_no_record(void)
{
	struct test_tp_no_record *skel = load();
	struct bpf_link *link, *reader, *probe;

	if (!skel)
		return;
	link = bpf_program__attach(skel->progs.reads_nothing);
	probe = bpf_program__attach(skel->progs.with_record);
	if (ASSERT_OK_PTR(link, "attach") && ASSERT_OK_PTR(probe, "probe")) {
		hit_often();
		ASSERT_EQ(skel->bss->records, 0, "nobody reads");
		reader = bpf_program__attach(skel->progs.by_a_helper);
		hit_often();
		ASSERT_EQ(skel->bss->records, HITS, "a program reads");
		bpf_link__destroy(reader);
		hit();
		ASSERT_EQ(skel->bss->records, HITS, "it has gone");
		ASSERT_EQ(skel->bss->hits, 2 * HITS + 1, "hits");
	}
	bpf_link__destroy(probe);
	bpf_link__destroy(link);
	test_tp_no_record__destroy(skel);
}

static volatile bool stop;

static void *hit_all_the_time(void *arg)
{
	while (!stop)
		hit();
	return NULL;
}

/* Another thread keeps hitting the tracepoint; no run of the program may miss its record. */
static void test_attached_program(const char *name, const char *target_name)
{
	struct test_tp_no_record_ext *ext = NULL;
	struct test_tp_no_record *skel = load();
	struct bpf_program *prog, *target;
	struct bpf_link *link;
	pthread_t thread;
	int fd, i;

	if (!skel)
		return;
	target = bpf_object__find_program_by_name(skel->obj, target_name);
	fd = bpf_program__fd(target);
	link = bpf_program__attach(target);
	stop = false;
	if (!ASSERT_OK_PTR(link, "attach") ||
	    !ASSERT_OK(pthread_create(&thread, NULL, hit_all_the_time, NULL), "thread"))
		goto destroy;
	for (i = 0; i < HITS; i++) {
		struct bpf_link *other;

		ext = test_tp_no_record_ext__open();
		if (!ASSERT_OK_PTR(ext, "open"))
			break;
		bpf_object__for_each_program(prog, ext->obj)
			bpf_program__set_autoload(prog, !strcmp(bpf_program__name(prog), name));
		prog = bpf_object__find_program_by_name(ext->obj, name);
		bpf_program__set_attach_target(prog, fd, target_name);
		if (!ASSERT_OK(test_tp_no_record_ext__load(ext), "load"))
			break;
		ext->bss->self = getpid();
		other = bpf_program__attach(prog);
		if (!ASSERT_OK_PTR(other, "attach to it"))
			break;
		hit();
		ASSERT_EQ(ext->bss->pid, getpid(), "pid");
		bpf_link__destroy(other);
		test_tp_no_record_ext__destroy(ext);
		ext = NULL;
	}
	stop = true;
	pthread_join(thread, NULL);
	skel->bss->hits = 0;
	hit();
	ASSERT_EQ(skel->bss->hits, 1, "afterwards");
destroy:
	bpf_link__destroy(link);
	test_tp_no_record_ext__destroy(ext);
	test_tp_no_record__destroy(skel);
}

static void test_event_with_ring(void)
{
	struct perf_event_attr attr = {
		.sample_type = PERF_SAMPLE_RAW,
		.sample_period = 1,
		.disabled = 1,
	};
	struct test_tp_no_record *skel = load();
	struct perf_event_mmap_page *ring;
	const struct sample *sample;
	struct bpf_link *link;
	int fd;

	if (!skel)
		return;
	link = bpf_program__attach(skel->progs.reads_nothing);
	fd = tp_event_open(&attr, EVENT, 0, -1);
	ring = mmap(NULL, 2 * getpagesize(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (!ASSERT_OK_PTR(link, "attach") || !ASSERT_NEQ(ring, MAP_FAILED, "ring"))
		goto destroy;
	hit();
	ASSERT_EQ(ring->data_head, 0, "disabled");
	ASSERT_OK(ioctl(fd, PERF_EVENT_IOC_ENABLE), "enable");
	hit();
	ASSERT_OK(ioctl(fd, PERF_EVENT_IOC_DISABLE), "disable");
	sample = (void *)ring + ring->data_offset;
	ASSERT_EQ(ring->data_head, sample->header.size, "one sample");
	ASSERT_EQ(sample->header.type, PERF_RECORD_SAMPLE, "type");
	ASSERT_EQ(sample->common_type, tp_event_id(EVENT), "common_type");
	ASSERT_EQ(sample->pid, getpid(), "pid");
	hit();
	ASSERT_EQ(ring->data_head, sample->header.size, "disabled again");
	ASSERT_EQ(skel->bss->hits, 3, "hits");
	munmap(ring, 2 * getpagesize());
destroy:
	close(fd);
	bpf_link__destroy(link);
	test_tp_no_record__destroy(skel);
}

/* libbpf opens the programs' events on CPU 0. */
static bool pin(void)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	return ASSERT_OK(sched_setaffinity(0, sizeof(cpus), &cpus), "pin");
}

/*
 * Attach a program that reads nothing @nr times, behind an event with a ring buffer if one is
 * @wanted.  Each hit runs all of them once, and makes a record only for that event, or if that
 * costs less than to check all events.
 */
static void check_many(int nr, bool wanted, int records)
{
	struct perf_event_attr attr = { .sample_type = PERF_SAMPLE_RAW, .sample_period = 1 };
	struct bpf_link *links[MANY] = {}, *probe;
	struct test_tp_no_record *skel = load();
	struct perf_event_mmap_page *ring = MAP_FAILED;
	int fd = -1, i;

	if (!skel)
		return;
	probe = bpf_program__attach(skel->progs.with_record);
	if (wanted) {
		fd = tp_event_open(&attr, EVENT, 0, -1);
		ring = mmap(NULL, 2 * getpagesize(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		ASSERT_NEQ(ring, MAP_FAILED, "ring");
	}
	for (i = 0; i < nr; i++) {
		LIBBPF_OPTS(bpf_tracepoint_opts, opts, .bpf_cookie = i + 1);

		links[i] = bpf_program__attach_tracepoint_opts(skel->progs.reads_nothing, "task",
							       "task_rename", &opts);
		if (!ASSERT_OK_PTR(links[i], "attach"))
			goto destroy;
	}
	hit_often();
	ASSERT_EQ(skel->bss->hits, nr * HITS, "runs");
	ASSERT_EQ(skel->bss->records, records, "records");
	if (wanted)
		ASSERT_EQ(tp_event_count(fd), HITS, "events");
	if (ring != MAP_FAILED) {
		const struct sample *sample = (void *)ring + ring->data_offset;

		ASSERT_EQ(ring->data_head, HITS * sample->header.size, "samples");
	}
destroy:
	for (i = 0; i < nr; i++)
		bpf_link__destroy(links[i]);
	if (ring != MAP_FAILED)
		munmap(ring, 2 * getpagesize());
	if (fd >= 0)
		close(fd);
	bpf_link__destroy(probe);
	test_tp_no_record__destroy(skel);
}

static void test_many_programs(void)
{
	cpu_set_t cpus;

	if (!ASSERT_OK(sched_getaffinity(0, sizeof(cpus), &cpus), "CPUs") || !pin())
		return;
	check_many(FEW, false, 0);
	check_many(FEW, true, HITS);
	check_many(MANY, false, HITS);
	check_many(MANY, true, HITS);
	sched_setaffinity(0, sizeof(cpus), &cpus);
}

static volatile int nr_signals;

static void count_signal(int signal)
{
	nr_signals++;
}

/* A program that reads nothing must not change which hits an event takes. */
static void check_count(const char *name, struct perf_event_attr *attr, int limit, long count,
			int signals)
{
	struct test_tp_no_record *skel = load();
	struct bpf_link *link;
	int fd;

	if (!skel)
		return;
	attr->disabled = 1;
	fd = tp_event_open(attr, EVENT, 0, -1);
	link = bpf_program__attach(skel->progs.reads_nothing);
	if (!ASSERT_GE(fd, 0, name) || !ASSERT_OK_PTR(link, "attach"))
		goto destroy;
	nr_signals = 0;
	if (signals) {
		ASSERT_OK(fcntl(fd, F_SETOWN, getpid()), "owner");
		ASSERT_OK(fcntl(fd, F_SETFL, O_ASYNC), "subscribe");
	}
	if (limit)
		ASSERT_OK(ioctl(fd, PERF_EVENT_IOC_REFRESH, limit), "refresh");
	else
		ASSERT_OK(ioctl(fd, PERF_EVENT_IOC_ENABLE, 0), "enable");
	hit_often();
	ASSERT_EQ(tp_event_count(fd), count, name);
	ASSERT_EQ(nr_signals, signals, name);
	ASSERT_EQ(skel->bss->hits, HITS, "hits");
destroy:
	bpf_link__destroy(link);
	close(fd);
	test_tp_no_record__destroy(skel);
}

static void test_event_counts(void)
{
	struct perf_event_attr counts = {};
	struct perf_event_attr samples = { .sample_period = 1 };
	struct perf_event_attr now_and_then = { .sample_period = 3 };
	struct perf_event_attr often = { .freq = 1, .sample_freq = 1000 };
	struct perf_event_attr in_user_space = { .sample_period = 1, .exclude_kernel = 1 };
	sighandler_t old = signal(SIGIO, count_signal);

	check_count("counts", &counts, 0, HITS, 0);
	check_count("samples", &samples, 0, HITS, 0);
	check_count("samples now and then", &now_and_then, 0, HITS, 0);
	check_count("samples often", &often, 0, HITS, 0);
	check_count("in user space", &in_user_space, 0, 0, 0);
	check_count("signals", &samples, 0, HITS, HITS);
	check_count("is limited", &samples, 3, 3, 0);
	check_count("signals, limited", &samples, 3, 3, 3);
	signal(SIGIO, old);
}

void test_tp_no_record(void)
{
	static const char *const readers[] = {
		"after_a_jump", "by_a_helper", "in_a_function", "from_another_register",
		"from_the_stack", "late", "after_a_helper",
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(readers); i++)
		if (test__start_subtest(readers[i]))
			test_reader(readers[i]);
	if (test__start_subtest("reader_comes_and_goes"))
		test_reader_comes_and_goes();
	if (test__start_subtest("no_record"))
		test_no_record();
	if (test__start_subtest("program_replaced"))
		test_attached_program("replacement", "reads_nothing");
	if (test__start_subtest("program_watched"))
		test_attached_program("before", "reads_nothing_either");
	if (test__start_subtest("event_with_ring"))
		test_event_with_ring();
	if (test__start_subtest("many_programs"))
		test_many_programs();
	if (test__start_subtest("event_counts"))
		test_event_counts();
}
