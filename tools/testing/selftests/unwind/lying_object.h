/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An object in a file with the code of lying.h, mapped as by a dynamic linker.  The stack
 * shows whether the kernel uses the table that it finds for the object.
 */
#ifndef _LYING_OBJECT_H
#define _LYING_OBJECT_H

#include <elf.h>
#include <fcntl.h>
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
#define DEBUG_FILES "/sys/kernel/debug/unwind/files"
#define BOUND "/proc/sys/kernel/unwind_table_kbytes"
/*
 * Maximum time to wait until the kernel knows a file.  If the file does not settle, the kernel
 * looks at it after a tenth of a second first, and after ten seconds at last.
 */
#define PATIENCE_SECONDS 20

#define NEED_FILES()						\
	do {							\
		NEED_UNWIND();					\
		if (access(DEBUG_FILES, R_OK))			\
			SKIP(return, "no " DEBUG_FILES);	\
	} while (0)

/* First page of the file; the code is in the second page, the table in the third. */
struct lying_object {
	Elf64_Ehdr	header;
	Elf64_Phdr	load, text, data, sframe, notes;
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
 * @at:		Offset of the function to run in @area's second page.
 * @fault:	Page that faults, the last one of @area.
 * @st:		The object's file.
 * @perf:	Event that samples the fault.
 * @record:	Last stack sampled.
 */
struct lying_map {
	uint8_t			*area;
	unsigned long		at;
	void			*fault;
	struct stat		st;
	struct unwind_perf	perf;
	struct unwind_record	record;
};

static inline bool is_over(time_t *end)
{
	if (!*end)
		*end = time(NULL) + PATIENCE_SECONDS;
	return time(NULL) > *end;
}

/*
 * The kernel does not use what it reads of a file in the tick of its last change or the next
 * one, so a walk waits then.
 */
static inline void let_grow_old(int fd)
{
	struct timespec now;
	struct stat st;
	long long age = 0;

	while (age < 50000000 && !fstat(fd, &st)) {
		clock_gettime(CLOCK_REALTIME_COARSE, &now);
		age = (now.tv_sec - st.st_ctim.tv_sec) * 1000000000ll +
		      now.tv_nsec - st.st_ctim.tv_nsec;
		usleep(1000);
	}
}

/*
 * Get the state of the file @st from its next line in @files: device, inode, size of the rows,
 * state.  Returns NULL if there is none.
 */
static inline const char *next_state(FILE *files, const struct stat *st, char line[256])
{
	char of[64];
	size_t len;

	len = snprintf(of, sizeof(of), "%02x:%02x %lu ", major(st->st_dev), minor(st->st_dev),
		       st->st_ino);
	while (files && fgets(line, 256, files)) {
		line[strcspn(line, "\n")] = '\0';
		if (!strncmp(line, of, len))
			return line + len + strcspn(line + len, " ") + 1;
	}
	return NULL;
}

static inline bool starts_with(const char *state, const char *what)
{
	return !strncmp(state, what, strlen(what));
}

/* Number of lines in debugfs' unwind/files that are of a file whose state starts with @what. */
static inline int lines_of(const struct stat *st, const char *what)
{
	FILE *files = fopen(DEBUG_FILES, "r");
	const char *state;
	char line[256];
	int nr = 0;

	while ((state = next_state(files, st, line)))
		nr += starts_with(state, what);
	if (files)
		fclose(files);
	return nr;
}

/* Whether debugfs' unwind/files has a line for the file whose state starts with @state. */
static inline bool file_is(int fd, const char *state)
{
	struct stat st;

	return !fstat(fd, &st) && lines_of(&st, state);
}

/* Whether the kernel has looked at the file, and another look would find the same. */
static inline bool is_decided(const struct stat *st)
{
	FILE *files = fopen(DEBUG_FILES, "r");
	bool known = false, decided = true;
	const char *state;
	char line[256];

	while ((state = next_state(files, st, line))) {
		known = true;
		decided = decided && (starts_with(state, "loaded") ||
				      starts_with(state, "without") ||
				      starts_with(state, "no object") ||
				      starts_with(state, "refused"));
	}
	if (files)
		fclose(files);
	return known && decided;
}

/* Value of a counter in debugfs' unwind/stats; -1 if there is none. */
static inline long long stat_of(const char *name)
{
	FILE *file = fopen("/sys/kernel/debug/unwind/stats", "r");
	long long value = -1, found = -1;
	char line[64];

	while (file && fscanf(file, "%63s %lld", line, &value) == 2)
		if (!strcmp(line, name))
			found = value;
	if (file)
		fclose(file);
	return found;
}

static inline bool write_file(const char *path, const void *bytes, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	bool done = fd >= 0 && write(fd, bytes, size) == (ssize_t)size;

	return fd >= 0 && !close(fd) && done;
}

static inline bool set_bound(const char *kbytes)
{
	return write_file(BOUND, kbytes, strlen(kbytes));
}

/* Have the kernel evict all tables, used or not. */
static inline bool evict_all_tables(void)
{
	FILE *file = fopen(BOUND, "r");
	char bound[32];
	bool known = file && fgets(bound, sizeof(bound), file);

	if (file)
		fclose(file);
	return known && set_bound("0") && set_bound(bound);
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
			.e_phnum = 5,
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
static keep bool write_lying_object(int fd, const struct lying_object *headers,
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
	return !fstat(fd, &map->st) && map_part(map, 0, PROT_READ, fd) &&
	       map_part(map, PAGE, PROT_READ | PROT_EXEC, fd) &&
	       map_part(map, 2 * PAGE, PROT_READ, fd);
}

/* Open the event of @map in this process. */
static inline bool watch_map(struct lying_map *map)
{
	/* The kernel must not look before all parts are mapped. */
	return !open_faults(&map->perf, 0) && !ioctl(map->perf.fd, PERF_EVENT_IOC_DISABLE, 0);
}

static inline bool prepare_map(struct lying_map *map)
{
	map->area = mmap(NULL, 5 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map->area == MAP_FAILED)
		return false;
	map->fault = map->area + 4 * PAGE;
	return !mprotect(map->fault, PAGE, PROT_READ | PROT_WRITE) && watch_map(map);
}

/* Have the events sample the next access to the page that faults. */
static inline void watch_fault(struct lying_map *map)
{
	madvise(map->fault, PAGE, MADV_DONTNEED);
	unwind_perf_drain(&map->perf);
	ioctl(map->perf.fd, PERF_EVENT_IOC_ENABLE, 0);
}

/* Run the code, and return whether the stack has the return address @ip that the table finds. */
static keep int leads_to(struct lying_map *map, unsigned long ip)
{
	lying_function *function = (lying_function *)(map->area + PAGE + map->at);

	watch_fault(map);
	function(map->fault, ip);
	ioctl(map->perf.fd, PERF_EVENT_IOC_DISABLE, 0);
	if (!unwind_perf_stack_at(&map->perf, (uintptr_t)function + LYING_FAULT, &map->record))
		return -1;
	return map->record.nr > 1 && map->record.ips[1] == ip;
}

/* Run the code, and return whether the kernel used the table. */
static inline int believes_in(struct lying_map *map)
{
	return leads_to(map, POISON);
}

/* Print what was sampled, and what the kernel knows of files, when it has not looked. */
static inline void print_no_look(unsigned int runs, unsigned int sampled)
{
	FILE *files = fopen(DEBUG_FILES, "r");
	char line[256];

	printf("# no look within %u seconds: %u runs, %u sampled; unwind/files:\n",
	       PATIENCE_SECONDS, runs, sampled);
	while (files && fgets(line, sizeof(line), files))
		printf("# %s", line);
	if (files)
		fclose(files);
}

/* Run the code until the kernel knows its file, and return whether it uses the table then. */
static keep int comes_to_believe_in(struct lying_map *map)
{
	unsigned int runs = 0, sampled = 0;
	time_t end = 0;
	int answer;

	/* The first run has the kernel look at a file that has changed. */
	do {
		sampled += believes_in(map) >= 0;
		runs++;
	} while (!is_decided(&map->st) && !is_over(&end));
	if (!is_decided(&map->st)) {
		print_no_look(runs, sampled);
		return -2;
	}
	answer = believes_in(map);
	for (int i = 0; i < 2; i++)
		if (believes_in(map) != answer)
			return -3;
	return answer;
}

#endif /* _LYING_OBJECT_H */
