// SPDX-License-Identifier: GPL-2.0
/*
 * libsframe-audit.so: registers a cached SFrame table for each object that the
 * dynamic linker loads (rtld-audit(7)).
 *
 *	LD_AUDIT=/usr/lib/libsframe-audit.so prog
 *
 * turns it on for a program and all that it starts.  SFRAME_AUDIT=off turns it
 * off, SFRAME_CACHE_DIR names a cache that is asked before the user's and the
 * system's.  Programs that run with more rights than their caller ignore all
 * three.
 *
 * It leaves the program alone whatever happens: where the kernel takes no
 * tables, or no cache is there, the dynamic linker unloads it at once; it prints
 * nothing, and takes part in no symbol's binding, so that calls cost what they
 * cost without it.
 *
 * A seccomp filter may kill a process that calls prctl(), and cannot be asked.
 * So nothing is registered where a filter is in place: at the start one that was
 * inherited, later, at a dlopen(), one that the program has set up itself.
 * SFRAME_AUDIT=seccomp has it register nevertheless, for containers whose filter
 * lets prctl() through.
 *
 * The dynamic linker calls all of this under its lock, before an object's own
 * code runs and after the last of it has run.
 */
#include "audit.h"

#define PUBLIC __attribute__((visibility("default")))

struct audit audit;

/* gcc makes calls of these from loops and assignments. */
void *memcpy(void *to, const void *from, size_t size)
{
	void *ret = to;

	asm volatile("rep movsb"
		     : "+D" (to), "+S" (from), "+c" (size) : : "memory");
	return ret;
}

void *memset(void *to, int byte, size_t size)
{
	void *ret = to;

	asm volatile("rep stosb"
		     : "+D" (to), "+c" (size) : "a" (byte) : "memory");
	return ret;
}

/* Runs before la_version(). */
__attribute__((constructor))
static void audit_init(int argc, char **argv, char **env)
{
	(void)argc;
	(void)argv;
	audit_read_environment(env);
}

/* 0 has the dynamic linker unload the library. */
PUBLIC unsigned int la_version(unsigned int version)
{
	if (!audit.active || !audit.num_dirs)
		return 0;
	if (!audit.filtered && audit_is_filtered())
		return 0;
	if (!kernel_takes_tables())
		return 0;
	return version < LAV_CURRENT ? version : LAV_CURRENT;
}

static struct place *free_place(void)
{
	for (u32 i = 0; i < AUDIT_MAX_TABLES; i++) {
		u32 at = (audit.next_place + i) % AUDIT_MAX_TABLES;

		if (!audit.places[at].size) {
			audit.next_place = at + 1;
			return &audit.places[at];
		}
	}
	return NULL;
}

/* An object that was linked with a table has no need of another. */
static bool register_own(const struct loaded *obj)
{
	for (u32 i = 0; i < obj->num_phdr; i++) {
		const Elf64_Phdr *phdr = &obj->phdr[i];
		struct place table = { obj->bias + phdr->p_vaddr,
				       phdr->p_memsz };

		if (phdr->p_type == PT_GNU_SFRAME && phdr->p_memsz)
			return register_table(obj, &table);
	}
	return false;
}

static struct place *add_object(const struct link_map *map)
{
	struct place *place = free_place();
	struct loaded obj;

	if (!place || !object_in_memory(map, &obj) || register_own(&obj) ||
	    !audit.active)
		return NULL;
	*place = table_map(&obj);
	if (!place->size)
		return NULL;
	if (register_table(&obj, place))
		return place;
	table_unmap(place);
	place->size = 0;
	return NULL;
}

PUBLIC unsigned int la_objopen(struct link_map *map, Lmid_t lmid,
			       uintptr_t *cookie)
{
	*cookie = 0;
	if (!audit.main_cookie && lmid == LM_ID_BASE)
		audit.main_cookie = cookie;
	if (audit.active && audit.started && !audit.filtered &&
	    audit_is_filtered())
		audit.active = false;
	if (audit.active)
		*cookie = (uintptr_t)add_object(map);
	return 0;
}

PUBLIC void la_preinit(uintptr_t *cookie)
{
	(void)cookie;
	audit.started = true;
}

/*
 * The kernel drops a table when it is unmapped, which no filter forbids to one
 * who unmaps objects.  At exit all objects are closed, the main program first;
 * then there is nothing to gain, and a sample may still want the tables.
 */
PUBLIC unsigned int la_objclose(uintptr_t *cookie)
{
	struct place *place = (struct place *)*cookie;

	if (cookie == audit.main_cookie)
		audit.exiting = true;
	if (audit.exiting || place < audit.places ||
	    place >= audit.places + AUDIT_MAX_TABLES)
		return 0;
	*cookie = 0;
	table_unmap(place);
	place->size = 0;
	return 0;
}
