/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_TEST_LINUX_UNALIGNED_H
#define _SFRAME_TEST_LINUX_UNALIGNED_H

#include <string.h>

#include <linux/types.h>

static inline u16 get_unaligned_le16(const void *from)
{
	const u8 *byte = from;

	return byte[0] | byte[1] << 8;
}

static inline u32 get_unaligned_le32(const void *from)
{
	const u8 *byte = from;

	return get_unaligned_le16(byte) | (u32)get_unaligned_le16(byte + 2) << 16;
}

static inline void put_unaligned_le64(u64 value, void *to)
{
	u8 *byte = to;

	for (int i = 0; i < 8; i++)
		byte[i] = value >> i * 8;
}

#define put_unaligned(value, to) do {		\
	__typeof__(*(to)) __value = (value);	\
						\
	memcpy(to, &__value, sizeof(__value));	\
} while (0)

#endif /* _SFRAME_TEST_LINUX_UNALIGNED_H */
