/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_CFI_IDENTITY_H
#define _SFRAME_CFI_IDENTITY_H

#include <sha2.h>

#include "cfi/object.h"

bool identity_set(struct object *obj, const u8 *id, u32 size);
bool identity_hash(const struct object *obj, SHA2_CTX *hash, u64 from, u64 size);
bool identity_find(struct object *obj);

#endif /* _SFRAME_CFI_IDENTITY_H */
