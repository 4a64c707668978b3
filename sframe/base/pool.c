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

#include "base/clock.h"
#include "base/complain.h"
#include "base/pool.h"

/* Four times what the largest browser with its debugging information needs. */
#define MAX_MEMORY	(4ULL << 30)

/*
 * A worker's own alarm() ends it.  If that has no effect for so many seconds, because somebody
 * has stopped the worker, the parent ends it.
 */
#define GRACE	10

/**
 * struct worker - a process that works on files
 * @pid:	The process; 0 before it starts and after it ends.
 * @jobs:	Where it gets its files from.
 * @results:	Where it sends its results.
 * @job:	Its file; NULL while it has none.
 * @got:	How many bytes of the result have come.
 * @deadline:	When the parent ends it, by clock_seconds().
 * @late:	The deadline has passed.
 */
struct worker {
	pid_t		pid;
	int		jobs;
	int		results;
	struct job	*job;
	size_t		got;
	double		deadline;
	bool		late;
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
		/* In time; and a worker that serves one file may have no right to call it. */
		if (pool->life == MANY_FILES)
			alarm(0);
		/* A pipe holds a whole result, so write() does not wait for a reader. */
		if (write(POOL_RESULT, job->result, pool->result_size) !=
		    (ssize_t)pool->result_size)
			_exit(EXIT_FAILED);
		if (pool->life == ONE_FILE)
			break;
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

/*
 * Return the worker's exit status.  The worker has ended, and keeps its status; or nothing more
 * is wanted of it, and it must not be waited for: a process of its user may have stopped it.
 */
static int pool_end(struct worker *worker)
{
	int status;

	if (kill(worker->pid, SIGKILL) && worker->late)
		pool_fatal("kill");
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
	sighandler_t old;

	if (!worker->pid)
		pool_fork(pool, worker);
	worker->job = job;
	worker->got = 0;
	worker->deadline = clock_seconds() + pool->seconds + GRACE;
	worker->late = false;
	old = signal(SIGPIPE, SIG_IGN);
	if (write(worker->jobs, &job, sizeof(job)) != sizeof(job) && errno != EPIPE)
		pool_fatal("write");
	signal(SIGPIPE, old);
	pool->busy++;
}

/* Return whether nothing more comes: the result is whole, or the worker has ended. */
static bool read_result(const struct pool *pool, struct worker *worker)
{
	ssize_t got = read(worker->results, (char *)worker->job->result + worker->got,
			   pool->result_size - worker->got);

	if (got > 0)
		worker->got += got;
	return !got || (got < 0 && errno != EINTR) || worker->got == pool->result_size;
}

static void pool_finish(struct pool *pool, struct worker *worker)
{
	struct job *job = worker->job;
	bool whole = worker->got == pool->result_size;
	int status = 0;

	worker->job = NULL;
	if (!whole || pool->life == ONE_FILE)
		status = pool_end(worker);
	pool->busy--;
	if (whole)
		job->signal = 0;
	else if (worker->late)
		job->signal = SIGALRM;
	else
		job->signal = WIFSIGNALED(status) ? WTERMSIG(status) : -1;
	pool->done(job);
}

/* Return how many milliseconds the workers may still take. */
static int pool_time(const struct pool *pool)
{
	double now = clock_seconds(), least = pool->seconds + GRACE;

	for (unsigned int i = 0; i < pool->count; i++)
		if (pool->workers[i].job && pool->workers[i].deadline - now < least)
			least = pool->workers[i].deadline - now;
	return least > 0 ? 1000 * least + 1 : 0;
}

/* Wait for a result, for the end of a worker, or for a deadline. */
static void pool_wait(struct pool *pool)
{
	double now;

	for (unsigned int i = 0; i < pool->count; i++)
		pool->polled[i] = (struct pollfd){
			.fd = pool->workers[i].job ? pool->workers[i].results : -1,
			.events = POLLIN,
		};
	if (poll(pool->polled, pool->count, pool_time(pool)) < 0) {
		if (errno != EINTR)
			pool_fatal("poll");
		return;
	}
	now = clock_seconds();
	for (unsigned int i = 0; i < pool->count; i++) {
		struct worker *worker = &pool->workers[i];

		if (!worker->job)
			continue;
		if (pool->polled[i].revents && read_result(pool, worker)) {
			pool_finish(pool, worker);
		} else if (now >= worker->deadline) {
			worker->late = true;
			pool_finish(pool, worker);
		}
	}
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
