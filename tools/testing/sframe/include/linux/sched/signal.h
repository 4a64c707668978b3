/* SPDX-License-Identifier: GPL-2.0 */
#include <linux/types.h>

/* Whether a test kills what runs; a program without such tests lacks it. */
bool test_killed(void) __attribute__((weak));

#define current			NULL
#define fatal_signal_pending(task) ((void)(task), test_killed && test_killed())
