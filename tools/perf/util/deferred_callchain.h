/* SPDX-License-Identifier: GPL-2.0 */
#ifndef PERF_UTIL_DEFERRED_CALLCHAIN_H
#define PERF_UTIL_DEFERRED_CALLCHAIN_H

#include <linux/types.h>

struct perf_sample;
struct perf_session;
struct perf_tool;
union perf_event;

/* Callback that delivers a sample to the tool. */
typedef int (*deliver_sample_t)(struct perf_session *session, const struct perf_tool *tool,
				union perf_event *event, struct perf_sample *sample,
				u64 file_offset, const char *file_path);

int deferred_callchains__process(struct perf_session *session, const struct perf_tool *tool,
				 union perf_event *event, struct perf_sample *sample,
				 u64 file_offset, const char *file_path,
				 deliver_sample_t deliver);
int deferred_callchains__flush(struct perf_session *session, const struct perf_tool *tool,
			       deliver_sample_t deliver);
void deferred_callchains__delete(struct perf_session *session);

#endif /* PERF_UTIL_DEFERRED_CALLCHAIN_H */
