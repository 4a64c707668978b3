/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_DOCTOR_COMMAND_H
#define _SFRAME_DOCTOR_COMMAND_H

#include "cache/mapped.h"

char *command_find(const char *name);
void command_add(struct mapped *mapped, const char *name);

#endif /* _SFRAME_DOCTOR_COMMAND_H */
