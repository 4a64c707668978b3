/* SPDX-License-Identifier: GPL-2.0 */
#include <linux/types.h>

#define GFP_KERNEL		0u
#define __GFP_NOWARN		0u
