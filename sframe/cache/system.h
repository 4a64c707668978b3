/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_CACHE_SYSTEM_H
#define _SFRAME_CACHE_SYSTEM_H

#include <stdbool.h>

#include "cache/list.h"

void list_add_system(struct file_list *list);
bool system_has(int fd);

#endif /* _SFRAME_CACHE_SYSTEM_H */
