// SPDX-License-Identifier: GPL-2.0
/* Samples that wait for their user callchain: what a tool gets, when, and in which order. */
#include <inttypes.h>
#include <linux/kernel.h>
#include <string.h>

#include "util/debug.h"
#include "util/deferred_callchain.h"
#include "util/event.h"
#include "util/evlist.h"
#include "util/evsel.h"
#include "util/sample.h"
#include "util/session.h"
#include "util/synthetic-events.h"
#include "util/tool.h"
#include "tests.h"

#define SAMPLE_TYPE	(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | \
			 PERF_SAMPLE_CALLCHAIN)
#define KERNEL_IP	0xffffffff81000000ULL
#define USER_IP		0x400000ULL
#define MAX_DELIVERED	16
/* More samples than fit into a number of bytes */
#define MORE_THAN(bytes)	((bytes) / sizeof(struct perf_event_header))

/* A reader of perf.data, and what it has got. */
struct reader {
	struct perf_session session;
	struct perf_tool tool;
	u64 nr_got;
	/* Time and number of user frames of the last samples */
	u64 times[MAX_DELIVERED];
	u64 frames[MAX_DELIVERED];
};

static int reader__begin(struct reader *reader)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.size = sizeof(attr),
		.sample_type = SAMPLE_TYPE,
		.sample_id_all = 1,
	};
	struct evsel *evsel;

	memset(reader, 0, sizeof(*reader));
	perf_tool__init(&reader->tool, /*ordered_events=*/true);
	reader->session.tool = &reader->tool;
	reader->session.evlist = evlist__new();
	evsel = reader->session.evlist ? evsel__new(&attr) : NULL;
	if (!evsel)
		return -1;
	evlist__add(reader->session.evlist, evsel);
	return 0;
}

static void reader__end(struct reader *reader)
{
	deferred_callchains__delete(&reader->session);
	evlist__delete(reader->session.evlist);
}

static int deliver(struct perf_session *session, const struct perf_tool *tool __maybe_unused,
		   union perf_event *event __maybe_unused, struct perf_sample *sample,
		   u64 file_offset __maybe_unused, const char *file_path __maybe_unused)
{
	struct reader *reader = container_of(session, struct reader, session);
	const struct ip_callchain *chain = sample->callchain;
	u64 i, nr_user = 0;
	bool user = false;

	for (i = 0; i < chain->nr; i++) {
		if (chain->ips[i] == PERF_CONTEXT_USER_DEFERRED)
			return -EINVAL;
		if (chain->ips[i] == PERF_CONTEXT_USER)
			user = true;
		else
			nr_user += user;
	}
	reader->times[reader->nr_got % MAX_DELIVERED] = sample->time;
	reader->frames[reader->nr_got % MAX_DELIVERED] = nr_user;
	reader->nr_got++;
	return 0;
}

static int read_event(struct reader *reader, union perf_event *event, struct perf_sample *sample)
{
	int ret = deferred_callchains__process(&reader->session, &reader->tool, event, sample, 0,
					       "", deliver);

	if (!ret && event->header.type == PERF_RECORD_SAMPLE)
		ret = deliver(&reader->session, &reader->tool, event, sample, 0, "");
	return ret < 0 ? ret : 0;
}

/* A sample in the kernel at @time; if @cookie is not 0, its user part comes later. */
static int read_sample(struct reader *reader, u32 pid, u32 tid, u64 time, u64 cookie)
{
	u64 words[] = { 4, PERF_CONTEXT_KERNEL, KERNEL_IP, PERF_CONTEXT_USER_DEFERRED, cookie };
	struct perf_sample sample = {
		.ip = KERNEL_IP,
		.pid = pid,
		.tid = tid,
		.time = time,
		.callchain = (struct ip_callchain *)words,
	};
	union perf_event event;

	if (!cookie)
		words[0] = 2;
	event.header.type = PERF_RECORD_SAMPLE;
	event.header.misc = PERF_RECORD_MISC_KERNEL;
	event.header.size = perf_event__sample_event_size(&sample, SAMPLE_TYPE, 0);
	if (perf_event__synthesize_sample(&event, SAMPLE_TYPE, 0, &sample) ||
	    evlist__parse_sample(reader->session.evlist, &event, &sample))
		return -1;
	return read_event(reader, &event, &sample);
}

/* The user part, of two frames */
static int read_user_part(struct reader *reader, u32 tid, u64 cookie)
{
	struct perf_sample sample = { .tid = tid };
	union perf_event event = {
		.callchain_deferred = {
			.header = {
				.type = PERF_RECORD_CALLCHAIN_DEFERRED,
				.size = sizeof(event.callchain_deferred) + 2 * sizeof(u64),
			},
			.cookie = cookie,
			.nr = 2,
		},
	};

	event.callchain_deferred.ips[0] = USER_IP;
	event.callchain_deferred.ips[1] = USER_IP + 1;
	return read_event(reader, &event, &sample);
}

static int read_exec(struct reader *reader, u32 pid)
{
	union perf_event event = {
		.comm = {
			.header = {
				.type = PERF_RECORD_COMM,
				.misc = PERF_RECORD_MISC_COMM_EXEC,
				.size = sizeof(event.comm),
			},
			.pid = pid,
			.tid = pid,
		},
	};
	struct perf_sample sample = { .pid = pid, .tid = pid };

	return read_event(reader, &event, &sample);
}

static int read_exit(struct reader *reader, u32 pid, u32 tid)
{
	union perf_event event = {
		.fork = {
			.header = { .type = PERF_RECORD_EXIT, .size = sizeof(event.fork) },
			.pid = pid,
			.tid = tid,
		},
	};
	struct perf_sample sample = { .pid = pid, .tid = tid };

	return read_event(reader, &event, &sample);
}

/* Whether the @nr th sample was taken at @time, and has @frames of its user part. */
static bool got(const struct reader *reader, u64 nr, u64 time, u64 frames)
{
	u64 last = nr % MAX_DELIVERED;

	if (nr >= reader->nr_got) {
		pr_debug("only %" PRIu64 " samples\n", reader->nr_got);
		return false;
	}
	if (reader->times[last] == time && reader->frames[last] == frames)
		return true;
	pr_debug("time %" PRIu64 " with %" PRIu64 " user frames\n", reader->times[last],
		 reader->frames[last]);
	return false;
}

static int flush(struct reader *reader)
{
	return deferred_callchains__flush(&reader->session, &reader->tool, deliver);
}

static int do_merge(struct reader *reader)
{
	TEST_ASSERT_VAL("sample", !read_sample(reader, 10, 10, 1, 5));
	TEST_ASSERT_VAL("sample", !read_sample(reader, 10, 10, 2, 5));
	TEST_ASSERT_VAL("other task", !read_sample(reader, 11, 11, 3, 6));
	TEST_ASSERT_VAL("wrong cookie", !read_user_part(reader, 10, 6));
	TEST_ASSERT_VAL("held", reader->nr_got == 0);
	TEST_ASSERT_VAL("user part", !read_user_part(reader, 10, 5));
	TEST_ASSERT_VAL("first", got(reader, 0, 1, 2));
	TEST_ASSERT_VAL("second", got(reader, 1, 2, 2));
	TEST_ASSERT_VAL("no other", reader->nr_got == 2);
	return TEST_OK;
}

/* Those of a task stay in their order; those of other tasks do not wait for them. */
static int do_order(struct reader *reader)
{
	TEST_ASSERT_VAL("deferred", !read_sample(reader, 10, 10, 1, 5));
	TEST_ASSERT_VAL("later sample of the task", !read_sample(reader, 10, 10, 2, 0));
	TEST_ASSERT_VAL("other task", !read_sample(reader, 10, 11, 3, 0));
	TEST_ASSERT_VAL("other first", got(reader, 0, 3, 0));
	TEST_ASSERT_VAL("held", reader->nr_got == 1);
	TEST_ASSERT_VAL("user part", !read_user_part(reader, 10, 5));
	TEST_ASSERT_VAL("deferred", got(reader, 1, 1, 2));
	TEST_ASSERT_VAL("later sample of the task", got(reader, 2, 2, 0));
	return TEST_OK;
}

static int do_lost(struct reader *reader)
{
	TEST_ASSERT_VAL("sample", !read_sample(reader, 10, 10, 1, 5));
	TEST_ASSERT_VAL("another cookie", !read_sample(reader, 10, 10, 2, 6));
	TEST_ASSERT_VAL("first", got(reader, 0, 1, 0));
	TEST_ASSERT_VAL("exit", !read_exit(reader, 10, 10));
	TEST_ASSERT_VAL("second", got(reader, 1, 2, 0));
	TEST_ASSERT_VAL("no limit", deferred_callchains__nr_cut(&reader->session) == 0);
	return TEST_OK;
}

/* The thread 11 calls exec(), and goes on as 10. */
static int do_exec(struct reader *reader)
{
	TEST_ASSERT_VAL("thread", !read_sample(reader, 10, 11, 1, 5));
	TEST_ASSERT_VAL("other process", !read_sample(reader, 12, 12, 2, 6));
	TEST_ASSERT_VAL("exec", !read_exec(reader, 10));
	TEST_ASSERT_VAL("thread", got(reader, 0, 1, 0));
	TEST_ASSERT_VAL("other process waits", reader->nr_got == 1);
	return TEST_OK;
}

static int do_end(struct reader *reader)
{
	u32 tid;

	for (tid = 1; tid <= MAX_DELIVERED; tid++)
		TEST_ASSERT_VAL("sample", !read_sample(reader, 10, 1000 * tid, tid, tid));
	TEST_ASSERT_VAL("held", reader->nr_got == 0);
	TEST_ASSERT_VAL("flush", !flush(reader));
	TEST_ASSERT_VAL("all", reader->nr_got == MAX_DELIVERED);
	for (tid = 1; tid <= MAX_DELIVERED; tid++)
		TEST_ASSERT_VAL("in their order", got(reader, tid - 1, tid, 0));
	return TEST_OK;
}

/* A task that stays in the kernel */
static int do_task_limit(struct reader *reader)
{
	u64 nr;

	for (nr = 0; reader->nr_got < 2; nr++) {
		TEST_ASSERT_VAL("no limit", nr < MORE_THAN(DEFERRED_TASK_BYTES));
		TEST_ASSERT_VAL("sample", !read_sample(reader, 10, 10, nr, 5));
	}
	TEST_ASSERT_VAL("oldest first", got(reader, 0, 0, 0) && got(reader, 1, 1, 0));
	TEST_ASSERT_VAL("counted", deferred_callchains__nr_cut(&reader->session) == 2);
	TEST_ASSERT_VAL("user part", !read_user_part(reader, 10, 5));
	TEST_ASSERT_VAL("all", reader->nr_got == nr);
	TEST_ASSERT_VAL("others have it", got(reader, nr - 1, nr - 1, 2));
	return TEST_OK;
}

/* So many tasks that each has only few samples */
static int do_limit(struct reader *reader)
{
	u64 nr;

	for (nr = 0; reader->nr_got < 2; nr++) {
		TEST_ASSERT_VAL("no limit", nr < MORE_THAN(DEFERRED_BYTES));
		TEST_ASSERT_VAL("sample", !read_sample(reader, 10, 1 + nr % 1000, nr, 5));
	}
	TEST_ASSERT_VAL("oldest first", got(reader, 0, 0, 0) && got(reader, 1, 1, 0));
	TEST_ASSERT_VAL("counted", deferred_callchains__nr_cut(&reader->session) == 2);
	TEST_ASSERT_VAL("flush", !flush(reader));
	TEST_ASSERT_VAL("all", reader->nr_got == nr);
	return TEST_OK;
}

/* A tool that needs the order of all events gets a sample without its user part, at once. */
static int do_no_merge(struct reader *reader)
{
	reader->tool.merge_deferred_callchains = false;
	TEST_ASSERT_VAL("sample", !read_sample(reader, 10, 10, 1, 5));
	TEST_ASSERT_VAL("at once", got(reader, 0, 1, 0));

	reader->tool.merge_deferred_callchains = true;
	reader->tool.ordered_events = false;
	TEST_ASSERT_VAL("sample", !read_sample(reader, 10, 10, 2, 5));
	TEST_ASSERT_VAL("at once", got(reader, 1, 2, 0));
	return TEST_OK;
}

static int run(int (*test)(struct reader *reader))
{
	struct reader *reader = malloc(sizeof(*reader));
	int ret = TEST_FAIL;

	if (!reader)
		return TEST_FAIL;
	if (!reader__begin(reader))
		ret = test(reader);
	reader__end(reader);
	free(reader);
	return ret;
}

#define DEFERRED_TEST(name)						\
static int test__deferred_##name(struct test_suite *test __maybe_unused,	\
				 int subtest __maybe_unused)		\
{									\
	return run(do_##name);						\
}

DEFERRED_TEST(merge)
DEFERRED_TEST(order)
DEFERRED_TEST(lost)
DEFERRED_TEST(exec)
DEFERRED_TEST(end)
DEFERRED_TEST(task_limit)
DEFERRED_TEST(limit)
DEFERRED_TEST(no_merge)

static struct test_case tests__deferred_callchain[] = {
	TEST_CASE("Both parts are merged", deferred_merge),
	TEST_CASE("Samples of a task stay in order", deferred_order),
	TEST_CASE("Lost user parts", deferred_lost),
	TEST_CASE("exec() of a thread", deferred_exec),
	TEST_CASE("End of the data", deferred_end),
	TEST_CASE("Limit of a task", deferred_task_limit),
	TEST_CASE("Limit of all tasks", deferred_limit),
	TEST_CASE("Tools that do not merge", deferred_no_merge),
	{ .name = NULL, }
};

struct test_suite suite__deferred_callchain = {
	.desc = "Deferred callchains",
	.test_cases = tests__deferred_callchain,
};
