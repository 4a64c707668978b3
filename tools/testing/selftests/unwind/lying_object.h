/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An object in a file with the code of lying.h, mapped as by a dynamic linker.  The stack
 * shows whether the kernel uses the table that it finds for the object.
 */
#ifndef _LYING_OBJECT_H
#define _LYING_OBJECT_H

#include <elf.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "lying.h"
#include "unwind_test.h"

#ifndef PT_GNU_SFRAME
#define PT_GNU_SFRAME	0x6474e554
#endif

#define PAGE 4096ul
/*
 * Maximum time to wait for discovery.  After a miss without result, the kernel waits a
 * tenth of a second before it looks again.
 */
#define PATIENCE_SECONDS 20

#define NEED_DISCOVERY()						\
	do {								\
		NEED_UNWIND();						\
		if (unwind_tracepoint("unwind/sframe_discover") < 0)	\
			SKIP(return, "no tracepoint unwind:sframe_discover");	\
	} while (0)

/* First page of the file; the code is in the second page, the table in the third. */
struct lying_object {
	Elf64_Ehdr	header;
	Elf64_Phdr	load, text, data, sframe;
	Elf64_Nhdr	note;
	char		owner[4];
	uint8_t		id[20];
};

/* A field of a structure and an invalid value for it, see LIE_OF(). */
struct lie {
	const char	*what;
	size_t		offset;
	size_t		size;
	uint64_t	value;
};

#define LIE_OF(type, field, lie)						\
	{ #field " = " #lie, offsetof(type, field), sizeof(((type *)0)->field), lie }

static inline void tell(void *structure, const struct lie *lie)
{
	memcpy((char *)structure + lie->offset, &lie->value, lie->size);
}

/**
 * struct lying_map - a mapping of the object, and the events that watch it run
 * @area:	Three pages of the object, a guard page and the page that faults.
 * @fault:	Page that faults, the last one of @area.
 * @perf:	Event that samples the fault.
 * @looks:	Event that counts discoveries of the object's code.
 * @record:	Last stack sampled.
 */
struct lying_map {
	uint8_t			*area;
	void			*fault;
	struct unwind_perf	perf;
	struct unwind_perf	looks;
	struct unwind_record	record;
};

static inline bool is_over(time_t *end)
{
	if (!*end)
		*end = time(NULL) + PATIENCE_SECONDS;
	return time(NULL) > *end;
}

/* The kernel shares tables only of files that have not changed for two seconds. */
static inline void let_grow_old(int fd)
{
	struct stat st;

	while (!fstat(fd, &st) && time(NULL) - st.st_ctime <= 2)
		usleep(100000);
}

/* Number of lines in debugfs' unwind/files that are of a file and end in @state. */
static inline int lines_of(const struct stat *st, const char *state)
{
	FILE *files = fopen("/sys/kernel/debug/unwind/files", "r");
	char line[256], of[64];
	int nr = 0;

	snprintf(of, sizeof(of), "%02x:%02x %lu ", major(st->st_dev), minor(st->st_dev),
		 st->st_ino);
	while (files && fgets(line, sizeof(line), files)) {
		line[strcspn(line, "\n")] = '\0';
		if (!strncmp(line, of, strlen(of)) && strlen(line) >= strlen(state) &&
		    !strcmp(line + strlen(line) - strlen(state), state))
			nr++;
	}
	if (files)
		fclose(files);
	return nr;
}

/* Whether debugfs' unwind/files has a line for the file that ends in @state. */
static inline bool file_is(int fd, const char *state)
{
	struct stat st;

	return !fstat(fd, &st) && lines_of(&st, state);
}

/* Open an event that counts a tracepoint in this thread. */
static inline int open_counter(struct unwind_perf *perf, const char *name)
{
	return unwind_perf_open(perf, 0, PERF_TYPE_TRACEPOINT, unwind_tracepoint(name),
				UNWIND_NO_REQUESTS | UNWIND_NO_RECORDS | UNWIND_NO_USER);
}

static inline uint64_t count(const struct unwind_perf *perf)
{
	uint64_t value = 0;

	return read(perf->fd, &value, sizeof(value)) == sizeof(value) ? value : ~0ull;
}

static inline void write_headers(struct lying_object *headers)
{
	*headers = (struct lying_object){
		.header = {
			.e_ident = {
				ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
				ELFDATA2LSB, EV_CURRENT,
			},
			.e_type = ET_DYN,
			.e_machine = EM_X86_64,
			.e_version = EV_CURRENT,
			.e_phoff = offsetof(struct lying_object, load),
			.e_ehsize = sizeof(Elf64_Ehdr),
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = 4,
		},
		.load = {
			.p_type = PT_LOAD, .p_flags = PF_R,
			.p_filesz = PAGE, .p_memsz = PAGE,
		},
		.text = {
			.p_type = PT_LOAD, .p_flags = PF_R | PF_X,
			.p_offset = PAGE, .p_vaddr = PAGE,
			.p_filesz = sizeof(lying_code), .p_memsz = sizeof(lying_code),
		},
		.data = {
			.p_type = PT_LOAD, .p_flags = PF_R,
			.p_offset = 2 * PAGE, .p_vaddr = 2 * PAGE,
			.p_filesz = PAGE, .p_memsz = PAGE,
		},
		.sframe = {
			.p_type = PT_GNU_SFRAME, .p_flags = PF_R,
			.p_offset = 2 * PAGE, .p_vaddr = 2 * PAGE,
			.p_filesz = sizeof(struct lying_table),
			.p_memsz = sizeof(struct lying_table),
		},
	};
}

/* Write a whole object: headers, code and table. */
static inline bool write_lying_object(int fd, const struct lying_object *headers,
				      const struct lying_table *table)
{
	return !ftruncate(fd, 3 * PAGE) &&
	       pwrite(fd, headers, sizeof(*headers), 0) == sizeof(*headers) &&
	       pwrite(fd, lying_code, sizeof(lying_code), PAGE) == sizeof(lying_code) &&
	       pwrite(fd, table, sizeof(*table), 2 * PAGE) == sizeof(*table);
}

static inline bool map_part(struct lying_map *map, unsigned long offset, int prot, int fd)
{
	return mmap(map->area + offset, PAGE, prot, MAP_PRIVATE | MAP_FIXED, fd,
		    offset) != MAP_FAILED;
}

static inline bool map_object(struct lying_map *map, int fd)
{
	return map_part(map, 0, PROT_READ, fd) &&
	       map_part(map, PAGE, PROT_READ | PROT_EXEC, fd) &&
	       map_part(map, 2 * PAGE, PROT_READ, fd);
}

/*
 * Watch only this object's code, as discovery returns to others without a table each
 * minute.
 */
static inline bool watch_code(struct lying_map *map)
{
	char filter[64];

	snprintf(filter, sizeof(filter), "text == 0x%lx", (unsigned long)map->area + PAGE);
	return !open_counter(&map->looks, "unwind/sframe_discover") &&
	       !ioctl(map->looks.fd, PERF_EVENT_IOC_SET_FILTER, filter);
}

/* Open the events of @map in this process. */
static inline bool watch_map(struct lying_map *map)
{
	/* Discovery must not look before all parts are mapped. */
	return !open_faults(&map->perf, 0) &&
	       !ioctl(map->perf.fd, PERF_EVENT_IOC_DISABLE, 0) && watch_code(map);
}

static inline bool prepare_map(struct lying_map *map)
{
	map->area = mmap(NULL, 5 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map->area == MAP_FAILED)
		return false;
	map->fault = map->area + 4 * PAGE;
	return !mprotect(map->fault, PAGE, PROT_READ | PROT_WRITE) && watch_map(map);
}

/* Run the code, and return whether the kernel used the table. */
static keep int believes_in(struct lying_map *map)
{
	lying_function *function = (lying_function *)(map->area + PAGE);

	madvise(map->fault, PAGE, MADV_DONTNEED);
	unwind_perf_drain(&map->perf);
	ioctl(map->perf.fd, PERF_EVENT_IOC_ENABLE, 0);
	function(map->fault, POISON);
	ioctl(map->perf.fd, PERF_EVENT_IOC_DISABLE, 0);
	if (!unwind_perf_stack_at(&map->perf, (uintptr_t)map->area + PAGE + LYING_FAULT,
				  &map->record))
		return -1;
	return map->record.nr > 1 && map->record.ips[1] == POISON;
}

/* Print what was sampled, and what the kernel knows of files, when it has not looked. */
static inline void print_no_look(unsigned int runs, unsigned int sampled)
{
	FILE *files = fopen("/sys/kernel/debug/unwind/files", "r");
	char line[256];

	printf("# no look within %u seconds: %u runs, %u sampled; unwind/files:\n",
	       PATIENCE_SECONDS, runs, sampled);
	while (files && fgets(line, sizeof(line), files))
		printf("# %s", line);
	if (files)
		fclose(files);
}

/*
 * Run the code until the kernel has looked at it; whether it believed the table.  If the file
 * was loaded while mmap() asked for it, the kernel attached the table then, and does not look.
 */
static keep int comes_to_believe_in(struct lying_map *map)
{
	unsigned int runs = 0, sampled = 0;
	uint64_t before = count(&map->looks);
	int answer;
	time_t end = 0;

	do {
		answer = believes_in(map);
		sampled += answer >= 0;
		runs++;
	} while (answer != 1 && count(&map->looks) == before && !is_over(&end));
	if (answer != 1 && count(&map->looks) == before) {
		print_no_look(runs, sampled);
		return -2;
	}
	/* Whatever the answer, it is looked at once, but for the end of a minute. */
	for (int tries = 0; tries < 2; tries++) {
		before = count(&map->looks);
		for (int i = 0; i < 3; i++)
			believes_in(map);
		if (count(&map->looks) == before)
			return believes_in(map);
	}
	return -3;
}

#endif /* _LYING_OBJECT_H */
