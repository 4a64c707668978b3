// SPDX-License-Identifier: GPL-2.0
/*
 * Sleepable BPF programs on tracepoints.  Only the tracepoints of system calls allow
 * them, as a task may take a page fault where it enters and leaves a system call.
 *
 * Sleepable programs run first, with preemption enabled and under RCU Tasks Trace.  Their
 * verdicts are kept until preemption is disabled and the record is written or dropped.
 * The array of programs and its sessions must therefore stay as long as a program may
 * sleep.
 *
 * Sleepable programs need no guard against recursion: a task does not enter a system call
 * while it is entering one.  tp_prog_may_nest() guards hits of other tracepoints in the
 * functions that a program calls.
 */
#include <linux/bits.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/rcupdate_trace.h>
#include <linux/tp_session.h>
#include <linux/trace_events.h>

#include "bpf_tp.h"

/* On x86, the check of an event takes 12 instructions, and the record of task_rename 170. */
#define TP_MANY_PROGS	12

static bool tp_prog_sleeps(const struct bpf_prog *prog)
{
	return prog->type == BPF_PROG_TYPE_TRACEPOINT && prog->sleepable;
}

/**
 * tp_array_sum_up - set the properties that the programs of an array share
 * @array:	Programs of a tracepoint or probe, which no hit can see yet.
 */
void tp_array_sum_up(struct bpf_prog_array *array)
{
	const struct bpf_prog_array_item *item;

	array->plain = array->items;
	array->ignores_ctx = TP_IGNORES_CTX;
	for (item = array->items; item->prog; item++) {
		array->reads_tp_header |= item->prog->aux->reads_tp_header;
		if (tp_prog_sleeps(item->prog))
			array->plain = item + 1;
		else
			array->ignores_ctx &= item->prog->aux->ignores_ctx;
	}
	/* Programs that sleep have events, too. */
	if (array->ignores_ctx && item - array->items >= TP_MANY_PROGS)
		array->ignores_ctx = TP_MANY_IGNORE_CTX;
}

/**
 * tp_array_add - complete an array of programs after one was added
 * @array:	Programs with the new one last.  No hit can see the array yet.
 * @session:	Session of the event that the new program is attached to.  NULL for a
 *		probe, whose verdict has no session.
 *
 * A sleepable program is moved before all programs that do not sleep.
 *
 * Return: 0, or -E2BIG if the array would have too many sleepable programs.
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
 * tp_run_sleepable - run the sleepable programs of a system call's event
 * @call:	Trace event of the system call.
 * @ctx:	Record that the programs see, preceded by the registers.  Its header is
 *		filled in if a program reads it.
 * @run:	Set to the verdicts of the programs.
 *
 * The caller must call tp_put_sleepable() after its last use of @run.
 *
 * Context: Process context.  May sleep.
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
 * tp_filter_sleepable - apply the verdicts of sleepable programs to a hit
 * @run:	Verdicts from tp_run_sleepable().
 * @rctx:	Recursion context of the hit, which the caller holds.
 *
 * Context: Preemption disabled.
 * Return: the sessions that dropped the hit, as tp_session_drop() returns them.
 */
u64 tp_filter_sleepable(const struct tp_sleepable_run *run, int rctx)
{
	const struct bpf_prog_array_item *item;
	u64 dropped = 0, refused;

	for (refused = run->refused; refused; refused &= refused - 1) {
		item = &run->array->items[__ffs64(refused)];
		/* NULL if the program has been detached meanwhile. */
		dropped = tp_session_drop(READ_ONCE(item->session), rctx, dropped);
	}
	return dropped;
}

/**
 * tp_put_sleepable - release the programs that tp_run_sleepable() ran
 */
void tp_put_sleepable(void)
{
	rcu_read_unlock_trace();
}
