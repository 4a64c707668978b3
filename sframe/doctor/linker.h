/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_DOCTOR_LINKER_H
#define _SFRAME_DOCTOR_LINKER_H

#include "cache/mapped.h"

void linker_add(struct mapped *mapped, const char *file);

#endif /* _SFRAME_DOCTOR_LINKER_H */
