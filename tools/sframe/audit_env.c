// SPDX-License-Identifier: GPL-2.0
/* What libsframe-audit.so has to know of the process. */
#include <fcntl.h>

#include "audit.h"

static const char *variable(char **env, const char *name)
{
	for (; *env; env++) {
		const char *at = *env, *want = name;

		while (*want && *at == *want) {
			at++;
			want++;
		}
		if (!*want && *at == '=')
			return at + 1;
	}
	return NULL;
}

static bool same(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

static char *append(char *to, const char *end, const char *text)
{
	while (to && *text) {
		if (to == end)
			return NULL;
		*to++ = *text++;
	}
	return to;
}

/* The name is copied: programs write over their environment. */
static void add_dir(const char *base, const char *below)
{
	char *dir = audit.dirs[audit.num_dirs];
	char *end = dir + AUDIT_MAX_DIR - 1;
	char *at;

	if (!base || *base != '/' || audit.num_dirs == AUDIT_MAX_DIRS)
		return;
	at = append(append(dir, end, base), end, below);
	if (!at)
		return;
	*at = '\0';
	if (!sys4(SYS_access, (u64)dir, 0, 0, 0))
		audit.num_dirs++;
}

/*
 * The auxiliary vector lies behind the environment, out of which the dynamic
 * linker may have taken variables and so left more than one NULL.
 */
static void read_auxv(char **env)
{
	const Elf64_auxv_t *aux;

	while (*env)
		env++;
	while (!*env)
		env++;
	audit.secure = true;
	for (aux = (void *)env; aux->a_type != AT_NULL; aux++) {
		if (aux->a_type == AT_SECURE)
			audit.secure = aux->a_un.a_val;
		else if (aux->a_type == AT_EUID)
			audit.uid = aux->a_un.a_val;
		else if (aux->a_type == AT_PHDR)
			audit.phdr = (void *)aux->a_un.a_val;
		else if (aux->a_type == AT_PHNUM)
			audit.num_phdr = aux->a_un.a_val;
	}
}

static void add_user_dirs(char **env)
{
	const char *base = variable(env, "XDG_CACHE_HOME");

	add_dir(variable(env, "SFRAME_CACHE_DIR"), "");
	if (base && *base == '/')
		add_dir(base, "/sframe");
	else
		add_dir(variable(env, "HOME"), "/.cache/sframe");
}

void audit_read_environment(char **env)
{
	const char *mode = variable(env, "SFRAME_AUDIT");

	read_auxv(env);
	audit.active = !mode || !same(mode, "off");
	if (!audit.active)
		return;
	if (!audit.secure) {
		audit.filtered = mode && same(mode, "seccomp");
		add_user_dirs(env);
	}
	add_dir("/var/cache/sframe", "");
}

/* "Seccomp:\t0" is a line in the first few KiB. */
static bool says_unfiltered(const char *status, long size)
{
	static const char want[] = "\nSeccomp:\t0\n";
	u32 got = 0;

	for (long i = 0; i < size; i++) {
		got = status[i] == want[got] ? got + 1 : status[i] == want[0];
		if (!want[got])
			return true;
	}
	return false;
}

/*
 * prctl(PR_GET_SECCOMP) is what a filter might kill for.  The calls here are
 * those by which the dynamic linker loads an object.  What cannot be told counts
 * as filtered.
 */
bool audit_is_filtered(void)
{
	/* A filter is a thread's; at the start there is but one, and half the work. */
	const char *name = audit.started ? "/proc/thread-self/status" :
					   "/proc/self/status";
	char status[4096];
	long fd, size;

	fd = sys4(SYS_openat, AT_FDCWD, (u64)name, O_RDONLY | O_CLOEXEC, 0);
	if (is_error(fd))
		return true;
	size = sys4(SYS_read, fd, (u64)status, sizeof(status), 0);
	sys4(SYS_close, fd, 0, 0, 0);
	return !says_unfiltered(status, size);
}
