// SPDX-License-Identifier: GPL-2.0
/*
 * A process that misbehaves in all ways.  Its tables are damaged and change while the
 * kernel reads them, its stacks are forged, and its mappings come and go.  It is expected
 * to die of this.  Its seed determines its actions, except for races between its threads.
 */
#define _GNU_SOURCE
#include "stress.h"

#include <elf.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "layout.h"
#include "unwind_perf.h"

#define ARENA_PAGES	64
#define PROGRAM_TABLE	(16 * STRESS_PAGE)
#define STACK_WORDS	512
#define DEEPEST		400
#define DEEDS		4000
#define ALARM_NS	50000000

/**
 * struct hostile - state of a hostile process
 * @arena:	Pages of text, tables and unmapped memory, and a page that faults.  A
 *		table's 32-bit offsets reach it from the program.
 * @program:	Table and text of the program itself.
 * @image:	File with a copy of the program whose table is damaged.
 * @dir:	Descriptor of the directory with the files of all.
 * @dir_path:	Its path.
 * @random:	Random state of the main thread.
 */
struct hostile {
	uint8_t			*arena;
	struct unwind_region	program;
	int			image;
	int			dir;
	const char		*dir_path;
	uint64_t		random;
};

static struct hostile hostile;

/* State of a thread. */
struct helper {
	uint64_t		random;
	uint8_t			*page;
	uint64_t		stack[STACK_WORDS];
};

asm(".pushsection .text\n"
	"	.globl stress_forge\n"
	"	.type stress_forge, @function\n"
	"stress_forge:\n"
	"	.cfi_startproc\n"
	"	push %rbx\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	push %rbp\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	mov %rsp, %rbx\n"
	"	mov %rdx, %rbp\n"
	"	mov %rsi, %rsp\n"
	"	.cfi_def_cfa %rsp, 8\n"
	"	movb $1, (%rdi)\n"
	"	mov $39, %eax\n"	/* getpid */
	"	syscall\n"
	"	mov %rbx, %rsp\n"
	"	.cfi_def_cfa %rsp, 24\n"
	"	pop %rbp\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	pop %rbx\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	"	.size stress_forge, . - stress_forge\n"
	"	.popsection\n");

static void *page_of(unsigned int page)
{
	return hostile.arena + page * STRESS_PAGE;
}

static void *any_page(uint64_t *random)
{
	return page_of(stress_below(random, ARENA_PAGES));
}

/* Damage a byte, or make a field of a header or an index 0, large or negative. */
static void damage(uint64_t *random, uint8_t *bytes, size_t size)
{
	static const uint32_t values[] = {
		0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 0xfffffff0, 0x10000,
	};

	for (unsigned int i = 1 + stress_below(random, 8); i; i--) {
		/* Half of the damage goes to the header. */
		size_t room = stress_below(random, 2) && size > 64 ? 64 : size;
		size_t at = stress_below(random, room - 4);

		if (stress_below(random, 2))
			bytes[at] = stress_random(random);
		else
			layout_put32(bytes + (at & ~3ul), values[stress_below(random, 7)]);
	}
}

static bool readable_and_writable(void *start, size_t size)
{
	return mmap(start, size, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == start;
}

static void add(struct unwind_region *region)
{
	if (prctl(UNWIND_PR_ADD_SFRAME, region, sizeof(*region), 0, 0))
		stress_count(STRESS_TABLES_REFUSED);
	else
		stress_count(STRESS_TABLES_TAKEN);
}

/* Write code to one page and its table, valid or damaged, to another.  The code may run. */
static void add_function(uint64_t *random)
{
	unsigned int frame = 8 * (1 + stress_below(random, LAYOUT_MAX_FRAME / 8));
	uint8_t *text = any_page(random), *table = any_page(random);
	bool run = stress_below(random, 2);
	struct unwind_region region = layout_region(table, text);

	if (text == table || !readable_and_writable(text, STRESS_PAGE) ||
	    !readable_and_writable(table, STRESS_PAGE))
		return;
	layout_write_text(text, frame);
	layout_write_table(table, text, frame);
	if (stress_below(random, 4)) {
		damage(random, table, LAYOUT_TABLE_SIZE);
		region.text_size = 1 + stress_below(random, STRESS_PAGE);
		region.sframe_size += stress_below(random, 64);
	}
	mprotect(text, STRESS_PAGE, PROT_READ | PROT_EXEC);
	add(&region);
	if (run)
		((layout_function *)text)(page_of(ARENA_PAGES));
}

/*
 * Register a damaged copy of the program's own table for all of its text.  Walks of all
 * threads use it from now on.
 */
static void add_program(uint64_t *random)
{
	struct unwind_region region = hostile.program;
	uint8_t *table = page_of(ARENA_PAGES + 1);
	uint32_t fdes, fdeoff;
	int32_t moved;

	if (region.sframe_size > PROGRAM_TABLE)
		return;
	prctl(UNWIND_PR_REMOVE_SFRAME, &region, sizeof(region), 0, 0);
	stress_count(STRESS_TABLES_REMOVED);
	if (!readable_and_writable(table, PROGRAM_TABLE))
		return;
	memcpy(table, (void *)region.sframe_start, region.sframe_size);
	memcpy(&fdes, table + 8, sizeof(fdes));
	memcpy(&fdeoff, table + 20, sizeof(fdeoff));
	moved = (int64_t)(region.sframe_start - (uintptr_t)table);
	/*
	 * Start addresses of functions are relative to the table.  An image's table may
	 * be damaged.
	 */
	for (uint64_t at = 28ul + fdeoff; fdes && at + 20 <= region.sframe_size; at += 20) {
		int32_t start;

		memcpy(&start, table + at, sizeof(start));
		layout_put32(table + at, start + moved);
		fdes--;
	}
	if (stress_below(random, 4))
		damage(random, table, region.sframe_size);
	region.sframe_start = (uintptr_t)table;
	add(&region);
}

static void remove_any(uint64_t *random)
{
	struct unwind_region region = { (uintptr_t)any_page(random) };

	if (!prctl(UNWIND_PR_REMOVE_SFRAME, &region, sizeof(region), 0, 0))
		stress_count(STRESS_TABLES_REMOVED);
}

static void remap(uint64_t *random)
{
	static const int protections[] = {
		PROT_NONE, PROT_READ, PROT_READ | PROT_WRITE, PROT_READ | PROT_EXEC,
	};
	size_t size = (1 + stress_below(random, 3)) * STRESS_PAGE;
	int protection = protections[stress_below(random, 4)];
	void *from = page_of(stress_below(random, ARENA_PAGES - 3));
	void *to = page_of(stress_below(random, ARENA_PAGES - 3));

	stress_count(STRESS_REMAPS);
	switch (stress_below(random, 6)) {
	case 0:
		munmap(from, size);
		break;
	case 1:
		mprotect(from, size, protection);
		break;
	case 2:
		mremap(from, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, to);
		break;
	case 3:
		madvise(from, size, MADV_DONTNEED);
		break;
	case 4:
		/* Map a program file with a damaged table. */
		mmap(from, 3 * STRESS_PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED,
		     hostile.image, 0);
		break;
	default:
		mmap(from, size, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	}
}

int stress_copy_program(int to)
{
	int from = open("/proc/self/exe", O_RDONLY), result = -1;
	struct stat stat;

	if (from >= 0 && !fstat(from, &stat) &&
	    sendfile(to, from, NULL, stat.st_size) == stat.st_size)
		result = 0;
	close(from);
	return result;
}

/*
 * Map a few pages of a file to a place where others are, and close it: on overlayfs, each
 * open file has a backing file that ends with its last mapping.
 */
static void map_file(uint64_t *random, const char *name)
{
	int fd = openat(hostile.dir, name, O_RDONLY | O_CLOEXEC);
	struct stat stat;

	if (fd < 0)
		return;
	if (!fstat(fd, &stat) && stat.st_size >= STRESS_PAGE &&
	    mmap(page_of(stress_below(random, ARENA_PAGES - 3)), 3 * STRESS_PAGE,
		 PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd,
		 stress_below(random, stat.st_size / STRESS_PAGE) * STRESS_PAGE) != MAP_FAILED)
		stress_count(STRESS_FILES_MAPPED);
	close(fd);
}

/* Change a few bytes of a file: overlayfs copies it before that, if it has not yet. */
static void write_file(uint64_t *random, const char *name)
{
	int fd = openat(hostile.dir, name, O_RDWR | O_CLOEXEC);
	uint64_t value = stress_random(random);

	if (fd < 0)
		return;
	if (pwrite(fd, &value, sizeof(value), stress_below(random, 4096)) == sizeof(value))
		stress_count(STRESS_FILES_WRITTEN);
	close(fd);
}

static void replace_file(uint64_t *random, const char *name)
{
	int fd;

	if (stress_below(random, 2))
		unlinkat(hostile.dir, name, 0);
	fd = openat(hostile.dir, name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	if (fd < 0)
		return;
	if (!stress_copy_program(fd))
		stress_count(STRESS_FILES_REPLACED);
	close(fd);
}

static void use_file(uint64_t *random)
{
	char name[] = { '0' + stress_below(random, STRESS_FILES), 0 };

	switch (stress_below(random, 16)) {
	case 0:
		write_file(random, name);
		break;
	case 1:
		replace_file(random, name);
		break;
	default:
		map_file(random, name);
	}
}

/* A word that a walk may take for an address or a frame. */
static uint64_t forged_word(uint64_t *random, const uint64_t *stack)
{
	switch (stress_below(random, 8)) {
	case 0:
		return stress_random(random);
	case 1:
		return (uintptr_t)(stack + stress_below(random, STACK_WORDS));
	case 2:
		return hostile.program.text_start +
		       stress_below(random, hostile.program.text_size);
	case 3:
		return 0x7ffffffff000ul - 8 + stress_below(random, 16);
	case 4:
		return 0xffffffff81000000ul + stress_below(random, 1 << 24);
	case 5:
		return (uintptr_t)any_page(random) + stress_below(random, STRESS_PAGE);
	default:
		/* An address in one of the functions. */
		return (uintptr_t)any_page(random) +
		       stress_below(random, LAYOUT_TEXT_SIZE + 1);
	}
}

static void forge(struct helper *helper)
{
	uint64_t *random = &helper->random, *stack = helper->stack;

	for (unsigned int i = 0; i < STACK_WORDS; i++)
		stack[i] = forged_word(random, stack);
	madvise(helper->page, STRESS_PAGE, MADV_DONTNEED);
	stress_count(STRESS_FORGED);
	stress_forge(helper->page, stack + stress_below(random, STACK_WORDS),
		     forged_word(random, stack));
}

static __attribute__((noinline, noipa)) unsigned int
go_down(struct helper *helper, unsigned int depth)
{
	volatile uint8_t room[1 + depth % 200];

	room[0] = depth;
	if (depth)
		return go_down(helper, depth - 1) + room[0];
	madvise(helper->page, STRESS_PAGE, MADV_DONTNEED);
	*helper->page = 1;
	return syscall(SYS_getppid);
}

/* Runs on the alternate stack, and raises its signal again, up to three levels deep. */
static void on_signal(int signal)
{
	static __thread unsigned int nested;

	stress_count(STRESS_SIGNALS);
	if (++nested < 4)
		syscall(SYS_tgkill, getpid(), gettid(), signal);
	nested--;
}

static void take_signals_elsewhere(void)
{
	stack_t stack = { .ss_size = 65536 };

	stack.ss_sp = mmap(NULL, stack.ss_size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sigaltstack(&stack, NULL);
}

static bool start_helper(struct helper *helper)
{
	helper->page = mmap(NULL, STRESS_PAGE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	take_signals_elsewhere();
	return helper->page != MAP_FAILED;
}

static void *walked_thread(void *data)
{
	struct helper *helper = data;

	if (!start_helper(helper))
		return NULL;
	for (;;) {
		if (stress_below(&helper->random, 2))
			forge(helper);
		else
			go_down(helper, stress_below(&helper->random, DEEPEST));
		if (!stress_below(&helper->random, 8))
			syscall(SYS_tgkill, getpid(), gettid(), SIGUSR1);
	}
}

/*
 * Change bytes of writable tables while the kernel reads them.  Leave most of the time to
 * the readers.
 */
static void *damaging_thread(void *data)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	struct helper *helper = data;
	uint64_t *random = &helper->random;

	if (!start_helper(helper))
		return NULL;
	for (;;) {
		uint64_t value = stress_random(random);
		uint8_t *page = stress_below(random, 2) ? any_page(random) :
				page_of(ARENA_PAGES + 1);
		struct iovec from = { &value, 1 + stress_below(random, 8) };
		struct iovec to = { page + stress_below(random, 100), from.iov_len };

		process_vm_writev(getpid(), &from, 1, &to, 1, 0);
		if (!stress_below(random, 16))
			nanosleep(&pause, NULL);
	}
}

/* Copy the program to a file, and damage its table and the headers that refer to it. */
static int damaged_image(uint64_t *random)
{
	int to = memfd_create("image", MFD_CLOEXEC);
	struct stat stat;
	Elf64_Ehdr *elf;
	uint8_t *bytes;

	if (to < 0 || stress_copy_program(to) || fstat(to, &stat))
		return -1;
	bytes = mmap(NULL, stat.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, to, 0);
	if (bytes == MAP_FAILED)
		return -1;
	elf = (Elf64_Ehdr *)bytes;
	for (int i = 0; i < elf->e_phnum; i++) {
		Elf64_Phdr *header = (Elf64_Phdr *)(bytes + elf->e_phoff) + i;

		if (header->p_type != PT_GNU_SFRAME)
			continue;
		damage(random, bytes + header->p_offset, header->p_filesz);
		if (stress_below(random, 2))
			damage(random, (uint8_t *)&header->p_flags,
			       sizeof(*header) - sizeof(header->p_type));
	}
	munmap(bytes, stat.st_size);
	return to;
}

static void exec_image(uint64_t *random)
{
	char name[] = "stress", option[] = STRESS_HOSTILE, seed[32], path[32];
	char dir[64];
	char * const arguments[] = { name, option, seed, dir, NULL };
	char * const environment[] = { NULL };

	snprintf(seed, sizeof(seed), "%llu", (unsigned long long)stress_random(random));
	snprintf(dir, sizeof(dir), "%s", hostile.dir_path);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", hostile.image);
	stress_count(STRESS_EXECS);
	execve(path, arguments, environment);
}

/* Runs in the memory of its parent. */
static int clone_body(void *data)
{
	struct helper *helper = data;

	go_down(helper, 20);
	return 0;
}

static void make_child(struct helper *helper)
{
	static uint8_t stack[65536] __attribute__((aligned(64)));
	uint64_t *random = &helper->random;
	int status;
	pid_t pid;

	switch (stress_below(random, 4)) {
	case 0:
		stress_count(STRESS_VFORKS);
		pid = vfork();
		if (!pid)
			_exit(0);
		break;
	case 1:
		stress_count(STRESS_VFORKS);
		pid = clone(clone_body, stack + sizeof(stack), CLONE_VM | SIGCHLD, helper);
		break;
	default:
		stress_count(STRESS_FORKS);
		pid = fork();
		if (pid)
			break;
		for (int i = 0; i < 20; i++)
			forge(helper);
		if (stress_below(random, 2))
			exec_image(random);
		_exit(0);
	}
	if (pid > 0 && stress_below(random, 2))
		kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
}

static void do_harm(struct helper *helper)
{
	uint64_t *random = &helper->random;

	stress_count(STRESS_DEEDS);
	switch (stress_below(random, 40)) {
	case 0 ... 1:
		make_child(helper);
		break;
	case 2 ... 8:
		add_function(random);
		break;
	case 9 ... 11:
		add_program(random);
		break;
	case 12 ... 15:
		remove_any(random);
		break;
	case 16 ... 24:
		remap(random);
		break;
	case 25 ... 32:
		use_file(random);
		break;
	default:
		forge(helper);
	}
}

/* Reserve the arena near the program, with the page that faults after it. */
static bool make_arena(void)
{
	size_t size = (ARENA_PAGES + 1) * STRESS_PAGE + PROGRAM_TABLE;
	uint8_t *at;

	if (!unwind_find_region("", &hostile.program))
		return false;
	at = (uint8_t *)(hostile.program.sframe_start & -STRESS_PAGE) + (1ul << 30);
	hostile.arena = mmap(at, size, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	return hostile.arena == at;
}

/*
 * Send timer signals to this thread, which also end its waits.  They depend on the CPU
 * time of the process, so that a slow kernel does not spend all time in them.
 */
static bool be_interrupted(void)
{
	const struct itimerspec often = {
		.it_value.tv_nsec = ALARM_NS, .it_interval.tv_nsec = ALARM_NS,
	};
	struct sigevent event = { .sigev_signo = SIGALRM, .sigev_notify = SIGEV_THREAD_ID };
	timer_t timer;

	event._sigev_un._tid = gettid();
	return !timer_create(CLOCK_PROCESS_CPUTIME_ID, &event, &timer) &&
	       !timer_settime(timer, 0, &often, NULL);
}

void stress_hostile(uint64_t seed, const char *dir)
{
	static struct helper main_thread, walked, damaging;
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK | SA_NODEFER };
	uint64_t random = seed | 1;
	pthread_t thread;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	hostile.image = damaged_image(&random);
	hostile.dir_path = dir;
	hostile.dir = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (hostile.image < 0 || hostile.dir < 0 || !make_arena())
		_exit(1);
	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGALRM, &action, NULL);
	main_thread.random = stress_random(&random);
	if (!start_helper(&main_thread))
		_exit(1);
	walked.random = stress_random(&random);
	pthread_create(&thread, NULL, walked_thread, &walked);
	damaging.random = stress_random(&random);
	pthread_create(&thread, NULL, damaging_thread, &damaging);
	if (!be_interrupted())
		_exit(1);
	for (int i = 0; i < DEEDS; i++)
		do_harm(&main_thread);
	if (stress_below(&main_thread.random, 2))
		exec_image(&main_thread.random);
	_exit(0);
}
