// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "map_lib.h"
#include "map_take.skel.h"

#define MAP_TAG		(1ULL << 45)
#define MAP_TAG_MASK	(~0ULL << 44)

/* What the kernel's walk by frame pointers reads. */
struct frame {
	struct frame	*next;
	uint64_t	ret;
};

static int no_output(enum libbpf_print_level level, const char *format, va_list args)
{
	if (level > LIBBPF_WARN || !getenv("STACKMAP_VERBOSE"))
		return 0;
	return vfprintf(stderr, format, args);
}

int stacks_open(struct stacks *stacks, uint32_t entries, uint32_t depth, uint32_t flags,
		enum stacks_with with)
{
	uint32_t frame = flags & BPF_F_STACK_BUILD_ID ?
			 sizeof(struct bpf_stack_build_id) : sizeof(uint64_t);
	struct map_take_bpf *skel;
	struct bpf_map *map;
	int err;

	libbpf_set_print(no_output);
	memset(stacks, 0, sizeof(*stacks));
	skel = map_take_bpf__open();
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
	err = map_take_bpf__load(skel);
	if (err)
		goto destroy;
	skel->links.take = bpf_program__attach(with & STACKS_TIMED ? skel->progs.timed :
								     skel->progs.take);
	if (!skel->links.take) {
		err = -errno;
		goto destroy;
	}
	*stacks = (struct stacks){
		.skel = skel,
		.fd = bpf_map__fd(map),
		.entries = entries,
		.depth = depth,
	};
	return 0;

destroy:
	map_take_bpf__destroy(skel);
	return err;
}

void stacks_close(struct stacks *stacks)
{
	map_take_bpf__destroy(stacks->skel);
	stacks->skel = NULL;
}

/*
 * A system call with another frame pointer. The chain of frames lies on this thread's
 * stack in the order of ordinary frames: inner ones below outer ones.
 */
static __attribute__((noinline)) long call_with(struct frame *frames, unsigned long slot,
						unsigned long request)
{
	register struct frame *base asm("rbx") = frames;
	long ret = SYS_getpgid;

	asm volatile("xchg %%rbp, %[base]\n\t"
		     "syscall\n\t"
		     "xchg %%rbp, %[base]"
		     : "+a"(ret), [base] "+r"(base)
		     : "D"(slot), "S"(request)
		     : "rcx", "r11", "memory");
	return ret;
}

static long result_of(struct stacks *stacks, unsigned int slot, uint64_t calls)
{
	volatile struct map_result *result = &stacks->skel->bss->results[slot];

	return result->calls == calls + 1 ? result->id : -EPROTO;
}

/* The frames of @ips: the innermost one, or NULL. The walk ends at NULL. */
static struct frame *chain(struct frame *frames, const uint64_t *ips, unsigned int depth)
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

void stacks_call(unsigned int slot, const uint64_t *ips, unsigned int depth,
		 uint64_t flags)
{
	struct frame frames[MAP_DEEPEST];

	call_with(chain(frames, ips, depth), slot, MAP_MAGIC << 32 | flags);
}

void stacks_spin(uint32_t seed, unsigned int depth, volatile __u32 *flag, __u32 value)
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

long stacks_take_ips(struct stacks *stacks, unsigned int slot, const uint64_t *ips,
		     unsigned int depth, uint64_t flags)
{
	volatile struct map_result *result = &stacks->skel->bss->results[slot];
	uint64_t calls = result->calls;

	stacks_call(slot, ips, depth, flags);
	return result_of(stacks, slot, calls);
}

long stacks_take(struct stacks *stacks, unsigned int slot, uint32_t seed,
		 unsigned int depth, uint64_t flags)
{
	uint64_t ips[MAP_DEEPEST];

	stacks_fill(ips, seed, depth);
	return stacks_take_ips(stacks, slot, ips, depth, flags);
}

long stacks_take_here(struct stacks *stacks, unsigned int slot, uint64_t flags)
{
	volatile struct map_result *result = &stacks->skel->bss->results[slot];
	uint64_t calls = result->calls;

	call_with(__builtin_frame_address(0), slot, MAP_MAGIC << 32 | flags);
	return result_of(stacks, slot, calls);
}

/* Spreads all bits, and stays a user address that is not 0. */
static uint64_t ip_of(uint32_t seed, unsigned int index)
{
	uint64_t hash = ((uint64_t)seed << 32 | index) * 0x9e3779b97f4a7c15ULL;

	hash ^= hash >> 29;
	hash *= 0xbf58476d1ce4e5b9ULL;
	hash ^= hash >> 32;
	return (hash & ((1ULL << 44) - 1)) | 1;
}

void stacks_fill(uint64_t *ips, uint32_t seed, unsigned int depth)
{
	if (depth > 1)
		ips[1] = MAP_TAG | (uint64_t)depth << 32 | seed;
	for (unsigned int i = 2; i < depth; i++)
		ips[i] = ip_of(seed, i);
}

unsigned int stacks_check(const uint64_t *ips, unsigned int room, uint32_t *seed)
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

int stacks_read(const struct stacks *stacks, uint32_t id, uint32_t *seed)
{
	uint64_t ips[MAP_DEEPEST];

	if (bpf_map_lookup_elem(stacks->fd, &id, ips))
		return -errno;
	return stacks_check(ips, stacks->depth, seed) ? 0 : -EBADMSG;
}

long long number_in(const char *path, const char *key)
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

bool write_to(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);
	bool good = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return good;
}
