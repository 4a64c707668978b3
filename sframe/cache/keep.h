/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_CACHE_KEEP_H
#define _SFRAME_CACHE_KEEP_H

#include <stdbool.h>

/**
 * struct keep_options - how to list or prune a cache
 * @dir:	The cache.
 * @jobs:	How many files to read at a time.
 * @seconds:	How long one file may take.
 * @excludes:	Absolute names of directories that are not walked.
 * @num_excludes: Their number.
 * @json:	List as JSON.
 * @no_index:	Do not make the index of the cache.
 * @dry_run:	Only print what would be removed.
 * @quiet:	Print neither names nor sums.
 */
struct keep_options {
	const char	*dir;
	unsigned int	jobs;
	unsigned int	seconds;
	char		**excludes;
	size_t		num_excludes;
	bool		json;
	bool		no_index;
	bool		dry_run;
	bool		quiet;
};

int cache_show(const struct keep_options *options);
int cache_prune(const struct keep_options *options, char **names, int count);

#endif /* _SFRAME_CACHE_KEEP_H */
