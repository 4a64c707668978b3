// SPDX-License-Identifier: GPL-2.0
/*
 * Gives up the rights of a process that is about to parse a hostile file.
 *
 * If the file takes the process over through a fault of a library, all that the process can do
 * is read and write what is open already, and, as any user, look at the properties of a file
 * whose name it knows: the filter cannot tell fstatat() from fstat() of older C libraries.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/types.h>

#include "base/sandbox.h"

/* The user and the group "nobody". */
#define NOBODY	65534

/* AddressSanitizer makes many calls, and needs files and standard error for its reports. */
#ifdef __SANITIZE_ADDRESS__
#define OTHER_CALLS	SECCOMP_RET_ALLOW
#define CALLS_OF_ABORT	SECCOMP_RET_ALLOW
#define LAST_STREAM	STDOUT_FILENO
#else
#define OTHER_CALLS	SECCOMP_RET_KILL_PROCESS
#define CALLS_OF_ABORT	(SECCOMP_RET_ERRNO | EPERM)
#define LAST_STREAM	STDERR_FILENO
#endif

/* What it takes to read open files, to allocate memory, to write results, and to end. */
static const unsigned int allowed_calls[] = {
	__NR_read, __NR_pread64, __NR_lseek, __NR_fstat,
	__NR_brk, __NR_mmap, __NR_munmap, __NR_mremap, __NR_mprotect, __NR_madvise,
	__NR_write, __NR_writev, __NR_close, __NR_exit_group,
	/* Of qsort() of older C libraries, to find out how much memory there is */
	__NR_sysinfo,
};

/* A library that notices damage calls abort(), which needs none of these to end the process. */
static const unsigned int failing_calls[] = {
	__NR_rt_sigprocmask, __NR_rt_sigaction, __NR_gettid, __NR_getpid, __NR_tgkill,
};

const char sandbox_error[] =
	"its reader was killed: it made a system call that reading does not need";

#define LOAD(field) \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define RETURN(action)	BPF_STMT(BPF_RET | BPF_K, action)
/* Skip some instructions if what was loaded is, or is not, a value. */
#define COMPARE(value, skip_if, skip_unless) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, skip_if, skip_unless)

static struct sock_filter *put_calls(struct sock_filter *to, const unsigned int *calls,
				     size_t count, u32 action)
{
	for (size_t i = 0; i < count; i++) {
		*to++ = (struct sock_filter)COMPARE(calls[i], 0, 1);
		*to++ = (struct sock_filter)RETURN(action);
	}
	return to;
}

/* Allow a call with one value of an argument. */
static struct sock_filter *put_call_with(struct sock_filter *to, u32 call, u32 argument,
					 u32 value)
{
	*to++ = (struct sock_filter)COMPARE(call, 0, 4);
	*to++ = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument);
	*to++ = (struct sock_filter)COMPARE(value, 0, 1);
	*to++ = (struct sock_filter)RETURN(SECCOMP_RET_ALLOW);
	*to++ = (struct sock_filter)RETURN(OTHER_CALLS);
	return to;
}

/* Calls of x32 have numbers of their own, and calls of i386 another architecture. */
static bool filter_calls(void)
{
	struct sock_filter filter[4 + 2 * ARRAY_SIZE(allowed_calls) +
				  2 * ARRAY_SIZE(failing_calls) + 2 * 5 + 1] = {
		LOAD(arch),
		COMPARE(AUDIT_ARCH_X86_64, 1, 0),
		RETURN(OTHER_CALLS),
		LOAD(nr),
	};
	struct sock_fprog program = { .len = ARRAY_SIZE(filter), .filter = filter };
	struct sock_filter *to = filter + 4;

	to = put_calls(to, allowed_calls, ARRAY_SIZE(allowed_calls), SECCOMP_RET_ALLOW);
	to = put_calls(to, failing_calls, ARRAY_SIZE(failing_calls), CALLS_OF_ABORT);
	/* libelf asks whether the descriptor is open. */
	to = put_call_with(to, __NR_fcntl, offsetof(struct seccomp_data, args[1]), F_GETFD);
	/* fstat() of older C libraries.  That the name is empty, a filter cannot see. */
	to = put_call_with(to, __NR_newfstatat, offsetof(struct seccomp_data, args[3]),
			   AT_EMPTY_PATH);
	*to = (struct sock_filter)RETURN(OTHER_CALLS);
	return !syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}

/**
 * sandbox_has_filter() - whether the kernel can filter system calls
 *
 * Return: whether sandbox_enter() will leave only the calls that reading needs.
 */
bool sandbox_has_filter(void)
{
	u32 action = SECCOMP_RET_KILL_PROCESS;

	return !syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action);
}

/* What a process writes to the standard streams would seem to be the tool's message. */
static void leave_streams(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = STDIN_FILENO; fd <= LAST_STREAM; fd++)
		if (dup2(null, fd) < 0)
			close(fd);
	if (null > STDERR_FILENO)
		close(null);
}

/**
 * sandbox_enter() - give up all rights but those to open descriptors and to memory
 * @parent:	The parent, with which the process ends, even if somebody has stopped it.
 *
 * Root becomes nobody.  Any other call than those above kills the process with SIGSYS.  Where
 * root may not change its user, as in a user namespace that maps one user only, the filter has
 * to do; where the kernel has no filter, the user has to do.  The standard streams become
 * /dev/null.
 *
 * fakeroot does not make root, and its fstat() sends messages to a daemon, so there is no
 * filter below it.
 *
 * Return: NULL, or why the process still has root's rights.
 */
const char *sandbox_enter(pid_t parent)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { };
	bool root = !geteuid(), fake = geteuid() != syscall(SYS_geteuid);
	bool nobody;

	leave_streams();
	nobody = !fake && root && !setgroups(0, NULL) &&
		 !setresgid(NOBODY, NOBODY, NOBODY) && !setresuid(NOBODY, NOBODY, NOBODY);
	if (syscall(SYS_capset, &head, none) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return "its reader cannot give up its rights";
	/* A change of the user would undo this.  The parent may have ended before. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		return "its reader would outlive the tool";
	if (!fake && !filter_calls() && root && !nobody)
		return "its reader can neither change its user nor filter its system calls";
	return NULL;
}
