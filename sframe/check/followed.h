/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_CHECK_FOLLOWED_H
#define _SFRAME_CHECK_FOLLOWED_H

#include "cfi/cfi.h"

/**
 * struct followed_tally - how rows that follow from the code compare with .eh_frame
 * @insns:	Instructions of the functions of .eh_frame, without padding.
 * @rows:	Instructions for which following the code yields a row.
 * @equal:	Those for which .eh_frame has the same rules.
 * @otherwise:	Those for which it yields the same caller by other rules.
 * @open:	Those for which it is not known what .eh_frame's rule yields, or for which it
 *		describes another frame than that of a call.
 * @refuted:	Those for which it yields another caller, in functions where .eh_frame contradicts
 *		an instruction.
 * @differing:	Those for which it does so in other functions.
 */
struct followed_tally {
	u64	insns;
	u64	rows;
	u64	equal;
	u64	otherwise;
	u64	open;
	u64	refuted;
	u64	differing;
};

const char *followed_compare(const struct object *obj, const struct cfi *cfi, bool verbose,
			     struct followed_tally *tally);

#endif /* _SFRAME_CHECK_FOLLOWED_H */
