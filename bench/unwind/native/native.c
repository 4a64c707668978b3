// SPDX-License-Identifier: GPL-2.0
/*
 * Compare the time of a frame of the kernel's walks with that of libraries that read .eh_frame,
 * and with frame pointers, on the same stacks of a program.
 *
 * usage: native [--samples N] SFRAME DIR PROGRAM [ARG...]
 *
 * Runs PROGRAM, stops it N times to copy registers and stack, and leaves it stopped.  Then each
 * way walks the stacks: all in turn, some times ("warm"), and some after other memory has taken
 * the caches ("cold").  Frame pointers have no such stacks: for them, each stack gets frame records
 * where its frames are.  SFRAME is the tool that makes the tables, which go to DIR.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "native.h"

#define MAX_SAMPLES	1000
#define MAX_MAPPINGS	4096
#define MAX_STACK	(1 << 20)
/* The x86-64 psABI's red zone, below the stack pointer */
#define RED_ZONE	128
#define WARM_ROUNDS	20
#define CACHES		(64 << 20)

static struct stack stacks[MAX_SAMPLES];
static unsigned int nr_stacks, nr_samples = 200;
static struct process process;

static void fail(const char *what)
{
	fprintf(stderr, "native: %s: %s\n", what, strerror(errno));
	if (process.pid > 0)
		kill(process.pid, SIGKILL);
	exit(1);
}

static void start(char **arguments)
{
	process.pid = fork();
	if (process.pid < 0)
		fail("fork");
	if (!process.pid) {
		if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr))
			_exit(127);
		execvp(arguments[0], arguments);
		_exit(127);
	}
	if (ptrace(PTRACE_SEIZE, process.pid, NULL, PTRACE_O_EXITKILL))
		fail("ptrace");
}

/* Stop the program; returns false if it has ended. */
static bool stop(void)
{
	int status;

	if (ptrace(PTRACE_INTERRUPT, process.pid, NULL, NULL))
		return false;
	return waitpid(process.pid, &status, 0) == process.pid && WIFSTOPPED(status);
}

static void read_mappings(void)
{
	char path[64], line[512];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/maps", process.pid);
	file = fopen(path, "r");
	if (!file)
		fail(path);
	process.nr = 0;
	while (fgets(line, sizeof(line), file) && process.nr < MAX_MAPPINGS) {
		struct mapping *mapping = &process.mappings[process.nr];
		char rights[8];

		mapping->path[0] = 0;
		if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %255s", &mapping->start, &mapping->end,
			   rights, &mapping->offset, mapping->path) < 4)
			continue;
		mapping->code = rights[2] == 'x';
		process.nr++;
	}
	fclose(file);
}

static const struct mapping *stack_mapping(unsigned long sp)
{
	for (unsigned int i = 0; i < process.nr; i++)
		if (sp - process.mappings[i].start <
		    process.mappings[i].end - process.mappings[i].start)
			return &process.mappings[i];
	return NULL;
}

static void record(void)
{
	struct stack *stack = &stacks[nr_stacks];
	const struct mapping *mapping;
	struct user_regs_struct regs;
	struct iovec local, remote;

	if (ptrace(PTRACE_GETREGS, process.pid, NULL, &regs))
		fail("registers");
	read_mappings();
	mapping = stack_mapping(regs.rsp);
	if (!mapping || strcmp(mapping->path, "[stack]"))
		return;
	stack->regs = (struct pt_regs){
		.r15 = regs.r15, .r14 = regs.r14, .r13 = regs.r13, .r12 = regs.r12,
		.bp = regs.rbp, .bx = regs.rbx, .r11 = regs.r11, .r10 = regs.r10, .r9 = regs.r9,
		.r8 = regs.r8, .ax = regs.rax, .cx = regs.rcx, .dx = regs.rdx, .si = regs.rsi,
		.di = regs.rdi, .ip = regs.rip, .sp = regs.rsp, .flags = regs.eflags,
	};
	stack->start = (regs.rsp - RED_ZONE) & ~7ul;
	if (stack->start < mapping->start)
		stack->start = mapping->start;
	stack->size = mapping->end - stack->start;
	if (stack->size > MAX_STACK)
		return;
	stack->bytes = malloc(stack->size);
	local = (struct iovec){ stack->bytes, stack->size };
	remote = (struct iovec){ (void *)stack->start, stack->size };
	if (!stack->bytes ||
	    process_vm_readv(process.pid, &local, 1, &remote, 1, 0) != (ssize_t)stack->size)
		fail("stack");
	nr_stacks++;
}

/* Record the samples, at times that do not fall in step with the program. */
static void record_all(void)
{
	/* Let it start. */
	usleep(300000);
	while (nr_stacks < nr_samples) {
		usleep(1000 + random() % 7000);
		if (!stop()) {
			fprintf(stderr, "native: the program ended after %u of %u samples: give"
				" it more to do, or use --samples\n", nr_stacks, nr_samples);
			exit(1);
		}
		record();
		if (nr_stacks < nr_samples && ptrace(PTRACE_CONT, process.pid, NULL, NULL))
			fail("ptrace");
	}
}

/* Take the addresses of the recorded stack, and those of its files, for the same content. */
static void take_addresses(void)
{
	for (unsigned int i = 0; i < process.nr; i++) {
		const struct mapping *mapping = &process.mappings[i];
		bool stack = !strcmp(mapping->path, "[stack]");
		unsigned long start = stack ? mapping->end - MAX_STACK : mapping->start;
		size_t size = mapping->end - start;
		struct iovec local, remote = { (void *)start, size };
		void *at;

		/* The vsyscall page has a kernel's address. */
		if ((!stack && !mapping->code) || mapping->start >= 1ul << 47)
			continue;
		at = mmap((void *)start, size, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
		if (at != (void *)start)
			fail("an address of the program is in use here; try again");
		local = (struct iovec){ at, size };
		/* So that the walk can look for calls in the code */
		if (!stack && process_vm_readv(process.pid, &local, 1, &remote, 1, 0) < 0)
			fail(mapping->path);
	}
}

static void put_stack(const struct stack *stack)
{
	memcpy((void *)stack->start, stack->bytes, stack->size);
}

/* As perf does where the kernel has no tables. */
static unsigned int pointers_walk(const struct stack *stack, uint64_t *ips)
{
	unsigned long fp = stack->regs.bp, sp = stack->regs.sp;
	unsigned int nr = 0;

	ips[nr++] = stack->regs.ip;
	while (nr < MAX_FRAMES && fp >= sp && fp - stack->start <= stack->size - 16 && !(fp & 7)) {
		const uint64_t *record = (const uint64_t *)fp;

		if (!record[1])
			break;
		ips[nr++] = record[1];
		sp = fp + 16;
		fp = record[0];
	}
	return nr;
}

/* The stack @from with a frame record for each of the @nr frames at @ips */
static struct stack with_records(const struct stack *from, const uint64_t *ips, unsigned int nr)
{
	unsigned long at = from->regs.sp, end = from->start + from->size - 16;
	unsigned long record, lowest = at;
	struct stack to = *from;
	unsigned long *link;

	to.bytes = calloc(1, from->size);
	link = &to.regs.bp;
	for (unsigned int i = 1; i < nr && at < end; i++) {
		/* Return addresses are on the stack in this order. */
		while (at < end && *(const uint64_t *)(from->bytes + (at - from->start)) != ips[i])
			at += 8;
		/* A frame of one word leaves no room: its record comes a word later. */
		record = at - 8 < lowest ? lowest : at - 8;
		if (record > end)
			break;
		lowest = record + 16;
		*link = record;
		link = (unsigned long *)(to.bytes + (record - to.start));
		link[1] = ips[i];
		at += 8;
	}
	*link = 0;
	return to;
}

static struct way {
	const char	*name;
	walk_stack	*walk;
	double		warm, cold;
	unsigned long	frames, frames_cold;
	unsigned int	same;
} ways[] = {
	{ .name = "frame pointers", .walk = pointers_walk },
	{ .name = "rows", .walk = rows_walk },
	{ .name = "elfutils", .walk = elfutils_walk },
	{ .name = "libunwind", .walk = libunwind_walk },
	{ .name = "framehop", .walk = framehop_walk },
};

/* What the kernel's walk found in each stack */
static struct {
	unsigned int	nr;
	uint64_t	ips[MAX_FRAMES];
} found[MAX_SAMPLES];

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1e9 + time.tv_nsec;
}

/* Fill the caches with other memory. */
static void take_caches(void)
{
	static volatile uint8_t *memory;

	if (!memory)
		memory = malloc(CACHES);
	for (size_t i = 0; i < CACHES; i += 64)
		memory[i]++;
}

/* What it takes to read the clock, which a walk of a few frames is not much longer than */
static double clock_costs(void)
{
	double start = now();

	for (unsigned int i = 0; i < 1000; i++)
		now();
	return (now() - start) / 1001;
}

/* Each stack in turn, so that nothing remembers the last walk of the same one. */
static void measure_warm(struct way *way, const struct stack *all)
{
	double start, clock = clock_costs();
	static uint64_t ips[MAX_FRAMES];

	for (unsigned int round = 0; round <= WARM_ROUNDS; round++) {
		for (unsigned int i = 0; i < nr_stacks; i++) {
			put_stack(&all[i]);
			start = now();
			way->walk(&all[i], ips);
			/* The first round finds what the others know. */
			way->warm += round ? now() - start - clock : 0;
		}
	}
	way->warm /= WARM_ROUNDS;
}

static void measure_cold(struct way *way, const struct stack *stack)
{
	static uint64_t ips[MAX_FRAMES];
	double start;

	put_stack(stack);
	take_caches();
	start = now();
	way->frames_cold += way->walk(stack, ips);
	way->cold += now() - start;
}

/* Whether the walk finds what the kernel's did. */
static void compare(struct way *way, const struct stack *all, unsigned int number)
{
	static uint64_t ips[MAX_FRAMES];
	unsigned int nr;

	put_stack(&all[number]);
	nr = way->walk(&all[number], ips);
	way->frames += nr;
	way->same += nr == found[number].nr && !memcmp(ips, found[number].ips, nr * sizeof(*ips));
}

static void measure(struct way *way, const struct stack *all)
{
	for (unsigned int i = 0; i < nr_stacks; i++)
		compare(way, all, i);
	measure_warm(way, all);
	/* A few only: each takes the time to read all of CACHES. */
	for (unsigned int i = 0; i < nr_stacks; i += 10)
		measure_cold(way, &all[i]);
	printf("  %-15s %6.1f ns a frame warm, %7.1f cold; %.1f frames; %u of %u stacks alike\n",
	       way->name, way->warm / way->frames, way->cold / way->frames_cold,
	       (double)way->frames / nr_stacks, way->same, nr_stacks);
}

/* Make the table of the file at @path.  Returns false if it has none. */
static bool make_table(const char *tool, const char *path, const char *table)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		execl(tool, tool, "gen", "--quiet", "--output", table, path, NULL);
		_exit(127);
	}
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status);
}

static void add_tables(const char *tool, const char *directory)
{
	char table[512];

	for (unsigned int i = 0; i < process.nr; i++) {
		const struct mapping *mapping = &process.mappings[i];

		if (!mapping->code || mapping->path[0] != '/')
			continue;
		snprintf(table, sizeof(table), "%s/%u", directory, i);
		if (!make_table(tool, mapping->path, table) ||
		    !rows_add(&process, mapping->path, table))
			fprintf(stderr, "native: no table of %s\n", mapping->path);
	}
}

int main(int argc, char **argv)
{
	static struct stack records[MAX_SAMPLES];
	static struct mapping mappings[MAX_MAPPINGS];

	if (argc > 2 && !strcmp(argv[1], "--samples")) {
		nr_samples = strtoul(argv[2], NULL, 10);
		argv += 2;
		argc -= 2;
	}
	if (argc < 4 || !nr_samples || nr_samples > MAX_SAMPLES) {
		fprintf(stderr, "usage: native [--samples N] SFRAME DIR PROGRAM [ARG...]\n");
		return 2;
	}
	process.mappings = mappings;
	start(argv + 3);
	record_all();
	take_addresses();
	rows_open(&process);
	add_tables(argv[1], argv[2]);
	elfutils_open(&process);
	libunwind_open(&process);
	framehop_open(&process);
	for (unsigned int i = 0; i < nr_stacks; i++) {
		put_stack(&stacks[i]);
		found[i].nr = rows_walk(&stacks[i], found[i].ips);
		records[i] = with_records(&stacks[i], found[i].ips, found[i].nr);
	}
	for (unsigned int i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		measure(&ways[i], ways[i].walk == pointers_walk ? records : stacks);
	kill(process.pid, SIGKILL);
	return 0;
}
