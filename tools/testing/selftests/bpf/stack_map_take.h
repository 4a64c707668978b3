/* SPDX-License-Identifier: GPL-2.0 */
/* Definitions that the BPF program and the tests of the stack map share. */
#ifndef _STACK_MAP_TAKE_H
#define _STACK_MAP_TAKE_H

#define MAP_MAGIC	0x57ac57acULL
#define MAP_SLOTS	64
#define MAP_SAMPLED	4096
#define MAP_WALK	128
/* Number of frames in a value of stack_map_kfunc */
#define KFUNC_DEPTH	32

struct map_result {
	__s64 id;
	__u64 calls;
};

/*
 * Times that timed() measured, in nanoseconds: nothing, bpf_get_stackid(),
 * bpf_get_stack().
 */
struct map_times {
	__u64 empty, id, walk;
};

#endif
