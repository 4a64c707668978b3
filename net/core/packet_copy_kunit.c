// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests for packets that are copied in pieces.  Each byte must be in its place,
 * wherever pieces, fragments and lists of packets end.  Copies from packets that are too
 * short or not readable must fail.
 */
#include <kunit/test.h>
#include <linux/packet_copy.h>
#include <linux/perf_event.h>

/* Size of the linear part of each packet. */
#define HEAD_SIZE	96
#define GUARD		0xa5

struct packet_test {
	struct sk_buff *skb;
	struct xdp_buff xdp;
	void *xdp_data;
	/* Expected bytes of a copy. */
	u8 *bytes;
	u8 *copy;
	unsigned int size;
};

static u8 byte_at(unsigned int at)
{
	return 1 + (at * 7 + at / 251) % 255;
}

/* Uneven sizes, from one byte to a page. */
static unsigned int frag_size(unsigned int number)
{
	static const unsigned int sizes[] = { 1, 700, 4096, 3, 1499, 64, 2048 };

	return sizes[number % ARRAY_SIZE(sizes)];
}

static struct page *filled_page(struct kunit *test, unsigned int begin,
				unsigned int size)
{
	struct page *page = alloc_page(GFP_KERNEL);
	u8 *byte;

	KUNIT_ASSERT_NOT_NULL(test, page);
	byte = page_address(page);
	/* At the end of the page, so a copy that goes too far leaves the page. */
	for (unsigned int i = 0; i < size; i++)
		byte[PAGE_SIZE - size + i] = byte_at(begin + i);
	return page;
}

/* A packet with @nr fragments, whose first byte is byte number @begin of the test data. */
static struct sk_buff *make_skb(struct kunit *test, unsigned int begin,
				unsigned int nr)
{
	struct sk_buff *skb = alloc_skb(HEAD_SIZE, GFP_KERNEL);
	unsigned int size;
	u8 *head;

	KUNIT_ASSERT_NOT_NULL(test, skb);
	head = skb_put(skb, HEAD_SIZE);
	for (unsigned int i = 0; i < HEAD_SIZE; i++)
		head[i] = byte_at(begin + i);
	for (unsigned int i = 0; i < nr; i++) {
		size = frag_size(i);
		skb_add_rx_frag(skb, i, filled_page(test, begin + skb->len, size),
				PAGE_SIZE - size, size, PAGE_SIZE);
	}
	return skb;
}

/* Make @list, one packet or several, the fragment list of @skb. */
static void add_list(struct sk_buff *skb, struct sk_buff *list)
{
	skb_shinfo(skb)->frag_list = list;
	for (; list; list = list->next) {
		skb->len += list->len;
		skb->data_len += list->len;
		skb->truesize += list->truesize;
	}
}

/* A packet with @nr fragments, spread over a list of packets if one cannot hold them. */
static struct sk_buff *make_packet(struct kunit *test, unsigned int nr)
{
	struct sk_buff *skb, *list = NULL, **end = &list;
	unsigned int begin, n = min(nr, 16U);

	skb = make_skb(test, 0, n);
	for (begin = skb->len, nr -= n; nr; nr -= n) {
		n = min(nr, 16U);
		*end = make_skb(test, begin, n);
		begin += (*end)->len;
		end = &(*end)->next;
	}
	add_list(skb, list);
	return skb;
}

static void set_size(struct kunit *test, unsigned int size)
{
	struct packet_test *packet = test->priv;

	packet->size = size;
	packet->bytes = kunit_kmalloc(test, size, GFP_KERNEL);
	packet->copy = kunit_kmalloc(test, size + 1, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, packet->bytes);
	KUNIT_ASSERT_NOT_NULL(test, packet->copy);
	for (unsigned int i = 0; i < size; i++)
		packet->bytes[i] = byte_at(i);
}

static int packet_test_init(struct kunit *test)
{
	test->priv = kunit_kzalloc(test, sizeof(struct packet_test), GFP_KERNEL);
	return test->priv ? 0 : -ENOMEM;
}

static void packet_test_exit(struct kunit *test)
{
	struct packet_test *packet = test->priv;
	struct skb_shared_info *info;

	if (!packet)
		return;
	kfree_skb(packet->skb);
	if (!packet->xdp_data)
		return;
	info = xdp_get_shared_info_from_buff(&packet->xdp);
	for (int i = 0; i < info->nr_frags; i++)
		__free_page(skb_frag_page(&info->frags[i]));
	free_page((unsigned long)packet->xdp_data);
}

/* Copy from @from on: a first piece of @first bytes, then pieces of @step bytes. */
static unsigned long copy_pieces(struct packet_test *packet, const void *copier,
				 perf_copy_f copy, unsigned int from,
				 unsigned int first, unsigned int step)
{
	unsigned int size = packet->size - from, off = 0, n = min(first, size);
	unsigned long left;

	for (; off < size; off += n, n = min(step, size - off)) {
		left = copy(packet->copy + off, copier, off, n);
		if (left)
			return left;
	}
	return 0;
}

/* Copy the packet in pieces to a buffer that holds only guard bytes. */
static unsigned long copy_skb(struct packet_test *packet, unsigned int from,
			      unsigned int first, unsigned int step)
{
	struct skb_copier copier;

	memset(packet->copy, GUARD, packet->size + 1);
	skb_copier_begin(&copier, packet->skb, from, packet->size - from);
	return copy_pieces(packet, &copier, skb_copier_copy, from, first, step);
}

static bool copy_is_right(const struct packet_test *packet, unsigned int from)
{
	return !memcmp(packet->copy, packet->bytes + from, packet->size - from) &&
	       packet->copy[packet->size - from] == GUARD;
}

static const unsigned int steps[] = { 1, 7, 97, 4095, 4096, 65536 };

/*
 * Copy as for a ring buffer, where the first page may end at any byte and the others are
 * whole, and in pieces of equal sizes.
 */
static void copy_skb_all_ways(struct kunit *test)
{
	static const unsigned int begins[] = { 0, 1, HEAD_SIZE - 1, HEAD_SIZE, 900 };
	struct packet_test *packet = test->priv;
	unsigned int i, first, from;

	for (i = 0; i < ARRAY_SIZE(begins); i++) {
		from = begins[i];
		if (from >= packet->size)
			continue;
		for (first = 1; first < 130; first++) {
			KUNIT_ASSERT_EQ(test, 0, copy_skb(packet, from, first, PAGE_SIZE));
			KUNIT_ASSERT_TRUE(test, copy_is_right(packet, from));
		}
	}
	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		KUNIT_ASSERT_EQ(test, 0, copy_skb(packet, 0, steps[i], steps[i]));
		KUNIT_ASSERT_TRUE(test, copy_is_right(packet, 0));
	}
}

static void skb_of_fragments(struct kunit *test)
{
	static const unsigned int numbers[] = { 0, 1, 2, 16, 17, 64 };
	struct packet_test *packet = test->priv;

	for (unsigned int i = 0; i < ARRAY_SIZE(numbers); i++) {
		kfree_skb(packet->skb);
		packet->skb = make_packet(test, numbers[i]);
		set_size(test, packet->skb->len);
		copy_skb_all_ways(test);
	}
}

/* A list of packets without fragments, as GRO builds from small packets. */
static void skb_of_linear_packets(struct kunit *test)
{
	struct packet_test *packet = test->priv;
	struct sk_buff *list = NULL, **end = &list;
	unsigned int begin = HEAD_SIZE;

	packet->skb = make_skb(test, 0, 0);
	for (unsigned int i = 0; i < 5; i++) {
		*end = make_skb(test, begin, 0);
		begin += (*end)->len;
		end = &(*end)->next;
	}
	add_list(packet->skb, list);
	set_size(test, packet->skb->len);
	copy_skb_all_ways(test);
}

/* For such a packet the copier starts from the beginning with each piece. */
static void skb_of_lists_in_a_list(struct kunit *test)
{
	struct packet_test *packet = test->priv;
	struct sk_buff *outer, *inner, *last;

	packet->skb = make_skb(test, 0, 2);
	outer = make_skb(test, packet->skb->len, 1);
	inner = make_skb(test, packet->skb->len + outer->len, 3);
	add_list(outer, inner);
	last = make_skb(test, packet->skb->len + outer->len, 0);
	outer->next = last;
	add_list(packet->skb, outer);
	set_size(test, packet->skb->len);
	copy_skb_all_ways(test);
}

static void skb_too_short(struct kunit *test)
{
	struct packet_test *packet = test->priv;
	struct skb_copier copier;

	packet->skb = make_packet(test, 3);
	set_size(test, packet->skb->len + 10);
	skb_copier_begin(&copier, packet->skb, 0, packet->size);
	KUNIT_EXPECT_EQ(test, 100, skb_copier_copy(packet->copy, &copier,
						   packet->size - 100, 100));
}

/* A program that traces a function that frees packets may output what is left of one. */
static void skb_of_which_only_the_head_is_left(struct kunit *test)
{
	struct packet_test *packet = test->priv;
	struct sk_buff *list;
	struct skb_copier copier;

	packet->skb = make_packet(test, 2);
	set_size(test, packet->skb->len);
	list = skb_shinfo(packet->skb)->frag_list;
	skb_shinfo(packet->skb)->frag_list = ERR_PTR(-EFAULT);
	skb_copier_begin(&copier, packet->skb, 0, HEAD_SIZE);
	KUNIT_EXPECT_EQ(test, 0, skb_copier_copy(packet->copy, &copier, 0, HEAD_SIZE));
	skb_copier_begin(&copier, packet->skb, 7, 0);
	skb_shinfo(packet->skb)->frag_list = list;
}

static void skb_unreadable(struct kunit *test)
{
	struct packet_test *packet = test->priv;
	struct skb_copier copier;

	packet->skb = make_packet(test, 2);
	packet->skb->unreadable = 1;
	set_size(test, packet->skb->len);
	skb_copier_begin(&copier, packet->skb, 0, packet->size);
	KUNIT_EXPECT_EQ(test, 0, skb_copier_copy(packet->copy, &copier, 0, HEAD_SIZE));
	KUNIT_EXPECT_EQ(test, 9, skb_copier_copy(packet->copy, &copier, HEAD_SIZE, 9));
	/* Later pieces must not touch the fragments either. */
	KUNIT_EXPECT_EQ(test, 1, skb_copier_copy(packet->copy, &copier, HEAD_SIZE + 9, 1));
	packet->skb->unreadable = 0;
}

static void make_xdp(struct kunit *test, unsigned int nr)
{
	struct packet_test *packet = test->priv;
	struct skb_shared_info *info;
	unsigned int size = HEAD_SIZE, n;

	packet->xdp_data = (void *)get_zeroed_page(GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, packet->xdp_data);
	xdp_init_buff(&packet->xdp, PAGE_SIZE, NULL);
	xdp_prepare_buff(&packet->xdp, packet->xdp_data, XDP_PACKET_HEADROOM, HEAD_SIZE,
			 false);
	for (unsigned int i = 0; i < HEAD_SIZE; i++)
		((u8 *)packet->xdp.data)[i] = byte_at(i);
	info = xdp_get_shared_info_from_buff(&packet->xdp);
	for (unsigned int i = 0; i < nr; i++) {
		n = frag_size(i);
		skb_frag_fill_page_desc(&info->frags[i], filled_page(test, size, n),
					PAGE_SIZE - n, n);
		info->nr_frags++;
		size += n;
	}
	info->xdp_frags_size = size - HEAD_SIZE;
	if (nr)
		xdp_buff_set_frags_flag(&packet->xdp);
	set_size(test, size);
}

static void copy_xdp_all_ways(struct kunit *test)
{
	struct packet_test *packet = test->priv;
	struct xdp_copier copier;
	unsigned int from, first;

	for (from = 0; from < packet->size; from += 509) {
		for (first = 1; first < 130; first += 3) {
			memset(packet->copy, GUARD, packet->size + 1);
			xdp_copier_begin(&copier, &packet->xdp, from);
			KUNIT_ASSERT_EQ(test, 0, copy_pieces(packet, &copier, xdp_copier_copy,
							     from, first, PAGE_SIZE));
			KUNIT_ASSERT_TRUE(test, copy_is_right(packet, from));
		}
	}
	for (unsigned int i = 0; i < ARRAY_SIZE(steps); i++) {
		memset(packet->copy, GUARD, packet->size + 1);
		xdp_copier_begin(&copier, &packet->xdp, 0);
		KUNIT_ASSERT_EQ(test, 0, copy_pieces(packet, &copier, xdp_copier_copy, 0,
						     steps[i], steps[i]));
		KUNIT_ASSERT_TRUE(test, copy_is_right(packet, 0));
	}
}

static void xdp_linear(struct kunit *test)
{
	make_xdp(test, 0);
	copy_xdp_all_ways(test);
}

static void xdp_of_fragments(struct kunit *test)
{
	make_xdp(test, MAX_SKB_FRAGS);
	copy_xdp_all_ways(test);
}

static void xdp_too_short(struct kunit *test)
{
	struct packet_test *packet = test->priv;
	struct xdp_copier copier;

	make_xdp(test, 2);
	xdp_copier_begin(&copier, &packet->xdp, 0);
	KUNIT_EXPECT_EQ(test, 5, xdp_copier_copy(packet->copy, &copier,
						 packet->size - 3, 8));
}

/* Copy without a copier: each piece is looked up from the start of the packet. */
static unsigned long copy_bits(void *dst, const void *skb, unsigned long off,
			       unsigned long len)
{
	return skb_copy_bits(skb, off, dst, len) ? len : 0;
}

/*
 * Nanoseconds to copy a packet to pages, of which the first has 100 bytes left.  The
 * minimum of ten rounds leaves out interrupts, and the translation of an emulator.
 */
static u64 copy_time(struct kunit *test, bool with_copier)
{
	struct packet_test *packet = test->priv;
	struct skb_copier copier;
	u64 begin, least = U64_MAX;

	for (int i = 0; i < 10; i++) {
		begin = ktime_get_ns();
		if (with_copier) {
			skb_copier_begin(&copier, packet->skb, 0, packet->size);
			copy_pieces(packet, &copier, skb_copier_copy, 0, 100, PAGE_SIZE);
		} else {
			copy_pieces(packet, packet->skb, copy_bits, 0, 100, PAGE_SIZE);
		}
		least = min(least, ktime_get_ns() - begin);
	}
	return least;
}

static void skb_cost(struct kunit *test)
{
	static const unsigned int numbers[] = { 0, 1, 16, 64 };
	struct packet_test *packet = test->priv;

	for (unsigned int i = 0; i < ARRAY_SIZE(numbers); i++) {
		kfree_skb(packet->skb);
		packet->skb = make_packet(test, numbers[i]);
		set_size(test, packet->skb->len);
		kunit_info(test, "figure %u fragments, %u bytes: %llu ns, without a copier %llu ns\n",
			   numbers[i], packet->size, copy_time(test, true),
			   copy_time(test, false));
	}
}

static struct kunit_case packet_test_cases[] = {
	KUNIT_CASE(skb_of_fragments),
	KUNIT_CASE(skb_of_linear_packets),
	KUNIT_CASE(skb_of_lists_in_a_list),
	KUNIT_CASE(skb_too_short),
	KUNIT_CASE(skb_of_which_only_the_head_is_left),
	KUNIT_CASE(skb_unreadable),
	KUNIT_CASE(skb_cost),
	KUNIT_CASE(xdp_linear),
	KUNIT_CASE(xdp_of_fragments),
	KUNIT_CASE(xdp_too_short),
	{}
};

static struct kunit_suite packet_test_suite = {
	.name = "packet_copy",
	.init = packet_test_init,
	.exit = packet_test_exit,
	.test_cases = packet_test_cases,
};

kunit_test_suite(packet_test_suite);

MODULE_LICENSE("GPL");
