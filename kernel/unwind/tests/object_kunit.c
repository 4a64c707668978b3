// SPDX-License-Identifier: GPL-2.0
/*
 * Tests what the kernel reads of ELF objects, whose content is hostile.
 */

#include <kunit/test.h>

#include <linux/elf.h>
#include <linux/sizes.h>
#include <linux/string.h>

#include "../object.h"

#define MAX_PHDRS	64
#define MAX_NOTES	16
#define BUILD_ID	3

/* An object: program headers, then notes, then code */
#define NOTES_AT	SZ_4K
#define CODE_AT		SZ_8K
#define CODE_SIZE	SZ_4K

struct object_test {
	struct unwind_layout	layout;
	/* End of the notes in the image */
	u32			notes_end;
	union {
		struct {
			struct elf64_hdr	header;
			struct elf64_phdr	phdrs[MAX_PHDRS + 1];
		};
		u8				image[CODE_AT + CODE_SIZE];
	};
};

static int object_test_init(struct kunit *test)
{
	struct object_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, t);
	test->priv = t;
	t->notes_end = NOTES_AT;
	memcpy(t->header.e_ident, ELFMAG, SELFMAG);
	t->header.e_ident[EI_CLASS] = ELFCLASS64;
	t->header.e_ident[EI_DATA] = ELF_DATA;
	t->header.e_type = ET_DYN;
	t->header.e_machine = ELF_ARCH;
	t->header.e_phoff = offsetof(struct object_test, phdrs) -
			    offsetof(struct object_test, image);
	t->header.e_phentsize = sizeof(struct elf64_phdr);
	return 0;
}

/* Add the header of a segment of @size bytes at @offset, which is also its address. */
static struct elf64_phdr *object_test_segment(struct object_test *t, u32 type, u64 offset,
					      u64 size)
{
	struct elf64_phdr *phdr = &t->phdrs[t->header.e_phnum++];

	*phdr = (struct elf64_phdr){
		.p_type = type,
		.p_flags = type == PT_LOAD ? PF_R | PF_X : PF_R,
		.p_offset = offset,
		.p_vaddr = offset,
		.p_filesz = size,
		.p_memsz = size,
	};
	return phdr;
}

/* Add a note whose content is @size bytes, the first of which is @content. */
static struct elf64_note *object_test_note(struct object_test *t, u32 type, u32 size, u8 content)
{
	struct elf64_note *note = (void *)t->image + t->notes_end;
	u8 *at = (u8 *)(note + 1) + 4;

	*note = (struct elf64_note){ .n_namesz = 4, .n_descsz = size, .n_type = type };
	strscpy((char *)(note + 1), "GNU", 4);
	if (size)
		*at = content;
	t->notes_end = at + ALIGN(size, 4) - t->image;
	return note;
}

/* Add a header for all notes. */
static void object_test_add_notes(struct object_test *t)
{
	object_test_segment(t, PT_NOTE, NOTES_AT, t->notes_end - NOTES_AT);
}

/* Read the first @size bytes of the object.  They are copied, so that KASAN sees a byte more. */
static int object_test_parse_part(struct kunit *test, size_t size)
{
	struct object_test *t = test->priv;
	struct unwind_object object = { .size = size };
	void *image = kmemdup(t->image, size, GFP_KERNEL);
	int ret;

	KUNIT_ASSERT_NOT_NULL(test, image);
	memset(&t->layout, 0xff, sizeof(t->layout));
	object.image = image;
	ret = unwind_object_parse(&object, &t->layout);
	kfree(image);
	return ret;
}

static int object_test_parse(struct kunit *test)
{
	return object_test_parse_part(test, sizeof_field(struct object_test, image));
}

static void object_headers_are_read(struct kunit *test)
{
	struct object_test *t = test->priv;
	struct elf64_phdr *phdr;

	object_test_segment(t, PT_LOAD, 0, 0x100)->p_flags = PF_R;
	object_test_segment(t, PT_LOAD, CODE_AT, 0x100)->p_vaddr = 0x7000;
	phdr = object_test_segment(t, PT_LOAD, CODE_AT + 0x100, 0x200);
	phdr->p_vaddr = 0x9100;
	phdr->p_memsz = 0x300;
	object_test_segment(t, PT_GNU_EH_FRAME, 0x200, 0x40)->p_memsz = 0x44;
	object_test_segment(t, PT_GNU_EH_FRAME, 0x300, 0x50);
	object_test_segment(t, PT_GNU_SFRAME, 0x400, 0x60)->p_vaddr = 0x5000;
	object_test_segment(t, PT_GNU_SFRAME, 0x500, 0x70);
	object_test_note(t, 1, 16, 0);
	object_test_note(t, BUILD_ID, 20, 0x42);
	object_test_note(t, BUILD_ID, 8, 0x43);
	object_test_add_notes(t);

	KUNIT_ASSERT_EQ(test, object_test_parse(test), 0);
	KUNIT_ASSERT_EQ(test, t->layout.nr_code, 2);
	KUNIT_EXPECT_EQ(test, t->layout.code[0].vaddr, 0x7000);
	KUNIT_EXPECT_EQ(test, t->layout.code[0].memory, 0x100);
	KUNIT_EXPECT_EQ(test, t->layout.code[0].offset, CODE_AT);
	KUNIT_EXPECT_EQ(test, t->layout.code[0].size, 0x100);
	KUNIT_EXPECT_EQ(test, t->layout.code[1].vaddr, 0x9100);
	KUNIT_EXPECT_EQ(test, t->layout.code[1].memory, 0x300);
	KUNIT_EXPECT_EQ(test, t->layout.code[1].offset, CODE_AT + 0x100);
	KUNIT_EXPECT_EQ(test, t->layout.code[1].size, 0x200);
	KUNIT_EXPECT_EQ(test, t->layout.eh_frame.vaddr, 0x200);
	KUNIT_EXPECT_EQ(test, t->layout.eh_frame.size, 0x44);
	KUNIT_EXPECT_EQ(test, t->layout.table.offset, 0x400);
	KUNIT_EXPECT_EQ(test, t->layout.table.vaddr, 0x5000);
	KUNIT_EXPECT_EQ(test, t->layout.table.size, 0x60);
	KUNIT_EXPECT_EQ(test, t->layout.id_size, 20);
	KUNIT_EXPECT_EQ(test, t->layout.id[0], 0x42);
}

static void object_without_headers_says_nothing(struct kunit *test)
{
	struct object_test *t = test->priv;

	KUNIT_ASSERT_EQ(test, object_test_parse(test), 0);
	KUNIT_EXPECT_EQ(test, t->layout.nr_code, 0);
	KUNIT_EXPECT_EQ(test, t->layout.eh_frame.vaddr, 0);
	KUNIT_EXPECT_EQ(test, t->layout.eh_frame.size, 0);
	KUNIT_EXPECT_EQ(test, t->layout.table.size, 0);
	KUNIT_EXPECT_EQ(test, t->layout.id_size, 0);
}

static void object_of_another_kind_is_refused(struct kunit *test)
{
	struct object_test *t = test->priv;
	struct elf64_hdr sound;
	unsigned int i;
	static const struct {
		const char	*what;
		size_t		at;
		u8		value;
	} changes[] = {
		{ "magic", 1, 'F' },
		{ "class", EI_CLASS, ELFCLASS32 },
		{ "byte order", EI_DATA, ELF_DATA == ELFDATA2LSB ? ELFDATA2MSB : ELFDATA2LSB },
		{ "machine", offsetof(struct elf64_hdr, e_machine), EM_386 },
		{ "relocatable", offsetof(struct elf64_hdr, e_type), ET_REL },
		{ "core", offsetof(struct elf64_hdr, e_type), ET_CORE },
		{ "size of headers", offsetof(struct elf64_hdr, e_phentsize), 32 },
	};

	object_test_segment(t, PT_LOAD, CODE_AT, 0x100);
	KUNIT_ASSERT_EQ(test, object_test_parse(test), 0);
	sound = t->header;
	for (i = 0; i < ARRAY_SIZE(changes); i++) {
		t->image[changes[i].at] = changes[i].value;
		KUNIT_EXPECT_EQ_MSG(test, object_test_parse(test), -ENOEXEC, "%s",
				    changes[i].what);
		t->header = sound;
	}
	t->header.e_type = ET_EXEC;
	KUNIT_EXPECT_EQ(test, object_test_parse(test), 0);
}

static void object_has_so_many_headers(struct kunit *test)
{
	struct object_test *t = test->priv;

	object_test_segment(t, PT_LOAD, CODE_AT, 0x100);
	t->header.e_phnum = MAX_PHDRS;
	KUNIT_EXPECT_EQ(test, object_test_parse(test), 0);
	t->header.e_phnum = MAX_PHDRS + 1;
	KUNIT_EXPECT_EQ(test, object_test_parse(test), -ENOEXEC);
	t->header.e_phnum = U16_MAX;
	KUNIT_EXPECT_EQ(test, object_test_parse(test), -ENOEXEC);
}

static void object_with_headers_elsewhere_is_refused(struct kunit *test)
{
	struct object_test *t = test->priv;
	const u64 end = sizeof(t->image);
	const u64 offsets[] = {
		end - sizeof(struct elf64_phdr) + 1, end, end + 1, S64_MAX,
		/* The second header would be at the start of the object. */
		-(u64)sizeof(struct elf64_phdr), U64_MAX,
	};
	unsigned int i;

	t->header.e_phnum = 2;
	for (i = 0; i < ARRAY_SIZE(offsets); i++) {
		t->header.e_phoff = offsets[i];
		KUNIT_EXPECT_EQ_MSG(test, object_test_parse(test), -ENOEXEC, "%llx", offsets[i]);
	}
	t->header.e_phoff = end - 2 * sizeof(struct elf64_phdr);
	KUNIT_EXPECT_EQ(test, object_test_parse(test), 0);
}

static void object_that_is_cut_off_is_refused(struct kunit *test)
{
	struct object_test *t = test->priv;
	size_t size, headers;

	object_test_note(t, BUILD_ID, 20, 0x42);
	object_test_add_notes(t);
	object_test_segment(t, PT_LOAD, CODE_AT, 0x100);
	headers = t->header.e_phoff + t->header.e_phnum * sizeof(struct elf64_phdr);
	for (size = 1; size < t->notes_end; size += size < headers + 8 ? 1 : 8)
		KUNIT_EXPECT_EQ_MSG(test, object_test_parse_part(test, size), -ENOEXEC,
				    "%zu bytes", size);
	KUNIT_EXPECT_EQ(test, object_test_parse_part(test, t->notes_end), -EBADMSG);
	KUNIT_EXPECT_EQ(test, object_test_parse_part(test, CODE_AT), -EBADMSG);
	KUNIT_EXPECT_EQ(test, object_test_parse_part(test, CODE_AT + 0xff), -EBADMSG);
	KUNIT_EXPECT_EQ(test, object_test_parse_part(test, CODE_AT + 0x100), 0);
}

static void object_with_too_many_executable_segments_is_refused(struct kunit *test)
{
	struct object_test *t = test->priv;
	unsigned int i;

	for (i = 0; i < UNWIND_MAX_CODE; i++)
		object_test_segment(t, PT_LOAD, CODE_AT + 16 * i, 16);
	/* These have no code. */
	object_test_segment(t, PT_LOAD, CODE_AT, 16)->p_memsz = 0;
	object_test_segment(t, PT_LOAD, CODE_AT, 16)->p_flags = PF_R | PF_W;
	KUNIT_EXPECT_EQ(test, object_test_parse(test), 0);
	KUNIT_EXPECT_EQ(test, t->layout.nr_code, UNWIND_MAX_CODE);
	object_test_segment(t, PT_LOAD, CODE_AT + 16 * i, 16);
	KUNIT_EXPECT_EQ(test, object_test_parse(test), -E2BIG);
}

/* Rows grow with the code, so 64 segments of one page would multiply it. */
static void object_with_overlapping_segments_is_refused(struct kunit *test)
{
	static const struct {
		u64	offset;
		u64	size;
		int	ret;
	} others[] = {
		{ CODE_AT + 0x80, 0x20, 0 },
		{ CODE_AT + 0x60, 0x20, 0 },
		{ CODE_AT + 0x80, 0x21, -EBADMSG },
		{ CODE_AT + 0x9f, 0x20, -EBADMSG },
		{ CODE_AT + 0xa0, 0x20, -EBADMSG },
		{ CODE_AT + 0xa8, 0x08, -EBADMSG },
		{ CODE_AT + 0xbf, 0x20, -EBADMSG },
		{ CODE_AT + 0xc0, 0x20, 0 },
		{ CODE_AT, 0x1000, -EBADMSG },
	};
	struct object_test *t = test->priv;
	struct elf64_phdr *phdr;
	unsigned int i;

	object_test_segment(t, PT_LOAD, CODE_AT + 0xa0, 0x20);
	phdr = object_test_segment(t, PT_LOAD, 0, 0);
	for (i = 0; i < ARRAY_SIZE(others); i++) {
		phdr->p_offset = others[i].offset;
		phdr->p_filesz = others[i].size;
		phdr->p_memsz = others[i].size;
		KUNIT_EXPECT_EQ_MSG(test, object_test_parse(test), others[i].ret, "%llx+%llx",
				    others[i].offset, others[i].size);
	}
}

static void object_whose_code_is_not_in_the_file_is_refused(struct kunit *test)
{
	struct object_test *t = test->priv;
	struct elf64_phdr *phdr = object_test_segment(t, PT_LOAD, CODE_AT, CODE_SIZE);

	KUNIT_EXPECT_EQ(test, object_test_parse(test), 0);
	phdr->p_offset++;
	KUNIT_EXPECT_EQ(test, object_test_parse(test), -EBADMSG);
	phdr->p_offset = -(u64)SZ_4K;
	KUNIT_EXPECT_EQ(test, object_test_parse(test), -EBADMSG);
	phdr->p_offset = CODE_AT;
	phdr->p_filesz = U64_MAX;
	phdr->p_memsz = U64_MAX;
	KUNIT_EXPECT_EQ(test, object_test_parse(test), -EBADMSG);
	/* More in the file than in memory */
	phdr->p_filesz = CODE_SIZE;
	phdr->p_memsz = CODE_SIZE - 1;
	KUNIT_EXPECT_EQ(test, object_test_parse(test), -EBADMSG);
	/* 16 GiB of code in a file of 12 KiB: what is not in the file has no rows. */
	phdr->p_memsz = 16ULL * SZ_1G;
	KUNIT_EXPECT_EQ(test, object_test_parse(test), 0);
	KUNIT_EXPECT_EQ(test, t->layout.code[0].size, CODE_SIZE);
}

static void object_build_id_is_among_so_many_notes(struct kunit *test)
{
	struct object_test *t = test->priv;
	unsigned int i;

	for (i = 1; i < MAX_NOTES; i++)
		object_test_note(t, 1, i, 0);
	object_test_note(t, BUILD_ID, 20, 0x42);
	object_test_add_notes(t);
	KUNIT_EXPECT_EQ(test, object_test_parse(test), 0);
	KUNIT_EXPECT_EQ(test, t->layout.id_size, 20);
	KUNIT_EXPECT_EQ(test, t->layout.id[0], 0x42);

	/* The notes of all segments count. */
	t->header.e_phnum = 0;
	object_test_segment(t, PT_NOTE, NOTES_AT, sizeof(struct elf64_note) + 4 + 4);
	object_test_add_notes(t);
	KUNIT_EXPECT_EQ(test, object_test_parse(test), 0);
	KUNIT_EXPECT_EQ(test, t->layout.id_size, 0);
}

static void object_notes_that_lie_are_no_build_id(struct kunit *test)
{
	static const struct {
		const char	*what;
		u32		namesz;
		u32		descsz;
		u32		type;
		const char	*name;
	} notes[] = {
		{ "long name", 5, 20, BUILD_ID, "GNU" },
		{ "huge name", U32_MAX, 20, BUILD_ID, "GNU" },
		{ "name that wraps", U32_MAX - 15, 20, BUILD_ID, "GNU" },
		{ "no name", 0, 20, BUILD_ID, "GNU" },
		{ "other name", 4, 20, BUILD_ID, "GNV" },
		{ "name without end", 4, 20, BUILD_ID, "GNUU" },
		{ "other type", 4, 20, 4, "GNU" },
		{ "no content", 4, 0, BUILD_ID, "GNU" },
		{ "short content", 4, 1, BUILD_ID, "GNU" },
		{ "long content", 4, 21, BUILD_ID, "GNU" },
		{ "huge content", 4, U32_MAX, BUILD_ID, "GNU" },
		{ "content that wraps", 4, U32_MAX - 19, BUILD_ID, "GNU" },
		{ "all huge", U32_MAX, U32_MAX, BUILD_ID, "GNU" },
	};
	struct object_test *t = test->priv;
	struct elf64_note *note = object_test_note(t, BUILD_ID, 20, 0x42);
	unsigned int i;

	object_test_add_notes(t);
	KUNIT_EXPECT_EQ(test, object_test_parse(test), 0);
	KUNIT_EXPECT_EQ(test, t->layout.id_size, 20);
	/* The segment ends before the content. */
	t->phdrs[0].p_filesz--;
	KUNIT_EXPECT_EQ(test, object_test_parse(test), 0);
	KUNIT_EXPECT_EQ(test, t->layout.id_size, 0);
	t->phdrs[0].p_filesz++;
	for (i = 0; i < ARRAY_SIZE(notes); i++) {
		note->n_namesz = notes[i].namesz;
		note->n_descsz = notes[i].descsz;
		note->n_type = notes[i].type;
		memcpy(note + 1, notes[i].name, 4);
		KUNIT_EXPECT_EQ_MSG(test, object_test_parse(test), 0, "%s", notes[i].what);
		KUNIT_EXPECT_EQ_MSG(test, t->layout.id_size, 0, "%s", notes[i].what);
	}
}

/* The segment of the notes ends after the object. */
static void object_with_notes_elsewhere_is_refused(struct kunit *test)
{
	struct object_test *t = test->priv;
	struct elf64_phdr *phdr = object_test_segment(t, PT_NOTE, sizeof(t->image) - 8, 64);

	KUNIT_EXPECT_EQ(test, object_test_parse(test), -ENOEXEC);
	phdr->p_offset = -8ULL;
	KUNIT_EXPECT_EQ(test, object_test_parse(test), -ENOEXEC);
	/* Too short for a note: nothing is read. */
	phdr->p_filesz = 8;
	KUNIT_EXPECT_EQ(test, object_test_parse(test), 0);
}

static struct kunit_case object_cases[] = {
	KUNIT_CASE(object_headers_are_read),
	KUNIT_CASE(object_without_headers_says_nothing),
	KUNIT_CASE(object_of_another_kind_is_refused),
	KUNIT_CASE(object_has_so_many_headers),
	KUNIT_CASE(object_with_headers_elsewhere_is_refused),
	KUNIT_CASE(object_that_is_cut_off_is_refused),
	KUNIT_CASE(object_with_too_many_executable_segments_is_refused),
	KUNIT_CASE(object_with_overlapping_segments_is_refused),
	KUNIT_CASE(object_whose_code_is_not_in_the_file_is_refused),
	KUNIT_CASE(object_build_id_is_among_so_many_notes),
	KUNIT_CASE(object_notes_that_lie_are_no_build_id),
	KUNIT_CASE(object_with_notes_elsewhere_is_refused),
	{}
};

static struct kunit_suite object_suite = {
	.name = "unwind_object",
	.init = object_test_init,
	.test_cases = object_cases,
};

kunit_test_suite(object_suite);

MODULE_DESCRIPTION("KUnit tests of what the unwinder reads of ELF objects");
MODULE_LICENSE("GPL");
