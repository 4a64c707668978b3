// SPDX-License-Identifier: GPL-2.0
/*
 * Waits in known functions: for a lock, for a byte in a pipe, for time, and, with state
 * D, for a child of vfork(). Arguments name the parts to run: lock, pipe, nap, child; all
 * if there is none. Each part says on stdout how long it waited, by the clock and without
 * the CPU time of the thread, which a busy host can make long:
 *
 *	FUNCTION WAKER MICROSECONDS OFF_CPU_MICROSECONDS
 */
#include <linux/futex.h>
#include <linux/types.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

static __u64 nanoseconds(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return time.tv_sec * 1000000000ULL + time.tv_nsec;
}

struct clocks {
	__u64 wall;
	__u64 cpu;
};

static struct clocks clocks(void)
{
	return (struct clocks){
		.wall = nanoseconds(CLOCK_MONOTONIC),
		.cpu = nanoseconds(CLOCK_THREAD_CPUTIME_ID),
	};
}

static void add(struct clocks *sum, struct clocks start)
{
	struct clocks end = clocks();

	sum->wall += end.wall - start.wall;
	sum->cpu += end.cpu - start.cpu;
}

/* Keeps the CPU, so that nothing but the wait under test is off it. */
static keep void work_for(__u64 us)
{
	__u64 end = nanoseconds(CLOCK_MONOTONIC) + us * 1000;

	while (nanoseconds(CLOCK_MONOTONIC) < end)
		asm volatile("");
}

/* A lock: 0 free, 1 held. */
static atomic_int lock;
static atomic_uint times_taken;
static struct clocks lock_waited[2];

static keep void take_lock(struct clocks *waited)
{
	int expected = 0;

	while (!atomic_compare_exchange_strong(&lock, &expected, 1)) {
		struct clocks start = clocks();

		if (!call4(SYS_futex, (long)&lock, FUTEX_WAIT_PRIVATE, 1, 0))
			add(waited, start);
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
	struct clocks *waited = data;
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
static struct clocks pipe_waited;

static keep void await_byte(void)
{
	struct clocks start = clocks();
	char byte;

	call4(SYS_read, ends[0], (long)&byte, 1, 0);
	add(&pipe_waited, start);
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

static struct clocks sleep_waited;

static keep void take_a_nap(void)
{
	struct timespec time = { .tv_nsec = HOLD_US * 1000 };
	struct clocks start = clocks();

	call4(SYS_nanosleep, (long)&time, 0, 0, 0);
	add(&sleep_waited, start);
	asm volatile("");
}

static struct clocks child_waited;

/* The child of vfork(): it runs on its parent's stack, which may go on when it exits. */
static keep void wake_parent(void)
{
	struct timespec time = { .tv_nsec = HOLD_US * 1000 };

	call4(SYS_nanosleep, (long)&time, 0, 0, 0);
	call4(SYS_exit, 0, 0, 0, 0);
	asm volatile("");
}

static keep void await_child(void)
{
	struct clocks start = clocks();

	if (!call4(SYS_vfork, 0, 0, 0, 0))
		wake_parent();
	add(&child_waited, start);
	asm volatile("");
}

static void say(const char *function, const char *waker, struct clocks waited)
{
	printf("%s %s %llu %llu\n", function, waker, waited.wall / 1000,
	       (waited.wall - waited.cpu) / 1000);
}

static void run_two(void *(*one)(void *), void *(*other)(void *), struct clocks *data)
{
	pthread_t a, b;

	pthread_create(&a, NULL, one, &data[0]);
	pthread_create(&b, NULL, other, &data[1]);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
}

static bool is_wanted(char **names, const char *part)
{
	if (!*names)
		return true;
	for (; *names; names++) {
		if (!strcmp(*names, part))
			return true;
	}
	return false;
}

int main(int argc, char **argv)
{
	if (pipe(ends))
		return 1;
	/* Nobody waits for the children. */
	signal(SIGCHLD, SIG_IGN);
	if (is_wanted(argv + 1, "lock")) {
		run_two(contend, contend, lock_waited);
		lock_waited[0].wall += lock_waited[1].wall;
		lock_waited[0].cpu += lock_waited[1].cpu;
		say("take_lock", "release_lock", lock_waited[0]);
	}
	if (is_wanted(argv + 1, "pipe")) {
		run_two(receive, deliver, lock_waited);
		say("await_byte", "send_byte", pipe_waited);
	}
	if (is_wanted(argv + 1, "nap")) {
		for (int i = 0; i < ROUNDS; i++)
			take_a_nap();
		say("take_a_nap", "[interrupt]", sleep_waited);
	}
	if (is_wanted(argv + 1, "child")) {
		for (int i = 0; i < ROUNDS; i++)
			await_child();
		say("await_child", "wake_parent", child_waited);
	}
	return 0;
}
