/* SPDX-License-Identifier: GPL-2.0 */
#ifndef PERF_UTIL_DEFERRED_CALLCHAIN_H
#define PERF_UTIL_DEFERRED_CALLCHAIN_H

#include <linux/types.h>

/* Memory for the samples that wait for their user part: of a task, and of all. */
#define DEFERRED_TASK_BYTES	(16UL << 20)
#define DEFERRED_BYTES		(128UL << 20)

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
u64 deferred_callchains__nr_cut(const struct perf_session *session);
void deferred_callchains__delete(struct perf_session *session);

#endif /* PERF_UTIL_DEFERRED_CALLCHAIN_H */
