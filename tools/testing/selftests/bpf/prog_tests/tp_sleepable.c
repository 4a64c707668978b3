// SPDX-License-Identifier: GPL-2.0
/*
 * Test sleepable BPF programs on system call tracepoints, which can read memory that is
 * not resident.
 */
#define _GNU_SOURCE
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <test_progs.h>
#include "cpu_online.h"
#include "test_tp_sleepable.skel.h"
#include "tp_event.h"

#define PAGE_SIZE	4096
#define HITS		100
/* A value that programs never store as an error. */
#define NOT_RUN		1
/* Maximum number of sleepable programs of one event. */
#define MOST		64
/* CPU that goes offline while a task on it sleeps. */
#define ELSEWHERE	1

#define ENTER		"syscalls/sys_enter_access"

/* A path in a page of the test's own file. */
static const char file_page[PAGE_SIZE] __attribute__((aligned(PAGE_SIZE))) = "/none/in/file";
static const char fault_path[] = "/none/in/fault";

static struct test_tp_sleepable *load(void)
{
	struct test_tp_sleepable *skel = test_tp_sleepable__open();

	if (!ASSERT_OK_PTR(skel, "open"))
		return NULL;
	bpf_program__set_flags(skel->progs.enter_sleepable, BPF_F_SLEEPABLE);
	bpf_program__set_flags(skel->progs.exit_sleepable, BPF_F_SLEEPABLE);
	bpf_program__set_flags(skel->progs.switch_sleepable, BPF_F_SLEEPABLE);
	if (ASSERT_OK(test_tp_sleepable__load(skel), "load")) {
		skel->bss->watched = getpid();
		skel->bss->verdict = 1;
		skel->bss->plain_verdict = 1;
		skel->bss->err = NOT_RUN;
		skel->bss->plain_err = NOT_RUN;
		return skel;
	}
	test_tp_sleepable__destroy(skel);
	return NULL;
}

static bool attach(struct bpf_program *prog, struct bpf_link **link)
{
	*link = bpf_program__attach(prog);
	return ASSERT_OK_PTR(*link, "attach");
}

static void hit(const char *path)
{
	syscall(SYS_access, path, F_OK);
}

static void hit_often(void)
{
	int i;

	for (i = 0; i < HITS; i++)
		hit(file_page);
}

static void page_out(void)
{
	ASSERT_OK(madvise((void *)file_page, PAGE_SIZE, MADV_PAGEOUT), "page out");
}

/*
 * A program that may not sleep must fail to read the page, which shows that it is not
 * resident.
 */
static void test_paged_out(void)
{
	struct test_tp_sleepable *skel = load();

	if (!skel)
		return;
	if (!attach(skel->progs.enter_plain, &skel->links.enter_plain))
		goto out;
	page_out();
	hit(file_page);
	ASSERT_EQ(skel->bss->plain_err, -EFAULT, "not resident");

	if (!attach(skel->progs.enter_sleepable, &skel->links.enter_sleepable))
		goto out;
	page_out();
	hit(file_page);
	ASSERT_EQ(skel->bss->hits, 1, "hits");
	ASSERT_OK(skel->bss->err, "copy");
	ASSERT_STREQ(skel->bss->path, file_page, "path");
	ASSERT_EQ(skel->bss->type, tp_event_id(ENTER), "common_type");
	ASSERT_GT(skel->bss->stack, 0, "stack");
	/* It must have run after the sleepable program. */
	ASSERT_EQ(skel->bss->plain_order, 1, "order");
	ASSERT_STREQ(skel->bss->plain_path, file_page, "resident now");
out:
	test_tp_sleepable__destroy(skel);
}

static void test_exit(void)
{
	struct test_tp_sleepable *skel = load();

	if (!skel)
		return;
	if (!attach(skel->progs.enter_sleepable, &skel->links.enter_sleepable) ||
	    !attach(skel->progs.exit_sleepable, &skel->links.exit_sleepable))
		goto out;
	page_out();
	hit(file_page);
	ASSERT_EQ(skel->bss->exit_hits, 1, "hits");
	ASSERT_OK(skel->bss->err, "copy");
	ASSERT_STREQ(skel->bss->exit_path, file_page, "path");
	ASSERT_EQ(skel->bss->ret, -ENOENT, "ret");
	/* Reading an unmapped address must fail, and the system call must continue. */
	hit((const char *)8);
	ASSERT_EQ(skel->bss->err, -EFAULT, "no page");
	ASSERT_EQ(skel->bss->ret, -EFAULT, "ret of no page");
	ASSERT_EQ(skel->bss->exit_hits, 2, "hits");
out:
	test_tp_sleepable__destroy(skel);
}

/* A page whose fault the test resolves when it chooses. */
struct fault {
	pthread_t asked;
	char *page;
	int fd;
	/* Pipes for the handshake after the page was requested. */
	int go[2], seen[2];
};

static void *fault_serve(void *arg)
{
	static char content[PAGE_SIZE] __attribute__((aligned(PAGE_SIZE)));
	struct fault *fault = arg;
	struct uffdio_copy copy = {
		.dst = (unsigned long)fault->page,
		.src = (unsigned long)content,
		.len = PAGE_SIZE,
	};
	struct uffd_msg msg;
	char byte = 0;

	strcpy(content, fault_path);
	if (read(fault->fd, &msg, sizeof(msg)) == sizeof(msg)) {
		write(fault->seen[1], &byte, 1);
		read(fault->go[0], &byte, 1);
	}
	ioctl(fault->fd, UFFDIO_COPY, &copy);
	return NULL;
}

static bool fault_init(struct fault *fault)
{
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct uffdio_api api = { .api = UFFD_API };

	fault->fd = syscall(SYS_userfaultfd, O_CLOEXEC);
	if (!ASSERT_OK_FD(fault->fd, "userfaultfd"))
		return false;
	fault->page = mmap(NULL, PAGE_SIZE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	reg.range.start = (unsigned long)fault->page;
	reg.range.len = PAGE_SIZE;
	return ASSERT_OK(ioctl(fault->fd, UFFDIO_API, &api), "api") &&
	       ASSERT_OK(ioctl(fault->fd, UFFDIO_REGISTER, &reg), "register") &&
	       ASSERT_OK(pipe(fault->go), "pipe") && ASSERT_OK(pipe(fault->seen), "pipe") &&
	       ASSERT_OK(pthread_create(&fault->asked, NULL, fault_serve, fault), "thread");
}

static void fault_go(struct fault *fault)
{
	char byte = 0;

	write(fault->go[1], &byte, 1);
}

static bool fault_wait(struct fault *fault)
{
	struct pollfd seen = { fault->seen[0], POLLIN };

	return ASSERT_EQ(poll(&seen, 1, 60000), 1, "fault");
}

static void fault_destroy(struct fault *fault)
{
	pthread_join(fault->asked, NULL);
	munmap(fault->page, PAGE_SIZE);
	close(fault->fd);
	close(fault->go[0]);
	close(fault->go[1]);
	close(fault->seen[0]);
	close(fault->seen[1]);
}

static void *hit_fault(void *arg)
{
	struct fault *fault = arg;

	hit(fault->page);
	return NULL;
}

/* Hit on another CPU than the tasks that hit meanwhile, if there is one. */
static void *hit_fault_elsewhere(void *arg)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(ELSEWHERE, &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
	return hit_fault(arg);
}

static void test_userfaultfd(void)
{
	struct test_tp_sleepable *skel = load();
	struct fault fault;

	if (!skel)
		return;
	if (!attach(skel->progs.enter_sleepable, &skel->links.enter_sleepable) ||
	    !attach(skel->progs.switch_plain, &skel->links.switch_plain) ||
	    !fault_init(&fault))
		goto out;
	fault_go(&fault);
	hit(fault.page);
	ASSERT_OK(skel->bss->err, "copy");
	ASSERT_STREQ(skel->bss->path, fault_path, "path");
	/* Other programs must see that the task was switched out in this one. */
	ASSERT_GT(skel->bss->switches, 0, "switches");
	fault_destroy(&fault);
out:
	test_tp_sleepable__destroy(skel);
}

/* While a task sleeps in a program, others hit, and all programs and events are removed. */
static void test_detach_asleep(void)
{
	struct test_tp_sleepable *skel = load();
	struct perf_event_attr attr = {};
	struct fault fault;
	pthread_t sleeper;
	int fd = -1;

	if (!skel)
		return;
	if (!attach(skel->progs.enter_sleepable, &skel->links.enter_sleepable) ||
	    !attach(skel->progs.enter_plain, &skel->links.enter_plain) ||
	    !fault_init(&fault))
		goto out;
	skel->bss->verdict = 0;
	fd = tp_event_open(&attr, ENTER, 0, -1);
	if (!ASSERT_OK_FD(fd, "event") ||
	    !ASSERT_OK(pthread_create(&sleeper, NULL, hit_fault, &fault), "thread"))
		goto out;
	if (fault_wait(&fault)) {
		hit_often();
		ASSERT_EQ(skel->bss->hits, HITS, "hits of others");
		ASSERT_EQ(skel->bss->plain_hits, HITS, "plain hits of others");
		ASSERT_EQ(tp_event_count(fd), 0, "dropped");
	}
	bpf_link__destroy(skel->links.enter_sleepable);
	skel->links.enter_sleepable = NULL;
	bpf_link__destroy(skel->links.enter_plain);
	skel->links.enter_plain = NULL;
	hit_often();
	ASSERT_EQ(skel->bss->hits, HITS, "detached");
	ASSERT_EQ(tp_event_count(fd), HITS, "not dropped");
	/* Close the last event of the session for which the sleeper's hit will be dropped. */
	close(fd);
	usleep(100000);
	fault_go(&fault);
	pthread_join(sleeper, NULL);
	ASSERT_EQ(skel->bss->hits, HITS + 1, "awake");
	ASSERT_STREQ(skel->bss->path, fault_path, "path");
	fault_destroy(&fault);
out:
	test_tp_sleepable__destroy(skel);
}

static void *switch_off(void *arg)
{
	ASSERT_TRUE(cpu_set_online(ELSEWHERE, false), "offline");
	return NULL;
}

/*
 * A CPU must not go offline while a task on it sleeps in a program, but must do so
 * afterwards.
 */
static void test_offline_asleep(void)
{
	struct test_tp_sleepable *skel = load();
	pthread_t sleeper, switcher;
	struct fault fault;

	if (!skel)
		return;
	if (!attach(skel->progs.enter_sleepable, &skel->links.enter_sleepable) ||
	    !fault_init(&fault))
		goto out;
	if (!ASSERT_OK(pthread_create(&sleeper, NULL, hit_fault_elsewhere, &fault), "thread"))
		goto out;
	fault_wait(&fault);
	if (ASSERT_OK(pthread_create(&switcher, NULL, switch_off, NULL), "thread")) {
		usleep(300000);
		fault_go(&fault);
		pthread_join(switcher, NULL);
	}
	pthread_join(sleeper, NULL);
	ASSERT_TRUE(cpu_set_online(ELSEWHERE, true), "online");
	ASSERT_STREQ(skel->bss->path, fault_path, "path");
	fault_destroy(&fault);
out:
	test_tp_sleepable__destroy(skel);
}

/* Start a child that opens its own event for this task and reports what it counted. */
static pid_t stranger_start(int *order, int *answer)
{
	int to[2], from[2];
	pid_t pid, parent = getpid();
	char byte = 0;
	long count;

	if (!ASSERT_OK(pipe(to), "pipe") || !ASSERT_OK(pipe(from), "pipe"))
		return -1;
	pid = fork();
	if (!pid) {
		struct perf_event_attr attr = {};
		int fd = tp_event_open(&attr, ENTER, parent, -1);

		close(to[1]);
		write(from[1], &byte, 1);
		read(to[0], &byte, 1);
		count = fd < 0 ? -1 : tp_event_count(fd);
		write(from[1], &count, sizeof(count));
		_exit(0);
	}
	close(to[0]);
	close(from[1]);
	*order = to[1];
	*answer = from[0];
	ASSERT_EQ(read(from[0], &byte, 1), 1, "stranger");
	return pid;
}

static void check_verdict(int verdict, int plain_verdict, long expected)
{
	struct test_tp_sleepable *skel = load();
	struct perf_event_attr attr = {};
	long strangers = -1;
	int fd, order, answer;
	pid_t pid;

	if (!skel)
		return;
	pid = stranger_start(&order, &answer);
	if (!ASSERT_GT(pid, 0, "stranger"))
		goto out;
	skel->bss->verdict = verdict;
	skel->bss->plain_verdict = plain_verdict;
	fd = tp_event_open(&attr, ENTER, 0, -1);
	if (ASSERT_OK_FD(fd, "event") &&
	    attach(skel->progs.enter_plain, &skel->links.enter_plain) &&
	    attach(skel->progs.enter_sleepable, &skel->links.enter_sleepable)) {
		hit_often();
		ASSERT_EQ(skel->bss->hits, HITS, "sleepable hits");
		ASSERT_EQ(skel->bss->plain_hits, HITS, "plain hits");
		ASSERT_EQ(tp_event_count(fd), expected, "ours");
	}
	write(order, "", 1);
	read(answer, &strangers, sizeof(strangers));
	ASSERT_EQ(strangers, HITS, "stranger's");
	close(order);
	close(answer);
	close(fd);
	waitpid(pid, NULL, 0);
out:
	test_tp_sleepable__destroy(skel);
}

static void test_verdicts(void)
{
	check_verdict(1, 1, HITS);
	check_verdict(0, 1, 0);
	check_verdict(1, 0, 0);
	check_verdict(0, 0, 0);
}

/* A program that may not sleep must not be able to tail-call a sleepable one. */
static void check_no_tail_call(struct test_tp_sleepable *skel)
{
	int map = bpf_map_create(BPF_MAP_TYPE_PROG_ARRAY, "progs", sizeof(int), sizeof(int), 1,
				 NULL);
	int key = 0, fd = bpf_program__fd(skel->progs.enter_sleepable);

	if (!ASSERT_OK_FD(map, "map"))
		return;
	ASSERT_EQ(bpf_map_update_elem(map, &key, &fd, BPF_ANY), -EINVAL, "tail callee");
	fd = bpf_program__fd(skel->progs.enter_plain);
	ASSERT_OK(bpf_map_update_elem(map, &key, &fd, BPF_ANY), "plain tail callee");
	close(map);
}

static void test_limits(void)
{
	struct bpf_tracepoint_opts opts = { .sz = sizeof(opts) };
	struct test_tp_sleepable *skel = load();
	struct bpf_link *links[MOST + 1] = {};
	int i;

	if (!skel)
		return;
	check_no_tail_call(skel);
	ASSERT_NULL(bpf_program__attach(skel->progs.switch_sleepable), "sched_switch");
	ASSERT_EQ(errno, EINVAL, "sched_switch");
	for (i = 0; i <= MOST; i++) {
		opts.bpf_cookie = 1 + i;
		links[i] = bpf_program__attach_tracepoint_opts(skel->progs.enter_sleepable,
							       "syscalls", "sys_enter_access",
							       &opts);
		if (!links[i])
			break;
	}
	ASSERT_EQ(i, MOST, "attached");
	ASSERT_EQ(errno, E2BIG, "one too many");
	hit(file_page);
	ASSERT_EQ(skel->bss->hits, MOST, "hits");
	ASSERT_EQ(skel->bss->cookies, MOST * (MOST + 1) / 2, "cookies");
	for (i = 0; i < MOST; i++)
		bpf_link__destroy(links[i]);
	test_tp_sleepable__destroy(skel);
}

void serial_test_tp_sleepable(void)
{
	if (test__start_subtest("paged_out"))
		test_paged_out();
	if (test__start_subtest("exit"))
		test_exit();
	if (test__start_subtest("userfaultfd"))
		test_userfaultfd();
	if (test__start_subtest("detach_asleep"))
		test_detach_asleep();
	if (test__start_subtest("offline_asleep"))
		test_offline_asleep();
	if (test__start_subtest("verdicts"))
		test_verdicts();
	if (test__start_subtest("limits"))
		test_limits();
}
