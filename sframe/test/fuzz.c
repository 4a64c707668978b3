// SPDX-License-Identifier: GPL-2.0
/*
 * A libFuzzer target: takes a file of any kind through all steps from opening it to reading its
 * table back.
 *
 * A file that begins as a table file is read as one; any other file is read as a program.  Its
 * table in both formats has to hold what was planned, by the tool's reader and, if libdw is
 * quick enough, by the kernel's.  On damaged files, rows may differ from libdw's reading; that
 * is not a failure.  A table that differs from its plan is one.
 */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/complain.h"
#include "cfi/read.h"
#include "check/compare.h"
#include "table/file.h"
#include "table/own.h"
#include "table/uncovered.h"

/* libdw runs a function's instructions again for each of its rows. */
#define MAX_COMPARED_ROWS	300
#define MAX_COMPARED_BYTES	0x100000

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);
size_t LLVMFuzzerCustomMutator(u8 *data, size_t size, size_t max, unsigned int seed);
size_t LLVMFuzzerMutate(u8 *data, size_t size, size_t max);

/* Print nothing: most files here are damaged. */
int complain(const char *name, const char *format, ...)
{
	(void)name;
	(void)format;
	return EXIT_FAILED;
}

static void must(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "does not hold: %s\n", what);
	abort();
}

/* Write the input to a file that the tool can open; all inputs use the same file. */
static const char *put_file(const u8 *data, size_t size)
{
	static char name[32];
	static int fd = -1;

	if (fd < 0) {
		fd = memfd_create("input", MFD_CLOEXEC);
		snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	}
	must(fd >= 0 && !ftruncate(fd, 0) &&
	     pwrite(fd, data, size, 0) == (ssize_t)size, "the input is in a file");
	return name;
}

static void read_entry_back(const struct plan *plan, const struct entry *want,
			    struct entry_reader *got)
{
	struct row row;

	must(got->start == want->start && got->size == want->size &&
	     got->num_rows == want->num_rows && got->repeat == want->repeat,
	     "a function is read back as it was planned");
	for (u32 i = 0; i < want->num_rows; i++) {
		const struct row *planned = &plan->rows[want->first_row + i];

		must(table_next_row(got, &row) == 1 &&
		     row_equal(&row, planned) && row.start == planned->start,
		     "a row is read back as it was planned");
	}
	must(!table_next_row(got, &row), "no row follows the last");
}

static void count_text(const struct object *obj, const struct table *table)
{
	struct uncovered uncovered;

	uncovered_count(obj, table, &uncovered);
	must(uncovered.bytes <= uncovered.text && uncovered.framed <= uncovered.bytes,
	     "a part of the text is not more than all");
}

static void make_and_read_back(const struct object *obj, const struct cfi *cfi,
			       enum format format)
{
	struct entry_reader entry;
	struct image image;
	struct table table;
	struct plan plan;

	plan_make(&plan, cfi, format, plan_vaddr(obj));
	must(image_make(&image, &plan), "a small file's table is not too large");
	must(!table_open(&table, image.bytes, image.size, image.vaddr) &&
	     table.num_entries == plan.num_entries, "the table can be opened");
	for (size_t i = 0; i < plan.num_entries; i++) {
		must(table_entry(&table, i, &entry), "a function can be read");
		must(!i || plan.entries[i - 1].start + plan.entries[i - 1].size <=
		     plan.entries[i].start, "functions are sorted");
		read_entry_back(&plan, &plan.entries[i], &entry);
	}
	count_text(obj, &table);
	image_free(&image);
	plan_free(&plan);
}

/*
 * libdw has no limits of time or memory, and may choose another one of several entries for an
 * address.  sframe check runs it in a process with limits; here it gets only files that the
 * tool has read completely.
 */
static bool is_quick_to_compare(const struct cfi *cfi)
{
	u64 bytes = 0;

	if (cfi->num_rows > MAX_COMPARED_ROWS || cfi->empty)
		return false;
	for (size_t i = 0; i < cfi->num_functions; i++) {
		if (cfi->functions[i].cause)
			return false;
		bytes += cfi->functions[i].size;
	}
	return bytes < MAX_COMPARED_BYTES;
}

static void test_program(const char *name)
{
	struct check_options options = { .asked = { true, true }, .code = true };
	struct cfi cfi = { };
	struct coverage coverage;
	struct report report;
	struct object obj;
	struct table own;
	bool quick = false;

	if (object_open(&obj, name) == OBJECT_OK && cfi_read(&obj, &cfi)) {
		make_and_read_back(&obj, &cfi, FORMAT_V2);
		make_and_read_back(&obj, &cfi, FORMAT_V3);
		quick = is_quick_to_compare(&cfi);
	}
	if (obj.own.present && !own_read(&obj, &own)) {
		own_compare(&own, &cfi, &coverage);
		count_text(&obj, &own);
	}
	cfi_free(&cfi);
	object_close(&obj);
	if (quick)
		check_file(name, &options, &report);
}

static void test_table_file(const char *name)
{
	struct entry_reader entry;
	struct sframe_file head;
	struct marks marks;
	struct table table;
	struct row row;
	u8 *bytes;

	if (!file_read(name, &head, &bytes) &&
	    !table_open(&table, bytes, head.table_size, head.table_vaddr)) {
		table_check(&table);
		for (u32 i = 0; i < table.num_entries; i++) {
			if (!table_entry(&table, i, &entry))
				continue;
			if (i < 16)
				table_find(&table, entry.start, &row, &marks);
			for (int n = 0; n < 64 && table_next_row(&entry, &row) > 0; n++)
				;
		}
	}
	free(bytes);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	const char *name = put_file(data, size);

	if (size >= 8 && !memcmp(data, SFRAME_FILE_MAGIC, 8))
		test_table_file(name);
	else
		test_program(name);
	return 0;
}

/* Find the offset and size of an unwind section; sets the size to 0 if there is none. */
static void find_unwind_data(const u8 *data, size_t size, u64 *offset, u64 *length)
{
	Elf64_Shdr names, shdr;
	Elf64_Ehdr ehdr;

	*length = 0;
	if (size < sizeof(ehdr))
		return;
	memcpy(&ehdr, data, sizeof(ehdr));
	if (ehdr.e_shoff >= size ||
	    ehdr.e_shnum > (size - ehdr.e_shoff) / sizeof(shdr) ||
	    ehdr.e_shstrndx >= ehdr.e_shnum)
		return;
	memcpy(&names, data + ehdr.e_shoff + ehdr.e_shstrndx * sizeof(shdr), sizeof(names));
	for (int i = 0; i < ehdr.e_shnum && !*length; i++) {
		u64 name;

		memcpy(&shdr, data + ehdr.e_shoff + i * sizeof(shdr), sizeof(shdr));
		name = names.sh_offset + shdr.sh_name;
		if (name < size - 10 && shdr.sh_offset < size &&
		    shdr.sh_size <= size - shdr.sh_offset &&
		    (!memcmp(data + name, ".eh_frame", 10) ||
		     !memcmp(data + name, ".debug_fra", 10))) {
			*offset = shdr.sh_offset;
			*length = shdr.sh_size;
		}
	}
}

/* Put half of the mutations into the unwind section, which the tool reads most. */
size_t LLVMFuzzerCustomMutator(u8 *data, size_t size, size_t max, unsigned int seed)
{
	u64 offset, length, skip;

	find_unwind_data(data, size, &offset, &length);
	if (seed % 2 || !length)
		return LLVMFuzzerMutate(data, size, max);
	/* Mutate a window of fixed size, so that later entries keep their offsets. */
	skip = seed / 2 % length;
	length -= skip;
	if (length > 64)
		length = 64;
	LLVMFuzzerMutate(data + offset + skip, length, length);
	return size;
}
