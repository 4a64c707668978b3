// SPDX-License-Identifier: GPL-2.0
/*
 * Reads ELF objects, from files or from the kernel's memory.
 *
 * The content is hostile: every offset is checked against the object's size before it is
 * used.  Files are read as the kernel reads build ids, not with kernel_read_file(), which
 * makes writers fail with ETXTBSY.  A file system may take any time to answer, so only a
 * worker that holds no lock may read.
 */

#include <linux/elf.h>
#include <linux/errno.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <linux/string.h>

#include "object.h"

/* Number of bytes to read before offering to reschedule */
#define OBJECT_READ_AT_ONCE	SZ_1M

/**
 * unwind_file_read() - read a part of a file
 * @file: A file that is open for reading.
 * @to: Buffer of at least @len bytes.
 * @from: Offset in the file.
 * @len: Number of bytes to read.
 *
 * Context: Process context, may sleep; no locks held.
 * Return: 0; -EBADMSG if the file ends before @from + @len; -EINVAL for a file that cannot be
 * read like this; other errors of its file system.
 */
int unwind_file_read(struct file *file, void *to, u64 from, u64 len)
{
	if (!S_ISREG(file_inode(file)->i_mode) || !(file->f_mode & FMODE_READ) ||
	    file->f_flags & O_DIRECT || !file->f_op->read_iter || file->f_op->read)
		return -EINVAL;
	while (len) {
		loff_t at = from;
		ssize_t ret;

		ret = __kernel_read(file, to, min_t(u64, len, OBJECT_READ_AT_ONCE), &at);
		if (ret <= 0)
			return ret ? ret : -EBADMSG;
		to += ret;
		from += ret;
		len -= ret;
		cond_resched();
	}
	return 0;
}

/**
 * unwind_object_read() - read a part of an object
 * @object: The object.
 * @to: Buffer of at least @len bytes.
 * @from: Offset in the object.
 * @len: Number of bytes to read.
 *
 * Context: Process context, may sleep; no locks held.
 * Return: 0; -ENOEXEC if the object ends before @from + @len; an error of unwind_file_read().
 */
int unwind_object_read(const struct unwind_object *object, void *to, u64 from, u64 len)
{
	if (from > object->size || object->size - from < len)
		return -ENOEXEC;
	if (object->file)
		return unwind_file_read(object->file, to, from, len);
	memcpy(to, object->image + from, len);
	return 0;
}

/**
 * unwind_object_read_phdrs() - read the program headers of an object
 * @object: The object.
 * @phdrs: Room for UNWIND_MAX_PHDRS headers.
 * @nr: Set to the number of headers.
 *
 * Context: Process context, may sleep; no locks held.
 * Return: 0; -ENOEXEC if @object is no 64-bit ELF object of this architecture, or has too many
 * headers; an error of unwind_object_read().
 */
int unwind_object_read_phdrs(const struct unwind_object *object, struct elf64_phdr *phdrs,
			     unsigned int *nr)
{
	struct elf64_hdr header;
	int ret;

	ret = unwind_object_read(object, &header, 0, sizeof(header));
	if (ret)
		return ret;
	if (memcmp(header.e_ident, ELFMAG, SELFMAG) ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELF_DATA ||
	    !elf_check_arch(&header) ||
	    (header.e_type != ET_DYN && header.e_type != ET_EXEC) ||
	    header.e_phentsize != sizeof(struct elf64_phdr) ||
	    header.e_phnum > UNWIND_MAX_PHDRS)
		return -ENOEXEC;
	*nr = header.e_phnum;
	return unwind_object_read(object, phdrs, header.e_phoff, *nr * sizeof(*phdrs));
}

/**
 * unwind_object_find_table() - find the table that an object carries
 * @object: The object.
 * @phdrs: Its program headers.
 * @nr_phdrs: Number of @phdrs.
 * @place: Set to where the table is, with a reference on its file.  The caller has to check
 *	its offset and size.
 *
 * Context: Any.
 * Return: 0; -ENOENT if the object carries no table.
 */
int unwind_object_find_table(const struct unwind_object *object,
			     const struct elf64_phdr *phdrs, unsigned int nr_phdrs,
			     struct unwind_place *place)
{
	unsigned int i;

	for (i = 0; i < nr_phdrs; i++) {
		if (phdrs[i].p_type != PT_GNU_SFRAME)
			continue;
		*place = (struct unwind_place){
			.file	= object->file ? get_file(object->file) : NULL,
			.offset = phdrs[i].p_offset,
			.size	= phdrs[i].p_filesz,
			.vaddr	= phdrs[i].p_vaddr,
		};
		return 0;
	}
	return -ENOENT;
}
