/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Read user stacks by perf's deferred callchains.
 *
 * ABI constants are defined here, as the system's headers may be older than the kernel
 * under test.
 */
#ifndef _UNWIND_PERF_H
#define _UNWIND_PERF_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "perf_ring.h"

#define UNWIND_RECORD_DEFERRED	22
#define UNWIND_CONTEXT_DEFERRED	((uint64_t)-640)
#define UNWIND_CONTEXT_USER	((uint64_t)-512)
/* Maximum depth in the tests, with room for marks. */
#define UNWIND_MAX_IPS		(1024 + 8)

#define UNWIND_PR_ADD_SFRAME	0x53464d41
#define UNWIND_PR_REMOVE_SFRAME	0x53464d52

struct unwind_region {
	uint64_t sframe_start;
	uint64_t sframe_size;
	uint64_t text_start;
	uint64_t text_size;
};

enum unwind_flags {
	/* Start when the task calls exec. */
	UNWIND_ON_EXEC		= 1 << 0,
	/* Take samples but no deferred records. */
	UNWIND_NO_RECORDS	= 1 << 1,
	/* Take deferred records but do not request them. */
	UNWIND_NO_REQUESTS	= 1 << 2,
	/* Leave out the user part. */
	UNWIND_NO_USER		= 1 << 3,
	/* Sample only user mode. */
	UNWIND_USER_MODE	= 1 << 4,
	/* Sample the task's children as well.  Needs a CPU, because of the ring. */
	UNWIND_INHERIT		= 1 << 5,
	/* unwind_event::pid is the descriptor of a cgroup's directory. */
	UNWIND_CGROUP		= 1 << 6,
	/* Behave as tools that do not know deferred callchains. */
	UNWIND_AT_ONCE		= UNWIND_NO_RECORDS | UNWIND_NO_REQUESTS,
};

/**
 * struct unwind_event - description of the event to open
 * @type:	Type of the event, such as PERF_TYPE_SOFTWARE.
 * @config:	Event of that type; for a breakpoint, the address of the instruction.
 * @config1:	First argument of the event; for a uprobe, the path of the file.
 * @config2:	Second argument of the event; for a uprobe, the offset in the file.
 * @period:	Sample period; 0 stands for 1.
 * @flags:	Bits of enum unwind_flags.
 * @pid:	Task to sample, 0 for this thread, or -1 for all tasks on @cpu.
 * @cpu:	CPU to sample, or -1 for any.
 * @max_stack:	Maximum depth of callchains, or 0 for the system's limit.
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
 * @fd:		Descriptor of the event.
 * @ring:	Its ring.
 * @lost:	Number of records lost for want of room, as far as the ring was read.
 * @senseless:	Number of records that did not match their headers.
 */
struct unwind_perf {
	int			fd;
	struct perf_ring	ring;
	unsigned long		lost;
	unsigned long		senseless;
};

/**
 * struct unwind_record - a record from the ring
 * @type:	PERF_RECORD_SAMPLE or UNWIND_RECORD_DEFERRED; other types are skipped.
 * @pid:	Process that the record belongs to.
 * @tid:	Thread that the record belongs to.
 * @cookie:	Cookie of the deferred part; 0 for a sample without one.
 * @nr:		Number of entries in @ips.
 * @ips:	Callchain of the sample, or the deferred stack.
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
/* Take the next record.  Returns false if there is none. */
bool unwind_perf_next(struct unwind_perf *perf, struct unwind_record *record);
/* Discard all records. */
void unwind_perf_drain(struct unwind_perf *perf);
/* Take the next deferred record whose innermost frame is @ip, and skip all before it. */
bool unwind_perf_stack_at(struct unwind_perf *perf, uint64_t ip,
			  struct unwind_record *record);
/*
 * Take the next sample whose innermost user frame is @ip, without kernel frames, and skip
 * all before it.
 */
bool unwind_perf_sample_at(struct unwind_perf *perf, uint64_t ip,
			   struct unwind_record *record);
/*
 * Keep only the user frames of a callchain, and return their number.  A deferred record
 * has only user frames.
 */
uint64_t unwind_user_part(struct unwind_record *record);
/* The address of a kernel function, or 0. */
uint64_t unwind_kernel_symbol(const char *name);
/* The id of a tracepoint like "syscalls/sys_enter_execve", or -1. */
long unwind_tracepoint(const char *name);

/* The type of events of a PMU like "uprobe", or -1. */
int unwind_pmu(const char *name);
/* Offset of @address in the program's file, or -1. */
long unwind_file_offset(uintptr_t address);

/* Reason why the tests of deferred callchains cannot run here, or NULL if they can. */
const char *unwind_perf_missing(void);

/*
 * Find the region of the loaded object whose path ends in @name.  Returns false if it is
 * not loaded or has no table.
 */
bool unwind_find_region(const char *name, struct unwind_region *region);

/*
 * Unmap the pages of @region's table.  They stay in the page cache, but reading the table
 * takes page faults.
 */
bool unwind_forget_table(const struct unwind_region *region);

/* Whether the kernel is loading tables of files, which walks cannot use yet. */
bool unwind_is_loading(void);

#endif /* _UNWIND_PERF_H */
