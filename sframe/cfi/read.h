/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_CFI_READ_H
#define _SFRAME_CFI_READ_H

#include "cfi/cfi.h"

bool cfi_read(const struct object *obj, struct cfi *cfi);

#endif /* _SFRAME_CFI_READ_H */
