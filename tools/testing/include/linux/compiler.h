/* SPDX-License-Identifier: GPL-2.0 */
#define __percpu
#define ____cacheline_aligned_in_smp __attribute__((aligned(64)))
#define noinline		__attribute__((noinline))
#define fallthrough		__attribute__((fallthrough))
#define likely(x)		__builtin_expect(!!(x), 1)
#define unlikely(x)		__builtin_expect(!!(x), 0)
