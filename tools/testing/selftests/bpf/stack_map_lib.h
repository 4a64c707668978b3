/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Stacks of any depth and content, which stacks_check() can prove to be complete.
 *
 * stacks_take() makes one system call with the frame pointer at a chain of frames that it
 * has written, and the kernel stores the return addresses that it finds there:
 *
 *	ips[0]		behind the system call
 *	ips[1]		MAP_TAG, the depth, the seed
 *	ips[k]		a hash of seed and k
 *
 * so that the seed names the stack, and no two stacks can be mixed unnoticed.
 */
#ifndef _STACK_MAP_LIB_H
#define _STACK_MAP_LIB_H

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "stack_map_take.h"
#include "stack_map_take.skel.h"

#define MAP_DEPTH	127
#define MAP_DEEPEST	1024

/**
 * struct stacks - a stack map and the program that fills it
 * @skel:	Skeleton of the program.
 * @fd:		Descriptor of the map.
 * @entries:	Number of entries of the map.
 * @depth:	Number of frames that a value of the map can hold.
 */
struct stacks {
	struct stack_map_take	*skel;
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

#define MAP_TAG		(1ULL << 45)
#define MAP_TAG_MASK	(~0ULL << 44)

/* A frame as the kernel's walk by frame pointers reads it. */
struct frame {
	struct frame	*next;
	uint64_t	ret;
};

/* Mix all bits into an address of user space that is not 0. */
static inline uint64_t ip_of(uint32_t seed, unsigned int index)
{
	uint64_t hash = ((uint64_t)seed << 32 | index) * 0x9e3779b97f4a7c15ULL;

	hash ^= hash >> 29;
	hash *= 0xbf58476d1ce4e5b9ULL;
	hash ^= hash >> 32;
	return (hash & ((1ULL << 44) - 1)) | 1;
}

/* Write the stack of @seed to @ips; ips[0] is left as it is. */
static inline void stacks_fill(uint64_t *ips, uint32_t seed, unsigned int depth)
{
	if (depth > 1)
		ips[1] = MAP_TAG | (uint64_t)depth << 32 | seed;
	for (unsigned int i = 2; i < depth; i++)
		ips[i] = ip_of(seed, i);
}

/**
 * stacks_check - check that a value is a complete stack of stacks_take()
 * @ips:	Value of the map, padded with zeroes.
 * @room:	Size of the value in frames.
 * @seed:	Set to the seed of the stack.
 *
 * Return: the depth of the stack, or 0 if it is damaged or from elsewhere.
 */
static inline unsigned int stacks_check(const uint64_t *ips, unsigned int room, uint32_t *seed)
{
	unsigned int depth, stored;

	if (room < 2 || (ips[1] & MAP_TAG_MASK) != MAP_TAG)
		return 0;
	*seed = ips[1];
	depth = ips[1] >> 32 & 0xfff;
	stored = depth < room ? depth : room;
	for (unsigned int i = 2; i < stored; i++) {
		if (ips[i] != ip_of(*seed, i))
			return 0;
	}
	for (unsigned int i = stored; i < room; i++) {
		if (ips[i])
			return 0;
	}
	return depth;
}

/**
 * stacks_open - load the program with a new map, and attach take() or timed()
 * @stacks:	Set to the program and its map.
 * @entries:	Number of entries of the map.
 * @depth:	Number of frames of a value.
 * @flags:	Flags of the map.
 * @with:	Other programs to load, which the caller must attach.
 *
 * Return: 0, or a negative errno.
 */
static inline int stacks_open(struct stacks *stacks, uint32_t entries, uint32_t depth,
			      uint32_t flags, unsigned int with)
{
	uint32_t frame = flags & BPF_F_STACK_BUILD_ID ?
			 sizeof(struct bpf_stack_build_id) : sizeof(uint64_t);
	struct stack_map_take *skel;
	struct bpf_map *map;
	int err;

	memset(stacks, 0, sizeof(*stacks));
	skel = stack_map_take__open();
	if (!skel)
		return -errno;
	map = skel->maps.stacks;
	err = bpf_map__set_max_entries(map, entries) ?:
	      bpf_map__set_value_size(map, depth * frame) ?:
	      bpf_map__set_map_flags(map, flags);
	if (err)
		goto destroy;
	skel->rodata->tgid = getpid();
	bpf_program__set_autoload(skel->progs.sample, with & STACKS_SAMPLE);
	bpf_program__set_autoload(skel->progs.take, !(with & STACKS_TIMED));
	bpf_program__set_autoload(skel->progs.timed, with & STACKS_TIMED);
	bpf_program__set_autoload(skel->progs.burst, with & STACKS_BURST);
	bpf_program__set_autoload(skel->progs.sample_nmi, with & STACKS_NMI);
	bpf_program__set_autoload(skel->progs.nested, with & STACKS_NESTED);
	bpf_program__set_autoload(skel->progs.record, with & STACKS_RECORD);
	err = stack_map_take__load(skel);
	if (err)
		goto destroy;
	skel->links.take = bpf_program__attach(with & STACKS_TIMED ? skel->progs.timed :
								     skel->progs.take);
	if (!skel->links.take) {
		err = -errno;
		goto destroy;
	}
	stacks->skel = skel;
	stacks->fd = bpf_map__fd(map);
	stacks->entries = entries;
	stacks->depth = depth;
	return 0;

destroy:
	stack_map_take__destroy(skel);
	return err;
}

static inline void stacks_close(struct stacks *stacks)
{
	stack_map_take__destroy(stacks->skel);
	stacks->skel = NULL;
}

/*
 * Make a system call with another frame pointer.  The chain of frames lies on this
 * thread's stack in the order of ordinary frames: inner frames below outer ones.
 */
static __attribute__((__noinline__, __unused__)) long
call_with(void *frames, unsigned long slot, unsigned long request)
{
	register void *base asm("rbx") = frames;
	long ret = SYS_getpgid;

	asm volatile("xchg %%rbp, %[base]\n\t"
		     "syscall\n\t"
		     "xchg %%rbp, %[base]"
		     : "+a"(ret), [base] "+r"(base)
		     : "D"(slot), "S"(request)
		     : "rcx", "r11", "memory");
	return ret;
}

static inline long result_of(struct stacks *stacks, unsigned int slot, uint64_t calls)
{
	volatile struct map_result *result = &stacks->skel->bss->results[slot];

	return result->calls == calls + 1 ? result->id : -EPROTO;
}

/* Build the frames of @ips, and return the innermost one, or NULL.  Walks end at NULL. */
static inline struct frame *chain(struct frame *frames, const uint64_t *ips, unsigned int depth)
{
	for (unsigned int i = 1; i < depth; i++) {
		frames[i - 1].next = &frames[i];
		frames[i - 1].ret = ips[i];
	}
	if (depth < 2)
		return NULL;
	frames[depth - 2].next = NULL;
	return frames;
}

/* Make only the system call, for processes that do not have the map. */
static inline void stacks_call(unsigned int slot, const uint64_t *ips, unsigned int depth,
			       uint64_t flags)
{
	struct frame frames[MAP_DEEPEST];

	call_with(chain(frames, ips, depth), slot, MAP_MAGIC << 32 | flags);
}

/*
 * Write @value to *@flag, and spin on a stack of known frames until another context
 * clears it.  The frames are those of stacks_take(), except for the innermost.
 */
static inline void stacks_spin(uint32_t seed, unsigned int depth, volatile __u32 *flag,
			       __u32 value)
{
	register struct frame *base asm("rbx");
	struct frame frames[MAP_DEEPEST];
	uint64_t ips[MAP_DEEPEST];

	stacks_fill(ips, seed, depth);
	base = chain(frames, ips, depth);
	asm volatile("xchg %%rbp, %[base]\n\t"
		     "movl %[value], (%[flag])\n"
		     "1:\tpause\n\t"
		     "cmpl $0, (%[flag])\n\t"
		     "jne 1b\n\t"
		     "xchg %%rbp, %[base]"
		     : [base] "+r"(base)
		     : [flag] "r"(flag), [value] "r"(value)
		     : "cc", "memory");
}

/* Store the stack of the frames @ips, as stacks_take() does; ips[0] is not used. */
static inline long stacks_take_ips(struct stacks *stacks, unsigned int slot, const uint64_t *ips,
				   unsigned int depth, uint64_t flags)
{
	volatile struct map_result *result = &stacks->skel->bss->results[slot];
	uint64_t calls = result->calls;

	stacks_call(slot, ips, depth, flags);
	return result_of(stacks, slot, calls);
}

/**
 * stacks_take - store the stack of @seed
 * @stacks:	Map to store it in.
 * @slot:	Slot of this thread, below MAP_SLOTS.
 * @seed:	Seed that determines the frames.
 * @depth:	Number of frames, at least 2.
 * @flags:	Flags of bpf_get_stackid().
 *
 * Return: the result of bpf_get_stackid(), or -EPROTO if the program did not run.
 */
static inline long stacks_take(struct stacks *stacks, unsigned int slot, uint32_t seed,
			       unsigned int depth, uint64_t flags)
{
	uint64_t ips[MAP_DEEPEST];

	stacks_fill(ips, seed, depth);
	return stacks_take_ips(stacks, slot, ips, depth, flags);
}

/* Take the caller's real stack. */
static __attribute__((__noinline__, __unused__)) long
stacks_take_here(struct stacks *stacks, unsigned int slot, uint64_t flags)
{
	volatile struct map_result *result = &stacks->skel->bss->results[slot];
	uint64_t calls = result->calls;

	call_with(__builtin_frame_address(0), slot, MAP_MAGIC << 32 | flags);
	return result_of(stacks, slot, calls);
}

/**
 * stacks_read - look up a stack
 * @stacks:	Map to read.
 * @id:		Id of the stack.
 * @seed:	Set to the seed of the stack.
 *
 * Return: 0, a negative errno, or -EBADMSG if the stack is damaged.
 */
static inline int stacks_read(const struct stacks *stacks, uint32_t id, uint32_t *seed)
{
	uint64_t ips[MAP_DEEPEST];

	*seed = 0;
	if (bpf_map_lookup_elem(stacks->fd, &id, ips))
		return -errno;
	return stacks_check(ips, stacks->depth, seed) ? 0 : -EBADMSG;
}

/* Number in the line of the file @path that begins with @key, or -1. */
static inline long long number_in(const char *path, const char *key)
{
	long long value = -1;
	char line[256];
	FILE *file;

	file = fopen(path, "r");
	if (!file)
		return -1;
	while (fgets(line, sizeof(line), file)) {
		if (!*key) {
			value = atoll(line);
			break;
		}
		if (!strncmp(line, key, strlen(key)))
			value = atoll(line + strlen(key));
	}
	fclose(file);
	return value;
}

/* As number_in(), in a file of the control group whose directory is open as @cgroup. */
static inline long long number_of_group(int cgroup, const char *file, const char *key)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", cgroup, file);
	return number_in(path, key);
}

static inline bool write_to(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);
	bool good = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return good;
}

/* Depths from 3 to 37, with a mean of 20. */
static inline unsigned int stacks_depth(uint32_t seed)
{
	return 3 + seed * 13 % 35;
}

#endif
