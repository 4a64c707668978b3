/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_CODE_CALLEE_H
#define _SFRAME_CODE_CALLEE_H

#include "cfi/cfi.h"
#include "code/follow.h"

void callee_add(struct follow *follow, struct cfi *cfi);

#endif /* _SFRAME_CODE_CALLEE_H */
