// SPDX-License-Identifier: GPL-2.0
/*
 * Callchains whose user part follows in a record of its own.
 *
 * An event with attr.defer_callchain gets a cookie in place of the user part;
 * when the task returns to user space, every event with attr.defer_output gets
 * one PERF_RECORD_CALLCHAIN_DEFERRED with that cookie.
 *
 * perf is one client of the deferred unwinder, whatever the number of events.
 */

#include <linux/init.h>
#include <linux/perf_event.h>
#include <linux/unwind_deferred.h>

#include "internal.h"

/* The length of a record is a u16; this leaves room for all that is not entries. */
#define PERF_DEFERRED_MAX_ENTRIES	8000

struct perf_deferred_record {
	const struct unwind_user_trace	*trace;
	struct {
		struct perf_event_header header;
		u64			cookie;
		u64			nr;
	} head;
};

static void perf_callchain_output_deferred(struct perf_event *event, void *data)
{
	struct perf_deferred_record *record = data;
	unsigned int len = record->head.nr * sizeof(u64);
	struct perf_output_handle handle;
	struct perf_sample_data sample;

	if (!event->attr.defer_output)
		return;

	/* Events may differ in what identifies a sample: each has its size. */
	perf_event_header__init(&record->head.header, &sample,
				PERF_RECORD_CALLCHAIN_DEFERRED,
				PERF_RECORD_MISC_USER,
				sizeof(record->head) + len, event);
	/* A failure is counted in the buffer, and reported as lost. */
	if (perf_output_begin(&handle, &sample, event,
			      record->head.header.size))
		return;
	perf_output_put(&handle, record->head);
	if (len)
		perf_output_copy(&handle, record->trace->entries, len);
	perf_event__output_id_sample(event, &handle, &sample);
	perf_output_end(&handle);
}

static void perf_callchain_deliver(struct unwind_client *client,
				   const struct unwind_user_trace *trace,
				   u64 cookie)
{
	struct perf_deferred_record record = {
		.trace = trace,
		.head = {
			.cookie = cookie,
			.nr = trace->nr,
		},
	};

	perf_iterate_sb(perf_callchain_output_deferred, &record, NULL);
}

static struct unwind_client perf_unwind_client = {
	.callback = perf_callchain_deliver,
};

/* PERF_CONTEXT_KERNEL, PERF_CONTEXT_USER_DEFERRED and the cookie */
#define PERF_DEFERRED_CONTEXTS		3

/**
 * perf_callchain_defer() - have the user part of a callchain follow later
 * @event: The event that samples; any context, NMI included.
 *
 * Return: The cookie to store in the sample, or 0 when the user part has to be
 * walked now: @event does not want otherwise, or this kernel entry's stack has
 * been delivered already, or the task is not one that has a user stack.
 */
u64 perf_callchain_defer(struct perf_event *event)
{
	unsigned int max = min_t(unsigned int, sysctl_perf_event_max_stack,
				 PERF_DEFERRED_MAX_ENTRIES);
	u64 cookie;

	if (!event->attr.defer_callchain)
		return 0;
	/* perf_callchain_store_deferred() relies on the room that this leaves. */
	if (sysctl_perf_event_max_contexts_per_stack < PERF_DEFERRED_CONTEXTS)
		return 0;
	/* The sysctl cannot change while there are events with callchains. */
	if (unlikely(READ_ONCE(perf_unwind_client.max_entries) != max))
		WRITE_ONCE(perf_unwind_client.max_entries, max);
	if (unwind_deferred_request(&perf_unwind_client, &cookie) < 0)
		return 0;
	return cookie;
}

/**
 * perf_callchain_store_deferred() - say where the user part will be found
 * @entry: The callchain, complete but for its user part.
 * @cookie: What perf_callchain_defer() returned.
 */
void perf_callchain_store_deferred(struct perf_callchain_entry *entry,
				   u64 cookie)
{
	entry->ip[entry->nr++] = PERF_CONTEXT_USER_DEFERRED;
	entry->ip[entry->nr++] = cookie;
}

static int __init perf_callchain_deferred_init(void)
{
	return unwind_client_register(&perf_unwind_client);
}
core_initcall(perf_callchain_deferred_init);
