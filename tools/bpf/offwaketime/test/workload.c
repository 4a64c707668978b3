// SPDX-License-Identifier: GPL-2.0
/*
 * Threads that wait for each other in known functions: for a lock, for a byte in a
 * pipe, and for time. At the end each says on stdout how long it waited:
 *
 *	FUNCTION WAKER MICROSECONDS WAITS
 */
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define keep		__attribute__((noinline, noipa))
#define ROUNDS		15
#define HOLD_US		50000

/* No frame of libc between our functions and the kernel. */
static __always_inline long call4(long number, long a, long b, long c, long d)
{
	register long r10 asm("r10") = d;
	long ret = number;

	asm volatile("syscall" : "+a"(ret) : "D"(a), "S"(b), "d"(c), "r"(r10)
		     : "rcx", "r11", "memory");
	return ret;
}

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000ULL + time.tv_nsec;
}

struct waited {
	uint64_t	ns;
	unsigned int	times;
};

/* Keeps the CPU, so that nothing but the wait under test is off it. */
static keep void work_for(uint64_t us)
{
	uint64_t end = now() + us * 1000;

	while (now() < end)
		asm volatile("");
}

/* A lock: 0 free, 1 held. */
static atomic_int lock;
static atomic_uint times_taken;
static struct waited lock_waited[2];

static keep void take_lock(struct waited *waited)
{
	int expected = 0;

	while (!atomic_compare_exchange_strong(&lock, &expected, 1)) {
		uint64_t start = now();

		if (!call4(SYS_futex, (long)&lock, FUTEX_WAIT_PRIVATE, 1, 0)) {
			waited->ns += now() - start;
			waited->times++;
		}
		expected = 0;
	}
	asm volatile("");
}

static keep void release_lock(void)
{
	atomic_store(&lock, 0);
	call4(SYS_futex, (long)&lock, FUTEX_WAKE_PRIVATE, 1, 0);
	asm volatile("");
}

static keep void *contend(void *data)
{
	struct waited *waited = data;
	unsigned int mine;

	for (int i = 0; i < ROUNDS; i++) {
		take_lock(waited);
		mine = atomic_fetch_add(&times_taken, 1) + 1;
		work_for(HOLD_US);
		release_lock();
		/* The other's turn: it has been woken, and takes the lock. */
		while (i < ROUNDS - 1 && atomic_load(&times_taken) == mine)
			asm volatile("");
	}
	return NULL;
}

static int ends[2];
static struct waited pipe_waited;

static keep void await_byte(void)
{
	uint64_t start = now();
	char byte;

	call4(SYS_read, ends[0], (long)&byte, 1, 0);
	pipe_waited.ns += now() - start;
	pipe_waited.times++;
	asm volatile("");
}

static keep void send_byte(void)
{
	call4(SYS_write, ends[1], (long)"x", 1, 0);
	asm volatile("");
}

static keep void *receive(void *data)
{
	for (int i = 0; i < ROUNDS; i++)
		await_byte();
	return NULL;
}

static keep void *deliver(void *data)
{
	for (int i = 0; i < ROUNDS; i++) {
		work_for(HOLD_US);
		send_byte();
	}
	return NULL;
}

static struct waited sleep_waited;

static keep void take_a_nap(void)
{
	struct timespec time = { .tv_nsec = HOLD_US * 1000 };
	uint64_t start = now();

	call4(SYS_nanosleep, (long)&time, 0, 0, 0);
	sleep_waited.ns += now() - start;
	sleep_waited.times++;
	asm volatile("");
}

static void say(const char *function, const char *waker, struct waited waited)
{
	printf("%s %s %llu %u\n", function, waker, (unsigned long long)waited.ns / 1000,
	       waited.times);
}

int main(void)
{
	struct waited sum;
	pthread_t a, b;

	if (pipe(ends))
		return 1;
	pthread_create(&a, NULL, contend, &lock_waited[0]);
	pthread_create(&b, NULL, contend, &lock_waited[1]);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	pthread_create(&a, NULL, receive, NULL);
	pthread_create(&b, NULL, deliver, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	for (int i = 0; i < ROUNDS; i++)
		take_a_nap();

	sum = (struct waited){
		lock_waited[0].ns + lock_waited[1].ns,
		lock_waited[0].times + lock_waited[1].times,
	};
	say("take_lock", "release_lock", sum);
	say("await_byte", "send_byte", pipe_waited);
	say("take_a_nap", "[interrupt]", sleep_waited);
	return 0;
}
