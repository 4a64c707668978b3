// SPDX-License-Identifier: GPL-2.0
/*
 * Tests kernel/unwind/table.c: the tables of real programs against other readers,
 * damaged and hostile ones, and random mutations of real ones.
 */
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "test.h"

#define MUTATIONS 500000

static unsigned int run, failed;

bool test_result(bool passed, const char *format, ...)
{
	va_list args;

	run++;
	failed += !passed;
	printf("%sok %u ", passed ? "" : "not ", run);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	return passed;
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
	test_damaged();
	test_damaged_v3();
	test_bounds();
	test_mutations(argv + optind, argc - optind, seed, mutations);
	printf("1..%u\n", run);
	return failed ? 1 : 0;
}
