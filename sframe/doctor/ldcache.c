// SPDX-License-Identifier: GPL-2.0
/* sframe doctor: reads /etc/ld.so.cache, in which ldconfig lists the libraries. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/types.h>

#include "base/open_regular.h"
#include "doctor/ldcache.h"

#define MAX_SIZE	0x4000000
#define OLD_MAGIC	"ld.so-1.7.0"
#define MAGIC		"glibc-ld.so.cache1.1"
/* The flags of x86-64 libraries of glibc 2 */
#define FLAGS_X86_64	0x303
/* An entry of a subdirectory of glibc-hwcaps: the lower half of @hwcap numbers its name. */
#define HWCAP_NAMED	0x40000000
#define EXTENSION_MAGIC	0xeaa42174
/* The section with the numbers of the names of glibc-hwcaps */
#define TAG_HWCAPS	1

/* The start of the file.  Offsets count from here. */
struct head {
	char	magic[20];
	u32	num_entries;
	u32	strings_size;
	u8	flags;
	u8	unused[3];
	u32	extension;
	u32	reserved[3];
};

struct entry {
	u32	flags;
	u32	name;
	u32	path;
	u32	os_version;
	u32	hwcap;
	u32	hwcap_kind;
};

struct section {
	u32	tag;
	u32	flags;
	u32	offset;
	u32	size;
};

/* Caches for old versions of glibc start with a list of entries of another form. */
struct old_head {
	char	magic[12];
	u32	num_entries;
};

#define OLD_ENTRY_SIZE	12

static size_t find_head(const char *bytes, size_t size)
{
	struct old_head old;
	u64 end;

	if (size < sizeof(old) || memcmp(bytes, OLD_MAGIC, strlen(OLD_MAGIC)))
		return 0;
	memcpy(&old, bytes, sizeof(old));
	end = (sizeof(old) + (u64)old.num_entries * OLD_ENTRY_SIZE + 7) & ~7ULL;
	return end < size ? end : 0;
}

/**
 * ldcache_read() - read the dynamic linker's list of libraries
 * @cache:	Filled in; without libraries if the file cannot be read.
 * @name:	The file.
 */
void ldcache_read(struct ldcache *cache, const char *name)
{
	struct stat st;
	int fd = open_regular(name, 0, &st);
	ssize_t got = -1;
	size_t start;

	*cache = (struct ldcache){ };
	if (fd < 0)
		return;
	if (st.st_size < MAX_SIZE)
		cache->bytes = malloc(st.st_size + 1);
	if (cache->bytes)
		got = read(fd, cache->bytes, st.st_size);
	close(fd);
	if (got < 0) {
		ldcache_free(cache);
		return;
	}
	start = find_head(cache->bytes, got);
	cache->size = got - start;
	memmove(cache->bytes, cache->bytes + start, cache->size);
	cache->bytes[cache->size] = '\0';
}

static bool get(const struct ldcache *cache, u64 offset, void *to, size_t size)
{
	if (offset > cache->size || size > cache->size - offset)
		return false;
	memcpy(to, cache->bytes + offset, size);
	return true;
}

/* A zero follows the file, so every string ends. */
static const char *get_string(const struct ldcache *cache, u32 offset)
{
	return offset < cache->size ? cache->bytes + offset : "";
}

/* Return the name of a subdirectory of glibc-hwcaps, or "". */
static const char *hwcap_name(const struct ldcache *cache, const struct head *head, u32 index)
{
	struct { u32 magic, count; } extension;
	struct section section;
	u32 name;

	if (!get(cache, head->extension, &extension, sizeof(extension)) ||
	    extension.magic != EXTENSION_MAGIC)
		return "";
	for (u32 i = 0; i < extension.count; i++) {
		if (!get(cache, head->extension + sizeof(extension) + i * sizeof(section),
			 &section, sizeof(section)))
			return "";
		if (section.tag == TAG_HWCAPS && index < section.size / sizeof(name) &&
		    get(cache, section.offset + (u64)index * sizeof(name), &name, sizeof(name)))
			return get_string(cache, name);
	}
	return "";
}

/* Return the rank of an entry in @levels, the best of which is 0; -1 if it is not in them. */
static int rank_of(const struct ldcache *cache, const struct head *head,
		   const struct entry *entry, const char * const *levels)
{
	const char *name = "";

	if (entry->flags != FLAGS_X86_64)
		return -1;
	if (entry->hwcap_kind == HWCAP_NAMED)
		name = hwcap_name(cache, head, entry->hwcap);
	else if (entry->hwcap || entry->hwcap_kind)
		return -1;
	for (int i = 0; levels[i]; i++)
		if (!strcmp(name, levels[i]))
			return i;
	return -1;
}

/**
 * ldcache_find() - find a library
 * @cache:	The list.
 * @name:	The library's name.
 * @levels:	The subdirectories of glibc-hwcaps that the processor can use, best first, then
 *		"" for none, then NULL.
 *
 * Return: the path, or NULL.
 */
const char *ldcache_find(const struct ldcache *cache, const char *name,
			 const char * const *levels)
{
	const char *found = NULL;
	int rank, best = -1;
	struct entry entry;
	struct head head;

	if (!get(cache, 0, &head, sizeof(head)) || memcmp(head.magic, MAGIC, strlen(MAGIC)))
		return NULL;
	for (u32 i = 0; i < head.num_entries; i++) {
		if (!get(cache, sizeof(head) + (u64)i * sizeof(entry), &entry, sizeof(entry)))
			break;
		if (strcmp(get_string(cache, entry.name), name))
			continue;
		rank = rank_of(cache, &head, &entry, levels);
		if (rank >= 0 && (best < 0 || rank < best)) {
			best = rank;
			found = get_string(cache, entry.path);
		}
	}
	return found;
}

/**
 * ldcache_free() - free what ldcache_read() has allocated
 * @cache:	The list; the structure itself is not freed.
 */
void ldcache_free(struct ldcache *cache)
{
	free(cache->bytes);
	*cache = (struct ldcache){ };
}
