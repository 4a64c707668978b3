/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Run the BPF programs of a tracepoint at each hit.  Inline, because perf has a fast path
 * for hits that need no record, where a function call would be a tenth of the cost.
 */
#ifndef _LINUX_BPF_TP_RUN_H
#define _LINUX_BPF_TP_RUN_H

#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/tp_session.h>

#ifdef CONFIG_BPF_EVENTS

/**
 * struct tp_running - the tracepoint programs that run on a CPU, but for those that sleep
 * @item:	Entry of the program that runs now, or has just run, or NULL.
 * @rctx:	Recursion context of its hit.
 * @below:	Entries of those that it and other programs interrupted, or NULL, by the recursion
 *		context of what interrupted them.
 */
struct tp_running {
	const struct bpf_prog_array_item *item;
	int rctx;
	const struct bpf_prog_array_item *below[PERF_NR_CONTEXTS];
};

DECLARE_PER_CPU(struct tp_running, tp_running);

u64 tp_progs_run_each(const struct bpf_prog_array_item *item,
		      struct bpf_trace_run_ctx *run_ctx, int active, int rctx, u64 dropped);

/*
 * Preemption is disabled, which suffices as an RCU read-side critical section.  With
 * lockdep, though, programs and helpers check that rcu_read_lock() was called.
 */
static __always_inline void tp_progs_lock(void)
{
	if (IS_ENABLED(CONFIG_DEBUG_LOCK_ALLOC))
		rcu_read_lock();
}

static __always_inline void tp_progs_unlock(void)
{
	if (IS_ENABLED(CONFIG_DEBUG_LOCK_ALLOC))
		rcu_read_unlock();
}

/* Run @prog, the program of @item, and return what it returned. */
static __always_inline u32 tp_prog_run(struct bpf_prog *prog,
				       const struct bpf_prog_array_item *item, void *ctx)
{
	/* For programs that interrupt this one, and for bpf_get_attach_cookie() */
	__this_cpu_write(tp_running.item, item);
	return bpf_prog_run(prog, ctx);
}

/**
 * tp_progs_run - run the BPF programs of a tracepoint that do not sleep
 * @array:	Programs of the tracepoint.
 * @ctx:	Record that the programs get as their context, or NULL if no program
 *		reads it.
 * @size:	Size of the record.
 * @rctx:	Recursion context of the hit, which the caller holds.
 * @dropped:	Sessions that have dropped the hit so far, as tp_session_drop() returned
 *		them, or 0.
 *
 * Context: Any, with preemption disabled.
 * Return: the sessions that dropped the hit, as tp_session_drop() returns them.
 */
static __always_inline u64 tp_progs_run(const struct bpf_prog_array *array, void *ctx,
					u32 size, int rctx, u64 dropped)
{
	const struct bpf_prog_array_item *item = array->plain;
	struct tp_session *session = READ_ONCE(array->session);
	struct bpf_run_ctx *old_run_ctx;
	struct bpf_trace_run_ctx run_ctx;
	unsigned int refused = 0;
	struct bpf_prog *prog;
	int active;

	/* bpf_get_attach_cookie() takes the cookie from the program's entry. */
	run_ctx.is_uprobe = false;
	run_ctx.tp_record = ctx;
	run_ctx.tp_size = size;

	cant_sleep();
	tp_progs_lock();
	active = __this_cpu_add_return(bpf_prog_active, BPF_TP_PROGRAM) - BPF_TP_PROGRAM;
	old_run_ctx = bpf_set_run_ctx(&run_ctx.run_ctx);
	if (unlikely(active) || unlikely(!session)) {
		dropped = tp_progs_run_each(item, &run_ctx, active, rctx, dropped);
	} else {
		__this_cpu_write(tp_running.rctx, rctx);
		for (; (prog = READ_ONCE(item->prog)); item++)
			refused += !tp_prog_run(prog, item, ctx);
		__this_cpu_write(tp_running.item, NULL);
		dropped = tp_session_drop(refused ? session : NULL, rctx, dropped);
	}
	/* Compilers would keep beside it whether it is 0. */
	OPTIMIZER_HIDE_VAR(dropped);
	bpf_reset_run_ctx(old_run_ctx);
	__this_cpu_sub(bpf_prog_active, BPF_TP_PROGRAM);
	tp_progs_unlock();
	return dropped;
}

#endif /* CONFIG_BPF_EVENTS */

#endif /* _LINUX_BPF_TP_RUN_H */
