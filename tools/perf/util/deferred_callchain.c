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
 * with another cookie, before the process calls exec() or the task exits or its tid is
 * reused, or at the end of the data. Later samples of a task wait behind its earlier ones,
 * so that those of a task always arrive in their order; those of different tasks may not.
 * A tool that needs all events in their order does not merge: it gets each sample at once,
 * without a user part.
 *
 * A task that stays in the kernel for long must not fill the memory. If the samples of a
 * task, or of all tasks, exceed a limit, the tool gets the oldest without their user parts.
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
	/* In the list of its task, and in that of all. */
	struct list_head list;
	struct list_head all;
	struct deferred_task *task;
	u64 file_offset;
	const char *file_path;
	union perf_event *event;
	/* It waits for a user part itself, and not only behind a sample that does. */
	bool is_deferred;
};

/* Samples of a task that wait for the same user part, the oldest first. */
struct deferred_task {
	struct list_head list;
	u32 pid;
	u32 tid;
	u64 cookie;
	size_t bytes;
	struct list_head samples;
};

struct deferred_callchains {
	/* Lists of tasks that have waiting samples, by tid. */
	struct list_head heads[1 << HASH_BITS];
	/* All waiting samples, the oldest first. */
	struct list_head samples;
	size_t bytes;
	/* How many samples were delivered without a user part because of the limits. */
	u64 nr_cut;
};

/* What a delivery needs besides the sample. */
struct delivery {
	struct perf_session *session;
	const struct perf_tool *tool;
	deliver_sample_t deliver;
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

/*
 * In another order than that of time, the user part may come before its sample. Parsing
 * swaps samples of the other byte order in place, so it works only once.
 */
static bool can_hold(const struct delivery *to)
{
	return to->tool->merge_deferred_callchains && to->tool->ordered_events &&
	       !to->session->header.needs_swap;
}

/* Deliver @sample with @nr user frames instead of the cookie. */
static int deliver_with(const struct delivery *to, union perf_event *event,
			struct perf_sample *sample, u64 file_offset, const char *file_path,
			const u64 *ips, u64 nr)
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
	ret = to->deliver(to->session, to->tool, event, sample, file_offset, file_path);
	sample->callchain = old;
	free(chain);
	return ret;
}

static size_t size_of(const struct deferred_sample *held)
{
	return sizeof(*held) + held->event->header.size;
}

/* Take @held out of its lists; the caller frees it. */
static void take(struct deferred_callchains *deferred, struct deferred_sample *held)
{
	list_del(&held->list);
	list_del(&held->all);
	held->task->bytes -= size_of(held);
	deferred->bytes -= size_of(held);
}

static void free_sample(struct deferred_sample *held)
{
	free(held->event);
	free(held);
}

/* The samples of @task are delivered, or will not be. */
static void free_task(struct deferred_callchains *deferred, struct deferred_task *task)
{
	struct deferred_sample *held, *next;

	list_for_each_entry_safe(held, next, &task->samples, list) {
		take(deferred, held);
		free_sample(held);
	}
	list_del(&task->list);
	free(task);
}

/* Deliver @held, with @nr user frames if it waits for them. */
static int deliver_held(const struct delivery *to, struct deferred_sample *held, const u64 *ips,
			u64 nr)
{
	struct perf_sample sample;
	int ret;

	take(to->session->deferred, held);
	ret = evlist__parse_sample(to->session->evlist, held->event, &sample);
	if (ret)
		pr_err("Can't parse sample, err = %d\n", ret);
	else if (held->is_deferred)
		ret = deliver_with(to, held->event, &sample, held->file_offset, held->file_path,
				   ips, nr);
	else
		ret = to->deliver(to->session, to->tool, held->event, &sample, held->file_offset,
				  held->file_path);
	free_sample(held);
	return ret;
}

/* Deliver all samples of @task with @nr user frames, and free @task. */
static int deliver_task(const struct delivery *to, struct deferred_task *task, const u64 *ips,
			u64 nr)
{
	struct deferred_sample *held, *next;
	int ret = 0;

	if (!task)
		return 0;
	list_for_each_entry_safe(held, next, &task->samples, list) {
		ret = deliver_held(to, held, ips, nr);
		if (ret)
			break;
	}
	free_task(to->session->deferred, task);
	return ret;
}

/*
 * exec() ends all threads of the process, and gives the calling one the tid of the first: its
 * samples may wait under another tid than the record has.
 */
static int deliver_process(const struct delivery *to, u32 pid)
{
	struct deferred_callchains *deferred = to->session->deferred;
	struct deferred_task *task, *next;
	unsigned int i;
	int ret;

	for (i = 0; deferred && i < ARRAY_SIZE(deferred->heads); i++) {
		list_for_each_entry_safe(task, next, &deferred->heads[i], list) {
			ret = task->pid == pid ? deliver_task(to, task, NULL, 0) : 0;
			if (ret)
				return ret;
		}
	}
	return 0;
}

/* Deliver the oldest sample of a task without its user part. */
static int deliver_short(const struct delivery *to, struct deferred_sample *held)
{
	struct deferred_task *task = held->task;
	int ret = deliver_held(to, held, NULL, 0);

	if (list_empty(&task->samples))
		free_task(to->session->deferred, task);
	return ret;
}

static int keep_to_limits(const struct delivery *to, struct deferred_task *task)
{
	struct deferred_callchains *deferred = to->session->deferred;
	struct deferred_sample *held;
	int ret = 0;

	/* A sample is smaller than either limit, so that the newest one always stays. */
	while (!ret && task->bytes > DEFERRED_TASK_BYTES) {
		held = list_first_entry(&task->samples, struct deferred_sample, list);
		deferred->nr_cut += held->is_deferred;
		ret = deliver_short(to, held);
	}
	while (!ret && deferred->bytes > DEFERRED_BYTES) {
		held = list_first_entry(&deferred->samples, struct deferred_sample, all);
		deferred->nr_cut += held->is_deferred;
		ret = deliver_short(to, held);
	}
	return ret;
}

static struct deferred_callchains *new_deferred(void)
{
	struct deferred_callchains *deferred = zalloc(sizeof(*deferred));
	unsigned int i;

	if (!deferred)
		return NULL;
	for (i = 0; i < ARRAY_SIZE(deferred->heads); i++)
		INIT_LIST_HEAD(&deferred->heads[i]);
	INIT_LIST_HEAD(&deferred->samples);
	return deferred;
}

static struct deferred_task *new_task(struct perf_session *session,
				      const struct perf_sample *sample, u64 cookie)
{
	struct deferred_task *task;

	if (!session->deferred)
		session->deferred = new_deferred();
	task = session->deferred ? zalloc(sizeof(*task)) : NULL;
	if (!task)
		return NULL;
	task->pid = sample->pid;
	task->tid = sample->tid;
	task->cookie = cookie;
	INIT_LIST_HEAD(&task->samples);
	list_add(&task->list, head_of(session->deferred, sample->tid));
	return task;
}

/* Hold @event behind the other samples of @task. */
static int hold(const struct delivery *to, struct deferred_task *task, union perf_event *event,
		u64 file_offset, const char *file_path, bool is_deferred)
{
	struct deferred_callchains *deferred = to->session->deferred;
	struct deferred_sample *held = malloc(sizeof(*held));

	if (!held)
		return -ENOMEM;
	held->event = memdup(event, event->header.size);
	if (!held->event) {
		free(held);
		return -ENOMEM;
	}
	held->task = task;
	held->file_offset = file_offset;
	held->file_path = file_path;
	held->is_deferred = is_deferred;
	list_add_tail(&held->list, &task->samples);
	list_add_tail(&held->all, &deferred->samples);
	task->bytes += size_of(held);
	deferred->bytes += size_of(held);
	return keep_to_limits(to, task);
}

/* Returns 1 if @event is held or delivered, 0 if the caller must deliver it, or an error. */
static int process_sample(const struct delivery *to, union perf_event *event,
			  struct perf_sample *sample, u64 file_offset, const char *file_path)
{
	bool is_deferred = sample_is_deferred(sample);
	struct deferred_task *task;
	u64 cookie;
	int ret;

	if (!can_hold(to)) {
		if (!is_deferred)
			return 0;
		ret = deliver_with(to, event, sample, file_offset, file_path, NULL, 0);
		return ret ?: 1;
	}

	task = find_task(to->session, sample->tid);
	if (is_deferred) {
		cookie = sample->callchain->ips[sample->callchain->nr - 1];
		/* Another cookie: the record with the old one is lost. */
		if (task && task->cookie != cookie) {
			ret = deliver_task(to, task, NULL, 0);
			if (ret)
				return ret;
			task = NULL;
		}
		if (!task)
			task = new_task(to->session, sample, cookie);
		if (!task)
			return -ENOMEM;
	}
	if (!task)
		return 0;
	ret = hold(to, task, event, file_offset, file_path, is_deferred);
	return ret ?: 1;
}

static int merge(const struct delivery *to, union perf_event *event,
		 const struct perf_sample *sample)
{
	const struct perf_record_callchain_deferred *record = &event->callchain_deferred;
	struct deferred_task *task = find_task(to->session, sample->tid);

	if (event->header.size < sizeof(*record) ||
	    record->nr > (event->header.size - sizeof(*record)) / sizeof(u64)) {
		pr_err("Deferred callchain of %u: longer than its record\n", sample->tid);
		return -EINVAL;
	}
	if (!task || task->cookie != record->cookie)
		return 0;
	return deliver_task(to, task, (const u64 *)record->ips, record->nr);
}

/**
 * deferred_callchains__process - hold a sample, or deliver samples that waited for @event
 * @session:	 session that the event belongs to
 * @tool:	 tool that gets the samples
 * @event:	 any event
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
	const struct delivery to = { .session = session, .tool = tool, .deliver = deliver };

	switch (event->header.type) {
	case PERF_RECORD_SAMPLE:
		return process_sample(&to, event, sample, file_offset, file_path);
	case PERF_RECORD_CALLCHAIN_DEFERRED:
		return merge(&to, event, sample);
	case PERF_RECORD_COMM:
		if (!(event->header.misc & PERF_RECORD_MISC_COMM_EXEC))
			return 0;
		return deliver_process(&to, event->comm.pid);
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		return deliver_task(&to, find_task(session, event->fork.tid), NULL, 0);
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
 * The samples come in the order in which they were held.
 *
 * Return: 0, or a negative error.
 */
int deferred_callchains__flush(struct perf_session *session, const struct perf_tool *tool,
			       deliver_sample_t deliver)
{
	const struct delivery to = { .session = session, .tool = tool, .deliver = deliver };
	struct deferred_callchains *deferred = session->deferred;
	int ret = 0;

	while (!ret && deferred && !list_empty(&deferred->samples))
		ret = deliver_short(&to, list_first_entry(&deferred->samples,
							  struct deferred_sample, all));
	return ret;
}

/**
 * deferred_callchains__nr_cut - count what the limits have cost
 * @session: session at the end of its events
 *
 * Return: how many samples were delivered without their user part, because more waited than
 *	   memory is set aside for.
 */
u64 deferred_callchains__nr_cut(const struct perf_session *session)
{
	return session->deferred ? session->deferred->nr_cut : 0;
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
			free_task(session->deferred, task);
	}
	zfree(&session->deferred);
}
