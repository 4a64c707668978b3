/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _TRACE_BPF_TP_H
#define _TRACE_BPF_TP_H

#include <linux/bpf.h>
#include <linux/trace_events.h>

struct tp_session;

/**
 * struct tp_sleepable_run - verdicts of the sleepable BPF programs of one hit
 * @array:	Programs of the tracepoint, or NULL if it has none.
 * @refused:	Bitmap of the programs that returned 0, by index in @array.
 */
struct tp_sleepable_run {
	const struct bpf_prog_array	*array;
	u64				refused;
};

#ifdef CONFIG_BPF_EVENTS
u64 bpf_get_stack_sleepable(u64 r1, u64 r2, u64 r3, u64 r4, u64 r5);

int tp_array_add(struct bpf_prog_array *array, struct tp_session *session);
void tp_array_sum_up(struct bpf_prog_array *array);

/**
 * tp_has_sleepable - whether a system call's event has sleepable programs
 * @call:	Trace event of the system call.
 *
 * Context: Preemption disabled.
 * Return: true if at least one program may sleep.
 */
static inline bool tp_has_sleepable(const struct trace_event_call *call)
{
	const struct bpf_prog_array *array = rcu_dereference_sched(call->prog_array);

	return array && array->plain != array->items;
}

void tp_run_sleepable(struct trace_event_call *call, void *ctx,
		      struct tp_sleepable_run *run);
u64 tp_filter_sleepable(const struct tp_sleepable_run *run, int rctx);
void tp_put_sleepable(void);
#else
static inline bool tp_has_sleepable(const struct trace_event_call *call)
{
	return false;
}

static inline void tp_run_sleepable(struct trace_event_call *call, void *ctx,
				    struct tp_sleepable_run *run)
{
}

static inline u64 tp_filter_sleepable(const struct tp_sleepable_run *run, int rctx)
{
	return 0;
}

static inline void tp_put_sleepable(void)
{
}
#endif

#endif /* _TRACE_BPF_TP_H */
