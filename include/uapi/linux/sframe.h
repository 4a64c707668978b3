/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
#ifndef _UAPI_LINUX_SFRAME_H
#define _UAPI_LINUX_SFRAME_H

#include <linux/types.h>

/**
 * struct sframe_region - an SFrame table and the code that it describes
 * @sframe_start:	Address of the table (the start of the .sframe section).
 * @sframe_size:	Its size in bytes; the table's own header may say less.
 * @text_start:		Address of the code.
 * @text_size:		Its size in bytes.
 *
 * For prctl(PR_ADD_SFRAME, &region, sizeof(region), flags, 0) and
 * prctl(PR_REMOVE_SFRAME, &region, sizeof(region), 0, 0).
 */
struct sframe_region {
	__u64 sframe_start;
	__u64 sframe_size;
	__u64 text_start;
	__u64 text_size;
};

/*
 * Flag of PR_ADD_SFRAME: do not read the table before a walk needs it.  The kernel
 * reads it in place then: keep it mapped.  No error tells of a damaged table.
 */
#define SFRAME_ADD_LAZY	(1 << 0)

#endif /* _UAPI_LINUX_SFRAME_H */
