// SPDX-License-Identifier: GPL-2.0
/*
 * Test the records of several pieces that bpf_output_record() writes: each byte that
 * libbpf's readers return from perf's and from the BPF ring buffer, and the errors for
 * invalid arguments.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <sys/syscall.h>
#include <test_progs.h>
#include "test_output_record.h"
#include "test_output_record.skel.h"

#define ROUND_UP(n, to)		(((n) + (to) - 1) / (to) * (to))
/* The longest payload of a sample with PERF_SAMPLE_RAW alone */
#define RAW_MAX			65516
/* Longer than any record in this test */
#define GOT_MAX			(2 * DATA_MAX)

/* Value of the map, which the program passes to bpf_output_record(). */
struct head {
	struct record rec;
	char bytes[HEAD_MAX];
};

struct test {
	struct test_output_record *skel;
	struct bpf_link *link;
	struct perf_buffer *perf;
	struct ring_buffer *ring;
	/* Last record that a reader returned, and number of records. */
	char *got;
	size_t got_size;
	int nr_got, nr_lost;
	struct head head;
	char payload[DATA_MAX];
};

static void got_perf(void *ctx, int cpu, void *data, __u32 size)
{
	struct test *test = ctx;

	if (size <= GOT_MAX)
		memcpy(test->got, data, size);
	test->got_size = size;
	test->nr_got++;
}

static void lost_perf(void *ctx, int cpu, __u64 nr)
{
	struct test *test = ctx;

	test->nr_lost += nr;
}

static int got_ring(void *ctx, void *data, size_t size)
{
	got_perf(ctx, 0, data, size);
	return 0;
}

static void test_end(struct test *test)
{
	perf_buffer__free(test->perf);
	ring_buffer__free(test->ring);
	bpf_link__destroy(test->link);
	test_output_record__destroy(test->skel);
	free(test->got);
	free(test);
}

static struct test *test_begin(void)
{
	struct test *test = calloc(1, sizeof(*test));
	size_t i;

	if (!ASSERT_OK_PTR(test, "calloc"))
		return NULL;
	test->got = malloc(GOT_MAX);
	test->skel = test_output_record__open_and_load();
	if (!ASSERT_OK_PTR(test->got, "malloc") || !ASSERT_OK_PTR(test->skel, "load"))
		goto fail;
	test->skel->bss->my_tid = syscall(SYS_gettid);
	test->link = bpf_program__attach(test->skel->progs.output_mem);
	test->perf = perf_buffer__new(bpf_map__fd(test->skel->maps.events), 64, got_perf,
				      lost_perf, test, NULL);
	test->ring = ring_buffer__new(bpf_map__fd(test->skel->maps.ring), got_ring, test,
				      NULL);
	if (!ASSERT_OK_PTR(test->link, "attach") ||
	    !ASSERT_OK_PTR(test->perf, "perf_buffer") ||
	    !ASSERT_OK_PTR(test->ring, "ring_buffer"))
		goto fail;
	for (i = 0; i < HEAD_MAX; i++)
		test->head.bytes[i] = 1 + (i * 5 + i / 251) % 255;
	for (i = 0; i < DATA_MAX; i++)
		test->payload[i] = 1 + (i * 7 + i / 251) % 255;
	test->head.rec.size = sizeof(test->head.rec);
	test->skel->bss->with_data = true;
	return test;
fail:
	test_end(test);
	return NULL;
}

static bool put_head(struct test *test)
{
	__u32 key = 0;

	/* Only perf arrays have a ring buffer for each CPU. */
	if (test->skel->bss->to == TO_PERF)
		test->head.rec.flags = test->head.rec.flags ?: BPF_F_CURRENT_CPU;
	else if (test->head.rec.flags == BPF_F_CURRENT_CPU)
		test->head.rec.flags = 0;
	return ASSERT_OK(bpf_map_update_elem(bpf_map__fd(test->skel->maps.heads), &key,
					     &test->head, BPF_ANY), "heads") &&
	       ASSERT_OK(bpf_map_update_elem(bpf_map__fd(test->skel->maps.payload), &key,
					     test->payload, BPF_ANY), "payload");
}

/* Hit the program once, and return its result. */
static long output(struct test *test)
{
	__u64 hits = test->skel->bss->hits;

	if (!put_head(test))
		return 1;
	test->skel->bss->ret = 1;
	syscall(SYS_getpgid, 0);
	if (test->skel->bss->hits != hits + 1)
		return 1;
	return test->skel->bss->ret;
}

/* Number of records that the readers found since the last call. */
static int take(struct test *test)
{
	test->nr_got = 0;
	test->got_size = 0;
	if (test->perf)
		perf_buffer__consume(test->perf);
	ring_buffer__consume(test->ring);
	return test->nr_got;
}

/* The size in perf's records includes the zeroes at the end. */
static size_t size_in(const struct test *test, size_t size)
{
	return test->skel->bss->to == TO_PERF ? ROUND_UP(size + 4, 8) - 4 : size;
}

/* Whether the record consists of head, @middle bytes and the data. */
static bool record_is(const struct test *test, size_t head, size_t middle, size_t data)
{
	size_t size = head + middle + data, i;

	if (test->got_size != size_in(test, size)) {
		fprintf(stderr, "%zu + %zu + %zu: size %zu\n", head, middle, data,
			test->got_size);
		return false;
	}
	if (memcmp(test->got, test->head.bytes, head) ||
	    memcmp(test->got + head + middle, test->payload, data)) {
		fprintf(stderr, "%zu + %zu + %zu: other bytes\n", head, middle, data);
		return false;
	}
	for (i = size; i < test->got_size; i++)
		if (test->got[i])
			return false;
	return true;
}

static void sizes(int to)
{
	static const unsigned int heads[] = { 0, 1, 8, 33, 4000 };
	static const unsigned int bodies[] = { 0, 1, 7, 100, 4095, 4096, 9000, 61000 };
	struct test *test = test_begin();
	int wrong = 0, i, j, n;

	if (!test)
		return;
	test->skel->bss->to = to;
	for (i = 0; i < ARRAY_SIZE(heads); i++) {
		for (j = 0; j < ARRAY_SIZE(bodies); j++) {
			test->skel->bss->head_size = heads[i];
			test->skel->bss->data_size = bodies[j];
			/* Let the record begin at different offsets in a page. */
			for (n = 0; n < 5; n++)
				wrong += output(test) || take(test) != 1 ||
					 !record_is(test, heads[i], 0, bodies[j]);
		}
	}
	ASSERT_EQ(wrong, 0, "wrong");
	test_end(test);
}

/* The frames after @mark at *@at.  Sets *@nr to their number, and advances *@at past them. */
static const __u64 *part(const __u64 **at, const __u64 *end, __u64 mark, int *nr)
{
	const __u64 *begin = *at;

	*nr = 0;
	if (begin == end || *begin != mark)
		return NULL;
	for (*at = ++begin; *at != end && **at < (__u64)-4095; ++*at)
		++*nr;
	return begin;
}

/* Check that the record holds the stacks that other helpers returned in the same hit. */
static void check_stacks(struct test *test, size_t head, size_t data, bool walked)
{
	int kernel = test->skel->bss->kernel_bytes / 8, user = test->skel->bss->user_bytes / 8;
	static __u64 chain[4 * DEPTH];
	const __u64 *at = chain + 1, *end, *frames;
	int nr;

	/* The callchain has the alignment of the head. */
	if (!ASSERT_GE(test->got_size, head + 8, "size"))
		return;
	memcpy(chain, test->got + head, MIN(test->got_size - head, sizeof(chain)));
	if (!ASSERT_LT(chain[0], ARRAY_SIZE(chain), "nr"))
		return;
	end = chain + 1 + chain[0];

	frames = part(&at, end, MARK_KERNEL, &nr);
	if (ASSERT_OK_PTR(frames, "kernel's mark")) {
		/* A walk begins in the program, that of bpf_get_stack() at the tracepoint. */
		if (!walked)
			ASSERT_EQ(nr, kernel, "kernel's frames");
		if (ASSERT_GE(nr, kernel, "kernel's depth"))
			ASSERT_OK(memcmp(frames + nr - kernel, test->skel->bss->kernel_frames,
					 kernel * 8), "kernel's stack");
		ASSERT_GE(kernel, 2, "kernel's stack is deep");
	}
	frames = part(&at, end, MARK_USER, &nr);
	if (ASSERT_OK_PTR(frames, "user's mark")) {
		ASSERT_EQ(nr, user, "user's frames");
		ASSERT_OK(memcmp(frames, test->skel->bss->user_frames, nr * 8), "user's stack");
		ASSERT_GT(user, 2, "user's stack is deep");
	}
	ASSERT_EQ(at - end, 0, "nothing else");
	ASSERT_TRUE(record_is(test, head, 8 + chain[0] * 8, data), "other pieces");
}

static void stacks(int to, bool walked)
{
	struct test *test = test_begin();

	if (!test)
		return;
	test->skel->bss->to = to;
	test->skel->bss->store = !walked;
	test->skel->bss->head_size = 24;
	test->skel->bss->data_size = 5000;
	test->head.rec.stack = walked ? RECORD_KERNEL | RECORD_USER :
			       RECORD_KERNEL_ID | RECORD_USER_ID;
	ASSERT_OK(output(test), "output");
	if (ASSERT_EQ(take(test), 1, "one record"))
		check_stacks(test, 24, 5000, walked);

	/* One stack of each kind: stored and walked. */
	test->head.rec.stack = walked ? RECORD_KERNEL_ID | RECORD_USER :
			       RECORD_KERNEL | RECORD_USER_ID;
	test->skel->bss->store = true;
	test->skel->bss->head_size = 7;
	test->skel->bss->with_data = false;
	ASSERT_OK(output(test), "output mixed");
	if (ASSERT_EQ(take(test), 1, "one record"))
		check_stacks(test, 7, 0, true);

	/* Without a stack, the record has no callchain. */
	test->head.rec.stack = 0;
	ASSERT_OK(output(test), "output none");
	if (ASSERT_EQ(take(test), 1, "one record"))
		ASSERT_TRUE(record_is(test, 7, 0, 0), "head alone");
	test_end(test);
}

/* A kernel stack without its first frames */
static void skipped(void)
{
	struct test *test = test_begin();
	int all;

	if (!test)
		return;
	test->skel->bss->with_data = false;
	test->head.rec.stack = RECORD_KERNEL;
	ASSERT_OK(output(test), "output");
	ASSERT_EQ(take(test), 1, "one record");
	all = *(__u64 *)test->got;
	test->head.rec.skip = 3;
	ASSERT_OK(output(test), "output without three");
	ASSERT_EQ(take(test), 1, "one record");
	ASSERT_EQ(*(__u64 *)test->got, all - 3, "nr");
	/* Skip more frames than there are: the record has no mark either. */
	test->head.rec.skip = 255;
	ASSERT_OK(output(test), "output without all");
	ASSERT_EQ(take(test), 1, "one record");
	ASSERT_EQ(*(__u64 *)test->got, 0, "nr");
	test_end(test);
}

/* Value of the counter @name in the map's fdinfo. */
static long lost(struct test *test, const char *name)
{
	char path[64], line[128], format[64];
	long value, found = -1;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d",
		 bpf_map__fd(test->skel->maps.events));
	snprintf(format, sizeof(format), "%s: %%ld", name);
	file = fopen(path, "r");
	if (!file)
		return -1;
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, format, &value) == 1)
			found = value;
	fclose(file);
	return found;
}

static void deleted_stack(int to)
{
	struct test *test = test_begin();
	__u32 id;

	if (!test)
		return;
	test->skel->bss->to = to;
	test->skel->bss->store = true;
	test->skel->bss->with_data = false;
	test->head.rec.stack = RECORD_USER_ID;
	ASSERT_OK(output(test), "output");
	ASSERT_EQ(take(test), 1, "one record");

	id = test->skel->bss->user_id;
	ASSERT_OK(bpf_map_delete_elem(bpf_map__fd(test->skel->maps.stacks), &id), "delete");
	test->skel->bss->store = false;
	test->head.rec.user_id = id;
	ASSERT_EQ(output(test), -ENOENT, "deleted");
	ASSERT_EQ(take(test), 0, "nothing written");
	if (to == TO_PERF)
		ASSERT_EQ(lost(test, "lost_bad_piece"), 1, "counted");

	/* An error of bpf_get_stackid() becomes a callchain without frames. */
	test->head.rec.user_id = -EEXIST;
	ASSERT_OK(output(test), "an error is no id");
	ASSERT_EQ(take(test), 1, "written");
	ASSERT_EQ(test->got_size, size_in(test, 8), "number of frames alone");
	ASSERT_EQ(*(__u64 *)test->got, 0, "number of frames");
	test_end(test);
}

static void refused(struct test *test, const char *what, long err)
{
	ASSERT_EQ(output(test), err, what);
	ASSERT_EQ(take(test), 0, "nothing written");
}

static void bad_values(int to)
{
	const __u32 size = sizeof(struct record);
	struct test *test = test_begin();
	struct record *rec;

	if (!test)
		return;
	test->skel->bss->to = to;
	rec = &test->head.rec;

	rec->size = size - 1;
	refused(test, "size too small", -EINVAL);
	rec->size = 0;
	refused(test, "no size", -EINVAL);
	rec->size = -1;
	refused(test, "size beyond the memory", -EINVAL);
	test->skel->bss->head_size = 16;
	rec->size = size + 17;
	refused(test, "size one beyond the memory", -EINVAL);
	/* A later, longer version of the structure */
	rec->size = size + 8;
	refused(test, "unknown field", -E2BIG);
	memset(test->head.bytes, 0, 8);
	ASSERT_OK(output(test), "unknown fields are zero");
	ASSERT_EQ(take(test), 1, "written");
	ASSERT_EQ(test->got_size, size_in(test, 8), "head is shorter");
	rec->size = size;

	rec->stack = 1 << 5;
	refused(test, "unknown stack", -EINVAL);
	rec->stack = RECORD_KERNEL | RECORD_KERNEL_ID;
	refused(test, "kernel's twice", -EINVAL);
	rec->stack = RECORD_USER | RECORD_USER_ID;
	refused(test, "user's twice", -EINVAL);
	rec->stack = RECORD_KERNEL_DATA | RECORD_KERNEL;
	refused(test, "kernel's walked and given", -EINVAL);
	rec->stack = RECORD_KERNEL_DATA;
	test->skel->bss->data_size = 20;
	refused(test, "half a frame", -EINVAL);
	test->skel->bss->with_data = false;
	refused(test, "no frames given", -EINVAL);
	test->skel->bss->with_data = true;
	test->skel->bss->data_size = 0;
	rec->stack = 0;
	rec->skip = 256;
	refused(test, "skip", -EINVAL);
	rec->skip = 0;
	test->skel->bss->head_size = 16;
	rec->tail = 17;
	refused(test, "tail beyond the memory", -EINVAL);
	rec->tail = -1;
	refused(test, "longest tail", -EINVAL);
	rec->tail = 0;
	rec->flags = 1ULL << 40;
	refused(test, "flags", -EINVAL);
	rec->flags = 0;
	test->skel->bss->empty_dynptr = true;
	refused(test, "empty dynptr", -EINVAL);
	test->skel->bss->empty_dynptr = false;
	ASSERT_OK(output(test), "good again");
	test_end(test);
}

static void bad_maps(void)
{
	struct test *test = test_begin();

	if (!test)
		return;
	test->skel->bss->to = TO_ARRAY;
	refused(test, "output to an array", -EINVAL);
	test->skel->bss->to = TO_PERF;
	test->head.rec.stack = RECORD_USER;
	test->skel->bss->stacks_map = STACKS_NONE;
	refused(test, "stack without a map", -EINVAL);
	test->skel->bss->stacks_map = STACKS_BUILD_ID;
	refused(test, "stack of build ids", -EINVAL);
	test->skel->bss->stacks_map = STACKS_ARRAY;
	refused(test, "stack from an array", -EINVAL);
	test_end(test);
}

/* The longest possible record, and one that is one byte longer */
static void longest(void)
{
	struct test *test = test_begin();

	if (!test)
		return;
	test->skel->bss->head_size = 4000;
	test->skel->bss->data_size = RAW_MAX - 4000;
	ASSERT_OK(output(test), "longest");
	ASSERT_EQ(take(test), 1, "written");
	ASSERT_TRUE(record_is(test, 4000, 0, RAW_MAX - 4000), "longest is exact");
	test->skel->bss->data_size++;
	refused(test, "one more", -E2BIG);
	ASSERT_EQ(lost(test, "lost_too_long"), 1, "counted");

	test->skel->bss->to = TO_RINGBUF;
	test->skel->bss->data_size = DATA_MAX;
	ASSERT_OK(output(test), "fits");
	ASSERT_EQ(take(test), 1, "written");
	ASSERT_OK(output(test), "fits again");
	ASSERT_EQ(output(test), -EAGAIN, "no room");
	ASSERT_EQ(take(test), 1, "one");
	test_end(test);
}

static void longer_than_ring(void)
{
	struct test_output_record *skel;
	struct test *test = test_begin();

	if (!test)
		return;
	bpf_link__destroy(test->link);
	ring_buffer__free(test->ring);
	perf_buffer__free(test->perf);
	test_output_record__destroy(test->skel);
	test->link = NULL;
	test->ring = NULL;
	test->perf = NULL;
	skel = test_output_record__open();
	test->skel = skel;
	if (!ASSERT_OK_PTR(skel, "open") ||
	    !ASSERT_OK(bpf_map__set_max_entries(skel->maps.ring, getpagesize()), "small") ||
	    !ASSERT_OK(test_output_record__load(skel), "load"))
		goto end;
	skel->bss->my_tid = syscall(SYS_gettid);
	skel->bss->with_data = true;
	skel->bss->to = TO_RINGBUF;
	test->link = bpf_program__attach(skel->progs.output_mem);
	test->ring = ring_buffer__new(bpf_map__fd(skel->maps.ring), got_ring, test, NULL);
	if (!ASSERT_OK_PTR(test->link, "attach") || !ASSERT_OK_PTR(test->ring, "ring_buffer"))
		goto end;
	skel->bss->data_size = getpagesize() - 9;
	refused(test, "longer than the ring buffer", -E2BIG);
	skel->bss->data_size = getpagesize() - 16;
	ASSERT_OK(output(test), "as long as the ring buffer");
	ASSERT_EQ(take(test), 1, "written");
	ASSERT_TRUE(record_is(test, 0, 0, getpagesize() - 16), "exact");
end:
	test_end(test);
}

/* Run a program on a packet of @size bytes, of which it outputs a part. */
static void packet(int to, bool xdp, size_t size)
{
	static const unsigned int heads[] = { 0, 13, 4000 };
	static const unsigned int begins[] = { 0, 1, 100, 4000, 8191 };
	struct bpf_test_run_opts run = { .sz = sizeof(run) };
	struct test *test = test_begin();
	struct bpf_program *prog;
	int wrong = 0, i, j, take_off;

	if (!test)
		return;
	prog = xdp ? test->skel->progs.output_xdp : test->skel->progs.output_skb;
	test->skel->bss->to = to;
	run.data_in = test->payload;
	run.data_size_in = size;
	for (i = 0; i < ARRAY_SIZE(heads); i++) {
		for (j = 0; j < ARRAY_SIZE(begins) && begins[j] < size; j++) {
			for (take_off = 0; take_off < 20; take_off += 7) {
				size_t data = size - begins[j] - take_off;

				if (begins[j] + take_off > size)
					continue;
				test->skel->bss->head_size = heads[i];
				test->skel->bss->packet_from = begins[j];
				test->skel->bss->data_size = data;
				test->skel->bss->ret = 1;
				if (!put_head(test) ||
				    !ASSERT_OK(bpf_prog_test_run_opts(bpf_program__fd(prog),
								      &run), "run"))
					goto end;
				wrong += test->skel->bss->ret || take(test) != 1 ||
					 test->got_size != size_in(test, heads[i] + data) ||
					 memcmp(test->got, test->head.bytes, heads[i]) ||
					 memcmp(test->got + heads[i],
						test->payload + begins[j], data);
			}
		}
	}
	ASSERT_EQ(wrong, 0, "wrong");
end:
	test_end(test);
}

/* Open the programs, with only @name to be loaded. */
static struct test_output_record *open_only(const char *name)
{
	struct test_output_record *skel = test_output_record__open();
	struct bpf_program *prog;

	if (!ASSERT_OK_PTR(skel, "open"))
		return NULL;
	bpf_object__for_each_program(prog, skel->obj)
		bpf_program__set_autoload(prog, !strcmp(bpf_program__name(prog), name));
	return skel;
}

/* The verifier must refuse the program @name with the message @why. */
static void not_loaded(const char *name, const char *extended, const char *why)
{
	static char log[1 << 16];
	struct test_output_record *skel = open_only(name), *other = NULL;
	struct bpf_program *prog, *target;
	libbpf_print_fn_t print;
	int err;

	if (!skel)
		return;
	prog = bpf_object__find_program_by_name(skel->obj, name);
	if (extended) {
		other = open_only(extended);
		if (!other || !ASSERT_OK(test_output_record__load(other), extended))
			goto destroy;
		target = bpf_object__find_program_by_name(other->obj, extended);
		/* The name of the function is that of the section. */
		err = bpf_program__set_attach_target(prog, bpf_program__fd(target),
						     strchr(bpf_program__section_name(prog), '/') +
						     1);
		ASSERT_OK(err, "set_attach_target");
	}
	log[0] = '\0';
	bpf_program__set_log_buf(prog, log, sizeof(log));
	bpf_program__set_log_level(prog, 1);
	print = libbpf_set_print(NULL);
	err = test_output_record__load(skel);
	libbpf_set_print(print);
	ASSERT_LT(err, 0, name);
	ASSERT_HAS_SUBSTR(log, why, name);
destroy:
	test_output_record__destroy(skel);
	test_output_record__destroy(other);
}

/* The last bytes of the program's memory must end the record, after the data. */
static void tails(int to)
{
	struct test *test = test_begin();
	const size_t size = 33, data = 100;
	int wrong = 0;
	__u32 tail;

	if (!test)
		return;
	test->skel->bss->to = to;
	test->skel->bss->head_size = size;
	test->skel->bss->data_size = data;
	for (tail = 0; tail <= size; tail++) {
		test->head.rec.tail = tail;
		wrong += output(test) || take(test) != 1 ||
			 test->got_size != size_in(test, size + data) ||
			 memcmp(test->got, test->head.bytes, size - tail) ||
			 memcmp(test->got + size - tail, test->payload, data) ||
			 memcmp(test->got + size - tail + data,
				test->head.bytes + size - tail, tail);
	}
	ASSERT_EQ(wrong, 0, "wrong");
	test_end(test);
}

/* A record with frames that the program has walked, a stored stack and a tail. */
static void given_frames(int to)
{
	struct test *test = test_begin();
	const size_t size = 24, tail = 8, frames = 5;
	const __u64 *at;
	size_t nr, user;

	if (!test)
		return;
	test->skel->bss->to = to;
	test->skel->bss->store = true;
	test->skel->bss->head_size = size;
	test->skel->bss->data_size = frames * sizeof(__u64);
	test->head.rec.stack = RECORD_KERNEL_DATA | RECORD_USER_ID;
	test->head.rec.tail = tail;
	ASSERT_OK(output(test), "output");
	if (!ASSERT_EQ(take(test), 1, "written"))
		goto out;
	user = test->skel->bss->user_bytes / sizeof(__u64);
	ASSERT_GT(user, 0, "user frames");
	nr = 1 + frames + 1 + user;
	ASSERT_EQ(test->got_size, size_in(test, size + (1 + nr) * sizeof(__u64)), "size");
	at = (const __u64 *)(test->got + size - tail);
	ASSERT_EQ(at[0], nr, "nr");
	ASSERT_EQ(at[1], MARK_KERNEL, "kernel's mark");
	ASSERT_OK(memcmp(at + 2, test->payload, frames * sizeof(__u64)), "kernel's frames");
	ASSERT_EQ(at[2 + frames], MARK_USER, "user's mark");
	ASSERT_OK(memcmp(at + 3 + frames, test->skel->bss->user_frames,
			 user * sizeof(__u64)), "user's frames");
	ASSERT_OK(memcmp(at + 1 + nr, test->head.bytes + size - tail, tail), "tail");
out:
	test_end(test);
}

static void walked_stacks(int to)
{
	stacks(to, true);
}

static void stored_stacks(int to)
{
	stacks(to, false);
}

static void xdp_linear(int to)
{
	packet(to, true, 2000);
}

static void xdp_of_fragments(int to)
{
	packet(to, true, 50000);
}

static void skb(int to)
{
	packet(to, false, 1500);
}

void test_output_record(void)
{
	static const struct {
		const char *name;
		void (*run)(int to);
	} to_both[] = {
		{ "sizes", sizes },
		{ "walked_stacks", walked_stacks },
		{ "stored_stacks", stored_stacks },
		{ "deleted_stack", deleted_stack },
		{ "given_frames", given_frames },
		{ "tails", tails },
		{ "bad_values", bad_values },
		{ "xdp", xdp_linear },
		{ "xdp_of_fragments", xdp_of_fragments },
		{ "skb", skb },
	};
	static const struct {
		const char *name, *extended, *why;
	} bad[] = {
		{ "output_sysctl", NULL, "bpf_output_record is not allowed" },
		{ "output_iter", NULL, "bpf_output_record is not allowed" },
		{ "output_for_lsm", "calls_of_lsm", "bpf_output_record is not allowed" },
		{ "output_beyond", NULL, "invalid indirect access to stack" },
		{ "output_null", NULL, "NULL pointer passed to trusted arg0" },
		{ "output_no_map", NULL, "arg#0" },
	};
	char name[64];
	cpu_set_t cpu, all;
	int i;

	/* Stay on one CPU, as each perf event's ring buffer belongs to one. */
	sched_getaffinity(0, sizeof(all), &all);
	CPU_ZERO(&cpu);
	CPU_SET(0, &cpu);
	sched_setaffinity(0, sizeof(cpu), &cpu);

	for (i = 0; i < 2 * ARRAY_SIZE(to_both); i++) {
		snprintf(name, sizeof(name), "%s_%s", i % 2 ? "ringbuf" : "perf",
			 to_both[i / 2].name);
		if (test__start_subtest(name))
			to_both[i / 2].run(i % 2 ? TO_RINGBUF : TO_PERF);
	}
	if (test__start_subtest("skipped_frames"))
		skipped();
	if (test__start_subtest("bad_maps"))
		bad_maps();
	if (test__start_subtest("longest"))
		longest();
	if (test__start_subtest("longer_than_ring"))
		longer_than_ring();
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		if (test__start_subtest(bad[i].name))
			not_loaded(bad[i].name, bad[i].extended, bad[i].why);
	sched_setaffinity(0, sizeof(all), &all);
}
