// SPDX-License-Identifier: GPL-2.0-only
/*
 * A set of call stacks, each with a numeric id, for BPF_MAP_TYPE_STACK_TRACE.
 *
 * All functions but init and destroy may be called in any context, NMI included.
 * No function takes a lock, and none waits for another CPU or for the code that it
 * interrupted.  The caller must stay on its CPU.  The table guarantees:
 *
 *  - A table of N entries holds N different stacks.  An insertion fails only with
 *    -ENOMEM, when N stacks are stored or when no memory is available.
 *  - An id names one stack until that stack is deleted.  After that it names no
 *    stack for the next 2^29 insertions.
 *  - Reading never removes a stack, and a lookup always finds a stored stack.
 *  - Each stack is stored once, even if many CPUs insert it at the same time.
 *
 * Layout:
 *
 *   cells   | line 0                  | line 1 ...
 *           | ctl c1 c2 c3 c4 c5 c6 c7| ctl c1 ...
 *                  |
 *                  | {hash:32, pending:1, id:31}, 0: free
 *                  v
 *   records [ index of id ]: {hash, id, cell, number of words, first block}
 *                                                                   |
 *                                                                   v
 *   pool                                          blocks of words, linked
 *
 * The hash of a stack selects its home: a line of eight words, one cache line.  The
 * stack goes into the first line from there that has a free cell.  The table has 7/4
 * cells for each entry, so nineteen of twenty stacks are at home even in a full
 * table.  A cell holds enough of the hash that lookups follow almost only matches.
 *
 * One half of ctl is the reach: how far from home stacks of this home were stored.
 * A lookup reads the lines from home up to the reach, and does not stop at a free
 * cell.  Deletion therefore only clears the cell; no tombstones are needed, and
 * lookups do not degrade over time.  The other half of ctl is a version, which lets
 * a deleter lower the reach, see ctl_shrink().
 *
 * An inserter stores a stack in three steps on the cells:
 *
 *   claim    a free cell := {hash, pending, id}     one cmpxchg
 *   settle   look at all cells that may hold the same stack.  If one is stored,
 *            give up the claim and return that cell's id.  If one is pending, its
 *            owner is inserting too, on another CPU or interrupted by us, so we
 *            must not wait for it.  The claim nearer to home wins: clear the other
 *            one, even if it is ours.  If it was ours, finish the winning claim in
 *            its owner's place.
 *   confirm  {hash, pending, id} -> {hash, id}      one cmpxchg
 *
 * Lookups accept only confirmed cells, so the owner of a claim, or a helper, returns
 * an id only after this step.  Two cells A and B of the same stack cannot both be
 * confirmed: before a cell is confirmed, a context that saw it claimed settles it.
 * If the context that settled A did not see B, then B was claimed after that look.
 * The context that settles B then looks at A's cell after A was claimed, and sees it.
 * The word of a cell never recurs while it matters, since each release of a record
 * changes the record's id.  No cmpxchg can mistake a new claim for the claim that was
 * looked at.
 *
 * The number of tries needs no bound.  A claim is cleared only in favour of a cell
 * that is stored or nearer, and nearer cells become free over and over only if others
 * keep deleting.  If no context ever deleted, one cmpxchg could replace all three
 * steps, as all inserters of the same stack would meet at the same free cell.
 *
 * Lifetime of a record and its blocks:
 *
 *   take from the free lists        (A) private
 *   fill, claim                     (B) readable through the cell
 *   settle, confirm                 stored
 *   cell := 0                       (C) removed; the context whose cmpxchg clears
 *                                   the cell, stored or pending, now owns record
 *                                   and blocks
 *   next id, put on the free lists  (D) may be taken again at once
 *
 * There is no grace period.  A context may release a record and fill it for another
 * stack while a reader reads it.  A reader therefore reads the cell, then record and
 * words, and then the cell again.  If the cell is unchanged, the record belonged to
 * the stack throughout the reads.  If it has changed, the stack was deleted
 * meanwhile, and the reader discards what it read.  Every index and block number
 * that a reader follows is valid at any time.
 *
 * Ordering:
 *
 *  - Only a successful cmpxchg is a full barrier.  The proof above needs the one of
 *    claim, against the loads of settle.  A failed cmpxchg on a cell orders nothing,
 *    and nothing relies on it: its caller checks the returned value again.
 *  - (B) pairs with the loads of record and words in rec_equal(), which have an
 *    address dependency on the cell, and with the acquire in stored_get().
 *  - (C), then (D), then (A) by the next owner, each a successful cmpxchg, order the
 *    clearing of a cell before the writes of the next owner.  They pair with
 *    smp_rmb() in still_there().  tools/testing/stack_table/litmus has the proofs.
 *  - ctl_shrink() must read ctl before the lines up to the reach that it found there.
 *    The addresses of the lines depend on the reach, but the compiler may replace the
 *    reach by a constant that it was compared with.  The read is therefore an
 *    acquire.  It pairs with ctl_cover(), whose cmpxchg follows the claim.
 *  - claim_settle() and claim_is_alone() need no order between ctl and the far lines, as
 *    they read both after the claim.  If they miss a raised reach or a far cell, the
 *    inserter that wrote it looks for cells after our claim.
 */
#include "stack_list.h"
#include "stack_table.h"

/* Words in a line, which is one cache line.  Some tests use shorter lines. */
#ifndef STACK_LINE
#define STACK_LINE		8
#endif

#define STACK_PENDING		BIT_ULL(31)

/* Added to the count: one stack fewer and one more removal, see bpf_stack_count(). */
#define STACK_COUNT_REMOVE	(BIT_ULL(32) - 1)

/*
 * Records on top of max_entries, for each CPU.  Each of its four contexts may have
 * one claim, and may have stored one stack at the same time as the last entry.
 */
#define STACK_EXTRA		8

/* Maximum number of blocks at creation, 4 MiB.  The worker adds the others in time. */
#define STACK_FILL_MAX		BIT(15)

/* Blocks of a small table at creation, 128 KiB, if its stacks may need that many. */
#define STACK_FILL_SMALL	BIT(10)

/* Minimum number of blocks at creation; with block 0 they fill a page. */
#define STACK_FILL_MIN		31U

/* Lines searched for stacks to evict where memory is short; 32 KiB. */
#define STACK_EVICT_LINES	512U

/* Never 0, so the cell of index 0, generation 0 differs from a free cell. */
static u32 hash_tag(u64 hash)
{
	return (u32)hash;
}

static u32 tag_home(const struct bpf_stack_table *table, u32 tag)
{
	return reciprocal_scale(tag, table->nr_lines);
}

static u64 cell_stored(u32 tag, u32 id)
{
	return (u64)tag << 32 | id;
}

/*
 * Read @cell to @word.  Returns whether that is stored, not pending, and has the tag of @stored, a
 * stored cell of id 0.
 */
static __always_inline bool cell_is(const atomic64_t *cell, u64 stored, u64 *word)
{
	*word = atomic64_read(cell);
	return (*word ^ stored) < STACK_PENDING;
}

/* Whether @cell has the tag of the claim with the word @mine, but is not that claim. */
static __always_inline bool cell_competes(const atomic64_t *cell, u64 mine)
{
	u64 word = atomic64_read(cell);

	return unlikely(!((word ^ mine) >> 32)) && word != mine;
}

static u32 cell_id(u64 cell)
{
	return (u32)cell & ~(u32)STACK_PENDING;
}

static u32 ctl_reach(u64 ctl)
{
	return (u32)ctl;
}

static u64 ctl_next(u64 ctl, u32 reach)
{
	return ((ctl >> 32) + 1) << 32 | reach;
}

static u32 line_add(const struct bpf_stack_table *table, u32 line, u32 distance)
{
	return distance < table->nr_lines - line ?
		line + distance : distance - (table->nr_lines - line);
}

static u32 line_distance(const struct bpf_stack_table *table, u32 from, u32 to)
{
	return to >= from ? to - from : to + (table->nr_lines - from);
}

/*
 * The product of @a and @b has 128 bits; return the sum without carry of its halves.  With the
 * carry, a factor's complement would give the complement of the result.
 */
static __always_inline u64 mul_fold(u64 a, u64 b)
{
#if defined(CONFIG_ARCH_SUPPORTS_INT128) && defined(__SIZEOF_INT128__)
	__uint128_t product = (__uint128_t)a * b;

	return (u64)product ^ (u64)(product >> 64);
#else
	return (a * b) ^ mul_u64_u64_shr(a, b, 64);
#endif
}

/**
 * bpf_stack_table_hash - hash a stack
 * @table:	Table whose secrets are used.
 * @word:	Words of the stack.
 * @nr:		Number of words.
 *
 * Each pair of words takes one multiplication, as in wyhash: of the hash so far plus the
 * first word by the secret @mul plus the second one.  Both factors depend on secrets of 64
 * bits, and so does what the number of words adds.  No way is known to choose stacks
 * with the same hash without them.
 *
 * The table stores stacks that collide all the same, in lines farther from home, and
 * compares all their words to tell them apart.
 *
 * Return: the hash, an odd number.  The lower half selects the line;
 * BPF_F_FAST_STACK_CMP compares all 64 bits.
 */
u64 bpf_stack_table_hash(const struct bpf_stack_table *table, const u64 *word,
			 u32 nr)
{
	const u64 *eights = word + (nr & ~7U);
	u64 mul = table->mul, hash = table->seed + nr * mul;

	for (; word != eights; word += 8) {
		hash = mul_fold(hash + word[0], mul + word[1]);
		hash = mul_fold(hash + word[2], mul + word[3]);
		hash = mul_fold(hash + word[4], mul + word[5]);
		hash = mul_fold(hash + word[6], mul + word[7]);
	}
	if (nr & 4) {
		hash = mul_fold(hash + word[0], mul + word[1]);
		hash = mul_fold(hash + word[2], mul + word[3]);
		word += 4;
	}
	if (nr & 2) {
		hash = mul_fold(hash + word[0], mul + word[1]);
		word += 2;
	}
	if (nr & 1)
		hash = mul_fold(hash + word[0], mul);
	return hash | 1;
}

/*
 * Compare two words at @a, in a block, with those at @b.  The words at @a may change
 * meanwhile: other contexts may delete the stack and reuse the block.
 */
static __always_inline bool two_equal(const u64 *a, const u64 *b)
{
	return READ_ONCE(a[0]) == b[0] && READ_ONCE(a[1]) == b[1];
}

static __always_inline bool four_equal(const u64 *a, const u64 *b)
{
	return two_equal(a, b) && two_equal(a + 2, b + 2);
}

/* As two_equal(), of @nr words of a block. */
static __always_inline bool block_equal(const u64 *a, const u64 *b, u32 nr)
{
	if (nr & 8) {
		if (!four_equal(a, b) || !four_equal(a + 4, b + 4))
			return false;
		a += 8;
		b += 8;
	}
	if (nr & 4) {
		if (!four_equal(a, b))
			return false;
		a += 4;
		b += 4;
	}
	if (nr & 2) {
		if (!two_equal(a, b))
			return false;
		a += 2;
		b += 2;
	}
	return !(nr & 1) || READ_ONCE(*a) == *b;
}

/* Whether @rec holds the stack of @key; valid only if still_there() afterwards. */
static __always_inline bool rec_equal(const struct bpf_stack_table *table,
				      const struct bpf_stack_rec *rec,
				      const struct bpf_stack_key *key)
{
	const struct bpf_stack_block *block;
	const u64 *word = key->word;
	u32 nr = key->nr;

	BUILD_BUG_ON(STACK_BLOCK_WORDS != 15);
	if (key->fast)
		return READ_ONCE(rec->hash) == key->hash;
	if (READ_ONCE(rec->nr) != nr)
		return false;
	block = bpf_stack_block(&table->pool, READ_ONCE(rec->block));
	for (; nr > STACK_BLOCK_WORDS; nr -= STACK_BLOCK_WORDS, word += STACK_BLOCK_WORDS) {
		if (!block_equal(block->word, word, STACK_BLOCK_WORDS))
			return false;
		block = bpf_stack_block(&table->pool, READ_ONCE(block->next));
	}
	return block_equal(block->word, word, nr);
}

static struct bpf_stack_rec *rec_of(const struct bpf_stack_table *table, u32 id)
{
	return &table->recs[bpf_stack_table_index(table, id)];
}

/*
 * Check @cell again after reading the record and words that it leads to.  Returns
 * false if the cell has changed: the caller may have read parts of another stack then.
 */
static __always_inline bool still_there(const atomic64_t *cell, u64 word)
{
	/* Pairs with the cmpxchg that clears the cell, see "Ordering". */
	smp_rmb();
	return likely((u64)atomic64_read(cell) == word);
}

/* As find_key(), for stacks that are not all at home, or have the tag of another. */
static noinline int find_lines(const struct bpf_stack_table *table,
			       const struct bpf_stack_key *key)
{
	u32 tag = hash_tag(key->hash), home = tag_home(table, tag), reach, d, i;
	const u64 stored = cell_stored(tag, 0);
	const atomic64_t *cells;
	u64 cell;

	reach = ctl_reach(atomic64_read(&table->cells[home * STACK_LINE]));
	for (d = 0; d <= reach; d++) {
		cells = &table->cells[line_add(table, home, d) * STACK_LINE];
		for (i = 1; i < STACK_LINE; i++) {
			if (cell_is(&cells[i], stored, &cell) &&
			    rec_equal(table, rec_of(table, cell_id(cell)), key) &&
			    still_there(&cells[i], cell))
				return cell_id(cell);
		}
	}
	return -ENOENT;
}

/*
 * As find_key(), for the usual case: all stacks of this home are there, and no two have the tag.
 * Returns -EAGAIN if they do not.
 *
 * An inserter raises the reach before it confirms a stack, and a deleter never lowers it
 * below a line that holds one, so the reach covers all stored stacks.  See ctl_cover() and
 * ctl_shrink().
 */
static __always_inline int find_home(const struct bpf_stack_table *table,
				     const struct bpf_stack_key *key)
{
	const u32 tag = hash_tag(key->hash);
	const atomic64_t *cells = &table->cells[tag_home(table, tag) * STACK_LINE];
	const u64 stored = cell_stored(tag, 0);
	u64 cell;
	u32 i;

	stack_unrolled
	for (i = 1; i < STACK_LINE; i++)
		if (cell_is(&cells[i], stored, &cell))
			goto found;
	return likely(!ctl_reach(atomic64_read(cells))) ? -ENOENT : -EAGAIN;

found:
	if (likely(rec_equal(table, rec_of(table, cell_id(cell)), key) &&
		   still_there(&cells[i], cell)))
		return cell_id(cell);
	return -EAGAIN;
}

/* Look up the stack of @key.  Returns its id, or -ENOENT if it is not stored. */
static __always_inline int find_key(const struct bpf_stack_table *table,
				    const struct bpf_stack_key *key)
{
	int id = find_home(table, key);

	return likely(id != -EAGAIN) ? id : find_lines(table, key);
}

/* Link of record number @number in its free list: a free record's @nr is unused. */
static u32 *rec_link(const void *table, u32 number)
{
	const struct bpf_stack_table *t = table;

	/* A taker may follow a record that is no longer free, whose @nr is any number. */
	return &t->recs[(number - 1) & (t->nr_index - 1)].nr;
}

/* Take a record from @head, and a batch of more records for the CPU's list @own. */
static u32 rec_take_from(struct bpf_stack_table *table, atomic64_t *head,
			 atomic64_t *own)
{
	u32 number = stack_list_refill(head, own, 1, table->pool.batch,
				       rec_link, table);
	u32 *link;

	return number ?: stack_list_pop(head, rec_link, table, &link);
}

/*
 * Take a record from the common lists, with a batch of more for @own.  If both are
 * empty, take one from the list of any CPU.
 */
static u32 rec_take_any(struct bpf_stack_table *table, atomic64_t *own)
{
	u32 turn = READ_ONCE(table->turn), number, *link, i;

	number = rec_take_from(table, &table->free[turn % 2], own);
	if (unlikely(!number)) {
		/* If this fails, another context has switched the lists already. */
		cmpxchg(&table->turn, turn, turn + 1);
		number = rec_take_from(table, &table->free[(turn + 1) % 2], own);
	}
	for (i = 0; unlikely(!number) && i < nr_cpu_ids; i++)
		number = stack_list_pop(&table->pool.cpus[i].recs, rec_link, table, &link);
	return number;
}

/* The number of changes to all lists of free records. */
static u64 rec_lists_version(const struct bpf_stack_table *table)
{
	u64 sum = stack_list_version(&table->free[0]);
	u32 i;

	sum += stack_list_version(&table->free[1]);
	for (i = 0; i < nr_cpu_ids; i++)
		sum += stack_list_version(&table->pool.cpus[i].recs);
	return sum;
}

/*
 * Each list was empty when this context looked at it, but other contexts may have put
 * records on one list while it looked at the next.  No record is free only if no list
 * changes during a pass over all of them.  If one does, another context has made
 * progress, so this loop is lock-free.
 */
static noinline u32 rec_take_again(struct bpf_stack_table *table, atomic64_t *own)
{
	u64 version;
	u32 number;

	do {
		version = rec_lists_version(table);
		/* Read the versions before the lists ... */
		smp_rmb();
		number = rec_take_any(table, own);
		/* ... and again after the last list: every change counts a version up. */
		smp_rmb();
	} while (!number && rec_lists_version(table) != version);
	return number;
}

static noinline u32 rec_refill(struct bpf_stack_table *table)
{
	atomic64_t *own = &table->pool.cpus[raw_smp_processor_id()].recs;
	u32 number = rec_take_any(table, own);

	return likely(number) ? number : rec_take_again(table, own);
}

/*
 * Take a free record from this CPU's list, or else from the common lists.  Contexts
 * take records from one of the two common lists and put them on the other.  When the
 * first is empty the lists change roles.  So a record is reused only after all other
 * records, and its generations last as long as possible.
 *
 * Returns the record's index, or -1 if no record is free.  That takes more
 * simultaneous insertions than STACK_EXTRA allows for.
 */
static __always_inline s64 rec_take(struct bpf_stack_table *table)
{
	u32 number, *link;
	atomic64_t *head;

	if (table->pool.batch)
		head = &table->pool.cpus[raw_smp_processor_id()].recs;
	else
		head = &table->free[READ_ONCE(table->turn) % 2];
	number = stack_list_pop(head, rec_link, table, &link);
	return (s64)(likely(number) ? number : rec_refill(table)) - 1;
}

/* Put the record at @index on a free list; no cell may lead to its blocks any more. */
static void rec_put(struct bpf_stack_table *table, u32 index)
{
	u32 turn = READ_ONCE(table->turn);

	stack_list_put(&table->free[(turn + 1) % 2], index + 1, index + 1,
		       rec_link, table);
}

/* Free the record and blocks of @id, which the caller owns.  No cell may have @id. */
static void rec_release(struct bpf_stack_table *table, u32 id)
{
	struct bpf_stack_rec *rec = rec_of(table, id);

	bpf_stack_pool_put(&table->pool, rec->block, rec->nr);
	/* The old id must not name the next stack. */
	WRITE_ONCE(rec->id, (id + table->nr_index) & ~(u32)STACK_PENDING);
	rec_put(table, bpf_stack_table_index(table, id));
}

/*
 * A claim of this or another inserter: the stack, its home line, the position of the
 * claimed cell and the word in it.
 */
struct stack_claim {
	const struct bpf_stack_key *key;
	u32 home;
	u32 at;
	u64 cell;
};

/* Claim the first free cell from home for @rec.  Returns false if no cell is free. */
static __always_inline bool claim_cell(struct bpf_stack_table *table, struct stack_claim *claim,
				       struct bpf_stack_rec *rec)
{
	u32 line = claim->home, d, i;
	atomic64_t *cells;
	s64 free;

	for (d = 0; d < table->nr_lines; d++, line = line_add(table, line, 1)) {
		cells = &table->cells[line * STACK_LINE];
		for (i = 1; i < STACK_LINE; i++) {
			free = atomic64_read(&cells[i]);
			if (free)
				continue;
			claim->at = line * STACK_LINE + i;
			/* stored_get() reads this once the cell is confirmed. */
			WRITE_ONCE(rec->cell, claim->at);
			if (atomic64_try_cmpxchg(&cells[i], &free, claim->cell))
				return true;
		}
	}
	return false;
}

/*
 * Raise the reach of @home to at least @distance lines, and return it.  Called
 * between claim and confirm.  The new version makes each ctl_shrink() fail that began
 * earlier and may have missed the claimed cell.  Cells at home need no cover, as no
 * ctl_shrink() lowers the reach below 0.
 */
static u32 ctl_cover(struct bpf_stack_table *table, u32 home, u32 distance)
{
	atomic64_t *ctl = &table->cells[home * STACK_LINE];
	u64 old = atomic64_read(ctl), seen;
	u32 reach;

	if (likely(!distance))
		return ctl_reach(old);
	for (;; old = seen) {
		reach = max(ctl_reach(old), distance);
		seen = atomic64_cmpxchg(ctl, old, ctl_next(old, reach));
		if (seen == old)
			return reach;
	}
}

/* Whether any cell in @line, stored or pending, has @home as its home. */
static bool line_has_home(const struct bpf_stack_table *table, u32 line,
			  u32 home)
{
	u64 cell;
	u32 i;

	for (i = 1; i < STACK_LINE; i++) {
		cell = atomic64_read(&table->cells[line * STACK_LINE + i]);
		if (cell && tag_home(table, cell >> 32) == home)
			return true;
	}
	return false;
}

/*
 * Lower the reach of @home to its farthest cell, after one away from @home has been
 * cleared.  An inserter that claims a cell meanwhile calls ctl_cover() after its
 * claim: either we see its cell, or our cmpxchg finds another version and fails.  The
 * reach then stays too high until the next such deletion, which makes lookups slower,
 * but not wrong.
 */
static void ctl_shrink(struct bpf_stack_table *table, u32 home)
{
	atomic64_t *ctl = &table->cells[home * STACK_LINE];
	u64 old = atomic64_read_acquire(ctl);
	u32 reach = ctl_reach(old);

	while (reach &&
	       !line_has_home(table, line_add(table, home, reach), home))
		reach--;
	if (reach != ctl_reach(old))
		atomic64_cmpxchg(ctl, old, ctl_next(old, reach));
}

/*
 * Clear the cell at @at if it still contains @cell, and free its record and blocks.
 * Returns false if another context has changed the cell.
 */
static bool clear_cell(struct bpf_stack_table *table, u32 at, u64 cell)
{
	u32 home = tag_home(table, cell >> 32);

	if ((u64)atomic64_cmpxchg(&table->cells[at], cell, 0) != cell)
		return false;

	/* The cmpxchg succeeds in one context only, which now owns record and blocks. */
	if (unlikely(at / STACK_LINE != home))
		ctl_shrink(table, home);
	rec_release(table, cell_id(cell));
	return true;
}

/* Give up a claim.  Returns false if another context has cleared or confirmed it. */
static bool clear_claim(struct bpf_stack_table *table, u32 at, u64 cell)
{
	if (!clear_cell(table, at, cell))
		return false;
	this_cpu_inc(table->stats->races);
	return true;
}

/*
 * Remove a stored stack.  Returns false if another context has removed it.  The count
 * changes first: a context that does not find the stack must not see a count that
 * includes it, see make_room().
 */
static bool remove_stored(struct bpf_stack_table *table, u32 at, u64 cell)
{
	atomic64_add(STACK_COUNT_REMOVE, &table->count);
	if (clear_cell(table, at, cell))
		return true;
	atomic64_inc(&table->count);
	return false;
}

/*
 * Whether @word, read from @cell, is a stored or pending cell of the stack of @key.
 * False if the cell has changed: the owner of a claim made there since settles it
 * after our claim, and sees ours.
 */
static noinline bool cell_equal(const struct bpf_stack_table *table,
				const atomic64_t *cell, u64 word,
				const struct bpf_stack_key *key)
{
	if (!rec_equal(table, rec_of(table, cell_id(word)), key))
		return false;
	/* As in still_there(), but the cell may have been confirmed meanwhile. */
	smp_rmb();
	return !(((u64)atomic64_read(cell) ^ word) & ~STACK_PENDING);
}

/*
 * Look for other cells of the same stack in the lines up to @reach from home.
 * @distance is the line of our claim, counted from home.  Claims that are farther
 * from home than ours are cleared.  Returns the position of the first cell that is
 * stored or nearer, with its word in @found, or 0 if there is none.
 */
static u32 claim_settle(struct bpf_stack_table *table, const struct stack_claim *claim,
			u32 distance, u32 reach, u64 *found)
{
	const u32 mine = distance * STACK_LINE + claim->at % STACK_LINE;
	const u32 tag = hash_tag(claim->key->hash);
	const atomic64_t *cells;
	u32 d, i, line, rank;
	u64 cell;

	for (d = 0; ; d++) {
		line = line_add(table, claim->home, d) * STACK_LINE;
		cells = &table->cells[line];
		for (i = 1; i < STACK_LINE; i++) {
			cell = atomic64_read(&cells[i]);
			if (likely(cell >> 32 != tag))
				continue;
			rank = d * STACK_LINE + i;
			if (rank == mine)
				continue;
			/* Look again if another context changed the cell. */
			while (cell >> 32 == tag &&
			       cell_equal(table, &cells[i], cell, claim->key)) {
				if (rank < mine || !(cell & STACK_PENDING)) {
					*found = cell;
					return line + i;
				}
				if (clear_claim(table, line + i, cell))
					break;
				cell = atomic64_read(&cells[i]);
			}
		}
		if (d >= reach)
			return 0;
	}
}

/* Confirm @claim.  Returns as claim_finish() does. */
static __always_inline int claim_confirm(struct bpf_stack_table *table,
					 const struct stack_claim *claim)
{
	s64 cell = claim->cell;

	if (unlikely(!atomic64_try_cmpxchg(&table->cells[claim->at], &cell,
					   cell & ~STACK_PENDING)))
		return -EAGAIN;
	atomic64_inc(&table->count);
	this_cpu_inc(table->stats->stored);
	return cell_id(cell);
}

/*
 * As ctl_cover() and claim_settle(), for the usual case: whether @claim is at home, all stacks of
 * this home are, and no other cell has the tag.  If another context has confirmed @claim, or
 * cleared it, claim_finish() or claim_confirm() notices.
 */
static __always_inline bool claim_is_alone(const struct bpf_stack_table *table,
					   const struct stack_claim *claim)
{
	const atomic64_t *cells = &table->cells[claim->home * STACK_LINE];
	u32 i;

	if (claim->at / STACK_LINE != claim->home || ctl_reach(atomic64_read(cells)))
		return false;
	stack_unrolled
	for (i = 1; i < STACK_LINE; i++)
		if (cell_competes(&cells[i], claim->cell))
			return false;
	return true;
}

/*
 * Settle and confirm @claim, or give it up for another cell of the same stack.
 * Returns the id of the stack, or -EAGAIN if another context has cleared or confirmed
 * the claim.
 */
static noinline int claim_finish(struct bpf_stack_table *table, struct stack_claim *claim)
{
	u32 distance, reach, other;
	u64 found;

	for (;;) {
		distance = line_distance(table, claim->home,
					 claim->at / STACK_LINE);
		reach = ctl_cover(table, claim->home, distance);
		other = claim_settle(table, claim, distance, reach, &found);
		if (!other)
			break;
		if (!(found & STACK_PENDING)) {
			clear_claim(table, claim->at, claim->cell);
			this_cpu_inc(table->stats->hits);
			return cell_id(found);
		}
		/* The other claim is nearer to home, so this loop ends. */
		if (!clear_claim(table, claim->at, claim->cell))
			return -EAGAIN;
		claim->at = other;
		claim->cell = found;
	}

	return claim_confirm(table, claim);
}

/*
 * Remove a stored stack to make room for that of @key.  The search begins in the line
 * *@from, counted from the home of @key, at a cell that the hash of @key selects: always
 * taking the first cell would often evict the newest stack.  Sets *@from to the line for
 * the next search.
 */
static bool evict_any(struct bpf_stack_table *table,
		      const struct bpf_stack_key *key, u32 *from, u32 end)
{
	u32 home = tag_home(table, hash_tag(key->hash)), d, i, at, first;
	u64 cell;

	first = reciprocal_scale(key->hash >> 32, STACK_LINE - 1);
	for (d = *from; d < end; d++) {
		for (i = 0; i < STACK_LINE - 1; i++) {
			at = line_add(table, home, d) * STACK_LINE + 1;
			at += (first + i) % (STACK_LINE - 1);
			cell = atomic64_read(&table->cells[at]);
			if (!cell || cell & STACK_PENDING)
				continue;
			if (!remove_stored(table, at, cell))
				continue;
			this_cpu_inc(table->stats->evicted);
			*from = d;
			return true;
		}
	}
	return false;
}

/* A new record with the stack of @key, in no cell yet, or NULL if memory is short. */
static __always_inline struct bpf_stack_rec *rec_new(struct bpf_stack_table *table,
						     const struct bpf_stack_key *key)
{
	u32 block = bpf_stack_pool_take(&table->pool, key->word, key->nr);
	struct bpf_stack_rec *rec;
	s64 index;

	if (unlikely(!block))
		return NULL;
	index = rec_take(table);
	if (unlikely(index < 0)) {
		bpf_stack_pool_put(&table->pool, block, key->nr);
		return NULL;
	}
	rec = &table->recs[index];
	/* Readers of the record's last stack may still read these fields. */
	WRITE_ONCE(rec->hash, key->hash);
	WRITE_ONCE(rec->nr, key->nr);
	WRITE_ONCE(rec->block, block);
	return rec;
}

static noinline int find_again(const struct bpf_stack_table *table,
			       const struct bpf_stack_key *key)
{
	int id = find_key(table, key);

	if (likely(id >= 0))
		this_cpu_inc(table->stats->hits);
	return id;
}

/* Whether the table has room for one more stack.  If not, make_room() looks again. */
static bool has_room(const struct bpf_stack_table *table)
{
	return bpf_stack_table_count(table) < table->max_entries;
}

/*
 * Check that the table has room for one more stack, or evict one if @reuse.  Returns
 * 0 if there is room, the id of the stack of @key if another context has just stored
 * it, or -ENOMEM.
 *
 * Claims do not count: of two contexts that insert the same stack, the later one must
 * not fail because of the other.  The table may therefore exceed max_entries by the
 * number of simultaneous insertions.
 *
 * The table is full only if the count is the same before and after the search.  Each
 * removal changes the count for good, so an equal count means that nothing was
 * removed meanwhile: all counted stacks were stored throughout, and that of @key was
 * not among them.  If the count differs, another context has made progress.
 */
static noinline int make_room(struct bpf_stack_table *table,
			      const struct bpf_stack_key *key, bool reuse)
{
	u64 count;
	u32 line;
	int id;

	do {
		/*
		 * Pairs with the confirm before atomic64_inc() in claim_confirm(): a
		 * context that sees the count sees the counted stacks as well.
		 */
		count = atomic64_read_acquire(&table->count);
		if (bpf_stack_count(count) < table->max_entries)
			return 0;
		id = find_again(table, key);
		if (id >= 0)
			return id;
		line = 0;
		if (reuse && evict_any(table, key, &line, table->nr_lines))
			return 0;
		/* Pairs with remove_stored(), whose cmpxchg follows the count. */
		smp_rmb();
	} while ((u64)atomic64_read(&table->count) != count);
	this_cpu_inc(table->stats->lost_full);
	return -ENOMEM;
}

/* Claim a cell for @rec, which holds the stack of @key, and finish the claim. */
static int insert_rec(struct bpf_stack_table *table,
		      const struct bpf_stack_key *key, struct bpf_stack_rec *rec)
{
	u32 tag = hash_tag(key->hash), id = rec->id;
	struct stack_claim claim = {
		.key = key,
		.home = tag_home(table, tag),
		.cell = cell_stored(tag, id) | STACK_PENDING,
	};

	if (unlikely(!claim_cell(table, &claim, rec))) {
		rec_release(table, id);
		return -ENOMEM;
	}
	/* From the claim on, the record belongs to the context that clears the cell. */
	if (likely(claim_is_alone(table, &claim)))
		return claim_confirm(table, &claim);
	return claim_finish(table, &claim);
}

/* Remember that @id was stored with reuse, for evict_newest(); a lost update does no harm. */
static void note_newest(struct bpf_stack_table *table, u32 id)
{
	u32 next = READ_ONCE(table->next_newest);

	WRITE_ONCE(table->newest[next % STACK_TABLE_NEWEST],
		   READ_ONCE(rec_of(table, id)->cell) / STACK_LINE);
	WRITE_ONCE(table->next_newest, next + 1);
}

/* As evict_any(), but search only where the newest stacks were stored. */
static bool evict_newest(struct bpf_stack_table *table, const struct bpf_stack_key *key)
{
	u32 home = tag_home(table, hash_tag(key->hash)), i, line;

	for (i = 0; i < STACK_TABLE_NEWEST; i++) {
		line = line_distance(table, home, READ_ONCE(table->newest[i]));
		if (evict_any(table, key, &line, line + 1))
			return true;
	}
	return false;
}

/*
 * As rec_new(), but evict other stacks, which give their memory back, if memory is short.  Each
 * has at least one block, so no more than the new stack needs are evicted.  In a table that is
 * almost empty, the search gives up and takes the newest stacks: other contexts may be waiting
 * for this one.
 */
static noinline struct bpf_stack_rec *rec_new_evict(struct bpf_stack_table *table,
						    const struct bpf_stack_key *key)
{
	u32 tries = DIV_ROUND_UP(key->nr, STACK_BLOCK_WORDS), line = 0;
	u32 end = min(table->nr_lines, STACK_EVICT_LINES);
	struct bpf_stack_rec *rec = NULL;

	while (!rec && tries--) {
		if (!evict_any(table, key, &line, end)) {
			line = end;
			if (!evict_newest(table, key))
				break;
		}
		rec = rec_new(table, key);
	}
	return rec;
}

/* Insert the stack of @key, which a lookup has just missed. */
static noinline int insert_key(struct bpf_stack_table *table,
			       const struct bpf_stack_key *key, bool reuse)
{
	struct bpf_stack_rec *rec;
	int id;

	/* With @reuse, get memory for the new stack before evicting another one. */
	if (!reuse && unlikely(!has_room(table))) {
		id = make_room(table, key, false);
		if (id)
			return id;
	}
	do {
		rec = rec_new(table, key);
		if (unlikely(!rec) && reuse)
			rec = rec_new_evict(table, key);
		if (unlikely(!rec)) {
			this_cpu_inc(table->stats->lost_nomem);
			return -ENOMEM;
		}
		if (reuse && !has_room(table)) {
			id = make_room(table, key, true);
			if (id) {
				rec_release(table, rec->id);
				return id;
			}
		}
		id = insert_rec(table, key, rec);
		if (id == -EAGAIN)
			id = find_again(table, key);
	} while (id == -ENOENT);
	if (unlikely(id == -ENOMEM))
		this_cpu_inc(table->stats->lost_nomem);
	else if (reuse && id >= 0)
		note_newest(table, id);
	return id;
}

/* As bpf_stack_table_get(), if find_home() is not enough. */
static noinline int get_by_lines(struct bpf_stack_table *table,
				 const struct bpf_stack_key *key, bool reuse)
{
	int id = find_again(table, key);

	return id >= 0 ? id : insert_key(table, key, reuse);
}

/**
 * bpf_stack_table_get - look up a stack, and store it if it is new
 * @table:	Table to search.
 * @key:	Stack to look up.
 * @reuse:	Evict another stack if the table is full, or several if memory is short.
 *
 * Context: Any, NMI included.
 * Return: the id of the stack, or -ENOMEM if the table is full or no memory is
 * available.
 */
int bpf_stack_table_get(struct bpf_stack_table *table,
			const struct bpf_stack_key *key, bool reuse)
{
	int id = find_home(table, key);

	/* These are tail calls, so that a stack that is at home needs no frame here. */
	if (unlikely(id == -EAGAIN))
		return get_by_lines(table, key, reuse);
	if (unlikely(id < 0))
		return insert_key(table, key, reuse);
	this_cpu_inc(table->stats->hits);
	return id;
}

/*
 * The record of @id, or NULL if no stack with that id is stored.  @at and @cell are
 * set to the position of its cell and the word in it.  The cell decides: a pending or
 * cleared one means that the stack is not stored.
 */
static const struct bpf_stack_rec *
stored_get(const struct bpf_stack_table *table, u32 id, u32 *at, u64 *cell)
{
	const struct bpf_stack_rec *rec;

	if (id & (u32)STACK_PENDING)
		return NULL;
	rec = rec_of(table, id);
	if (READ_ONCE(rec->id) != id)
		return NULL;
	*at = READ_ONCE(rec->cell);
	*cell = cell_stored(hash_tag(READ_ONCE(rec->hash)), id);
	/*
	 * An id may be known before its stack is stored, and the address of the
	 * cell comes from the record.  No dependency orders the caller's reads
	 * of record and words after this load, so it must be an acquire.
	 */
	return (u64)atomic64_read_acquire(&table->cells[*at]) == *cell ? rec : NULL;
}

/**
 * bpf_stack_table_has - whether a stack is still stored
 * @table:	Table to search.
 * @id:		Id that an earlier lookup returned.
 *
 * A stored stack counts as a hit.
 *
 * Return: true if the stack is stored.
 */
bool bpf_stack_table_has(struct bpf_stack_table *table, u32 id)
{
	u64 cell;
	u32 at;

	if (!stored_get(table, id, &at, &cell))
		return false;
	this_cpu_inc(table->stats->hits);
	return true;
}

/*
 * Copy @len bytes of a stack's words, from byte @off on; @number is its first block.
 * The caller must check the cell again.  Returns -ENOENT if the list of blocks is too
 * short: another context has deleted the stack and relinked its blocks.
 */
static int words_copy(const struct bpf_stack_table *table, u32 number, u32 off,
		      void *to, u32 len)
{
	const struct bpf_stack_block *block;
	u32 n, skip;
	u64 word;

	for (; len; number = READ_ONCE(block->next)) {
		if (!number)
			return -ENOENT;
		block = bpf_stack_block(&table->pool, number);
		for (; off < sizeof(block->word) && len; off += n) {
			word = READ_ONCE(block->word[off / sizeof(word)]);
			skip = off % sizeof(word);
			n = min(len, (u32)sizeof(word) - skip);
			memcpy(to, (char *)&word + skip, n);
			to += n;
			len -= n;
		}
		if (len)
			off -= sizeof(block->word);
	}
	return 0;
}

/**
 * bpf_stack_table_copy - copy a stack to a buffer
 * @table:	Table to read.
 * @id:		Id of the stack.
 * @to:		Buffer for the words.
 * @nr:		Size of the buffer in words.  Words after the stack are zeroed.
 *
 * Context: Any, NMI included.
 * Return: the number of words of the stack, which may be more than @nr, or -ENOENT
 * if no such stack is stored.  The contents of the buffer are then undefined.
 */
int bpf_stack_table_copy(const struct bpf_stack_table *table, u32 id,
			 u64 *to, u32 nr)
{
	const struct bpf_stack_rec *rec;
	u32 at, n, words;
	u64 cell;

	rec = stored_get(table, id, &at, &cell);
	if (!rec)
		return -ENOENT;

	words = READ_ONCE(rec->nr);
	n = min(nr, words);
	if (words_copy(table, READ_ONCE(rec->block), 0, to, n * sizeof(u64)) ||
	    !still_there(&table->cells[at], cell))
		return -ENOENT;
	memset(to + n, 0, (nr - n) * sizeof(u64));
	return words;
}

/**
 * bpf_stack_table_words - get the length of a stack
 * @table:	Table to read.
 * @id:		Id of the stack.
 *
 * Context: Any, NMI included.
 * Return: the number of words of the stack, or -ENOENT if no such stack is stored.
 */
int bpf_stack_table_words(const struct bpf_stack_table *table, u32 id)
{
	const struct bpf_stack_rec *rec;
	u32 at, words;
	u64 cell;

	rec = stored_get(table, id, &at, &cell);
	if (!rec)
		return -ENOENT;
	words = READ_ONCE(rec->nr);
	return still_there(&table->cells[at], cell) ? words : -ENOENT;
}

/**
 * bpf_stack_table_read - copy a part of a stack to a buffer
 * @table:	Table to read.
 * @id:		Id of the stack.
 * @off:	Offset of the first byte to copy.
 * @to:		Buffer for the bytes.
 * @len:	Number of bytes to copy.  @off + @len must not exceed the stack's length,
 *		see bpf_stack_table_words().
 *
 * Context: Any, NMI included.
 * Return: 0, or -ENOENT if the stack is no longer stored.  The contents of the buffer
 * are then undefined.
 */
int bpf_stack_table_read(const struct bpf_stack_table *table, u32 id,
			 u32 off, void *to, u32 len)
{
	const struct bpf_stack_rec *rec;
	u64 cell;
	u32 at;

	rec = stored_get(table, id, &at, &cell);
	if (!rec || words_copy(table, READ_ONCE(rec->block), off, to, len) ||
	    !still_there(&table->cells[at], cell))
		return -ENOENT;
	return 0;
}

/**
 * bpf_stack_table_at - the stack at an index
 * @table:	Table to read.
 * @index:	Index, less than @table's nr_index.
 *
 * Context: Any, NMI included.
 * Return: the id of the stack that is stored there, or -ENOENT if there is none.
 */
int bpf_stack_table_at(const struct bpf_stack_table *table, u32 index)
{
	u32 id = READ_ONCE(table->recs[index].id), at;
	u64 cell;

	return stored_get(table, id, &at, &cell) ? id : -ENOENT;
}

/**
 * bpf_stack_table_next - iterate over the stored stacks
 * @table:	Table to read.
 * @after:	Index to continue after, with or without a stack; -1 to begin.
 *
 * An iteration returns each stack once that is stored all the time.  It may return
 * stacks that are stored or deleted meanwhile.
 *
 * Return: the id of the stored stack with the next higher index, or -ENOENT if there
 * is none.
 */
int bpf_stack_table_next(const struct bpf_stack_table *table, s64 after)
{
	u32 index;
	int id;

	for (index = after + 1; index < table->nr_index; index++) {
		id = bpf_stack_table_at(table, index);
		if (id >= 0)
			return id;
	}
	return -ENOENT;
}

/**
 * bpf_stack_table_delete - delete a stack
 * @table:	Table to change.
 * @id:		Id of the stack.
 *
 * Context: Any, NMI included.
 * Return: 0, or -ENOENT if no such stack is stored.
 */
int bpf_stack_table_delete(struct bpf_stack_table *table, u32 id)
{
	u64 cell;
	u32 at;

	if (!stored_get(table, id, &at, &cell) || !remove_stored(table, at, cell))
		return -ENOENT;
	this_cpu_inc(table->stats->deleted);
	return 0;
}

/**
 * bpf_stack_table_stats - sum the counters of all CPUs
 * @table:	Table whose counters to sum.
 *
 * Return: the sums of the counters.
 */
struct bpf_stack_stats
bpf_stack_table_stats(const struct bpf_stack_table *table)
{
	struct bpf_stack_stats sum = {};
	u64 *to = (u64 *)&sum;
	const u64 *from;
	size_t i;
	int cpu;

	for_each_possible_cpu(cpu) {
		from = (const u64 *)per_cpu_ptr(table->stats, cpu);
		for (i = 0; i < sizeof(sum) / sizeof(u64); i++) {
			/* Other CPUs keep counting; the sum is only a snapshot. */
			to[i] += data_race(from[i]);
		}
	}
	return sum;
}

/**
 * bpf_stack_table_bytes - get the memory in use
 * @table:	Table to measure.
 *
 * Return: the number of bytes allocated, without the structure itself.
 */
u64 bpf_stack_table_bytes(const struct bpf_stack_table *table)
{
	u64 bytes = (u64)table->nr_lines * STACK_LINE * sizeof(*table->cells);

	bytes += (u64)table->nr_index * sizeof(*table->recs);
	bytes += num_possible_cpus() * sizeof(*table->stats);
	return bytes + READ_ONCE(table->pool.bytes);
}

static void table_free(struct bpf_stack_table *table)
{
	free_percpu(table->stats);
	bpf_map_area_free(table->recs);
	bpf_map_area_free(table->cells);
}

/* The first of the indexes up to max_entries that @cpu gets its share of. */
static u32 recs_share(const struct bpf_stack_table *table, u32 cpu)
{
	return div_u64((u64)table->max_entries * cpu, nr_cpu_ids);
}

/* Put all records on the free lists, in the order of their indexes. */
static void recs_init(struct bpf_stack_table *table)
{
	u32 i, first, end = 0;

	for (i = 0; i < table->nr_index; i++) {
		table->recs[i].id = i;
		/* Cell 1 never equals the word that stored_get() makes of this. */
		table->recs[i].hash = 1;
		table->recs[i].cell = 1;
		table->recs[i].nr = i + 2;
	}
	table->recs[table->nr_index - 1].nr = 0;
	if (!table->pool.batch) {
		atomic64_set(&table->free[0], 1);
		return;
	}
	/* Give each CPU its share of the indexes up to max_entries. */
	for (i = 0; i < nr_cpu_ids; i++) {
		first = recs_share(table, i);
		end = recs_share(table, i + 1);
		table->recs[end - 1].nr = 0;
		atomic64_set(&table->pool.cpus[i].recs, first + 1);
	}
	atomic64_set(&table->free[0], end + 1);
}

static int table_alloc(struct bpf_stack_table *table, u32 max_words, int node)
{
	int err = -ENOMEM;

	table->cells = bpf_map_area_alloc((u64)table->nr_lines * STACK_LINE *
					  sizeof(*table->cells), node);
	table->recs = bpf_map_area_alloc((u64)table->nr_index *
					 sizeof(*table->recs), node);
	table->stats = alloc_percpu_gfp(struct bpf_stack_stats,
					GFP_KERNEL_ACCOUNT);
	if (table->cells && table->recs && table->stats)
		err = bpf_stack_pool_init(&table->pool, table->max_entries,
					  max_words, &table->count, node);
	if (err)
		table_free(table);
	return err;
}

/* The number of blocks that a table starts with. */
static u32 fill_blocks(u32 max_entries, u32 max_words, u32 fill_words)
{
	u64 longest = DIV_ROUND_UP(max_words, STACK_BLOCK_WORDS);
	u64 nr = DIV_ROUND_UP(fill_words, STACK_BLOCK_WORDS);

	/* A small table fills up quickly: give it room for the longest stacks. */
	if (nr)
		nr = max_t(u64, nr * max_entries,
			   min_t(u64, longest * max_entries, STACK_FILL_SMALL));
	nr = min_t(u64, nr, STACK_FILL_MAX);
	/* Two of the longest stacks must fit before the worker adds blocks. */
	return max_t(u64, max_t(u64, nr, 2 * longest), STACK_FILL_MIN);
}

/**
 * bpf_stack_table_init - initialise an empty table
 * @table:	Zeroed memory for the table.
 * @max_entries: Number of stacks to hold, 1..BPF_STACK_TABLE_MAX_ENTRIES.
 * @max_words:	Number of words of the longest stack.
 * @fill_words:	Number of words per stack to allocate now, or 0 to allocate only
 *		enough for the first stacks.
 * @node:	NUMA node of the memory.
 *
 * The memory is charged to the caller's memory cgroup.  After success, the caller
 * must call bpf_stack_table_destroy().
 *
 * Context: Process context.  May sleep.
 * Return: 0; -E2BIG if @max_entries is too large; -ENOMEM if memory is short.
 */
int bpf_stack_table_init(struct bpf_stack_table *table, u32 max_entries,
			 u32 max_words, u32 fill_words, int node)
{
	u64 claims = (u64)max_entries + STACK_EXTRA * num_possible_cpus();
	u32 fill;
	int err;

	if (max_entries > BPF_STACK_TABLE_MAX_ENTRIES)
		return -E2BIG;

	table->max_entries = max_entries;
	/* 7/4 cells for each entry, and no fewer than there can be claims */
	table->nr_lines = max_t(u64, DIV_ROUND_UP(max_entries, 4),
				DIV_ROUND_UP_ULL(claims, STACK_LINE - 1));
	table->nr_index = 1U << (ilog2(max(2ULL * max_entries, claims) - 1) + 1);
	table->seed = get_random_u64();
	table->mul = get_random_u64();

	err = table_alloc(table, max_words, node);
	if (err)
		return err;
	recs_init(table);
	fill = fill_blocks(max_entries, max_words, fill_words);
	err = bpf_stack_pool_fill(&table->pool, fill, node);
	if (err)
		bpf_stack_table_destroy(table);
	return err;
}

/**
 * bpf_stack_table_destroy - free the memory of a table
 * @table:	Table that no other context uses any more.
 *
 * Context: Process context.  May sleep.
 */
void bpf_stack_table_destroy(struct bpf_stack_table *table)
{
	bpf_stack_pool_destroy(&table->pool);
	table_free(table);
}
