// SPDX-License-Identifier: GPL-2.0
/*
 * Merge samples with user callchains that the kernel writes later.
 *
 * With attr.defer_callchain, the kernel walks the user stack when the task returns to user
 * space, once for all samples taken meanwhile. The callchain of such a sample ends with
 * PERF_CONTEXT_USER_DEFERRED and a cookie. A PERF_RECORD_CALLCHAIN_DEFERRED record brings
 * the user part for that task and cookie.
 *
 * A tool that merges callchains gets a sample when its user part has arrived. If the user
 * part is lost, the tool gets the sample without it: before the first sample of the task
 * with another cookie, before the task calls exec() or exits or its tid is reused, or at
 * the end of the data. Other tools get each sample at once, without a user part.
 */
#include <errno.h>
#include <linux/hash.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/string.h>
#include <linux/zalloc.h>
#include <stdlib.h>
#include <string.h>

#include "util/debug.h"
#include "util/deferred_callchain.h"
#include "util/event.h"
#include "util/evlist.h"
#include "util/sample.h"
#include "util/session.h"
#include "util/tool.h"

#define HASH_BITS	8

/* PERF_CONTEXT_USER_DEFERRED and the cookie */
#define NR_TRAILER	2

struct deferred_sample {
	struct list_head list;
	u64 file_offset;
	const char *file_path;
	union perf_event *event;
};

/* Samples of a task that wait for the same user part. */
struct deferred_task {
	struct list_head list;
	u32 tid;
	u64 cookie;
	struct list_head samples;
};

struct deferred_callchains {
	/* Lists of tasks that have waiting samples, by tid. */
	struct list_head heads[1 << HASH_BITS];
};

static struct list_head *head_of(struct deferred_callchains *deferred, u32 tid)
{
	return &deferred->heads[hash_32(tid, HASH_BITS)];
}

static struct deferred_task *find_task(struct perf_session *session, u32 tid)
{
	struct deferred_task *task;

	if (!session->deferred)
		return NULL;
	list_for_each_entry(task, head_of(session->deferred, tid), list) {
		if (task->tid == tid)
			return task;
	}
	return NULL;
}

static bool sample_is_deferred(const struct perf_sample *sample)
{
	const struct ip_callchain *chain = sample->callchain;

	return chain && chain->nr >= NR_TRAILER &&
	       chain->ips[chain->nr - NR_TRAILER] == PERF_CONTEXT_USER_DEFERRED;
}

/* Deliver @sample with @nr user frames instead of the cookie. */
static int deliver_with(struct perf_session *session, const struct perf_tool *tool,
			union perf_event *event, struct perf_sample *sample, u64 file_offset,
			const char *file_path, deliver_sample_t deliver, const u64 *ips, u64 nr)
{
	struct ip_callchain *old = sample->callchain, *chain;
	u64 nr_kernel = old->nr - NR_TRAILER;
	int ret;

	/* If the sample was taken in user space, at least its first frame is known. */
	if (!nr && sample->cpumode == PERF_RECORD_MISC_USER) {
		ips = &sample->ip;
		nr = 1;
	}
	chain = malloc(sizeof(*chain) + (nr_kernel + 1 + nr) * sizeof(u64));
	if (!chain)
		return -ENOMEM;
	memcpy(chain->ips, old->ips, nr_kernel * sizeof(u64));
	chain->nr = nr_kernel;
	if (nr) {
		chain->ips[chain->nr++] = PERF_CONTEXT_USER;
		memcpy(&chain->ips[chain->nr], ips, nr * sizeof(u64));
		chain->nr += nr;
	}
	sample->callchain = chain;
	ret = deliver(session, tool, event, sample, file_offset, file_path);
	sample->callchain = old;
	free(chain);
	return ret;
}

static int deliver_held(struct perf_session *session, const struct perf_tool *tool,
			struct deferred_sample *held, deliver_sample_t deliver, const u64 *ips,
			u64 nr)
{
	struct perf_sample sample;
	int ret;

	list_del(&held->list);
	ret = evlist__parse_sample(session->evlist, held->event, &sample);
	if (ret)
		pr_err("Can't parse sample, err = %d\n", ret);
	else
		ret = deliver_with(session, tool, held->event, &sample, held->file_offset,
				   held->file_path, deliver, ips, nr);
	free(held->event);
	free(held);
	return ret;
}

static void free_task(struct deferred_task *task)
{
	struct deferred_sample *held, *next;

	list_for_each_entry_safe(held, next, &task->samples, list) {
		free(held->event);
		free(held);
	}
	list_del(&task->list);
	free(task);
}

/* Deliver all samples of @task with @nr user frames, and free @task. */
static int deliver_task(struct perf_session *session, const struct perf_tool *tool,
			struct deferred_task *task, deliver_sample_t deliver, const u64 *ips,
			u64 nr)
{
	struct deferred_sample *held, *next;
	int ret = 0;

	if (!task)
		return 0;
	list_for_each_entry_safe(held, next, &task->samples, list) {
		ret = deliver_held(session, tool, held, deliver, ips, nr);
		if (ret)
			break;
	}
	free_task(task);
	return ret;
}

static struct deferred_task *new_task(struct perf_session *session, u32 tid, u64 cookie)
{
	struct deferred_task *task;
	unsigned int i;

	if (!session->deferred) {
		session->deferred = malloc(sizeof(*session->deferred));
		if (!session->deferred)
			return NULL;
		for (i = 0; i < ARRAY_SIZE(session->deferred->heads); i++)
			INIT_LIST_HEAD(&session->deferred->heads[i]);
	}
	task = malloc(sizeof(*task));
	if (!task)
		return NULL;
	task->tid = tid;
	task->cookie = cookie;
	INIT_LIST_HEAD(&task->samples);
	list_add(&task->list, head_of(session->deferred, tid));
	return task;
}

static int hold(struct perf_session *session, const struct perf_tool *tool,
		union perf_event *event, const struct perf_sample *sample, u64 file_offset,
		const char *file_path, deliver_sample_t deliver)
{
	const struct ip_callchain *chain = sample->callchain;
	u64 cookie = chain->ips[chain->nr - 1];
	struct deferred_task *task = find_task(session, sample->tid);
	struct deferred_sample *held;
	int ret;

	/* Another cookie: the record with the old one is lost. */
	if (task && task->cookie != cookie) {
		ret = deliver_task(session, tool, task, deliver, NULL, 0);
		if (ret)
			return ret;
		task = NULL;
	}
	if (!task)
		task = new_task(session, sample->tid, cookie);
	if (!task)
		return -ENOMEM;
	held = malloc(sizeof(*held));
	if (!held)
		return -ENOMEM;
	held->event = memdup(event, event->header.size);
	if (!held->event) {
		free(held);
		return -ENOMEM;
	}
	held->file_offset = file_offset;
	held->file_path = file_path;
	list_add_tail(&held->list, &task->samples);
	return 0;
}

static int merge(struct perf_session *session, const struct perf_tool *tool,
		 union perf_event *event, const struct perf_sample *sample,
		 deliver_sample_t deliver)
{
	const struct perf_record_callchain_deferred *record = &event->callchain_deferred;
	struct deferred_task *task = find_task(session, sample->tid);

	if (event->header.size < sizeof(*record) ||
	    record->nr > (event->header.size - sizeof(*record)) / sizeof(u64)) {
		pr_err("Deferred callchain of %u: longer than its record\n", sample->tid);
		return -EINVAL;
	}
	if (!task || task->cookie != record->cookie)
		return 0;
	return deliver_task(session, tool, task, deliver, (const u64 *)record->ips, record->nr);
}

/**
 * deferred_callchains__process - hold a sample, or deliver samples that waited for @event
 * @session:	 session that the event belongs to
 * @tool:	 tool that gets the samples
 * @event:	 any event; events must come in the order of time
 * @sample:	 the event, parsed by evlist__parse_sample()
 * @file_offset: offset of the event in its file, for messages
 * @file_path:	 path of that file, for messages
 * @deliver:	 callback that delivers a sample
 *
 * Return: 1 if @event is done, 0 if the caller must deliver it, or a negative error.
 */
int deferred_callchains__process(struct perf_session *session, const struct perf_tool *tool,
				 union perf_event *event, struct perf_sample *sample,
				 u64 file_offset, const char *file_path,
				 deliver_sample_t deliver)
{
	int ret;

	switch (event->header.type) {
	case PERF_RECORD_SAMPLE:
		if (!sample_is_deferred(sample))
			return 0;
		/* Parsing swaps samples of the other byte order in place, so it works only once. */
		if (tool->merge_deferred_callchains && !session->header.needs_swap)
			ret = hold(session, tool, event, sample, file_offset, file_path, deliver);
		else
			ret = deliver_with(session, tool, event, sample, file_offset, file_path,
					   deliver, NULL, 0);
		return ret ?: 1;
	case PERF_RECORD_CALLCHAIN_DEFERRED:
		return merge(session, tool, event, sample, deliver);
	case PERF_RECORD_COMM:
		if (!(event->header.misc & PERF_RECORD_MISC_COMM_EXEC))
			return 0;
		return deliver_task(session, tool, find_task(session, event->comm.tid), deliver,
				    NULL, 0);
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		return deliver_task(session, tool, find_task(session, event->fork.tid), deliver,
				    NULL, 0);
	default:
		return 0;
	}
}

/**
 * deferred_callchains__flush - deliver the samples whose user part did not arrive
 * @session: session at the end of its events
 * @tool:    tool that gets the samples
 * @deliver: callback that delivers a sample
 *
 * Return: 0, or a negative error.
 */
int deferred_callchains__flush(struct perf_session *session, const struct perf_tool *tool,
			       deliver_sample_t deliver)
{
	struct deferred_task *task, *next;
	unsigned int i;
	int ret;

	if (!session->deferred)
		return 0;
	for (i = 0; i < ARRAY_SIZE(session->deferred->heads); i++) {
		list_for_each_entry_safe(task, next, &session->deferred->heads[i], list) {
			ret = deliver_task(session, tool, task, deliver, NULL, 0);
			if (ret)
				return ret;
		}
	}
	return 0;
}

/**
 * deferred_callchains__delete - free samples that were not delivered after an error
 * @session: session that is about to be freed
 */
void deferred_callchains__delete(struct perf_session *session)
{
	struct deferred_task *task, *next;
	unsigned int i;

	if (!session->deferred)
		return;
	for (i = 0; i < ARRAY_SIZE(session->deferred->heads); i++) {
		list_for_each_entry_safe(task, next, &session->deferred->heads[i], list)
			free_task(task);
	}
	zfree(&session->deferred);
}
