// SPDX-License-Identifier: GPL-2.0
/* Compares the kernel's stack of each sample with libdwfl's, and reports where they differ. */
#include "same_frames.h"

#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* How many frames of each stack an example shows, from the first difference on. */
#define SHOWN	6

/* The kernel's walk. */
struct walked {
	const uint64_t	*ips;
	unsigned int	nr;
};

/* A sort of difference. */
struct difference {
	unsigned long	count;
	char		*what;
	char		*example;
};

static struct difference *differences;
static size_t nr_differences;

/* Records by thread and cookie. */
static const struct event **records;
static size_t nr_records;

static int by_cookie(const void *a, const void *b)
{
	const struct event *left = *(const struct event * const *)a;
	const struct event *right = *(const struct event * const *)b;

	if (left->tid != right->tid)
		return left->tid < right->tid ? -1 : 1;
	if (left->words[0] != right->words[0])
		return left->words[0] < right->words[0] ? -1 : 1;
	return 0;
}

static void collect_records(const struct recording *recording)
{
	records = grow(NULL, recording->nr * sizeof(*records));
	nr_records = 0;
	for (size_t i = 0; i < recording->nr; i++)
		if (recording->events[i]->type == RECORD_DEFERRED)
			records[nr_records++] = recording->events[i];
	qsort(records, nr_records, sizeof(*records), by_cookie);
}

/* The words of a record: cookie, number of frames, frames. */
static const struct event *record_of(const struct sample *sample)
{
	struct event *key = grow(NULL, sizeof(*key) + sizeof(key->words[0]));
	const struct event **found;

	*key = (struct event){ .tid = sample->tid };
	key->words[0] = sample->cookie;
	found = bsearch(&key, records, nr_records, sizeof(*records), by_cookie);
	free(key);
	return found ? *found : NULL;
}

static void text_append(char **to, const char *format, ...)
{
	char *more, *both;
	va_list arguments;

	va_start(arguments, format);
	if (vasprintf(&more, format, arguments) < 0)
		die("memory");
	va_end(arguments);
	if (asprintf(&both, "%s%s", *to ?: "", more) < 0)
		die("memory");
	free(more);
	free(*to);
	*to = both;
}

static void text_frames(char **to, struct process *process, const char *whose,
			const uint64_t *ips, unsigned int nr, unsigned int from)
{
	text_append(to, "    %-7s", whose);
	for (unsigned int i = from; i < nr && i < from + SHOWN; i++)
		text_append(to, " <- %s", process_describe(process, ips[i]));
	text_append(to, nr > from + SHOWN ? " ... %u in all\n" : " (%u in all)\n", nr);
}

/* Count a difference.  Frees @what, or keeps it. */
static struct difference *count_difference(char *what)
{
	struct difference *difference;

	for (size_t i = 0; i < nr_differences; i++) {
		difference = &differences[i];
		if (!strcmp(difference->what, what)) {
			difference->count++;
			free(what);
			return difference;
		}
	}
	differences = grow(differences, (nr_differences + 1) * sizeof(*differences));
	difference = &differences[nr_differences++];
	*difference = (struct difference){ .count = 1, .what = what };
	return difference;
}

static void add_example(struct difference *to, struct process *process,
			const struct sample *sample, const struct walked *ours,
			const struct stack *truth, unsigned int from)
{
	if (to->example)
		return;
	text_append(&to->example, "    ip %#lx sp %#lx bp %#lx dump %lu, from frame %u\n",
		    sample->ip, sample->regs[SAMPLED_SP], sample->regs[SAMPLED_BP],
	       sample->stack_size, from);
	text_frames(&to->example, process, "dwarf", truth->ips, truth->nr, from);
	text_frames(&to->example, process, "kernel", ours->ips, ours->nr, from);
}

/* The first @same frames are equal; then the stacks differ, or one of them ends. */
static void add_difference(struct process *process, const struct sample *sample,
			   const struct walked *ours, const struct stack *truth,
			   unsigned int same)
{
	unsigned int nr = ours->nr, from = same ? same - 1 : 0;
	uint64_t last = truth->ips[from] - !truth->exact[from];
	char *what = NULL;

	text_append(&what, "%s%s", !same ? "other first frame at " :
		    nr == same ? "kernel ends at " :
	       truth->nr == same ? "dwarf ends at " : "other caller of ",
	       process_describe(process, last));
	add_example(count_difference(what), process, sample, ours, truth, from);
}

static bool has_signal(const struct stack *stack)
{
	for (unsigned int i = 1; i < stack->nr; i++)
		if (stack->exact[i])
			return true;
	return false;
}

static void compare_whole(struct process *process, const struct sample *sample,
			  const struct walked *ours, const struct stack *truth,
		  struct result *to)
{
	const uint64_t *ips = ours->ips;
	unsigned int nr = ours->nr, same = 0;

	while (same < nr && same < truth->nr && ips[same] == truth->ips[same])
		same++;
	to->whole++;
	to->frames += truth->nr;
	to->frames_equal += same;
	if (same == nr && same == truth->nr) {
		to->equal++;
		to->signals += has_signal(truth);
		return;
	}
	add_difference(process, sample, ours, truth, same);
}

/* Compare with a stack whose outermost frame libdwfl did not reach. */
static void compare_cut(struct process *process, const struct sample *sample,
			const struct walked *ours, const struct stack *truth,
		      struct result *to)
{
	const uint64_t *ips = ours->ips;
	unsigned int nr = ours->nr;
	char *what = NULL;

	to->cut++;
	to->cut_equal += nr >= truth->nr && !memcmp(ips, truth->ips,
						    truth->nr * sizeof(*ips));
	to->only_ours += nr && process_is_outermost(process, ips[nr - 1] - (nr > 1));
	text_append(&what, "not whole: dwarf says '%s' at %s", truth->error, truth->nr ?
		    process_describe(process, truth->ips[truth->nr - 1]) : "no frame");
	add_example(count_difference(what), process, sample, ours, truth, 0);
}

/* Find the kernel's walk of @sample, or count why there is none to compare. */
static bool find_walked(const struct sample *sample, enum walk walk, struct walked *ours,
			struct result *to)
{
	const struct event *record;

	if (walk == WALK_AT_ONCE) {
		*ours = (struct walked){ sample->ips, sample->nr };
		return sample->regs;
	}
	if (!sample->cookie || !sample->regs) {
		to->at_once++;
		return false;
	}
	record = record_of(sample);
	if (!record) {
		to->unanswered++;
		return false;
	}
	*ours = (struct walked){ record->words + 2, record->words[1] };
	return true;
}

static void compare_sample(const struct sample *sample, enum walk walk, struct result *to)
{
	struct process *process = process_of(sample->pid);
	static struct stack truth;
	struct walked ours;

	to->samples++;
	if (!find_walked(sample, walk, &ours, to))
		return;
	process_unwind(process, sample, &truth);
	if (!ours.nr || ours.ips[0] != sample->ip)
		to->elsewhere++;
	if (truth.whole)
		compare_whole(process, sample, &ours, &truth, to);
	else
		compare_cut(process, sample, &ours, &truth, to);
}

void compare(const struct recording *recording, const char *name, double skip,
	     struct result *to)
{
	uint64_t from = recording->nr ? recording->events[0]->time + skip * 1e9 : 0;

	collect_records(recording);
	for (size_t i = 0; i < recording->nr; i++) {
		const struct event *event = recording->events[i];
		struct sample sample;

		if (event->type == RECORD_DEFERRED)
			continue;
		if (event->type != PERF_RECORD_SAMPLE) {
			process_event(event);
			continue;
		}
		if (name && strcmp(name, process_name(process_of(event->pid))))
			continue;
		if (event->time < from) {
			to->skipped++;
			continue;
		}
		sample = event_sample(event);
		compare_sample(&sample, recording->walk, to);
	}
}

static int by_count(const void *a, const void *b)
{
	const struct difference *left = a, *right = b;

	return left->count < right->count ? 1 : -(left->count > right->count);
}

void write_differences(FILE *to)
{
	qsort(differences, nr_differences, sizeof(*differences), by_count);
	for (size_t i = 0; i < nr_differences; i++)
		fprintf(to, "%lu x %s\n%s", differences[i].count, differences[i].what,
			differences[i].example ?: "");
}
