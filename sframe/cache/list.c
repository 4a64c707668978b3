// SPDX-License-Identifier: GPL-2.0
/* Finds ELF files: those below directories, and those that processes have mapped. */
#include <ctype.h>
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <mntent.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <linux/openat2.h>
#include <linux/types.h>

#include "base/complain.h"
#include "base/grow.h"
#include "base/identity.h"
#include "base/open_regular.h"
#include "base/text.h"
#include "cache/list.h"
#include "cache/mapped.h"

/* Somebody may rename without end. */
#define MAX_TRIES	100
/* As the kernel's limit. */
#define MAX_LINKS	40

static bool is_new(struct file_list *list, struct identity file)
{
	struct identity *id = malloc(sizeof(*id)), **found;

	if (!id)
		return true;
	*id = file;
	found = tsearch(id, &list->seen, compare_identity);
	if (found && *found == id)
		return true;
	free(id);
	return !found;
}

static void list_append(struct file_list *list, const char *name)
{
	char *copy = strdup(name), **names = list->names;

	/* Double the room when the count is a power of two. */
	if (!(list->count & (list->count - 1)))
		names = reallocarray(names, 2 * list->count + 1,
				     sizeof(*names));
	if (!names || !copy) {
		perror("sframe");
		exit(EXIT_FAILURE);
	}
	list->names = names;
	names[list->count++] = copy;
}

/* Report a file that is not added.  Callers need not know why it is missing. */
static void list_tell_error(struct file_list *list, const char *name, int error)
{
	/* The file was deleted meanwhile. */
	if (error == ENOENT || error == ENOTDIR)
		return;
	if (error == EACCES || error == EPERM)
		list->no_right++;
	else
		list->failed++;
	complain(name, "%s; it is passed over", open_error(error));
}

/*
 * Most files are not programs; a worker process for each would cost too much.  By now, the
 * name may mean another file than the one that was found.
 */
static bool is_program(struct file_list *list, const char *name,
		       const struct stat *found, int flags)
{
	Elf64_Ehdr ehdr;
	struct stat st;
	ssize_t got;
	int fd;

	fd = open_regular(name, flags, &st);
	if (fd < 0) {
		if (errno != NOT_REGULAR)
			list_tell_error(list, name, errno);
		return false;
	}
	got = read(fd, &ehdr, sizeof(ehdr));
	if (got < 0)
		list_tell_error(list, name, errno);
	close(fd);
	return st.st_dev == found->st_dev && st.st_ino == found->st_ino &&
	       got == sizeof(ehdr) && !memcmp(ehdr.e_ident, ELFMAG, SELFMAG) &&
	       ehdr.e_ident[EI_CLASS] == ELFCLASS64 &&
	       ehdr.e_machine == EM_X86_64 &&
	       (ehdr.e_type == ET_EXEC || ehdr.e_type == ET_DYN);
}

/* @flags: O_NOFOLLOW unless the name was found to be a link. */
static void add_found(struct file_list *list, const char *name,
		      const struct stat *st, int flags)
{
	if (S_ISREG(st->st_mode) && st->st_size >= (off_t)sizeof(Elf64_Ehdr) &&
	    is_new(list, identity_of(st)) && is_program(list, name, st, flags))
		list_append(list, name);
}

static bool in_other_root(const struct file_list *list)
{
	return list->in_system && list->root && *list->root;
}

/* Open a file below the list's root directory, without a way to follow a link out of it. */
static int open_inside(const struct file_list *list, const char *name)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_BENEATH };
	int fd, tries = 0;

	/* The kernel gives up on ".." if anything is renamed meanwhile. */
	do
		fd = syscall(SYS_openat2, list->root_fd, name, &how, sizeof(how));
	while (fd < 0 && errno == EAGAIN && ++tries < MAX_TRIES);
	return fd;
}

/**
 * list_leads_outside() - whether a name below another root directory leads out of it
 * @list:	The list.
 * @name:	The name, which begins with that of the list's root directory.
 *
 * A link may lead to this system.  Names do not show that: the root directory of a process may
 * be "/" by its link in /proc.  The name is used after this check, so a process that changes
 * links meanwhile can still lead outside.
 *
 * Return: whether it does, or cannot be opened.
 */
bool list_leads_outside(const struct file_list *list, const char *name)
{
	int fd;

	if (!in_other_root(list))
		return false;
	name += strlen(list->root);
	fd = open_inside(list, name + strspn(name, "/"));
	if (fd >= 0)
		close(fd);
	return fd < 0;
}

/* What may be left out. */
enum reason { ANY_REASON, REMOTE };

/* Whether the first @len bytes of @name name what is left out. */
static bool is_left_out(struct file_list *list, const char *name, size_t len,
			enum reason reason)
{
	for (size_t i = 0; i < list->num_left_out; i++) {
		struct left_out *left_out = &list->left_out[i];

		if (strncmp(left_out->dir, name, len) || left_out->dir[len] ||
		    (left_out->excluded ? reason == REMOTE : !list->in_system))
			continue;
		left_out->met = true;
		return true;
	}
	return false;
}

static bool is_below_left_out(struct file_list *list, const char *name)
{
	for (size_t len = 1; len <= strlen(name); len++)
		if ((!name[len] || name[len] == '/') && is_left_out(list, name, len, ANY_REASON))
			return true;
	return false;
}

static void cut_last(char *path)
{
	char *slash = strrchr(path, '/');

	if (slash)
		*slash = '\0';
}

/*
 * Return the real name of @name without asking a server that is left out, or NULL with errno
 * set: EREMOTE if it leads to one.
 */
static char *resolve(struct file_list *list, const char *name)
{
	char path[PATH_MAX] = "", target[PATH_MAX], *rest, *end, *next;
	int links = 0, error = 0;
	ssize_t size;

	if (*name != '/' && !getcwd(path, sizeof(path)))
		return NULL;
	if (!strcmp(path, "/"))
		*path = '\0';
	rest = require_memory(strdup(name));
	for (char *at = rest; !error && *(at += strspn(at, "/")); at = end) {
		size_t len = strlen(path), last = strcspn(at, "/");

		end = at + last;
		if (last == 1 && *at == '.')
			continue;
		if (last == 2 && !strncmp(at, "..", 2)) {
			cut_last(path);
			continue;
		}
		if (len + last + 2 > sizeof(path)) {
			error = ENAMETOOLONG;
			break;
		}
		path[len] = '/';
		memcpy(path + len + 1, at, last);
		path[len + 1 + last] = '\0';
		if (is_left_out(list, path, strlen(path), REMOTE)) {
			error = EREMOTE;
			break;
		}
		size = readlink(path, target, sizeof(target) - 1);
		if (size < 0) {
			error = errno == EINVAL ? 0 : errno;
			continue;
		}
		if (++links > MAX_LINKS) {
			error = ELOOP;
			break;
		}
		target[size] = '\0';
		cut_last(path);
		if (*target == '/')
			*path = '\0';
		next = text_format("%s%s", target, end);
		free(rest);
		rest = next;
		end = next;
	}
	free(rest);
	errno = error;
	return error ? NULL : require_memory(strdup(*path ? path : "/"));
}

/* Return @name, which a walk has come to, below the real name of the walk's top directory. */
static char *real_name(const struct file_list *list, const char *name)
{
	if (!list->real)
		return text_format("%s", name);
	return text_format("%s%s", strcmp(list->real, "/") ? list->real : "",
			   name + list->top_len);
}

static bool is_entry_left_out(struct file_list *list, const char *name)
{
	char *real;
	bool ret;

	if (is_left_out(list, name, strlen(name), ANY_REASON))
		return true;
	if (!list->num_left_out || !list->real)
		return false;
	real = real_name(list, name);
	ret = is_left_out(list, real, strlen(real), ANY_REASON);
	free(real);
	return ret;
}

/* stat() would wait for a server that is down. */
static bool leads_to_remote(struct file_list *list, const char *name)
{
	char *link, *real;
	bool ret;

	if (!list->in_system || !list->num_left_out || in_other_root(list))
		return false;
	link = real_name(list, name);
	real = resolve(list, link);
	ret = !real && errno == EREMOTE;
	free(real);
	free(link);
	return ret;
}

static void add_link(struct file_list *list, const char *name)
{
	struct stat st;

	if (!leads_to_remote(list, name) && !stat(name, &st) && S_ISREG(st.st_mode) &&
	    !list_leads_outside(list, name))
		add_found(list, name, &st, 0);
}

/* How far a directory is walked. */
enum depth { ONE_DIRECTORY, WHOLE_TREE };

static void walk_names(struct file_list *list, const char *dir, enum depth depth);

static void walk_entry(struct file_list *list, const char *name, enum depth depth)
{
	struct stat st;

	/* First, because lstat() would wait for a server that is down. */
	if (is_entry_left_out(list, name))
		return;
	if (lstat(name, &st))
		list_tell_error(list, name, errno);
	else if (S_ISREG(st.st_mode))
		add_found(list, name, &st, O_NOFOLLOW);
	else if (S_ISLNK(st.st_mode))
		add_link(list, name);
	else if (S_ISDIR(st.st_mode) && depth == WHOLE_TREE && is_new(list, identity_of(&st)))
		walk_names(list, name, depth);
}

/* No descriptor stays open: trees may be deeper than there are descriptors. */
static void walk_names(struct file_list *list, const char *dir, enum depth depth)
{
	struct dirent **entries;
	int count = scandir(dir, &entries, NULL, NULL);
	char *name;

	if (count < 0) {
		list_tell_error(list, dir, errno);
		return;
	}
	for (int i = 0; i < count; i++) {
		const char *last = entries[i]->d_name;

		if (strcmp(last, ".") && strcmp(last, "..")) {
			name = text_format("%s/%s", strcmp(dir, "/") ? dir : "", last);
			walk_entry(list, name, depth);
			free(name);
		}
		free(entries[i]);
	}
	free(entries);
}

static void walk_top(struct file_list *list, const char *dir, enum depth depth)
{
	struct stat st;

	if ((list->in_system && list->real && is_below_left_out(list, list->real)) ||
	    list_leads_outside(list, dir))
		return;
	if (stat(dir, &st))
		list_tell_error(list, dir, errno);
	/* Walking one directory does not mark it as seen: only its files were added. */
	else if (S_ISDIR(st.st_mode) && (depth == ONE_DIRECTORY || is_new(list, identity_of(&st))))
		walk_names(list, dir, depth);
}

/* Directories are left out by their real names; a directory may be named by a link, as /lib64. */
static void list_walk(struct file_list *list, const char *name, enum depth depth)
{
	char *dir = require_memory(strdup(name));

	for (size_t len = strlen(dir); len > 1 && dir[len - 1] == '/'; len--)
		dir[len - 1] = '\0';
	if (!list->in_system || !is_below_left_out(list, dir)) {
		errno = 0;
		if (list->num_left_out && !in_other_root(list))
			list->real = resolve(list, dir);
		list->top_len = strcmp(dir, "/") ? strlen(dir) : 0;
		if (list->real || errno != EREMOTE)
			walk_top(list, dir, depth);
		free(list->real);
		list->real = NULL;
	}
	free(dir);
}

static void leave_out(struct file_list *list, char *dir, bool excluded)
{
	list->left_out = require_memory(reallocarray(list->left_out, list->num_left_out + 1,
						     sizeof(*list->left_out)));
	list->left_out[list->num_left_out++] = (struct left_out){
		.dir = require_memory(dir), .excluded = excluded,
	};
}

/**
 * list_exclude() - leave a directory out when directories are walked
 * @list:	The list, with the system's root directory.
 * @dir:	The directory's absolute name in that system.
 */
void list_exclude(struct file_list *list, const char *dir)
{
	char *name = text_format("%s%s", list->root ?: "", dir);

	for (size_t len = strlen(name); len > 1 && name[len - 1] == '/'; len--)
		name[len - 1] = '\0';
	leave_out(list, name, true);
}

/* A server or a user; but not NTFS (fuseblk). */
static bool is_remote(const char *type)
{
	static const char * const types[] = {
		"nfs", "nfs4", "cifs", "smb3", "afs", "ceph", "lustre", "fuse",
	};

	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (!strcmp(type, types[i]))
			return true;
	return !strncmp(type, "fuse.", 5);
}

/* Of file systems mounted on each other, the last one is seen, and nothing below the others. */
static void uncover(struct file_list *list, const char *dir)
{
	size_t len = strlen(dir);

	for (size_t i = 0; i < list->num_left_out; i++) {
		char *name = list->left_out[i].dir;

		if (!list->left_out[i].excluded && !strncmp(name, dir, len) &&
		    (!name[len] || name[len] == '/'))
			*name = '\0';
	}
}

/**
 * list_leave_out_remote() - leave out what servers and users have mounted into the system
 * @list:	The list.
 *
 * For list_add_system().  The mount table says what is where without asking a server.  A whole
 * system may be on one: "/" and "/usr" stay.
 */
void list_leave_out_remote(struct file_list *list)
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	struct mntent *mount;

	while (mounts && (mount = getmntent(mounts))) {
		uncover(list, mount->mnt_dir);
		if (is_remote(mount->mnt_type) && strcmp(mount->mnt_dir, "/") &&
		    strcmp(mount->mnt_dir, "/usr"))
			leave_out(list, strdup(mount->mnt_dir), false);
	}
	if (mounts)
		endmntent(mounts);
}

/**
 * list_set_root() - choose the system that files are looked for in
 * @list:	The list, which is empty.
 * @dir:	The system's root directory; NULL for the running system.
 *
 * Return: EXIT_OK, or EXIT_FAILED after an error message.
 */
int list_set_root(struct file_list *list, const char *dir)
{
	size_t len;
	int fd;

	if (!dir)
		return EXIT_OK;
	list->root = require_memory(strdup(dir));
	/* Names begin with a slash already. */
	for (len = strlen(dir); len && dir[len - 1] == '/'; len--)
		list->root[len - 1] = '\0';
	list->root_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (list->root_fd < 0)
		return complain(dir, "%s; --root takes a directory", strerror(errno));
	fd = open_inside(list, ".");
	if (fd < 0)
		return complain(dir, "its links cannot be followed: %s; use Linux 5.6 or later",
				strerror(errno));
	close(fd);
	return EXIT_OK;
}

/**
 * list_add_tree() - add the x86-64 programs and libraries below a directory
 * @list:	The list.
 * @dir:	The directory.  Links in it are followed to files, but not to
 *		directories.  No directory is walked twice.
 */
void list_add_tree(struct file_list *list, const char *dir)
{
	list_walk(list, dir, WHOLE_TREE);
}

/**
 * list_add_dir() - add the x86-64 programs and libraries in a directory
 * @list:	The list.
 * @dir:	The directory; its subdirectories are left out.
 */
void list_add_dir(struct file_list *list, const char *dir)
{
	list_walk(list, dir, ONE_DIRECTORY);
}

/**
 * list_add_file() - add a file that the user named
 * @list:	The list.
 * @name:	The file; anything but a directory is added.
 */
void list_add_file(struct file_list *list, const char *name)
{
	struct stat st;

	if (stat(name, &st) || (!S_ISDIR(st.st_mode) && is_new(list, identity_of(&st))))
		list_append(list, name);
}

/**
 * list_add_known() - add a file that was found by other means
 * @list:	The list.
 * @name:	The file.
 * @id:		Its device and inode, as stat() shows them; NULL to add it by another name.
 */
void list_add_known(struct file_list *list, const char *name, const struct identity *id)
{
	if (!id || is_new(list, *id))
		list_append(list, name);
}

/**
 * list_add_below() - add what is below a directory that the user named
 * @list:	The list.
 * @name:	The directory; any other file is ignored.
 */
void list_add_below(struct file_list *list, const char *name)
{
	struct stat st;

	if (!stat(name, &st) && S_ISDIR(st.st_mode))
		list_add_tree(list, name);
}

/* A file that a process has mapped. */
struct mapping {
	const char	*path;
	dev_t		device;
	uintmax_t	inode;
};

static bool add_if_mapped(struct file_list *list, const struct mapping *map,
			  const char *name)
{
	struct stat st;

	if (stat(name, &st) || !mapped_is(st.st_dev, st.st_ino, map->device, map->inode))
		return false;
	add_found(list, name, &st, 0);
	return true;
}

/*
 * A process may have another root directory, and its file may have been replaced since.
 * @foreign: do not look for the file below the process's root directory.
 */
static void add_mapped(struct file_list *list, const char *pid, bool foreign,
		       const struct mapping *map)
{
	char *name;

	if (add_if_mapped(list, map, map->path) || foreign ||
	    asprintf(&name, "/proc/%s/root%s", pid, map->path) < 0)
		return;
	add_if_mapped(list, map, name);
	free(name);
}

/* 7f00-7f10 r-xp 00001000 fe:00 1234    /usr/bin/xz */
static bool parse_mapping(char *line, struct mapping *map)
{
	unsigned int major, minor;
	char flags[5];
	int path = 0;

	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line, "%*s %4s %*s %x:%x %" SCNuMAX " %n", flags, &major,
		   &minor, &map->inode, &path) != 4 ||
	    !path || flags[2] != 'x' || line[path] != '/')
		return false;
	map->path = line + path;
	map->device = makedev(major, minor);
	return true;
}

/*
 * The creator of a mount namespace decides which files it shows, and who seems to own them.
 * So root does not trust the files of containers.
 */
static bool is_foreign_process(const char *pid)
{
	struct stat own, other;
	bool foreign;
	char *name;

	if (geteuid())
		return false;
	if (asprintf(&name, "/proc/%s/ns/mnt", pid) < 0)
		return true;
	foreign = stat("/proc/self/ns/mnt", &own) || stat(name, &other) ||
		  own.st_dev != other.st_dev || own.st_ino != other.st_ino;
	free(name);
	return foreign;
}

static void add_process(struct file_list *list, const char *pid)
{
	bool foreign = is_foreign_process(pid);
	char *name, *line = NULL;
	struct mapping map;
	size_t room = 0;
	FILE *maps;

	if (asprintf(&name, "/proc/%s/maps", pid) < 0)
		return;
	maps = fopen(name, "re");
	free(name);
	if (!maps)
		return;
	while (getline(&line, &room, maps) > 0)
		if (parse_mapping(line, &map))
			add_mapped(list, pid, foreign, &map);
	free(line);
	fclose(maps);
}

/**
 * list_add_running() - add what processes have mapped executable
 * @list:	The list.
 *
 * Leaves out processes that the caller may not inspect.  Reports a missing /proc as a
 * failure.
 */
void list_add_running(struct file_list *list)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	size_t count = 0;

	while (proc && (entry = readdir(proc)))
		if (isdigit((unsigned char)entry->d_name[0])) {
			add_process(list, entry->d_name);
			count++;
		}
	if (!count) {
		list->failed++;
		complain("/proc", "%s; mount it so that processes can be found",
			 proc ? "it shows no process" : strerror(errno));
	}
	if (proc)
		closedir(proc);
}

/**
 * list_free() - free what a list holds
 * @list:	The list; the structure itself is not freed.
 */
void list_free(struct file_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->names[i]);
	free(list->names);
	if (list->root && list->root_fd >= 0)
		close(list->root_fd);
	free(list->root);
	for (size_t i = 0; i < list->num_left_out; i++)
		free(list->left_out[i].dir);
	free(list->left_out);
	tdestroy(list->seen, free);
}
