/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_CHECK_REPORT_H
#define _SFRAME_CHECK_REPORT_H

#include "cfi/rule.h"
#include "check/count.h"
#include "check/followed.h"
#include "table/uncovered.h"

/**
 * struct tally - how a table of one format compares with .eh_frame
 * @functions:		Functions that .eh_frame describes, from struct entries.
 * @covered:		Functions that the table describes completely.
 * @bytes:		The functions' code in bytes.
 * @covered_bytes:	How much of this code the table describes.
 * @rows:		Rows of .eh_frame.
 * @equal:		Rows for which the table gives the same caller.
 * @differing:		Rows for which the table gives another caller or has no row though
 *			the format could express it, and rows for addresses outside of all
 *			functions.
 * @table_size:		The table's size in bytes.
 * @cause_functions:	Functions that the table describes in part or not at all, by the
 *			first cause.
 * @cause_bytes:	The code that it does not describe, by cause.
 */
struct tally {
	u64	functions;
	u64	covered;
	u64	bytes;
	u64	covered_bytes;
	u64	rows;
	u64	equal;
	u64	differing;
	u64	table_size;
	u64	cause_functions[NUM_CAUSES];
	u64	cause_bytes[NUM_CAUSES];
};

#define NUM_FORMATS	2	/* FORMAT_V2, FORMAT_V3 */

/* What is wrong with a table that is there. */
enum table_fault {
	TABLE_GOOD,
	TABLE_BAD,		/* sframe cache makes a good one */
	TABLE_UNUSABLE,
};

/**
 * struct report - the result of checking one file
 * @state:	OBJECT_OK, or why there is no result.
 * @error:	Why there is no result, in words.
 * @table:	Whether @error is about the table that was to be compared.
 * @file_size:	The file's size in bytes.
 * @cfi_size:	The size of .eh_frame and .debug_frame in bytes.
 * @entries:	The entries that the sections hold.
 * @known:	The entries that the tool's reader found.
 * @asked:	Which formats were checked.
 * @tally:	The results, by format.
 * @uncovered:	The text without rows in the last of these formats; also of files without
 *		unwind information.
 * @followed:	How following the code compares.
 * @gained:	How many bytes have rows because the code was followed.
 */
struct report {
	enum object_state state;
	char		error[96];
	enum table_fault table;
	u64		file_size;
	u64		cfi_size;
	struct entries	entries;
	struct entries	known;
	bool		asked[NUM_FORMATS];
	struct tally	tally[NUM_FORMATS];
	struct uncovered uncovered;
	struct followed_tally followed;
	u64		gained;
};

/* For printf() */
static inline unsigned long long as_ull(u64 value)
{
	return value;
}

void tally_add(struct tally *to, const struct tally *from);
void followed_add(struct followed_tally *to, const struct followed_tally *from);
void entries_add(struct entries *to, const struct entries *from);
/* How a report is printed. */
enum report_form {
	REPORT_WHOLE,
	REPORT_LINE,
};

void report_print(const char *name, const struct report *report,
		  enum report_form form);

#endif /* _SFRAME_CHECK_REPORT_H */
