/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_TEXT_H
#define _SFRAME_TEXT_H

#include <linux/types.h>

void text_clean(char *text);
void text_print(const char *text);
__attribute__((format(printf, 1, 2)))
char *text_format(const char *format, ...);
char *text_digits(char *to, const u8 *bytes, size_t size);
__attribute__((format(printf, 1, 2)))
void text_line(const char *format, ...);
void text_print_json(const char *text);
char *text_quote(const char *text);

#endif /* _SFRAME_TEXT_H */
