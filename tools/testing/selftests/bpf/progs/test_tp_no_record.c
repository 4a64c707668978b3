// SPDX-License-Identifier: GPL-2.0
/* Programs that read the record of a hit in unusual ways, and one that does not read it. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "bpf_misc.h"

char _license[] SEC("license") = "GPL";

/* First fields of the record of task:task_rename. */
struct rename {
	__u64 common;
	__s32 pid;
};

/* inputs: task whose hits count, and a value that the verifier does not know */
__s32 self = 0;
int zero = 0;

/* outputs: pid in the record if it is the right one, number of hits, hits with a record */
__s32 pid = 0;
__u64 hits = 0;
__u64 records = 0;

static void found(__s32 found_pid)
{
	if (found_pid == self)
		pid = found_pid;
}

/* Inline: a call of a function would count as reading the context. */
static __always_inline int count_hit(void)
{
	if (bpf_get_current_pid_tgid() >> 32 == self)
		hits++;
	return 1;
}

/* The tag lets extension programs replace this function. */
SEC("tp/task/task_rename")
int reads_nothing(struct rename *ctx __arg_ctx)
{
	return count_hit();
}

/*
 * Without the tag, extension programs read the context as a number, which needs no kernel
 * BTF.
 */
SEC("tp/task/task_rename")
int reads_nothing_either(struct rename *ctx)
{
	return count_hit();
}

/* perf calls this with a record. */
SEC("kprobe/perf_trace_run_bpf_submit")
int with_record(struct pt_regs *ctx)
{
	if (bpf_get_current_pid_tgid() >> 32 == self)
		records++;
	return 0;
}

SEC("tp/task/task_rename")
int after_a_jump(struct rename *ctx)
{
	if (zero)
		return 1;
	found(ctx->pid);
	return 1;
}

SEC("tp/task/task_rename")
int by_a_helper(struct rename *ctx)
{
	struct rename record = {};

	bpf_probe_read_kernel(&record, sizeof(record), ctx);
	found(record.pid);
	return 1;
}

static __noinline __s32 pid_of(struct rename *ctx)
{
	return ctx->pid;
}

SEC("tp/task/task_rename")
int in_a_function(struct rename *ctx)
{
	found(pid_of(ctx));
	return 1;
}

/* With the record in r2: found() and return 1. */
#define FOUND_IN_R2				\
	"r2 = *(u32 *)(r2 + 8);"		\
	"r3 = %[self] ll;"			\
	"r3 = *(u32 *)(r3 + 0);"		\
	"if r2 != r3 goto 1f;"			\
	"r1 = %[pid] ll;"			\
	"*(u32 *)(r1 + 0) = r2;"		\
	"1: r0 = 1;"				\
	"exit;"

SEC("tp/task/task_rename")
__naked int from_another_register(void)
{
	asm volatile ("r2 = r1;"
		      "r1 = 0;"
		      FOUND_IN_R2
		      :
		      : __imm_addr(pid), __imm_addr(self)
		      : __clobber_all);
}

SEC("tp/task/task_rename")
__naked int from_the_stack(void)
{
	asm volatile ("*(u64 *)(r10 - 8) = r1;"
		      "r1 = 0;"
		      "r2 = *(u64 *)(r10 - 8);"
		      FOUND_IN_R2
		      :
		      : __imm_addr(pid), __imm_addr(self)
		      : __clobber_all);
}

/* Read the context register after instructions that do not overwrite it. */
SEC("tp/task/task_rename")
__naked int late(void)
{
	asm volatile ("r0 = 1;"
		      "r2 = 0;"
		      "*(u64 *)(r10 - 8) = r2;"
		      "*(u32 *)(r10 - 16) = 7;"
		      "r3 = %[pid] ll;"
		      "r4 = %[self] ll;"
		      "r4 = *(u32 *)(r4 + 0);"
		      "r1 = *(u32 *)(r1 + 8);"
		      "if r1 != r4 goto 1f;"
		      "*(u32 *)(r3 + 0) = r1;"
		      "1: exit;"
		      :
		      : __imm_addr(pid), __imm_addr(self)
		      : __clobber_all);
}

/* The verifier drops the first store and its load where it knows the helper's code. */
SEC("tp/task/task_rename")
__naked int after_a_helper(void)
{
	asm volatile ("*(u64 *)(r10 - 8) = r1;"
		      "call %[bpf_get_smp_processor_id];"
		      "r1 = *(u64 *)(r10 - 8);"
		      "r2 = *(u32 *)(r1 + 8);"
		      "r3 = %[self] ll;"
		      "r3 = *(u32 *)(r3 + 0);"
		      "if r2 != r3 goto 1f;"
		      "r3 = %[pid] ll;"
		      "*(u32 *)(r3 + 0) = r2;"
		      "1: r0 = 1;"
		      "exit;"
		      :
		      : __imm(bpf_get_smp_processor_id), __imm_addr(pid), __imm_addr(self)
		      : __clobber_all);
}
