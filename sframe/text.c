// SPDX-License-Identifier: GPL-2.0
/*
 * Prints text from elsewhere, such as file names: on a terminal, without control characters,
 * or as JSON, which has to be UTF-8.
 */
#include <stdio.h>

#include "text.h"

static char printable(char c)
{
	return (unsigned char)c < ' ' || c == 0x7f ? '?' : c;
}

/**
 * text_clean() - make text fit to be printed on one line of a terminal
 * @text:	The text, which need not end; control characters become "?".
 * @size:	The size of its array.
 */
void text_clean(char *text, size_t size)
{
	text[size - 1] = '\0';
	for (; *text; text++)
		*text = printable(*text);
}

/**
 * text_print() - print text on one line of a terminal
 * @text:	The text; control characters become "?".
 */
void text_print(const char *text)
{
	for (; *text; text++)
		putchar(printable(*text));
}

/* Return the length of the UTF-8 character at @text, or 0 if it is not valid. */
static int utf8_length(const unsigned char *text)
{
	int len = *text < 0x80 ? 1 : *text >> 5 == 6 ? 2 : *text >> 4 == 14 ? 3 :
		  *text >> 3 == 30 ? 4 : 0;

	for (int i = 1; i < len; i++)
		if (text[i] >> 6 != 2)
			return 0;
	/* Too long an encoding, half of a UTF-16 pair, or too large a number */
	if ((len == 2 && *text < 0xc2) || (*text == 0xe0 && text[1] < 0xa0) ||
	    (*text == 0xed && text[1] > 0x9f) || (*text == 0xf0 && text[1] < 0x90) ||
	    (*text == 0xf4 && text[1] > 0x8f) || *text > 0xf4)
		return 0;
	return len;
}

/**
 * text_print_json() - print text as a JSON string
 * @text:	The text; bytes that are not UTF-8 become the replacement character.
 */
void text_print_json(const char *text)
{
	const unsigned char *at = (const unsigned char *)text;

	putchar('"');
	while (*at) {
		int len = utf8_length(at);

		if (*at < ' ')
			printf("\\u%04x", *at);
		else if (!len)
			fputs("\\ufffd", stdout);
		else if (*at == '"' || *at == '\\')
			printf("\\%c", *at);
		else
			printf("%.*s", len, (const char *)at);
		at += len ?: 1;
	}
	putchar('"');
}
