/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _TOOLS_SFRAME_COMPLAIN_H
#define _TOOLS_SFRAME_COMPLAIN_H

/* What the program ends with. */
enum {
	EXIT_OK,
	EXIT_FAILED,
	EXIT_USAGE,
};

/* In sframe.c; "sframe: NAME: WHAT; REMEDY" on stderr. */
[[gnu::format(printf, 2, 3)]]
int complain(const char *name, const char *format, ...);

#endif /* _TOOLS_SFRAME_COMPLAIN_H */
