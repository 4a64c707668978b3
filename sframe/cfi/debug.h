/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_CFI_DEBUG_H
#define _SFRAME_CFI_DEBUG_H

#include "cfi/object.h"

/* Where debuggers look for separate debug files, and packages put them */
#define DEBUG_DIR	"/usr/lib/debug"

int debug_open(const u8 *id, u32 id_size, const char *dir);
enum object_state debug_add(struct object *obj, int fd, enum object_state state);
enum object_state debug_find(struct object *obj, const char *dir, enum object_state state);

#endif /* _SFRAME_CFI_DEBUG_H */
