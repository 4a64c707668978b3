// SPDX-License-Identifier: GPL-2.0
/*
 * Test that one program can be attached to a tracepoint any number of times with
 * different cookies.
 */
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <test_progs.h>
#include "cgroup_helpers.h"
#include "stack_map_lib.h"
#include "test_tp_attach.skel.h"
#include "tp_event.h"

#define HITS	10
/* More than the limit of 64 in older kernels. */
#define MANY	100
#define OLD_MAX	64

static struct bpf_link *links[MANY + 1];

/* Attach the program with @cookie; links are numbered by their cookies, from 1 on. */
static int attach(struct test_tp_attach *skel, __u64 cookie)
{
	LIBBPF_OPTS(bpf_tracepoint_opts, opts, .bpf_cookie = cookie);

	links[cookie] = bpf_program__attach_tracepoint_opts(skel->progs.count_by_cookie,
							    "syscalls", "sys_enter_getpgid",
							    &opts);
	return links[cookie] ? 0 : -errno;
}

static void detach(__u64 cookie)
{
	bpf_link__destroy(links[cookie]);
	links[cookie] = NULL;
}

static struct test_tp_attach *attach_first(__u64 nr)
{
	struct test_tp_attach *skel = test_tp_attach__open_and_load();
	__u64 cookie;

	if (!ASSERT_OK_PTR(skel, "load"))
		return NULL;
	skel->bss->watched = getpid();
	for (cookie = 1; cookie <= nr; cookie++)
		if (!ASSERT_OK(attach(skel, cookie), "attach"))
			break;
	return skel;
}

static void detach_all(struct test_tp_attach *skel)
{
	__u64 cookie;

	for (cookie = 1; cookie <= MANY; cookie++)
		detach(cookie);
	test_tp_attach__destroy(skel);
}

static void hit(void)
{
	int i;

	for (i = 0; i < HITS; i++)
		syscall(SYS_getpgid, 0);
}

/* Each attachment must run with its own cookie until it is detached. */
static void test_cookies(void)
{
	struct test_tp_attach *skel = attach_first(3);

	if (!skel)
		return;
	hit();
	detach(2);
	hit();
	ASSERT_EQ(skel->bss->hits[1], 2 * HITS, "first");
	ASSERT_EQ(skel->bss->hits[2], HITS, "detached");
	ASSERT_EQ(skel->bss->hits[3], 2 * HITS, "third");
	/* A cookie may be attached again. */
	ASSERT_OK(attach(skel, 2), "again");
	hit();
	ASSERT_EQ(skel->bss->hits[2], 2 * HITS, "again");
	detach_all(skel);
}

/*
 * Tools attach one program to the events of all CPUs.  All but the first attempt must
 * fail, so that the program runs once a hit.
 */
static void test_same_cookie(void)
{
	struct test_tp_attach *skel = attach_first(1);
	struct bpf_link *first = links[1];

	if (!skel)
		return;
	ASSERT_EQ(attach(skel, 1), -EEXIST, "same");
	links[1] = first;
	hit();
	ASSERT_EQ(skel->bss->hits[1], HITS, "hits");
	detach_all(skel);
}

/*
 * Query the programs with room for @room ids.  Sets *@others to the number of ids other
 * than @id.
 */
static int query(int fd, __u32 room, __u32 id, __u32 *others)
{
	struct perf_event_query_bpf *query;
	int err;
	__u32 i;

	query = calloc(1, sizeof(*query) + room * sizeof(__u32));
	if (!query)
		return -ENOMEM;
	query->ids_len = room;
	err = ioctl(fd, PERF_EVENT_IOC_QUERY_BPF, query) ? -errno : 0;
	ASSERT_EQ(query->prog_cnt, MANY, "prog_cnt");
	*others = 0;
	for (i = 0; i < room && i < MANY; i++)
		*others += query->ids[i] != id;
	free(query);
	return err;
}

static void test_many(void)
{
	struct test_tp_attach *skel = attach_first(MANY);
	struct bpf_prog_info info = {};
	struct perf_event_attr attr = {};
	__u32 len = sizeof(info), others;
	int fd = tp_event_open(&attr, "syscalls/sys_enter_getpgid", 0, -1), i;

	if (!skel)
		goto close;
	hit();
	for (i = 1; i <= MANY; i++)
		if (!ASSERT_EQ(skel->bss->hits[i], HITS, "hits"))
			break;
	if (!ASSERT_OK_FD(fd, "event") ||
	    !ASSERT_OK(bpf_prog_get_info_by_fd(bpf_program__fd(skel->progs.count_by_cookie),
					       &info, &len), "info"))
		goto detach;
	ASSERT_OK(query(fd, MANY, info.id, &others), "query");
	ASSERT_EQ(others, 0, "ids");
	ASSERT_EQ(query(fd, OLD_MAX, info.id, &others), -ENOSPC, "too few");
	ASSERT_EQ(others, 0, "ids");
	ASSERT_OK(query(fd, 0, info.id, &others), "count alone");
detach:
	detach_all(skel);
close:
	close(fd);
}

#define GROUP	"/tp_attach"
/* Enough that their arrays take more than the kernel charges ahead. */
#define LINKS	400

/* In a child, which an OOM kill may end: attach many, use all memory, and detach. */
static int detach_in_full_group(struct test_tp_attach *skel, int cgroup)
{
	static struct bpf_link *links[LINKS];
	char limit[32];
	int i;

	for (i = 0; i < LINKS; i++) {
		LIBBPF_OPTS(bpf_tracepoint_opts, opts, .bpf_cookie = i + 1);

		links[i] = bpf_program__attach_tracepoint_opts(skel->progs.count_by_cookie,
							       "syscalls", "sys_enter_getpgid",
							       &opts);
		if (!links[i])
			return 1;
	}
	/* What this uses cannot be reclaimed. */
	if (mlockall(MCL_CURRENT | MCL_FUTURE))
		return 2;
	snprintf(limit, sizeof(limit), "%lld",
		 number_of_group(cgroup, "memory.current", "") + 16384);
	if (write_cgroup_file_parent(GROUP, "memory.max", limit))
		return 3;
	for (i = 0; i < LINKS; i++)
		bpf_link__destroy(links[i]);
	return 0;
}

/* A process that detaches programs must not meet the limit of its memory cgroup. */
static void test_detach_without_memory(void)
{
	struct test_tp_attach *skel = test_tp_attach__open_and_load();
	int cgroup = test__join_cgroup(GROUP), status = -1;
	pid_t pid;

	if (!ASSERT_OK_PTR(skel, "load") || !ASSERT_OK_FD(cgroup, "cgroup"))
		goto end;
	pid = fork();
	if (!pid)
		_exit(detach_in_full_group(skel, cgroup));
	ASSERT_EQ(waitpid(pid, &status, 0), pid, "waitpid");
	ASSERT_EQ(status, 0, "child");
	ASSERT_EQ(number_of_group(cgroup, "memory.events", "oom "), 0, "oom");
	write_cgroup_file(GROUP, "memory.max", "max");
end:
	close(cgroup);
	test_tp_attach__destroy(skel);
}

/* Serial: other tests must not attach programs to the queried tracepoint. */
void serial_test_tp_attach(void)
{
	if (test__start_subtest("cookies"))
		test_cookies();
	if (test__start_subtest("same_cookie"))
		test_same_cookie();
	if (test__start_subtest("many"))
		test_many();
	if (test__start_subtest("detach_without_memory"))
		test_detach_without_memory();
}
