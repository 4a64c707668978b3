/* SPDX-License-Identifier: GPL-2.0 */
#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))
#define DIV_ROUND_UP_ULL(n, d)	DIV_ROUND_UP(n, d)
#define reciprocal_scale(n, to)	((u32)((u64)(n) * (to) >> 32))
