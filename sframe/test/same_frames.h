/* SPDX-License-Identifier: GPL-2.0 */
/* Parts of same_frames: recording, unwinding by libdwfl, comparing. */
#ifndef _SAME_FRAMES_H
#define _SAME_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* Numbers of the ABI, which the system's headers may not have yet. */
#define RECORD_DEFERRED		22
#define CONTEXT_DEFERRED	((uint64_t)-640)

#define MAX_FRAMES		1024

/* The registers of a sample, in the order of the perf ABI. */
enum reg {
	SAMPLED_AX, SAMPLED_BX, SAMPLED_CX, SAMPLED_DX, SAMPLED_SI, SAMPLED_DI,
	SAMPLED_BP, SAMPLED_SP, SAMPLED_IP, SAMPLED_R8, SAMPLED_R9, SAMPLED_R10,
	SAMPLED_R11, SAMPLED_R12, SAMPLED_R13, SAMPLED_R14, SAMPLED_R15,
	SAMPLED_REGS,
};

/* When the kernel walks a stack. */
enum walk {
	WALK_DEFERRED,		/* on the way back to user space, in a record of its own */
	WALK_AT_ONCE,		/* where the sample is taken */
};

/**
 * struct event - a record
 * @time:	Its time, by a clock that all CPUs share.
 * @order:	How many records were read before; decides between equal times.
 * @type:	The type in its header.
 * @misc:	The flags in its header.
 * @pid:	The process that it is about.
 * @tid:	The thread that it is about.
 * @words:	The words after its header, without the trailing identification.  A sample's
 *		stack has only the bytes that were dumped.
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
	bool		stopped;	/* same_frames ended it after its time */
	enum walk	walk;
};

/*
 * Runs @argv, and records it and its children, with stacks walked as @to->walk says.  Ends it
 * after @seconds, or never if that is 0.
 */
void record_program(struct recording *to, char **argv, unsigned int frequency,
		    double seconds);

/* The fields of a sample; pointers point into its event. */
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

/* An ELF object that is mapped executable */
struct module {
	char		*name;
	uint64_t	bias;
	uint64_t	start;
	uint64_t	end;
	bool		is_vdso;
};

struct process;

/* The state of a process after the last call of process_event() */
struct process *process_of(uint32_t pid);
const char *process_name(const struct process *process);
void process_event(const struct event *event);
void process_unwind(struct process *process, const struct sample *sample,
		    struct stack *to);
/* Whether .eh_frame says that the code at @ip has no caller */
bool process_is_outermost(struct process *process, uint64_t ip);
/* Returns "file+0xaddress symbol", with the address in the file, in a static buffer. */
const char *process_describe(struct process *process, uint64_t ip);

/* Reads the object; returns false if @name is not an ELF file. */
bool module_open(struct module *to, const char *name, uint64_t start, uint64_t offset);
/* Returns a file descriptor of the object, for libdwfl. */
int module_file(const struct module *module);

/* The counts of all samples */
struct result {
	unsigned long	skipped;
	unsigned long	samples;	/* that were not skipped */
	unsigned long	at_once;	/* walked immediately instead of deferred */
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
};

/*
 * Compares all samples of programs named @name, or of all programs if that is NULL.  Skips
 * the samples of the first @skip seconds.
 */
void compare(const struct recording *recording, const char *name, double skip,
	     struct result *to);
/* Writes the differences, most frequent first. */
void write_differences(FILE *to);

_Noreturn void die(const char *what);
/* Returns the memory; ends the program if there is none. */
void *grow(void *memory, size_t size);

#endif /* _SAME_FRAMES_H */
