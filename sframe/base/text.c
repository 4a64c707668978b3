// SPDX-License-Identifier: GPL-2.0
/*
 * Prints text from elsewhere, such as file names: on a terminal, without control characters,
 * or as JSON, which has to be UTF-8.
 */
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/text.h"

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

/*
 * Whether the character of @len bytes at @text is for controlling a terminal: one of ASCII, or
 * of those from U+0080 to U+009F, which some terminals also take as single bytes.
 */
static bool is_control(const unsigned char *text, int len)
{
	if (len > 1)
		return *text == 0xc2 && text[1] < 0xa0;
	return *text < ' ' || (*text >= 0x7f && *text < 0xa0);
}

/**
 * text_clean() - make text fit for one line of a terminal
 * @text:	The text, in which control characters become "?".
 */
void text_clean(char *text)
{
	char *to = text;

	while (*text) {
		int len = utf8_length((unsigned char *)text) ?: 1;

		if (is_control((unsigned char *)text, len)) {
			*to++ = '?';
		} else {
			memmove(to, text, len);
			to += len;
		}
		text += len;
	}
	*to = '\0';
}

/**
 * text_print() - print text without control characters
 * @text:	The text.
 */
void text_print(const char *text)
{
	char *copy = require_memory(strdup(text));

	text_clean(copy);
	fputs(copy, stdout);
	free(copy);
}

static char *format_list(const char *format, va_list args)
{
	char *text;

	return require_memory(vasprintf(&text, format, args) < 0 ? NULL : text);
}

/**
 * text_format() - make text; out of memory ends the program
 * @format:	As for printf().
 *
 * Return: the text, which the caller frees.
 */
char *text_format(const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	text = format_list(format, args);
	va_end(args);
	return text;
}

/**
 * text_digits() - write bytes in hexadecimal digits
 * @to:		Room for two digits a byte, and a zero.
 * @bytes:	The bytes.
 * @size:	Their number.
 *
 * Return: where the zero is.
 */
char *text_digits(char *to, const u8 *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		to += sprintf(to, "%02x", bytes[i]);
	return to;
}

/**
 * text_line() - print a line without control characters
 * @format:	The line, without the newline at its end.
 */
void text_line(const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	text = format_list(format, args);
	va_end(args);
	text_clean(text);
	puts(text);
	free(text);
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

		if (!len)
			fputs("\\ufffd", stdout);
		else if (is_control(at, len))
			printf("\\u%04x", len > 1 ? at[1] : *at);
		else if (*at == '"' || *at == '\\')
			printf("\\%c", *at);
		else
			printf("%.*s", len, (const char *)at);
		at += len ?: 1;
	}
	putchar('"');
}

/* Characters that have no other meaning to the shell */
#define PLAIN \
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._+:,@%=-"

/**
 * text_quote() - make a word for the shell
 * @text:	The text.
 *
 * Return: the word, which the caller frees.
 */
char *text_quote(const char *text)
{
	char *quoted = require_memory(malloc(4 * strlen(text) + 3)), *to = quoted;

	if (*text && !text[strspn(text, PLAIN)])
		return strcpy(quoted, text);
	to = stpcpy(to, "'");
	for (; *text; text++)
		if (*text == '\'')
			to = stpcpy(to, "'\\''");
		else
			*to++ = *text;
	stpcpy(to, "'");
	return quoted;
}
