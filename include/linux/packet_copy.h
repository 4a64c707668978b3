/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_PACKET_COPY_H
#define _LINUX_PACKET_COPY_H

#include <linux/skbuff.h>
#include <net/xdp.h>

/**
 * struct skb_copier - position in a packet that is copied in pieces
 * @skb:	Packet to copy.
 * @member:	Packet that holds the next byte: @skb or a packet of its list.
 * @from:	Offset in @skb of the first byte to copy.
 * @part:	Part of @member that holds the next byte: 0 for the linear part, otherwise
 *		the number of a fragment, counted from 1.
 * @begin:	Number of bytes of @skb before that part.
 * @has_lists:	Set if a packet of the list has a list of its own.  Each piece is then
 *		looked up from the start of @skb.
 */
struct skb_copier {
	const struct sk_buff *skb;
	const struct sk_buff *member;
	u32 from;
	u32 part;
	u32 begin;
	bool has_lists;
};

/**
 * struct xdp_copier - position in a packet that is copied in pieces
 * @xdp:	Packet to copy.
 * @from:	Offset in @xdp of the first byte to copy.
 * @part:	Part that holds the next byte: 0 for the linear part, otherwise the
 *		number of a fragment, counted from 1.
 * @begin:	Number of bytes of the packet before that part.
 */
struct xdp_copier {
	struct xdp_buff *xdp;
	u32 from;
	u32 part;
	u32 begin;
};

void skb_copier_begin(struct skb_copier *copier, const struct sk_buff *skb, u32 from,
		      u32 len);
unsigned long skb_copier_copy(void *dst, const void *copier, unsigned long off,
			      unsigned long len);

void xdp_copier_begin(struct xdp_copier *copier, struct xdp_buff *xdp, u32 from);
unsigned long xdp_copier_copy(void *dst, const void *copier, unsigned long off,
			      unsigned long len);

#endif /* _LINUX_PACKET_COPY_H */
