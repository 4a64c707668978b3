/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OFFWAKETIME_REPORT_H
#define _OFFWAKETIME_REPORT_H

#include <stdbool.h>

/**
 * struct report - what to print, and what came of it
 * @stacks:	Descriptor of the stack map ...
 * @sums:	... and of the sums.
 * @depth:	Frames of a stack.
 * @folded:	One line for each pair of stacks.
 * @unknown:	Out: stack ids that the map did not know.
 * @pairs:	Out: pairs printed.
 */
struct report {
	int		stacks;
	int		sums;
	unsigned int	depth;
	bool		folded;
	unsigned long	unknown;
	unsigned long	pairs;
};

/**
 * report_print - all sums with their stacks, on stdout, the longest first
 * @report:	What, and what came of it.
 *
 * Return: 0, or a negative errno.
 */
int report_print(struct report *report);

#endif
