/* SPDX-License-Identifier: GPL-2.0 */
#include_next <linux/limits.h>

#define U32_MAX			0xffffffffU
