/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reads bytes that nobody has checked.  A read beyond the end yields 0 and sets @bad, so one
 * check after a group of reads is enough.
 */
#ifndef _SFRAME_BYTES_H
#define _SFRAME_BYTES_H

#include <linux/types.h>
#include <string.h>

struct bytes {
	const u8	*at;
	const u8	*end;
	bool		bad;
};

static inline size_t bytes_left(const struct bytes *in)
{
	return in->end - in->at;
}

static inline const u8 *get_block(struct bytes *in, u64 len)
{
	const u8 *block = in->at;

	if (len > bytes_left(in)) {
		in->bad = true;
		in->at = in->end;
		return NULL;
	}
	in->at += len;
	return block;
}

/* Read @size bytes, little endian; at most 8. */
static inline u64 get_fixed(struct bytes *in, unsigned int size)
{
	const u8 *from = get_block(in, size);
	u64 value = 0;

	if (from)
		memcpy(&value, from, size);
	return value;
}

/* Read @size bytes as a signed number. */
static inline s64 get_signed(struct bytes *in, unsigned int size)
{
	unsigned int shift = 64 - 8 * size;

	return (s64)(get_fixed(in, size) << shift) >> shift;
}

static inline u64 get_leb(struct bytes *in, bool is_signed)
{
	unsigned int shift = 0;
	u64 value = 0;
	u8 byte;

	do {
		byte = get_fixed(in, 1);
		if (shift < 64)
			value |= (u64)(byte & 0x7f) << shift;
		shift += 7;
	} while ((byte & 0x80) && !in->bad);
	if (is_signed && shift < 64 && (byte & 0x40))
		value |= ~0ULL << shift;
	return value;
}

static inline u64 get_uleb(struct bytes *in)
{
	return get_leb(in, false);
}

static inline s64 get_sleb(struct bytes *in)
{
	return get_leb(in, true);
}

#endif /* _SFRAME_BYTES_H */
