// SPDX-License-Identifier: GPL-2.0
/* Test that programs can read the common_* fields of a tracepoint's record. */
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <test_progs.h>
#include "test_tp_header.skel.h"
#include "tp_event.h"

#define IRQS_OFF	0x1

static void test_header(const char *prog_name, const char *event)
{
	struct test_tp_header *skel = test_tp_header__open_and_load();
	struct bpf_program *prog;
	struct bpf_link *link;
	__u32 key = 0;
	int fd;

	if (!ASSERT_OK_PTR(skel, "load"))
		return;
	skel->bss->watched = getpid();
	fd = bpf_program__fd(skel->progs.rename_task);
	ASSERT_OK(bpf_map_update_elem(bpf_map__fd(skel->maps.next), &key, &fd, BPF_ANY),
		  "tail call");
	prog = bpf_object__find_program_by_name(skel->obj, prog_name);
	link = bpf_program__attach(prog);
	if (ASSERT_OK_PTR(link, "attach")) {
		syscall(SYS_getpgid, 0);
		prctl(PR_SET_NAME, "test_progs");
		ASSERT_EQ(skel->bss->hits, 1, "hits");
		ASSERT_EQ(skel->bss->common_type, tp_event_id(event), "common_type");
		ASSERT_EQ(skel->bss->common_pid, syscall(SYS_gettid), "common_pid");
		ASSERT_EQ(skel->bss->common_flags & IRQS_OFF, 0, "common_flags");
		ASSERT_GT(skel->bss->stack_bytes, 0, "stack");
	}
	bpf_link__destroy(link);
	test_tp_header__destroy(skel);
}

void test_tp_header(void)
{
	static const struct {
		const char *prog, *event;
	} tests[] = {
		{ "enter_call", "syscalls/sys_enter_getpgid" },
		{ "exit_call", "syscalls/sys_exit_getpgid" },
		{ "rename_task", "task/task_rename" },
		{ "jump", "task/task_rename" },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(tests); i++)
		if (test__start_subtest(tests[i].prog))
			test_header(tests[i].prog, tests[i].event);
}
