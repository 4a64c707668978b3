/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel's view of a user stack, by perf's deferred callchains.
 *
 * The numbers of the ABI stand here and not in the system's headers, which may be
 * older than the kernel under test.
 */
#ifndef _UNWIND_PERF_H
#define _UNWIND_PERF_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define UNWIND_RECORD_DEFERRED	22
#define UNWIND_CONTEXT_DEFERRED	((uint64_t)-640)
#define UNWIND_CONTEXT_USER	((uint64_t)-512)
/* The deepest that a test asks for, and its marks. */
#define UNWIND_MAX_IPS		(1024 + 8)

#define UNWIND_PR_ADD_SFRAME	0x53464d41
#define UNWIND_PR_REMOVE_SFRAME	0x53464d52
#define UNWIND_SFRAME_ADD_LAZY	1

struct unwind_region {
	uint64_t sframe_start;
	uint64_t sframe_size;
	uint64_t text_start;
	uint64_t text_size;
};

enum unwind_flags {
	/* Starts when the task calls exec. */
	UNWIND_ON_EXEC		= 1 << 0,
	/* Takes samples but no deferred records. */
	UNWIND_NO_RECORDS	= 1 << 1,
	/* Takes deferred records but does not ask for them. */
	UNWIND_NO_REQUESTS	= 1 << 2,
	/* No user part at all. */
	UNWIND_NO_USER		= 1 << 3,
	/* Only what happens in user mode. */
	UNWIND_USER_MODE	= 1 << 4,
	/* Also of the task's children; needs a CPU, as its ring does. */
	UNWIND_INHERIT		= 1 << 5,
	/* unwind_event::pid is the descriptor of a cgroup's directory. */
	UNWIND_CGROUP		= 1 << 6,
	/* As tools that know nothing of deferral. */
	UNWIND_AT_ONCE		= UNWIND_NO_RECORDS | UNWIND_NO_REQUESTS,
};

/**
 * struct unwind_event - what to sample
 * @type:	PERF_TYPE_SOFTWARE ...
 * @config:	... and what of it; of a breakpoint the address of the instruction.
 * @config1:	What else the type ...
 * @config2:	... wants: of a uprobe the path of the file and the offset in it.
 * @period:	0 stands for 1.
 * @flags:	enum unwind_flags.
 * @pid:	0: this thread; -1: all of @cpu.
 * @cpu:	-1: on any.
 * @max_stack:	Of the callchain; 0: as the system has it.
 */
struct unwind_event {
	uint32_t	type;
	uint64_t	config;
	uint64_t	config1;
	uint64_t	config2;
	uint64_t	period;
	unsigned int	flags;
	pid_t		pid;
	int		cpu;
	uint16_t	max_stack;
};

/**
 * struct unwind_perf - an open event and its ring
 * @fd:		The event.
 * @page:	The ring's first page.
 * @size:	Bytes of the mapping.
 * @lost:	Records that the ring had no room for, as far as it has been read.
 * @senseless:	Records that were not what their header says.
 */
struct unwind_perf {
	int				fd;
	struct perf_event_mmap_page	*page;
	size_t				size;
	unsigned long			lost;
	unsigned long			senseless;
};

/**
 * struct unwind_record - one record of the ring
 * @type:	PERF_RECORD_SAMPLE or UNWIND_RECORD_DEFERRED; others are passed over.
 * @pid:	The process ...
 * @tid:	... and the thread that it is of.
 * @cookie:	Of a sample without deferred part: 0.
 * @nr:		Entries of @ips.
 * @ips:	A sample's callchain as it is, or the deferred stack.
 */
struct unwind_record {
	uint32_t	type;
	uint32_t	pid;
	uint32_t	tid;
	uint64_t	cookie;
	uint64_t	nr;
	uint64_t	ips[UNWIND_MAX_IPS];
};

/*
 * Opens an event and its ring.  Returns 0 or -errno; -EINVAL where the kernel does
 * not know deferred callchains.
 */
int unwind_perf_open_event(struct unwind_perf *perf, const struct unwind_event *event);
/* An event of @pid on any CPU that samples each time. */
int unwind_perf_open(struct unwind_perf *perf, pid_t pid, uint32_t type,
		     uint64_t config, unsigned int flags);
void unwind_perf_close(struct unwind_perf *perf);
/* Takes the next record, if there is one. */
bool unwind_perf_next(struct unwind_perf *perf, struct unwind_record *record);
/* Takes all there is. */
void unwind_perf_drain(struct unwind_perf *perf);
/*
 * The next deferred record whose innermost frame is @ip; passes over all before.
 */
bool unwind_perf_stack_at(struct unwind_perf *perf, uint64_t ip,
			  struct unwind_record *record);
/*
 * The next sample whose innermost user frame is @ip, without those of the kernel;
 * passes over all before.
 */
bool unwind_perf_sample_at(struct unwind_perf *perf, uint64_t ip,
			   struct unwind_record *record);
/*
 * Keeps only the user's frames of a sample's callchain; a deferred record has no
 * others.  Returns how many there are.
 */
uint64_t unwind_user_part(struct unwind_record *record);
/* The address of a kernel function, or 0. */
uint64_t unwind_kernel_symbol(const char *name);
/* The id of a tracepoint like "syscalls/sys_enter_execve", or -1. */
long unwind_tracepoint(const char *name);

/* The type of events of a PMU like "uprobe", or -1. */
int unwind_pmu(const char *name);
/* Where @address of this program is in its file, or -1. */
long unwind_file_offset(uintptr_t address);

/* Why the tests of deferred callchains cannot run here; NULL: they can. */
const char *unwind_perf_missing(void);

/*
 * Fills in the region of the loaded object whose path ends in @name.  Returns
 * false when it is not loaded or has no table.
 */
bool unwind_find_region(const char *name, struct unwind_region *region);

/*
 * Drops @region's table from memory: the pages of its file are still cached, but reading
 * it takes page faults.
 */
bool unwind_forget_table(const struct unwind_region *region);

#endif /* _UNWIND_PERF_H */
