// SPDX-License-Identifier: GPL-2.0
/* Values of the options --off-cpu-thresh, --off-cpu-period and --off-cpu-states. */
#include <errno.h>
#include <linux/kernel.h>
#include <stdlib.h>
#include <string.h>

#include "util/off_cpu.h"

/**
 * off_cpu_parse_time - read a length of time
 * @str: a number, then "us", "ms" or "s"; "ms" may be left out
 * @ns:	 out: nanoseconds
 *
 * Return: 0, or -EINVAL if that is no time, or one that does not fit.
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

	/* strtoull() takes signs. */
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
 * off_cpu_parse_states - read a list of states
 * @str:    characters as ps has them, with commas between
 * @states: out: a mask of bits of enum off_cpu_state
 *
 * Return: 0, or -EINVAL if that is no list of states.
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
