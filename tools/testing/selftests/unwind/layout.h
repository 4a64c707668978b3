/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions that differ only in their frame size, and valid tables for them.  A row of
 * one function is wrong for another one at the same address.
 */
#ifndef _LAYOUT_H
#define _LAYOUT_H

#include <stdint.h>
#include <string.h>

#include "unwind_perf.h"

/* A function that touches the page at its argument, with the instruction at LAYOUT_FAULT. */
typedef void layout_function(void *page);

#define LAYOUT_TEXT_SIZE	12
#define LAYOUT_FAULT		4
#define LAYOUT_TABLE_SIZE	(28 + 20 + 9)
/* Maximum frame size; sizes are multiples of 8, from 8 on. */
#define LAYOUT_MAX_FRAME	96

static inline void layout_write_text(uint8_t *text, unsigned int frame)
{
	const uint8_t code[LAYOUT_TEXT_SIZE] = {
		0x48, 0x83, 0xec, frame,	/*  0	sub $frame, %rsp */
		0xc6, 0x07, 0x01,		/*  4	movb $1, (%rdi) */
		0x48, 0x83, 0xc4, frame,	/*  7	add $frame, %rsp */
		0xc3,				/* 11	ret */
	};

	memcpy(text, code, sizeof(code));
}

static inline void layout_put32(uint8_t *to, uint32_t value)
{
	memcpy(to, &value, sizeof(value));
}

/* Version 2, one function with three rows: CFA = sp + 8, + 8 + @frame, + 8. */
static inline void layout_write_table(uint8_t *table, const uint8_t *text,
				      unsigned int frame)
{
	const uint8_t start[8] = { 0xe2, 0xde, 2, 1, 3, 0, 0xf8, 0 };
	const uint8_t rows[9] = { 0, 3, 8, 4, 3, 8 + frame, 11, 3, 8 };

	memset(table, 0, LAYOUT_TABLE_SIZE);
	memcpy(table, start, sizeof(start));
	layout_put32(table + 8, 1);
	layout_put32(table + 12, 3);
	layout_put32(table + 16, sizeof(rows));
	layout_put32(table + 24, 20);
	layout_put32(table + 28, text - table);
	layout_put32(table + 32, LAYOUT_TEXT_SIZE);
	layout_put32(table + 40, 3);
	memcpy(table + 48, rows, sizeof(rows));
}

static inline struct unwind_region layout_region(const uint8_t *table, const uint8_t *text)
{
	return (struct unwind_region){
		(uintptr_t)table, LAYOUT_TABLE_SIZE, (uintptr_t)text, LAYOUT_TEXT_SIZE,
	};
}

#endif /* _LAYOUT_H */
