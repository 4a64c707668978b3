/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_CHECK_HANDLERS_H
#define _SFRAME_CHECK_HANDLERS_H

#include "cfi/cfi.h"
#include "code/follow.h"

void handlers_add(struct follow *follow, const struct function *function);

#endif /* _SFRAME_CHECK_HANDLERS_H */
