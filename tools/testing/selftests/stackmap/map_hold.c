// SPDX-License-Identifier: GPL-2.0
/*
 * Hold a map with stacks for map_tools.sh, which reads it with other tools.  Print the
 * map's id and its number of stacks, and wait for a signal.  With an argument, exit
 * instead.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "stack_map_lib.h"

int main(int argc, char **argv)
{
	struct bpf_map_info info = {};
	uint32_t size = sizeof(info), stored = 0;
	struct stacks stacks;
	int err;

	err = stacks_open(&stacks, 1024, MAP_DEPTH, 0, 0);
	if (!err)
		err = bpf_map_get_info_by_fd(stacks.fd, &info, &size);
	if (err) {
		fprintf(stderr, "map_hold: %s\n", strerror(-err));
		return 1;
	}
	for (uint32_t seed = 0; seed < 500; seed++)
		stored += stacks_take(&stacks, 0, seed, stacks_depth(seed),
				      BPF_F_USER_STACK) >= 0;
	printf("%u %u\n", info.id, stored);
	fflush(stdout);
	if (argc == 1)
		pause();
	stacks_close(&stacks);
	return 0;
}
