/* SPDX-License-Identifier: GPL-2.0 */
#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))
