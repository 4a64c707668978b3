/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_BPF_RECORD_H
#define _LINUX_BPF_RECORD_H

#include <linux/types.h>

/**
 * enum bpf_record_stack - stacks that bpf_output_record() writes to a record
 * @BPF_RECORD_KERNEL:		Kernel stack, walked now.
 * @BPF_RECORD_USER:		User stack of the current task, walked now.
 * @BPF_RECORD_KERNEL_ID:	Kernel stack stored under bpf_record::kernel_id.
 * @BPF_RECORD_USER_ID:		User stack stored under bpf_record::user_id.
 * @BPF_RECORD_KERNEL_DATA:	Kernel stack whose frames the dynptr holds, for example
 *				from bpf_get_task_stack().  The record then has no piece
 *				of data.
 */
enum bpf_record_stack {
	BPF_RECORD_KERNEL	= 1 << 0,
	BPF_RECORD_USER		= 1 << 1,
	BPF_RECORD_KERNEL_ID	= 1 << 2,
	BPF_RECORD_USER_ID	= 1 << 3,
	BPF_RECORD_KERNEL_DATA	= 1 << 4,
};

/**
 * struct bpf_record - description of a record for bpf_output_record()
 * @size:	Size of this structure in the program's version.  The bytes after the
 *		structure, except for the last @tail bytes, are the record's first piece.
 * @stack:	Stacks to write, bits of enum bpf_record_stack.
 * @flags:	Flags of bpf_perf_event_output() or bpf_ringbuf_output(), depending on
 *		the type of the map.
 * @kernel_id:	Return value of bpf_get_stackid() for the kernel stack.  An error
 *		stands for a stack without frames.
 * @user_id:	Return value of bpf_get_stackid() with BPF_F_USER_STACK.
 * @skip:	Number of innermost frames, at most 255, to leave out of a kernel stack
 *		that is walked now: those of the program and of the code that runs it.
 * @tail:	Number of bytes at the end of the memory that are the record's last piece.
 */
struct bpf_record {
	__u32 size;
	__u32 stack;
	__u64 flags;
	__u32 kernel_id;
	__u32 user_id;
	__u32 skip;
	__u32 tail;
};

struct bpf_dynptr;
struct bpf_map;

/* A kfunc, declared to avoid -Wmissing-prototypes warnings. */
int bpf_output_record(struct bpf_map *map, const struct bpf_record *rec, u32 rec__sz,
		      struct bpf_map *stacks__nullable,
		      const struct bpf_dynptr *data__nullable);

#endif /* _LINUX_BPF_RECORD_H */
