/* SPDX-License-Identifier: GPL-2.0 */
#include <stdint.h>

#define size_add(a, b)		({ size_t _n; __builtin_add_overflow(a, b, &_n) ? SIZE_MAX : _n; })
#define array_size(a, b)	({ size_t _n; __builtin_mul_overflow(a, b, &_n) ? SIZE_MAX : _n; })
