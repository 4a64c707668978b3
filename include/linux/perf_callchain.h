/* SPDX-License-Identifier: GPL-2.0-only */
/* Callchain entries that no other context reuses until their holder has read them. */
#ifndef _LINUX_PERF_CALLCHAIN_H
#define _LINUX_PERF_CALLCHAIN_H

#include <linux/types.h>

struct perf_callchain_entry;
struct pt_regs;

struct perf_callchain_entry *
perf_callchain_hold(struct pt_regs *regs, bool kernel, bool user,
		    u32 max_stack, bool crosstask, int *rctx);
void perf_callchain_keep(int rctx);
void perf_callchain_release(int rctx);
int perf_callchain_reserve(u32 words);
void perf_callchain_unreserve(void);
int perf_callchain_begin(const struct perf_callchain_entry *callchain);
void perf_callchain_end(int mark);

#endif /* _LINUX_PERF_CALLCHAIN_H */
