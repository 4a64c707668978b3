/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_CODE_ADD_H
#define _SFRAME_CODE_ADD_H

#include "cfi/cfi.h"

/*
 * More is a program of a compiler that makes no unwind information at all, as those of Haskell and
 * Go.  Following takes twenty times the size of the code in memory, and a second for each 2 MB.
 */
#define CODE_MAX	0x1000000

bool code_add(const struct object *obj, struct cfi *cfi);

#endif /* _SFRAME_CODE_ADD_H */
