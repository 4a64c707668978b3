// SPDX-License-Identifier: GPL-2.0
/*
 * Maps the table of an object from the cache.
 *
 * The mapped table is never read here: the kernel reads it, and copes with a
 * file that has become shorter.  It does not read it before a profiler wants it
 * to, so what can be told of a table without a page fault is looked at here.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "audit.h"
#include "sframe_format.h"
#include "trust.h"

#define MAX_TABLE	0x100000000UL

/* Where a copy may go, in steps away from the table's own place. */
#define COPY_STEP	0x4000000UL
#define COPY_TRIES	8

/* What one read() gets of a file. */
struct start {
	struct sframe_file	file;
	u8			zeros[SFRAME_FILE_TABLE -
				      sizeof(struct sframe_file)];
	struct sframe_header	table;
};

static char *put_hex(char *to, const u8 *from, u32 count)
{
	static const char digits[] = "0123456789abcdef";

	for (u32 i = 0; i < count; i++) {
		*to++ = digits[from[i] >> 4];
		*to++ = digits[from[i] & 15];
	}
	return to;
}

/* DIR/xx/xxxx.v3 */
static void make_name(char *to, const char *dir, const struct loaded *obj)
{
	while (*dir)
		*to++ = *dir++;
	*to++ = '/';
	to = put_hex(to, obj->id, 1);
	*to++ = '/';
	to = put_hex(to, obj->id + 1, obj->id_size - 1);
	*to++ = '.';
	*to++ = 'v';
	*to++ = '0' + SFRAME_FILE_FORMAT;
	*to = '\0';
}

static bool is_for(const struct sframe_file *head, const struct loaded *obj)
{
	if (*(const u64 *)head->magic != *(const u64 *)SFRAME_FILE_MAGIC ||
	    head->version != SFRAME_FILE_VERSION ||
	    head->format != SFRAME_FILE_FORMAT ||
	    head->build_id_size != obj->id_size)
		return false;
	for (u32 i = 0; i < obj->id_size; i++)
		if (head->build_id[i] != obj->id[i])
			return false;
	return true;
}

static bool is_whole(const struct start *start, u64 file_size)
{
	const struct sframe_file *head = &start->file;

	return start->table.preamble.magic == SFRAME_MAGIC &&
	       start->table.preamble.version == SFRAME_FILE_FORMAT &&
	       head->table_offset == SFRAME_FILE_TABLE &&
	       head->table_size && head->table_size < MAX_TABLE &&
	       head->table_size <= file_size - SFRAME_FILE_TABLE;
}

static long map_at(u64 start, u64 size, int prot, int flags, long fd,
		   u64 offset)
{
	long got = sys6(SYS_mmap, start, size, prot,
			flags | MAP_FIXED_NOREPLACE, fd, offset);

	/* Linux before 4.17 takes the address for a hint. */
	if (is_error(got) || got == start)
		return got;
	sys4(SYS_munmap, got, size, 0, 0);
	return -1;
}

/* Function starts count from the table, which is @distance above its place. */
static bool move_functions(u8 *table, u64 size, s64 distance)
{
	struct sframe_header *header = (void *)table;
	struct sframe_v3_fde *fde;
	u64 start;

	if (size < sizeof(*header) || header->preamble.magic != SFRAME_MAGIC ||
	    header->preamble.version != SFRAME_FILE_FORMAT)
		return false;
	start = sizeof(*header) + header->auxhdr_len + (u64)header->fdeoff;
	if (start > size || header->num_fdes > (size - start) / sizeof(*fde))
		return false;
	fde = (void *)(table + start);
	for (u32 i = 0; i < header->num_fdes; i++)
		fde[i].func_start += distance;
	return true;
}

static bool read_table(long fd, const struct sframe_file *head, u64 start)
{
	u64 done = 0;

	while (done < head->table_size) {
		long got = sys4(SYS_pread64, fd, start + done,
				head->table_size - done,
				head->table_offset + done);

		if (got <= 0)
			return false;
		done += got;
	}
	return true;
}

static bool copy_to(long fd, const struct sframe_file *head, u64 want,
		    u64 start)
{
	long at = map_at(start, head->table_size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (is_error(at))
		return false;
	if (read_table(fd, head, start) &&
	    move_functions((u8 *)start, head->table_size, want - start) &&
	    !sys4(SYS_mprotect, start, head->table_size, PROT_READ, 0))
		return true;
	sys4(SYS_munmap, start, head->table_size, 0, 0);
	return false;
}

/* The table's place is taken: put a copy near to it. */
static u64 copy_near(long fd, const struct sframe_file *head, u64 want)
{
	u64 page = want & -AUDIT_PAGE;

	for (u64 i = 1; i <= COPY_TRIES; i++) {
		if (copy_to(fd, head, want, page - i * COPY_STEP))
			return page - i * COPY_STEP;
		if (copy_to(fd, head, want, page + i * COPY_STEP))
			return page + i * COPY_STEP;
	}
	return 0;
}

static struct place map_file(long fd, const struct loaded *obj)
{
	struct place place = { };
	const struct sframe_file *head;
	struct start start;
	struct stat st;
	long at;
	u64 want;

	if (sys4(SYS_newfstatat, fd, (u64)"", (u64)&st, AT_EMPTY_PATH) ||
	    !is_trusted(&st, audit.uid) ||
	    sys4(SYS_read, fd, (u64)&start, sizeof(start), 0) != sizeof(start) ||
	    !is_for(&start.file, obj) || !is_whole(&start, st.st_size))
		return place;
	head = &start.file;
	want = head->table_vaddr + obj->bias;
	at = map_at(want, head->table_size, PROT_READ, MAP_SHARED, fd,
		    head->table_offset);
	place.start = is_error(at) ? copy_near(fd, head, want) : want;
	if (place.start)
		place.size = head->table_size;
	return place;
}

/**
 * table_map() - map an object's table
 * @obj:	The object.
 *
 * Return: where it is; of size 0 if there is none to be trusted.
 */
struct place table_map(const struct loaded *obj)
{
	struct place place = { };
	char name[AUDIT_MAX_NAME];

	for (u32 i = 0; obj->id_size && i < audit.num_dirs && !place.size; i++) {
		long fd;

		make_name(name, audit.dirs[i], obj);
		fd = sys4(SYS_openat, AT_FDCWD, (u64)name,
			  O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
		if (is_error(fd))
			continue;
		place = map_file(fd, obj);
		sys4(SYS_close, fd, 0, 0, 0);
	}
	return place;
}

void table_unmap(const struct place *place)
{
	sys4(SYS_munmap, place->start, place->size, 0, 0);
}
