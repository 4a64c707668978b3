/* SPDX-License-Identifier: GPL-2.0 */
#undef static_assert
#define static_assert(condition) _Static_assert(condition, #condition)
