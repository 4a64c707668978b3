/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_TEST_LINUX_UNALIGNED_H
#define _SFRAME_TEST_LINUX_UNALIGNED_H

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

#endif /* _SFRAME_TEST_LINUX_UNALIGNED_H */
