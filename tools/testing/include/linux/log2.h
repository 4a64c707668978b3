/* SPDX-License-Identifier: GPL-2.0 */
#define ilog2(n)		(63 - __builtin_clzll(n))
