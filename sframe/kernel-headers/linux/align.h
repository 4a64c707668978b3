/* SPDX-License-Identifier: GPL-2.0 */
#define IS_ALIGNED(value, to)	(!((value) & ((to) - 1)))
