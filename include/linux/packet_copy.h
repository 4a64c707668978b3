/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_PACKET_COPY_H
#define _LINUX_PACKET_COPY_H

#include <linux/skbuff.h>
#include <net/xdp.h>

/**
 * struct skb_copier - how far a packet has been copied
 * @skb:	The packet.
 * @from:	Where in it the copy begins.
 * @member:	What the next byte is in: the packet, or one of its list.
 * @part:	Where in that: 0 for the linear part, else the number of a fragment, from 1.
 * @begin:	Bytes of the packet in front of that part.
 * @has_lists:	A packet of the list has a list of its own: each piece is looked up from the
 *		packet's begin.
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
 * struct xdp_copier - how far a packet has been copied
 * @xdp:	The packet.
 * @from:	Where in it the copy begins.
 * @part:	Where the next byte is: 0 for the linear part, else the number of a
 *		fragment, from 1.
 * @begin:	Bytes of the packet in front of that part.
 */
struct xdp_copier {
	struct xdp_buff *xdp;
	u32 from;
	u32 part;
	u32 begin;
};

void skb_copier_begin(struct skb_copier *copier, const struct sk_buff *skb, u32 from);
unsigned long skb_copier_copy(void *dst, const void *copier, unsigned long off,
			      unsigned long len);

void xdp_copier_begin(struct xdp_copier *copier, struct xdp_buff *xdp, u32 from);
unsigned long xdp_copier_copy(void *dst, const void *copier, unsigned long off,
			      unsigned long len);

#endif /* _LINUX_PACKET_COPY_H */
