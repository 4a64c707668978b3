/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The SFrame stack trace format, version 2, as it lies in a .sframe section.
 *
 * Source: "The SFrame Format", shipped with GNU binutils 2.44 and 2.45 (info
 * sframe-spec).  All fields are in target byte order and may be unaligned:
 *
 *	+--------------------------+ start of the section
 *	| struct sframe_header     |
 *	| auxiliary header         | auxhdr_len bytes, none defined
 *	+--------------------------+ fdeoff and freoff count from here
 *	| struct sframe_fde []     | num_fdes, sorted by function start
 *	+--------------------------+
 *	| frame row entries (FRE)  | fre_len bytes, variable length
 *	+--------------------------+
 *
 * An FRE is the row's start (1, 2 or 4 bytes, relative to the function), one
 * info byte and up to 15 signed offsets of 1, 2 or 4 bytes.
 */
#ifndef _KERNEL_UNWIND_SFRAME_FORMAT_H
#define _KERNEL_UNWIND_SFRAME_FORMAT_H

#include <linux/build_bug.h>
#include <linux/types.h>

#define SFRAME_MAGIC			0xdee2
#define SFRAME_VERSION_2		2

/* sframe_preamble::flags */
#define SFRAME_F_FDE_SORTED		0x1
/* Every function keeps a frame pointer; says nothing about the rows. */
#define SFRAME_F_FRAME_POINTER		0x2
/*
 * sframe_fde::func_start counts from its own address (binutils 2.45, LLVM),
 * else from the start of the section (binutils up to 2.44).
 */
#define SFRAME_F_FDE_FUNC_START_PCREL	0x4
#define SFRAME_F_KNOWN			(SFRAME_F_FDE_SORTED | \
					 SFRAME_F_FRAME_POINTER | \
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
	__s8	cfa_fixed_fp_offset;	/* 0: the rows say where it is */
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
	__u8	rep_size;		/* PCMASK: bytes a repetition */
	__u16	padding;
} __packed;

static_assert(sizeof(struct sframe_header) == 28);
static_assert(sizeof(struct sframe_fde) == 20);

/* sframe_fde::info */
#define SFRAME_FDE_FRE_TYPE(info)	((info) & 0xf)
#define SFRAME_FDE_PCMASK		0x10

/* SFRAME_FDE_FRE_TYPE(): the width of a row's start */
#define SFRAME_FRE_ADDR1		0
#define SFRAME_FRE_ADDR2		1
#define SFRAME_FRE_ADDR4		2

/* The info byte of a row */
#define SFRAME_FRE_CFA_BASE_SP		0x1
#define SFRAME_FRE_COUNT(info)		(((info) >> 1) & 0xf)
#define SFRAME_FRE_SIZE(info)		(((info) >> 5) & 0x3)

#define SFRAME_FRE_MAX_COUNT		15
/* start, info byte, offsets: no row is longer */
#define SFRAME_FRE_MAX_LEN		(4 + 1 + SFRAME_FRE_MAX_COUNT * 4)

#endif /* _KERNEL_UNWIND_SFRAME_FORMAT_H */
