/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What each hit of a tracepoint with BPF programs does.  Inline, as perf has a way of its
 * own for hits that need no record, where a function call is a tenth of all.
 */
#ifndef _LINUX_BPF_TP_RUN_H
#define _LINUX_BPF_TP_RUN_H

#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/tp_session.h>

/* The program of a tracepoint that runs on this CPU, for each of perf's contexts. */
struct tp_running {
	struct bpf_prog *prog[PERF_NR_CONTEXTS];
};

DECLARE_PER_CPU(struct tp_running, tp_running);

bool tp_prog_may_nest(struct bpf_prog *prog, int active, struct bpf_prog **running, int rctx);

/*
 * Preemption is off, which is all that RCU needs. Programs and helpers that check for
 * rcu_read_lock() with lockdep want to see it, though.
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
 * @array:	The programs.
 * @ctx:	Their context, or NULL if none of them reads it.
 * @size:	Of the record that it is.
 * @rctx:	The hit's recursion context, which the caller holds.
 * @dropped:	Who has dropped the hit so far; 0 is nobody.
 *
 * Called with preemption disabled, in any context.
 *
 * Return: as trace_filter_bpf()
 */
static __always_inline u64 tp_progs_run(const struct bpf_prog_array *array, void *ctx,
					u32 size, int rctx, u64 dropped)
{
	struct bpf_trace_run_ctx run_ctx = { .tp_record = ctx, .tp_size = size };
	const struct bpf_prog_array_item *item;
	struct bpf_prog *prog, **running;
	struct bpf_run_ctx *old_run_ctx;
	unsigned long busy;
	int active;

	cant_sleep();
	tp_progs_lock();
	running = this_cpu_ptr(&tp_running)->prog;
	active = __this_cpu_add_return(bpf_prog_active, BPF_TP_PROGRAM) - BPF_TP_PROGRAM;
	old_run_ctx = bpf_set_run_ctx(&run_ctx.run_ctx);
	busy = active | (unsigned long)old_run_ctx;
	for (item = array->plain; (prog = READ_ONCE(item->prog)); item++) {
		run_ctx.bpf_cookie = item->bpf_cookie;
		if (likely(!busy) || tp_prog_may_nest(prog, active, running, rctx)) {
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

#endif /* _LINUX_BPF_TP_RUN_H */
