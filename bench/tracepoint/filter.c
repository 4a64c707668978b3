// SPDX-License-Identifier: GPL-2.0
/*
 * Measure the cost of a BPF program on a tracepoint, in nanoseconds a hit, compared with
 * a program on a kprobe and one on a raw tracepoint. On one CPU whose clock counts
 * instructions (vm/run --icount), these are instructions.
 *
 * usage: filter OBJECT
 *        filter OBJECT N EVENT...	attach to the first N of these, then detach: milliseconds
 */
#include <bpf/libbpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define HITS		20000
#define MANY		64

static void rename_once(void)
{
	prctl(PR_SET_NAME, "filter");
}

static void getpgid_once(void)
{
	syscall(SYS_getpgid, 0);
}

/* Pipes to a child that answers: two context switches for each byte. */
static int to_child[2], to_parent[2];

static void switch_twice(void)
{
	char byte = 0;

	if (write(to_child[1], &byte, 1) != 1 || read(to_parent[0], &byte, 1) != 1)
		exit(1);
}

static const struct place {
	const char *name;
	void (*hit)(void);
	int hits;
} places[] = {
	{ "rename", rename_once, 1 },
	{ "getpgid", getpgid_once, 1 },
	{ "switch", switch_twice, 2 },
};

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1e9 + time.tv_nsec;
}

/* Nanoseconds a hit, the minimum of three rounds. */
static double cost(const struct place *place)
{
	double least = 0, start, took;
	int round, i;

	for (round = 0; round < 3; round++) {
		start = now();
		for (i = 0; i < HITS; i += place->hits)
			place->hit();
		took = (now() - start) / HITS;
		if (!round || took < least)
			least = took;
	}
	return least;
}

struct filter {
	struct bpf_object *object;
	struct bpf_link *link;
};

static struct filter attach(const char *path, const char *name, int verdict)
{
	struct filter filter = { .object = bpf_object__open_file(path, NULL) };
	struct bpf_program *program;
	struct bpf_map *map;
	size_t size;

	if (!filter.object)
		exit(1);
	bpf_object__for_each_program(program, filter.object)
		bpf_program__set_autoload(program, !strcmp(bpf_program__name(program), name));
	bpf_object__for_each_map(map, filter.object) {
		if (strstr(bpf_map__name(map), ".rodata"))
			*(int *)bpf_map__initial_value(map, &size) = verdict;
	}
	if (bpf_object__load(filter.object))
		exit(1);
	program = bpf_object__find_program_by_name(filter.object, name);
	filter.link = program ? bpf_program__attach(program) : NULL;
	if (!filter.link) {
		fprintf(stderr, "filter: %s: cannot be attached\n", name);
		exit(1);
	}
	return filter;
}

/* Print what @copies programs add to a hit, which takes @without nanoseconds without any. */
static void measure(const char *path, const struct place *place, double without,
		    const char *way, int verdict, int copies)
{
	struct filter filters[MANY];
	char name[64];
	double took;
	int i;

	snprintf(name, sizeof(name), way, place->name);
	for (i = 0; i < copies; i++)
		filters[i] = attach(path, name, verdict);
	took = cost(place) - without;
	printf("%-22s returns %d, programs %2d: %7.1f\n", name, verdict, copies, took);
	fflush(stdout);
	for (i = 0; i < copies; i++) {
		bpf_link__destroy(filters[i].link);
		bpf_object__close(filters[i].object);
	}
}

/* Start the child that answers switch_twice(). */
static void start_child(void)
{
	char byte;

	if (pipe(to_child) || pipe(to_parent))
		exit(1);
	if (fork()) {
		close(to_child[0]);
		return;
	}
	close(to_child[1]);
	while (read(to_child[0], &byte, 1) == 1 && write(to_parent[1], &byte, 1) == 1)
		;
	_exit(0);
}

/* Attach a program to many events, each named "system:event", and print the times. */
static int attach_many(const char *path, int n, char **events)
{
	struct bpf_object *object = bpf_object__open_file(path, NULL);
	struct bpf_program *program;
	struct bpf_link **links;
	double start, attached;
	char *colon;
	int i;

	links = calloc(n, sizeof(*links));
	if (!object || !links)
		return 1;
	bpf_object__for_each_program(program, object)
		bpf_program__set_autoload(program, !strcmp(bpf_program__name(program), "tp_switch"));
	if (bpf_object__load(object))
		return 1;
	program = bpf_object__find_program_by_name(object, "tp_switch");
	start = now();
	for (i = 0; i < n; i++) {
		colon = strchr(events[i], ':');
		if (!colon)
			return 2;
		*colon = 0;
		links[i] = bpf_program__attach_tracepoint(program, events[i], colon + 1);
		*colon = ':';
		if (!links[i]) {
			fprintf(stderr, "filter: %s: cannot be attached\n", events[i]);
			return 1;
		}
	}
	attached = now();
	for (i = 0; i < n; i++)
		bpf_link__destroy(links[i]);
	printf("%d tracepoints: attached in %.1f ms, detached in %.1f ms\n", n,
	       (attached - start) / 1e6, (now() - attached) / 1e6);
	bpf_object__close(object);
	free(links);
	return 0;
}

int main(int argc, char **argv)
{
	int verdict, i;

	if (argc > 3 && atoi(argv[2]) > 0 && atoi(argv[2]) <= argc - 3)
		return attach_many(argv[1], atoi(argv[2]), argv + 3);
	if (argc != 2) {
		fprintf(stderr, "usage: filter OBJECT [N EVENT...]\n");
		return 2;
	}
	start_child();
	for (i = 0; i < 3; i++) {
		const struct place *place = &places[i];
		double without = cost(place);

		for (verdict = 0; verdict < 2; verdict++)
			measure(argv[1], place, without, "tp_%s", verdict, 1);
		if (i < 2)
			measure(argv[1], place, without, "kprobe_%s", 1, 1);
		if (i != 1)
			measure(argv[1], place, without, "raw_tp_%s", 1, 1);
		if (i)
			continue;
		for (verdict = 0; verdict < 2; verdict++)
			measure(argv[1], place, without, "tp_%s_strings", verdict, 1);
		measure(argv[1], place, without, "kprobe_%s_strings", 1, 1);
		for (verdict = 0; verdict < 2; verdict++)
			measure(argv[1], place, without, "tp_%s", verdict, MANY);
		measure(argv[1], place, without, "raw_tp_%s", 1, MANY);
	}
	return 0;
}
