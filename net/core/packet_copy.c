// SPDX-License-Identifier: GPL-2.0
/*
 * Copy packets in pieces, for records in ring buffers of pages, which take a packet page
 * by page.  A copier remembers where the last piece ended, so it passes through the
 * fragments of a packet once, not once for each page.
 *
 * The copy functions have the type of perf_raw_frag::copy.  Callers must copy a packet
 * from front to back, without gaps.
 */
#include <linux/packet_copy.h>

static bool has_list_in_list(const struct sk_buff *skb)
{
	const struct sk_buff *member;

	skb_walk_frags(skb, member)
		if (skb_has_frag_list(member))
			return true;
	return false;
}

/**
 * skb_copier_begin - prepare to copy a packet
 * @copier:	Copier to initialise.  It needs no cleanup.
 * @skb:	Packet to copy, which must not change until it is copied.
 * @from:	Offset of the first byte to copy.
 * @len:	Number of bytes to copy.
 *
 * If all of these bytes are in the linear part, nothing else of the packet is read: a program
 * may trace the function that frees it.
 *
 * Context: Any.
 */
void skb_copier_begin(struct skb_copier *copier, const struct sk_buff *skb, u32 from, u32 len)
{
	*copier = (struct skb_copier){
		.skb = skb, .member = skb, .from = from,
		.has_lists = (u64)from + len > skb_headlen(skb) && has_list_in_list(skb),
	};
}

/* The copier's current fragment, or NULL for the linear part.  Sets @size to its size. */
static const skb_frag_t *skb_part(const struct skb_copier *place, u32 *size)
{
	const skb_frag_t *frag;

	if (!place->part) {
		*size = skb_headlen(place->member);
		return NULL;
	}
	frag = &skb_shinfo(place->member)->frags[place->part - 1];
	*size = skb_frag_size(frag);
	return frag;
}

/*
 * Advance to the part after the current one, which has @size bytes.  @place->member
 * becomes NULL if the packet ends there or the next part is not readable.
 */
static void skb_next_part(struct skb_copier *place, u32 size)
{
	const struct sk_buff *member = place->member;

	place->begin += size;
	if (place->part < skb_shinfo(member)->nr_frags) {
		place->part++;
		if (unlikely(!skb_frags_readable(member)))
			place->member = NULL;
		return;
	}
	place->part = 0;
	place->member = member == place->skb ? skb_shinfo(member)->frag_list : member->next;
}

static void copy_frag(void *dst, const skb_frag_t *frag, u32 off, u32 len)
{
	u32 page_off, page_len, copied;
	struct page *page;
	void *from;

	skb_frag_foreach_page(frag, skb_frag_off(frag) + off, len, page, page_off,
			      page_len, copied) {
		from = kmap_local_page(page);
		memcpy(dst + copied, from + page_off, page_len);
		kunmap_local(from);
	}
}

static bool copy_parts(struct skb_copier *place, void *dst, u32 at, u32 len)
{
	const skb_frag_t *frag;
	u32 size, n;

	while (place->member) {
		frag = skb_part(place, &size);
		if (at < place->begin + size) {
			n = min(len, place->begin + size - at);
			if (frag)
				copy_frag(dst, frag, at - place->begin, n);
			else
				memcpy(dst, place->member->data + at - place->begin, n);
			dst += n;
			at += n;
			len -= n;
		}
		if (!len)
			return true;
		skb_next_part(place, size);
	}
	return false;
}

/**
 * skb_copier_copy - copy the next piece of a packet
 * @dst:	Destination of the bytes.
 * @copier:	The struct skb_copier.
 * @off:	Number of bytes copied so far.
 * @len:	Number of bytes to copy.
 *
 * After a failure, all later calls with this copier fail.
 *
 * Context: Any.
 * Return: the number of bytes that could not be copied: 0, or @len if the packet is
 * shorter or not readable.
 */
unsigned long skb_copier_copy(void *dst, const void *copier, unsigned long off,
			      unsigned long len)
{
	struct skb_copier *place = (struct skb_copier *)copier;
	const struct sk_buff *skb = place->skb;
	unsigned long at = place->from + off;

	if (likely(at + len <= skb_headlen(skb))) {
		memcpy(dst, skb->data + at, len);
		return 0;
	}
	if (unlikely(at + len > skb->len))
		return len;
	if (unlikely(place->has_lists))
		return skb_copy_bits(skb, at, dst, len) ? len : 0;
	return copy_parts(place, dst, at, len) ? 0 : len;
}

/**
 * xdp_copier_begin - prepare to copy a packet
 * @copier:	Copier to initialise.  It needs no cleanup.
 * @xdp:	Packet to copy, which must not change until it is copied.
 * @from:	Offset of the first byte to copy.
 *
 * Context: Any.
 */
void xdp_copier_begin(struct xdp_copier *copier, struct xdp_buff *xdp, u32 from)
{
	*copier = (struct xdp_copier){ .xdp = xdp, .from = from };
}

/* The memory of the copier's current part.  Sets @size to its size. */
static const void *xdp_part(const struct xdp_copier *place, u32 *size)
{
	const skb_frag_t *frag;

	if (!place->part) {
		*size = place->xdp->data_end - place->xdp->data;
		return place->xdp->data;
	}
	frag = xdp_get_shared_info_from_buff(place->xdp)->frags + place->part - 1;
	*size = skb_frag_size(frag);
	return skb_frag_address(frag);
}

static u32 xdp_last_part(struct xdp_buff *xdp)
{
	if (likely(!xdp_buff_has_frags(xdp)))
		return 0;
	return xdp_get_shared_info_from_buff(xdp)->nr_frags;
}

/**
 * xdp_copier_copy - copy the next piece of a packet
 * @dst:	Destination of the bytes.
 * @copier:	The struct xdp_copier.
 * @off:	Number of bytes copied so far.
 * @len:	Number of bytes to copy.
 *
 * Context: Any.
 * Return: the number of bytes that could not be copied, because the packet is shorter.
 */
unsigned long xdp_copier_copy(void *dst, const void *copier, unsigned long off,
			      unsigned long len)
{
	struct xdp_copier *place = (struct xdp_copier *)copier;
	unsigned long at = place->from + off, n;
	const void *part;
	u32 size;

	for (;;) {
		part = xdp_part(place, &size);
		if (at < place->begin + size) {
			n = min(len, place->begin + size - at);
			memcpy(dst, part + (at - place->begin), n);
			dst += n;
			at += n;
			len -= n;
		}
		if (!len || place->part == xdp_last_part(place->xdp))
			return len;
		place->begin += size;
		place->part++;
	}
}
