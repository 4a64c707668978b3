// SPDX-License-Identifier: GPL-2.0
/* Parse the options --off-cpu-thresh, --off-cpu-period and --off-cpu-states. */
#include <errno.h>
#include <linux/kernel.h>
#include <stdlib.h>
#include <string.h>

#include "util/off_cpu.h"

/**
 * off_cpu_parse_time - parse a duration
 * @str: a number, followed by "us", "ms" or "s"; "ms" is the default
 * @ns:	 set to the duration in nanoseconds
 *
 * Return: 0, or -EINVAL if @str is not a duration or does not fit in 63 bits.
 */
int off_cpu_parse_time(const char *str, u64 *ns)
{
	static const struct {
		const char *name;
		u64 ns;
	} units[] = {
		{ "", 1000000 }, { "us", 1000 }, { "ms", 1000000 }, { "s", 1000000000 },
	};
	unsigned long long nr;
	unsigned int i;
	char *end;

	/* strtoull() would accept signs. */
	if (!str || *str < '0' || *str > '9')
		return -EINVAL;
	errno = 0;
	nr = strtoull(str, &end, 10);
	if (errno)
		return -EINVAL;
	for (i = 0; i < ARRAY_SIZE(units); i++) {
		if (strcmp(end, units[i].name))
			continue;
		if (nr > INT64_MAX / units[i].ns)
			return -EINVAL;
		*ns = nr * units[i].ns;
		return 0;
	}
	return -EINVAL;
}

/**
 * off_cpu_parse_states - parse a list of task states
 * @str:    state characters of ps(1), separated by commas
 * @states: set to a mask of enum off_cpu_state bits
 *
 * Return: 0, or -EINVAL if @str is not a list of states.
 */
int off_cpu_parse_states(const char *str, u32 *states)
{
	const char *found;

	for (*states = 0;; str++) {
		found = memchr(off_cpu_state_chars, *str, OFF_CPU_STATES);
		if (!found)
			return -EINVAL;
		*states |= 1U << (found - off_cpu_state_chars);
		if (!*++str)
			return 0;
		if (*str != ',')
			return -EINVAL;
	}
}
