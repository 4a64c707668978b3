/* SPDX-License-Identifier: GPL-2.0 */
/* Code with a wrong table.  The stack shows whether the kernel used the table, see below. */
#ifndef _LYING_H
#define _LYING_H

#include <stdint.h>
#include <string.h>

/*
 * At the fault, the slot in which the table locates the return address holds the second
 * argument.
 */
static const uint8_t lying_code[] = {
	0x48, 0x83, 0xec, 0x08,		/*  0	sub $8, %rsp */
	0x56,				/*  4	push %rsi */
	0x48, 0x83, 0xec, 0x18,		/*  5	sub $24, %rsp */
	0xc6, 0x07, 0x01,		/*  9	movb $1, (%rdi) */
	0x48, 0x83, 0xc4, 0x28,		/* 12	add $40, %rsp */
	0xc3,				/* 16	ret */
};

#define LYING_FAULT 9

/* One function: CFA = sp + 32 from byte 9 on. */
static const uint8_t lying_rows[] = {
	0, 0x03, 8,
	9, 0x03, 32,
};

struct lying_table {
	uint16_t	magic;
	uint8_t		version;
	uint8_t		flags;
	uint8_t		abi;
	int8_t		fp;
	int8_t		ra;
	uint8_t		aux;
	uint32_t	num_fdes;
	uint32_t	num_fres;
	uint32_t	fre_len;
	uint32_t	fdeoff;
	uint32_t	freoff;
	int32_t		start;
	uint32_t	size;
	uint32_t	rows_at;
	uint32_t	num_rows;
	uint8_t		info;
	uint8_t		repeat;
	uint16_t	padding;
	uint8_t		rows[sizeof(lying_rows)];
} __attribute__((packed));

/* In code, as a walk refuses all other return addresses; but nothing returns there. */
static __attribute__((noinline, noipa, used)) void lying_nowhere(void)
{
}

#define POISON ((unsigned long)lying_nowhere + 1)

typedef void lying_function(void *page, unsigned long poison);

/* A table for the code at offset @to_text from the table. */
static inline struct lying_table lying_table(int32_t to_text)
{
	struct lying_table table = {
		.magic = 0xdee2,
		.version = 2,
		.flags = 1,
		.abi = 3,
		.ra = -8,
		.num_fdes = 1,
		.num_fres = 2,
		.fre_len = sizeof(lying_rows),
		.freoff = 20,
		.start = to_text,
		.size = sizeof(lying_code),
		.num_rows = 2,
	};

	memcpy(table.rows, lying_rows, sizeof(lying_rows));
	return table;
}

#endif /* _LYING_H */
