// SPDX-License-Identifier: GPL-2.0
/* Stores the functions and rows that the reader of .eh_frame finds. */
#include <stdlib.h>

#include "base/grow.h"
#include "cfi/cfi.h"

/**
 * cfi_add_row() - add a row
 * @cfi:	Where to add it; sets @cfi->error if there are too many.
 * @row:	The row.
 */
void cfi_add_row(struct cfi *cfi, const struct row *row)
{
	if (cfi->num_rows >= cfi->max_rows) {
		cfi->error = "more rows than any program has";
		return;
	}
	cfi->rows = grow(cfi->rows, &cfi->room_rows, cfi->num_rows,
			 sizeof(*row));
	cfi->rows[cfi->num_rows++] = *row;
}

/**
 * cfi_add_function() - add a function
 * @cfi:	Where to add it.
 * @function:	The function.
 */
void cfi_add_function(struct cfi *cfi, const struct function *function)
{
	cfi->functions = grow(cfi->functions, &cfi->room_functions,
			      cfi->num_functions, sizeof(*function));
	cfi->functions[cfi->num_functions++] = *function;
}

/**
 * cfi_free() - free what cfi_read() filled in
 * @cfi:	What to free; not the structure itself.
 */
void cfi_free(struct cfi *cfi)
{
	free(cfi->functions);
	free(cfi->rows);
}
