// SPDX-License-Identifier: GPL-2.0
/*
 * Works on several files at a time, each in a process of its own.  If a hostile file makes a
 * library crash, loop or use up the memory, only this file fails.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "complain.h"
#include "pool.h"

/* Four times what the largest browser with its debugging information needs. */
#define MAX_MEMORY	(4ULL << 30)

struct worker {
	pid_t		pid;
	int		pipe;
	struct job	*job;
};

struct pool {
	struct worker	*workers;
	unsigned int	count;
	unsigned int	busy;
	size_t		result_size;
	unsigned int	seconds;
	void		(*work)(const char *name, void *result);
	void		(*done)(const struct job *job);
};

/* Set by pool_stop(). */
static bool stopped;

static void pool_fatal(const char *what)
{
	fprintf(stderr, "sframe: %s: %s\n", what, strerror(errno));
	exit(EXIT_FAILED);
}

static void limit_memory(void)
{
	/* AddressSanitizer reserves more address space than the limit. */
#ifndef __SANITIZE_ADDRESS__
	struct rlimit limit = { MAX_MEMORY, MAX_MEMORY };

	setrlimit(RLIMIT_AS, &limit);
#endif
}

static void work_in_child(const struct pool *pool, const struct job *job,
			  int to)
{
	alarm(pool->seconds);
	limit_memory();
	/* Print whole lines: several workers write at the same time. */
	setlinebuf(stdout);
	pool->work(job->name, job->result);
	fflush(stdout);
	/* A pipe holds a whole result, so write() does not wait for a reader. */
	if (write(to, job->result, pool->result_size) !=
	    (ssize_t)pool->result_size)
		_exit(EXIT_FAILED);
	_exit(EXIT_OK);
}

static void pool_start(struct pool *pool, struct worker *worker, struct job *job)
{
	int ends[2];

	fflush(stdout);
	if (pipe(ends))
		pool_fatal("pipe");
	worker->job = job;
	worker->pid = fork();
	if (worker->pid < 0)
		pool_fatal("fork");
	if (!worker->pid) {
		close(ends[0]);
		work_in_child(pool, job, ends[1]);
	}
	close(ends[1]);
	worker->pipe = ends[0];
	pool->busy++;
}

static void pool_finish(struct pool *pool, struct worker *worker, int status)
{
	struct job *job = worker->job;
	ssize_t got = read(worker->pipe, job->result, pool->result_size);

	close(worker->pipe);
	worker->pid = 0;
	pool->busy--;
	job->signal = 0;
	if (WIFSIGNALED(status))
		job->signal = WTERMSIG(status);
	else if (WEXITSTATUS(status) || got != (ssize_t)pool->result_size)
		job->signal = -1;
	pool->done(job);
}

static void pool_wait_one(struct pool *pool)
{
	int status;
	pid_t pid = wait(&status);

	if (pid < 0 && errno != EINTR)
		pool_fatal("wait");
	for (unsigned int i = 0; i < pool->count; i++)
		if (pid > 0 && pool->workers[i].pid == pid)
			pool_finish(pool, &pool->workers[i], status);
}

static struct worker *pool_free_worker(struct pool *pool)
{
	for (unsigned int i = 0; i < pool->count; i++)
		if (!pool->workers[i].pid)
			return &pool->workers[i];
	return NULL;
}

/**
 * pool_stop() - start no more files
 *
 * For the function that takes a file's result.  Files that are worked on are finished.
 */
void pool_stop(void)
{
	stopped = true;
}

/**
 * pool_run() - work on several files at a time
 * @jobs:		The files.
 * @count:		Their number.
 * @result_size:	Bytes at each job's result, less than a pipe holds.
 * @workers:		How many files at a time.
 * @seconds:		How long one file may take.
 * @work:		Fills in a file's result, in a process of its own.
 * @done:		Takes a file's result, in the calling process, in any order.
 */
void pool_run(struct job *jobs, size_t count, size_t result_size,
	      unsigned int workers, unsigned int seconds,
	      void (*work)(const char *name, void *result),
	      void (*done)(const struct job *job))
{
	struct pool pool = {
		.workers = calloc(workers, sizeof(struct worker)),
		.count = workers,
		.result_size = result_size,
		.seconds = seconds,
		.work = work,
		.done = done,
	};

	if (!pool.workers)
		pool_fatal("calloc");
	stopped = false;
	for (size_t i = 0; i < count; i++) {
		while (pool.busy == pool.count)
			pool_wait_one(&pool);
		if (stopped)
			break;
		pool_start(&pool, pool_free_worker(&pool), &jobs[i]);
	}
	while (pool.busy)
		pool_wait_one(&pool);
	free(pool.workers);
}
