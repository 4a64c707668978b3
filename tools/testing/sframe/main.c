// SPDX-License-Identifier: GPL-2.0
/*
 * Tests kernel/unwind/sframe_decode.c: damaged tables, the tables of real
 * programs against two other readers, and random mutations of a real one.
 */
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "test.h"

#define MUTATIONS 200000

static unsigned int run, failed, skipped;

bool test_result(bool passed, const char *format, ...)
{
	va_list args;

	run++;
	failed += !passed;
	printf("%sok %u %s", passed ? "" : "not ", run, test_direct ? "in_place_" : "");
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	return passed;
}

void test_skip(const char *format, ...)
{
	va_list args;

	run++;
	skipped++;
	printf("ok %u # SKIP ", run);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
}

void test_note(const char *format, ...)
{
	va_list args;

	printf("# ");
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
}

static void usage(FILE *to)
{
	fprintf(to,
		"usage: sframe-test [--seed N] [--mutations N] PROGRAM...\n"
		"  sframe-test /tmp/sframe/program-O2\n"
		"  sframe-test --seed 42 --mutations 5000000 /tmp/sframe/program-O2\n");
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "seed", required_argument, NULL, 's' },
		{ "mutations", required_argument, NULL, 'm' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	unsigned int mutations = MUTATIONS;
	int option;
	u64 seed;

	if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
		seed = 1;
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 's':
			seed = strtoull(optarg, NULL, 0);
			break;
		case 'm':
			mutations = strtoul(optarg, NULL, 0);
			break;
		case 'h':
			usage(stdout);
			return 0;
		default:
			usage(stderr);
			return 2;
		}
	}
	if (optind == argc) {
		usage(stderr);
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);

	printf("TAP version 13\n");
	for (int i = optind; i < argc; i++)
		test_program(argv[i]);
	test_built_cases();
	for (int direct = 0; direct <= 1; direct++) {
		test_direct = direct;
		test_damaged();
		test_damaged_v3();
		/* The last one may be of another version than the first. */
		test_mutations(argv[optind], seed, mutations);
		if (optind + 1 < argc)
			test_mutations(argv[argc - 1], seed, mutations);
	}
	printf("1..%u\n", run);
	printf("suite sframe-decoder: run %u passed %u failed %u skipped %u\n", run,
	       run - failed - skipped, failed, skipped);
	return failed ? 1 : 0;
}
