/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A row and the address that it holds at, in one word: it is written and read as a
 * whole, so that no lock is needed and no reader sees half of it.
 *
 *	 63                29 28       20 19          6 5      3 2    0
 *	+--------------------+-----------+-------------+--------+------+
 *	| tag: address >> 12 | -fp / 8   | cfa / 8     | unused | kind |
 *	+--------------------+-----------+-------------+--------+------+
 *
 * The rest of the address follows from the slot that the word is in.  Rows that
 * do not fit stay outside; of compilers' rows for ordinary functions, all fit.
 * Pure code: compiles in user space for tests.
 */
#ifndef _KERNEL_UNWIND_ROW_PACK_H
#define _KERNEL_UNWIND_ROW_PACK_H

#include <linux/errno.h>
#include <linux/types.h>

#include "sframe_decode.h"

#define ROW_SLOT_BITS		12
#define ROW_SLOTS		4096

/* An empty slot is 0: no kind. */
#define ROW_OUTERMOST		1	/* there is no caller */
#define ROW_NONE		2	/* there is a table, which does not know it */
#define ROW_NO_RULE		3	/* its function has no row here */
/* The CFA counts from SP, or from FP; the caller's FP was saved, or not. */
#define ROW_CFA			4
#define ROW_CFA_FP		1
#define ROW_FP_SAVED		2
#define ROW_KIND(word)		((word) & 7)

#define ROW_CFA_SHIFT		6
#define ROW_CFA_MAX		0x3fff
#define ROW_FP_SHIFT		20
#define ROW_FP_MAX		0x1ff
#define ROW_TAG_SHIFT		29
#define ROW_TAG(ip)		((ip) >> ROW_SLOT_BITS)
/* Addresses up to 2^47; with five levels of page tables there are more. */
#define ROW_TAG_MAX		((1ULL << (64 - ROW_TAG_SHIFT)) - 1)

/* Distances of words from the CFA. */
#define ROW_CFA_OFFSET(word)	(((word) >> ROW_CFA_SHIFT & ROW_CFA_MAX) * 8)
#define ROW_FP_OFFSET(word)	(((word) >> ROW_FP_SHIFT & ROW_FP_MAX) * 8)

/* With the tag, this names the address. */
static inline unsigned int row_slot(u64 ip)
{
	return (ip ^ ip >> ROW_SLOT_BITS) & (ROW_SLOTS - 1);
}

/* Whether @word, from the slot of @ip, is the row at @ip. */
static inline bool row_is_at(u64 word, u64 ip)
{
	return ROW_KIND(word) && word >> ROW_TAG_SHIFT == ROW_TAG(ip);
}

/* Whether it is one, with a CFA: the usual case, by two tests. */
static inline bool row_is_frame_at(u64 word, u64 ip)
{
	return word >> ROW_TAG_SHIFT == ROW_TAG(ip) && word & ROW_CFA;
}

/* @max counts in words. */
static inline bool row_distance_fits(s64 offset, u32 max)
{
	return offset >= 0 && !(offset % 8) && offset / 8 <= max;
}

static inline u64 row_pack_rules(const struct sframe_row *row)
{
	u64 word = ROW_CFA;

	/* Others are rare. */
	if (!row->plain)
		return row->outermost && !row->signal ? ROW_OUTERMOST : 0;
	if (!row_distance_fits(row->cfa.offset, ROW_CFA_MAX))
		return 0;
	if (row->cfa.base == SFRAME_BASE_FP)
		word |= ROW_CFA_FP;
	word |= (u64)(row->cfa.offset / 8) << ROW_CFA_SHIFT;

	if (row->fp.base == SFRAME_BASE_SAME)
		return word;
	/* Below the return address; the walk reads from there up. */
	if (row->fp.offset > -16 ||
	    !row_distance_fits(-(s64)row->fp.offset, ROW_FP_MAX))
		return 0;
	return word | ROW_FP_SAVED |
	       (u64)(-(s64)row->fp.offset / 8) << ROW_FP_SHIFT;
}

/**
 * row_pack() - make a word of what sframe_find_row() found
 * @ip: The address.
 * @found: What it returned.
 * @row: The row, where that is 0.
 *
 * Return: The word for the slot of @ip, or 0 when it does not fit, or is no lasting
 * answer.
 */
static inline u64 row_pack(u64 ip, int found, const struct sframe_row *row)
{
	u64 word = 0;

	if (!found)
		word = row_pack_rules(row);
	else if (found == -ENOENT)
		word = ROW_NONE;
	else if (found == -ENODATA)
		word = ROW_NO_RULE;

	if (!word || ROW_TAG(ip) > ROW_TAG_MAX)
		return 0;
	return word | ROW_TAG(ip) << ROW_TAG_SHIFT;
}

/**
 * row_unpack() - what row_pack() made a word of
 * @word: The word.
 * @row: Filled in where 0 is returned.
 *
 * Return: As sframe_find_row(): 0, -ENOENT, -ENODATA.
 */
static inline int row_unpack(u64 word, struct sframe_row *row)
{
	unsigned int kind = ROW_KIND(word);

	*row = (struct sframe_row){ };
	if (!(kind & ROW_CFA)) {
		row->outermost = kind == ROW_OUTERMOST;
		return row->outermost ? 0 : kind == ROW_NONE ? -ENOENT : -ENODATA;
	}
	row->cfa.base = kind & ROW_CFA_FP ? SFRAME_BASE_FP : SFRAME_BASE_SP;
	row->cfa.offset = ROW_CFA_OFFSET(word);
	row->ra.base = SFRAME_BASE_CFA;
	row->ra.offset = -8;
	row->ra.deref = true;
	row->fp.base = SFRAME_BASE_SAME;
	row->plain = true;
	if (kind & ROW_FP_SAVED) {
		row->fp.base = SFRAME_BASE_CFA;
		row->fp.offset = -(s32)ROW_FP_OFFSET(word);
		row->fp.deref = true;
	}
	return 0;
}

#endif /* _KERNEL_UNWIND_ROW_PACK_H */
