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

bool tp_prog_may_nest(struct bpf_prog *prog, int active, struct bpf_prog **running, int rctx);

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
	struct bpf_trace_run_ctx run_ctx = { .tp_record = ctx, .tp_size = size };
	const struct bpf_prog_array_item *item;
	struct bpf_prog *prog, **running;
	struct bpf_run_ctx *old_run_ctx;
	int active;

	cant_sleep();
	tp_progs_lock();
	running = this_cpu_ptr(&tp_running)->prog;
	active = __this_cpu_add_return(bpf_prog_active, BPF_TP_PROGRAM) - BPF_TP_PROGRAM;
	old_run_ctx = bpf_set_run_ctx(&run_ctx.run_ctx);
	for (item = array->plain; (prog = READ_ONCE(item->prog)); item++) {
		run_ctx.bpf_cookie = item->bpf_cookie;
		if (likely(!active) || tp_prog_may_nest(prog, active, running, rctx)) {
			WRITE_ONCE(running[rctx], prog);
			if (bpf_prog_run(prog, ctx))
				continue;
		}
		dropped = tp_session_drop(READ_ONCE(item->session), rctx, dropped);
	}
	WRITE_ONCE(running[rctx], NULL);
	bpf_reset_run_ctx(old_run_ctx);
	__this_cpu_sub(bpf_prog_active, BPF_TP_PROGRAM);
	tp_progs_unlock();
	return dropped;
}

#endif /* CONFIG_BPF_EVENTS */

#endif /* _LINUX_BPF_TP_RUN_H */
