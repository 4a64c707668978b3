/* SPDX-License-Identifier: GPL-2.0 */
/* What the parts of the decoder's test share. */
#ifndef _SFRAME_TEST_H
#define _SFRAME_TEST_H

#include <linux/types.h>

#include "sframe_decode.h"

#define TEST_BUDGET (4u << 20)

/* Prints a TAP line and counts; returns @passed. */
bool test_result(bool passed, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void test_skip(const char *format, ...) __attribute__((format(printf, 1, 2)));
void test_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/**
 * struct test_memory - the address space that test_reader() reads
 * @start:	Address of the first byte.
 * @bytes:	Its content, allocated to its very size so that ASan sees the end.
 * @len:	Its size.  All else faults.
 * @fault:	A read of the byte at this address faults too; 0: none.
 * @after:	Called after each read, if set; may change @bytes.
 * @reads:	Reads done.
 * @direct:	Those of them that were done in place.
 * @count:	Bytes that were read.
 * @escaped:	Reads that left the memory: the decoder must not even try.
 */
struct test_memory {
	u64		start;
	u8		*bytes;
	size_t		len;
	u64		fault;
	void		(*after)(void);
	unsigned long	reads;
	unsigned long	direct;
	u64		count;
	unsigned long	escaped;
};

extern struct test_memory test_memory;

/* Whether test_reader()'s readers read in place. */
extern bool test_direct;

/* A reader with that budget; forgets the counts of the last one. */
struct sframe_reader test_reader(u32 budget);
/* Whether @reader, which had @budget, has not done more than one lookup may. */
bool test_budget_kept(const struct sframe_reader *reader, u32 budget);
/* Puts a copy of @bytes at @start. */
void test_memory_set(u64 start, const void *bytes, size_t len);

const char *test_error(int error);
/* One of the codes that the decoder's contract lists. */
bool test_known_error(int error);
void test_row_text(int error, const struct sframe_row *row, char *to, size_t len);
bool test_sound_row(const struct sframe_row *row);
bool test_same_row(const struct sframe_row *a, const struct sframe_row *b);

void test_damaged(void);
void test_damaged_v3(void);
void test_mutations(const char *path, u64 seed, unsigned int rounds);
void test_program(const char *path);

/* An ELF file's table and code, as far as the tests need them. */
struct test_elf {
	u64	sframe_start;
	u64	sframe_size;
	u64	text_start;
	u64	text_end;
	u8	*sframe;
};

/* Returns false, with a failed result, when the file cannot be used. */
bool test_elf_read(const char *path, struct test_elf *elf);

struct unwind_table;

/**
 * struct test_heap - where tables that are built have their memory
 * @left:	Allocations that succeed; -1: all.
 * @used:	Bytes that are allocated ...
 * @peak:	... and the most of them that there were.
 */
struct test_heap {
	long	left;
	size_t	used;
	size_t	peak;
};

extern struct test_heap test_heap;

/* How a built table and the decoder agree. */
enum test_built {
	BUILT_SAME,
	BUILT_PADDING,		/* a byte between functions, which has the first one's row */
	BUILT_DIFFERENT,
	BUILT_NR,
};

/* Makes one of what is in test_memory, for the code of @elf. */
struct unwind_table *test_build(const struct test_elf *elf);
enum test_built test_compare_built(const struct unwind_table *built,
				   const struct sframe_table *table, u64 ip);

void test_built_program(const char *name, const struct test_elf *elf);
void test_built_cases(void);

#endif /* _SFRAME_TEST_H */
