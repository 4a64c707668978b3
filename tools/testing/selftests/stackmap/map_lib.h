/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Stacks of any depth and content, each of which tells by itself whether it is whole.
 *
 * map_take() makes one system call with the frame pointer at a chain of frames that
 * it has written, and the kernel stores what it finds there:
 *
 *	ips[0]		behind the system call
 *	ips[1]		MAP_TAG, the depth, the seed
 *	ips[k]		a hash of seed and k
 *
 * so that the seed names the stack, and no two stacks can be mixed unnoticed.
 */
#ifndef _MAP_LIB_H
#define _MAP_LIB_H

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "map_take.h"

#define MAP_DEPTH	127
#define MAP_DEEPEST	1024

struct map_take_bpf;

/**
 * struct stacks - a stack map and the program that fills it
 * @skel:	The program.
 * @fd:		Its map.
 * @entries:	Of the map.
 * @depth:	Frames that a value of the map can hold.
 */
struct stacks {
	struct map_take_bpf	*skel;
	int			fd;
	uint32_t		entries;
	uint32_t		depth;
};

enum stacks_with {
	STACKS_SAMPLE	= 1 << 0,
	STACKS_NESTED	= 1 << 1,
	STACKS_NMI	= 1 << 2,
	STACKS_BURST	= 1 << 3,
	STACKS_TIMED	= 1 << 4,
	STACKS_RECORD	= 1 << 5,
};

/**
 * stacks_open - load the program with a map of its own, and attach take() or timed()
 * @stacks:	Out.
 * @entries:	Of the map.
 * @depth:	Frames of a value.
 * @flags:	Of the map.
 * @with:	Which of the other programs to load; the caller attaches them.
 *
 * Return: 0, or a negative errno.
 */
int stacks_open(struct stacks *stacks, uint32_t entries, uint32_t depth, uint32_t flags,
		enum stacks_with with);
void stacks_close(struct stacks *stacks);

/**
 * stacks_take - store the stack of @seed
 * @stacks:	Where to.
 * @seed:	Which.
 * @slot:	Of this thread, below MAP_SLOTS.
 * @depth:	Frames, at least 2.
 * @flags:	Of bpf_get_stackid().
 *
 * Return: what bpf_get_stackid() returned, or -EPROTO when the program did not run.
 */
long stacks_take(struct stacks *stacks, unsigned int slot, uint32_t seed,
		 unsigned int depth, uint64_t flags);

/* The same with frames as given; ips[0] is not taken. */
long stacks_take_ips(struct stacks *stacks, unsigned int slot, const uint64_t *ips,
		     unsigned int depth, uint64_t flags);

/* The system call alone: for processes that do not have the map. */
void stacks_call(unsigned int slot, const uint64_t *ips, unsigned int depth,
		 uint64_t flags);

/* Take the stack of the place where it is called, nothing made up. */
long stacks_take_here(struct stacks *stacks, unsigned int slot, uint64_t flags);

/*
 * On such a stack, write @value to *@flag and spin until somebody else has cleared it.
 * The frames are those of stacks_take(), but for the innermost.
 */
void stacks_spin(uint32_t seed, unsigned int depth, volatile __u32 *flag, __u32 value);

/* Write the stack of @seed to @ips; ips[0] is left as it is. */
void stacks_fill(uint64_t *ips, uint32_t seed, unsigned int depth);

/**
 * stacks_check - is this a whole stack of stacks_take()?
 * @ips:	A value of the map, filled up with zeroes.
 * @room:	Its size in frames.
 * @seed:	Out: which.
 *
 * Return: its depth; 0 when it is none, or damaged.
 */
unsigned int stacks_check(const uint64_t *ips, unsigned int room, uint32_t *seed);

/**
 * stacks_read - look @id up
 * @stacks:	The map.
 * @id:		In it.
 * @seed:	Out: which stack it is.
 *
 * Return: 0 and the seed, a negative errno, or -EBADMSG for a damaged stack.
 */
int stacks_read(const struct stacks *stacks, uint32_t id, uint32_t *seed);

/* The number in the line of the file @path that begins with @key, or -1. */
long long number_in(const char *path, const char *key);
bool write_to(const char *path, const char *text);

/* Depths from 3 to 37, 20 in the mean. */
static inline unsigned int stacks_depth(uint32_t seed)
{
	return 3 + seed * 13 % 35;
}

#endif
