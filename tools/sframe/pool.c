// SPDX-License-Identifier: GPL-2.0
/*
 * Works on files side by side, each in a process of its own: a file that makes
 * a library crash, compute for ever or take all memory is that file's result and
 * nobody else's.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tool.h"

/* The largest browser with its debugging information takes a quarter of it. */
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

static void fatal(const char *what)
{
	fprintf(stderr, "sframe: %s: %s\n", what, strerror(errno));
	exit(EXIT_FAILED);
}

static void limit_memory(void)
{
	/* The sanitizer keeps its books in addresses that it never uses. */
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
	/* Lines of several workers may mix, their letters may not. */
	setlinebuf(stdout);
	pool->work(job->name, job->result);
	fflush(stdout);
	/* A result is smaller than a pipe, so nobody has to read meanwhile. */
	if (write(to, job->result, pool->result_size) !=
	    (ssize_t)pool->result_size)
		_exit(EXIT_FAILED);
	_exit(EXIT_OK);
}

static void start(struct pool *pool, struct worker *worker, struct job *job)
{
	int ends[2];

	fflush(stdout);
	if (pipe(ends))
		fatal("pipe");
	worker->job = job;
	worker->pid = fork();
	if (worker->pid < 0)
		fatal("fork");
	if (!worker->pid) {
		close(ends[0]);
		work_in_child(pool, job, ends[1]);
	}
	close(ends[1]);
	worker->pipe = ends[0];
	pool->busy++;
}

static void finish(struct pool *pool, struct worker *worker, int status)
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

static void wait_one(struct pool *pool)
{
	int status;
	pid_t pid = wait(&status);

	if (pid < 0 && errno != EINTR)
		fatal("wait");
	for (unsigned int i = 0; i < pool->count; i++)
		if (pid > 0 && pool->workers[i].pid == pid)
			finish(pool, &pool->workers[i], status);
}

static struct worker *free_worker(struct pool *pool)
{
	for (unsigned int i = 0; i < pool->count; i++)
		if (!pool->workers[i].pid)
			return &pool->workers[i];
	return NULL;
}

/**
 * pool_run() - work on files side by side
 * @jobs:		The files.
 * @count:		Their number.
 * @result_size:	Bytes at each job's result, less than a pipe holds.
 * @workers:		How many at a time.
 * @seconds:		How long one may take.
 * @work:		Runs in a process of its own and fills in the result.
 * @done:		Runs here when a file is done, in any order.
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
		fatal("calloc");
	for (size_t i = 0; i < count; i++) {
		while (pool.busy == pool.count)
			wait_one(&pool);
		start(&pool, free_worker(&pool), &jobs[i]);
	}
	while (pool.busy)
		wait_one(&pool);
	free(pool.workers);
}
