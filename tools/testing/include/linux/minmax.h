/* SPDX-License-Identifier: GPL-2.0 */
#define min_t(type, a, b)	({ type _a = (a), _b = (b); _a < _b ? _a : _b; })
#define max_t(type, a, b)	({ type _a = (a), _b = (b); _a > _b ? _a : _b; })
#define min(a, b)		min_t(__typeof__(a), a, b)
#define max(a, b)		max_t(__typeof__(a), a, b)
#define clamp_t(type, n, a, b)	min_t(type, max_t(type, n, a), b)
