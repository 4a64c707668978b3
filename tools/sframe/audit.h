/* SPDX-License-Identifier: GPL-2.0 */
/*
 * libsframe-audit.so runs inside of strangers' programs, in a namespace of its
 * own where the dynamic linker has set up next to nothing.  So it has no libc:
 * its system calls leave errno alone, and it has no thread-local storage.
 */
#ifndef _TOOLS_SFRAME_AUDIT_H
#define _TOOLS_SFRAME_AUDIT_H

#include <elf.h>
#include <link.h>
#include <linux/types.h>
#include <sys/syscall.h>

#include "sframe_file.h"

#define AUDIT_PAGE		4096UL
#define AUDIT_MAX_DIRS		3
/* The longest name of a directory; "/xx/" and a build-id's digits follow. */
#define AUDIT_MAX_DIR		512
#define AUDIT_MAX_NAME		(AUDIT_MAX_DIR + 2 * SFRAME_FILE_MAX_ID + 8)

/* The kernel has no more tables for a process. */
#define AUDIT_MAX_TABLES	8192

/* A table's place; one of size 0 is none. */
struct place {
	u64	start;
	u64	size;
};

/**
 * struct audit - what is known of the process
 * @active:	Tables are registered.
 * @started:	The program has been in control, and may have changed anything.
 * @exiting:	All objects are being closed.
 * @filtered:	Register under a seccomp filter too.
 * @secure:	The program has more rights than its caller.
 * @uid:	The user, when it started.
 * @main_cookie: The main program's.
 * @phdr:	The program headers that the kernel told.
 * @num_phdr:	Their number.
 * @num_dirs:	Caches there are.
 * @dirs:	They, the first before the others.
 * @next_place:	Where the search for a free place begins.
 * @places:	The tables that are mapped.
 *
 * What a program with few objects uses of it lies in the page that the dynamic
 * linker has written to already.
 */
struct audit {
	bool		active;
	bool		started;
	bool		exiting;
	bool		filtered;
	bool		secure;
	u32		uid;
	uintptr_t	*main_cookie;
	const Elf64_Phdr *phdr;
	u64		num_phdr;
	u32		num_dirs;
	char		dirs[AUDIT_MAX_DIRS][AUDIT_MAX_DIR];
	u32		next_place;
	struct place	places[AUDIT_MAX_TABLES];
};

/* Written under the dynamic linker's lock, as all of this library runs. */
extern struct audit audit;

/**
 * struct loaded - an object in memory
 * @phdr:	Its program headers.
 * @num_phdr:	Their number.
 * @bias:	What was added to the addresses in them.
 * @id:		Its build-id ...
 * @id_size:	... and the bytes of it; 0: it has none.
 */
struct loaded {
	const Elf64_Phdr *phdr;
	u32		num_phdr;
	u64		bias;
	const u8	*id;
	u32		id_size;
};

static inline long sys6(long nr, u64 a, u64 b, u64 c, u64 d, u64 e, u64 f)
{
	register u64 r10 asm("r10") = d;
	register u64 r8 asm("r8") = e;
	register u64 r9 asm("r9") = f;
	long ret;

	asm volatile("syscall"
		     : "=a" (ret)
		     : "a" (nr), "D" (a), "S" (b), "d" (c), "r" (r10),
		       "r" (r8), "r" (r9)
		     : "rcx", "r11", "memory");
	return ret;
}

static inline long sys4(long nr, u64 a, u64 b, u64 c, u64 d)
{
	return sys6(nr, a, b, c, d, 0, 0);
}

static inline bool is_error(long ret)
{
	return (unsigned long)ret > -AUDIT_PAGE;
}

/* audit_env.c */
void audit_read_environment(char **env);
bool audit_is_filtered(void);

/* audit_object.c */
bool object_in_memory(const struct link_map *map, struct loaded *obj);

/* audit_table.c */
struct place table_map(const struct loaded *obj);
void table_unmap(const struct place *place);

/* audit_prctl.c */
bool kernel_takes_tables(void);
bool register_table(const struct loaded *obj, const struct place *table);

#endif /* _TOOLS_SFRAME_AUDIT_H */
