/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_TEXT_H
#define _SFRAME_TEXT_H

#include <stddef.h>

void text_clean(char *text, size_t size);
void text_print(const char *text);
void text_print_json(const char *text);

#endif /* _SFRAME_TEXT_H */
