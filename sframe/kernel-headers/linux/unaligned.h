/* SPDX-License-Identifier: GPL-2.0 */
#include <linux/types.h>

#define get_unaligned_le16(from) ({ const u8 *_b = (from); (u16)(_b[0] | _b[1] << 8); })
#define get_unaligned_le32(from) ({ const u8 *_w = (from);		\
	get_unaligned_le16(_w) | (u32)get_unaligned_le16(_w + 2) << 16; })
