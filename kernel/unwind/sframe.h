/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KERNEL_UNWIND_SFRAME_H
#define _KERNEL_UNWIND_SFRAME_H

#include <linux/errno.h>

#include "sframe_decode.h"

struct row_cache;

#ifdef CONFIG_UNWIND_USER_SFRAME
int sframe_lookup(struct sframe_reader *reader, unsigned long ip,
		  struct sframe_row *row);
struct row_cache *sframe_rows(void);
void sframe_alloc_rows(void);
#else
static inline int sframe_lookup(struct sframe_reader *reader, unsigned long ip,
				struct sframe_row *row)
{
	return -ENOENT;
}

static inline struct row_cache *sframe_rows(void)
{
	return NULL;
}

static inline void sframe_alloc_rows(void) { }
#endif

#endif /* _KERNEL_UNWIND_SFRAME_H */
