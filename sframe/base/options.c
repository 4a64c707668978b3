// SPDX-License-Identifier: GPL-2.0
/* Reads options, and values that several commands have in common. */
#include <stdlib.h>
#include <string.h>

#include "base/complain.h"
#include "base/options.h"

/**
 * next_option() - read the next option, as getopt_long() does
 * @argc:	The number of arguments.
 * @argv:	The arguments; the first is the name of the command.
 * @letters:	The options with one letter.
 * @options:	Those with names.
 *
 * getopt_long() itself would print control characters of an unknown option.
 *
 * Return: the option, -1 after the last one, or '?' after an error message.
 */
int next_option(int argc, char **argv, const char *letters, const struct option *options)
{
	int before = optind, option;
	const char *word;

	opterr = 0;
	option = getopt_long(argc, argv, letters, options, NULL);
	if (option != '?')
		return option;
	/* In a word with several letters, optind has not changed. */
	word = argv[optind > before ? optind - 1 : optind];
	if (!strncmp(word, "--", 2))
		complain(argv[0], "'%s' %s", word, !optopt ? "is no option here" :
			 strchr(word, '=') ? "takes no value" : "lacks its value");
	else
		complain(argv[0], "-%c %s", optopt, optopt != ':' && strchr(letters, optopt) ?
			 "lacks its value" : "is no option here");
	return option;
}

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
