/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
#ifndef _UAPI_LINUX_SFRAME_H
#define _UAPI_LINUX_SFRAME_H

#include <linux/types.h>

/**
 * struct sframe_region - an SFrame table and the code that it describes
 * @sframe_start:	Address of the table, the start of the .sframe section.  The kernel
 *			copies the table; the memory may be freed after the call.
 * @sframe_size:	Size of the table in bytes.  The size in the table's own header may
 *			be smaller.
 * @text_start:		Address of the code.
 * @text_size:		Size of the code in bytes.
 *
 * For prctl(PR_ADD_SFRAME, &region, sizeof(region), 0, 0) and
 * prctl(PR_REMOVE_SFRAME, &region, sizeof(region), 0, 0).
 */
struct sframe_region {
	__u64 sframe_start;
	__u64 sframe_size;
	__u64 text_start;
	__u64 text_size;
};

#endif /* _UAPI_LINUX_SFRAME_H */
