// SPDX-License-Identifier: GPL-2.0-only
/*
 * A set of call stacks, each known by a small number, for
 * BPF_MAP_TYPE_STACK_TRACE.
 *
 * Every function may be called in any context, NMI included, with the exception
 * of init and destroy; no function takes a lock or waits for another CPU or for
 * the code that it interrupted.  The caller is an RCU reader and stays on its
 * CPU.  What the table promises:
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
 *   elems   [ index of id ] ---> struct bpf_stack_elem {hash, id, words}
 *
 * A stack's home is a line of eight words, a cache line, chosen by its hash.  It
 * is in the first line from there that has a free cell.  There are 7/4 cells for
 * each entry, so that nineteen of twenty are at home even in a full table, and a
 * cell says enough of the hash that only a match is followed.  ctl says how far
 * from home the stacks of this home went ("reach"): a search reads the lines
 * from home up to there.  A search does not stop at a free cell, so deleting is
 * to clear the cell; there are no tombstones, and nothing rots.  The other half
 * of ctl is a version, which lets a deleter lower the reach, see shrink().
 *
 * Storing a stack takes three steps on the cells:
 *
 *   claim    a free cell := {hash, pending, id}     one cmpxchg
 *   settle   look at all the cells where the same stack may be.  Stored: give
 *            up the claim, the other id is the answer.  Pending: its owner is
 *            in this function as well, on another CPU or interrupted by us, so
 *            waiting is no choice.  The one that is nearer to home goes on:
 *            clear the other one, be it ours; when it was ours, go on with that
 *            one in its owner's place.
 *   confirm  {hash, pending, id} -> {hash, id}      one cmpxchg
 *
 * Only a confirmed cell is an answer to a search, so an id is handed out only
 * after this step, by whomever.  Why two cells A and B of the same stack cannot
 * both be confirmed: before either is, somebody settles who saw it claimed.  If
 * the one for A did not see B, then B was claimed after that look, so whoever
 * settles for B looks at A's cell after A's claim and sees it.  A cell's word is
 * never used again, since a cleared one's index gets another generation: no
 * cmpxchg takes a new claim for the one that was looked at.
 *
 * This needs no bound on tries: a claim is cleared only for one that is stored
 * or nearer, and to be nearer over and over takes others who delete.  One cmpxchg
 * for all three steps would do if nobody deleted, as then all who insert the same
 * stack meet at the same free cell.
 *
 * Lifetime of an element:
 *
 *   allocate, fill                  private
 *   elems[index] := element         (A) readable through its id or a cell
 *   claim, settle, confirm          stored
 *   cell := 0                       not there any more; whose cmpxchg does this,
 *                                   to a stored one or a claim, owns element
 *                                   and index
 *   elems[index] := NULL            unreachable
 *   generation + 1, index free      (B) the index may have another owner
 *   bpf_stack_elem_free()           memory is used again after a grace period
 *
 * Pairs: rcu_assign_pointer() at (A) in publish() with rcu_dereference() in
 * elem_get().  atomic64_fetch_andnot() at (B) in index_put() with
 * atomic64_fetch_or() in index_get(): gens[] and elems[] change hands there.
 * Each cmpxchg on a cell is a full barrier; the proof above needs that of claim.
 *
 * A cell that was read may be cleared before its element is loaded.  The element
 * has the whole id, and the index got another generation when it was freed, so a
 * mismatch means "deleted in between".
 */
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

/* Both halves of the product: every bit of it depends on all of both. */
static u64 fold(u64 a, u64 b)
{
	return a * b ^ mul_u64_u64_shr(a, b, 64);
}

/**
 * bpf_stack_table_hash - hash a stack
 * @table:	Gives the seeds.
 * @word:	The stack's words.
 * @nr:		Their number.
 *
 * One multiplication for two words, about 4 instructions for each.  jhash2() with
 * a random seed would do as well, at 19 to 27: so much more bpf_get_stackid() of a
 * stored stack took for each frame with it, counted by QEMU's -icount, less what
 * bpf_get_stack() took for that frame.  It was 19 with BPF_F_FAST_STACK_CMP, which
 * only hashes, and 27 with the copy and the comparison.
 *
 * The seeds are random and secret, so nobody can choose stacks that collide.
 *
 * Return: the hash, an odd number: the lower half selects the line, the whole is
 * what BPF_F_FAST_STACK_CMP compares
 */
u64 bpf_stack_table_hash(const struct bpf_stack_table *table, const u64 *word,
			 u32 nr)
{
	const u64 seed = table->seed[0];
	u64 hash = table->seed[1] ^ nr;

	for (; nr >= 2; nr -= 2, word += 2)
		hash = fold(word[0] ^ seed, word[1] ^ hash);
	if (nr)
		hash = fold(word[0] ^ seed, table->seed[2] ^ hash);
	return fold(hash ^ seed, table->seed[2]) | 1;
}

static __always_inline bool words_equal(const u64 *a, const u64 *b, u32 nr)
{
	for (; nr >= 4; nr -= 4, a += 4, b += 4) {
		if (a[0] != b[0] || a[1] != b[1] || a[2] != b[2] || a[3] != b[3])
			return false;
	}
	while (nr--) {
		if (*a++ != *b++)
			return false;
	}
	return true;
}

static noinline bool segs_equal(const struct bpf_stack_elem *elem,
				const u64 *word, u32 nr)
{
	const u64 *seg;
	u32 n;

	for (seg = elem_next(elem); nr; seg = seg_next(seg), word += n, nr -= n) {
		n = min_t(u32, nr, STACK_SEG_WORDS - 1);
		if (!words_equal(seg + 1, word, n))
			return false;
	}
	return true;
}

static __always_inline bool elem_equal(const struct bpf_stack_elem *elem,
				       const struct bpf_stack_key *key)
{
	u32 n;

	if (elem->hash != key->hash)
		return false;
	if (key->fast)
		return true;
	if (elem->nr != key->nr)
		return false;
	n = elem_words(key->nr);
	if (!words_equal(elem->word, key->word, n))
		return false;
	return likely(n == key->nr) ||
	       segs_equal(elem, key->word + n, key->nr - n);
}

/* The element of @id, stored or pending; pairs with publish(). */
static struct bpf_stack_elem *elem_get(const struct bpf_stack_table *table,
				       u32 id)
{
	u32 index = bpf_stack_table_index(table, id);
	struct bpf_stack_elem *elem;

	elem = rcu_dereference_check(table->elems[index],
				     rcu_read_lock_any_held());
	return elem && elem->id == id ? elem : NULL;
}

/* The id of the stack of @key, or -ENOENT. */
static __always_inline int find_key(const struct bpf_stack_table *table,
				    const struct bpf_stack_key *key)
{
	u32 tag = hash_tag(key->hash), line = tag_home(table, tag), reach, i;
	const atomic64_t *cells = &table->cells[line * STACK_LINE];
	const u64 stored = cell_stored(tag, 0);
	const struct bpf_stack_elem *elem;
	u64 cell;

	/*
	 * Who stores a stack raises the reach before it confirms, and who
	 * lowers it does so to where a stack is: see cover() and shrink().
	 */
	reach = ctl_reach(atomic64_read(cells));
	for (;;) {
		for (i = 1; i < STACK_LINE; i++) {
			cell = atomic64_read(&cells[i]);
			/* Same tag, and not pending */
			if ((cell ^ stored) >= STACK_PENDING)
				continue;
			elem = elem_get(table, cell_id(cell));
			if (elem && elem_equal(elem, key))
				return elem->id;
		}
		if (likely(!reach))
			return -ENOENT;
		reach--;
		line = line_add(table, line, 1);
		cells = &table->cells[line * STACK_LINE];
	}
}

/*
 * Take a free index.  About half of them are free, and the search goes on where
 * the last one ended: an index comes back after all others had their turn, so
 * its generations last as long as can be.  Returns -1 when there is none, which
 * takes more insertions at a time than STACK_EXTRA allows for.
 */
static s64 index_get(struct bpf_stack_table *table)
{
	u64 cursor = atomic64_read(&table->cursor), free, bit;
	u32 mask = table->nr_index - 1, at = cursor, n = 0;
	atomic64_t *used;

	/* One word more than there are: the first one is looked at twice. */
	while (n <= table->nr_index / 64) {
		used = &table->used[at / 64];
		free = ~(u64)atomic64_read(used) & (~0ULL << (at % 64));
		if (!free) {
			at = (round_down(at, 64) + 64) & mask;
			n++;
			continue;
		}
		bit = free & -free;
		/* Pairs with index_put(): elems[at] and gens[at] are ours. */
		if (atomic64_fetch_or(bit, used) & bit)
			continue;
		at = round_down(at, 64) + __ffs64(bit);
		/* A late writer must not set the cursor back. */
		atomic64_cmpxchg(&table->cursor, cursor, (at + 1) & mask);
		return at;
	}
	return -1;
}

/* Pairs with index_get(). */
static void index_put(struct bpf_stack_table *table, u32 index)
{
	atomic64_fetch_andnot(BIT_ULL(index % 64), &table->used[index / 64]);
}

/*
 * Give the element its id and make it readable; pairs with elem_get().  Nobody
 * knows the id yet, and no cell has it.
 */
static void publish(struct bpf_stack_table *table, struct bpf_stack_elem *elem,
		    u32 index)
{
	u32 id = table->gens[index] << table->index_bits | index;

	elem->id = id & ~(u32)STACK_PENDING;
	elem->cell = 0;
	rcu_assign_pointer(table->elems[index], elem);
}

/* Undo publish(); the caller is the only owner. */
static void unpublish(struct bpf_stack_table *table, u32 id)
{
	u32 index = bpf_stack_table_index(table, id);
	struct bpf_stack_elem *elem;

	elem = rcu_dereference_protected(table->elems[index], true);
	RCU_INIT_POINTER(table->elems[index], NULL);
	/* Whoever has the old id must not get the next stack. */
	table->gens[index]++;
	index_put(table, index);
	bpf_stack_elem_free(&table->mem, elem);
}

/* A claim, maybe another inserter's: its stack, where that is at home, its cell. */
struct stack_claim {
	const struct bpf_stack_key *key;
	u32 home;
	u32 at;
	u64 cell;
};

/* Claim the first free cell from home, for @elem; false: there is none. */
static bool claim_cell(struct bpf_stack_table *table, struct stack_claim *claim,
		       struct bpf_stack_elem *elem)
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
			WRITE_ONCE(elem->cell, line + i);
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
	u64 old = atomic64_read(ctl);
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
	u32 index = bpf_stack_table_index(table, cell_id(cell));
	u32 home = tag_home(table, cell >> 32);
	struct bpf_stack_elem *elem;

	if ((u64)atomic64_cmpxchg(&table->cells[at], cell, 0) != cell)
		return false;

	/* Ours alone: the cmpxchg succeeds for one of all who try. */
	if (unlikely(at / STACK_LINE != home))
		shrink(table, home);
	if (cell & STACK_PENDING) {
		this_cpu_inc(table->stats->races);
	} else {
		elem = rcu_dereference_protected(table->elems[index], true);
		atomic64_dec(&table->count);
		this_cpu_add(table->stats->bytes, -(u64)elem->bytes);
	}
	unpublish(table, cell_id(cell));
	return true;
}

/* Is what the cell with the tag of @key stands for the same stack? */
static noinline bool cell_equal(const struct bpf_stack_table *table, u64 cell,
				const struct bpf_stack_key *key)
{
	const struct bpf_stack_elem *elem = elem_get(table, cell_id(cell));

	return elem && elem_equal(elem, key);
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
			       cell_equal(table, cell, claim->key)) {
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
	const struct bpf_stack_elem *elem;
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

	/* Once it is confirmed, anybody may delete it. */
	elem = elem_get(table, cell_id(claim->cell));
	if (!elem ||
	    (u64)atomic64_cmpxchg(&table->cells[claim->at], claim->cell,
				  claim->cell & ~STACK_PENDING) != claim->cell)
		return -EAGAIN;
	atomic64_inc(&table->count);
	this_cpu_add(table->stats->bytes, elem->bytes);
	this_cpu_inc(table->stats->stored);
	return elem->id;
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

/*
 * A new element with the stack of @key, published, and a claim for it; false: no
 * memory.
 */
static bool claim_new(struct bpf_stack_table *table,
		      const struct bpf_stack_key *key, struct stack_claim *claim)
{
	u32 tag = hash_tag(key->hash), id;
	struct bpf_stack_elem *elem;
	s64 index;

	elem = bpf_stack_elem_new(&table->mem, key);
	if (!elem)
		return false;
	index = index_get(table);
	if (index < 0) {
		bpf_stack_elem_free(&table->mem, elem);
		return false;
	}
	publish(table, elem, index);

	/* From the claim on, the element belongs to who clears the cell. */
	id = elem->id;
	claim->key = key;
	claim->home = tag_home(table, tag);
	claim->cell = cell_stored(tag, id) | STACK_PENDING;
	if (claim_cell(table, claim, elem))
		return true;
	unpublish(table, id);
	return false;
}

static bool is_full(const struct bpf_stack_table *table)
{
	return atomic64_read(&table->count) >= table->max_entries;
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

/* Insert a stack that was not there a moment ago. */
static noinline int insert(struct bpf_stack_table *table,
			   const struct bpf_stack_key *key, bool reuse)
{
	struct stack_claim claim;
	int id;

	/*
	 * Claims do not count: of two that insert the same stack, the one that
	 * looks here later must not fail because of the other.  So there can be
	 * as many more than max_entries as there are insertions at that moment.
	 */
	if (is_full(table) && !(reuse && evict(table, key))) {
		/* Was it the last one that got in? */
		id = find_again(table, key);
		if (id >= 0)
			return id;
		this_cpu_inc(table->stats->lost_full);
		return -ENOMEM;
	}

	do {
		if (!claim_new(table, key, &claim)) {
			this_cpu_inc(table->stats->lost_nomem);
			return -ENOMEM;
		}
		id = finish(table, &claim);
		if (id < 0)
			id = find_again(table, key);
	} while (id < 0);
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
 * The stored element of @id, where its cell is, and what is in it.  The cell
 * decides: what is pending, or has been cleared, is not there.
 */
static struct bpf_stack_elem *stored_get(const struct bpf_stack_table *table,
					 u32 id, u32 *at, u64 *cell)
{
	struct bpf_stack_elem *elem;

	if (id & (u32)STACK_PENDING)
		return NULL;
	elem = elem_get(table, id);
	if (!elem)
		return NULL;
	/* Pairs with claim(). */
	*at = READ_ONCE(elem->cell);
	*cell = cell_stored(hash_tag(elem->hash), id);
	return (u64)atomic64_read(&table->cells[*at]) == *cell ? elem : NULL;
}

/**
 * bpf_stack_table_copy - read a stack
 * @table:	The table.
 * @id:		Its id.
 * @to:		Where to.
 * @nr:		Room there, in words; what the stack does not fill is zeroed.
 *
 * Return: number of words of the stack, which may be more than @nr, or -ENOENT
 */
int bpf_stack_table_copy(const struct bpf_stack_table *table, u32 id,
			 u64 *to, u32 nr)
{
	const struct bpf_stack_elem *elem;
	u32 at, n, part, left;
	const u64 *seg;
	u64 cell;

	elem = stored_get(table, id, &at, &cell);
	if (!elem)
		return -ENOENT;

	left = min(nr, elem->nr);
	n = min(left, elem_words(elem->nr));
	memcpy(to, elem->word, n * sizeof(u64));
	for (seg = elem_next(elem); n < left; seg = seg_next(seg), n += part) {
		part = min_t(u32, left - n, STACK_SEG_WORDS - 1);
		memcpy(to + n, seg + 1, part * sizeof(u64));
	}
	memset(to + n, 0, (nr - n) * sizeof(u64));
	return elem->nr;
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
	const struct bpf_stack_elem *elem;
	u32 index, at;
	u64 cell;

	for (index = after + 1; index < table->nr_index; index++) {
		elem = rcu_dereference_check(table->elems[index],
					     rcu_read_lock_any_held());
		if (elem && stored_get(table, elem->id, &at, &cell))
			return elem->id;
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
 * What waits for a grace period, or in the allocator's stock, is not included.
 *
 * Return: bytes, besides the structure itself
 */
u64 bpf_stack_table_bytes(const struct bpf_stack_table *table)
{
	u64 bytes = (u64)table->nr_lines * STACK_LINE * sizeof(*table->cells);

	bytes += (u64)table->nr_index *
		 (sizeof(*table->elems) + sizeof(*table->gens));
	bytes += table->nr_index / 64 * sizeof(*table->used);
	bytes += num_possible_cpus() * sizeof(*table->stats);
	bytes += bpf_stack_mem_bytes(&table->mem);
	return bytes + bpf_stack_table_stats(table).bytes;
}

static void table_free(struct bpf_stack_table *table)
{
	free_percpu(table->stats);
	bpf_map_area_free(table->used);
	bpf_map_area_free(table->gens);
	bpf_map_area_free(table->elems);
	bpf_map_area_free(table->cells);
}

/**
 * bpf_stack_table_init - make an empty table
 * @table:	Zeroed memory.
 * @max_entries: Stacks that it is to hold, 1..BPF_STACK_TABLE_MAX_ENTRIES.
 * @node:	NUMA node of its memory.
 *
 * May sleep.  The memory is charged to the caller's memory cgroup, and so are
 * the elements, whoever inserts them.
 *
 * Return: 0, -E2BIG or -ENOMEM; bpf_stack_table_destroy() is due only after 0
 */
int bpf_stack_table_init(struct bpf_stack_table *table, u32 max_entries,
			 int node)
{
	u64 claims = (u64)max_entries + STACK_EXTRA * num_possible_cpus();
	int err = -ENOMEM;

	if (max_entries > BPF_STACK_TABLE_MAX_ENTRIES)
		return -E2BIG;

	table->max_entries = max_entries;
	/* 7/4 cells for each entry, and never fewer than there can be claims */
	table->nr_lines = max_t(u64, DIV_ROUND_UP(max_entries, 4),
				DIV_ROUND_UP(claims, STACK_LINE - 1));
	/* Whole words of the bitmap */
	table->index_bits = max(6, ilog2(max(2ULL * max_entries, claims) - 1) + 1);
	table->nr_index = 1U << table->index_bits;
	get_random_bytes(table->seed, sizeof(table->seed));

	table->cells = bpf_map_area_alloc((u64)table->nr_lines * STACK_LINE *
					  sizeof(*table->cells), node);
	table->elems = bpf_map_area_alloc((u64)table->nr_index *
					  sizeof(*table->elems), node);
	table->gens = bpf_map_area_alloc((u64)table->nr_index *
					 sizeof(*table->gens), node);
	table->used = bpf_map_area_alloc(table->nr_index / 64 *
					 sizeof(*table->used), node);
	table->stats = alloc_percpu_gfp(struct bpf_stack_stats,
					GFP_KERNEL_ACCOUNT);
	if (table->cells && table->elems && table->gens && table->used &&
	    table->stats)
		err = bpf_stack_mem_init(&table->mem);
	if (err)
		table_free(table);
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
	struct bpf_stack_elem *elem;
	u32 index;

	for (index = 0; index < table->nr_index; index++) {
		elem = rcu_dereference_protected(table->elems[index], true);
		if (elem) {
			migrate_disable();
			bpf_stack_elem_free(&table->mem, elem);
			migrate_enable();
		}
		cond_resched();
	}
	bpf_stack_mem_destroy(&table->mem);
	table_free(table);
}
