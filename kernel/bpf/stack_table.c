// SPDX-License-Identifier: GPL-2.0-only
/*
 * A set of call stacks, each known by a small number, for
 * BPF_MAP_TYPE_STACK_TRACE.
 *
 * Every function may be called in any context, NMI included, except init and
 * destroy.  No function takes a lock or waits for another CPU or for the code that
 * it interrupted.  The caller stays on its CPU.  What the table promises:
 *
 *  - A table of N entries holds N different stacks.  An insertion fails only
 *    with -ENOMEM: N stacks are stored, or there is no memory.
 *  - An id names one stack until that stack is deleted, and nothing for the
 *    next 2^29 insertions.
 *  - Reading takes nothing away, and a stored stack is always found.
 *  - The same stack is stored once, however many insert it at the same time.
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
 * A stack's home is a line of eight words, a cache line, chosen by its hash.  The
 * stack is in the first line from there that has a free cell.  There are 7/4 cells
 * for each entry, so that nineteen of twenty stacks are at home even in a full
 * table, and a cell says enough of the hash that only a match is followed.  ctl
 * says how far from home the stacks of this home went ("reach"): a search reads the
 * lines from home up to there.  A search does not stop at a free cell, so deleting
 * is to clear the cell; there are no tombstones, and nothing rots.  The other half
 * of ctl is a version, which lets a deleter lower the reach, see shrink().
 *
 * Storing a stack takes three steps on the cells:
 *
 *   claim    a free cell := {hash, pending, id}     one cmpxchg
 *   settle   look at all the cells where the same stack may be.  Stored: give
 *            up the claim, the other id is the answer.  Pending: its owner is
 *            in this function as well, on another CPU or interrupted by us, so
 *            waiting is no choice.  The claim that is nearer to home goes on:
 *            clear the other one, even if it is ours; when it was ours, go on
 *            with that one in its owner's place.
 *   confirm  {hash, pending, id} -> {hash, id}      one cmpxchg
 *
 * Only a confirmed cell is an answer to a search, so an id is handed out only
 * after this step, by the owner of the claim or a helper.  Why two cells A and B of
 * the same stack cannot both be confirmed: before either is, somebody settles who
 * saw it claimed.  If the one for A did not see B, then B was claimed after that
 * look, so the one who settles for B looks at A's cell after A's claim and sees it.
 * A cell's word is never used again, since each release of a record changes its id:
 * no cmpxchg takes a new claim for the one that was looked at.
 *
 * This needs no bound on tries: a claim is cleared only for one that is stored
 * or nearer, and to be nearer over and over takes others who delete.  One cmpxchg
 * for all three steps would do if nobody deleted, as then all who insert the same
 * stack meet at the same free cell.
 *
 * Lifetime of a record and its blocks:
 *
 *   take from the free lists        (A) private
 *   fill, claim                     (B) readable through the cell
 *   settle, confirm                 stored
 *   cell := 0                       (C) not there any more; the context whose
 *                                   cmpxchg does this, to a stored cell or a
 *                                   claim, owns record and blocks
 *   next id, put on the free lists  (D) may be taken again at once
 *
 * There is no grace period.  A reader may find a record and read it while it is
 * released and filled for another stack, so it reads the cell, then record and
 * words, and then the cell again.  If the cell has not changed, nobody had cleared
 * it before the reads; if it has, the stack was deleted meanwhile and what was read
 * is thrown away.  Every number that a reader follows is valid at any time.
 *
 * Ordering:
 *
 *  - Only a cmpxchg that succeeds is a full barrier.  The proof above needs that of
 *    claim, against the loads of settle.  A failed cmpxchg on a cell orders
 *    nothing, and nothing relies on it: its caller looks again at what it returned.
 *  - (B) pairs with the loads of record and words in rec_equal(), which depend on the
 *    cell by address, and with the acquire in stored_get().
 *  - (C), then (D), then (A) by the next owner, each a successful cmpxchg, order the
 *    clearing of a cell before the writes of the next owner.  They pair with
 *    smp_rmb() in still_there().  tools/testing/stack_table/litmus has the proofs.
 *  - shrink() has to read ctl before the lines up to the reach that it found there.
 *    Their addresses depend on the reach, but a compiler may know a reach by
 *    comparison, so this is an acquire.  It pairs with cover(), whose cmpxchg follows
 *    the claim.
 *  - settle() needs no order between ctl and the far lines: both are read after the
 *    claim.  If it misses a raised reach or a far cell, the one who made it looks
 *    after our claim.
 */
#include "stack_list.h"
#include "stack_table.h"

/* Words in a line: one cache line.  The tests use shorter ones as well. */
#ifndef STACK_LINE
#define STACK_LINE		8
#endif

#define STACK_PENDING		BIT_ULL(31)

/*
 * Room on top of max_entries, for each CPU: in each of its four contexts, one
 * claim and one stack that was stored at the same time as the last entry.
 */
#define STACK_EXTRA		8

/* Blocks at creation at most, 4 MiB: the worker has time to bring the others. */
#define STACK_FILL_MAX		BIT(15)

/* Blocks of a small table, 128 KiB, if its stacks may need as many. */
#define STACK_FILL_SMALL	BIT(10)

/* Blocks at creation at least, with number 0 a page. */
#define STACK_FILL_MIN		31U

/* Never 0, so that the cell of index 0, generation 0 is not a free one. */
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

/* A word as 32 bits: what jhash2() hashes.  Two loads are less than a shift. */
static __always_inline u32 word_fold(const u64 *word)
{
	const u32 *half = (const u32 *)word;

	return half[0] + half[1];
}

/**
 * bpf_stack_table_hash - hash a stack
 * @table:	Gives the seed.
 * @word:	The stack's words.
 * @nr:		Their number.
 *
 * This is jhash2() of the words, each folded to 32 bits as it is read: one mix for
 * three frames instead of one and a half, and no buffer.  jhash2() returns one of
 * its three registers; here a second one makes it 64 bits.
 *
 * Somebody who can choose return addresses can choose stacks that collide: two
 * words whose halves have the same sum are the same to the hash, whatever the seed.
 * Colliding stacks are stored all the same, each in a line farther from home, and
 * told apart by all their words.
 *
 * Return: the hash, an odd number: the lower half selects the line, the whole is
 * what BPF_F_FAST_STACK_CMP compares
 */
u64 bpf_stack_table_hash(const struct bpf_stack_table *table, const u64 *word,
			 u32 nr)
{
	u32 a = JHASH_INITVAL + (nr << 2) + table->seed, b = a, c = a;

	for (; nr > 3; nr -= 3, word += 3) {
		a += word_fold(&word[0]);
		b += word_fold(&word[1]);
		c += word_fold(&word[2]);
		__jhash_mix(a, b, c);
	}
	switch (nr) {
	case 3:
		c += word_fold(&word[2]);
		fallthrough;
	case 2:
		b += word_fold(&word[1]);
		fallthrough;
	case 1:
		a += word_fold(&word[0]);
		__jhash_final(a, b, c);
	}
	return (u64)b << 32 | c | 1;
}

/*
 * @a is in a block, and may be changing: its stack may be deleted, and the block
 * taken again.  A full block is three rounds.
 */
static __always_inline bool words_equal(const u64 *a, const u64 *b, u32 nr)
{
	const u64 *end = b + nr;

	BUILD_BUG_ON(STACK_BLOCK_WORDS % 5);
	for (; end - b >= 5; a += 5, b += 5) {
		if (READ_ONCE(a[0]) != b[0] || READ_ONCE(a[1]) != b[1] ||
		    READ_ONCE(a[2]) != b[2] || READ_ONCE(a[3]) != b[3] ||
		    READ_ONCE(a[4]) != b[4])
			return false;
	}
	for (; b < end; a++, b++) {
		if (READ_ONCE(*a) != *b)
			return false;
	}
	return true;
}

/* Whether the blocks from @number on have the @nr words at @word. */
static noinline bool blocks_equal(const struct bpf_stack_table *table,
				  u32 number, const u64 *word, u32 nr)
{
	const struct bpf_stack_block *block;
	u32 n;

	for (; nr; nr -= n, word += n, number = READ_ONCE(block->next)) {
		block = bpf_stack_block(&table->pool, number);
		n = min_t(u32, nr, STACK_BLOCK_WORDS);
		if (!words_equal(block->word, word, n))
			return false;
	}
	return true;
}

/* Whether @rec is the stack of @key; valid only if still_there() afterwards. */
static __always_inline bool rec_equal(const struct bpf_stack_table *table,
				      const struct bpf_stack_rec *rec,
				      const struct bpf_stack_key *key)
{
	const struct bpf_stack_block *block;

	if (key->fast)
		return READ_ONCE(rec->hash) == key->hash;
	if (READ_ONCE(rec->nr) != key->nr)
		return false;
	block = bpf_stack_block(&table->pool, READ_ONCE(rec->block));
	if (key->nr <= STACK_BLOCK_WORDS)
		return words_equal(block->word, key->word, key->nr);
	return words_equal(block->word, key->word, STACK_BLOCK_WORDS) &&
	       blocks_equal(table, READ_ONCE(block->next),
			    key->word + STACK_BLOCK_WORDS,
			    key->nr - STACK_BLOCK_WORDS);
}

static struct bpf_stack_rec *rec_of(const struct bpf_stack_table *table, u32 id)
{
	return &table->recs[bpf_stack_table_index(table, id)];
}

/*
 * Called after reading what @cell stands for: false if it was cleared, so that what
 * was read may be of another stack.
 */
static __always_inline bool still_there(const atomic64_t *cell, u64 word)
{
	/* Pairs with the cmpxchg that clears the cell, see "Ordering". */
	smp_rmb();
	return likely((u64)atomic64_read(cell) == word);
}

/* The id of the stack of @key, or -ENOENT. */
static __always_inline int find_key(const struct bpf_stack_table *table,
				    const struct bpf_stack_key *key)
{
	u32 tag = hash_tag(key->hash), line = tag_home(table, tag), reach, i;
	const atomic64_t *cells = &table->cells[line * STACK_LINE];
	const u64 stored = cell_stored(tag, 0);
	u64 cell;

	/*
	 * An inserter raises the reach before it confirms, and a deleter lowers
	 * it only down to a line with a stack: see cover() and shrink().
	 */
	reach = ctl_reach(atomic64_read(cells));
	for (;;) {
		for (i = 1; i < STACK_LINE; i++) {
			cell = atomic64_read(&cells[i]);
			/* Same tag, and not pending */
			if ((cell ^ stored) >= STACK_PENDING)
				continue;
			if (rec_equal(table, rec_of(table, cell_id(cell)), key) &&
			    still_there(&cells[i], cell))
				return cell_id(cell);
		}
		if (likely(!reach))
			return -ENOENT;
		reach--;
		line = line_add(table, line, 1);
		cells = &table->cells[line * STACK_LINE];
	}
}

/* A free record's link; @nr of a free record means nothing else. */
static u32 *rec_link(const void *table, u32 number)
{
	const struct bpf_stack_table *t = table;

	/* A record that is not free has no link: what is here may be any number. */
	return &t->recs[(number - 1) & (t->nr_index - 1)].nr;
}

/* Take a record from @head, and some more for @own. */
static u32 rec_take_from(struct bpf_stack_table *table, atomic64_t *head,
			 atomic64_t *own)
{
	u32 number = stack_list_refill(head, own, 1, table->pool.batch,
				       rec_link, table);

	return number ?: stack_list_take(head, 1, rec_link, table);
}

static noinline u32 rec_refill(struct bpf_stack_table *table, atomic64_t *own)
{
	u32 turn = READ_ONCE(table->turn), number, i;

	number = rec_take_from(table, &table->free[turn % 2], own);
	if (unlikely(!number)) {
		/* If another context has changed it, leave it as it is. */
		cmpxchg(&table->turn, turn, turn + 1);
		number = rec_take_from(table, &table->free[(turn + 1) % 2], own);
	}
	for (i = 0; unlikely(!number) && i < nr_cpu_ids; i++)
		number = stack_list_take(&table->pool.cpus[i].recs, 1,
					 rec_link, table);
	return number;
}

/*
 * Take a free record, of those that this CPU has, or else of the common ones.  Of
 * these there are two lists: one to take from, one to put on.  When
 * the first is empty they change roles, so that a record comes back after all
 * others had their turn, and its ids last as long as can be.  Returns its index, or
 * -1 when there is none, which takes more insertions at a time than STACK_EXTRA
 * allows for.
 */
static s64 rec_take(struct bpf_stack_table *table)
{
	atomic64_t *own = &table->pool.cpus[raw_smp_processor_id()].recs;
	u32 number = 0;

	if (table->pool.batch)
		number = stack_list_take(own, 1, rec_link, table);
	return (s64)(number ?: rec_refill(table, own)) - 1;
}

/* Return the record with the index @index; nobody may find its blocks any more. */
static void rec_put(struct bpf_stack_table *table, u32 index)
{
	u32 turn = READ_ONCE(table->turn);

	stack_list_put(&table->free[(turn + 1) % 2], index + 1, index + 1,
		       rec_link, table);
}

/* Free what an id stood for; the caller is the only owner, and no cell has the id. */
static void release(struct bpf_stack_table *table, u32 id)
{
	struct bpf_stack_rec *rec = rec_of(table, id);

	bpf_stack_pool_put(&table->pool, rec->block, rec->nr);
	/* The old id must not name the next stack. */
	WRITE_ONCE(rec->id, (id + table->nr_index) & ~(u32)STACK_PENDING);
	rec_put(table, bpf_stack_table_index(table, id));
}

/* A claim, maybe another inserter's: its stack, where that is at home, its cell. */
struct stack_claim {
	const struct bpf_stack_key *key;
	u32 home;
	u32 at;
	u64 cell;
};

/* Claim the first free cell from home, for @rec; false: there is none. */
static bool claim_cell(struct bpf_stack_table *table, struct stack_claim *claim,
		       struct bpf_stack_rec *rec)
{
	atomic64_t *cells;
	u32 d, i, line;

	for (d = 0; d < table->nr_lines; d++) {
		line = line_add(table, claim->home, d) * STACK_LINE;
		cells = &table->cells[line];
		for (i = 1; i < STACK_LINE; i++) {
			if (atomic64_read(&cells[i]))
				continue;
			/* Read by stored_get() once the cell is confirmed. */
			WRITE_ONCE(rec->cell, line + i);
			if (atomic64_cmpxchg(&cells[i], 0, claim->cell))
				continue;
			claim->at = line + i;
			return true;
		}
	}
	return false;
}

/*
 * Make searches from @home go at least @distance lines, and say how far they go.
 * Called between claim and confirm.  The version makes every shrink() fail that
 * began before and may not have seen the claimed cell.  At home there is nothing
 * to cover: no shrink() goes below 0.
 */
static u32 cover(struct bpf_stack_table *table, u32 home, u32 distance)
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

/* Any cell in @line, stored or pending, whose home is @home? */
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
 * A cell away from @home has been cleared: lower the reach to the farthest that
 * is left.  An inserter that claims a cell while we look calls cover() after its
 * claim: either we see its cell, or our cmpxchg sees another version.  When the
 * cmpxchg fails, the reach stays too high until the next such deletion: slower,
 * not wrong.
 */
static void shrink(struct bpf_stack_table *table, u32 home)
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
 * Clear the cell at @at if it still is @cell, and free what it stood for; false:
 * somebody else changed it.
 */
static bool drop(struct bpf_stack_table *table, u32 at, u64 cell)
{
	u32 home = tag_home(table, cell >> 32);

	if ((u64)atomic64_cmpxchg(&table->cells[at], cell, 0) != cell)
		return false;

	/* Ours alone: the cmpxchg succeeds for one of all who try. */
	if (unlikely(at / STACK_LINE != home))
		shrink(table, home);
	if (cell & STACK_PENDING)
		this_cpu_inc(table->stats->races);
	else
		atomic64_dec(&table->count);
	release(table, cell_id(cell));
	return true;
}

/*
 * Does @word, read from @cell, stand for the stack of @key?  If the cell has changed,
 * then no: a claim made there since is settled later, by one who sees ours.
 */
static noinline bool cell_equal(const struct bpf_stack_table *table,
				const atomic64_t *cell, u64 word,
				const struct bpf_stack_key *key)
{
	if (!rec_equal(table, rec_of(table, cell_id(word)), key))
		return false;
	/* As in still_there(), but it may have been confirmed meanwhile. */
	smp_rmb();
	return !(((u64)atomic64_read(cell) ^ word) & ~STACK_PENDING);
}

/*
 * Look at all cells, besides the claim, up to @reach lines from home where the same
 * stack may be.  Clears claims that are farther from home than @distance lines and
 * the claim's place in its own.  Returns the place of the first other one that is
 * not, with its content in @found; 0: there is none.
 */
static u32 settle(struct bpf_stack_table *table, const struct stack_claim *claim,
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
			/* Look again when somebody else changed it. */
			while (cell >> 32 == tag &&
			       cell_equal(table, &cells[i], cell, claim->key)) {
				if (rank < mine || !(cell & STACK_PENDING)) {
					*found = cell;
					return line + i;
				}
				if (drop(table, line + i, cell))
					break;
				cell = atomic64_read(&cells[i]);
			}
		}
		if (d >= reach)
			return 0;
	}
}

/*
 * Bring @claim to its end.  Returns the id of its stack, or -EAGAIN: it was cleared
 * or confirmed by somebody else.
 */
static int finish(struct bpf_stack_table *table, struct stack_claim *claim)
{
	u32 distance, reach, other;
	u64 found;

	for (;;) {
		distance = line_distance(table, claim->home,
					 claim->at / STACK_LINE);
		reach = cover(table, claim->home, distance);
		other = settle(table, claim, distance, reach, &found);
		if (!other)
			break;
		if (!(found & STACK_PENDING)) {
			drop(table, claim->at, claim->cell);
			this_cpu_inc(table->stats->hits);
			return cell_id(found);
		}
		/* It is nearer, so this loop ends. */
		if (!drop(table, claim->at, claim->cell))
			return -EAGAIN;
		claim->at = other;
		claim->cell = found;
	}

	if ((u64)atomic64_cmpxchg(&table->cells[claim->at], claim->cell,
				  claim->cell & ~STACK_PENDING) != claim->cell)
		return -EAGAIN;
	atomic64_inc(&table->count);
	this_cpu_inc(table->stats->stored);
	return cell_id(claim->cell);
}

/*
 * Make room for the stack of @key: remove a stored one from its home on, and
 * not always the first, which may be the newest.
 */
static bool evict(struct bpf_stack_table *table,
		  const struct bpf_stack_key *key)
{
	u32 home = tag_home(table, hash_tag(key->hash)), d, i, at, first;
	u64 cell;

	first = reciprocal_scale(key->hash >> 32, STACK_LINE - 1);
	for (d = 0; d < table->nr_lines; d++) {
		for (i = 0; i < STACK_LINE - 1; i++) {
			at = line_add(table, home, d) * STACK_LINE + 1;
			at += (first + i) % (STACK_LINE - 1);
			cell = atomic64_read(&table->cells[at]);
			if (!cell || cell & STACK_PENDING)
				continue;
			if (!drop(table, at, cell))
				continue;
			this_cpu_inc(table->stats->evicted);
			return true;
		}
	}
	return false;
}

/* A record with the stack of @key, not claimed yet; NULL: no memory. */
static struct bpf_stack_rec *rec_new(struct bpf_stack_table *table,
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
	/* Readers who found the record's last stack may still be here. */
	WRITE_ONCE(rec->hash, key->hash);
	WRITE_ONCE(rec->nr, key->nr);
	WRITE_ONCE(rec->block, block);
	return rec;
}

/*
 * Pairs with the confirm before atomic64_inc() in finish(): a context that sees the
 * count sees the stacks as well, and make_room() searches for its own among them.
 */
static bool is_full(const struct bpf_stack_table *table)
{
	return atomic64_read_acquire(&table->count) >= table->max_entries;
}

static __always_inline int find_and_count(const struct bpf_stack_table *table,
					  const struct bpf_stack_key *key)
{
	int id = find_key(table, key);

	if (likely(id >= 0))
		this_cpu_inc(table->stats->hits);
	return id;
}

static noinline int find_again(const struct bpf_stack_table *table,
			       const struct bpf_stack_key *key)
{
	return find_and_count(table, key);
}

/*
 * Look whether there is room for one more stack, or make some.  Returns 0, the id
 * of the stack of @key if that was the last one that got in, or -ENOMEM.
 *
 * Claims do not count: of two contexts that insert the same stack, the one that
 * looks here later must not fail because of the other.  So there can be as many
 * more than max_entries as there are insertions at that moment.
 */
static int make_room(struct bpf_stack_table *table,
		     const struct bpf_stack_key *key, bool reuse)
{
	int id;

	if (likely(!is_full(table)))
		return 0;
	id = find_again(table, key);
	if (id >= 0)
		return id;
	if (reuse && evict(table, key))
		return 0;
	this_cpu_inc(table->stats->lost_full);
	return -ENOMEM;
}

/* Claim a cell for @rec, which has the stack of @key, and bring that to its end. */
static int insert_rec(struct bpf_stack_table *table,
		      const struct bpf_stack_key *key, struct bpf_stack_rec *rec)
{
	u32 tag = hash_tag(key->hash), id = rec->id;
	struct stack_claim claim = {
		.key = key,
		.home = tag_home(table, tag),
		.cell = cell_stored(tag, id) | STACK_PENDING,
	};

	/* From the claim on, the record belongs to the one who clears the cell. */
	if (likely(claim_cell(table, &claim, rec)))
		return finish(table, &claim);
	release(table, id);
	return -ENOMEM;
}

/* Insert a stack that was not there a moment ago. */
static noinline int insert(struct bpf_stack_table *table,
			   const struct bpf_stack_key *key, bool reuse)
{
	struct bpf_stack_rec *rec;
	int id;

	/* To evict a stack makes sense only if there is memory for the new one. */
	if (!reuse) {
		id = make_room(table, key, false);
		if (id)
			return id;
	}
	do {
		rec = rec_new(table, key);
		if (unlikely(!rec)) {
			this_cpu_inc(table->stats->lost_nomem);
			return -ENOMEM;
		}
		if (reuse) {
			id = make_room(table, key, true);
			if (id) {
				release(table, rec->id);
				return id;
			}
		}
		id = insert_rec(table, key, rec);
		if (id == -EAGAIN)
			id = find_again(table, key);
	} while (id == -ENOENT);
	if (unlikely(id == -ENOMEM))
		this_cpu_inc(table->stats->lost_nomem);
	return id;
}

/**
 * bpf_stack_table_get - the id of a stack, which is stored if it is new
 * @table:	The table.
 * @key:	The stack.
 * @reuse:	When the table is full, remove another stack.
 *
 * Return: the id, or -ENOMEM: the table is full, or there is no memory
 */
int bpf_stack_table_get(struct bpf_stack_table *table,
			const struct bpf_stack_key *key, bool reuse)
{
	int id = find_and_count(table, key);

	return likely(id >= 0) ? id : insert(table, key, reuse);
}

/*
 * The record of @id, where its cell is, and what is in it; NULL: not stored.  The
 * cell decides: what is pending, or has been cleared, is not there.
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
	 * An id is known before its stack is stored, and the cell's address
	 * comes from the record, so no dependency orders what the caller reads
	 * of the record and its words after this.
	 */
	return (u64)atomic64_read_acquire(&table->cells[*at]) == *cell ? rec : NULL;
}

/**
 * bpf_stack_table_has - whether a stack that was found some time ago is there
 * @table:	The table.
 * @id:		Its id.
 *
 * It counts as found again.
 *
 * Return: whether it is stored
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
 * The caller looks at the cell again.  Returns -ENOENT if the list of blocks is too
 * short: the stack was deleted, and its blocks are linked otherwise.
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
 * bpf_stack_table_copy - read a stack
 * @table:	The table.
 * @id:		Its id.
 * @to:		Where to.
 * @nr:		Room there, in words; what the stack does not fill is zeroed.
 *
 * Return: number of words of the stack, which may be more than @nr, or -ENOENT;
 * then the room is undefined
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
 * bpf_stack_table_words - how long a stack is
 * @table:	The table.
 * @id:		Its id.
 *
 * Return: its number of words, or -ENOENT
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
 * bpf_stack_table_read - read a part of a stack
 * @table:	The table.
 * @id:		Its id.
 * @off:	First byte.
 * @to:		Where to.
 * @len:	Number of bytes; @off and @len are within bpf_stack_table_words().
 *
 * Return: 0, or -ENOENT if the stack is not there any more; then what was copied is
 * undefined
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
 * bpf_stack_table_next - iterate
 * @table:	The table.
 * @after:	An index, stored or not; -1 to begin.
 *
 * A stack that is there during all of an iteration is seen once; one that is
 * stored or deleted meanwhile may be.
 *
 * Return: the id of the stored stack with the next higher index, or -ENOENT
 */
int bpf_stack_table_next(const struct bpf_stack_table *table, s64 after)
{
	u32 index, at, id;
	u64 cell;

	for (index = after + 1; index < table->nr_index; index++) {
		id = READ_ONCE(table->recs[index].id);
		if (stored_get(table, id, &at, &cell))
			return id;
	}
	return -ENOENT;
}

/**
 * bpf_stack_table_delete - delete a stack
 * @table:	The table.
 * @id:		Its id.
 *
 * Return: 0, or -ENOENT
 */
int bpf_stack_table_delete(struct bpf_stack_table *table, u32 id)
{
	u64 cell;
	u32 at;

	if (!stored_get(table, id, &at, &cell) || !drop(table, at, cell))
		return -ENOENT;
	this_cpu_inc(table->stats->deleted);
	return 0;
}

/**
 * bpf_stack_table_stats - sum the counters of all CPUs
 * @table:	The table.
 *
 * Return: the sums
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
			/* It goes on counting: right for some moment. */
			to[i] += data_race(from[i]);
		}
	}
	return sum;
}

/**
 * bpf_stack_table_bytes - memory in use
 * @table:	The table.
 *
 * Return: bytes, besides the structure itself
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

/* All records are free, and are taken in the order of their indexes. */
static void recs_init(struct bpf_stack_table *table)
{
	u32 i, first, end = 0;

	for (i = 0; i < table->nr_index; i++) {
		table->recs[i].id = i;
		/* What stored_get() compares with a cell that is never equal. */
		table->recs[i].hash = 1;
		table->recs[i].cell = 1;
		table->recs[i].nr = i + 2;
	}
	table->recs[table->nr_index - 1].nr = 0;
	if (!table->pool.batch) {
		atomic64_set(&table->free[0], 1);
		return;
	}
	/* Each CPU its share of the indexes up to max_entries. */
	for (i = 0; i < nr_cpu_ids; i++) {
		first = (u64)table->max_entries * i / nr_cpu_ids;
		end = (u64)table->max_entries * (i + 1) / nr_cpu_ids;
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

/* The number of blocks that a table begins with. */
static u32 fill_blocks(u32 max_entries, u32 max_words, u32 fill_words)
{
	u64 longest = DIV_ROUND_UP(max_words, STACK_BLOCK_WORDS);
	u64 nr = DIV_ROUND_UP(fill_words, STACK_BLOCK_WORDS);

	/* A small table has room for the longest stacks: it is full in no time. */
	if (nr)
		nr = max_t(u64, nr * max_entries,
			   min_t(u64, longest * max_entries, STACK_FILL_SMALL));
	nr = min_t(u64, nr, STACK_FILL_MAX);
	/* Two of the longest stacks, until the worker has been there. */
	return max_t(u64, max_t(u64, nr, 2 * longest), STACK_FILL_MIN);
}

/**
 * bpf_stack_table_init - make an empty table
 * @table:	Zeroed memory.
 * @max_entries: Stacks that it is to hold, 1..BPF_STACK_TABLE_MAX_ENTRIES.
 * @max_words:	Words of the longest stack.
 * @fill_words:	Words of each stack for which memory is taken now; 0: only for the
 *		first stacks.
 * @node:	NUMA node of its memory.
 *
 * May sleep.  The memory is charged to the caller's memory cgroup.
 *
 * Return: 0, -E2BIG or -ENOMEM; bpf_stack_table_destroy() is due only after 0
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
	/* 7/4 cells for each entry, and never fewer than there can be claims */
	table->nr_lines = max_t(u64, DIV_ROUND_UP(max_entries, 4),
				DIV_ROUND_UP(claims, STACK_LINE - 1));
	table->nr_index = 1U << (ilog2(max(2ULL * max_entries, claims) - 1) + 1);
	table->seed = get_random_u32();

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
 * bpf_stack_table_destroy - free a table that nobody uses any more
 * @table:	The table.
 *
 * May sleep.
 */
void bpf_stack_table_destroy(struct bpf_stack_table *table)
{
	bpf_stack_pool_destroy(&table->pool);
	table_free(table);
}
