// SPDX-License-Identifier: GPL-2.0
/*
 * Registers a table in a static program, by system calls that it is made to do
 * before its first instruction.
 *
 * The process that was asked for runs the program itself, so its signals, its
 * exit status and its place in a job are what they are without.  A grandchild
 * of it traces it: init is the one to reap that, and the program sees no child.
 *
 *	caller                       grandchild
 *	  fork, allow tracing
 *	  wait for a byte              PTRACE_SEIZE
 *	                               send a byte
 *	  exec ................stops   write "syscall; int3" at the entry,
 *	                               mmap(), close(), prctl()
 *	  first instruction            restore, detach, exit
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "prctl.h"
#include "run.h"
#include "tool.h"

/* int3 at its own, syscall, int3; then a struct sframe_region. */
#define CODE_WORDS	5
#define CODE		0xcc050fccUL
#define CODE_SYSCALL	1
#define CODE_REGION	8

#define MAX_SIGNALS	64

/**
 * struct tracee - the stopped process
 * @pid:	Its id.
 * @regs:	Its registers at the entry.
 * @code:	The bytes there.
 * @signals:	What was sent to it meanwhile, to be sent again ...
 * @num_signals: ... and how many.
 */
struct tracee {
	pid_t			pid;
	struct user_regs_struct	regs;
	long			code[CODE_WORDS];
	int			signals[MAX_SIGNALS];
	int			num_signals;
};

static bool peek(struct tracee *t, long *words)
{
	for (int i = 0; i < CODE_WORDS; i++) {
		errno = 0;
		words[i] = ptrace(PTRACE_PEEKTEXT, t->pid, t->regs.rip + 8 * i,
				  NULL);
		if (errno)
			return false;
	}
	return true;
}

static bool poke(struct tracee *t, const long *words)
{
	for (int i = 0; i < CODE_WORDS; i++)
		if (ptrace(PTRACE_POKETEXT, t->pid, t->regs.rip + 8 * i,
			   words[i]))
			return false;
	return true;
}

/* Lets it run to an int3; signals that come first are kept. */
static bool run_to_trap(struct tracee *t)
{
	int status;

	for (;;) {
		if (ptrace(PTRACE_CONT, t->pid, NULL, NULL) ||
		    waitpid(t->pid, &status, __WALL) < 0 || !WIFSTOPPED(status))
			return false;
		if (WSTOPSIG(status) == SIGTRAP && !(status >> 16))
			return true;
		if (!(status >> 16) && t->num_signals < MAX_SIGNALS)
			t->signals[t->num_signals++] = WSTOPSIG(status);
	}
}

static long call(struct tracee *t, long nr, const u64 *args)
{
	struct user_regs_struct regs = t->regs;

	regs.rip += CODE_SYSCALL;
	regs.orig_rax = -1;
	regs.rax = nr;
	regs.rdi = args[0];
	regs.rsi = args[1];
	regs.rdx = args[2];
	regs.r10 = args[3];
	regs.r8 = args[4];
	regs.r9 = args[5];
	if (ptrace(PTRACE_SETREGS, t->pid, NULL, &regs) || !run_to_trap(t) ||
	    ptrace(PTRACE_GETREGS, t->pid, NULL, &regs))
		return -ESRCH;
	return regs.rax;
}

static long add_text(struct tracee *t, u64 table, u64 size, u64 text,
		     u64 text_size)
{
	struct sframe_region region = { table, size, text, text_size };
	long words[CODE_WORDS] = { CODE };

	memcpy(words + 1, &region, sizeof(region));
	if (!poke(t, words))
		return -EFAULT;
	return call(t, SYS_prctl, (u64 []){
		PR_ADD_SFRAME, t->regs.rip + CODE_REGION, sizeof(region),
		SFRAME_ADD_LAZY, 0,
		0 });
}

static long add_table(struct tracee *t, const struct injection *in)
{
	const struct sframe_file *head = &in->head;
	u64 bias = t->regs.rip - in->entry;
	u64 start = head->table_vaddr + bias;
	long ret;

	ret = call(t, SYS_mmap, (u64 []){
		start, head->table_size, PROT_READ,
		MAP_SHARED | MAP_FIXED_NOREPLACE, in->fd, head->table_offset });
	if (ret < 0 && ret > -4096)
		return ret;
	for (u32 i = 0; i < head->num_text; i++) {
		ret = add_text(t, start, head->table_size,
			       head->text[i].vaddr + bias, head->text[i].size);
		if (ret && ret != -EEXIST)
			return ret;
	}
	return 0;
}

static long inject(struct tracee *t, const struct injection *in)
{
	long words[CODE_WORDS] = { CODE };
	long ret;

	if (ptrace(PTRACE_GETREGS, t->pid, NULL, &t->regs) ||
	    !peek(t, t->code) || !poke(t, words))
		return -errno;
	/*
	 * It is still inside of execve(), whose end writes rax; the first int3
	 * gets it out of there.
	 */
	if (!run_to_trap(t))
		return -ESRCH;
	ret = add_table(t, in);
	call(t, SYS_close, (u64 []){ in->fd, 0, 0, 0, 0, 0 });
	t->regs.orig_rax = -1;
	if (!poke(t, t->code) ||
	    ptrace(PTRACE_SETREGS, t->pid, NULL, &t->regs))
		return -errno;
	return ret;
}

/* Until it has done the exec; false: it has ended before. */
static bool wait_for_exec(pid_t pid)
{
	int status, sig;

	while (waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status)) {
		if (status >> 8 == (SIGTRAP | PTRACE_EVENT_EXEC << 8))
			return true;
		sig = status >> 16 ? 0 : WSTOPSIG(status);
		ptrace(PTRACE_CONT, pid, NULL, sig);
	}
	return false;
}

static void let_go(struct tracee *t)
{
	ptrace(PTRACE_DETACH, t->pid, NULL, NULL);
	for (int i = 0; i < t->num_signals; i++)
		kill(t->pid, t->signals[i]);
}

static void trace(const struct injection *in, pid_t pid, int to)
{
	struct tracee t = { .pid = pid };
	char byte = 0;
	long ret;

	if (read(to, &byte, 1) != 1)
		return;
	if (ptrace(PTRACE_SEIZE, pid, NULL, PTRACE_O_TRACEEXEC)) {
		if (!in->quiet)
			complain(in->name, "cannot be traced: %s; it runs without a table",
				 strerror(errno));
		return;
	}
	if (write(to, &byte, 1) != 1)
		return;
	close(to);
	if (!wait_for_exec(pid))
		return;
	ret = inject(&t, in);
	if (ret && !in->quiet)
		complain(in->name, "its table cannot be registered: %s; it runs without",
			 strerror(-ret));
	let_go(&t);
}

/* The grandchild; tells its process id, and waits to be allowed. */
static void fork_tracer(const struct injection *in, pid_t pid, int to)
{
	pid_t tracer = fork();

	if (!tracer) {
		tracer = getpid();
		/* Signals of the terminal are for the program. */
		setpgid(0, 0);
		if (write(to, &tracer, sizeof(tracer)) == sizeof(tracer))
			trace(in, pid, to);
	}
	_exit(EXIT_OK);
}

/**
 * inject_after_exec() - have the next exec of this process register a table
 * @in:	The table.
 *
 * Return: whether that is going to happen; else the caller still has @in->fd to
 * close.
 */
bool inject_after_exec(const struct injection *in)
{
	pid_t self = getpid(), child, tracer;
	bool traced = false;
	int ends[2];
	char byte;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return false;
	fflush(NULL);
	child = fork();
	if (!child) {
		close(ends[0]);
		fork_tracer(in, self, ends[1]);
	}
	close(ends[1]);
	if (child > 0) {
		waitpid(child, NULL, 0);
		if (read(ends[0], &tracer, sizeof(tracer)) == sizeof(tracer)) {
			prctl(PR_SET_PTRACER, tracer, 0, 0, 0);
			traced = write(ends[0], "", 1) == 1 &&
				 read(ends[0], &byte, 1) == 1;
		}
	}
	close(ends[0]);
	return traced;
}
