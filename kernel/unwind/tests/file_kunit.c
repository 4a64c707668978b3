// SPDX-License-Identifier: GPL-2.0
/*
 * Tests what the kernel knows of files, and the room for their rows.
 */

#include <linux/elf.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/kthread.h>
#include <linux/sched/mm.h>
#include <linux/shmem_fs.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "../file.h"
#include "../look.h"
#include "../split.h"
#include "../tables.h"
#include "walk_kunit.h"

/* Where an object has its code and its table, in the file and as linked */
#define CODE_AT		PAGE_SIZE
#define TABLE_AT	(2 * PAGE_SIZE)
#define MORE_CODE_AT	(3 * PAGE_SIZE)
/* CFA of a leaf, by the table of a file and by another one */
#define FILE_CFA	8
#define OTHER_CFA	24
/* The limits that file.c and draft.c have */
#define MAX_OWN_TABLE	SZ_32K
#define MAX_OWN_CODE	SZ_16M
#define MIN_AGAIN	(HZ / 10)
#define KEPT		(10 * HZ)
#define OWN_SHARE	16

/* An object with a page of code */
struct file_test_image {
	struct elf64_hdr	header;
	struct elf64_phdr	code;
	struct elf64_phdr	table;
	struct elf64_phdr	more_code;
};

static void file_test_make_table(struct kunit *test, u64 table, u64 text, s8 cfa)
{
	struct sframe_test *t = test->priv;
	struct sframe_build *build = &t->build;

	sframe_build_start(build, SFRAME_VERSION_2);
	sframe_build_function(build, LEAF, 0x20, SFRAME_FRE_ADDR1, 0);
	sframe_build_row(build, 0, false, 1, (s8[]){ cfa });
	sframe_build_finish(build, table, text);
}

static void file_test_make_image(struct file_test_image *image, u64 code_size, u64 table_size)
{
	*image = (struct file_test_image){
		.header = {
			.e_ident = {
				ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELF_DATA,
			},
			.e_type = ET_DYN,
			.e_machine = ELF_ARCH,
			.e_phoff = offsetof(struct file_test_image, code),
			.e_phentsize = sizeof(struct elf64_phdr),
			.e_phnum = 2,
		},
		.code = {
			.p_type = PT_LOAD, .p_flags = PF_R | PF_X,
			.p_offset = CODE_AT, .p_vaddr = CODE_AT,
			.p_filesz = code_size, .p_memsz = code_size,
		},
		.table = {
			.p_type = PT_GNU_SFRAME, .p_flags = PF_R,
			.p_offset = TABLE_AT, .p_vaddr = TABLE_AT,
			.p_filesz = table_size, .p_memsz = table_size,
		},
		.more_code = {
			.p_type = PT_LOAD, .p_flags = PF_R | PF_X,
			.p_offset = MORE_CODE_AT, .p_vaddr = MORE_CODE_AT,
			.p_filesz = PAGE_SIZE, .p_memsz = PAGE_SIZE,
		},
	};
}

static void file_test_write(struct kunit *test, struct file *file, loff_t at, const void *from,
			    size_t size)
{
	KUNIT_ASSERT_EQ(test, kernel_write(file, from, size, &at), size);
}

/* The ctime of a file that has been written is older than its grain after this. */
static void file_test_settle(void)
{
	schedule_timeout_uninterruptible(4);
}

static void file_test_put(void *file)
{
	fput(file);
}

/* Make a file with an object whose own table has @table_size bytes.  It is not settled. */
static struct file *file_test_make(struct kunit *test, size_t table_size)
{
	struct sframe_test *t = test->priv;
	struct file *file = shmem_file_setup("unwind_kunit", 0, VM_NORESERVE);
	struct file_test_image *image;
	void *bytes;

	KUNIT_ASSERT_FALSE(test, IS_ERR(file));
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, file_test_put, file), 0);
	bytes = kunit_kzalloc(test, TABLE_AT + MAX_OWN_TABLE + SZ_4K, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, bytes);
	image = bytes;
	file_test_make_image(image, PAGE_SIZE, table_size);
	file_test_make_table(test, TABLE_AT, CODE_AT, FILE_CFA);
	memcpy(bytes + TABLE_AT, t->build.bytes, t->build.len);
	file_test_write(test, file, 0, bytes, TABLE_AT + MAX_OWN_TABLE + SZ_4K);
	return file;
}

/* Map the code of @file as the text of the test. */
static void file_test_map(struct kunit *test, struct file *file)
{
	struct sframe_test *t = test->priv;

	t->text = kunit_vm_mmap(test, file, 0, TEXT_SIZE, PROT_READ | PROT_EXEC, MAP_PRIVATE,
				CODE_AT);
	KUNIT_ASSERT_NE(test, t->text, 0);
	KUNIT_ASSERT_FALSE(test, IS_ERR_VALUE(t->text));
}

/* Make a file as file_test_make(), map it, and wait until it is settled. */
static struct file *file_test_map_settled(struct kunit *test, size_t table_size)
{
	struct file *file = file_test_make(test, table_size);

	file_test_map(test, file);
	file_test_settle();
	return file;
}

static void file_test_look(struct kunit *test)
{
	struct sframe_test *t = test->priv;
	long wait = 0;

	unwind_look(t->text + LEAF, &wait);
}

/* Expect that a lookup of @ip finds a row with @cfa, or that a look is due or not. */
static void file_test_expect_at(struct kunit *test, unsigned long ip, const char *when, int error,
				int cfa, bool look)
{
	struct sframe_cursor cursor = { };
	struct sframe_row row;
	int found, found_cfa = 0;

	scoped_guard(rcu) {
		found = sframe_test_find(&cursor, ip, &row);
		if (!found)
			found_cfa = row.cfa.offset;
	}
	KUNIT_EXPECT_EQ_MSG(test, found, error, "%s", when);
	KUNIT_EXPECT_EQ_MSG(test, found_cfa, cfa, "%s", when);
	KUNIT_EXPECT_EQ_MSG(test, cursor.look, look ? ip : 0, "%s", when);
}

static void file_test_expect_found(struct kunit *test, const char *when)
{
	struct sframe_test *t = test->priv;

	file_test_expect_at(test, t->text + LEAF, when, 0, FILE_CFA, false);
}

static void file_test_expect_none(struct kunit *test, const char *when, bool look)
{
	struct sframe_test *t = test->priv;

	file_test_expect_at(test, t->text + LEAF, when, -ENXIO, 0, look);
}

/* Expect no rows, and no look until MIN_AGAIN after @since. */
static void file_test_expect_not_due(struct kunit *test, const char *when, unsigned long since)
{
	struct sframe_test *t = test->priv;
	struct sframe_cursor cursor = { };
	struct sframe_row row;
	int found;

	scoped_guard(rcu)
		found = sframe_test_find(&cursor, t->text + LEAF, &row);
	KUNIT_EXPECT_EQ_MSG(test, found, -ENXIO, "%s", when);
	/* The host of a guest may have stopped it for that long. */
	if (time_before(jiffies, since + MIN_AGAIN))
		KUNIT_EXPECT_EQ_MSG(test, cursor.look, 0, "%s", when);
}

static size_t file_test_rows_size(struct kunit *test)
{
	struct sframe_test *t = test->priv;
	struct sframe_cursor cursor = { };
	struct sframe_row row;
	size_t size = 0;

	scoped_guard(rcu)
		if (!sframe_test_find(&cursor, t->text + LEAF, &row))
			size = sframe_now(&cursor)->table->size;
	return size;
}

static void file_is_known_after_a_look(struct kunit *test)
{
	struct sframe_test *t = test->priv;

	file_test_map_settled(test, t->build.len);
	file_test_expect_none(test, "before", true);
	file_test_look(test);
	file_test_expect_found(test, "after");
	/* The code has no row after the function, and nothing is missing there. */
	file_test_expect_at(test, t->text + 0x20, "no function", -ENOENT, 0, false);
}

/* The file is known, not the process. */
static void file_is_known_to_all_processes(struct kunit *test)
{
	struct mm_struct *mm = mm_alloc(), *oldmm = current->mm;
	struct sframe_test *t = test->priv;
	struct file *file;
	unsigned long text;

	KUNIT_ASSERT_NOT_NULL(test, mm);
	file = file_test_map_settled(test, t->build.len);
	file_test_look(test);
	mm->task_size = TASK_SIZE;
	arch_pick_mmap_layout(mm, &current->signal->rlim[RLIMIT_STACK]);
	kthread_unuse_mm(oldmm);
	kthread_use_mm(mm);
	text = vm_mmap(file, 0, TEXT_SIZE, PROT_READ | PROT_EXEC, MAP_PRIVATE, CODE_AT);
	if (!IS_ERR_VALUE(text))
		file_test_expect_at(test, text + LEAF, "first lookup", 0, FILE_CFA, false);
	kthread_unuse_mm(mm);
	kthread_use_mm(oldmm);
	mmput(mm);
	KUNIT_EXPECT_FALSE(test, IS_ERR_VALUE(text));
}

static void file_that_may_be_written_is_looked_at_later(struct kunit *test)
{
	struct sframe_test *t = test->priv;
	struct file *file = file_test_map_settled(test, t->build.len);
	unsigned long since;

	KUNIT_ASSERT_EQ(test, get_write_access(file_inode(file)), 0);
	since = jiffies;
	file_test_look(test);
	put_write_access(file_inode(file));
	file_test_expect_not_due(test, "open for writing", since);
	schedule_timeout_uninterruptible(MIN_AGAIN + 1);
	file_test_expect_none(test, "due", true);
	file_test_look(test);
	file_test_expect_found(test, "after");
}

static void file_that_is_mapped_for_writing_is_looked_at_later(struct kunit *test)
{
	struct sframe_test *t = test->priv;
	struct file *file = file_test_map_settled(test, t->build.len);
	unsigned long addr, since = jiffies;

	addr = vm_mmap(file, 0, PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, 0);
	KUNIT_ASSERT_FALSE(test, IS_ERR_VALUE(addr));
	file_test_look(test);
	KUNIT_ASSERT_EQ(test, vm_munmap(addr, PAGE_SIZE), 0);
	file_test_expect_not_due(test, "mapped for writing", since);
	schedule_timeout_uninterruptible(MIN_AGAIN + 1);
	file_test_look(test);
	file_test_expect_found(test, "after");
}

static void file_that_has_changed_is_looked_at_again(struct kunit *test)
{
	struct sframe_test *t = test->priv;
	struct file *file = file_test_map_settled(test, t->build.len);

	file_test_look(test);
	file_test_expect_found(test, "before");
	file_test_make_table(test, TABLE_AT, CODE_AT, OTHER_CFA);
	file_test_write(test, file, TABLE_AT, t->build.bytes, t->build.len);
	file_test_expect_none(test, "changed", true);
	file_test_settle();
	file_test_look(test);
	file_test_expect_at(test, t->text + LEAF, "after", 0, OTHER_CFA, false);
}

/* As by link(): a task looks again, and walks use the rows meanwhile. */
static void file_whose_inode_has_changed_keeps_its_rows(struct kunit *test)
{
	struct sframe_test *t = test->priv;
	struct file *file = file_test_map_settled(test, t->build.len);
	struct inode *inode = file_inode(file);
	unsigned long since, ip = t->text + LEAF;
	struct timespec64 mtime;

	file_test_look(test);
	file_test_expect_found(test, "before");
	inode_set_ctime_current(inode);
	file_test_expect_at(test, ip, "changed", 0, FILE_CFA, true);
	file_test_look(test);
	KUNIT_EXPECT_GT_MSG(test, file_test_rows_size(test), 0, "young");
	schedule_timeout_uninterruptible(MIN_AGAIN + 1);
	file_test_look(test);
	file_test_expect_found(test, "settled");
	/* Who may write now may have written. */
	KUNIT_ASSERT_EQ(test, get_write_access(inode), 0);
	inode_set_ctime_current(inode);
	since = jiffies;
	file_test_look(test);
	put_write_access(inode);
	file_test_expect_not_due(test, "open for writing", since);
	file_test_make_table(test, TABLE_AT, CODE_AT, OTHER_CFA);
	file_test_write(test, file, TABLE_AT, t->build.bytes, t->build.len);
	schedule_timeout_uninterruptible(MIN_AGAIN + 1);
	file_test_look(test);
	file_test_expect_at(test, ip, "written", 0, OTHER_CFA, false);
	file_test_make_table(test, TABLE_AT, CODE_AT, FILE_CFA);
	mtime = inode_get_mtime(inode);
	file_test_write(test, file, TABLE_AT, t->build.bytes, t->build.len);
	inode_set_mtime_to_ts(inode, mtime);
	file_test_settle();
	file_test_expect_at(test, ip, "written behind mtime", 0, OTHER_CFA, true);
	file_test_look(test);
	file_test_expect_found(test, "after");
}

static void file_with_a_large_table_is_refused(struct kunit *test)
{
	file_test_map_settled(test, MAX_OWN_TABLE);
	file_test_look(test);
	file_test_expect_found(test, "largest");
	file_test_map_settled(test, MAX_OWN_TABLE + 1);
	file_test_look(test);
	file_test_expect_none(test, "too large", false);
}

/* The task that looks would have to make an index of it all. */
static void file_with_much_code_is_refused(struct kunit *test)
{
	struct sframe_test *t = test->priv;
	struct file_test_image image;
	struct file *file;

	file = file_test_map_settled(test, t->build.len);
	file_test_make_image(&image, MAX_OWN_CODE + 1, t->build.len);
	file_test_write(test, file, 0, &image, sizeof(image));
	/* The pages that this adds are not resident, and nobody reads them. */
	KUNIT_ASSERT_EQ(test, vfs_truncate(&file->f_path, CODE_AT + MAX_OWN_CODE + 1), 0);
	file_test_settle();
	file_test_look(test);
	file_test_expect_none(test, "too much", false);
	file_test_make_image(&image, MAX_OWN_CODE, t->build.len);
	file_test_write(test, file, 0, &image, sizeof(image));
	file_test_settle();
	file_test_look(test);
	file_test_expect_found(test, "as much as may be");
}

static void file_with_a_damaged_table_is_refused(struct kunit *test)
{
	struct sframe_test *t = test->priv;
	struct file *file = file_test_map_settled(test, t->build.len);
	static const u8 none;

	file_test_write(test, file, TABLE_AT, &none, sizeof(none));
	file_test_settle();
	file_test_look(test);
	file_test_expect_none(test, "damaged", false);
}

/* The rows of the first segment are there when those of the second turn out to be damaged. */
static void file_with_a_half_damaged_table_is_refused(struct kunit *test)
{
	struct sframe_test *t = test->priv;
	struct sframe_build *build = &t->build;
	struct file_test_image image;
	struct file *file;

	file = file_test_map_settled(test, t->build.len);
	file_test_make_table(test, TABLE_AT, CODE_AT, FILE_CFA);
	sframe_build_function(build, MORE_CODE_AT - CODE_AT, 0x20, SFRAME_FRE_ADDR1, 0);
	sframe_build_row(build, 0, false, 1, (s8[]){ FILE_CFA });
	sframe_build_finish(build, TABLE_AT, CODE_AT);
	file_test_make_image(&image, PAGE_SIZE, build->len);
	image.header.e_phnum = 3;
	file_test_write(test, file, 0, &image, sizeof(image));
	file_test_write(test, file, TABLE_AT, build->bytes, build->len);
	file_test_settle();
	file_test_look(test);
	file_test_expect_found(test, "whole");
	/* Its last function has more rows than there are. */
	build->fdes[1].num_fres = 2;
	sframe_build_finish(build, TABLE_AT, CODE_AT);
	file_test_write(test, file, TABLE_AT, build->bytes, build->len);
	file_test_settle();
	file_test_look(test);
	file_test_expect_none(test, "damaged", false);
}

static void file_test_restore_limit(void *kbytes)
{
	WRITE_ONCE(unwind_tables_kbytes, (unsigned long)kbytes);
	/* Files of others may have been refused meanwhile. */
	unwind_tables_look_again();
}

/* There is room for the rows of one object.  Another one must not displace it. */
static void file_with_rows_in_use_is_kept(struct kunit *test)
{
	void *limit = (void *)(unsigned long)unwind_tables_kbytes;
	struct sframe_test *t = test->priv;
	unsigned long first, second, since;
	size_t size;

	file_test_map_settled(test, t->build.len);
	file_test_look(test);
	first = t->text;
	size = file_test_rows_size(test);
	KUNIT_ASSERT_GT(test, size, 64);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, file_test_restore_limit, limit), 0);
	WRITE_ONCE(unwind_tables_kbytes, size * OWN_SHARE / SZ_1K + 1);
	file_test_map_settled(test, t->build.len);
	since = jiffies;
	file_test_look(test);
	second = t->text;
	file_test_expect_not_due(test, "in use", since);
	t->text = first;
	file_test_expect_found(test, "in use");
	schedule_timeout_uninterruptible(KEPT);
	t->text = second;
	file_test_look(test);
	file_test_expect_found(test, "idle");
	t->text = first;
	file_test_expect_none(test, "idle", true);
}

/* A page that nobody has read, or that was swapped out: the task does not wait for it. */
static void file_whose_pages_are_missing_is_looked_at_later(struct kunit *test)
{
	struct sframe_test *t = test->priv;
	struct file *file = file_test_map_settled(test, t->build.len);
	unsigned long since;
	u64 zero = 0;

	KUNIT_ASSERT_EQ(test, vfs_truncate(&file->f_path, TABLE_AT), 0);
	/* The table's page becomes a hole. */
	file_test_write(test, file, TABLE_AT + PAGE_SIZE, &zero, sizeof(zero));
	file_test_settle();
	since = jiffies;
	file_test_look(test);
	file_test_expect_not_due(test, "hole", since);
	file_test_make_table(test, TABLE_AT, CODE_AT, FILE_CFA);
	file_test_write(test, file, TABLE_AT, t->build.bytes, t->build.len);
	file_test_settle();
	schedule_timeout_uninterruptible(MIN_AGAIN);
	file_test_look(test);
	file_test_expect_found(test, "after");
}

static void file_gives_way_to_prctl(struct kunit *test)
{
	struct sframe_test *t = test->priv;

	file_test_map_settled(test, t->build.len);
	file_test_look(test);
	file_test_expect_found(test, "before");
	file_test_make_table(test, t->table, t->text, OTHER_CFA);
	sframe_test_write(test, t->table, t->build.bytes, t->build.len);
	t->region.text_start = t->text;
	sframe_test_register(test);
	file_test_expect_at(test, t->text + LEAF, "registered", 0, OTHER_CFA, false);
	KUNIT_EXPECT_EQ(test, sframe_prctl_remove(sframe_test_put(test, &t->region),
						  sizeof(t->region)), 0);
	file_test_expect_found(test, "removed");
}

/* A task that has waited too long for a file is the last one to do so for a second. */
static void file_is_not_waited_for_in_vain_again(struct kunit *test)
{
	unsigned long patience = jiffies;

	KUNIT_EXPECT_TRUE(test, unwind_is_worth_waiting(&patience, UNWIND_LOOK_AGAIN));
	KUNIT_EXPECT_FALSE(test, unwind_is_worth_waiting(&patience, UNWIND_LOOK_GIVE_UP));
	KUNIT_EXPECT_FALSE(test, unwind_is_worth_waiting(&patience, UNWIND_LOOK_AGAIN));
	patience -= HZ;
	KUNIT_EXPECT_TRUE(test, unwind_is_worth_waiting(&patience, UNWIND_LOOK_AGAIN));
}

/**
 * struct file_test_rows - rows that only claim to take memory
 * @tables:	The rows.
 * @evicted:	They were evicted.
 */
struct file_test_rows {
	struct unwind_tables	tables;
	bool			evicted;
};

static void file_test_evicted(struct unwind_tables *tables)
{
	container_of(tables, struct file_test_rows, tables)->evicted = true;
}

/* Add @rows, which claim to take @size bytes.  If @idle, no walk has used them for long. */
static bool file_test_add_rows(struct file_test_rows *rows, size_t size, bool idle)
{
	struct unwind_table *table = kvzalloc(sizeof(*table), GFP_KERNEL);

	if (!table)
		return false;
	table->size = size;
	rows->evicted = false;
	unwind_tables_init(&rows->tables, file_test_evicted);
	spin_lock(&unwind_tables_lock);
	unwind_tables_add(&rows->tables, &table, 1);
	if (idle)
		rows->tables.used = jiffies - 11 * HZ;
	spin_unlock(&unwind_tables_lock);
	return true;
}

static bool file_test_make_room(size_t bytes, bool evict)
{
	bool room;

	spin_lock(&unwind_tables_lock);
	room = unwind_tables_make_room(bytes, evict);
	spin_unlock(&unwind_tables_lock);
	return room;
}

/* Rows in use take half of the room, idle rows a quarter, and the rest is free. */
static void file_room_is_made_by_evicting_idle_rows(struct kunit *test)
{
	static struct file_test_rows idle, in_use;
	size_t room = unwind_tables_limit();
	const void *idle_row, *row;
	bool ret;

	KUNIT_ASSERT_GT(test, room, SZ_1M);
	KUNIT_ASSERT_TRUE(test, file_test_add_rows(&idle, room / 4, true));
	ret = file_test_add_rows(&in_use, room / 2, false);
	KUNIT_EXPECT_TRUE(test, ret);
	if (!ret)
		goto out;

	/* Nothing is evicted for rows that have no room then either. */
	KUNIT_EXPECT_FALSE(test, file_test_make_room(room + 1, true));
	KUNIT_EXPECT_FALSE(test, file_test_make_room(room / 2 + room / 8, true));
	/* Or for those whose owner may not. */
	KUNIT_EXPECT_FALSE(test, file_test_make_room(room / 4 + room / 8, false));
	KUNIT_EXPECT_FALSE(test, idle.evicted);
	/* Or if there is room. */
	KUNIT_EXPECT_TRUE(test, file_test_make_room(room / 8, true));
	KUNIT_EXPECT_FALSE(test, idle.evicted);

	KUNIT_EXPECT_TRUE(test, file_test_make_room(room / 4 + room / 8, true));
	KUNIT_EXPECT_TRUE(test, idle.evicted);
	KUNIT_EXPECT_FALSE(test, in_use.evicted);
	scoped_guard(rcu) {
		idle_row = unwind_tables_use(&idle.tables, 0);
		row = unwind_tables_use(&in_use.tables, 0);
	}
	KUNIT_EXPECT_NULL(test, idle_row);
	KUNIT_EXPECT_NOT_NULL(test, row);
out:
	scoped_guard(spinlock, &unwind_tables_lock) {
		unwind_tables_drop(&idle.tables);
		if (ret)
			unwind_tables_drop(&in_use.tables);
	}
}

static struct kunit_case file_cases[] = {
	KUNIT_CASE(file_is_known_after_a_look),
	KUNIT_CASE(file_is_known_to_all_processes),
	KUNIT_CASE(file_that_may_be_written_is_looked_at_later),
	KUNIT_CASE(file_that_is_mapped_for_writing_is_looked_at_later),
	KUNIT_CASE(file_that_has_changed_is_looked_at_again),
	KUNIT_CASE(file_whose_inode_has_changed_keeps_its_rows),
	KUNIT_CASE(file_with_a_large_table_is_refused),
	KUNIT_CASE(file_with_much_code_is_refused),
	KUNIT_CASE(file_with_a_damaged_table_is_refused),
	KUNIT_CASE(file_with_a_half_damaged_table_is_refused),
	KUNIT_CASE_SLOW(file_with_rows_in_use_is_kept),
	KUNIT_CASE(file_whose_pages_are_missing_is_looked_at_later),
	KUNIT_CASE(file_gives_way_to_prctl),
	KUNIT_CASE(file_is_not_waited_for_in_vain_again),
	KUNIT_CASE(file_room_is_made_by_evicting_idle_rows),
	{}
};

/* Have the indexes of split tables read: what is known of an object without one depends on them. */
static int file_test_read_indexes(struct kunit_suite *suite)
{
	struct unwind_layout layout = { .nr_code = 1, .id_size = sizeof(layout.id) };
	struct unwind_object object = { };
	unsigned int i;

	for (i = 0; i < HZ; i++) {
		if (PTR_ERR(unwind_split_get(&object, &layout, UNWIND_LOOK_AGAIN)) != -EINPROGRESS)
			return 0;
		schedule_timeout_uninterruptible(1);
	}
	return -ETIMEDOUT;
}

static struct kunit_suite file_suite = {
	.name = "unwind_file",
	.suite_init = file_test_read_indexes,
	.init = sframe_test_init,
	.test_cases = file_cases,
};

kunit_test_suite(file_suite);

MODULE_DESCRIPTION("KUnit tests of files that the unwinder knows");
MODULE_LICENSE("GPL");
