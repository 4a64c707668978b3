/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_SEARCH_H
#define _SFRAME_SEARCH_H

#include <stddef.h>
#include <linux/types.h>

/**
 * search_starts() - count what begins at an address or before
 * @items:	An array of structures whose first member is a u64, by which they are sorted.
 * @count:	Their number.
 * @size:	The size of each.
 * @address:	The address.
 *
 * Return: the number; if it is not 0, the last of them is the item before that index.
 */
static inline size_t search_starts(const void *items, size_t count, size_t size, u64 address)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (*(const u64 *)((const char *)items + mid * size) <= address)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

#endif /* _SFRAME_SEARCH_H */
