// SPDX-License-Identifier: GPL-2.0
/*
 * Tables of objects that carry none, in files of their own, as debugging information is.
 *
 * Distributions build programs without tables, and programs that run already cannot be
 * given any.  "sframe cache" makes tables of what they have instead, or a package brings
 * them; the kernel finds that of an object by its build-id, below directories that root
 * names: the sysctl kernel.unwind_table_path.  An empty path turns this off.
 *
 * A path is the usual objection to reading files in the kernel.  So the files are opened
 * as firmware is: by a worker, in the mount namespace of init.  Only a file that root of
 * the machine owns and nobody else may write is taken, and what it says is checked like
 * any table.  It has to name the build-id and the executable segments of the object.
 */

#include <linux/buildid.h>
#include <linux/elf.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/fs_struct.h>
#include <linux/init.h>
#include <linux/init_task.h>
#include <linux/mutex.h>
#include <linux/namei.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysctl.h>
#include <linux/uidgid.h>
#include <linux/user_namespace.h>

#include <uapi/linux/sframe_file.h>

#include "file.h"
#include "split.h"

#define SPLIT_MAX_PATH	256

/* Protects the path. */
static DEFINE_MUTEX(split_lock);
static char split_path[SPLIT_MAX_PATH] = CONFIG_UNWIND_TABLE_PATH;

static_assert(sizeof(CONFIG_UNWIND_TABLE_PATH) <= SPLIT_MAX_PATH);
static_assert(sizeof(struct sframe_file) <= SFRAME_FILE_TABLE);

/* Whether nobody but the machine's root can have written what @file says. */
static bool split_is_trusted(const struct file *file)
{
	const struct inode *inode = file_inode(file);

	return S_ISREG(inode->i_mode) && uid_eq(inode->i_uid, GLOBAL_ROOT_UID) &&
	       !(inode->i_mode & 0022) && inode->i_sb->s_user_ns == &init_user_ns;
}

/* Open @name below @directory, as of init. */
static struct file *split_open_at(const char *directory, const char *name)
{
	struct file *file;
	struct path root;
	char *path;

	path = kasprintf(GFP_KERNEL, "%s/%s", directory, name);
	if (!path)
		return ERR_PTR(-ENOMEM);
	task_lock(&init_task);
	get_fs_root(init_task.fs, &root);
	task_unlock(&init_task);
	/* Not to wait for whoever has a FIFO's other end. */
	file = file_open_root(&root, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_LARGEFILE, 0);
	path_put(&root);
	kfree(path);
	if (IS_ERR(file) || split_is_trusted(file))
		return file;
	fput(file);
	return ERR_PTR(-EPERM);
}

/* The first directory that has @name is the one that counts. */
static struct file *split_open(const char *name)
{
	struct file *file = ERR_PTR(-ENOENT);
	char path[SPLIT_MAX_PATH], *rest = path, *directory;

	scoped_guard(mutex, &split_lock)
		strscpy(path, split_path);
	while (PTR_ERR_OR_ZERO(file) == -ENOENT && (directory = strsep(&rest, ":")))
		if (*directory == '/')
			file = split_open_at(directory, name);
	return file;
}

/* Whether @header names the executable segments of the object. */
static bool split_is_of(const struct sframe_file *header, const struct elf64_phdr *phdrs,
			unsigned int nr_phdrs)
{
	unsigned int i, nr = 0;

	for (i = 0; i < nr_phdrs; i++) {
		if (phdrs[i].p_type != PT_LOAD || !(phdrs[i].p_flags & PF_X) ||
		    !phdrs[i].p_memsz)
			continue;
		if (nr == header->num_text || header->text[nr].vaddr != phdrs[i].p_vaddr ||
		    header->text[nr].size != phdrs[i].p_memsz)
			return false;
		nr++;
	}
	return nr == header->num_text;
}

static int split_check(const struct sframe_file *header, const u8 *id, u32 id_size)
{
	if (memcmp(header->magic, SFRAME_FILE_MAGIC, sizeof(header->magic)))
		return -EBADMSG;
	if (header->version != SFRAME_FILE_VERSION)
		return -EOPNOTSUPP;
	if (header->num_text > SFRAME_FILE_MAX_TEXT || header->build_id_size != id_size ||
	    memcmp(header->build_id, id, id_size))
		return -EBADMSG;
	return 0;
}

static int split_read(struct unwind_place *place, const u8 *id, u32 id_size,
		      const struct elf64_phdr *phdrs, unsigned int nr_phdrs)
{
	struct sframe_file *header;
	int ret = -ENOMEM;

	header = kzalloc(sizeof(*header), GFP_KERNEL);
	if (!header)
		return ret;
	ret = unwind_file_read(place->file, header, 0, sizeof(*header));
	if (!ret)
		ret = split_check(header, id, id_size);
	if (!ret && !split_is_of(header, phdrs, nr_phdrs))
		ret = -EBADMSG;
	place->offset = header->table_offset;
	place->size = header->table_size;
	place->vaddr = header->table_vaddr;
	kfree(header);
	return ret;
}

/**
 * unwind_split_find() - find the split table of an object
 * @object: The object.
 * @phdrs: Its program headers ...
 * @nr_phdrs: ... and their number.
 * @place: Set to where the table is, with a reference on its file.
 *
 * Context: Process context, may sleep, on the files and on the path to them.
 * Return: 0; -ENOENT where there is none; -EPERM where others than root may have written
 * it; -EBADMSG for one that is damaged or of another object; -EOPNOTSUPP, -ENOMEM, and as
 * opening and reading files.
 */
int unwind_split_find(struct file *object, const struct elf64_phdr *phdrs,
		      unsigned int nr_phdrs, struct unwind_place *place)
{
	char name[2 * BUILD_ID_SIZE_MAX + sizeof("/.v3")], *at = name;
	u8 id[BUILD_ID_SIZE_MAX];
	u32 size;
	int ret;

	if (build_id_parse_file(object, id, &size) || size < 2)
		return -ENOENT;
	at = bin2hex(at, id, 1);
	*at++ = '/';
	at = bin2hex(at, id + 1, size - 1);
	memcpy(at, ".v3", sizeof(".v3"));
	place->file = split_open(name);
	if (IS_ERR(place->file))
		return PTR_ERR(place->file);
	ret = split_read(place, id, size, phdrs, nr_phdrs);
	if (ret)
		fput(place->file);
	return ret;
}

/* Who writes the path, be it the same, has what was not found looked for again. */
static int split_path_sysctl(const struct ctl_table *table, int write, void *buffer,
			     size_t *len, loff_t *pos)
{
	int ret;

	scoped_guard(mutex, &split_lock)
		ret = proc_dostring(table, write, buffer, len, pos);
	if (write && !ret)
		unwind_files_look_again();
	return ret;
}

static struct ctl_table split_sysctls[] = {
	{
		.procname	= "unwind_table_path",
		.data		= split_path,
		.maxlen		= sizeof(split_path),
		.mode		= 0644,
		.proc_handler	= split_path_sysctl,
	},
};

static int __init split_init(void)
{
	register_sysctl_init("kernel", split_sysctls);
	return 0;
}
late_initcall(split_init);
