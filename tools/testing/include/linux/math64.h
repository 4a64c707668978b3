/* SPDX-License-Identifier: GPL-2.0 */
#define div_u64(a, b)		((a) / (b))
#define div64_u64(a, b)		((a) / (b))
