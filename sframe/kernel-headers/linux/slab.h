/* SPDX-License-Identifier: GPL-2.0 */
#include <stdlib.h>

#include <linux/gfp_types.h>
#include <linux/overflow.h>

#define kvmalloc(size, gfp)		((void)(gfp), malloc(size))
#define kvmalloc_array(n, size, gfp)	((void)(gfp), malloc(array_size(n, size)))
#define kvcalloc(n, size, gfp)		((void)(gfp), calloc(n, size))
#define kvfree(at)			free((void *)(at))
