/* SPDX-License-Identifier: GPL-2.0 */
/* Perf events on tracepoints, for tests. */
#ifndef __TP_EVENT_H
#define __TP_EVENT_H

#include <linux/perf_event.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The id of a tracepoint, given as "system/name", or -1. */
static inline int tp_event_id(const char *event)
{
	char path[128];
	FILE *file;
	int id;

	snprintf(path, sizeof(path), "/sys/kernel/tracing/events/%s/id", event);
	file = fopen(path, "r");
	if (!file)
		return -1;
	if (fscanf(file, "%d", &id) != 1)
		id = -1;
	fclose(file);
	return id;
}

/* Open the event @attr on a tracepoint, as perf_event_open(2).  Sets type and config. */
static inline int tp_event_open(struct perf_event_attr *attr, const char *event, pid_t pid,
				int cpu)
{
	int id = tp_event_id(event);

	if (id < 0)
		return -1;
	attr->size = sizeof(*attr);
	attr->type = PERF_TYPE_TRACEPOINT;
	attr->config = id;
	return syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

/* Count of an event, or -1 after an error. */
static inline long tp_event_count(int fd)
{
	__u64 count;

	return read(fd, &count, sizeof(count)) == sizeof(count) ? count : -1;
}

#endif
