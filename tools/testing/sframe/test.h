/* SPDX-License-Identifier: GPL-2.0 */
/* What the parts of the test of table.c share. */
#ifndef _SFRAME_TEST_H
#define _SFRAME_TEST_H

#include <linux/err.h>
#include <linux/types.h>

#include "table.h"

/* main.c: the results */

/* Prints a TAP line and counts; returns @passed. */
bool test_result(bool passed, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void test_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* memory.c: the memory that table.c reads and allocates */

/**
 * struct test_heap - the memory of tables
 * @left:	Allocations that succeed; -1: all.
 * @used:	Bytes that are allocated.
 * @peak:	The maximum of @used.
 */
struct test_heap {
	long	left;
	size_t	used;
	size_t	peak;
};

extern struct test_heap test_heap;

/* A copy, allocated to its very size so that ASan sees a read beyond its end. */
u8 *test_copy(const void *bytes, size_t len);

/* row.c: rows and errors as texts, and what rows have to be */

const char *test_error(int error);
/* The row as a text, or @error if there is one. */
void test_row_text(int error, const struct sframe_row *row, char *to, size_t len);
bool test_is_direct_row(const struct sframe_row *row);
bool test_sound_row(const struct sframe_row *row);
bool test_same_row(const struct sframe_row *a, const struct sframe_row *b);
/* Of what lookups have found */
bool test_same_found(const struct sframe_row *a, const struct sframe_row *b);

/* build.c: unwind_table_build(), and what holds for every table */

/* The rule that the last test_build() broke; NULL: none. */
extern const char *test_broken;

/* One of the errors that are listed at the top of table.c */
bool test_known_error(int error);
/* The most memory that making a table of @source may take. */
size_t test_bound(const struct unwind_table_source *source);
/* Makes a table and checks it. */
struct unwind_table *test_build(const struct unwind_table_source *source, u32 seed);

/* model.c: a second reader of SFrame tables, slow and simple */

/**
 * struct test_function - a function of an SFrame table
 * @start:	Its address.
 * @size:	Its bytes.
 * @rows:	Offset of its rows, or in version 3 of its attributes.
 * @num_rows:	How many there are.
 * @info:	See sframe_format.h.
 * @info2:	The same.
 * @repeat:	The same.
 * @private_rules: As of the table's source.
 */
struct test_function {
	u64	start;
	u32	size;
	u32	rows;
	u32	num_rows;
	u8	info;
	u8	info2;
	u8	repeat;
	bool	private_rules;
};

u32 test_num_functions(const struct unwind_table_source *source);
/* Function @index without what the attributes of version 3 say. */
struct test_function test_function(const struct unwind_table_source *source, u32 index);
/* What unwind_table_find() has to return for the instruction at @ip, and the row. */
int test_model_row(const struct unwind_table_source *source, u64 ip, struct sframe_row *row);
/* Whether the bytes from @ip to the next function are its alignment. */
bool test_is_alignment(const struct unwind_table_source *source, u64 ip);

/* How a table and the model agree. */
enum test_agreement {
	TEST_EQUAL,
	TEST_PADDING,		/* a byte of alignment, which has the row before it */
	TEST_DIFFERENT,
	TEST_AGREEMENTS,
};

enum test_agreement test_compare(const struct unwind_table *table,
				 const struct unwind_table_source *source, u64 ip);

/* expect.c: tables that tests write, against what the tests expect of them */

/* The address of these tables. */
#define TEST_TABLE	0x500000ull

struct sframe_header;

/*
 * The header of a table that is sorted: @num_fdes functions follow it, and @fre_len bytes
 * of rows follow these.
 */
struct sframe_header test_header(u8 version, u32 num_fdes, u32 fre_len);
/* A copy of the table @bytes for code from @text_start up to @text_end. */
struct unwind_table_source test_source(const void *bytes, size_t len, u64 text_start,
				       u64 text_end);
void test_source_free(const struct unwind_table_source *source);
/* Returns the table, or reports a failed test and returns NULL. */
struct unwind_table *test_built(const struct unwind_table_source *source, const char *name);

#define TEST_MAX_PATCHES 4

/**
 * struct test_damage - a good table with a few bytes changed
 * @name:	What they mean.
 * @ip:		Where to look.
 * @refused:	The error of unwind_table_build(); 0: it makes a table.
 * @row:	What is found in that, as test_row_text() has it.
 * @patches:	The bytes; @width is 0 after the last one.
 */
struct test_damage {
	const char	*name;
	u64		ip;
	int		refused;
	const char	*row;
	struct {
		u32	at;
		u32	width;
		u64	value;
	} patches[TEST_MAX_PATCHES];
};

/* Tests each of the @nr damages by itself. */
void test_damages(const char *prefix, const struct unwind_table_source *good,
		  const struct test_damage *damages, size_t nr);
/* The build is refused with @error, and everything is freed. */
void test_refused(const char *name, const struct unwind_table_source *source, int error);
/* Each byte of the code, and some on both sides, has the row that @row_at says. */
void test_every_byte(const char *name, const struct unwind_table_source *source,
		     const char *(*row_at)(u64 ip));
/*
 * Cut to any length, @good is refused with -EBADMSG, or, from @needed bytes on, has the rows
 * that @row_at says.
 */
void test_truncated(const char *name, const struct unwind_table_source *good, size_t needed,
		    const char *(*row_at)(u64 ip));

/* The tests */

void test_damaged(void);
void test_damaged_v3(void);
void test_bounds(void);
/* Mutates the table of the first program of each version of the format. */
void test_mutations(char **paths, unsigned int count, u64 seed, unsigned int rounds);
void test_program(const char *path);

/* The table and the code of an ELF file; false, with a failed result, if it has none. */
bool test_elf_read(const char *path, struct unwind_table_source *source);

#endif /* _SFRAME_TEST_H */
