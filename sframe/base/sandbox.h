/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_SANDBOX_H
#define _SFRAME_SANDBOX_H

#include <stdbool.h>
#include <sys/types.h>

/* How to report a process that SIGSYS ended. */
extern const char sandbox_error[];

bool sandbox_has_filter(void);
const char *sandbox_enter(pid_t parent);

#endif /* _SFRAME_SANDBOX_H */
