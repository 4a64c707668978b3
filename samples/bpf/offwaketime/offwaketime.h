/* SPDX-License-Identifier: GPL-2.0 */
/* What the BPF programs and the tool share. */
#ifndef _OFFWAKETIME_H
#define _OFFWAKETIME_H

#define COMM_LEN	16
#define NAME_LEN	128
#define DEPTH		127

/* Instead of a stack id: there is no stack, or the stack map did not take it. */
#define NO_STACK	(-1)
#define LOST_STACK	(-2)

/*
 * What a process maps. Forks share it until they map or unmap code; exec makes another
 * one, with a stack at a random address.
 */
struct image {
	__u64	exe;
	__u64	stack;
	__u64	exec_pages;
};

/* Where the tool finds an image that is new to it */
struct note {
	struct image	image;
	__u64		tgid;
};

struct who {
	struct image	image;
	char		comm[COMM_LEN];
	__s32		kernel;
	__s32		user;
};

struct pair {
	struct who	target;
	struct who	waker;
};

enum loss { LOST_EEXIST, LOST_ENOMEM, LOST_OTHER, LOST_TASK, LOST_SUM, LOST_NOTE, LOSSES };

#endif
