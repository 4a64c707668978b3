// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests for raw records: the exact bytes in a ring buffer after perf_output_raw().
 */
#include <kunit/test.h>
#include <linux/perf_event.h>

#include "internal.h"

#define PAGES		4
#define RING		(PAGES * PAGE_SIZE)
#define OLD		0xa5

struct raw_test {
	struct perf_buffer *rb;
	struct perf_output_handle handle;
	u8 *expect;
	u8 *data;
};

static int raw_test_init(struct kunit *test)
{
	struct raw_test *raw = kunit_kzalloc(test, sizeof(*raw), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, raw);
	raw->expect = kunit_kzalloc(test, RING, GFP_KERNEL);
	raw->data = kunit_kzalloc(test, RING, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, raw->expect);
	KUNIT_ASSERT_NOT_NULL(test, raw->data);
	for (i = 0; i < RING; i++)
		raw->data[i] = 1 + (i * 7 + i / 251) % 255;
	raw->rb = rb_alloc(PAGES, 0, -1, RING_BUFFER_WRITABLE);
	KUNIT_ASSERT_NOT_NULL(test, raw->rb);
	test->priv = raw;
	return 0;
}

static void raw_test_exit(struct kunit *test)
{
	struct raw_test *raw = test->priv;

	if (raw && raw->rb)
		rb_free(raw->rb);
}

static u8 *raw_page(struct raw_test *raw, unsigned int page)
{
	return raw->rb->data_pages[page];
}

/* Fill the ring buffer with old bytes, and prepare to write from @offset on. */
static void raw_begin(struct raw_test *raw, unsigned int offset)
{
	unsigned int i;

	for (i = 0; i < PAGES; i++)
		memset(raw_page(raw, i), OLD, PAGE_SIZE);
	memset(raw->expect, OLD, RING);
	raw->handle = (struct perf_output_handle){
		.rb = raw->rb,
		.page = offset / PAGE_SIZE,
		.addr = raw_page(raw, offset / PAGE_SIZE) + offset % PAGE_SIZE,
		.size = PAGE_SIZE - offset % PAGE_SIZE,
	};
}

static void expect_bytes(struct raw_test *raw, unsigned int *at, const void *from,
			 unsigned int len)
{
	const u8 *byte = from;

	for (; len--; ++*at)
		raw->expect[*at % RING] = byte ? *byte++ : 0;
}

static void expect_equal(struct kunit *test, struct raw_test *raw,
			 unsigned int offset)
{
	unsigned int i;

	for (i = 0; i < PAGES; i++) {
		if (!memcmp(raw_page(raw, i), raw->expect + i * PAGE_SIZE,
			    PAGE_SIZE))
			continue;
		KUNIT_FAIL(test, "page %u differs, written from %u on", i, offset);
		return;
	}
}

/* Set the size of @record as perf_sample_save_raw_data() does for raw data. */
static void raw_size(struct perf_raw_record *record)
{
	struct perf_event *event = kzalloc(sizeof(*event), GFP_KERNEL);
	struct perf_sample_data *data = kzalloc(sizeof(*data), GFP_KERNEL);

	if (event && data) {
		event->attr.sample_type = PERF_SAMPLE_RAW;
		perf_sample_data_init(data, 0, 0);
		perf_sample_save_raw_data(data, event, record);
	}
	kfree(data);
	kfree(event);
}

/* Source of a fragment with a copy function; only its first @good bytes are readable. */
struct source {
	const u8 *data;
	unsigned long good;
	unsigned int calls;
	unsigned long copied;
	unsigned long next;
	bool in_order;
};

static unsigned long source_copy(void *dst, const void *src, unsigned long off,
				 unsigned long len)
{
	struct source *source = (struct source *)src;
	unsigned long n = 0;

	source->calls++;
	source->in_order &= off == source->next;
	source->next = off + len;
	if (off < source->good)
		n = min(len, source->good - off);
	memcpy(dst, source->data + off, n);
	source->copied += n;
	return len - n;
}

static void output_and_compare(struct kunit *test, unsigned int offset,
			       unsigned int head, unsigned int body,
			       unsigned int good)
{
	struct raw_test *raw = test->priv;
	struct source source = {
		.data = raw->data + 1000, .good = good, .in_order = true,
	};
	struct perf_raw_frag last = {
		.data = raw->data + 5, .size = 3,
	};
	struct perf_raw_frag custom = {
		.next = &last, .copy = source_copy, .data = &source, .size = body,
	};
	struct perf_raw_record record = {
		.frag = { .next = &custom, .data = raw->data, .size = head, },
	};
	u32 size = round_up(head + body + 3 + sizeof(u32), sizeof(u64)) - sizeof(u32);
	unsigned int at = offset, got = min(good, body);

	raw_begin(raw, offset);
	raw_size(&record);
	KUNIT_ASSERT_EQ(test, record.size, size);

	expect_bytes(raw, &at, &size, sizeof(size));
	expect_bytes(raw, &at, raw->data, head);
	expect_bytes(raw, &at, raw->data + 1000, got);
	expect_bytes(raw, &at, NULL, body - got);
	expect_bytes(raw, &at, raw->data + 5, 3);
	expect_bytes(raw, &at, NULL, size - head - body - 3);

	KUNIT_EXPECT_EQ(test, perf_output_raw(&raw->handle, &record),
			got < body ? -EFAULT : 0);
	expect_equal(test, raw, offset);
	KUNIT_EXPECT_TRUE(test, source.in_order);
	KUNIT_EXPECT_EQ(test, source.copied, got);
	if (got == body)
		KUNIT_EXPECT_LE(test, source.calls, 2 + body / PAGE_SIZE);
}

/* Let the end of a page fall on each byte of a record. */
static void raw_record_is_exact_across_a_page(struct kunit *test)
{
	unsigned int offset;

	for (offset = PAGE_SIZE - 160; offset <= PAGE_SIZE; offset += 8)
		output_and_compare(test, offset, 21, 100, UINT_MAX);
	for (offset = 0; offset < 8; offset++)
		output_and_compare(test, PAGE_SIZE - 8, 13 + offset, 40, UINT_MAX);
}

static void raw_record_wraps_around(struct kunit *test)
{
	output_and_compare(test, RING - PAGE_SIZE, 100, 2 * PAGE_SIZE + 9, UINT_MAX);
	output_and_compare(test, RING - 8, 1, 3 * PAGE_SIZE, UINT_MAX);
}

/* Unreadable bytes of a fragment become zeroes, and the next fragment keeps its place. */
static void raw_record_with_unreadable_part_is_in_place(struct kunit *test)
{
	unsigned int good;

	for (good = 0; good < 70; good++)
		output_and_compare(test, PAGE_SIZE - 64, 9, 70, good);
	output_and_compare(test, 0, 9, 2 * PAGE_SIZE, 0);
	output_and_compare(test, 0, 9, 2 * PAGE_SIZE, PAGE_SIZE - 13);
	output_and_compare(test, 0, 9, 2 * PAGE_SIZE, PAGE_SIZE + 500);
}

/* Zeroes pad a record, not old bytes of the ring buffer. */
static void raw_record_padding_is_zero(struct kunit *test)
{
	unsigned int head;

	for (head = 0; head < 24; head++)
		output_and_compare(test, 64, head, 11, UINT_MAX);
}

static struct kunit_case raw_record_cases[] = {
	KUNIT_CASE(raw_record_is_exact_across_a_page),
	KUNIT_CASE(raw_record_wraps_around),
	KUNIT_CASE(raw_record_with_unreadable_part_is_in_place),
	KUNIT_CASE(raw_record_padding_is_zero),
	{}
};

static struct kunit_suite raw_record_suite = {
	.name = "perf_raw_record",
	.init = raw_test_init,
	.exit = raw_test_exit,
	.test_cases = raw_record_cases,
};

kunit_test_suite(raw_record_suite);

MODULE_DESCRIPTION("KUnit tests of perf's raw records");
MODULE_LICENSE("GPL");
