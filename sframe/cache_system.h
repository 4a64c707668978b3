/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_CACHE_SYSTEM_H
#define _SFRAME_CACHE_SYSTEM_H

#include "cache_list.h"

void list_add_system(struct file_list *list);

#endif /* _SFRAME_CACHE_SYSTEM_H */
