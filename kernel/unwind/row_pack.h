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

#include <linux/types.h>

#include "sframe_decode.h"

#define ROW_SLOT_BITS		12
#define ROW_SLOTS		4096

/* An empty slot is 0: no kind. */
#define ROW_OUTERMOST		1	/* there is no caller */
#define ROW_NONE		2	/* there is a table, which has no row */
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
	return word >> ROW_TAG_SHIFT == ROW_TAG(ip) && ROW_KIND(word);
}

static inline bool row_in_frame(const struct sframe_rule *rule)
{
	return rule->base == SFRAME_BASE_CFA && rule->deref;
}

/* @max counts in words. */
static inline bool row_distance_fits(s64 offset, u32 max)
{
	return offset >= 0 && !(offset % 8) && offset / 8 <= max;
}

static inline u64 row_pack_rules(const struct sframe_row *row)
{
	u64 word = ROW_CFA;

	if (row->signal)
		return 0;
	if (row->outermost)
		return ROW_OUTERMOST;
	if (row->cfa.base == SFRAME_BASE_FP)
		word |= ROW_CFA_FP;
	else if (row->cfa.base != SFRAME_BASE_SP)
		return 0;
	if (row->cfa.deref || !row_in_frame(&row->ra) ||
	    row->ra.offset != -8 ||
	    !row_distance_fits(row->cfa.offset, ROW_CFA_MAX))
		return 0;
	word |= (u64)(row->cfa.offset / 8) << ROW_CFA_SHIFT;

	if (row->fp.base == SFRAME_BASE_SAME)
		return word;
	/* Below the return address; the walk reads from there up. */
	if (!row_in_frame(&row->fp) || row->fp.offset > -16 ||
	    !row_distance_fits(-(s64)row->fp.offset, ROW_FP_MAX))
		return 0;
	return word | ROW_FP_SAVED |
	       (u64)(-(s64)row->fp.offset / 8) << ROW_FP_SHIFT;
}

/**
 * row_pack() - make a word of a row
 * @ip: The address.
 * @row: What holds there; NULL: its table has no row for it.
 *
 * Return: The word for the slot of @ip, or 0 when it does not fit.
 */
static inline u64 row_pack(u64 ip, const struct sframe_row *row)
{
	u64 word = row ? row_pack_rules(row) : ROW_NONE;

	if (!word || ROW_TAG(ip) > ROW_TAG_MAX)
		return 0;
	return word | ROW_TAG(ip) << ROW_TAG_SHIFT;
}

/**
 * row_unpack() - the row that row_pack() made a word of
 * @word: The word.
 * @row: Filled in.
 *
 * Return: false if there is none, which is known.
 */
static inline bool row_unpack(u64 word, struct sframe_row *row)
{
	unsigned int kind = ROW_KIND(word);

	*row = (struct sframe_row){ };
	if (!(kind & ROW_CFA)) {
		row->outermost = kind == ROW_OUTERMOST;
		return row->outermost;
	}
	row->cfa.base = kind & ROW_CFA_FP ? SFRAME_BASE_FP : SFRAME_BASE_SP;
	row->cfa.offset = ROW_CFA_OFFSET(word);
	row->ra.base = SFRAME_BASE_CFA;
	row->ra.offset = -8;
	row->ra.deref = true;
	row->fp.base = SFRAME_BASE_SAME;
	if (kind & ROW_FP_SAVED) {
		row->fp.base = SFRAME_BASE_CFA;
		row->fp.offset = -(s32)ROW_FP_OFFSET(word);
		row->fp.deref = true;
	}
	return true;
}

#endif /* _KERNEL_UNWIND_ROW_PACK_H */
