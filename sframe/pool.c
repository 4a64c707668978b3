// SPDX-License-Identifier: GPL-2.0
/*
 * Works on several files at a time, in processes of their own.  If a hostile file makes a
 * library crash, loop or use up the memory, only this file fails.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
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

/* @pid is 0 before the worker starts and after it ends; @job is NULL while it has no file. */
struct worker {
	pid_t		pid;
	int		jobs;
	int		results;
	struct job	*job;
};

struct pool {
	struct worker	*workers;
	struct pollfd	*polled;
	enum life	life;
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

/* Of what the parent has open, a worker needs only two pipes and the standard streams. */
static void keep_pipes(int from, int to)
{
	/* Move one out of the way first: each may have the other's number. */
	to = fcntl(to, F_DUPFD, POOL_JOBS + 1);
	dup2(from, POOL_JOBS);
	dup2(to, POOL_RESULT);
	close_range(POOL_JOBS + 1, ~0U, 0);
}

static void work_in_child(const struct pool *pool)
{
	struct job *job;

	limit_memory();
	/* Print whole lines: several workers write at the same time. */
	setlinebuf(stdout);
	while (read(POOL_JOBS, &job, sizeof(job)) == sizeof(job)) {
		alarm(pool->seconds);
		pool->work(job->name, job->result);
		fflush(stdout);
		/* A pipe holds a whole result, so write() does not wait for a reader. */
		if (write(POOL_RESULT, job->result, pool->result_size) !=
		    (ssize_t)pool->result_size)
			_exit(EXIT_FAILED);
		if (pool->life == ONE_FILE)
			break;
		alarm(0);
	}
	_exit(EXIT_OK);
}

static void pool_fork(struct pool *pool, struct worker *worker)
{
	int jobs[2], results[2];

	fflush(stdout);
	if (pipe2(jobs, O_CLOEXEC) || pipe2(results, O_CLOEXEC))
		pool_fatal("pipe");
	worker->pid = fork();
	if (worker->pid < 0)
		pool_fatal("fork");
	if (!worker->pid) {
		keep_pipes(jobs[0], results[1]);
		work_in_child(pool);
	}
	close(jobs[0]);
	close(results[1]);
	worker->jobs = jobs[1];
	worker->results = results[0];
}

/* Return the worker's exit status. */
static int pool_end(struct worker *worker)
{
	int status;

	close(worker->jobs);
	close(worker->results);
	while (waitpid(worker->pid, &status, 0) < 0)
		if (errno != EINTR)
			pool_fatal("wait");
	worker->pid = 0;
	return status;
}

/*
 * A worker has a copy of the jobs at the same address.  One that was killed while it had no
 * file takes none; this file is then reported as failed.
 */
static void pool_start(struct pool *pool, struct worker *worker, struct job *job)
{
	void (*old)(int);

	if (!worker->pid)
		pool_fork(pool, worker);
	worker->job = job;
	old = signal(SIGPIPE, SIG_IGN);
	if (write(worker->jobs, &job, sizeof(job)) != sizeof(job) && errno != EPIPE)
		pool_fatal("write");
	signal(SIGPIPE, old);
	pool->busy++;
}

/* Return whether there is a whole result. */
static bool read_result(int from, char *to, size_t size)
{
	ssize_t got = 1;

	while (size && (got > 0 || (got < 0 && errno == EINTR))) {
		got = read(from, to, size);
		if (got > 0) {
			to += got;
			size -= got;
		}
	}
	return !size;
}

static void pool_finish(struct pool *pool, struct worker *worker)
{
	struct job *job = worker->job;
	bool whole = read_result(worker->results, job->result, pool->result_size);
	int status = 0;

	worker->job = NULL;
	if (!whole || pool->life == ONE_FILE)
		status = pool_end(worker);
	pool->busy--;
	job->signal = 0;
	if (WIFSIGNALED(status))
		job->signal = WTERMSIG(status);
	else if (WEXITSTATUS(status) || !whole)
		job->signal = -1;
	pool->done(job);
}

/* Wait for a result, or for the end of a worker. */
static void pool_wait(struct pool *pool)
{
	for (unsigned int i = 0; i < pool->count; i++)
		pool->polled[i] = (struct pollfd){
			.fd = pool->workers[i].job ? pool->workers[i].results : -1,
			.events = POLLIN,
		};
	if (poll(pool->polled, pool->count, -1) < 0 && errno != EINTR)
		pool_fatal("poll");
	for (unsigned int i = 0; i < pool->count; i++)
		if (pool->polled[i].revents)
			pool_finish(pool, &pool->workers[i]);
}

static struct worker *pool_free_worker(struct pool *pool)
{
	for (unsigned int i = 0; i < pool->count; i++)
		if (!pool->workers[i].job)
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
 * @life:		How many files a worker serves.
 * @work:		Fills in a file's result, in a worker.
 * @done:		Takes a file's result, in the calling process, in any order.
 */
void pool_run(struct job *jobs, size_t count, size_t result_size,
	      unsigned int workers, unsigned int seconds, enum life life,
	      void (*work)(const char *name, void *result),
	      void (*done)(const struct job *job))
{
	struct pool pool = {
		.workers = calloc(workers, sizeof(struct worker)),
		.polled = calloc(workers, sizeof(struct pollfd)),
		.life = life,
		.count = workers,
		.result_size = result_size,
		.seconds = seconds,
		.work = work,
		.done = done,
	};

	if (!pool.workers || !pool.polled)
		pool_fatal("calloc");
	stopped = false;
	for (size_t i = 0; i < count; i++) {
		while (pool.busy == pool.count)
			pool_wait(&pool);
		if (stopped)
			break;
		pool_start(&pool, pool_free_worker(&pool), &jobs[i]);
	}
	while (pool.busy)
		pool_wait(&pool);
	for (unsigned int i = 0; i < pool.count; i++)
		if (pool.workers[i].pid)
			pool_end(&pool.workers[i]);
	free(pool.polled);
	free(pool.workers);
}
