/* SPDX-License-Identifier: GPL-2.0 */
/* What the programs in the kernel leave for the tool. */
#ifndef _OFFWAKETIME_H
#define _OFFWAKETIME_H

#define COMM_LEN	16

/* Instead of a stack id */
#define NO_STACK	(-1)	/* There is none: a kernel thread in user mode. */
#define LOST_STACK	(-2)	/* The stack map did not take it. */

struct stack_pair {
	__s32 kernel;
	__s32 user;
};

struct who {
	char			comm[COMM_LEN];
	__u32			tgid;
	struct stack_pair	stacks;
};

/* While nobody has woken it up, waker.tgid is (__u32)-1. */
struct interval_key {
	struct who	target;
	struct who	waker;
};

struct interval_sum {
	__u64 ns;
	__u64 count;
};

enum loss {
	/* bpf_get_stackid(): the slot holds another stack */
	LOST_EEXIST,
	/* ... the map is full */
	LOST_ENOMEM,
	/* ... anything else */
	LOST_OTHER,
	/* Map of tasks: full */
	LOST_TASK,
	/* Map of sums: full */
	LOST_SUM,
	LOSSES,
};

#endif
