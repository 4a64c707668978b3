// SPDX-License-Identifier: GPL-2.0
/* Reads the values of options that several commands have in common. */
#include <stdlib.h>
#include <string.h>

#include "base/options.h"

/**
 * parse_format() - read a format's name
 * @text:	The name.
 * @format:	Filled in.
 *
 * Return: whether @text is the name of a format.
 */
bool parse_format(const char *text, enum format *format)
{
	if (!strcmp(text, "v2"))
		*format = FORMAT_V2;
	else if (!strcmp(text, "v3"))
		*format = FORMAT_V3;
	else
		return false;
	return true;
}

/**
 * parse_number() - read an option's number
 * @text:	The number.
 * @max:	The largest number allowed; the smallest is 1.
 * @to:		Filled in.
 *
 * Return: whether @text is a number in this range.
 */
bool parse_number(const char *text, unsigned int max, unsigned int *to)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || !value || value > max)
		return false;
	*to = value;
	return true;
}
