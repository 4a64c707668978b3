/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_TEST_LINUX_GFP_TYPES_H
#define _SFRAME_TEST_LINUX_GFP_TYPES_H

typedef unsigned int gfp_t;

#define GFP_KERNEL	0u
#define __GFP_NOWARN	0u

#endif /* _SFRAME_TEST_LINUX_GFP_TYPES_H */
