// SPDX-License-Identifier: GPL-2.0
/*
 * Test the exact bytes that bpf_perf_event_output() writes: the sizes of record and
 * payload, the padding, records that are too long, and the losses that perf reports.
 */
#define _GNU_SOURCE
#include <linux/perf_event.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <test_progs.h>
#include "test_perf_raw_record.skel.h"

/* Longest sample with PERF_SAMPLE_RAW alone: header, size, payload, padding */
#define RECORD_MAX	65528
#define RAW_MAX		(RECORD_MAX - (int)(sizeof(struct perf_event_header) + sizeof(__u32)))
#define PAYLOAD_SIZE	(128 << 10)

/*
 * Lets the test compile for kernels that do not report the end of the payload; it fails
 * there.
 */
#ifndef PERF_RECORD_MISC_RAW_PAD_VALID
#define PERF_RECORD_MISC_RAW_PAD_SHIFT	8
#define PERF_RECORD_MISC_RAW_PAD_MASK	(7 << PERF_RECORD_MISC_RAW_PAD_SHIFT)
#define PERF_RECORD_MISC_RAW_PAD_VALID	(1 << 11)
#endif
#define RAW_PAD_BITS	(PERF_RECORD_MISC_RAW_PAD_VALID | PERF_RECORD_MISC_RAW_PAD_MASK)
#define RING_PAGES	64
#define ROUND_UP(n, to)	(((n) + (to) - 1) / (to) * (to))
#define MARK_SIZE	24

struct ring {
	int fd;
	int pages;
	/* If not set, the ring overwrites its oldest records. */
	bool is_read;
	struct perf_event_mmap_page *meta;
	char *data;
};

static long page_size;
static char *payload, *taken;

static int ring_open(struct ring *ring, struct perf_event_attr *attr, int pages)
{
	int prot;

	ring->pages = pages;
	ring->is_read = !attr->write_backward;
	prot = ring->is_read ? PROT_READ | PROT_WRITE : PROT_READ;
	ring->meta = MAP_FAILED;
	ring->fd = syscall(SYS_perf_event_open, attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	if (!ASSERT_OK_FD(ring->fd, "perf_event_open"))
		return -1;
	ring->meta = mmap(NULL, (pages + 1) * page_size, prot, MAP_SHARED, ring->fd, 0);
	if (!ASSERT_NEQ(ring->meta, MAP_FAILED, "mmap"))
		return -1;
	ring->data = (char *)ring->meta + page_size;
	return 0;
}

static void attr_init(struct perf_event_attr *attr)
{
	*attr = (struct perf_event_attr){
		.size = sizeof(*attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_BPF_OUTPUT,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_RAW,
		.read_format = PERF_FORMAT_LOST,
	};
}

static void ring_close(struct ring *ring)
{
	if (ring->meta != MAP_FAILED)
		munmap(ring->meta, (ring->pages + 1) * page_size);
	if (ring->fd >= 0)
		close(ring->fd);
}

/* Number of samples that perf counted as lost. */
static long ring_lost(struct ring *ring)
{
	__u64 value[2] = {};

	if (!ASSERT_EQ(read(ring->fd, value, sizeof(value)), sizeof(value), "read_lost"))
		return -1;
	return value[1];
}

/* Copy at most @size bytes written since the last call, and return their number. */
static size_t ring_take(struct ring *ring, char *to, size_t size)
{
	size_t bytes = ring->pages * page_size, n, first;
	__u64 head, tail = ring->meta->data_tail;

	head = __atomic_load_n(&ring->meta->data_head, __ATOMIC_ACQUIRE);
	n = head - tail;
	if (n > size)
		return 0;
	first = bytes - tail % bytes;
	if (first > n)
		first = n;
	memcpy(to, ring->data + tail % bytes, first);
	memcpy(to + first, ring->data, n - first);
	__atomic_store_n(&ring->meta->data_tail, head, __ATOMIC_RELEASE);
	return n;
}

/* Hit the program once, and return its result. */
static long output(struct test_perf_raw_record *skel, unsigned int size)
{
	__u64 hits = skel->bss->hits;

	skel->bss->size = size;
	skel->bss->ret = 1;
	syscall(SYS_getpgid, 0);
	if (skel->bss->hits != hits + 1) {
		ASSERT_EQ(skel->bss->hits, hits + 1, "one_hit");
		return 1;
	}
	return skel->bss->ret;
}

/* Fill the ring with old bytes that no record may show.  The payload has no zeroes. */
static void ring_soil(struct test_perf_raw_record *skel, struct ring *ring)
{
	long bytes = 2 * ring->pages * page_size;
	int wrong = 0;

	for (; bytes > 0; bytes -= 1000) {
		wrong += output(skel, 1000) != 0;
		if (ring->is_read)
			ring_take(ring, taken, ring->pages * page_size);
	}
	ASSERT_EQ(wrong, 0, "soil");
}

struct raw_sample {
	struct perf_event_header header;
	__u32 size;
	char data[];
};

/* Fill a payload with bytes that depend on their offset. */
static void payload_fill(char *to, size_t size)
{
	size_t i;

	for (i = 0; i < size; i++)
		to[i] = 1 + (i * 7 + i / 251) % 255;
}

/* Check the sample at @at, with a payload of @size bytes.  Returns its length, or 0. */
static size_t check_sample(const char *at, size_t left, unsigned int size)
{
	const struct raw_sample *sample = (const void *)at;
	size_t raw_size = ROUND_UP(size + sizeof(__u32), 8) - sizeof(__u32), i;
	size_t record = sizeof(*sample) + raw_size, misc;

	if (left < record || sample->header.type != PERF_RECORD_SAMPLE ||
	    sample->header.size != record || sample->size != raw_size) {
		fprintf(stderr, "payload of %u: %zu bytes, type %u, size %u (%zu), raw %u (%zu)\n",
			size, left, sample->header.type, sample->header.size, record,
			sample->size, raw_size);
		return 0;
	}
	misc = PERF_RECORD_MISC_RAW_PAD_VALID |
	       (raw_size - size) << PERF_RECORD_MISC_RAW_PAD_SHIFT;
	if ((sample->header.misc & RAW_PAD_BITS) != misc) {
		fprintf(stderr, "payload of %u: misc is %#x\n", size, sample->header.misc);
		return 0;
	}
	if (memcmp(sample->data, payload, size)) {
		fprintf(stderr, "payload of %u: other bytes\n", size);
		return 0;
	}
	for (i = size; i < raw_size; i++) {
		if (sample->data[i]) {
			fprintf(stderr, "payload of %u: byte %zu of the padding is %#x\n",
				size, i - size, (__u8)sample->data[i]);
			return 0;
		}
	}
	return record;
}

/* Output @size bytes and a mark, and expect only these two records in the ring. */
static bool exact(struct test_perf_raw_record *skel, struct ring *ring, unsigned int size)
{
	size_t bytes, length, mark;
	long err;

	err = output(skel, size);
	if (err) {
		fprintf(stderr, "payload of %u: %ld\n", size, err);
		return false;
	}
	if (output(skel, MARK_SIZE))
		return false;
	bytes = ring_take(ring, taken, ring->pages * page_size);
	length = check_sample(taken, bytes, size);
	if (!length)
		return false;
	mark = check_sample(taken + length, bytes - length, MARK_SIZE);
	return mark && length + mark == bytes;
}

/* Whether to test a payload of @size bytes: small, near a page's end or near the limit. */
static bool is_of_interest(unsigned int size)
{
	unsigned int end = (size + sizeof(struct raw_sample)) % page_size;

	return size < 300 || size > RAW_MAX - 64 || end < 20 || end > page_size - 20 ||
	       size % 509 == 0;
}

static void test_sizes(struct test_perf_raw_record *skel, struct ring *ring)
{
	unsigned int size, wrong = 0, first_wrong = 0;

	for (size = 0; size <= RAW_MAX; size++) {
		if (!is_of_interest(size))
			continue;
		if (exact(skel, ring, size))
			continue;
		if (!wrong++)
			first_wrong = size;
		if (wrong > 3)
			break;
	}
	ASSERT_EQ(wrong, 0, "sizes_that_are_not_exact");
	ASSERT_EQ(first_wrong, 0, "first_size_that_is_not_exact");
	ASSERT_EQ(ring_lost(ring), 0, "lost");
}

/* A record whose size does not fit in a header must fail, write nothing and be counted. */
static void test_too_long(struct test_perf_raw_record *skel, struct ring *ring)
{
	static const unsigned int sizes[] = {
		RAW_MAX + 1, 65528, 65536, 65537, 70000, PAYLOAD_SIZE,
	};
	struct {
		struct perf_event_header header;
		__u64 id;
		__u64 lost;
	} *lost = (void *)taken;
	size_t bytes;
	int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		ASSERT_EQ(output(skel, sizes[i]), -E2BIG, "too_long");
		ASSERT_EQ(ring_lost(ring), i + 1, "lost_samples");
		ASSERT_EQ(ring_take(ring, taken, PAYLOAD_SIZE), 0, "nothing_written");
	}

	/* A loss record must precede the next sample, which must be complete. */
	ASSERT_OK(output(skel, MARK_SIZE), "mark");
	bytes = ring_take(ring, taken, PAYLOAD_SIZE);
	if (!ASSERT_GT(bytes, sizeof(*lost), "lost_record_and_mark"))
		return;
	ASSERT_EQ(lost->header.type, PERF_RECORD_LOST, "lost_record");
	ASSERT_EQ(lost->lost, ARRAY_SIZE(sizes), "lost_record_count");
	bytes -= lost->header.size;
	ASSERT_EQ(check_sample(taken + lost->header.size, bytes, MARK_SIZE), bytes,
		  "record_behind");
}

/* Records that are longer than the ring, of one page, must fail with another error. */
static void test_longer_than_ring(struct test_perf_raw_record *skel, struct ring *ring)
{
	int head = sizeof(struct raw_sample);
	size_t bytes;

	ASSERT_OK(output(skel, page_size - head - 8), "longest");
	ASSERT_EQ(output(skel, MARK_SIZE), -ENOSPC, "full");
	bytes = ring_take(ring, taken, page_size);
	ASSERT_EQ(check_sample(taken, bytes, page_size - head - 8), bytes, "longest_is_whole");
	/*
	 * The ring has no room for a loss record before this sample; a later one reports
	 * the loss.
	 */
	ASSERT_OK(output(skel, page_size - head - 8), "longest_after_loss");
	bytes = ring_take(ring, taken, page_size);
	ASSERT_EQ(check_sample(taken, bytes, page_size - head - 8), bytes, "longest_is_whole");
	ASSERT_OK(output(skel, MARK_SIZE), "mark");
	ring_take(ring, taken, page_size);
	ASSERT_EQ(((struct perf_event_header *)taken)->type, PERF_RECORD_LOST, "lost_is_told");

	ASSERT_EQ(output(skel, page_size - head), -E2BIG, "as_long_as_ring");
	ASSERT_EQ(output(skel, page_size), -E2BIG, "longer_than_ring");
	ASSERT_EQ(output(skel, 65000), -E2BIG, "much_longer_than_ring");
	ASSERT_EQ(ring_lost(ring), 4, "lost_samples");
	ASSERT_EQ(ring_take(ring, taken, page_size), 0, "nothing_written");
}

/* A ring that overwrites its oldest records must not overwrite the one being written. */
static void test_overwrite(struct test_perf_raw_record *skel, struct ring *ring)
{
	size_t start;
	__u64 head;

	ASSERT_OK(output(skel, MARK_SIZE), "mark");
	head = ring->meta->data_head;
	ASSERT_EQ(output(skel, page_size), -E2BIG, "longer_than_ring");
	ASSERT_EQ(ring->meta->data_head, head, "nothing_written");
	ASSERT_GT(check_sample(ring->data + (head & (page_size - 1)), page_size, MARK_SIZE), 0,
		  "mark_is_whole");
	/* As long as the whole ring, so there is no room for a loss record before it */
	ASSERT_OK(output(skel, page_size - sizeof(struct raw_sample)), "as_long_as_ring");
	ASSERT_EQ(ring->meta->data_head, head - page_size, "one_record");
	start = ring->meta->data_head & (page_size - 1);
	memcpy(taken, ring->data + start, page_size - start);
	memcpy(taken + page_size - start, ring->data, start);
	ASSERT_EQ(check_sample(taken, page_size, page_size - sizeof(struct raw_sample)),
		  page_size, "longest_is_whole");
}

/* Other fields of a sample take room as well; the user stack gets what is left. */
static void test_with_stack(struct test_perf_raw_record *skel, struct ring *ring)
{
	static const unsigned int sizes[] = { 0, 1000, 57000, 60001, 65000, 65400 };
	const struct raw_sample *sample = (const void *)taken;
	unsigned int size;
	__u64 dump;
	char *at;
	int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		size = ROUND_UP(sizes[i] + sizeof(__u32), 8) - sizeof(__u32);
		ASSERT_OK(output(skel, sizes[i]), "output");
		if (!ASSERT_EQ(ring_take(ring, taken, PAYLOAD_SIZE), sample->header.size,
			       "one_record"))
			return;
		ASSERT_EQ(sample->size, size, "raw_size");
		ASSERT_OK(memcmp(sample->data, payload, sizes[i]), "payload");
		/* The event has no user registers, so the size of the stack is next. */
		at = (char *)sample->data + size;
		memcpy(&dump, at, sizeof(dump));
		at += sizeof(dump);
		ASSERT_LE(at + dump - taken, sample->header.size, "stack_fits");
		if (sizes[i] < 57000)
			ASSERT_GT(dump, 0, "some_stack");
	}
	ASSERT_EQ(ring_lost(ring), 0, "lost");
	/* The payload alone would fit, but the other fields do not. */
	ASSERT_EQ(output(skel, RAW_MAX), -E2BIG, "no_room_for_the_others");
	ASSERT_EQ(ring_lost(ring), 1, "lost_samples");
}

/* Each sample must have the registers, however large the stack may be. */
static void test_stack_and_registers(struct test_perf_raw_record *skel, struct ring *ring)
{
	const struct perf_event_header *header = (const void *)taken;
	int i;

	for (i = 0; i < 2; i++) {
		ASSERT_OK(output(skel, MARK_SIZE), "output");
		ASSERT_EQ(ring_take(ring, taken, PAYLOAD_SIZE), RECORD_MAX, "one_full_record");
		ASSERT_EQ(header->size, RECORD_MAX, "header_size");
	}
	ASSERT_EQ(ring_lost(ring), 0, "lost");
}

typedef void (*subtest)(struct test_perf_raw_record *skel, struct ring *ring);

static void run(const char *name, struct perf_event_attr *attr, int pages, subtest test)
{
	struct test_perf_raw_record *skel;
	struct ring ring;
	int zero = 0;

	if (!test__start_subtest(name))
		return;

	skel = test_perf_raw_record__open_and_load();
	if (!ASSERT_OK_PTR(skel, "open_and_load"))
		return;
	if (ring_open(&ring, attr, pages))
		goto close;
	skel->bss->my_tid = syscall(SYS_gettid);
	if (!ASSERT_OK(bpf_map__update_elem(skel->maps.ring, &zero, sizeof(zero), &ring.fd,
					    sizeof(ring.fd), 0), "ring") ||
	    !ASSERT_OK(bpf_map__update_elem(skel->maps.payload, &zero, sizeof(zero), payload,
					    PAYLOAD_SIZE, 0), "payload") ||
	    !ASSERT_OK(test_perf_raw_record__attach(skel), "attach"))
		goto close;
	ring_soil(skel, &ring);
	test(skel, &ring);
close:
	ring_close(&ring);
	test_perf_raw_record__destroy(skel);
}

#ifdef __x86_64__
struct frame {
	struct frame *next;
	unsigned long ret;
};

/* Hit the program with a user stack of @depth frames above that of the system call. */
static long output_from_depth(struct test_perf_raw_record *skel, int depth)
{
	struct frame *frames = calloc(depth, sizeof(*frames)), *first = frames;
	long nr = SYS_getpgid;
	int i;

	for (i = 0; i < depth; i++) {
		frames[i].next = i + 1 < depth ? &frames[i + 1] : NULL;
		frames[i].ret = (unsigned long)output_from_depth;
	}
	skel->bss->size = MARK_SIZE;
	skel->bss->ret = 1;
	asm volatile("push %%rbp\n\t"
		     "mov %1, %%rbp\n\t"
		     "xor %%edi, %%edi\n\t"
		     "syscall\n\t"
		     "pop %%rbp"
		     : "+a"(nr) : "r"(first) : "rdi", "rcx", "r11", "memory");
	free(frames);
	return skel->bss->ret;
}

/* A sample may also be too long because of its callchain. */
static void test_deep_callchain(struct test_perf_raw_record *skel, struct ring *ring)
{
	const struct perf_event_header *header = (const void *)taken;

	ASSERT_OK(output_from_depth(skel, 8000), "deep");
	ASSERT_EQ(ring_take(ring, taken, PAYLOAD_SIZE), header->size, "one_record");
	ASSERT_GT(header->size, 8000 * sizeof(__u64), "whole_callchain");
	ASSERT_EQ(output_from_depth(skel, 9000), -E2BIG, "too_deep");
	ASSERT_EQ(ring_take(ring, taken, PAYLOAD_SIZE), 0, "nothing_written");
	ASSERT_EQ(ring_lost(ring), 1, "lost_samples");
}

/* The sysctl can be changed only after the last event that walks stacks has been freed. */
static bool set_max_stack(int fd, const char *value)
{
	int tries;

	for (tries = 0; tries < 1000; tries++) {
		if (pwrite(fd, value, strlen(value), 0) > 0)
			return true;
		usleep(10000);
	}
	return false;
}

static void run_deep_callchain(void)
{
	int fd = open("/proc/sys/kernel/perf_event_max_stack", O_RDWR);
	struct perf_event_attr attr;
	char old[16] = "";

	if (!ASSERT_OK_FD(fd, "open_max_stack"))
		return;
	if (ASSERT_GT(read(fd, old, sizeof(old) - 1), 0, "read_max_stack") &&
	    ASSERT_TRUE(set_max_stack(fd, "16384"), "write_max_stack")) {
		attr_init(&attr);
		attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
		attr.sample_max_stack = 16384;
		run("deep_callchain", &attr, RING_PAGES, test_deep_callchain);
		ASSERT_TRUE(set_max_stack(fd, old), "restore_max_stack");
	}
	close(fd);
}
#else
static void run_deep_callchain(void)
{
	if (test__start_subtest("deep_callchain"))
		test__skip();
}
#endif

void serial_test_perf_raw_record(void)
{
	struct perf_event_attr attr;
	cpu_set_t old, first;

	page_size = sysconf(_SC_PAGESIZE);
	payload = malloc(PAYLOAD_SIZE);
	taken = malloc(RING_PAGES * page_size);
	if (!ASSERT_OK_PTR(payload, "payload") || !ASSERT_OK_PTR(taken, "taken"))
		goto out;
	payload_fill(payload, PAYLOAD_SIZE);

	/* The ring belongs to the first CPU. */
	sched_getaffinity(0, sizeof(old), &old);
	CPU_ZERO(&first);
	CPU_SET(0, &first);
	if (!ASSERT_OK(sched_setaffinity(0, sizeof(first), &first), "affinity"))
		goto out;

	attr_init(&attr);
	run("sizes", &attr, RING_PAGES, test_sizes);
	run("too_long", &attr, RING_PAGES, test_too_long);
	run("longer_than_ring", &attr, 1, test_longer_than_ring);
	attr.write_backward = 1;
	run("overwrite", &attr, 1, test_overwrite);
	attr_init(&attr);
	attr.sample_type |= PERF_SAMPLE_STACK_USER;
	attr.sample_stack_user = 8192;
	run("with_stack", &attr, RING_PAGES, test_with_stack);
	attr.sample_stack_user = 65528;
	attr.sample_type |= PERF_SAMPLE_REGS_INTR;
	attr.sample_regs_intr = 1;
	run("stack_and_registers", &attr, RING_PAGES, test_stack_and_registers);
	run_deep_callchain();

	sched_setaffinity(0, sizeof(old), &old);
out:
	free(taken);
	free(payload);
}
