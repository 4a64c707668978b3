// SPDX-License-Identifier: GPL-2.0
/*
 * Packets, copied in pieces: a record in a ring buffer of pages takes a packet page by
 * page.  A copier knows where the last piece ended, so that a packet of many fragments
 * is walked once, not once for each page.
 *
 * The copy functions have the type of perf_raw_frag::copy.  Their calls must be in the
 * packet's order, without gaps.
 */
#include <linux/packet_copy.h>

/**
 * skb_copier_begin - begin to copy a packet
 * @copier:	Its place in the packet.
 * @skb:	The packet, which must not change until skb_copier_end().
 * @from:	First byte to copy.
 *
 * Any context.
 */
void skb_copier_begin(struct skb_copier *copier, struct sk_buff *skb, u32 from)
{
	skb_prepare_seq_read(skb, from, skb->len, &copier->seq);
	copier->is_nested = false;
}

/**
 * skb_copier_copy - copy the next piece of a packet
 * @dst:	Where to.
 * @copier:	The struct skb_copier.
 * @off:	Bytes that were copied so far.
 * @len:	Bytes to copy.
 *
 * Any context that does not sleep until skb_copier_end(): a fragment in high memory
 * stays mapped.
 *
 * Return: bytes that could not be copied: 0, or @len if the packet is shorter or not
 * readable there
 */
unsigned long skb_copier_copy(void *dst, const void *copier, unsigned long off,
			      unsigned long len)
{
	struct skb_copier *place = (struct skb_copier *)copier;
	const struct sk_buff *skb = place->seq.root_skb;
	unsigned long at = place->seq.lower_offset + off;

	if (likely(at + len <= skb_headlen(skb))) {
		memcpy(dst, skb->data + at, len);
		return 0;
	}
	if (likely(!place->is_nested) &&
	    !skb_copy_seq_read(&place->seq, off, dst, len))
		return 0;

	/* Its state is of no use after it failed. */
	place->is_nested = true;
	return skb_copy_bits(skb, at, dst, len) ? len : 0;
}

/**
 * skb_copier_end - end what skb_copier_begin() began
 * @copier:	The place.
 */
void skb_copier_end(struct skb_copier *copier)
{
	skb_abort_seq_read(&copier->seq);
}

/**
 * xdp_copier_begin - begin to copy a packet
 * @copier:	Its place in the packet.
 * @xdp:	The packet, which must not change until it is copied.
 * @from:	First byte to copy.
 *
 * Any context.  There is nothing to end.
 */
void xdp_copier_begin(struct xdp_copier *copier, struct xdp_buff *xdp, u32 from)
{
	*copier = (struct xdp_copier){ .xdp = xdp, .from = from };
}

/* The memory of the part that the copier is at, and its size. */
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
 * @dst:	Where to.
 * @copier:	The struct xdp_copier.
 * @off:	Bytes that were copied so far.
 * @len:	Bytes to copy.
 *
 * Any context.
 *
 * Return: bytes that could not be copied, as the packet is shorter
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
