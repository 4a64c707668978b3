/* SPDX-License-Identifier: GPL-2.0 */
#define div_u64(a, b)		((a) / (b))
#define div64_u64(a, b)		((a) / (b))
#define mul_u64_u64_shr(a, b, shift)	((u64)((__uint128_t)(a) * (b) >> (shift)))
