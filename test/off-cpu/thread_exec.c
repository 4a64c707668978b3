// SPDX-License-Identifier: GPL-2.0
/* A thread that is not the first of its process prints its tid, and executes "sleep 2" when told to. */
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static void *run(void *arg)
{
	printf("%ld\n", syscall(SYS_gettid));
	fflush(stdout);
	getchar();
	execlp("sleep", "sleep", "2", NULL);
	perror("sleep");
	return arg;
}

int main(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, NULL))
		return 1;
	pthread_join(thread, NULL);
	return 1;
}
