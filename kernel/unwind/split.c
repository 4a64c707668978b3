// SPDX-License-Identifier: GPL-2.0
/*
 * Split tables: SFrame tables in separate files, for objects that carry no table.
 *
 * Distributions build programs without SFrame tables.  "sframe cache" or a package makes
 * tables from their .eh_frame.  Root sets a list of directories in the sysctl
 * kernel.unwind_table_path, and the kernel finds an object's table below them by the
 * object's build-id.  An empty path turns split tables off.
 *
 * A kernel that opens files by path has to say whose path it is.  A worker opens split
 * tables as firmware is opened: in the mount namespace of init.  The kernel uses a file only
 * if the machine's root owns it and nobody else may write it, and checks its content like
 * that of any table.  The file has to name the build-id and the executable segments of the
 * object.
 *
 * An object chooses its own build-id, so a build-id proves nothing.  If others than root may
 * have written the object, its .eh_frame has to have the SHA-256 of the .eh_frame that the
 * table was made from.
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
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysctl.h>
#include <linux/uidgid.h>
#include <linux/user_namespace.h>

#include <crypto/sha2.h>

#include <uapi/linux/sframe_file.h>

#include "segment.h"
#include "split.h"

#define SPLIT_MAX_PATH	256
/* Maximum size of a .eh_frame that is hashed.  Debian's largest program has 20 MiB. */
#define SPLIT_MAX_EH_FRAME	SZ_128M
/* Number of bytes of .eh_frame that are read at a time */
#define SPLIT_READ_AT_ONCE	SZ_64K

/* Protects split_path. */
static DEFINE_MUTEX(split_lock);
static char split_path[SPLIT_MAX_PATH] = CONFIG_UNWIND_TABLE_PATH;

static_assert(sizeof(CONFIG_UNWIND_TABLE_PATH) <= SPLIT_MAX_PATH);
static_assert(sizeof(struct sframe_file) <= SFRAME_FILE_TABLE);

/* Whether nobody but the machine's root can have written @file. */
static bool split_is_trusted(const struct file *file)
{
	const struct inode *inode = file_inode(file);

	return S_ISREG(inode->i_mode) && uid_eq(inode->i_uid, GLOBAL_ROOT_UID) &&
	       !(inode->i_mode & 0022) && inode->i_sb->s_user_ns == &init_user_ns;
}

/* Open @name below @directory, in the mount namespace and root directory of init. */
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
	/* O_NONBLOCK: do not wait for the other end of a FIFO. */
	file = file_open_root(&root, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_LARGEFILE, 0);
	path_put(&root);
	kfree(path);
	if (IS_ERR(file) || split_is_trusted(file))
		return file;
	fput(file);
	return ERR_PTR(-EPERM);
}

/*
 * Open @name in the first directory of the path that has it.  An error there is final: later
 * directories are not tried.
 */
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

static int split_hash(struct file *object, u64 from, u64 len, u8 *digest)
{
	struct sha256_state state;
	void *buffer;
	int ret = 0;

	buffer = kmalloc(SPLIT_READ_AT_ONCE, UNWIND_GFP_PROFILED);
	if (!buffer)
		return -ENOMEM;
	sha256_init(&state);
	while (len && !ret) {
		unsigned int nr = min(len, SPLIT_READ_AT_ONCE);

		ret = unwind_file_read(object, buffer, from, nr);
		if (!ret)
			sha256_update(&state, buffer, nr);
		from += nr;
		len -= nr;
	}
	sha256_final(&state, digest);
	kfree(buffer);
	return ret;
}

/* Check that the table was made from the .eh_frame of @object.  Returns 0 or an error. */
static int split_check_eh_frame(struct file *object, const struct sframe_file *header)
{
	u64 from = header->eh_frame_offset, len = header->eh_frame_size;
	u64 size = i_size_read(file_inode(object));
	u8 digest[SHA256_DIGEST_SIZE];
	int ret;

	if (split_is_trusted(object))
		return 0;
	if (len > SPLIT_MAX_EH_FRAME)
		return -E2BIG;
	if (from > size || size - from < len)
		return -EBADMSG;
	ret = split_hash(object, from, len, digest);
	if (!ret && memcmp(digest, header->eh_frame_sha256, sizeof(digest)))
		ret = -EBADMSG;
	return ret;
}

static int split_check(const struct sframe_file *header, const u8 *id, u32 id_size)
{
	if (memcmp(header->magic, SFRAME_FILE_MAGIC, sizeof(header->magic)))
		return -EBADMSG;
	if (header->version != SFRAME_FILE_VERSION ||
	    header->flags & ~SFRAME_FILE_PRIVATE_RULES)
		return -EOPNOTSUPP;
	if (header->num_text > SFRAME_FILE_MAX_TEXT || header->build_id_size != id_size ||
	    memcmp(header->build_id, id, id_size))
		return -EBADMSG;
	return 0;
}

static int split_read(struct unwind_place *place, struct file *object, const u8 *id,
		      u32 id_size, const struct elf64_phdr *phdrs, unsigned int nr_phdrs)
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
	if (!ret)
		ret = split_check_eh_frame(object, header);
	place->offset = header->table_offset;
	place->size = header->table_size;
	place->vaddr = header->table_vaddr;
	place->private_rules = header->flags & SFRAME_FILE_PRIVATE_RULES;
	kfree(header);
	return ret;
}

/**
 * unwind_split_find() - find the split table of an object
 * @object: The object.
 * @phdrs: Program headers of @object.
 * @nr_phdrs: Number of @phdrs.
 * @place: Set to where the table is, with a reference on its file.
 *
 * Context: Process context, may sleep for the file systems of the object, of the table and
 * of the path to the table.
 * Return: 0; -ENOENT if there is no split table; -EPERM if others than root may have written
 * the table; -EBADMSG if the table is damaged or belongs to another object; -E2BIG if the
 * object's .eh_frame is too large to hash; -EOPNOTSUPP for an unknown version or flag of the
 * table; -ENOMEM; errors of opening and reading files.
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
	ret = split_read(place, object, id, size, phdrs, nr_phdrs);
	if (ret)
		fput(place->file);
	return ret;
}

/*
 * Any write, even of the same path, makes the kernel look again for tables that it has not
 * found.
 */
static int split_path_sysctl(const struct ctl_table *table, int write, void *buffer,
			     size_t *len, loff_t *pos)
{
	int ret;

	scoped_guard(mutex, &split_lock)
		ret = proc_dostring(table, write, buffer, len, pos);
	if (write && !ret)
		unwind_tables_look_again();
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
