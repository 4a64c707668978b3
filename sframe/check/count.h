/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_CHECK_COUNT_H
#define _SFRAME_CHECK_COUNT_H

#include <elfutils/libdw.h>

#include "cfi/object.h"

/**
 * struct entries - the entries for functions (FDEs) of the unwind sections
 * @all:	Their number.
 * @empty:	How many have the length 0.
 * @repeated:	How many of .debug_frame are for code that .eh_frame describes.
 * @bytes:	The code of all others in bytes.
 */
struct entries {
	u64	all;
	u64	empty;
	u64	repeated;
	u64	bytes;
};

void entries_count(const struct object *obj, Dwarf_CFI *eh_frame,
		   struct entries *entries);
bool entries_equal(const struct entries *a, const struct entries *b);

#endif /* _SFRAME_CHECK_COUNT_H */
