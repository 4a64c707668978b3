/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_CODE_HASKELL_H
#define _SFRAME_CODE_HASKELL_H

#include "cfi/cfi.h"
#include "code/follow.h"

bool haskell_add(struct follow *follow, struct cfi *cfi, struct ranges *limits);

#endif /* _SFRAME_CODE_HASKELL_H */
