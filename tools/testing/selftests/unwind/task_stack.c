// SPDX-License-Identifier: GPL-2.0
/*
 * Test bpf_get_task_stack() of the current task at context switches: while it exits and
 * has no mm any more, in kernel threads, and in io_uring's workers.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/io_uring.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "task_stack.h"
#include "unwind_test.h"
#include "task_stack.skel.h"

/* Maximum time to wait for a kind of task. */
#define PATIENCE_MS 20000

FIXTURE(task_stack)
{
	struct task_stack_bpf *skel;
};

FIXTURE_SETUP(task_stack)
{
	if (access("/sys/kernel/btf/vmlinux", R_OK))
		SKIP(return, "the kernel has no BTF");
	self->skel = task_stack_bpf__open();
	ASSERT_NE(NULL, self->skel);
}

FIXTURE_TEARDOWN(task_stack)
{
	task_stack_bpf__destroy(self->skel);
}

/* Run a child that exits after the program knows its pid. */
static bool run_child(struct task_stack_bpf *skel)
{
	int start[2], status;
	char byte;
	pid_t pid;

	if (pipe(start))
		return false;
	pid = fork();
	if (!pid)
		_exit(read(start[0], &byte, 1) == 1 ? 7 : 1);
	skel->bss->tgid = pid;
	return pid > 0 && write(start[1], "", 1) == 1 && waitpid(pid, &status, 0) == pid &&
	       WIFEXITED(status) && WEXITSTATUS(status) == 7 && !close(start[0]) &&
	       !close(start[1]);
}

/* The task still has its registers, so the stack is one frame, in exit_group(). */
TEST_F(task_stack, of_a_task_that_has_lost_its_mm)
{
	bpf_program__set_autoload(self->skel->progs.at_exit, true);
	ASSERT_EQ(0, task_stack_bpf__load(self->skel));
	ASSERT_EQ(0, task_stack_bpf__attach(self->skel));
	ASSERT_TRUE(run_child(self->skel));
	ASSERT_EQ(sizeof(uint64_t), self->skel->data->at_exit_bytes);
	EXPECT_NE(0, self->skel->bss->ips[0]);
	EXPECT_EQ(0, self->skel->bss->ips[1]);
}

/* Wait until tasks of @kind are switched out @times.  Returns false on timeout. */
static bool seen(struct task_stack_bpf *skel, enum task_stack_kind kind, __u64 times)
{
	const struct timespec nap = { .tv_nsec = 1000000 };

	for (int i = 0; i < PATIENCE_MS && skel->bss->walks[kind] < times; i++)
		nanosleep(&nap, NULL);
	return skel->bss->walks[kind] >= times;
}

/* Detach the programs and wait for those that run, so that their counters agree. */
static bool stop(struct task_stack_bpf *skel)
{
	task_stack_bpf__detach(skel);
	/* synchronize_rcu(), which user space may ask for */
	return !syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
}

TEST_F(task_stack, of_every_task_that_is_switched_from)
{
	struct io_uring_params params = {
		.flags = IORING_SETUP_SQPOLL,
		.sq_thread_idle = 1,
	};
	__u64 *walks = self->skel->bss->walks, *errors = self->skel->bss->errors;
	__u64 *frames = self->skel->bss->frames;
	int ring;

	bpf_program__set_autoload(self->skel->progs.at_switch, true);
	ASSERT_EQ(0, task_stack_bpf__load(self->skel));
	ASSERT_EQ(0, task_stack_bpf__attach(self->skel));
	for (int i = 0; i < 20; i++)
		ASSERT_TRUE(run_child(self->skel));
	ring = syscall(SYS_io_uring_setup, 4, &params);
	if (ring < 0 && errno == ENOSYS) {
		TH_LOG("no io_uring, so no user worker is seen");
	} else {
		ASSERT_LE(0, ring);
		EXPECT_TRUE(seen(self->skel, USER_WORKER, 1));
		close(ring);
	}
	EXPECT_TRUE(seen(self->skel, KTHREAD, 1));
	/* A child can be reaped before its last switch. */
	EXPECT_TRUE(seen(self->skel, WITHOUT_MM, 20));
	ASSERT_TRUE(stop(self->skel));

	EXPECT_EQ(walks[WITHOUT_MM], frames[WITHOUT_MM]);
	EXPECT_EQ(0, errors[WITHOUT_MM]);
	EXPECT_LE(20, walks[ORDINARY]);
	EXPECT_LE(walks[ORDINARY], frames[ORDINARY]);
	EXPECT_EQ(walks[KTHREAD], errors[KTHREAD]);
	EXPECT_EQ(walks[KTHREAD_WITH_MM], errors[KTHREAD_WITH_MM]);
	/* Walks for ids start from kernel registers. */
	EXPECT_LT(0, self->skel->bss->ids[ORDINARY]);
	EXPECT_EQ(0, self->skel->bss->ids[WITHOUT_MM]);
	EXPECT_EQ(0, self->skel->bss->ids[KTHREAD]);
	EXPECT_EQ(0, self->skel->bss->ids[KTHREAD_WITH_MM]);
	EXPECT_EQ(0, self->skel->bss->ids[USER_WORKER]);
	/* Frames are addresses if the task has no mapping to look up a build id. */
	EXPECT_EQ(walks[WITHOUT_MM], self->skel->bss->build_ids[WITHOUT_MM]);
	EXPECT_EQ(0, self->skel->bss->build_ids[KTHREAD]);
	/* Kernel frames of another task must be available, user frames never. */
	EXPECT_EQ(0, self->skel->bss->next_errors);
	EXPECT_LT(0, self->skel->bss->next_frames);
	EXPECT_LE(20, self->skel->bss->next_refused);
}

TEST_HARNESS_MAIN
