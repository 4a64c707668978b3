/* SPDX-License-Identifier: GPL-2.0 */
#define min_t(type, a, b)	({ type _a = (a), _b = (b); _a < _b ? _a : _b; })
#define min(a, b)		min_t(__typeof__(a), a, b)
