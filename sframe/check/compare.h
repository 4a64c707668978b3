/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_CHECK_COMPARE_H
#define _SFRAME_CHECK_COMPARE_H

#include "check/report.h"

/**
 * struct check_options - what to compare, and what to print
 * @asked:	Formats to check.
 * @verbose:	Name the functions that are left out, and rows that differ.
 * @every_byte:	Compare at each byte of code.
 * @code:	Compare what following the code yields, too.
 * @table:	Compare the table in this file; NULL for none.
 * @dir:	Compare the table in this cache; NULL for none.  Without either, make one.
 * @debug_dir:	Where separate debug files are.
 */
struct check_options {
	bool		asked[NUM_FORMATS];
	bool		verbose;
	bool		every_byte;
	bool		code;
	const char	*table;
	const char	*dir;
	const char	*debug_dir;
};

void check_file(const char *name, const struct check_options *options,
		struct report *report);

#endif /* _SFRAME_CHECK_COMPARE_H */
