/* SPDX-License-Identifier: GPL-2.0 */
/* Definitions that the programs and the test of output_record share. */
#ifndef TEST_OUTPUT_RECORD_H
#define TEST_OUTPUT_RECORD_H

#define HEAD_MAX	4096
#define DATA_MAX	(128 << 10)
#define DEPTH		64

/* Destinations of the programs. */
enum { TO_PERF, TO_RINGBUF, TO_ARRAY };

/* Stack map that the programs pass. */
enum { STACKS, STACKS_BUILD_ID, STACKS_NONE, STACKS_ARRAY };

/* Copied from include/linux/bpf_record.h, for compilers without kernel types. */
enum {
	RECORD_KERNEL		= 1 << 0,
	RECORD_USER		= 1 << 1,
	RECORD_KERNEL_ID	= 1 << 2,
	RECORD_USER_ID		= 1 << 3,
	RECORD_KERNEL_DATA	= 1 << 4,
};

struct record {
	__u32 size;
	__u32 stack;
	__u64 flags;
	__u32 kernel_id;
	__u32 user_id;
	__u32 skip;
	__u32 tail;
};

#define MARK_KERNEL	((__u64)-128)
#define MARK_USER	((__u64)-512)

#endif
