/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _TOOLS_SFRAME_OPEN_H
#define _TOOLS_SFRAME_OPEN_H

#include <errno.h>
#include <sys/stat.h>

/* What open_regular() says of all else; open() never does. */
#define NOT_REGULAR	EMEDIUMTYPE
#define NO_PROC		ENOSYS

int open_regular(const char *name, int flags, struct stat *st);
const char *open_error(int error);

#endif /* _TOOLS_SFRAME_OPEN_H */
