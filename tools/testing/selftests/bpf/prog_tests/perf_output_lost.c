// SPDX-License-Identifier: GPL-2.0
/*
 * Test records that bpf_perf_event_output() cannot write: it must return an error, and
 * the map's fdinfo must count the record.
 */
#define _GNU_SOURCE
#include <linux/perf_event.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <test_progs.h>
#include "test_perf_raw_record.skel.h"

#define HITS	5

static struct test_perf_raw_record *skel;

static int event_open(int cpu, __u64 sample_type)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_BPF_OUTPUT,
		.sample_period = 1,
		.sample_type = sample_type,
	};

	return syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

/* Value of the line @name in the map's fdinfo, or -1 if there is none. */
static long count_of(const char *name)
{
	char path[64], line[128];
	size_t len = strlen(name);
	long count = -1;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", bpf_map__fd(skel->maps.ring));
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file)) {
		if (!strncmp(line, name, len) && line[len] == ':')
			count = atol(line + len + 1);
	}
	if (file)
		fclose(file);
	return count;
}

/* HITS records of @size bytes must fail with @err, and be counted as @name. */
static void expect_lost(unsigned int size, int err, const char *name)
{
	long before = count_of(name);
	int i;

	skel->bss->size = size;
	for (i = 0; i < HITS; i++) {
		skel->bss->ret = 1;
		syscall(SYS_getpgid, 0);
		ASSERT_EQ(skel->bss->ret, err, "error");
	}
	ASSERT_GE(before, 0, "count_is_shown");
	ASSERT_EQ(count_of(name), before + HITS, name);
}

static void use_event(int fd)
{
	int zero = 0;

	ASSERT_OK_FD(fd, "event");
	ASSERT_OK(bpf_map__update_elem(skel->maps.ring, &zero, sizeof(zero), &fd, sizeof(fd), 0),
		  "use_event");
}

static void test_no_event(void)
{
	expect_lost(8, -ENOENT, "lost_no_event");
}

static void test_other_cpu(void)
{
	int fd = event_open(1, PERF_SAMPLE_RAW);

	if (fd < 0 && errno == ENODEV) {
		/* The machine has only one CPU. */
		test__skip();
		return;
	}
	use_event(fd);
	expect_lost(8, -EOPNOTSUPP, "lost_other_cpu");
	close(fd);
}

/* The samples must be there, without the payload. */
static void test_event_without_raw(void)
{
	const size_t page_size = sysconf(_SC_PAGESIZE), size = sizeof(struct perf_event_header) + 8;
	int fd = event_open(0, PERF_SAMPLE_TIME);
	struct perf_event_mmap_page *ring;

	use_event(fd);
	ring = mmap(NULL, 2 * page_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (ASSERT_NEQ(ring, MAP_FAILED, "mmap")) {
		expect_lost(8, 0, "lost_bad_event");
		ASSERT_EQ(ring->data_head, HITS * size, "samples");
		munmap(ring, 2 * page_size);
	}
	close(fd);
}

static void test_no_ring_and_full_ring(void)
{
	long page_size = sysconf(_SC_PAGESIZE);
	int fd = event_open(0, PERF_SAMPLE_RAW), i;
	void *ring;

	use_event(fd);
	expect_lost(8, -ENOSPC, "lost_no_room");
	ring = mmap(NULL, 2 * page_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (ASSERT_NEQ(ring, MAP_FAILED, "mmap")) {
		skel->bss->size = 1000;
		for (i = 0; i < 4; i++)
			syscall(SYS_getpgid, 0);
		expect_lost(1000, -ENOSPC, "lost_no_room");
		expect_lost(page_size, -E2BIG, "lost_too_long");
		munmap(ring, 2 * page_size);
	}
	close(fd);
}

static void run(const char *name, void (*test)(void))
{
	if (!test__start_subtest(name))
		return;
	skel = test_perf_raw_record__open_and_load();
	if (!ASSERT_OK_PTR(skel, "open_and_load"))
		return;
	skel->bss->my_tid = syscall(SYS_gettid);
	if (ASSERT_OK(test_perf_raw_record__attach(skel), "attach"))
		test();
	test_perf_raw_record__destroy(skel);
}

void serial_test_perf_output_lost(void)
{
	cpu_set_t old, first;

	/* The program writes to the event of the first CPU. */
	sched_getaffinity(0, sizeof(old), &old);
	CPU_ZERO(&first);
	CPU_SET(0, &first);
	if (!ASSERT_OK(sched_setaffinity(0, sizeof(first), &first), "affinity"))
		return;
	run("no_event", test_no_event);
	run("other_cpu", test_other_cpu);
	run("event_without_raw", test_event_without_raw);
	run("no_ring_and_full_ring", test_no_ring_and_full_ring);
	sched_setaffinity(0, sizeof(old), &old);
}
