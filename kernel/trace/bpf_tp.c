// SPDX-License-Identifier: GPL-2.0
/*
 * BPF programs of tracepoints that may sleep: of system calls, which a task enters and
 * leaves where it may take a page fault.
 *
 * They run first, with preemption on and under RCU Tasks Trace, and what they decide is
 * kept until the record is written, or not, with preemption off.  So the array of programs
 * and its sessions have to stay for as long as a program may sleep.
 *
 * No program is guarded against itself: a task does not enter a system call in the middle
 * of entering one.  Hits of other tracepoints inside of what a program calls are guarded in
 * tp_prog_may_nest().
 */
#include <linux/bits.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/rcupdate_trace.h>
#include <linux/tp_session.h>
#include <linux/trace_events.h>

#include "bpf_tp.h"

static bool tp_prog_sleeps(const struct bpf_prog *prog)
{
	return prog->type == BPF_PROG_TYPE_TRACEPOINT && prog->sleepable;
}

/**
 * tp_array_sum_up - note what the programs of a tracepoint or probe have in common
 * @array:	The programs, not yet visible to hits.
 */
void tp_array_sum_up(struct bpf_prog_array *array)
{
	const struct bpf_prog_array_item *item;

	array->plain = array->items;
	array->ignores_ctx = true;
	for (item = array->items; item->prog; item++) {
		array->reads_tp_header |= item->prog->aux->reads_tp_header;
		if (tp_prog_sleeps(item->prog))
			array->plain = item + 1;
		else
			array->ignores_ctx &= item->prog->aux->ignores_ctx;
	}
}

/**
 * tp_array_add - complete an array of programs to which one was added
 * @array:	The programs, not yet visible to hits; the new one is the last.
 * @session:	Of the event that it is attached to; NULL for one of a probe, whose verdict
 *		has no session.
 *
 * The program moves before those that do not sleep if it may.
 *
 * Return: 0, or -E2BIG if it is one too many
 */
int tp_array_add(struct bpf_prog_array *array, struct tp_session *session)
{
	const int last = bpf_prog_array_length(array) - 1;
	struct bpf_prog_array_item added = array->items[last];
	int first = 0;

	added.session = session;
	array->items[last] = added;
	if (tp_prog_sleeps(added.prog)) {
		while (first < last && tp_prog_sleeps(array->items[first].prog))
			first++;
		if (first == BITS_PER_TYPE(((struct tp_sleepable_run *)NULL)->refused))
			return -E2BIG;
		memmove(&array->items[first + 1], &array->items[first],
			(last - first) * sizeof(added));
		array->items[first] = added;
	}
	tp_array_sum_up(array);
	return 0;
}

/**
 * tp_run_sleepable - run the programs of a system call's event that may sleep
 * @call:	The event.
 * @ctx:	The record that the programs see, with the registers before it; its header
 *		is filled in if one of them reads it.
 * @run:	What they decide.
 *
 * May sleep. The caller owes a tp_put_sleepable(), after the last use of @run.
 */
void tp_run_sleepable(struct trace_event_call *call, void *ctx,
		      struct tp_sleepable_run *run)
{
	struct bpf_trace_run_ctx run_ctx = { .tp_record = ctx };
	const struct bpf_prog_array_item *item;
	const struct bpf_prog_array *array;
	struct bpf_run_ctx *old_run_ctx;
	const struct bpf_prog *prog;

	might_fault();
	rcu_read_lock_trace();
	array = rcu_dereference_check(call->prog_array, rcu_read_lock_trace_held());
	run->array = array;
	run->refused = 0;
	if (!array)
		return;
	if (array->reads_tp_header)
		perf_trace_buf_update(ctx, call->event.type);
	migrate_disable();
	old_run_ctx = bpf_set_run_ctx(&run_ctx.run_ctx);
	for (item = array->items; item < array->plain; item++) {
		prog = READ_ONCE(item->prog);
		run_ctx.bpf_cookie = item->bpf_cookie;
		if (!bpf_prog_run(prog, ctx))
			run->refused |= BIT_ULL(item - array->items);
	}
	bpf_reset_run_ctx(old_run_ctx);
	migrate_enable();
}

/**
 * tp_filter_sleepable - who dropped a hit by programs that may sleep
 * @run:	What these decided.
 * @rctx:	The hit's recursion context, which the caller holds.
 *
 * Called with preemption disabled.
 *
 * Return: as trace_filter_bpf()
 */
u64 tp_filter_sleepable(const struct tp_sleepable_run *run, int rctx)
{
	const struct bpf_prog_array_item *item;
	u64 dropped = 0, refused;

	for (refused = run->refused; refused; refused &= refused - 1) {
		item = &run->array->items[__ffs64(refused)];
		/* Gone if the program is. */
		dropped = tp_session_drop(READ_ONCE(item->session), rctx, dropped);
	}
	return dropped;
}

/**
 * tp_put_sleepable - end what tp_run_sleepable() began
 */
void tp_put_sleepable(void)
{
	rcu_read_unlock_trace();
}
