// SPDX-License-Identifier: GPL-2.0
/*
 * Waits of each kind, six functions deep. Says at the end of each kind who waited in which
 * function, in which state, when, by CLOCK_MONOTONIC, and how often:
 *
 *	TID FUNCTION STATE BEGIN END WAITS
 *
 * usage: waits WAITS MICROSECONDS [FUNCTION [WAITS MICROSECONDS FUNCTION]...]
 *
 * DISK in the environment is the disk that wait_disk() reads.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define keep	__attribute__((noinline, noipa))

static long length_us;
static unsigned int nr_waits;
static int ends[2], disk;
static bool writes;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static sem_t held, wanted;

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000ULL + time.tv_nsec;
}

static void nap(void)
{
	struct timespec time = { length_us / 1000000, length_us % 1000000 * 1000 };

	nanosleep(&time, NULL);
}

static keep void wait_nanosleep(void)
{
	nap();
	asm volatile("");
}

static keep void wait_futex(void)
{
	struct timespec time = { length_us / 1000000, length_us % 1000000 * 1000 };
	static int word;

	syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &time);
	asm volatile("");
}

static keep void wait_pipe(void)
{
	char byte;

	if (read(ends[0], &byte, 1) != 1)
		perror("read");
	asm volatile("");
}

static keep void wait_poll(void)
{
	poll(NULL, 0, length_us / 1000);
	asm volatile("");
}

static keep void wait_mutex(void)
{
	pthread_mutex_lock(&mutex);
	asm volatile("");
}

/* The answer of a disk, which takes as long as it has been told to. */
static keep void wait_disk(void)
{
	static char block[4096] __attribute__((aligned(4096)));

	if (pread(disk, block, sizeof(block), 0) != sizeof(block))
		perror("pread");
	asm volatile("");
}

static const struct kind {
	const char *name;
	char state;
	void (*wait)(void);
} kinds[] = {
	{ "wait_nanosleep", 'S', wait_nanosleep },
	{ "wait_futex", 'S', wait_futex },
	{ "wait_pipe", 'S', wait_pipe },
	{ "wait_poll", 'S', wait_poll },
	{ "wait_mutex", 'S', wait_mutex },
	{ "wait_disk", 'D', wait_disk },
};

static keep void inner(const struct kind *kind)
{
	kind->wait();
	asm volatile("");
}

static keep void middle(const struct kind *kind)
{
	inner(kind);
	asm volatile("");
}

static keep void outer(const struct kind *kind)
{
	middle(kind);
	asm volatile("");
}

/*
 * The first walk of a stack finds nothing in memory of the tables that it needs: the wait
 * of which that is true is in a function of its own.
 */
static keep void first(const struct kind *kind)
{
	outer(kind);
	asm volatile("");
}

/* Holds the mutex for the length of a nap; then writes a byte, if that is waited for. */
static void *peer(void *data)
{
	for (;;) {
		sem_wait(&wanted);
		pthread_mutex_lock(&mutex);
		sem_post(&held);
		nap();
		pthread_mutex_unlock(&mutex);
		if (writes && write(ends[1], "x", 1) != 1)
			return data;
	}
}

static keep void once(const struct kind *kind, void (*call)(const struct kind *kind))
{
	if (kind->wait == wait_pipe || kind->wait == wait_mutex) {
		sem_post(&wanted);
		while (sem_trywait(&held))
			;
	}
	call(kind);
	if (kind->wait == wait_mutex)
		pthread_mutex_unlock(&mutex);
}

static keep void run(const struct kind *kind)
{
	uint64_t begin;

	writes = kind->wait == wait_pipe;
	once(kind, first);
	begin = now();
	for (unsigned int i = 0; i < nr_waits; i++)
		once(kind, outer);
	printf("%d %s %c %llu %llu %u\n", gettid(), kind->name, kind->state,
	       (unsigned long long)begin, (unsigned long long)now(), nr_waits);
	fflush(stdout);
}

static int usage(void)
{
	fprintf(stderr, "usage: waits WAITS MICROSECONDS [FUNCTION [WAITS MICROSECONDS FUNCTION]...]\n");
	return 2;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc < 3)
		return usage();
	disk = open(getenv("DISK") ?: "", O_RDONLY | O_DIRECT);
	if (pipe(ends) || sem_init(&held, 0, 0) || sem_init(&wanted, 0, 0) ||
	    pthread_create(&thread, NULL, peer, NULL)) {
		perror("waits");
		return 1;
	}
	for (int arg = 1; arg + 1 < argc; arg += 3) {
		nr_waits = atoi(argv[arg]);
		length_us = atol(argv[arg + 1]);
		if (!nr_waits || length_us < 10)
			return usage();
		for (unsigned int i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
			if (arg + 2 >= argc || !strcmp(argv[arg + 2], kinds[i].name))
				run(&kinds[i]);
	}
	return 0;
}
