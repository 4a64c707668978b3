/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_CODE_ADD_H
#define _SFRAME_CODE_ADD_H

#include "cfi/cfi.h"

bool code_add(const struct object *obj, struct cfi *cfi);

#endif /* _SFRAME_CODE_ADD_H */
