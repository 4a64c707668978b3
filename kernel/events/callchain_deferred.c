// SPDX-License-Identifier: GPL-2.0
/*
 * Callchains whose user part follows in a separate record.
 *
 * Samples of an event with attr.defer_callchain have a cookie in place of the user
 * part.  When the task returns to user space, every event with attr.defer_output gets
 * one PERF_RECORD_CALLCHAIN_DEFERRED with that cookie.
 *
 * perf registers a single client with the deferred unwinder, which serves all events.
 */

#include <linux/init.h>
#include <linux/perf_event.h>
#include <linux/unwind_deferred.h>

#include "internal.h"

/* The size of a record is a u16.  This leaves room for its other fields. */
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

	/* The size differs from event to event, as their sample ids do. */
	perf_event_header__init(&record->head.header, &sample,
				PERF_RECORD_CALLCHAIN_DEFERRED,
				PERF_RECORD_MISC_USER,
				sizeof(record->head) + len, event);
	/* The buffer counts a failure and reports it as a lost record. */
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
 * perf_callchain_defer() - request a deferred walk of the user stack
 * @event: Event that takes the sample.
 *
 * Context: Any, NMI included.
 * Return: the cookie to store in the sample.  0 if the caller must walk the user
 * stack now: @event does not defer callchains, the stack of this kernel entry has
 * already been delivered, or the task has no user stack.
 */
u64 perf_callchain_defer(struct perf_event *event)
{
	unsigned int max = min_t(unsigned int, sysctl_perf_event_max_stack,
				 PERF_DEFERRED_MAX_ENTRIES);
	u64 cookie;

	if (!event->attr.defer_callchain)
		return 0;
	/* Ensures that perf_callchain_store_deferred() has room for its entries. */
	if (sysctl_perf_event_max_contexts_per_stack < PERF_DEFERRED_CONTEXTS)
		return 0;
	/* The sysctl cannot change while events with callchains exist. */
	if (unlikely(READ_ONCE(perf_unwind_client.max_entries) != max))
		WRITE_ONCE(perf_unwind_client.max_entries, max);
	if (unwind_deferred_request(&perf_unwind_client, &cookie) < 0)
		return 0;
	return cookie;
}

/**
 * perf_callchain_store_deferred() - end a callchain with the cookie of its user part
 * @entry: Callchain, complete except for its user part.
 * @cookie: Cookie that perf_callchain_defer() returned.
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
