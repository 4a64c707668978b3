/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_OPEN_REGULAR_H
#define _SFRAME_OPEN_REGULAR_H

#include <errno.h>
#include <sys/stat.h>

#include "base/identity.h"

/* Errors of open_regular() that open() never returns. */
#define NOT_REGULAR	EMEDIUMTYPE
#define NO_PROC		ENOSYS

int open_regular(const char *name, int flags, struct stat *st);
int stat_held(int fd, const char *name, struct identity *id);
int stat_known(const char *name, struct identity *id);
const char *open_error(int error);

#endif /* _SFRAME_OPEN_REGULAR_H */
