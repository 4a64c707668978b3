// SPDX-License-Identifier: GPL-2.0
/* Stores the functions and rows that the reader of .eh_frame finds. */
#include <stdlib.h>

#include "base/grow.h"
#include "base/search.h"
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

static int compare_functions(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->debug != y->debug)
		return x->debug - y->debug;
	return (x->first_row > y->first_row) - (x->first_row < y->first_row);
}

/**
 * cfi_sort() - sort the functions by start
 * @cfi:	Where they are.
 */
void cfi_sort(struct cfi *cfi)
{
	if (cfi->num_functions)
		qsort(cfi->functions, cfi->num_functions, sizeof(*cfi->functions),
		      compare_functions);
}

/**
 * cfi_find() - find the function at an address
 * @functions:	Functions, sorted by start.
 * @count:	Their number.
 * @address:	The address.
 *
 * Return: the last function that starts at or before the address, if it reaches that; or NULL.
 */
const struct function *cfi_find(const struct function *functions, size_t count, u64 address)
{
	size_t next = search_starts(functions, count, sizeof(*functions), address);

	if (!next || address - functions[next - 1].start >= functions[next - 1].size)
		return NULL;
	return &functions[next - 1];
}

/**
 * cfi_row_at() - find the row at an address
 * @cfi:	Where the function is.
 * @function:	A function that has rows.
 * @address:	An address in it.
 *
 * Return: the row.
 */
const struct row *cfi_row_at(const struct cfi *cfi, const struct function *function, u64 address)
{
	const struct row *rows = &cfi->rows[function->first_row];
	u32 low = 0, high = function->num_rows;

	while (high - low > 1) {
		u32 mid = low + (high - low) / 2;

		if (rows[mid].start <= address - function->start)
			low = mid;
		else
			high = mid;
	}
	return &rows[low];
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
