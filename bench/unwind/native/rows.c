// SPDX-License-Identifier: GPL-2.0
/* The kernel's walk: its mappings, and the tables of its files. */
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stand_in.h"

#include <linux/err.h>
#include <linux/sframe_file.h>
#include <linux/unwind_user.h>

#include "sframe.h"
#include "stats.h"

#define MAX_TABLES	256

/* A mapping of code, and the table that covers it from @offset on */
static struct table {
	unsigned long			start, size, offset;
	const struct unwind_table	*rows;
} tables[MAX_TABLES];
static unsigned int nr_tables;

static struct mm_struct the_mm;
struct task_struct the_task = { &the_mm };
struct vdso_image vdso_image_64;
unsigned long jiffies;

struct vm_area_struct *mtree_load(struct maple_tree *tree, unsigned long addr)
{
	unsigned int low = 0, high = tree->nr;

	while (low < high) {
		unsigned int middle = (low + high) / 2;

		if (addr < tree->areas[middle].vm_start)
			high = middle;
		else if (addr >= tree->areas[middle].vm_end)
			low = middle + 1;
		else
			return &tree->areas[middle];
	}
	return NULL;
}

/* No cursor has an object's own table here. */
void sframe_find_own(const struct sframe_found *found, unsigned long at, struct sframe_row *row)
{
}

int sframe_seek(struct sframe_cursor *cursor, unsigned long ip)
{
	unsigned int low = 0, high = nr_tables;

	while (low < high) {
		unsigned int middle = (low + high) / 2;
		const struct table *table = &tables[middle];

		if (ip < table->start) {
			high = middle;
		} else if (ip - table->start >= table->size) {
			low = middle + 1;
		} else {
			cursor->now = cursor->next++ % SFRAME_FOUND;
			cursor->found[cursor->now] = (struct sframe_found){
				table->rows, table->start, table->size, table->offset,
			};
			return 0;
		}
	}
	cursor->gap.start = low ? tables[low - 1].start + tables[low - 1].size : 0;
	cursor->gap.size = (low < nr_tables ? tables[low].start : TASK_SIZE_MAX) -
			   cursor->gap.start;
	return -ENXIO;
}

/* What tools/testing/sframe has for kvmalloc() and kvfree() */
void *test_alloc(size_t size, int zero)
{
	return zero ? calloc(1, size) : malloc(size);
}

void test_free(const void *at)
{
	free((void *)at);
}

void unwind_look(unsigned long at, long *wait)
{
	(void)at;
	(void)wait;
}

void unwind_user_ended(const struct unwind_user_trace *trace, enum unwind_user_access access)
{
	(void)trace;
	(void)access;
}

void rows_open(const struct process *process)
{
	the_mm.mm_mt.areas = calloc(process->nr, sizeof(*the_mm.mm_mt.areas));
	the_mm.mm_mt.nr = process->nr;
	for (unsigned int i = 0; i < process->nr; i++)
		the_mm.mm_mt.areas[i] = (struct vm_area_struct){
			process->mappings[i].start, process->mappings[i].end,
			process->mappings[i].code ? VM_EXEC : 0,
		};
}

/* The whole of a file, mapped; NULL if there is none. */
static const uint8_t *map_file(const char *path, size_t *size)
{
	int fd = open(path, O_RDONLY);
	struct stat status;
	void *at;

	if (fd < 0)
		return NULL;
	at = fstat(fd, &status) || !status.st_size ? MAP_FAILED :
	     mmap(NULL, status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	*size = status.st_size;
	return at == MAP_FAILED ? NULL : at;
}

/* The rows of the executable segment @text of the object at @path, from the file @table */
static struct unwind_table *build(const char *path, const char *table, Elf64_Phdr *text)
{
	size_t size, object_size;
	const uint8_t *bytes = map_file(table, &size), *object = map_file(path, &object_size);
	const struct sframe_file *file = (const void *)bytes;
	const Elf64_Ehdr *header = (const void *)object;
	struct unwind_table_source source = { };
	const Elf64_Phdr *segments;
	struct unwind_table *rows;

	if (!bytes || !object)
		return NULL;
	segments = (const void *)(object + header->e_phoff);
	for (unsigned int i = 0; i < header->e_phnum; i++) {
		if (segments[i].p_type == PT_LOAD && segments[i].p_flags & PF_X) {
			*text = segments[i];
			break;
		}
	}
	source.bytes = bytes + file->table_offset;
	source.len = file->table_size;
	source.start = file->table_vaddr;
	source.text_start = text->p_vaddr;
	source.text_end = text->p_vaddr + text->p_memsz;
	source.private_rules = file->flags & SFRAME_FILE_PRIVATE_RULES;
	rows = unwind_table_build(&source, 1, 0);
	return IS_ERR(rows) ? NULL : rows;
}

static int by_start(const void *a, const void *b)
{
	const struct table *one = a, *other = b;

	return one->start < other->start ? -1 : one->start > other->start;
}

bool rows_add(const struct process *process, const char *path, const char *table)
{
	struct unwind_table *rows;
	Elf64_Phdr text = { };

	rows = build(path, table, &text);
	if (!rows)
		return false;
	for (unsigned int i = 0; i < process->nr; i++) {
		const struct mapping *mapping = &process->mappings[i];

		if (!mapping->code || strcmp(mapping->path, path) || nr_tables == MAX_TABLES ||
		    mapping->offset != (text.p_offset & ~4095ul))
			continue;
		/* A page may begin before its segment. */
		tables[nr_tables++] = (struct table){
			mapping->start + (text.p_offset & 4095),
			min(mapping->end - mapping->start, (unsigned long)rows->text_size), 0, rows,
		};
	}
	qsort(tables, nr_tables, sizeof(*tables), by_start);
	return true;
}

unsigned int rows_walk(const struct stack *stack, uint64_t *ips)
{
	struct unwind_user_trace trace = { .entries = (u64 *)ips, .max = MAX_FRAMES };

	unwind_user(&trace, (struct pt_regs *)&stack->regs, UNWIND_USER_RESIDENT);
	return trace.nr;
}
