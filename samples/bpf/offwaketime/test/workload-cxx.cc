// SPDX-License-Identifier: GPL-2.0
// Waits in a C++ function, and says how long as workload.c does.
#include <cstdio>
#include <ctime>

namespace pool {

struct worker {
	long waited = 0, cpu = 0;

	__attribute__((noinline, noipa)) void idle(long us);
};

static long us_of(clockid_t clock)
{
	timespec time;

	clock_gettime(clock, &time);
	return time.tv_sec * 1000000 + time.tv_nsec / 1000;
}

void worker::idle(long us)
{
	const timespec time = { 0, us * 1000 };
	const long start = us_of(CLOCK_MONOTONIC), before = us_of(CLOCK_THREAD_CPUTIME_ID);
	long ret = 35;

	// SYS_nanosleep, with no frame of libc between
	asm volatile("syscall" : "+a"(ret) : "D"(&time), "S"(0) : "rcx", "r11", "memory");
	waited += us_of(CLOCK_MONOTONIC) - start;
	cpu += us_of(CLOCK_THREAD_CPUTIME_ID) - before;
}

}

int main()
{
	pool::worker worker;

	for (int i = 0; i < 15; i++)
		worker.idle(50000);
	std::printf("pool::worker::idle(long) [interrupt] %ld %ld\n", worker.waited,
		    worker.waited - worker.cpu);
}
