// SPDX-License-Identifier: GPL-2.0
/* Test dynptrs for the dynamic fields of a tracepoint's record. */
#include <sys/wait.h>
#include <test_progs.h>
#include "test_tp_data_loc.skel.h"

#define PROGRAM	"/proc/self/exe"
/* A value that programs never store as an error. */
#define NOT_RUN	1

/* Exec in a child, which first waits until the program watches it. */
static void exec_watched(int *watched)
{
	int go[2];
	pid_t pid;
	char byte = 0;

	if (!ASSERT_OK(pipe(go), "pipe"))
		return;
	pid = fork();
	if (!pid) {
		if (read(go[0], &byte, 1) == 1)
			execl(PROGRAM, "test_progs", "-h", NULL);
		_exit(1);
	}
	*watched = pid;
	ASSERT_EQ(write(go[1], &byte, 1), 1, "go");
	waitpid(pid, NULL, 0);
	close(go[0]);
	close(go[1]);
}

static struct test_tp_data_loc *load_and_attach(void)
{
	struct test_tp_data_loc *skel = test_tp_data_loc__open_and_load();

	if (!ASSERT_OK_PTR(skel, "load"))
		return NULL;
	skel->bss->err = NOT_RUN;
	if (ASSERT_OK(test_tp_data_loc__attach(skel), "attach"))
		return skel;
	test_tp_data_loc__destroy(skel);
	return NULL;
}

static void test_read(void)
{
	struct test_tp_data_loc *skel = load_and_attach();

	if (!skel)
		return;
	exec_watched(&skel->bss->watched);
	ASSERT_EQ(skel->bss->execs, 1, "execs");
	ASSERT_OK(skel->bss->err, "dynptr");
	ASSERT_EQ(skel->bss->size, sizeof(PROGRAM), "size");
	ASSERT_STREQ(skel->bss->name, PROGRAM, "name");
	ASSERT_TRUE(skel->bss->in_place, "slice");
	ASSERT_TRUE(skel->bss->same, "same bytes");
	test_tp_data_loc__destroy(skel);
}

static void test_errors(void)
{
	struct test_tp_data_loc *skel = load_and_attach();

	if (!skel)
		return;
	exec_watched(&skel->bss->watched);
	ASSERT_EQ(skel->bss->flags_err, -EINVAL, "flags");
	ASSERT_TRUE(skel->bss->is_null, "null");
	ASSERT_EQ(skel->bss->beyond_err, -ERANGE, "beyond the record");
	ASSERT_EQ(skel->bss->common_err, -ERANGE, "common fields");
	ASSERT_EQ(skel->bss->write_err, -EINVAL, "write");
	test_tp_data_loc__destroy(skel);
}

/* A program that does not read its context must still get the record. */
static void test_blind(void)
{
	struct test_tp_data_loc *skel = test_tp_data_loc__open_and_load();

	if (!ASSERT_OK_PTR(skel, "load"))
		return;
	skel->bss->blind_err = NOT_RUN;
	skel->links.read_blind = bpf_program__attach(skel->progs.read_blind);
	if (ASSERT_OK_PTR(skel->links.read_blind, "attach")) {
		exec_watched(&skel->bss->watched);
		ASSERT_EQ(skel->bss->blind_execs, 1, "execs");
		ASSERT_OK(skel->bss->blind_err, "dynptr");
	}
	test_tp_data_loc__destroy(skel);
}

static void check_refused(const char *name)
{
	struct test_tp_data_loc *skel = test_tp_data_loc__open();
	struct bpf_program *prog;

	if (!ASSERT_OK_PTR(skel, "open"))
		return;
	bpf_object__for_each_program(prog, skel->obj)
		bpf_program__set_autoload(prog, !strcmp(bpf_program__name(prog), name));
	ASSERT_EQ(test_tp_data_loc__load(skel), -EACCES, name);
	test_tp_data_loc__destroy(skel);
}

void serial_test_tp_data_loc(void)
{
	if (test__start_subtest("read"))
		test_read();
	if (test__start_subtest("errors"))
		test_errors();
	if (test__start_subtest("blind"))
		test_blind();
	if (test__start_subtest("other_types")) {
		check_refused("kprobe_reads");
		check_refused("perf_event_reads");
	}
}
