/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What version 3 of SFrame has that version 2 has not.
 *
 * Source: "The SFrame Format", shipped with GNU binutils 2.46 and later (info
 * sframe-spec).  The header is that of version 2.  A function's description is
 * in two parts: struct sframe_v3_fde in the sorted index, and struct
 * sframe_v3_attributes at the start of the function's rows, unaligned.
 *
 * The words of a flexible function's row are pairs of control and offset for
 * CFA, RA and FP:
 *
 *	base = control & REG ? register[control >> 3] : CFA
 *	value = control & DEREF ? *(base + offset) : base + offset
 *
 * A control of 0 has no offset behind it and means "no rule".
 */
#ifndef _TOOLS_SFRAME_V3_H
#define _TOOLS_SFRAME_V3_H

#include <linux/build_bug.h>
#include <linux/types.h>

#define SFRAME_VERSION_3		3

struct sframe_v3_fde {
	__s64	func_start;
	__u32	func_size;
	__u32	fre_off;
} __packed;

struct sframe_v3_attributes {
	__u16	num_fres;
	__u8	info;
	__u8	info2;
	__u8	rep_size;
} __packed;

static_assert(sizeof(struct sframe_v3_fde) == 16);
static_assert(sizeof(struct sframe_v3_attributes) == 5);

/* sframe_v3_attributes::info has this beside the bits of version 2 */
#define SFRAME_V3_FDE_SIGNAL		0x80

/* sframe_v3_attributes::info2 */
#define SFRAME_V3_FDE_TYPE(info2)	((info2) & 0x1f)
#define SFRAME_V3_FDE_DEFAULT		0
#define SFRAME_V3_FDE_FLEX		1

#define SFRAME_V3_CONTROL_NONE		0
#define SFRAME_V3_CONTROL_REG		0x1
#define SFRAME_V3_CONTROL_DEREF		0x2
#define SFRAME_V3_CONTROL_REG_SHIFT	3

#endif /* _TOOLS_SFRAME_V3_H */
