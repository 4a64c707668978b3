// SPDX-License-Identifier: GPL-2.0
/*
 * Functions that the dynamic linker finds by their names: those that never return, and those that
 * are in the object itself.
 */
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "code/imports.h"

/* No longer one is the name of a function that never returns. */
#define MAX_NAME	256

/* Functions of libc, libstdc++ and others that do not return */
static bool never_returns(const char *name)
{
	static const char *const names[] = {
		"_Exit", "_Unwind_Resume", "_ZSt9terminatev", "__assert_fail",
		"__assert_perror_fail", "__chk_fail", "__cxa_bad_cast", "__cxa_bad_typeid",
		"__cxa_call_terminate", "__cxa_rethrow", "__cxa_throw",
		"__cxa_throw_bad_array_new_length", "__fortify_fail", "__libc_start_main",
		"__longjmp_chk", "__stack_chk_fail", "_exit", "_longjmp", "abort", "err", "errx",
		"exit", "g_assertion_message", "g_assertion_message_expr", "longjmp",
		"pthread_exit", "quick_exit", "rb_bug", "siglongjmp", "thrd_exit", "verr", "verrx",
		NULL
	};

	for (const char *const *known = names; *known; known++)
		if (!strcmp(name, *known))
			return true;
	/* std::__throw_bad_alloc() and its like */
	return !strncmp(name, "_ZSt", 4) && strnlen(name, MAX_NAME) < MAX_NAME &&
	       strstr(name, "__throw_");
}

static bool is_function(const GElf_Sym *sym)
{
	return sym->st_shndx != SHN_UNDEF && sym->st_value &&
	       GELF_ST_TYPE(sym->st_info) == STT_FUNC;
}

static void add_section(struct imports *imports, const struct object *obj, const GElf_Shdr *shdr,
			Elf_Data *data, u64 *left)
{
	Elf_Scn *scn = elf_getscn(obj->elf, shdr->sh_link);
	struct import import;
	Elf_Data *symbols;
	GElf_Shdr symtab;
	const char *name;
	GElf_Rela rela;
	GElf_Sym sym;

	if (!scn || !gelf_getshdr(scn, &symtab) || symtab.sh_size > *left)
		return;
	*left -= symtab.sh_size;
	symbols = elf_getdata(scn, NULL);
	if (!symbols)
		return;
	for (int i = 0; gelf_getrela(data, i, &rela); i++) {
		if ((GELF_R_TYPE(rela.r_info) != R_X86_64_JUMP_SLOT &&
		     GELF_R_TYPE(rela.r_info) != R_X86_64_GLOB_DAT) ||
		    !gelf_getsym(symbols, GELF_R_SYM(rela.r_info), &sym))
			continue;
		name = elf_strptr(obj->elf, symtab.sh_link, sym.st_name);
		import = (struct import){ .pointer = rela.r_offset };
		if (!name || !never_returns(name)) {
			if (!is_function(&sym))
				continue;
			import.target = sym.st_value;
		}
		imports->at = grow(imports->at, &imports->room, imports->count,
				   sizeof(*imports->at));
		imports->at[imports->count++] = import;
	}
}

static int compare_imports(const void *a, const void *b)
{
	const struct import *first = a, *second = b;

	return first->pointer < second->pointer ? -1 : first->pointer > second->pointer;
}

/**
 * imports_add() - find an object's imports
 * @imports:	Set to them; zero before.
 * @obj:	The object.
 */
void imports_add(struct imports *imports, const struct object *obj)
{
	u64 left = 2 * obj->file_size;
	Elf_Scn *scn = NULL;
	Elf_Data *data;
	GElf_Shdr shdr;

	while ((data = object_next_section(obj, &scn, 1 << SHT_RELA, &shdr, &left)))
		if (shdr.sh_flags & SHF_ALLOC)
			add_section(imports, obj, &shdr, data, &left);
	if (imports->count)
		qsort(imports->at, imports->count, sizeof(*imports->at), compare_imports);
}

/**
 * imports_find() - find an import
 * @imports:	From imports_add().
 * @pointer:	Address of the pointer to it.
 *
 * Return: the import, or NULL if nothing is known of it.
 */
const struct import *imports_find(const struct imports *imports, u64 pointer)
{
	struct import import = { .pointer = pointer };

	if (!imports->count)
		return NULL;
	return bsearch(&import, imports->at, imports->count, sizeof(import), compare_imports);
}

/**
 * imports_free() - end
 * @imports:	From imports_add().
 */
void imports_free(struct imports *imports)
{
	free(imports->at);
}
