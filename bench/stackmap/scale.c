// SPDX-License-Identifier: GPL-2.0
/*
 * Measure what a user stack costs on many CPUs at once: the walk alone, with a stack that the map
 * has, and with new ones.
 *
 * A thread on each CPU makes system calls, which a BPF program takes the stack of.  In a guest whose
 * clock counts instructions, the emulator runs one CPU after the other, so that the time of all of
 * them is the sum of their instructions, and what a CPU spends waiting for another is in it.
 * Timer ticks are, too; a loop of known length says how many.  The kernel gets to know the files
 * before the measurement begins.
 *
 * usage: scale OBJECT
 */
#define _GNU_SOURCE
#include <bpf/libbpf.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define FRAMES	20
#define CALLS	200
#define ROUNDS	5
#define LOOPS	200000
/* In which the kernel has looked at the files of the stack */
#define SECONDS	12

enum kind { LOOP, SAME, NEW };

static pthread_barrier_t barrier;
static enum kind kind;
static unsigned int nr_cpus, round_nr;
static bool is_warm;

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1e9 + time.tv_nsec;
}

/* A system call of our own, as the C library keeps no frame pointers. */
static __attribute__((noinline)) long enter_kernel(void)
{
	long number = SYS_getppid;

	asm volatile("syscall" : "+a"(number) : : "rcx", "r11", "memory");
	return number;
}

/* Enter the kernel in a stack that @bits make unlike all others. */
static __attribute__((noinline)) long descend(unsigned int depth, unsigned int bits)
{
	long number;

	if (!depth)
		number = enter_kernel();
	else if (bits & 1)
		number = descend(depth - 1, bits >> 1);
	else
		number = descend(depth - 1, bits >> 1) + 1;
	asm volatile("" : "+r"(number));
	return number;
}

static void work(unsigned int cpu)
{
	unsigned int first = kind == NEW ? (round_nr * nr_cpus + cpu) * CALLS : 0;

	if (kind == LOOP) {
		for (volatile int i = 0; i < LOOPS; i++)
			;
		return;
	}
	for (unsigned int i = 0; i < CALLS; i++)
		descend(FRAMES, kind == NEW ? first + i : 0);
}

static void *run(void *arg)
{
	unsigned int cpu = (uintptr_t)arg;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (pthread_setaffinity_np(pthread_self(), sizeof(set), &set))
		fail("pthread_setaffinity_np");
	for (;;) {
		pthread_barrier_wait(&barrier);
		work(cpu);
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

/* Least time of all CPUs together for their work. */
static double measure(enum kind what)
{
	double best = 1e18, start, took;

	kind = what;
	for (unsigned int i = 0; i < ROUNDS; i++, round_nr++) {
		/* The others wait; this thread may go on later than they do. */
		start = now();
		pthread_barrier_wait(&barrier);
		pthread_barrier_wait(&barrier);
		took = now() - start;
		best = took < best ? took : best;
	}
	return best / nr_cpus;
}

/* Time that the program @name adds to a system call of each CPU. */
static double call(const char *path, const char *name, enum kind what, double without)
{
	struct bpf_object *object = bpf_object__open_file(path, NULL);
	struct bpf_program *program;
	struct bpf_link *link;
	unsigned long *counts;
	double took;
	size_t size;

	if (!object || bpf_object__load(object))
		fail(path);
	program = bpf_object__find_program_by_name(object, name);
	link = program ? bpf_program__attach(program) : NULL;
	if (!link)
		fail(name);
	if (!is_warm) {
		measure(what);
		sleep(SECONDS);
		measure(what);
		is_warm = true;
	}
	took = measure(what);
	/* What the programs count: lost, depth */
	counts = bpf_map__initial_value(bpf_object__find_map_by_name(object, ".bss"), &size);
	fprintf(stderr, "%s: lost %lu, frames %lu\n", name, counts[0], counts[1]);
	bpf_link__destroy(link);
	bpf_object__close(object);
	return (took - without) / CALLS;
}

int main(int argc, char **argv)
{
	double loop, without;
	pthread_t thread;

	if (argc != 2) {
		fprintf(stderr, "usage: scale OBJECT\n");
		return 2;
	}
	nr_cpus = sysconf(_SC_NPROCESSORS_ONLN);
	pthread_barrier_init(&barrier, NULL, nr_cpus + 1);
	for (uintptr_t i = 0; i < nr_cpus; i++)
		if (pthread_create(&thread, NULL, run, (void *)i))
			fail("pthread_create");
	loop = measure(LOOP) / LOOPS;
	without = measure(SAME);
	printf("%2u CPUs, an iteration of a loop %5.2f, a system call %5.0f", nr_cpus, loop,
	       without / CALLS);
	printf(", the walk %5.0f", call(argv[1], "walk", SAME, without));
	printf(", a stored stack %5.0f", call(argv[1], "store", SAME, without));
	printf(", a new one %5.0f\n", call(argv[1], "store", NEW, without));
	return 0;
}
