/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KERNEL_UNWIND_SFRAME_H
#define _KERNEL_UNWIND_SFRAME_H

#include <linux/errno.h>

#include "sframe_decode.h"

struct mm_struct;
struct row_cache;
struct sframe_index;
struct sframe_region;

#ifdef CONFIG_UNWIND_USER_SFRAME
int sframe_lookup(struct sframe_reader *reader, unsigned long ip,
		  struct sframe_row *row);
struct row_cache *sframe_rows(void);
void sframe_alloc_rows(void);

/* Finding the tables of what a process has mapped, discover.c */
void sframe_discover(void);
bool sframe_discovery_is_due(void);

/* For discover.c alone */
int sframe_add_discovered(const struct sframe_region *region,
			  const struct sframe_table *table);
int sframe_add_without(struct mm_struct *mm, unsigned long start,
		       unsigned long end);
bool sframe_is_known(struct sframe_index *index, unsigned long start,
		     unsigned long end);
bool sframe_begin_discovery(void);
void sframe_rest_discovery(unsigned long ticks);
#else
static inline int sframe_lookup(struct sframe_reader *reader, unsigned long ip,
				struct sframe_row *row)
{
	return -ENXIO;
}

static inline struct row_cache *sframe_rows(void)
{
	return NULL;
}

static inline void sframe_alloc_rows(void) { }
static inline void sframe_discover(void) { }

static inline bool sframe_discovery_is_due(void)
{
	return false;
}
#endif

#endif /* _KERNEL_UNWIND_SFRAME_H */
