// SPDX-License-Identifier: GPL-2.0
/*
 * The table of a real program, at each address of its code: our rows against
 * those of libsframe, those of .eh_frame and those of the model.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <sframe-api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "test.h"

/* DWARF numbers of x86-64's registers. */
#define DW_RBP 6
#define DW_RSP 7
#define DW_R15 15
#define DW_RIP 16

#define MAX_SECTIONS 64

/* Where a table has the version of its format. */
#define VERSION_AT 2
/* SFRAME_F_FDE_FUNC_START_PCREL, of which libsframe 2.44 does not know. */
#define FUNC_START_PCREL 0x4

struct section {
	char	name[32];
	u64	start;
	u64	end;
};

struct program {
	const char	*name;
	Elf		*elf;
	Dwarf_CFI	*cfi;
	Elf_Data	*symbols;
	size_t		symbol_count;
	size_t		symbol_names;
	struct section	code[MAX_SECTIONS];
	unsigned int	code_count;
	struct unwind_table_source table;
	bool		unsorted;	/* LLVM's assembler wrote it, lld copied it */
};

static bool read_sections(struct program *program)
{
	struct unwind_table_source *table = &program->table;
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(program->elf, &names))
		return false;
	while ((section = elf_nextscn(program->elf, section))) {
		const char *name;
		GElf_Shdr header;

		if (!gelf_getshdr(section, &header))
			return false;
		name = elf_strptr(program->elf, names, header.sh_name);
		if (name && !strcmp(name, ".sframe")) {
			Elf_Data *data = elf_getdata(section, NULL);

			table->start = header.sh_addr;
			table->len = data->d_size;
			table->bytes = test_copy(data->d_buf, data->d_size);
		} else if (header.sh_type == SHT_SYMTAB) {
			program->symbols = elf_getdata(section, NULL);
			program->symbol_count = header.sh_size / header.sh_entsize;
			program->symbol_names = header.sh_link;
		} else if (header.sh_flags & SHF_EXECINSTR &&
			   program->code_count < MAX_SECTIONS) {
			struct section *code = &program->code[program->code_count++];

			snprintf(code->name, sizeof(code->name), "%s", name);
			code->start = header.sh_addr;
			code->end = header.sh_addr + header.sh_size;
		}
	}
	return table->bytes;
}

/* The executable segment is what the kernel registers the table for. */
static bool read_text(struct program *program)
{
	size_t count;

	if (elf_getphdrnum(program->elf, &count))
		return false;
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr segment;

		if (!gelf_getphdr(program->elf, i, &segment))
			return false;
		if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_X))
			continue;
		program->table.text_start = segment.p_vaddr;
		program->table.text_end = segment.p_vaddr + segment.p_memsz;
		return true;
	}
	return false;
}

static int open_program(const char *path, struct program *program)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	*program = (struct program){ .name = strrchr(path, '/') };
	program->name = program->name ? program->name + 1 : path;
	if (fd < 0) {
		test_result(false, "%s: %s", path, strerror(errno));
		return -1;
	}
	elf_version(EV_CURRENT);
	program->elf = elf_begin(fd, ELF_C_READ, NULL);
	if (program->elf && read_sections(program) && read_text(program))
		return fd;
	test_result(false, "%s: no ELF file with a .sframe section", path);
	elf_end(program->elf);
	close(fd);
	return -1;
}

bool test_elf_read(const char *path, struct unwind_table_source *source)
{
	struct program program;
	int fd = open_program(path, &program);

	if (fd < 0)
		return false;
	*source = program.table;
	elf_end(program.elf);
	close(fd);
	return true;
}

static u8 table_version(const struct unwind_table_source *source)
{
	return source->bytes[VERSION_AT];
}

static const char *symbol_at(const struct program *program, u64 address)
{
	const char *best = "?";
	u64 best_start = 0;

	for (size_t i = 0; i < program->symbol_count; i++) {
		GElf_Sym symbol;

		if (!gelf_getsym(program->symbols, i, &symbol) ||
		    symbol.st_value > address || symbol.st_value < best_start ||
		    (GELF_ST_TYPE(symbol.st_info) != STT_FUNC &&
		     GELF_ST_TYPE(symbol.st_info) != STT_NOTYPE))
			continue;
		best_start = symbol.st_value;
		best = elf_strptr(program->elf, program->symbol_names, symbol.st_name);
	}
	return best;
}

/* What libsframe says of one byte of code. */
struct reference {
	bool			present;
	struct sframe_row	row;
};

static bool libsframe_row(sframe_decoder_ctx *ctx, sframe_frame_row_entry *fre,
			  struct sframe_row *row)
{
	int error = 0;

	*row = (struct sframe_row){
		.cfa.base = SFRAME_BASE_SP,
		.ra = { .base = SFRAME_BASE_CFA, .deref = true },
		.fp.base = SFRAME_BASE_SAME,
	};
	if (sframe_fre_get_base_reg_id(fre, &error) == SFRAME_BASE_REG_FP)
		row->cfa.base = SFRAME_BASE_FP;
	row->cfa.offset = sframe_fre_get_cfa_offset(ctx, fre, &error);
	row->ra.offset = sframe_fre_get_ra_offset(ctx, fre, &error);
	if (error)
		return false;
	row->fp.offset = sframe_fre_get_fp_offset(ctx, fre, &error);
	if (!error) {
		row->fp.base = SFRAME_BASE_CFA;
		row->fp.deref = true;
	}
	return true;
}

/*
 * The rows of a function, written over each byte of its code that they hold for.
 * libsframe 2.44 only parses here: its own search, sframe_find_fre(), does not
 * look at a function's end, and takes the remainder of the wrong number in
 * functions that repeat.
 */
static bool fill_function(sframe_decoder_ctx *ctx, const struct unwind_table_source *source,
			  unsigned int index, struct reference *text)
{
	u32 count, size, text_size = source->text_end - source->text_start;
	unsigned char info;
	int32_t start;
	u8 repeat;
	s64 at;

	if (sframe_decoder_get_funcdesc_v2(ctx, index, &count, &size, &start, &info,
					   &repeat))
		return false;
	at = source->start + (s64)start - source->text_start;
	if (at < 0 || at > text_size || size > text_size - at)
		return false;
	for (u32 i = 0; i < count; i++) {
		bool repeats = SFRAME_V1_FUNC_FDE_TYPE(info) == SFRAME_FDE_TYPE_PCMASK;
		sframe_frame_row_entry fre = { };
		struct sframe_row row;

		if (sframe_decoder_get_fre(ctx, index, i, &fre) ||
		    !libsframe_row(ctx, &fre, &row))
			return false;
		for (u32 offset = 0; offset < size; offset++)
			if ((repeats ? offset % repeat : offset) >= fre.fre_start_addr)
				text[at + offset] = (struct reference){ true, row };
	}
	return true;
}

static struct reference *libsframe_rows(const struct unwind_table_source *source)
{
	struct reference *text = calloc(source->text_end - source->text_start, sizeof(*text));
	sframe_decoder_ctx *ctx;
	bool good;
	int error;

	ctx = sframe_decode((const char *)source->bytes, source->len, &error);
	good = text && ctx;
	for (u32 i = 0; good && i < sframe_decoder_get_num_fidx(ctx); i++)
		good = fill_function(ctx, source, i, text);
	sframe_decoder_free(&ctx);
	if (good)
		return text;
	free(text);
	return NULL;
}

/*
 * The linker describes a PLT by an expression on %rsp and %rip.  Works it out
 * with %rsp = 0: what is left is the offset.
 */
static bool evaluate(const Dwarf_Op *ops, size_t nops, u64 ip, s64 *result)
{
	s64 stack[8] = { };
	int top = -1;

	for (size_t i = 0; i < nops; i++) {
		const Dwarf_Op *op = &ops[i];

		if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31 && top < 7) {
			int reg = op->atom - DW_OP_breg0;

			if (reg != DW_RSP && reg != DW_RIP)
				return false;
			stack[++top] = op->number + (reg == DW_RIP ? ip : 0);
		} else if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31 && top < 7) {
			stack[++top] = op->atom - DW_OP_lit0;
		} else if (top >= 1) {
			s64 right = stack[top--];

			switch (op->atom) {
			case DW_OP_and:
				stack[top] &= right;
				break;
			case DW_OP_ge:
				stack[top] = stack[top] >= right;
				break;
			case DW_OP_shl:
				stack[top] <<= right;
				break;
			case DW_OP_plus:
				stack[top] += right;
				break;
			default:
				return false;
			}
		} else {
			return false;
		}
	}
	*result = stack[0];
	return top == 0;
}

/* A register and an offset, as an expression has them. */
static bool eh_frame_register(const Dwarf_Op *op, struct sframe_rule *rule)
{
	u64 reg;

	if (op->atom == DW_OP_bregx) {
		reg = op->number;
		rule->offset = op->number2;
	} else if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31) {
		reg = op->atom - DW_OP_breg0;
		rule->offset = op->number;
	} else {
		return false;
	}
	rule->base = reg;
	return reg <= DW_R15;
}

static bool eh_frame_cfa(Dwarf_Frame *frame, u64 ip, struct sframe_row *row)
{
	Dwarf_Op *ops;
	size_t nops;
	s64 offset;

	if (dwarf_frame_cfa(frame, &ops, &nops) || !nops)
		return false;
	if (nops == 1 || (nops == 2 && ops[1].atom == DW_OP_deref)) {
		row->cfa.deref = nops == 2;
		return eh_frame_register(ops, &row->cfa);
	}
	if (!evaluate(ops, nops, ip, &offset))
		return false;
	row->cfa.base = SFRAME_BASE_SP;
	row->cfa.offset = offset;
	return true;
}

enum saved { SAVED_NO, SAVED_AT, SAVED_UNDEFINED, SAVED_OTHER };

/* Where a register's value in the caller is. */
static enum saved eh_frame_saved(Dwarf_Frame *frame, int reg,
				 struct sframe_rule *rule)
{
	Dwarf_Op memory[3], *ops;
	size_t nops;

	if (dwarf_frame_register(frame, reg, memory, &ops, &nops))
		return SAVED_OTHER;
	if (!nops)
		return ops ? SAVED_UNDEFINED : SAVED_NO;
	rule->deref = true;
	/* An expression starts with the CFA on its stack, and may not use it. */
	if (nops == 2 && ops[0].atom == DW_OP_call_frame_cfa &&
	    eh_frame_register(&ops[1], rule))
		return SAVED_AT;
	if (ops[0].atom != DW_OP_call_frame_cfa || nops > 2 ||
	    (nops == 2 && ops[1].atom != DW_OP_plus_uconst))
		return SAVED_OTHER;
	rule->base = SFRAME_BASE_CFA;
	rule->offset = nops == 2 ? (s32)ops[1].number : 0;
	return SAVED_AT;
}

/* .eh_frame's row: -ENOENT none, -EOPNOTSUPP one that SFrame cannot say. */
static int eh_frame_row(Dwarf_CFI *cfi, u64 ip, struct sframe_row *row)
{
	int error = -EOPNOTSUPP;
	bool signal = false;
	Dwarf_Frame *frame;

	memset(row, 0, sizeof(*row));
	if (!cfi || dwarf_cfi_addrframe(cfi, ip, &frame))
		return -ENOENT;
	dwarf_frame_info(frame, NULL, NULL, &signal);
	row->signal = signal;
	if (!eh_frame_cfa(frame, ip, row))
		goto out;
	switch (eh_frame_saved(frame, DW_RIP, &row->ra)) {
	case SAVED_UNDEFINED:
		row->outermost = true;
		error = 0;
		goto out;
	case SAVED_AT:
		break;
	default:
		goto out;
	}
	switch (eh_frame_saved(frame, DW_RBP, &row->fp)) {
	case SAVED_AT:
		error = 0;
		break;
	case SAVED_OTHER:
		break;
	default:
		row->fp = (struct sframe_rule){ .base = SFRAME_BASE_SAME };
		error = 0;
	}
out:
	free(frame);
	return error;
}

struct comparison {
	const char	*with;
	unsigned long	equal;		/* the same row in both */
	unsigned long	neither;	/* no row in both */
	unsigned long	padding;	/* see is_padding() */
	unsigned long	explained;	/* see explain() */
	unsigned long	different;
	char		last[320];
};

/*
 * Why .eh_frame and the table may differ though table.c is right; NULL: it
 * is not.  All are what binutils, LLVM or lld write or do not write.
 */
static const char *explain(const struct program *program,
			   const struct section *section, const char *symbol,
			   int ours, int theirs)
{
	static const char * const no_source[] = {
		"_start", "_dl_relocate_static_pie", "_init", "_fini",
		"atexit",
	};

	/* What is linked in from the C library comes without a table. */
	for (size_t i = 0; i < ARRAY_SIZE(no_source); i++)
		if (ours == -ENOENT && !strcmp(symbol, no_source[i]))
			return "the C library's objects have no table";
	/* Its .eh_frame row is there from the first byte, but undefined. */
	if (ours == -ENOENT && theirs == -EOPNOTSUPP && !strcmp(symbol, "late_row"))
		return "row not yet defined";
	if (!strcmp(section->name, ".plt.got") && !ours && !theirs)
		return "ld says sp+16 of .plt.got";
	if (program->unsorted && !ours && theirs == -ENOENT &&
	    !strcmp(symbol, "after_empty"))
		return "of two functions at one address lld's index has the empty one";
	if (program->unsorted && !ours && theirs == -EOPNOTSUPP &&
	    !strcmp(symbol, "late_row"))
		return "LLVM has a row before it is defined";
	if (table_version(&program->table) == 3)
		return NULL;
	if (ours == -ENOENT && (strstr(symbol, "drap") || strstr(symbol, "cfa")))
		return "as 2.44 and LLVM skip functions with another CFA register";
	if (!ours && !theirs && !strcmp(symbol, "v3_outermost"))
		return "as 2.44 and LLVM forget what is undefined";
	if (!ours && !theirs && !strcmp(symbol, "v3_signal"))
		return "as 2.44 and LLVM forget that it is a signal's frame";
	return NULL;
}

/* What we and another reader say of an instruction */
struct pair {
	u64			ip;
	int			ours;
	int			theirs;
	struct sframe_row	our_row;
	struct sframe_row	their_row;
	bool			goes_on;	/* ours is that of the byte before */
};

/* Alignment takes the row before it, of which the others know nothing. */
static bool is_padding(const struct program *program, const struct pair *pair)
{
	return pair->theirs == -ENOENT && pair->goes_on &&
	       test_is_alignment(&program->table, pair->ip);
}

static void compare(struct comparison *cmp, const struct program *program,
		    const struct section *section, const struct pair *pair, bool may_explain)
{
	char our_text[64], their_text[64], line[320];
	const char *why = NULL, *symbol;

	if (pair->ours == -ENOENT && pair->theirs == -ENOENT) {
		cmp->neither++;
		return;
	}
	if (!pair->ours && !pair->theirs && test_same_row(&pair->our_row, &pair->their_row)) {
		cmp->equal++;
		return;
	}
	if (is_padding(program, pair)) {
		cmp->padding++;
		return;
	}
	symbol = symbol_at(program, pair->ip);
	if (may_explain)
		why = explain(program, section, symbol, pair->ours, pair->theirs);
	*(why ? &cmp->explained : &cmp->different) += 1;
	test_row_text(pair->ours, &pair->our_row, our_text, sizeof(our_text));
	test_row_text(pair->theirs, &pair->their_row, their_text, sizeof(their_text));
	snprintf(line, sizeof(line), "%s %s: ours %s, %s %s (%s)", section->name, symbol,
		 our_text, cmp->with, their_text, why ? why : "not explained");
	/* One line for a run of equal differences. */
	if (strcmp(line, cmp->last))
		test_note("%s %#llx %s", program->name, (unsigned long long)pair->ip, line);
	strcpy(cmp->last, line);
}

static bool check_comparison(const struct comparison *cmp, const char *name)
{
	return test_result(!cmp->different && cmp->equal,
			   "%s_every_byte_as_%s: %lu equal, %lu without a row in both, %lu of padding, %lu explained, %lu different",
			   name, cmp->with, cmp->equal, cmp->neither, cmp->padding,
			   cmp->explained, cmp->different);
}

/* Our row of a byte.  The others know no function without one. */
static struct pair look_up(const struct unwind_table *table, u64 ip, u64 offset)
{
	struct sframe_row row, before;

	unwind_table_find(table, offset, &row);
	unwind_table_find(table, offset - 1, &before);
	return (struct pair){
		.ip = ip,
		.ours = row.error == -ENODATA ? -ENOENT : row.error,
		.our_row = row,
		.goes_on = test_same_found(&row, &before),
	};
}

/* The section at @ip; one without a name where there is none. */
static const struct section *section_at(const struct program *program, u64 ip)
{
	static const struct section none = { "no section", 0, 0 };

	for (unsigned int i = 0; i < program->code_count; i++)
		if (ip >= program->code[i].start && ip < program->code[i].end)
			return &program->code[i];
	return &none;
}

/* Hold @table against the others; @reference may be NULL. */
static void compare_rows(const struct program *program, const struct unwind_table *table,
			 const struct reference *reference)
{
	struct comparison libsframe = { .with = "libsframe" };
	struct comparison eh_frame = { .with = "eh_frame" };
	u64 start = program->table.text_start;

	for (u64 ip = start; ip < program->table.text_end; ip++) {
		const struct section *section = section_at(program, ip);
		struct pair pair = look_up(table, ip, ip - start);

		if (reference) {
			pair.theirs = reference[ip - start].present ? 0 : -ENOENT;
			pair.their_row = reference[ip - start].row;
			compare(&libsframe, program, section, &pair, false);
		}
		pair.theirs = eh_frame_row(program->cfi, ip, &pair.their_row);
		compare(&eh_frame, program, section, &pair, true);
	}
	if (reference)
		check_comparison(&libsframe, program->name);
	check_comparison(&eh_frame, program->name);
}

/* The model knows -ENODATA and sframe_row::plain, too. */
static void compare_model(const struct program *program, const struct unwind_table *table)
{
	unsigned long count[TEST_AGREEMENTS] = { };

	for (u64 ip = program->table.text_start; ip < program->table.text_end; ip++) {
		enum test_agreement agreement = test_compare(table, &program->table, ip);

		if (agreement == TEST_DIFFERENT && !count[agreement])
			test_note("%s: %#llx differs", program->name, (unsigned long long)ip);
		count[agreement]++;
	}
	test_result(!count[TEST_DIFFERENT] && count[TEST_EQUAL],
		    "%s_every_byte_as_model: %lu equal, %lu of padding, %lu different",
		    program->name, count[TEST_EQUAL], count[TEST_PADDING], count[TEST_DIFFERENT]);
}

static double milliseconds(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1e3 + time.tv_nsec / 1e6;
}

static int build_error(const struct program *program)
{
	struct unwind_table *table = test_build(&program->table, 1);

	if (IS_ERR(table))
		return PTR_ERR(table);
	unwind_table_free(table);
	return 0;
}

static int by_start(const void *a, const void *b)
{
	const sframe_func_desc_entry *x = a, *y = b;

	if (x->sfde_func_start_address < y->sfde_func_start_address)
		return -1;
	return x->sfde_func_start_address > y->sfde_func_start_address;
}

/*
 * What a linker has to do with a table of version 2 from an assembler: the functions
 * in the order of their addresses, which count from where they stand.
 */
static bool sort_functions(struct unwind_table_source *source)
{
	sframe_header *header = (sframe_header *)source->bytes;
	sframe_func_desc_entry *fdes;
	size_t index;

	if (source->len < sizeof(*header) || table_version(source) != 2 ||
	    (header->sfh_preamble.sfp_flags & (SFRAME_F_FDE_SORTED | FUNC_START_PCREL)) !=
	    FUNC_START_PCREL)
		return false;
	index = sizeof(*header) + header->sfh_auxhdr_len + header->sfh_fdeoff;
	if (index > source->len ||
	    header->sfh_num_fdes > (source->len - index) / sizeof(*fdes))
		return false;
	fdes = (sframe_func_desc_entry *)(source->bytes + index);
	for (u32 i = 0; i < header->sfh_num_fdes; i++)
		fdes[i].sfde_func_start_address += i * sizeof(*fdes);
	qsort(fdes, header->sfh_num_fdes, sizeof(*fdes), by_start);
	for (u32 i = 0; i < header->sfh_num_fdes; i++)
		fdes[i].sfde_func_start_address -= i * sizeof(*fdes);
	header->sfh_preamble.sfp_flags |= SFRAME_F_FDE_SORTED;
	return true;
}

/* The table, or NULL and a failed result. */
static struct unwind_table *build_program(const struct program *program)
{
	double begin = milliseconds();
	struct unwind_table *table = unwind_table_build(&program->table, 1, GFP_KERNEL);

	begin = milliseconds() - begin;
	if (!IS_ERR(table)) {
		test_note("%s: %zu bytes of %zu, %u rows, %u rules, %.1f ms", program->name,
			  table->size, program->table.len, table->nr_rows, table->nr_rules, begin);
		unwind_table_free(table);
	}
	return test_built(&program->table, program->name);
}

static void compare_program(struct program *program)
{
	struct reference *reference = NULL;
	struct unwind_table *table;
	int error;

	error = build_error(program);
	program->unsorted = sort_functions(&program->table);
	if (program->unsorted)
		test_result(error == -EOPNOTSUPP, "%s_unsorted_is_refused: %s",
			    program->name, test_error(error));
	table = build_program(program);
	if (!table)
		return;
	/* Without the linker of its -B, gcc takes the one that writes version 2. */
	if (strstr(program->name, "-v3-"))
		test_result(table_version(&program->table) == 3, "%s_is_version_3",
			    program->name);
	/*
	 * libsframe 2.44 knows version 2 alone, and not LLVM's; .eh_frame has to do for
	 * the others.
	 */
	if (table_version(&program->table) == 2 && !program->unsorted) {
		reference = libsframe_rows(&program->table);
		test_result(reference, "%s_is_read_by_libsframe", program->name);
	}
	compare_rows(program, table, reference);
	compare_model(program, table);
	free(reference);
	unwind_table_free(table);
	test_result(!test_heap.used, "%s_frees_all: %zu bytes left", program->name,
		    test_heap.used);
}

void test_program(const char *path)
{
	struct program program;
	int fd = open_program(path, &program);

	if (fd < 0)
		return;
	program.cfi = dwarf_getcfi_elf(program.elf);
	compare_program(&program);
	dwarf_cfi_end(program.cfi);
	free((void *)program.table.bytes);
	elf_end(program.elf);
	close(fd);
}
