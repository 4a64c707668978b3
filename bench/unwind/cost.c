// SPDX-License-Identifier: GPL-2.0
/*
 * Measure the cost of a sample's user stack, by the number of its frames.
 *
 * A perf event samples each getppid() with its user callchain, from a recursion of
 * two depths; the difference is the cost of the frames alone.  Prints nanoseconds a
 * sample and a frame; these are instructions if the guest's clock counts those.
 *
 * usage: cost [NAME [deferred]]
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "perf_ring.h"
#include "unwind_perf.h"

#ifndef FRAME_BYTES
#define FRAME_BYTES 8
#endif
#define SHALLOW	4
#define DEEP	28
#define SAMPLES	200
#define RING_SIZE	(64 * PERF_RING_PAGE)

/* Functions that make the table, and the lookups in it, as large as in real programs. */
#define F1(n) __attribute__((used, noinline)) static int filler_##n(int a) \
	{ return a * 3 + getppid(); }
#define F8(n) F1(n##0) F1(n##1) F1(n##2) F1(n##3) F1(n##4) F1(n##5) F1(n##6) F1(n##7)
#define F64(n) F8(n##0) F8(n##1) F8(n##2) F8(n##3) F8(n##4) F8(n##5) F8(n##6) F8(n##7)
#define F512(n) F64(n##0) F64(n##1) F64(n##2) F64(n##3) F64(n##4) F64(n##5) F64(n##6) F64(n##7)
F512(0) F512(1)

static int event = -1;
static struct perf_ring ring;
static unsigned long depth_seen;
static bool is_deferred;

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1e9 + ts.tv_nsec;
}

/* Number of entries in the last user stack. */
static unsigned long last_depth(void)
{
	static uint64_t words[PERF_RING_WORDS];
	struct perf_event_header header;
	unsigned long nr = 0;

	while (event >= 0 && perf_ring_next(&ring, &header, words))
		if (header.type == PERF_RECORD_SAMPLE && !is_deferred)
			nr = words[0];
		else if (header.type == UNWIND_RECORD_DEFERRED)
			nr = words[1];
	return nr;
}

/* A system call of our own, as the C library has no table. */
static inline void enter_kernel(void)
{
	long number = SYS_getppid;

	asm volatile("syscall" : "+a"(number) : : "rcx", "r11", "memory");
}

static __attribute__((noinline)) double samples(void)
{
	double best = 1e18;

	/* The first rounds fault in pages and load tables; the best round counts. */
	for (int round = 0; round < 6; round++) {
		double start;

		start = now();
		for (int i = 0; i < SAMPLES / 10; i++)
			enter_kernel();
		start = (now() - start) / (SAMPLES / 10);
		if (start < best)
			best = start;
		depth_seen = last_depth();
	}
	return best;
}

#ifdef GENERATED
/* double generated(int depth, double (*innermost)(void)): keeps a frame pointer, has no table. */
extern const char generated[], generated_end[];

asm(".pushsection .rodata\n"
	"generated:\n"
	"	push %rbp\n"
	"	mov %rsp, %rbp\n"
	"	test %edi, %edi\n"
	"	je 1f\n"
	"	dec %edi\n"
	"	call generated\n"
	"	pop %rbp\n"
	"	ret\n"
	"1:	call *%rsi\n"
	"	pop %rbp\n"
	"	ret\n"
	"generated_end:\n"
	"	.popsection\n");

/* Recurse in a copy of that code, as a JIT compiler makes it. */
static double down(int depth, volatile char *above)
{
	static double (*copy)(int depth, double (*innermost)(void));

	if (!copy) {
		copy = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE | PROT_EXEC,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if ((void *)copy == MAP_FAILED) {
			perror("mmap");
			exit(2);
		}
		memcpy(copy, generated, generated_end - generated);
	}
	return copy(depth, samples);
}
#else
#ifdef BETWEEN
/* In a library: down() calls itself through it, so that each frame is in another object. */
double between(double (*down)(int, volatile char *), int depth, volatile char *above);
#else
static double between(double (*down)(int, volatile char *), int depth, volatile char *above)
{
	return down(depth, above);
}
#endif

static __attribute__((noinline, noipa)) double down(int depth, volatile char *above)
{
	volatile char frame[FRAME_BYTES];
	double cost;

	frame[0] = *above;
	cost = depth ? between(down, depth - 1, frame) : samples();
	/* Prevents a tail call. */
	frame[FRAME_BYTES - 1] = depth;
	return cost;
}
#endif

static int open_event(int with_stack)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.sample_period = 1,
		.sample_type = with_stack ? PERF_SAMPLE_CALLCHAIN : PERF_SAMPLE_TID,
		.exclude_callchain_kernel = 1,
		.sample_max_stack = 127,
	};
	FILE *file = fopen("/sys/kernel/tracing/events/syscalls/sys_enter_getppid/id", "r");

	if (!file || fscanf(file, "%llu", &attr.config) != 1) {
		perror("sys_enter_getppid");
		exit(2);
	}
	fclose(file);
	if (is_deferred)
		perf_attr_add_flags(&attr, ATTR_DEFER_CALLCHAIN | ATTR_DEFER_OUTPUT);
	event = syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	if (event < 0 || !perf_ring_map(&ring, event, RING_SIZE)) {
		perror("perf_event_open");
		exit(2);
	}
	return event;
}

int main(int argc, char **argv)
{
	unsigned long shallow_seen;
	double shallow, deep, none;
	volatile char top = 0;

	is_deferred = argc > 2 && !strcmp(argv[2], "deferred");
	none = down(DEEP, &top);
	open_event(1);
	shallow = down(SHALLOW, &top);
	shallow_seen = depth_seen;
	deep = down(DEEP, &top);
	printf("%-14s no event %5.0f, %lu entries %6.0f, %lu entries %6.0f: %5.1f a frame\n",
	       argc > 1 ? argv[1] : "", none, shallow_seen, shallow, depth_seen, deep,
	       depth_seen > shallow_seen ?
	       (deep - shallow) / (depth_seen - shallow_seen) : 0.0);
	return 0;
}
