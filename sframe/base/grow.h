/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_GROW_H
#define _SFRAME_GROW_H

#include <stddef.h>

void *require_memory(void *memory);
void *grow(void *array, size_t *room, size_t count, size_t size);

#endif /* _SFRAME_GROW_H */
