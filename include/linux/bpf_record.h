/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_BPF_RECORD_H
#define _LINUX_BPF_RECORD_H

#include <linux/types.h>

/**
 * enum bpf_record_stack - which stacks bpf_output_record() puts into a record
 * @BPF_RECORD_KERNEL:		The kernel's, walked now.
 * @BPF_RECORD_USER:		The current task's user stack, walked now.
 * @BPF_RECORD_KERNEL_ID:	Of the kernel, stored as bpf_record::kernel_id.
 * @BPF_RECORD_USER_ID:		Of user space, stored as bpf_record::user_id.
 * @BPF_RECORD_KERNEL_DATA:	Of the kernel, the addresses that the dynptr holds, as
 *				bpf_get_task_stack() gives them. They are no last piece then.
 */
enum bpf_record_stack {
	BPF_RECORD_KERNEL	= 1 << 0,
	BPF_RECORD_USER		= 1 << 1,
	BPF_RECORD_KERNEL_ID	= 1 << 2,
	BPF_RECORD_USER_ID	= 1 << 3,
	BPF_RECORD_KERNEL_DATA	= 1 << 4,
};

/**
 * struct bpf_record - what bpf_output_record() is to write
 * @size:	Of this structure, as the program knows it.  The rest of the memory is
 *		the record's first piece, but for @tail.
 * @stack:	Bits of enum bpf_record_stack.
 * @flags:	As for bpf_perf_event_output() or bpf_ringbuf_output(), by the map.
 * @kernel_id:	What bpf_get_stackid() returned. An error is a stack of no frames.
 * @user_id:	The same for BPF_F_USER_STACK.
 * @skip:	Frames to leave out of a kernel stack that is walked now: those of the
 *		program and of what runs it; at most 255.
 * @tail:	How many bytes at the end of the memory are the record's last piece.
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

/* A kfunc: declared for those who check that all global functions are. */
int bpf_output_record(struct bpf_map *map, const struct bpf_record *rec, u32 rec__sz,
		      struct bpf_map *stacks__nullable,
		      const struct bpf_dynptr *data__nullable);

#endif /* _LINUX_BPF_RECORD_H */
