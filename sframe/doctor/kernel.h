/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_DOCTOR_KERNEL_H
#define _SFRAME_DOCTOR_KERNEL_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "cache/index.h"

/* What the kernel reports about a file.  UNSEEN: it has not looked at the file yet. */
enum kernel_state {
	KERNEL_UNKNOWN,
	KERNEL_UNSEEN,
	KERNEL_LOADED,
	KERNEL_LOADING,
	KERNEL_EVICTED,
	KERNEL_WITHOUT,
	KERNEL_NO_OBJECT,
	KERNEL_UNSETTLED,
	KERNEL_NOT_RESIDENT,
	KERNEL_REFUSED,
};

FILE *kernel_open(const char *name);
void kernel_read(void);
void kernel_check(void);
const char *kernel_dir(size_t index);
const struct index *kernel_index(size_t index);
const char *kernel_cache(void);
enum kernel_state kernel_state(dev_t device, uintmax_t inode, int *error);
const char *kernel_error(int error);

#endif /* _SFRAME_DOCTOR_KERNEL_H */
