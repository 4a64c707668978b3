/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_OPTIONS_H
#define _SFRAME_OPTIONS_H

#include <getopt.h>
#include <stdbool.h>

#include "base/sframe_file.h"

int next_option(int argc, char **argv, const char *letters, const struct option *options);
bool parse_format(const char *text, enum format *format);
bool parse_number(const char *text, unsigned int max, unsigned int *to);

#endif /* _SFRAME_OPTIONS_H */
