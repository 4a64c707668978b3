/* SPDX-License-Identifier: GPL-2.0 */
/* What the program in the kernel and the tests say to each other. */
#ifndef _MAP_TAKE_H
#define _MAP_TAKE_H

#define MAP_MAGIC	0x57ac57acULL
#define MAP_SLOTS	64
#define MAP_SAMPLED	4096
#define MAP_WALK	128

struct map_result {
	__s64 id;
	__u64 calls;
};

/* What timed() measured, in nanoseconds: nothing, bpf_get_stackid(), bpf_get_stack(). */
struct map_times {
	__u64 empty, id, walk;
};

#endif
