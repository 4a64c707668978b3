/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_OPEN_REGULAR_H
#define _SFRAME_OPEN_REGULAR_H

#include <errno.h>
#include <sys/stat.h>

/* Errors of open_regular() that open() never returns. */
#define NOT_REGULAR	EMEDIUMTYPE
#define NO_PROC		ENOSYS

int open_regular(const char *name, int flags, struct stat *st);
const char *open_error(int error);

#endif /* _SFRAME_OPEN_REGULAR_H */
