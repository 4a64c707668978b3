// SPDX-License-Identifier: GPL-2.0
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbols.h"

#define UNKNOWN	"[unknown]"
/* /proc/kallsyms has no ends: code behind the last function is not of it. */
#define LONGEST_FUNCTION	(1 << 16)

struct kernel_name {
	uint64_t	address;
	char		*name;
};

static struct kernel_name *kernel_names;
static size_t kernel_count;

static int by_address(const void *a, const void *b)
{
	const struct kernel_name *left = a, *right = b;

	return left->address < right->address ? -1 : left->address > right->address;
}

/* Room for one more of an array that grows by doubling. */
static bool grow(void **array, size_t count, size_t size)
{
	void *more;

	if (count & (count - 1))
		return true;
	more = realloc(*array, (count ? 2 * count : 1) * size);
	if (!more)
		return false;
	*array = more;
	return true;
}

int kernel_symbols_open(void)
{
	FILE *file = fopen("/proc/kallsyms", "r");
	unsigned long long address;
	char line[512], name[256], type;
	int err = 0;

	if (!file)
		return -errno;
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%llx %c %255s", &address, &type, name) != 3 ||
		    !strchr("tTwW", type) || !address)
			continue;
		if (!grow((void **)&kernel_names, kernel_count, sizeof(*kernel_names))) {
			err = -ENOMEM;
			break;
		}
		kernel_names[kernel_count++] = (struct kernel_name){ address, strdup(name) };
	}
	fclose(file);
	if (!err && !kernel_count)
		err = -EPERM;
	qsort(kernel_names, kernel_count, sizeof(*kernel_names), by_address);
	return err;
}

void kernel_symbols_close(void)
{
	for (size_t i = 0; i < kernel_count; i++)
		free(kernel_names[i].name);
	free(kernel_names);
	kernel_names = NULL;
	kernel_count = 0;
}

const char *kernel_symbol(uint64_t address)
{
	size_t low = 0, high = kernel_count;

	/* The last that starts at or before it. */
	while (low < high) {
		size_t middle = (low + high) / 2;

		if (kernel_names[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || address - kernel_names[low - 1].address > LONGEST_FUNCTION)
		return UNKNOWN;
	return kernel_names[low - 1].name;
}

struct process {
	uint32_t	tgid;
	/* Text of /proc/TGID/maps as last seen. */
	char		*maps;
	size_t		size;
	Dwfl		*dwfl;
};

static struct process *processes;
static size_t process_count;

/* Names made here, not by libdw. */
static char **made_names;
static size_t made_count;

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_linux_proc_find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
};

static struct process *find_process(uint32_t tgid, bool add)
{
	for (size_t i = 0; i < process_count; i++) {
		if (processes[i].tgid == tgid)
			return &processes[i];
	}
	if (!add || !grow((void **)&processes, process_count, sizeof(*processes)))
		return NULL;
	processes[process_count] = (struct process){ .tgid = tgid };
	return &processes[process_count++];
}

void user_symbols_note(uint32_t tgid)
{
	struct process *process;
	char path[64], *maps = NULL, buffer[4096];
	size_t size = 0, n;
	FILE *file, *out;

	snprintf(path, sizeof(path), "/proc/%u/maps", tgid);
	file = fopen(path, "r");
	if (!file)
		return;
	out = open_memstream(&maps, &size);
	while (out && (n = fread(buffer, 1, sizeof(buffer), file)) > 0)
		fwrite(buffer, 1, n, out);
	fclose(file);
	if (!out)
		return;
	fclose(out);
	process = size ? find_process(tgid, true) : NULL;
	if (!process) {
		free(maps);
		return;
	}
	free(process->maps);
	process->maps = maps;
	process->size = size;
}

static bool report(struct process *process)
{
	FILE *file;

	if (process->dwfl)
		return true;
	file = fmemopen(process->maps, process->size, "r");
	if (!file)
		return false;
	process->dwfl = dwfl_begin(&callbacks);
	if (process->dwfl) {
		dwfl_report_begin(process->dwfl);
		dwfl_linux_proc_maps_report(process->dwfl, file);
		dwfl_report_end(process->dwfl, NULL, NULL);
	}
	fclose(file);
	return process->dwfl;
}

static const char *file_name(Dwfl_Module *module)
{
	const char *path = dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
	const char *base = path ? strrchr(path, '/') : NULL;
	char *name;

	if (!path || !grow((void **)&made_names, made_count, sizeof(*made_names)) ||
	    asprintf(&name, "[%s]", base ? base + 1 : path) < 0)
		return UNKNOWN;
	made_names[made_count++] = name;
	return name;
}

const char *user_symbol(uint32_t tgid, uint64_t address)
{
	struct process *process = find_process(tgid, false);
	Dwfl_Module *module;
	const char *name;

	if (!process || !report(process))
		return UNKNOWN;
	module = dwfl_addrmodule(process->dwfl, address);
	if (!module)
		return UNKNOWN;
	name = dwfl_module_addrname(module, address);
	return name ?: file_name(module);
}

void user_symbols_close(void)
{
	for (size_t i = 0; i < process_count; i++) {
		if (processes[i].dwfl)
			dwfl_end(processes[i].dwfl);
		free(processes[i].maps);
	}
	for (size_t i = 0; i < made_count; i++)
		free(made_names[i]);
	free(processes);
	free(made_names);
}
