/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_COMPLAIN_H
#define _SFRAME_COMPLAIN_H

/* The exit status of the program. */
enum {
	EXIT_OK,
	EXIT_FAILED,
	EXIT_USAGE,
};

/* "sframe: NAME: WHAT; REMEDY" on standard error. */
__attribute__((format(printf, 2, 3)))
int complain(const char *name, const char *format, ...);

#endif /* _SFRAME_COMPLAIN_H */
