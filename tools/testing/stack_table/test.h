/* SPDX-License-Identifier: GPL-2.0-only */
/* Result output of the three test programs, as TAP. */
#ifndef _STACK_TABLE_TEST_H
#define _STACK_TABLE_TEST_H

#include <stdarg.h>
#include <stdio.h>

static unsigned int test_run, test_failed;

/* Prints a result and returns @passed. */
static bool __attribute__((format(printf, 2, 3)))
test_result(bool passed, const char *format, ...)
{
	va_list args;

	if (!test_run)
		puts("TAP version 13");
	printf("%sok %u - ", passed ? "" : "not ", ++test_run);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	fflush(stdout);
	test_failed += !passed;
	return passed;
}

static int test_end(void)
{
	printf("1..%u\n", test_run);
	return test_failed ? 1 : 0;
}

/* Fail a test function if a condition does not hold, and print the condition. */
#define EXPECT(condition) do {						\
	if (!(condition)) {						\
		printf("# %s:%d: %s\n", __func__, __LINE__, #condition);\
		return false;						\
	}								\
} while (0)
#define EXPECT_EQ(a, b) do {						\
	long long _a = (a), _b = (b);					\
	if (_a != _b) {							\
		printf("# %s:%d: %s == %lld, %s == %lld\n", __func__,	\
		       __LINE__, #a, _a, #b, _b);			\
		return false;						\
	}								\
} while (0)

#endif /* _STACK_TABLE_TEST_H */
