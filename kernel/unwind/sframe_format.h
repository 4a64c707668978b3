/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The SFrame stack trace format, versions 2 and 3: the layout of a .sframe section.
 *
 * Source: "The SFrame Format", shipped with GNU binutils 2.44 (version 2) and 2.47
 * (version 3; info sframe-spec).  All fields are in target byte order and may be
 * unaligned:
 *
 *	+--------------------------+ start of the section
 *	| struct sframe_header     |
 *	| auxiliary header         | auxhdr_len bytes, none defined
 *	+--------------------------+ fdeoff and freoff are relative to this
 *	| struct sframe_fde []     | num_fdes, sorted by function start;
 *	| or sframe_v3_fde []      | version 3 has the latter
 *	+--------------------------+
 *	| frame row entries (FRE)  | fre_len bytes, variable length; version 3
 *	|                          | has sframe_v3_attributes before the FREs
 *	|                          | of each function
 *	+--------------------------+
 *
 * A FRE consists of its start (1, 2 or 4 bytes, relative to the function), one
 * info byte and up to 15 data words of 1, 2 or 4 bytes.  The words are signed
 * offsets: of the CFA, and of the slot where the function saved the frame pointer.
 * Flexible functions of version 3 have pairs of an unsigned control word and an
 * offset instead, for CFA, return address and frame pointer:
 *
 *	base  = control has REG ? register[control >> 3] : CFA
 *	value = control has DEREF ? *(base + offset) : base + offset
 *
 * A control word of 0 has no offset and means that there is no rule.
 *
 * Split tables that are marked with SFRAME_FILE_PRIVATE_RULES may use private extensions of
 * version 3.  The first is ADD in the control word of a CFA that is loaded from memory.  A third
 * word then holds the addend:
 *
 *	CFA = *(register + offset) + addend
 *
 * Hand-written code needs this where it saves its stack pointer on the stack.
 *
 * The second is FOLLOWED in the attributes of a function: its rows are not from unwind
 * information, but follow from the instructions, so a reader has to check the return addresses
 * that they lead to.  If such a function has no rows, nothing is known of its code; without it,
 * a short gap between functions would be taken for alignment.
 */
#ifndef _KERNEL_UNWIND_SFRAME_FORMAT_H
#define _KERNEL_UNWIND_SFRAME_FORMAT_H

#include <linux/build_bug.h>
#include <linux/types.h>

#define SFRAME_MAGIC			0xdee2
#define SFRAME_VERSION_1		1
#define SFRAME_VERSION_2		2
#define SFRAME_VERSION_3		3

/* sframe_preamble::flags */
#define SFRAME_F_FDE_SORTED		0x1
/* Version 2: every function keeps a frame pointer.  The rows do not depend on it. */
#define SFRAME_F_FRAME_POINTER		0x2
/*
 * sframe_fde::func_start is relative to its own address (binutils 2.45, LLVM).  Without
 * this flag, it is relative to the start of the section (binutils up to 2.44).
 */
#define SFRAME_F_FDE_FUNC_START_PCREL	0x4
#define SFRAME_F_KNOWN			(SFRAME_F_FDE_SORTED | \
					 SFRAME_F_FRAME_POINTER | \
					 SFRAME_F_FDE_FUNC_START_PCREL)
#define SFRAME_V3_F_KNOWN		(SFRAME_F_FDE_SORTED | \
					 SFRAME_F_FDE_FUNC_START_PCREL)

#define SFRAME_ABI_AMD64_LE		3

struct sframe_preamble {
	__u16	magic;
	__u8	version;
	__u8	flags;
} __packed;

struct sframe_header {
	struct sframe_preamble preamble;
	__u8	abi_arch;
	__s8	cfa_fixed_fp_offset;	/* 0: the rows have the offset */
	__s8	cfa_fixed_ra_offset;	/* -8 on x86-64 */
	__u8	auxhdr_len;
	__u32	num_fdes;
	__u32	num_fres;
	__u32	fre_len;
	__u32	fdeoff;
	__u32	freoff;
} __packed;

struct sframe_fde {
	__s32	func_start;
	__u32	func_size;
	__u32	fre_off;		/* of the first row, in the FREs */
	__u32	num_fres;
	__u8	info;
	__u8	rep_size;		/* PCMASK: the rows repeat every so many bytes */
	__u16	padding;
} __packed;

/* Sorted by func_start; see SFRAME_F_FDE_FUNC_START_PCREL for its base. */
struct sframe_v3_fde {
	__s64	func_start;
	__u32	func_size;
	__u32	fre_off;		/* of the attributes, in the FREs */
} __packed;

struct sframe_v3_attributes {
	__u16	num_fres;
	__u8	info;
	__u8	info2;
	__u8	rep_size;
} __packed;

static_assert(sizeof(struct sframe_header) == 28);
static_assert(sizeof(struct sframe_fde) == 20);
static_assert(sizeof(struct sframe_v3_fde) == 16);
static_assert(sizeof(struct sframe_v3_attributes) == 5);

/* sframe_fde::info, sframe_v3_attributes::info */
#define SFRAME_FDE_FRE_TYPE(info)	((info) & 0xf)
#define SFRAME_FDE_PCMASK		0x10
/* Version 3 only: the function's frame is a signal frame. */
#define SFRAME_V3_FDE_SIGNAL		0x80
#define SFRAME_V3_FDE_UNUSED		0x40

/* sframe_v3_attributes::info2 */
#define SFRAME_V3_FDE_TYPE(info2)	((info2) & 0x1f)
#define SFRAME_V3_FDE_UNUSED2		0xc0
#define SFRAME_V3_FDE_FOLLOWED		0x20	/* private, see above */
#define SFRAME_V3_FDE_DEFAULT		0
#define SFRAME_V3_FDE_FLEX		1

/* The control words of flexible functions */
#define SFRAME_V3_CONTROL_REG		0x1
#define SFRAME_V3_CONTROL_DEREF		0x2
#define SFRAME_V3_CONTROL_ADD		0x4	/* private, see above */
#define SFRAME_V3_CONTROL_REG_SHIFT	3

/* SFRAME_FDE_FRE_TYPE(): the width of a row's start */
#define SFRAME_FRE_ADDR1		0
#define SFRAME_FRE_ADDR2		1
#define SFRAME_FRE_ADDR4		2

/* The info byte of a row */
#define SFRAME_FRE_CFA_BASE_SP		0x1
#define SFRAME_FRE_COUNT(info)		(((info) >> 1) & 0xf)
#define SFRAME_FRE_SIZE(info)		(((info) >> 5) & 0x3)

#define SFRAME_FRE_MAX_COUNT		15
/* Start, info byte and words: the size of the longest row */
#define SFRAME_FRE_MAX_LEN		(4 + 1 + SFRAME_FRE_MAX_COUNT * 4)

#endif /* _KERNEL_UNWIND_SFRAME_FORMAT_H */
