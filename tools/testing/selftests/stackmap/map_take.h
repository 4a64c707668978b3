/* SPDX-License-Identifier: GPL-2.0 */
/* What the program in the kernel and the tests say to each other. */
#ifndef _MAP_TAKE_H
#define _MAP_TAKE_H

#define MAP_MAGIC	0x57ac57acULL
#define MAP_SLOTS	64

struct map_result {
	__s64 id;
	__u64 calls;
};

#endif
