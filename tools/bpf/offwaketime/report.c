// SPDX-License-Identifier: GPL-2.0
/*
 * From sums by stack ids to text. Sums that read the same are one: an interrupt wakes
 * up whom it wants, whatever it interrupted.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "offwaketime.h"
#include "report.h"
#include "symbols.h"

struct line {
	char		*text;
	uint64_t	ns;
	uint64_t	count;
};

struct lines {
	struct line	*line;
	size_t		count;
};

/* Frames of one stack, innermost first. */
struct frames {
	const char	*name[256];
	unsigned int	count;
	/* Instead of frames */
	const char	*note;
};

/* How many frames the tracing itself put on the stack: the program and who ran it. */
static unsigned int skip_tracing(const uint64_t *ips)
{
	unsigned int skip = 0;

	for (unsigned int i = 0; i < 6 && ips[i]; i++) {
		const char *name = kernel_symbol(ips[i]);

		if (!strncmp(name, "bpf_trace_run", 13) ||
		    !strncmp(name, "__bpf_trace_", 12) ||
		    !strncmp(name, "__traceiter_", 12))
			skip = i + 1;
	}
	return skip;
}

static bool is_interrupt(const struct frames *frames)
{
	for (unsigned int i = 0; i < frames->count; i++) {
		if (!strncmp(frames->name[i], "asm_sysvec_", 11) ||
		    !strcmp(frames->name[i], "asm_common_interrupt") ||
		    !strcmp(frames->name[i], "asm_exc_nmi"))
			return true;
	}
	return false;
}

static void read_stack(struct report *report, __s32 id, __u32 tgid, bool kernel,
		       struct frames *frames)
{
	uint64_t ips[256] = {};
	__u32 key = id;
	unsigned int i = 0;

	frames->count = 0;
	frames->note = NULL;
	if (id == NO_STACK)
		return;
	if (id == LOST_STACK) {
		frames->note = "[lost stack]";
		return;
	}
	if (bpf_map_lookup_elem(report->stacks, &key, ips)) {
		frames->note = "[unknown stack]";
		report->unknown++;
		return;
	}
	if (kernel)
		i = skip_tracing(ips);
	for (; i < report->depth && ips[i]; i++) {
		/* All but the innermost are return addresses: behind the call. */
		uint64_t at = ips[i] - (i > 0);

		frames->name[frames->count++] = kernel ? kernel_symbol(at) :
							 user_symbol(tgid, at);
	}
}

struct printed {
	struct frames	kernel, user;
	const char	*comm;
};

static void read_who(struct report *report, const struct who *who, struct printed *printed)
{
	read_stack(report, who->stacks.kernel, 0, true, &printed->kernel);
	read_stack(report, who->stacks.user, who->tgid, false, &printed->user);
	printed->comm = who->comm;
}

/* What was interrupted has nothing to do with it. */
static void drop_interrupted(struct printed *waker)
{
	struct frames *frames = &waker->kernel;

	if (!is_interrupt(frames))
		return;
	waker->comm = "[interrupt]";
	waker->user = (struct frames){};
	for (unsigned int i = 0; i < frames->count; i++) {
		if (!strncmp(frames->name[i], "asm_", 4)) {
			frames->count = i + 1;
			break;
		}
	}
}

static void put_frames(FILE *out, const struct frames *frames, bool outermost_first,
		       const char *suffix, const char *format)
{
	if (frames->note)
		fprintf(out, format, frames->note, "");
	for (unsigned int i = 0; i < frames->count; i++) {
		unsigned int at = outermost_first ? frames->count - 1 - i : i;

		fprintf(out, format, frames->name[at], suffix);
	}
}

/*
 * The target grows upwards from its name, its waker hangs downwards from the top, so
 * that in a flame graph they meet at the "--".
 */
static void put_folded(FILE *out, const struct printed *target, const struct printed *waker)
{
	fprintf(out, "%s", target->comm);
	put_frames(out, &target->user, true, "", ";%s%s");
	put_frames(out, &target->kernel, true, "_[k]", ";%s%s");
	fprintf(out, ";--");
	put_frames(out, &waker->kernel, false, "_[k]", ";%s%s");
	put_frames(out, &waker->user, false, "", ";%s%s");
	fprintf(out, ";%s", waker->comm);
}

static void put_pair(FILE *out, const struct printed *target, const struct printed *waker)
{
	fprintf(out, "waker:  %s\n", waker->comm);
	put_frames(out, &waker->user, true, "", "        %s%s\n");
	put_frames(out, &waker->kernel, true, "", "        %s%s [kernel]\n");
	fprintf(out, "        --\n");
	put_frames(out, &target->kernel, false, "", "        %s%s [kernel]\n");
	put_frames(out, &target->user, false, "", "        %s%s\n");
	fprintf(out, "target: %s\n", target->comm);
}

static char *text_of(struct report *report, const struct interval_key *key)
{
	static struct printed target, waker;
	char *text = NULL;
	size_t size;
	FILE *out;

	read_who(report, &key->target, &target);
	read_who(report, &key->waker, &waker);
	drop_interrupted(&waker);
	out = open_memstream(&text, &size);
	if (!out)
		return NULL;
	(report->folded ? put_folded : put_pair)(out, &target, &waker);
	fclose(out);
	return text;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(((const struct line *)a)->text, ((const struct line *)b)->text);
}

static int by_time(const void *a, const void *b)
{
	const struct line *left = a, *right = b;

	return left->ns < right->ns ? 1 : left->ns > right->ns ? -1 : by_text(a, b);
}

/* Add up neighbours that read the same. */
static void merge(struct lines *lines)
{
	size_t kept = 0;

	qsort(lines->line, lines->count, sizeof(*lines->line), by_text);
	for (size_t i = 1; i < lines->count; i++) {
		if (!by_text(&lines->line[kept], &lines->line[i])) {
			lines->line[kept].ns += lines->line[i].ns;
			lines->line[kept].count += lines->line[i].count;
			free(lines->line[i].text);
		} else {
			lines->line[++kept] = lines->line[i];
		}
	}
	if (lines->count)
		lines->count = kept + 1;
}

static int collect(struct report *report, struct lines *lines)
{
	struct interval_key key, next;
	struct interval_sum sum;
	size_t room = 0;
	int err;

	for (err = bpf_map_get_next_key(report->sums, NULL, &next); !err;
	     err = bpf_map_get_next_key(report->sums, &key, &next)) {
		key = next;
		if (bpf_map_lookup_elem(report->sums, &key, &sum))
			return -errno;
		if (lines->count == room) {
			struct line *more;

			room = room ? 2 * room : 256;
			more = realloc(lines->line, room * sizeof(*more));
			if (!more)
				return -ENOMEM;
			lines->line = more;
		}
		lines->line[lines->count] = (struct line){
			text_of(report, &key), sum.ns, sum.count,
		};
		if (!lines->line[lines->count].text)
			return -ENOMEM;
		lines->count++;
	}
	return err == -ENOENT ? 0 : err;
}

int report_print(struct report *report)
{
	struct lines lines = {};
	int err = collect(report, &lines);

	if (!err) {
		merge(&lines);
		qsort(lines.line, lines.count, sizeof(*lines.line), by_time);
		for (size_t i = 0; i < lines.count; i++) {
			struct line *line = &lines.line[i];
			unsigned long long us = line->ns / 1000;

			if (report->folded)
				printf("%s %llu\n", line->text, us);
			else
				printf("%s%llu us in %llu waits\n\n", line->text, us,
				       (unsigned long long)line->count);
		}
		report->pairs = lines.count;
		if (fflush(stdout))
			err = -errno;
	}
	for (size_t i = 0; i < lines.count; i++)
		free(lines.line[i].text);
	free(lines.line);
	return err;
}
