// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests for the copying of pieces in bpf_output_record().  Included by record.c,
 * so that the tests reach its static functions.
 */
#include <kunit/test.h>

#define HEAD	13
#define BODY	200
#define TAIL	5
#define TOTAL	(HEAD + BODY + TAIL)

/* A piece that counts the bytes copied; only its first @good bytes are readable. */
struct counted {
	const u8 *data;
	unsigned long good;
	unsigned long copied;
	unsigned long next;
	bool in_order;
};

static unsigned long counted_copy(void *dst, const void *from, unsigned long off,
				  unsigned long len)
{
	struct counted *counted = (struct counted *)from;
	unsigned long n = 0;

	counted->in_order &= off == counted->next;
	counted->next = off + len;
	if (off < counted->good)
		n = min(len, counted->good - off);
	memcpy(dst, counted->data + off, n);
	counted->copied += n;
	return len - n;
}

struct record_test {
	u8 data[TOTAL];
	u8 copy[TOTAL];
	struct counted body;
	struct output out;
};

/* Four pieces: memory, an empty one, one with a copy function, and memory. */
static void record_begin(struct record_test *rec, unsigned long good)
{
	unsigned int i;

	for (i = 0; i < TOTAL; i++)
		rec->data[i] = 1 + i % 255;
	memset(rec->copy, 0, TOTAL);
	rec->body = (struct counted){
		.data = rec->data + HEAD, .good = good, .in_order = true,
	};
	rec->out = (struct output){};
	add_piece(&rec->out, NULL, rec->data, HEAD);
	add_piece(&rec->out, NULL, rec->data, 0);
	add_piece(&rec->out, counted_copy, &rec->body, BODY);
	add_piece(&rec->out, NULL, rec->data + HEAD + BODY, TAIL);
}

static int record_test_init(struct kunit *test)
{
	test->priv = kunit_kzalloc(test, sizeof(struct record_test), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, test->priv);
	return 0;
}

/* A ring buffer's pages may split a record at any byte: copy in chunks of each size. */
static void record_copies_each_byte_once(struct kunit *test)
{
	struct record_test *rec = test->priv;
	unsigned int chunk, off;

	for (chunk = 1; chunk <= TOTAL; chunk++) {
		record_begin(rec, BODY);
		KUNIT_ASSERT_EQ(test, rec->out.size, TOTAL);
		for (off = 0; off < TOTAL; off += chunk)
			KUNIT_EXPECT_EQ(test, 0,
					output_copy(rec->copy + off, &rec->out, off,
						    min(chunk, TOTAL - off)));
		KUNIT_EXPECT_MEMEQ(test, rec->copy, rec->data, TOTAL);
		KUNIT_EXPECT_EQ(test, rec->body.copied, BODY);
		KUNIT_EXPECT_TRUE(test, rec->body.in_order);
	}
}

/* The copy stops at the first unreadable byte and returns the number of bytes left. */
static void record_ends_at_what_is_unreadable(struct kunit *test)
{
	struct record_test *rec = test->priv;
	unsigned int good;

	for (good = 0; good < BODY; good++) {
		record_begin(rec, good);
		KUNIT_EXPECT_EQ(test, TOTAL - HEAD - good,
				output_copy(rec->copy, &rec->out, 0, TOTAL));
		KUNIT_EXPECT_MEMEQ(test, rec->copy, rec->data, HEAD + good);
		KUNIT_EXPECT_EQ(test, rec->body.copied, good);
	}
}

static struct kunit_case record_cases[] = {
	KUNIT_CASE(record_copies_each_byte_once),
	KUNIT_CASE(record_ends_at_what_is_unreadable),
	{}
};

static struct kunit_suite record_suite = {
	.name = "bpf_record",
	.init = record_test_init,
	.test_cases = record_cases,
};

kunit_test_suite(record_suite);
