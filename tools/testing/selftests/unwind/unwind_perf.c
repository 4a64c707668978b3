// SPDX-License-Identifier: GPL-2.0
#define _GNU_SOURCE
#include "unwind_perf.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/hw_breakpoint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef ElfW(Phdr) elf_phdr;

#define RING_SIZE	(64 * PERF_RING_PAGE)

#ifndef PT_GNU_SFRAME
#define PT_GNU_SFRAME	0x6474e554
#endif

int unwind_perf_open_event(struct unwind_perf *perf, const struct unwind_event *event)
{
	struct perf_event_attr attr = {
		.type = event->type,
		.size = sizeof(attr),
		.config = event->config,
		.config1 = event->config1,
		.config2 = event->config2,
		.sample_period = event->period ?: 1,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			       PERF_SAMPLE_CALLCHAIN,
		.sample_max_stack = event->max_stack,
		/*
		 * Disabled until it has a ring buffer: without one, a sample would be
		 * lost but not its record.
		 */
		.disabled = 1,
		.enable_on_exec = !!(event->flags & UNWIND_ON_EXEC),
		.inherit = !!(event->flags & UNWIND_INHERIT),
		.exclude_callchain_kernel = 1,
		.exclude_callchain_user = !!(event->flags & UNWIND_NO_USER),
		.exclude_kernel = !!(event->flags & UNWIND_USER_MODE),
		.exclude_hv = !!(event->flags & UNWIND_USER_MODE),
		.sample_id_all = 1,
	};
	unsigned long flags = PERF_FLAG_FD_CLOEXEC;
	int error;

	if (event->type == PERF_TYPE_BREAKPOINT) {
		attr.config = 0;
		attr.bp_addr = event->config;
		attr.bp_type = HW_BREAKPOINT_X;
		attr.bp_len = sizeof(long);
	}
	if (event->flags & UNWIND_CGROUP)
		flags |= PERF_FLAG_PID_CGROUP;
	if (!(event->flags & UNWIND_NO_REQUESTS))
		perf_attr_add_flags(&attr, ATTR_DEFER_CALLCHAIN);
	if (!(event->flags & UNWIND_NO_RECORDS))
		perf_attr_add_flags(&attr, ATTR_DEFER_OUTPUT);

	memset(perf, 0, sizeof(*perf));
	perf->fd = syscall(__NR_perf_event_open, &attr, event->pid, event->cpu, -1,
			   flags);
	if (perf->fd < 0)
		return -errno;
	if (!perf_ring_map(&perf->ring, perf->fd, RING_SIZE)) {
		error = -errno;
		close(perf->fd);
		return error;
	}
	if (!(event->flags & UNWIND_ON_EXEC) && ioctl(perf->fd, PERF_EVENT_IOC_ENABLE, 0)) {
		error = -errno;
		unwind_perf_close(perf);
		return error;
	}
	return 0;
}

int unwind_perf_open(struct unwind_perf *perf, pid_t pid, uint32_t type,
		     uint64_t config, unsigned int flags)
{
	struct unwind_event event = {
		.type = type,
		.config = config,
		.flags = flags,
		.pid = pid,
		.cpu = -1,
	};

	return unwind_perf_open_event(perf, &event);
}

void unwind_perf_close(struct unwind_perf *perf)
{
	perf_ring_unmap(&perf->ring);
	close(perf->fd);
}

/* Parse the words of a record after its header. */
static bool parse(struct unwind_record *record, uint32_t type, const uint64_t *words,
		  size_t count)
{
	const uint64_t *ips, *id;

	record->type = type;
	record->cookie = 0;
	if (type == PERF_RECORD_SAMPLE) {
		/* tid, time, nr, ips */
		id = words;
		record->nr = words[2];
		ips = words + 3;
	} else {
		/* cookie, nr, ips, tid, time */
		record->cookie = words[0];
		record->nr = words[1];
		ips = words + 2;
		id = ips + record->nr;
	}
	if (record->nr > UNWIND_MAX_IPS || (size_t)(ips - words) + record->nr > count)
		return false;
	record->pid = (uint32_t)*id;
	record->tid = *id >> 32;
	memcpy(record->ips, ips, record->nr * sizeof(*ips));
	if (type == PERF_RECORD_SAMPLE && record->nr >= 2 &&
	    record->ips[record->nr - 2] == UNWIND_CONTEXT_DEFERRED)
		record->cookie = record->ips[record->nr - 1];
	return true;
}

bool unwind_perf_next(struct unwind_perf *perf, struct unwind_record *record)
{
	static __thread uint64_t words[PERF_RING_WORDS];
	struct perf_event_header header;

	while (perf_ring_next(&perf->ring, &header, words)) {
		if (header.type == PERF_RECORD_LOST) {
			if (!perf->lost)
				fprintf(stderr, "# unwind_perf: the ring is too small\n");
			/* id, lost */
			perf->lost += words[1];
			continue;
		}
		if (header.type != PERF_RECORD_SAMPLE && header.type != UNWIND_RECORD_DEFERRED)
			continue;
		if (parse(record, header.type, words,
			  (header.size - sizeof(header)) / sizeof(*words)))
			return true;
		perf->senseless++;
		fprintf(stderr, "# unwind_perf: record %u of %u bytes makes no sense\n",
			header.type, header.size);
	}
	return false;
}

void unwind_perf_drain(struct unwind_perf *perf)
{
	perf_ring_drain(&perf->ring);
}

bool unwind_perf_stack_at(struct unwind_perf *perf, uint64_t ip,
			  struct unwind_record *record)
{
	while (unwind_perf_next(perf, record))
		if (record->type == UNWIND_RECORD_DEFERRED && record->nr &&
		    record->ips[0] == ip)
			return true;
	return false;
}

bool unwind_perf_sample_at(struct unwind_perf *perf, uint64_t ip,
			   struct unwind_record *record)
{
	while (unwind_perf_next(perf, record))
		if (record->type == PERF_RECORD_SAMPLE && unwind_user_part(record) &&
		    record->ips[0] == ip)
			return true;
	return false;
}

uint64_t unwind_user_part(struct unwind_record *record)
{
	unsigned int from = 0;

	if (record->type == UNWIND_RECORD_DEFERRED)
		return record->nr;
	while (from < record->nr && record->ips[from] != UNWIND_CONTEXT_USER)
		from++;
	from += from < record->nr;
	record->nr -= from;
	memmove(record->ips, record->ips + from, record->nr * sizeof(record->ips[0]));
	return record->nr;
}

long unwind_tracepoint(const char *name)
{
	static const char * const roots[] = {
		"/sys/kernel/tracing", "/sys/kernel/debug/tracing",
	};
	char path[256];
	long id = -1;

	for (int i = 0; i < 2 && id < 0; i++) {
		FILE *file;

		snprintf(path, sizeof(path), "%s/events/%s/id", roots[i], name);
		file = fopen(path, "r");
		if (!file)
			continue;
		if (fscanf(file, "%ld", &id) != 1)
			id = -1;
		fclose(file);
	}
	return id;
}

uint64_t unwind_kernel_symbol(const char *name)
{
	FILE *file = fopen("/proc/kallsyms", "r");
	unsigned long long address, found = 0;
	char symbol[256];

	while (file && !found &&
	       fscanf(file, "%llx %*c %255s%*[^\n]", &address, symbol) == 2)
		if (!strcmp(symbol, name))
			found = address;
	if (file)
		fclose(file);
	return found;
}

int unwind_pmu(const char *name)
{
	char path[256];
	int type = -1;
	FILE *file;

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/type", name);
	file = fopen(path, "r");
	if (!file)
		return -1;
	if (fscanf(file, "%d", &type) != 1)
		type = -1;
	fclose(file);
	return type;
}

long unwind_file_offset(uintptr_t address)
{
	FILE *file = fopen("/proc/self/maps", "r");
	unsigned long start, end, offset;
	long found = -1;

	while (file && found < 0 &&
	       fscanf(file, "%lx-%lx %*s %lx%*[^\n]", &start, &end, &offset) == 3)
		if (address >= start && address < end)
			found = address - start + offset;
	if (file)
		fclose(file);
	return found;
}

const char *unwind_perf_missing(void)
{
	struct unwind_perf perf;
	int error;

	error = unwind_perf_open(&perf, 0, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS,
				 0);
	if (!error) {
		unwind_perf_close(&perf);
		return NULL;
	}
	if (error != -EINVAL)
		return "perf_event_open() fails: no permission, or no perf in this kernel";
	return "perf_event_open() refuses defer_callchain: this kernel has no deferred callchains";
}

struct region_search {
	const char		*name;
	struct unwind_region	*region;
	bool			found;
};

static int look_at_object(struct dl_phdr_info *info, size_t size, void *data)
{
	struct region_search *search = data;
	size_t len = strlen(info->dlpi_name), want = strlen(search->name);
	struct unwind_region region = { };

	if (len < want || strcmp(info->dlpi_name + len - want, search->name))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const elf_phdr *header = &info->dlpi_phdr[i];

		if (header->p_type == PT_GNU_SFRAME) {
			region.sframe_start = info->dlpi_addr + header->p_vaddr;
			region.sframe_size = header->p_memsz;
		} else if (header->p_type == PT_LOAD && header->p_flags & PF_X) {
			region.text_start = info->dlpi_addr + header->p_vaddr;
			region.text_size = header->p_memsz;
		}
	}
	*search->region = region;
	search->found = region.sframe_size && region.text_size;
	return 1;
}

bool unwind_find_region(const char *name, struct unwind_region *region)
{
	struct region_search search = { name, region, false };

	dl_iterate_phdr(look_at_object, &search);
	return search.found;
}

bool unwind_forget_table(const struct unwind_region *region)
{
	uintptr_t start = region->sframe_start & -4096ul;

	return !madvise((void *)start, region->sframe_start + region->sframe_size - start,
			MADV_DONTNEED);
}

bool unwind_is_loading(void)
{
	FILE *file = fopen("/sys/kernel/debug/unwind/files", "r");
	bool loading = false;
	char line[256];

	while (file && !loading && fgets(line, sizeof(line), file))
		loading = strstr(line, " loading");
	if (file)
		fclose(file);
	return loading;
}
