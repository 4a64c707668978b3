// SPDX-License-Identifier: GPL-2.0
/* sframe dump: print a table */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/complain.h"
#include "base/options.h"
#include "command.h"
#include "sframe_format.h"
#include "table/file.h"

static const char help[] =
"usage: sframe dump [OPTION]... FILE...\n"
"\n"
"Print the SFrame table of a file that 'sframe gen' wrote, or the .sframe section of\n"
"an x86-64 program or library, version 2 or 3.\n"
"\n"
"  -r, --rows   print each function's rows too\n"
"  -h, --help   this text\n"
"\n"
"A row has four columns: the first instruction; the CFA, which is the caller's stack\n"
"pointer; where the return address is; where the caller's frame pointer is, or '='\n"
"if it is still in its register.  [X] is the word at X.\n"
"\n"
"examples:\n"
"  sframe gen -o /tmp/xz.table /usr/bin/xz && sframe dump --rows /tmp/xz.table\n"
"  sframe dump ./program-built-with-Wa,--gsframe\n";

static const struct option long_options[] = {
	{ "rows", no_argument, NULL, 'r' },
	{ "help", no_argument, NULL, 'h' },
	{ }
};

static const char * const reg_names[NUM_REGS] = {
	"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "fp", "sp",
	"r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "ip",
};

static const char *base_name(u8 base)
{
	if (base == REG_CFA)
		return "cfa";
	return base < NUM_REGS ? reg_names[base] : "?";
}

static void rule_text(const struct rule *rule, char *to, size_t len)
{
	switch (rule->kind) {
	case RULE_VALUE:
		snprintf(to, len, "%s%+d", base_name(rule->base), rule->offset);
		break;
	case RULE_MEMORY:
		snprintf(to, len, rule->add ? "[%s%+d]%+d" : "[%s%+d]",
			 base_name(rule->base), rule->offset, rule->add);
		break;
	default:
		snprintf(to, len, "=");
	}
}

static void print_row(const struct entry_reader *entry, const struct row *row)
{
	u64 start = entry->start;
	char cfa[40], ra[24], fp[24];

	if (row->start >= entry->size) {
		printf("    %16" PRIx64 "  unused\n", start + row->start);
		return;
	}
	if (row->ra.kind == RULE_UNDEFINED) {
		printf("    %16" PRIx64 "  outermost\n", start + row->start);
		return;
	}
	rule_text(&row->cfa, cfa, sizeof(cfa));
	rule_text(&row->ra, ra, sizeof(ra));
	rule_text(&row->fp, fp, sizeof(fp));
	printf("    %16" PRIx64 "  %-12s %-10s %s\n", start + row->start, cfa,
	       ra, fp);
}

static void print_entry(u64 start, const struct entry_reader *entry)
{
	printf("%16" PRIx64 " %8u bytes %6u rows", start, entry->size,
	       entry->num_rows);
	if (entry->repeat)
		printf(", repeat after %u", entry->repeat);
	if (entry->is.signal)
		printf(", signal frame");
	if (entry->is.followed)
		printf(", followed");
	if (entry->flexible)
		printf(", flexible");
	putchar('\n');
}

static int print_rows(const char *name, struct entry_reader *entry)
{
	struct row row;
	int ret;

	while ((ret = table_next_row(entry, &row)) > 0)
		print_row(entry, &row);
	if (ret < 0)
		return complain(name, "function at %#" PRIx64 ": damaged; the rest is not printed",
				entry->start);
	return EXIT_OK;
}

static void print_head(const struct table *table)
{
	printf("SFrame version %u at %#" PRIx64 ", %zu bytes: %u functions, %u rows in %u bytes\n",
	       table->version, table->vaddr, table->size, table->num_entries,
	       table->num_rows, table->rows_size);
	printf("flags:%s%s%s\n",
	       table->flags & SFRAME_F_FDE_SORTED ? " sorted" : "",
	       table->flags & SFRAME_F_FRAME_POINTER ? " frame-pointer" : "",
	       table->flags & SFRAME_F_FDE_FUNC_START_PCREL ?
	       " start-from-field" : " start-from-section");
}

static int dump_table(const char *name, const u8 *bytes, size_t size,
		      u64 vaddr, bool rows)
{
	struct entry_reader entry;
	struct table table;
	const char *error = table_open(&table, bytes, size, vaddr);
	int ret = EXIT_OK;

	if (error)
		return complain(name, "%s; the table cannot be printed", error);
	print_head(&table);
	for (u32 i = 0; i < table.num_entries; i++) {
		if (!table_entry(&table, i, &entry)) {
			ret = complain(name, "function %u is damaged; it is not printed",
				       i);
			continue;
		}
		print_entry(entry.start, &entry);
		if (rows)
			ret |= print_rows(name, &entry);
	}
	return ret;
}

static void print_file_head(const struct sframe_file *head)
{
	printf("table file, %s ", head->build_id_size ? "build-id" : "headers");
	for (u32 i = 0; i < (head->build_id_size ?: SFRAME_INDEX_MAX_ID); i++)
		printf("%02x", head->build_id[i]);
	putchar('\n');
	if (head->eh_frame_size)
		printf(".eh_frame at offset %#" PRIx64 ", %" PRIu64 " bytes\n",
		       (u64)head->eh_frame_offset, (u64)head->eh_frame_size);
	for (u32 i = 0; i < head->num_text; i++)
		printf("code %#" PRIx64 ", %" PRIu64 " bytes\n",
		       (u64)head->text[i].vaddr, (u64)head->text[i].size);
}

static int dump_section(const char *name, bool rows)
{
	struct object obj;
	enum object_state state = object_open(&obj, name);
	int ret;

	if (obj.table.data)
		ret = dump_table(name, obj.table.data->d_buf,
				 obj.table.data->d_size, obj.table.vaddr, rows);
	else
		ret = complain(name, "%s; name a table file or an ELF file with .sframe",
			       state ? obj.error : "no .sframe section");
	object_close(&obj);
	return ret;
}

static int dump_file(const char *name, bool rows)
{
	struct sframe_file head;
	const char *error;
	u8 *table;
	int ret;

	error = file_read(name, &head, &table);
	if (error && table) {
		ret = complain(name, "%s; make the table again", error);
	} else if (error) {
		ret = dump_section(name, rows);
	} else {
		print_file_head(&head);
		ret = dump_table(name, table, head.table_size, head.table_vaddr,
				 rows);
	}
	free(table);
	return ret;
}

int dump_main(int argc, char **argv)
{
	int c, ret = EXIT_OK;
	bool rows = false;

	while ((c = next_option(argc, argv, "rh", long_options)) != -1) {
		switch (c) {
		case 'r':
			rows = true;
			break;
		case 'h':
			fputs(help, stdout);
			return EXIT_OK;
		default:
			return EXIT_USAGE;
		}
	}
	if (optind == argc) {
		complain("dump", "no file to print; name one");
		return EXIT_USAGE;
	}
	for (; optind < argc; optind++)
		ret |= dump_file(argv[optind], rows);
	return ret;
}
