// SPDX-License-Identifier: GPL-2.0
/*
 * Checks that the kernel's callchains are those of DWARF's rules.
 *
 * Each sample of a program has its registers and a dump of its stack, from which libdwfl
 * unwinds by .eh_frame.  The sample also has the kernel's own walk, or the cookie of the
 * deferred record with the walk.  same_frames compares the two frame by frame.
 */
#include "same_frames.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define FREQUENCY	299

static const char help[] =
"usage: same_frames [OPTION]... PROGRAM [ARGUMENT]...\n"
"\n"
"Run PROGRAM and its children, sample them in user mode, and compare the kernel's\n"
"callchains with those that libdwfl finds by .eh_frame in the same samples.  Needs root\n"
"and a kernel with deferred callchains.\n"
"\n"
"  -a, --at-once           compare immediate walks, not deferred ones\n"
"  -F, --frequency HZ      take HZ samples each second on each CPU (299)\n"
"  -s, --seconds S         end PROGRAM after S seconds (when it ends)\n"
"  -n, --name NAME         compare only samples of programs with this name in\n"
"                          /proc/PID/comm\n"
"  -k, --skip S            ignore the samples of the first S seconds: immediate walks\n"
"                          do not wait until tables are loaded\n"
"  -m, --min-equal N       fail if fewer than N of 1000 frames are equal\n"
"  -o, --output FILE       write the figures to FILE (standard error)\n"
"  -d, --differences FILE  write the differences to FILE, most frequent first, with an\n"
"                          example of each\n"
"  -h, --help              this text\n"
"\n"
"figures:\n"
"  samples         taken in user mode\n"
"  lost            records that the kernel had no room for\n"
"  at-once         samples with an immediate walk that should have a cookie\n"
"  unanswered      samples without their deferred record\n"
"  elsewhere       records that begin at another instruction than their sample\n"
"  dwarf-cut       stacks whose outermost frame libdwfl does not reach in the dump\n"
"  cut-equal       of dwarf-cut: the kernel has the same frames, as far as they go\n"
"  kernel-only     of dwarf-cut: the kernel reaches the outermost frame\n"
"  dwarf-whole     stacks whose outermost frame libdwfl reaches\n"
"  equal           of dwarf-whole: the kernel has the same frames and no others\n"
"  through-signal  of equal: the stack goes through a signal handler\n"
"  frames          the frames of dwarf-whole\n"
"  frames-equal    of frames: the kernel has them, up to the first difference\n"
"\n"
"Exit status: 0 done; 1 too few frames are equal, there is nothing to compare, or\n"
"PROGRAM failed; 2 wrong usage, or PROGRAM cannot be recorded.\n"
"\n"
"examples:\n"
"  same_frames --min-equal 999 -- xz -k9c file > file.xz\n"
"  same_frames --seconds 5 --differences /tmp/differ -- python3 work.py\n";

static const struct option long_options[] = {
	{ "at-once", no_argument, NULL, 'a' },
	{ "frequency", required_argument, NULL, 'F' },
	{ "seconds", required_argument, NULL, 's' },
	{ "name", required_argument, NULL, 'n' },
	{ "skip", required_argument, NULL, 'k' },
	{ "min-equal", required_argument, NULL, 'm' },
	{ "output", required_argument, NULL, 'o' },
	{ "differences", required_argument, NULL, 'd' },
	{ "help", no_argument, NULL, 'h' },
	{ }
};

struct options {
	enum walk	walk;
	unsigned long	frequency;
	double		seconds;
	const char	*name;
	double		skip;
	unsigned long	min_equal;
	FILE		*output;
	FILE		*differences;
};

#define EXIT_USAGE	2

_Noreturn void die(const char *what)
{
	fprintf(stderr, "same_frames: %s: %s\n", what, strerror(errno));
	exit(EXIT_USAGE);
}

void *grow(void *memory, size_t size)
{
	memory = realloc(memory, size ?: 1);
	if (!memory)
		die("memory");
	return memory;
}

static _Noreturn void usage(void)
{
	fputs("Try 'same_frames --help'.\n", stderr);
	exit(EXIT_USAGE);
}

static double parse_number(const char *text, double min, double max)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end || !(value >= min && value <= max)) {
		fprintf(stderr, "same_frames: %s: not a number from %g to %g\n", text, min,
			max);
		usage();
	}
	return value;
}

static FILE *open_output(const char *name)
{
	FILE *file = fopen(name, "we");

	if (!file)
		die(name);
	return file;
}

static void parse_options(struct options *options, int argc, char **argv)
{
	int c;

	while ((c = getopt_long(argc, argv, "+aF:s:n:k:m:o:d:h", long_options, NULL)) != -1) {
		switch (c) {
		case 'a':
			options->walk = WALK_AT_ONCE;
			break;
		case 'F':
			options->frequency = parse_number(optarg, 1, 10000);
			break;
		case 's':
			options->seconds = parse_number(optarg, 0, 1e6);
			break;
		case 'n':
			options->name = optarg;
			break;
		case 'k':
			options->skip = parse_number(optarg, 0, 1e6);
			break;
		case 'm':
			options->min_equal = parse_number(optarg, 0, 1000);
			break;
		case 'o':
			options->output = open_output(optarg);
			break;
		case 'd':
			options->differences = open_output(optarg);
			break;
		case 'h':
			fputs(help, stdout);
			exit(EXIT_SUCCESS);
		default:
			usage();
		}
	}
	if (optind == argc) {
		fputs("same_frames: no program to run; name one\n", stderr);
		usage();
	}
}

static void write_figures(FILE *to, const struct recording *recording,
			  const struct result *result)
{
	if (result->skipped)
		fprintf(to, "skipped %lu\n", result->skipped);
	fprintf(to, "samples %lu lost %lu at-once %lu unanswered %lu elsewhere %lu\n",
		result->samples, recording->lost, result->at_once, result->unanswered,
		result->elsewhere);
	fprintf(to, "dwarf-cut %lu cut-equal %lu kernel-only %lu\n", result->cut,
		result->cut_equal, result->only_ours);
	fprintf(to, "dwarf-whole %lu equal %lu through-signal %lu",
		result->whole, result->equal, result->signals);
	fprintf(to, " frames %lu frames-equal %lu", result->frames, result->frames_equal);
	fprintf(to, " (%.3f %%)\n",
		result->frames ? 100.0 * result->frames_equal / result->frames : 0);
	fflush(to);
}

/* The program's exit status does not matter if same_frames has ended it. */
static bool program_failed(const struct recording *recording)
{
	int status = recording->status;

	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return false;
	if (recording->stopped)
		return false;
	if (WIFEXITED(status))
		fprintf(stderr, "same_frames: the program ended with %d\n",
			WEXITSTATUS(status));
	else
		fprintf(stderr, "same_frames: signal %d ended the program\n",
			WTERMSIG(status));
	return true;
}

int main(int argc, char **argv)
{
	struct options options = { .frequency = FREQUENCY, .output = stderr };
	struct recording recording = { };
	struct result result = { };
	bool enough;

	parse_options(&options, argc, argv);
	recording.walk = options.walk;
	record_program(&recording, argv + optind, options.frequency, options.seconds);
	compare(&recording, options.name, options.skip, &result);
	write_figures(options.output, &recording, &result);
	if (options.differences)
		write_differences(options.differences);
	enough = result.frames &&
		 result.frames_equal * 1000 >= result.frames * options.min_equal;
	if (!enough)
		fprintf(stderr, "same_frames: %lu of %lu frames are equal: too few\n",
			result.frames_equal, result.frames);
	return program_failed(&recording) || !enough ? EXIT_FAILURE : EXIT_SUCCESS;
}
