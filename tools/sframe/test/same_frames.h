/* SPDX-License-Identifier: GPL-2.0 */
/* Parts of same_frames: recording, unwinding by libdwfl, comparing. */
#ifndef _SAME_FRAMES_H
#define _SAME_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* The ABI's numbers: the system's headers may be older than the kernel. */
#define RECORD_DEFERRED		22
#define CONTEXT_DEFERRED	((uint64_t)-640)

#define MAX_FRAMES		1024

/* What a sample has of the registers: those of the perf ABI's mask, in its order. */
enum reg {
	SAMPLED_AX, SAMPLED_BX, SAMPLED_CX, SAMPLED_DX, SAMPLED_SI, SAMPLED_DI,
	SAMPLED_BP, SAMPLED_SP, SAMPLED_IP, SAMPLED_R8, SAMPLED_R9, SAMPLED_R10,
	SAMPLED_R11, SAMPLED_R12, SAMPLED_R13, SAMPLED_R14, SAMPLED_R15,
	SAMPLED_REGS,
};

/* Who walks the stacks, and when. */
enum walk {
	WALK_DEFERRED,		/* on the way back to user space, in a record of its own */
	WALK_AT_ONCE,		/* where the sample is taken */
};

/**
 * struct event - a record as it came
 * @time:	The clock of all CPUs' rings.
 * @order:	How many were read before: decides between equal times.
 * @type:	That of its header, as is @misc.
 * @misc:	Flags.
 * @pid:	The process that it is about ...
 * @tid:	... and the thread.
 * @words:	What stands behind its header, without the trailing identification;
 *		of a sample's stack only what was dumped.
 */
struct event {
	uint64_t	time;
	uint64_t	order;
	uint32_t	type;
	uint16_t	misc;
	uint32_t	pid;
	uint32_t	tid;
	uint64_t	words[];
};

struct recording {
	struct event	**events;	/* by time */
	size_t		nr;
	uint64_t	lost;		/* records that found no room */
	int		status;		/* the program's, of waitpid() */
	bool		stopped;	/* by us: its time was over */
	enum walk	walk;
};

/*
 * Runs @argv and records it and all it starts, walked as @to->walk says; ends it
 * after @seconds (0: never).
 */
void record_program(struct recording *to, char **argv, unsigned int frequency,
		    double seconds);

/* A sample, taken apart; it points into its event. */
struct sample {
	uint32_t	pid;
	uint32_t	tid;
	uint64_t	ip;
	uint64_t	cookie;		/* 0: walked at once */
	const uint64_t	*ips;		/* then: the user's frames */
	uint64_t	nr;
	const uint64_t	*regs;		/* NULL: none */
	const uint8_t	*stack;
	uint64_t	stack_size;
};

struct sample event_sample(const struct event *event);

struct stack {
	unsigned int	nr;
	uint64_t	ips[MAX_FRAMES];
	bool		exact[MAX_FRAMES];	/* not a return address */
	bool		whole;			/* the last one has no caller */
	const char	*error;			/* else: why not */
};

/* What is mapped executable from a file: an ELF object. */
struct module {
	char		*name;
	char		*table;		/* in the name of its table's file, or NULL */
	uint64_t	bias;
	uint64_t	start;
	uint64_t	end;
	bool		is_vdso;
};

struct process;

/* A process as of the last event given to process_event(). */
struct process *process_of(uint32_t pid);
const char *process_name(const struct process *process);
void process_event(const struct event *event);
void process_unwind(struct process *process, const struct sample *sample,
		    struct stack *to);
/* The object that has @ip, or NULL. */
const struct module *process_module(const struct process *process, uint64_t ip);
bool process_has_table(const struct process *process, const struct module *module);
/* The rule for @ip says that there is no caller. */
bool process_is_outermost(struct process *process, uint64_t ip);
/* "file+0xaddress symbol": the address as in the file; in a static buffer. */
const char *process_describe(struct process *process, uint64_t ip);

/* Reads the object; returns false where there is none. */
bool module_open(struct module *to, const char *name, uint64_t start, uint64_t offset);
/* A descriptor of the object, for libdwfl. */
int module_file(const struct module *module);

/* Counts and differences of all samples. */
struct result {
	unsigned long	skipped;
	unsigned long	samples;	/* that were not */
	unsigned long	at_once;	/* walked as they were taken, though not to be */
	unsigned long	unanswered;	/* with a cookie that no record has */
	unsigned long	elsewhere;	/* the record begins at another instruction */
	unsigned long	cut;		/* dwarf ends early, most often with the dump */
	unsigned long	cut_equal;	/* of these: the kernel has the same so far */
	unsigned long	only_ours;	/* of these: the kernel's is whole */
	unsigned long	whole;		/* dwarf's are */
	unsigned long	equal;		/* of these: the kernel's is the same */
	unsigned long	signals;	/* of the equal ones: through a signal handler */
	unsigned long	frames;
	unsigned long	frames_equal;
	unsigned long	early;		/* differ in code whose table is not there */
	unsigned long	early_frames;
};

/*
 * Compares all samples of programs of that name (NULL: any), but for those of the
 * first @skip seconds.
 */
void compare(const struct recording *recording, const char *name, double skip,
	     struct result *to);
/* The differences, most frequent first. */
void write_differences(FILE *to);

_Noreturn void die(const char *what);
/* Never NULL. */
void *grow(void *memory, size_t size);

#endif /* _SAME_FRAMES_H */
