/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KERNEL_UNWIND_SFRAME_H
#define _KERNEL_UNWIND_SFRAME_H

#include <linux/errno.h>

#include "sframe_decode.h"

#ifdef CONFIG_UNWIND_USER_SFRAME
int sframe_lookup(struct sframe_reader *reader, unsigned long ip,
		  struct sframe_row *row);
#else
static inline int sframe_lookup(struct sframe_reader *reader, unsigned long ip,
				struct sframe_row *row)
{
	return -ENOENT;
}
#endif

#endif /* _KERNEL_UNWIND_SFRAME_H */
