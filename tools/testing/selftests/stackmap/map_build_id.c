// SPDX-License-Identifier: GPL-2.0
/*
 * Test stack maps of build ids and file offsets: which frames are valid, and that the
 * same code in another process gives the same stack.
 */
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "stack_map_lib.h"

#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT 120

#define USER	BPF_F_USER_STACK
#define ROOM	32
#define DEPTH	12

/* Addresses for frames in this program; data serves as well as code for return addresses. */
static const char code[4096];

static void own_frames(uint64_t *ips)
{
	for (unsigned int i = 1; i < DEPTH; i++)
		ips[i] = (uint64_t)&code[64 * i];
}

/* Run as "PROGRAM take SLOT", store one stack in the parent's map. */
__attribute__((constructor)) static void take_for_parent(int argc, char **argv)
{
	uint64_t ips[DEPTH];

	if (argc != 3 || strcmp(argv[1], "take"))
		return;
	own_frames(ips);
	stacks_call(atoi(argv[2]), ips, DEPTH, USER);
	_exit(0);
}

FIXTURE(build_id)
{
	struct stacks stacks;
	struct bpf_stack_build_id value[ROOM];
	uint64_t ips[DEPTH];
};

FIXTURE_SETUP(build_id)
{
	ASSERT_EQ(0, stacks_open(&self->stacks, 256, ROOM, BPF_F_STACK_BUILD_ID, 0));
	own_frames(self->ips);
}

FIXTURE_TEARDOWN(build_id)
{
	if (self->stacks.skel)
		stacks_close(&self->stacks);
}

static int read_value(const struct stacks *stacks, long id, struct bpf_stack_build_id *value)
{
	uint32_t key = id;

	return id < 0 ? id : bpf_map_lookup_elem(stacks->fd, &key, value);
}

/* The mapping of @address in this process. */
struct mapping {
	uint64_t start, end, offset;
};

static bool find_mapping(uint64_t address, struct mapping *mapping)
{
	FILE *file = fopen("/proc/self/maps", "r");
	char line[512];
	bool found = false;

	while (file && !found && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%lx-%lx %*s %lx", &mapping->start, &mapping->end,
			   &mapping->offset) == 3)
			found = address >= mapping->start && address < mapping->end;
	}
	if (file)
		fclose(file);
	return found;
}

static int first_build_id(struct dl_phdr_info *info, size_t size, void *data)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const Elf64_Phdr *phdr = &info->dlpi_phdr[i];
		const char *at = (const char *)info->dlpi_addr + phdr->p_vaddr;
		const char *end = at + phdr->p_memsz;

		if (phdr->p_type != PT_NOTE)
			continue;
		while (at + sizeof(Elf64_Nhdr) < end) {
			const Elf64_Nhdr *note = (const void *)at;
			const char *desc = at + sizeof(*note) + (note->n_namesz + 3) / 4 * 4;

			if (note->n_type == NT_GNU_BUILD_ID && note->n_descsz == 20) {
				memcpy(data, desc, 20);
				return 1;
			}
			at = desc + (note->n_descsz + 3) / 4 * 4;
		}
	}
	return -1;
}

TEST_F(build_id, frames_of_the_program)
{
	unsigned char id[20] = {};
	struct mapping mapping;

	ASSERT_EQ(1, dl_iterate_phdr(first_build_id, id));
	ASSERT_TRUE(find_mapping(self->ips[1], &mapping));
	ASSERT_EQ(0, read_value(&self->stacks,
				stacks_take_ips(&self->stacks, 0, self->ips, DEPTH, USER),
				self->value));
	for (unsigned int i = 1; i < DEPTH; i++) {
		ASSERT_EQ(BPF_STACK_BUILD_ID_VALID, self->value[i].status);
		EXPECT_EQ(0, memcmp(id, self->value[i].build_id, 20));
		EXPECT_EQ(self->ips[i] - mapping.start + mapping.offset, self->value[i].offset);
	}
	EXPECT_EQ(BPF_STACK_BUILD_ID_EMPTY, self->value[DEPTH].status);
}

TEST_F(build_id, same_stack_same_id)
{
	long id = stacks_take_ips(&self->stacks, 0, self->ips, DEPTH, USER);

	ASSERT_LE(0, id);
	for (int i = 0; i < 100; i++)
		ASSERT_EQ(id, stacks_take_ips(&self->stacks, 0, self->ips, DEPTH, USER));
	EXPECT_EQ(id, stacks_take_ips(&self->stacks, 0, self->ips, DEPTH,
				      USER | BPF_F_FAST_STACK_CMP));
}

/* The address below the first mapping of the program belongs to no file. */
TEST_F(build_id, gap_below_a_mapping_is_an_address)
{
	struct mapping mapping, other;
	uint64_t gap;

	ASSERT_TRUE(find_mapping(self->ips[1], &mapping));
	for (gap = mapping.start - 8; find_mapping(gap, &other);)
		gap = other.start - 8;
	self->ips[4] = gap;
	ASSERT_EQ(0, read_value(&self->stacks,
				stacks_take_ips(&self->stacks, 0, self->ips, DEPTH, USER),
				self->value));
	EXPECT_EQ(BPF_STACK_BUILD_ID_IP, self->value[4].status)
		TH_LOG("offset %llx", self->value[4].offset);
	EXPECT_EQ(gap, self->value[4].ip);
	/* The other frames must be valid. */
	EXPECT_EQ(BPF_STACK_BUILD_ID_VALID, self->value[3].status);
	EXPECT_EQ(BPF_STACK_BUILD_ID_VALID, self->value[5].status);
}

TEST_F(build_id, end_of_a_mapping_is_outside)
{
	void *page = mmap(NULL, 3 * 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct mapping mapping;
	int fd;

	/* The first page of the program, with unmapped memory after it. */
	fd = open("/proc/self/exe", O_RDONLY);
	ASSERT_LE(0, fd);
	ASSERT_NE(MAP_FAILED, page);
	ASSERT_EQ(0, munmap(page, 3 * 4096));
	ASSERT_EQ(page, mmap(page, 4096, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0));
	ASSERT_EQ(0x7f, *(volatile char *)page);
	self->ips[3] = (uint64_t)page + 4095;
	self->ips[4] = (uint64_t)page + 4096;
	ASSERT_FALSE(find_mapping(self->ips[4], &mapping));
	ASSERT_EQ(0, read_value(&self->stacks,
				stacks_take_ips(&self->stacks, 0, self->ips, DEPTH, USER),
				self->value));
	EXPECT_EQ(BPF_STACK_BUILD_ID_VALID, self->value[3].status);
	EXPECT_EQ(4095, self->value[3].offset);
	EXPECT_EQ(BPF_STACK_BUILD_ID_IP, self->value[4].status);
	EXPECT_EQ(self->ips[4], self->value[4].ip);
}

TEST_F(build_id, anonymous_memory_is_an_address)
{
	void *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT_NE(MAP_FAILED, page);
	self->ips[4] = (uint64_t)page + 16;
	ASSERT_EQ(0, read_value(&self->stacks,
				stacks_take_ips(&self->stacks, 0, self->ips, DEPTH, USER),
				self->value));
	EXPECT_EQ(BPF_STACK_BUILD_ID_IP, self->value[4].status);
	EXPECT_EQ(self->ips[4], self->value[4].ip);
}

TEST_F(build_id, kernel_frames_are_addresses)
{
	unsigned int i;
	long id = stacks_take_ips(&self->stacks, 0, self->ips, DEPTH, 0);

	ASSERT_EQ(0, read_value(&self->stacks, id, self->value));
	for (i = 0; i < ROOM && self->value[i].status != BPF_STACK_BUILD_ID_EMPTY; i++) {
		EXPECT_EQ(BPF_STACK_BUILD_ID_IP, self->value[i].status);
		EXPECT_LT(1ULL << 63, self->value[i].ip);
	}
	EXPECT_LE(3, i);
}

/* The loader maps the program at another address each time, but the code is the same. */
TEST_F(build_id, other_process_same_id)
{
	unsigned int other = 0;
	long ids[8];

	for (int i = 0; i < 8; i++) {
		char slot[12];
		pid_t pid;
		int status;

		snprintf(slot, sizeof(slot), "%d", i);
		self->stacks.skel->bss->results[i].id = -EPROTO;
		pid = fork();
		if (!pid) {
			execl("/proc/self/exe", "map_build_id", "take", slot, NULL);
			_exit(1);
		}
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		ASSERT_EQ(0, status);
		ids[i] = self->stacks.skel->bss->results[i].id;
		ASSERT_TRUE(ids[i] >= 0 || ids[i] == -EEXIST) TH_LOG("%ld", ids[i]);
		other += ids[i] != ids[0];
	}
	ksft_print_msg("figure aslr: %u of 8 processes have another id\n", other);
	EXPECT_EQ(0, other);
}

struct busy {
	volatile bool	stop;
	unsigned long	rounds;
};

/* Lock the address space for writing, again and again. */
static void *remap(void *data)
{
	struct busy *busy = data;
	size_t size = 4096 * 64;

	while (!busy->stop) {
		char *area = mmap(NULL, size, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

		if (area != MAP_FAILED)
			munmap(area, size);
		busy->rounds++;
	}
	return NULL;
}

/* Frames may remain addresses then, but the stack must be stored. */
TEST_F(build_id, busy_address_space_loses_no_stack)
{
	unsigned int lost = 0, degraded = 0, wrong = 0;
	struct busy busy = {};
	pthread_t thread;

	ASSERT_EQ(0, pthread_create(&thread, NULL, remap, &busy));
	for (unsigned int round = 0; round < 30000; round++) {
		long id = stacks_take_ips(&self->stacks, 0, self->ips, DEPTH, USER);
		bool full = true;

		if (id < 0) {
			lost++;
			continue;
		}
		if (round % 16)
			continue;
		wrong += !!read_value(&self->stacks, id, self->value);
		for (unsigned int i = 1; i < DEPTH; i++) {
			bool valid = self->value[i].status == BPF_STACK_BUILD_ID_VALID;

			full &= valid;
			wrong += !valid && self->value[i].ip != self->ips[i];
		}
		degraded += !full;
	}
	busy.stop = true;
	pthread_join(thread, NULL);
	ksft_print_msg("figure busy: %u of 30000 lost, %u of 1875 with addresses, %lu mappings\n",
		       lost, degraded, busy.rounds);
	EXPECT_EQ(0, lost);
	EXPECT_EQ(0, wrong);
}

/* The number of samples to wait for, and the flag that ends the wait */
struct waiter {
	const struct stacks *stacks;
	__u32 spinning;
};

static void *end_spin(void *data)
{
	struct waiter *waiter = data;

	for (int i = 0; i < 600 && waiter->stacks->skel->bss->samples < 300; i++)
		usleep(100000);
	*(volatile __u32 *)&waiter->spinning = 0;
	return NULL;
}

/* With interrupts off, too, and if the map is more than half full. */
TEST_F(build_id, busy_address_space_loses_no_sample)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK,
		.size = sizeof(attr), .sample_period = 1000000, .exclude_kernel = 1,
	};
	struct stacks stacks;
	struct waiter waiter = { .stacks = &stacks };
	pthread_t remapper, ender;
	struct bpf_link *link;
	struct busy busy = {};
	int fd;

	ASSERT_EQ(0, stacks_open(&stacks, 256, ROOM, BPF_F_STACK_BUILD_ID, STACKS_SAMPLE));
	for (unsigned int i = 0; i < 200; i++)
		stacks_take(&stacks, 0, i, DEPTH, USER);
	fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	ASSERT_LE(0, fd);
	link = bpf_program__attach_perf_event(stacks.skel->progs.sample, fd);
	ASSERT_NE(NULL, link);
	ASSERT_EQ(0, pthread_create(&remapper, NULL, remap, &busy));
	ASSERT_EQ(0, pthread_create(&ender, NULL, end_spin, &waiter));
	stacks_spin(1000, DEPTH, &waiter.spinning, 1);
	pthread_join(ender, NULL);
	busy.stop = true;
	pthread_join(remapper, NULL);
	ksft_print_msg("figure busy samples: %llu of %llu lost\n", stacks.skel->bss->samples_error,
		       stacks.skel->bss->samples);
	EXPECT_LE(300, stacks.skel->bss->samples);
	EXPECT_EQ(0, stacks.skel->bss->samples_error);
	bpf_link__destroy(link);
	stacks_close(&stacks);
}

TEST_HARNESS_MAIN
