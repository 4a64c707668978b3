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

/* Tracepoint programs that run on this CPU now, for each of perf's recursion contexts. */
struct tp_running {
	struct bpf_prog *prog[PERF_NR_CONTEXTS];
};

DECLARE_PER_CPU(struct tp_running, tp_running);

u64 tp_progs_run_nested(const struct bpf_prog_array_item *item,
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

/*
 * Run the program of @item, and return the sessions that have dropped the hit now.  @ctx may be a
 * constant, which @run_ctx cannot have.
 */
static __always_inline u64 tp_prog_run(struct bpf_prog *prog,
				       const struct bpf_prog_array_item *item, void *ctx,
				       struct bpf_trace_run_ctx *run_ctx, int rctx, u64 dropped)
{
	__this_cpu_write(tp_running.prog[rctx], prog);
	run_ctx->bpf_cookie = item->bpf_cookie;
	if (bpf_prog_run(prog, ctx))
		return dropped;
	return tp_session_drop(READ_ONCE(item->session), rctx, dropped);
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
	struct bpf_run_ctx *old_run_ctx;
	struct bpf_trace_run_ctx run_ctx;
	struct bpf_prog *prog;
	int active;

	/* tp_prog_run() sets the cookie. */
	run_ctx.is_uprobe = false;
	run_ctx.tp_record = ctx;
	run_ctx.tp_size = size;

	cant_sleep();
	tp_progs_lock();
	active = __this_cpu_add_return(bpf_prog_active, BPF_TP_PROGRAM) - BPF_TP_PROGRAM;
	old_run_ctx = bpf_set_run_ctx(&run_ctx.run_ctx);
	if (unlikely(active))
		dropped = tp_progs_run_nested(item, &run_ctx, active, rctx, dropped);
	else
		for (; (prog = READ_ONCE(item->prog)); item++)
			dropped = tp_prog_run(prog, item, ctx, &run_ctx, rctx, dropped);
	__this_cpu_write(tp_running.prog[rctx], NULL);
	bpf_reset_run_ctx(old_run_ctx);
	__this_cpu_sub(bpf_prog_active, BPF_TP_PROGRAM);
	tp_progs_unlock();
	return dropped;
}

#endif /* CONFIG_BPF_EVENTS */

#endif /* _LINUX_BPF_TP_RUN_H */
