// SPDX-License-Identifier: GPL-2.0
/* Reads the table that an object carries in PT_GNU_SFRAME. */
#include <errno.h>
#include <libelf.h>

#include <linux/err.h>
#include <linux/gfp_types.h>

#include "table.h"
#include "table/own.h"

/* Return what the kernel finds wrong with a table. */
static const char *ask_kernel(const struct object *obj, const struct table *table)
{
	bool any = false;

	for (u32 i = 0; i < obj->num_text; i++) {
		const struct sframe_file_text *text = &obj->text[i];
		struct unwind_table_source source = {
			.bytes = table->start,
			.len = table->size,
			.start = table->vaddr,
			.text_start = text->vaddr,
			.text_end = text->vaddr + text->size,
		};
		struct unwind_table *built = unwind_table_build(&source, 0, GFP_KERNEL);

		if (!IS_ERR(built)) {
			unwind_table_free(built);
			any = true;
			continue;
		}
		switch (PTR_ERR(built)) {
		case -ENOENT:
			break;
		case -EOPNOTSUPP:
			return "it has a form that the kernel does not read";
		case -E2BIG:
			return "it exceeds the kernel's limits";
		default:
			return "the kernel takes it for damaged";
		}
	}
	return any ? NULL : "it describes no function of the object";
}

/**
 * own_read() - read the table that an object carries
 * @obj:	The object, which has one.
 * @table:	Filled in; valid as long as the object is open.
 *
 * Return: NULL, or why the kernel does not read it.
 */
const char *own_read(const struct object *obj, struct table *table)
{
	const struct own_table *own = &obj->own;
	Elf_Data *data = NULL;
	const char *error;

	if (own->size > OBJECT_MAX_CFI)
		return "it is larger than any program's";
	if (own->size && own->offset <= obj->file_size &&
	    own->size <= obj->file_size - own->offset)
		data = elf_getdata_rawchunk(obj->elf, own->offset, own->size, ELF_T_BYTE);
	if (!data || !data->d_buf)
		return "it lies beyond the end of the file";
	error = table_open(table, data->d_buf, data->d_size, own->vaddr);
	if (!error)
		error = table_check(table);
	return error ?: ask_kernel(obj, table);
}

static bool can_describe(const struct cfi *cfi, const struct function *function)
{
	if (function->cause)
		return false;
	for (u32 i = 0; i < function->num_rows; i++)
		if (row_cause(&cfi->rows[function->first_row + i], FORMAT_DEFAULT,
			      function->signal))
			return false;
	return true;
}

static bool has_row(const struct table *table, u64 pc)
{
	struct marks marks;
	struct row row;

	return !table_find(table, pc, &row, &marks);
}

/**
 * own_compare() - find out how many functions a table describes
 * @table:	The table.
 * @cfi:	What .eh_frame describes.
 * @coverage:	Filled in.
 *
 * A function counts as covered if its first and its last byte have rows.
 */
void own_compare(const struct table *table, const struct cfi *cfi, struct coverage *coverage)
{
	*coverage = (struct coverage){ };
	for (size_t i = 0; i < cfi->num_functions; i++) {
		const struct function *function = &cfi->functions[i];

		if (!can_describe(cfi, function))
			continue;
		coverage->functions++;
		coverage->covered += has_row(table, function->start) &&
				     has_row(table, function->start + function->size - 1);
	}
}
