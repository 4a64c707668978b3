/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _TOOLS_SFRAME_CHECK_H
#define _TOOLS_SFRAME_CHECK_H

#include <elfutils/libdw.h>

#include "object.h"
#include "rule.h"

/**
 * struct tally - how a table of one format compares with .eh_frame
 * @functions:		Functions that .eh_frame describes, by struct entries.
 * @covered:		Those of them that the table describes wholly.
 * @bytes:		The code of the functions ...
 * @covered_bytes:	... and what of it the table describes.
 * @rows:		Rows of .eh_frame.
 * @equal:		Those that the table says too.
 * @differing:		Those that it says otherwise, or does not say though it
 *			could, and addresses that it should know nothing of.
 * @table_size:		Bytes of the table.
 * @cause_functions:	Functions not wholly described, by the first cause ...
 * @cause_bytes:	... and the code that is not, by cause.
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

/**
 * struct entries - what the unwind sections hold, counted without their reader
 * @all:	Entries for functions (FDEs).
 * @empty:	Those of no length.
 * @repeated:	Those of .debug_frame for what .eh_frame describes.
 * @bytes:	The code of the others.
 */
struct entries {
	u64	all;
	u64	empty;
	u64	repeated;
	u64	bytes;
};

/**
 * struct report - what became of one file
 * @state:	OBJECT_OK, or why there is no result.
 * @error:	The same in words.
 * @file_size:	The file's bytes.
 * @cfi_size:	Bytes of .eh_frame and .debug_frame.
 * @entries:	What there is to find.
 * @known:	What the reader has found of that.
 * @asked:	Formats that were checked.
 * @tally:	What was found, by format.
 */
struct report {
	enum object_state state;
	char		error[96];
	u64		file_size;
	u64		cfi_size;
	struct entries	entries;
	struct entries	known;
	bool		asked[NUM_FORMATS];
	struct tally	tally[NUM_FORMATS];
};

/**
 * struct check_options - what to compare, and what to tell
 * @asked:	Formats to check.
 * @verbose:	Name the functions that are left out, and rows that differ.
 * @every_byte:	Compare at each byte of code.
 */
struct check_options {
	bool		asked[NUM_FORMATS];
	bool		verbose;
	bool		every_byte;
};

void check_file(const char *name, const struct check_options *options,
		struct report *report);
/* count.c */
void entries_count(const struct object *obj, Dwarf_CFI *eh_frame,
		   struct entries *entries);
bool entries_equal(const struct entries *a, const struct entries *b);

/* report.c */
void tally_add(struct tally *to, const struct tally *from);
void entries_add(struct entries *to, const struct entries *from);
void report_print(const char *name, const struct report *report, bool summary);

#endif /* _TOOLS_SFRAME_CHECK_H */
