// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test all interleavings of two or three operations of kernel/bpf/stack_table.c.
 *
 * Each operation is a coroutine that stops before each access to shared memory and
 * announces the access.  The explorer runs a scenario again and again, each time with a
 * different order of these accesses, until it has tried all orders.  Orders that differ
 * only in independent accesses, to different addresses or both reads, give the same
 * result.  Sleep sets (Godefroid 1996) run them only once.  Memory is sequentially
 * consistent here; threads.c and the litmus tests cover weaker orders.
 *
 * A second pass simulates NMIs: at each access of one operation, the others run as a
 * whole.  They must finish, as nothing else can run meanwhile.
 *
 * Lines have two cells, so that two stacks fill a home.
 *
 * usage: explore [-v]
 */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#define STACK_LINE 3
#include "stack_pool.c"
#include "stack_table.c"
#include "test.h"

#define MAX_THREADS	3
#define MAX_STEPS	4000
#define NMI_STEPS	2000
#define MAX_RUNS	4000000
#define NR_LINES	4
/* Few blocks, so that a scenario reuses them */
#define NR_BLOCKS	8

static struct bpf_stack_table table;
/* Number of records of the table, except in scenarios with fewer */
static u32 nr_index;

/* ---- coroutines ---- */

struct access {
	const volatile void *addr;
	bool write;
};

struct thread {
	/* Start of the coroutine, and the place to resume it */
	ucontext_t context;
	jmp_buf resume;
	bool begun;
	struct access next;
	bool done;
	void (*op)(int *result);
	int result;
	u8 stack[128 << 10] __attribute__((aligned(16)));
};

static struct thread threads[MAX_THREADS];
static jmp_buf scheduler;
static int nr_threads;
static volatile int current = -1;

/* Set while an operation on a free list runs, see sched_point(). */
static bool in_list;

static bool is_list(const volatile void *addr)
{
	return addr == &table.pool.free || addr == &table.free[0] ||
	       addr == &table.free[1];
}

/* Whether an operation on a free list, once begun, makes an access to @addr. */
static bool is_link(const volatile void *addr)
{
	const char *at = (const char *)addr, *recs = (const char *)table.recs;
	const char *blocks = (const char *)table.pool.chunks[0];

	return at == (const char *)table.pool.chunks ||
	       (at >= recs && at < recs + table.nr_index * sizeof(*table.recs)) ||
	       (at >= blocks && at < blocks + (NR_BLOCKS + 1) * sizeof(struct bpf_stack_block));
}

/*
 * An operation on a free list counts as one access.  If another context changed the list
 * in between, the cmpxchg would fail and the operation would start again.  It begins with
 * a read of the head, and ends with a cmpxchg or another read, or, if the list is empty, at
 * once.  The number of free blocks affects nothing in these scenarios, so accesses to it are
 * not announced.
 */
void sched_point(const volatile void *addr, bool write)
{
	bool list = is_list(addr), goes_on = in_list;
	int self = current;

	/* Preparation and checks run outside of coroutines. */
	if (self < 0 || addr == &table.pool.nr_free)
		return;
	if (goes_on && (list || is_link(addr))) {
		in_list = !list;
		return;
	}
	in_list = false;
	threads[self].next = (struct access){ addr, write || list };
	/* Unlike swapcontext(), these make no system call. */
	if (!_setjmp(threads[self].resume))
		_longjmp(scheduler, 1);
	in_list = list;
}

static void thread_main(int self)
{
	threads[self].op(&threads[self].result);
	threads[self].done = true;
	_longjmp(scheduler, 1);
}

/* Let thread @t make its next access, and stop before the one after that. */
static void step(int t)
{
	current = t;
	if (!_setjmp(scheduler)) {
		if (threads[t].begun)
			_longjmp(threads[t].resume, 1);
		threads[t].begun = true;
		setcontext(&threads[t].context);
	}
	current = -1;
}

static void start(int t, void (*op)(int *))
{
	struct thread *thread = &threads[t];

	thread->done = false;
	thread->begun = false;
	thread->op = op;
	thread->result = 0x5a5a5a5a;
	getcontext(&thread->context);
	thread->context.uc_stack.ss_sp = thread->stack;
	thread->context.uc_stack.ss_size = sizeof(thread->stack);
	makecontext(&thread->context, (void (*)(void))thread_main, 1, t);
	step(t);
}

/* ---- the stacks and the operations ---- */

/* Stack letters: X and Y have the same home, Z the one after it. */
enum { X, Y, Z, F1, F2, F3, NR_STACKS };
static u64 words[NR_STACKS][2];
static u64 hashes[NR_STACKS];
/* Ids of the stacks that the preparation stored */
static int ids[NR_STACKS];

static struct bpf_stack_key key_of(int stack)
{
	return (struct bpf_stack_key) {
		.word = words[stack],
		.nr = 2,
		.hash = hashes[stack],
	};
}

static int get(int stack, bool reuse)
{
	struct bpf_stack_key key = key_of(stack);

	return bpf_stack_table_get(&table, &key, reuse);
}

static int find(int stack)
{
	struct bpf_stack_key key = key_of(stack);

	return find_key(&table, &key);
}

/* Whether @id holds @stack; 0 for another stack and for a deleted id. */
static int holds(int id, int stack)
{
	u64 got[3];
	int ret = bpf_stack_table_copy(&table, id, got, 3);

	return ret == 2 && !memcmp(got, words[stack], sizeof(words[stack])) && !got[2];
}

static void get_x(int *result) { *result = get(X, false); }
static void get_y(int *result) { *result = get(Y, false); }
static void get_z(int *result) { *result = get(Z, false); }
static void reuse_x(int *result) { *result = get(X, true); }
static void reuse_y(int *result) { *result = get(Y, true); }
static void find_x(int *result) { *result = find(X); }
static void delete_x(int *result) { *result = bpf_stack_table_delete(&table, ids[X]); }
static void delete_f1(int *result) { *result = bpf_stack_table_delete(&table, ids[F1]); }
static void delete_f2(int *result) { *result = bpf_stack_table_delete(&table, ids[F2]); }

/* Result: 1 for the whole of X, -ENOENT if deleted, anything else is an error. */
static void copy_x(int *result)
{
	u64 got[2];

	*result = bpf_stack_table_copy(&table, ids[X], got, 2);
	if (*result == 2)
		*result = memcmp(got, words[X], sizeof(got)) ? -EIO : 1;
}

static void copy_f1(int *result)
{
	u64 got[2];

	*result = bpf_stack_table_copy(&table, ids[F1], got, 2);
	if (*result == 2)
		*result = memcmp(got, words[F1], sizeof(got)) ? -EIO : 1;
}

/* Result: how often an iteration sees X. */
static void iterate_x(int *result)
{
	int id = bpf_stack_table_next(&table, -1);

	for (*result = 0; id >= 0;) {
		*result += id == ids[X];
		id = bpf_stack_table_next(&table, bpf_stack_table_index(&table, id));
	}
}

/* A user may use the returned id at once, so it must lead to X. */
static void get_x_and_read(int *result)
{
	*result = get(X, false);
	if (*result >= 0 && !holds(*result, X))
		*result = -EIO;
}

static void get_x_and_delete(int *result)
{
	*result = get(X, false);
	if (*result >= 0)
		*result = bpf_stack_table_delete(&table, *result) ? -EIO : 1;
}

/* The second stack needs the other list of free records. */
static void get_y_twice(int *result)
{
	*result = get(Y, false);
	if (*result >= 0)
		*result = bpf_stack_table_delete(&table, *result);
	if (!*result)
		*result = get(Y, false);
}

static void clear_table(u32 max_entries)
{
	table.nr_index = nr_index;
	memset(table.cells, 0, table.nr_lines * STACK_LINE * sizeof(*table.cells));
	memset(table.recs, 0, table.nr_index * sizeof(*table.recs));
	recs_init(&table);
	table.free[1].counter = 0;
	table.turn = 0;
	table.pool.free.counter = 0;
	table.pool.nr_free.counter = NR_BLOCKS;
	for (u32 i = 1; i <= NR_BLOCKS; i++)
		*block_link(&table.pool, i) = i < NR_BLOCKS ? i + 1 : 0;
	table.pool.free.counter = 1;
	memset(table.stats, 0, sizeof(*table.stats));
	table.count.counter = 0;
	table.max_entries = max_entries;
	for (int i = 0; i < NR_STACKS; i++)
		ids[i] = -1;
}

static void make_table(void)
{
	/* All stacks but Z have home 0.  All tags differ, except those of F3 and X. */
	static const u32 tags[NR_STACKS] = { 1, 2, 0x40000001, 3, 4, 1 };

	shim_cpus = 1;
	if (bpf_stack_table_init(&table, 4, 2, 0, 0))
		abort();
	if (table.nr_lines < NR_LINES)
		abort();
	table.nr_lines = NR_LINES;
	nr_index = table.nr_index;
	table.pool.low = 0;
	for (int i = 0; i < NR_STACKS; i++) {
		words[i][0] = 0x1000 + i;
		words[i][1] = 0x2000 + i;
		hashes[i] = (u64)(i + 1) << 32 | tags[i];
	}
}

/* ---- scenarios ---- */

static int count(int stack)
{
	int n = 0;

	for (u32 line = 0; line < table.nr_lines; line++)
		for (u32 i = 1; i < STACK_LINE; i++) {
			u64 cell = table.cells[line * STACK_LINE + i].counter;
			struct bpf_stack_rec *rec;

			if (!cell || cell & STACK_PENDING)
				continue;
			rec = rec_of(&table, cell_id(cell));
			n += rec->id == cell_id(cell) && rec->hash == hashes[stack];
		}
	return n;
}

static u32 listed(atomic64_t *head, const void *owner, stack_link_fn link_of)
{
	u32 n = 0;

	for (u32 number = (u32)head->counter; number; number = *link_of(owner, number))
		n++;
	return n;
}

/* Invariants that must hold after every scenario */
static bool sane(void)
{
	u32 cells = 0;

	for (u32 line = 0; line < table.nr_lines; line++)
		for (u32 i = 1; i < STACK_LINE; i++) {
			u64 cell = table.cells[line * STACK_LINE + i].counter;
			u32 home;

			if (!cell)
				continue;
			cells++;
			EXPECT(!(cell & STACK_PENDING));
			home = tag_home(&table, cell >> 32);
			EXPECT(line_distance(&table, home, line) <=
			       ctl_reach(table.cells[home * STACK_LINE].counter));
		}
	EXPECT_EQ(cells, bpf_stack_table_count(&table));
	EXPECT_EQ(table.pool.nr_free.counter, NR_BLOCKS - cells);
	EXPECT_EQ(listed(&table.pool.free, &table.pool, block_link), NR_BLOCKS - cells);
	EXPECT_EQ(listed(&table.free[0], &table, rec_link) +
		  listed(&table.free[1], &table, rec_link), table.nr_index - cells);
	for (int i = 0; i < NR_STACKS; i++)
		EXPECT(count(i) <= 1);
	return true;
}

#define RESULT(t) (threads[t].result)

static void put(int stack)
{
	ids[stack] = get(stack, false);
	if (ids[stack] < 0)
		abort();
}

static void fill_home(void)
{
	put(F1);
	put(F2);
}

static void nothing(void)
{
}

static void put_x(void)
{
	put(X);
}

/* X is in the second line. */
static void put_x_away(void)
{
	fill_home();
	put(X);
}

static void put_x_away_and_shrink(void)
{
	put_x_away();
	bpf_stack_table_delete(&table, ids[F1]);
	put(F1);
}

/* Only two records exist, both on the list that takers use second. */
static void two_records(void)
{
	table.nr_index = 2;
	recs_init(&table);
	table.turn = 1;
}

static bool both_same(void)
{
	EXPECT(RESULT(0) >= 0);
	EXPECT_EQ(RESULT(0), RESULT(1));
	EXPECT_EQ(find(X), RESULT(0));
	EXPECT(holds(RESULT(0), X));
	EXPECT_EQ(count(X), 1);
	return true;
}

static bool all_same(void)
{
	EXPECT_EQ(RESULT(0), RESULT(2));
	return both_same();
}

/* Third thread: delete_f1() */
static bool both_same_and_deleted(void)
{
	EXPECT_EQ(RESULT(2), 0);
	EXPECT_EQ(count(F1), 0);
	EXPECT(count(F2) == 1 || ids[F2] < 0);
	return both_same();
}

static bool x_and_y(void)
{
	EXPECT(RESULT(0) >= 0);
	EXPECT(RESULT(1) >= 0);
	EXPECT(RESULT(0) != RESULT(1));
	EXPECT(holds(RESULT(0), X));
	EXPECT(holds(RESULT(1), Y));
	EXPECT_EQ(find(X), RESULT(0));
	EXPECT_EQ(find(Y), RESULT(1));
	return true;
}

static bool x_and_z(void)
{
	EXPECT(holds(RESULT(0), X));
	EXPECT(holds(RESULT(1), Z));
	EXPECT_EQ(find(X), RESULT(0));
	EXPECT_EQ(find(Z), RESULT(1));
	return true;
}

/* Thread 0 inserts or finds X; thread 1 deletes the old id of X. */
static bool inserted_or_deleted(void)
{
	EXPECT(RESULT(0) >= 0);
	EXPECT_EQ(RESULT(1), 0);
	EXPECT(!holds(ids[X], X));
	if (RESULT(0) == ids[X]) {
		EXPECT_EQ(count(X), 0);
		EXPECT_EQ(find(X), -ENOENT);
	} else {
		EXPECT(holds(RESULT(0), X));
		EXPECT_EQ(find(X), RESULT(0));
	}
	return true;
}

/* A single stack must always fit, even if other threads delete it meanwhile. */
static bool never_full(void)
{
	EXPECT(RESULT(0) >= 0);
	EXPECT(RESULT(1) != -ENOMEM);
	return true;
}

static bool deleted_once(void)
{
	EXPECT(RESULT(0) == 0 || RESULT(1) == 0);
	EXPECT_EQ(RESULT(0) + RESULT(1), -ENOENT);
	EXPECT_EQ(count(X), 0);
	return true;
}

static bool whole_or_gone(void)
{
	EXPECT(RESULT(0) == 1 || RESULT(0) == -ENOENT);
	EXPECT(RESULT(1) >= 0);
	return true;
}

/* X stays stored all the time, so thread 0 must find it. */
static bool always_found(void)
{
	EXPECT_EQ(RESULT(0), ids[X]);
	EXPECT_EQ(find(X), ids[X]);
	return true;
}

static bool always_whole(void)
{
	EXPECT_EQ(RESULT(0), 1);
	return true;
}

static bool reused(void)
{
	EXPECT(RESULT(0) >= 0);
	EXPECT(RESULT(1) >= 0);
	EXPECT(RESULT(0) != RESULT(1));
	/* Each thread may have evicted the stack of the other one. */
	EXPECT(holds(RESULT(0), X) || find(X) < 0);
	EXPECT(holds(RESULT(1), Y) || find(Y) < 0);
	return true;
}

static bool read_back(void)
{
	EXPECT(RESULT(0) >= 0);
	EXPECT(RESULT(1) >= 0);
	EXPECT_EQ(RESULT(0), RESULT(1));
	return true;
}

/* Thread 0 inserts X and deletes the id it got; thread 1 inserts X. */
static bool inserted_and_deleted(void)
{
	EXPECT_EQ(RESULT(0), 1);
	EXPECT(RESULT(1) >= 0);
	EXPECT(holds(RESULT(1), X) || count(X) == 0);
	return true;
}

static const struct scenario {
	const char *name;
	u32 max_entries;
	void (*prepare)(void);
	__typeof__(get_x) *op[MAX_THREADS];
	bool (*check)(void);
	/* If not 0, explore only interleavings with at most that many preemptions */
	int preemptions;
} scenarios[] = {
	{ "two insert the same stack", 4, nothing, { get_x, get_x }, both_same },
	{ "two insert the same stack, away from home", 4, fill_home,
	  { get_x, get_x }, both_same },
	{ "two insert the same stack into the last entry", 1, nothing,
	  { get_x, get_x }, both_same },
	{ "two insert the same stack, and its home gets a free cell", 4, fill_home,
	  { get_x, get_x, delete_f1 }, both_same_and_deleted, 3 },
	{ "three insert the same stack", 4, nothing, { get_x, get_x, get_x }, all_same, 3 },
	{ "two insert different stacks with the same home", 4, nothing,
	  { get_x, get_y }, x_and_y },
	{ "two insert different stacks with the same full home", 4, fill_home,
	  { get_x, get_y }, x_and_y },
	{ "two insert stacks with neighbouring homes", 4, fill_home,
	  { get_x, get_z }, x_and_z },
	{ "insertion and deletion of the same stack", 4, put_x,
	  { get_x, delete_x }, inserted_or_deleted },
	{ "insertion and deletion of the same stack, away from home", 4, put_x_away,
	  { get_x, delete_x }, inserted_or_deleted },
	{ "insertion and deletion of the last entry's stack", 1, put_x,
	  { get_x, delete_x }, inserted_or_deleted },
	{ "two insert and one deletes the last entry's stack", 1, put_x,
	  { get_x, get_x, delete_x }, never_full, 3 },
	{ "insertion and two deletions of the last entry's stack", 1, put_x,
	  { get_x, get_x_and_delete, delete_x }, never_full, 3 },
	{ "two insert, and there is a record for each", 4, two_records,
	  { get_x, get_y_twice }, x_and_y },
	{ "insertion, and deletion of one that was farther away", 4, put_x_away,
	  { get_y, delete_x }, NULL },
	{ "two deletions of the same stack", 4, put_x, { delete_x, delete_x }, deleted_once },
	{ "two deletions away from home", 4, put_x_away, { delete_x, delete_x }, deleted_once },
	{ "read and deletion", 4, put_x, { copy_x, delete_x }, whole_or_gone },
	{ "read and reuse of its entry", 1, put_x, { copy_x, reuse_y }, whole_or_gone },
	{ "read, deletion and insertion of another stack", 4, put_x,
	  { copy_x, delete_x, get_y }, whole_or_gone },
	{ "search while its home gets a free cell", 4, put_x_away,
	  { find_x, delete_f1 }, always_found },
	{ "search while its home gets a free cell and a new stack", 4, put_x_away,
	  { find_x, delete_f1, get_y }, always_found },
	{ "search while two others go", 4, put_x_away_and_shrink,
	  { find_x, delete_f1, delete_f2 }, always_found },
	{ "insertion of what is there while its home gets a free cell", 4, put_x_away,
	  { get_x, delete_f1 }, always_found },
	{ "read while the neighbours go", 4, put_x_away,
	  { copy_x, delete_f1, delete_f2 }, always_whole },
	{ "two reuse the only entry", 1, nothing, { reuse_x, reuse_y }, reused },
	{ "two reuse a full table", 2, fill_home, { reuse_x, reuse_y }, reused },
	{ "two reuse for the same stack, and a read", 2, fill_home,
	  { copy_f1, reuse_x, reuse_x }, whole_or_gone, 3 },
	{ "iteration and insertion", 4, put_x, { iterate_x, get_y }, always_whole },
	{ "iteration and deletion of a neighbour", 4, put_x_away,
	  { iterate_x, delete_f1 }, always_whole },
	{ "an id is known when it is returned", 4, nothing,
	  { get_x_and_read, get_x_and_read }, read_back },
	{ "insertion and deletion against insertion", 4, nothing,
	  { get_x_and_delete, get_x }, inserted_and_deleted },
};

static bool finished(const struct scenario *scenario)
{
	current = -1;
	return sane() && (!scenario->check || scenario->check());
}

static void begin(const struct scenario *scenario)
{
	current = -1;
	in_list = false;
	clear_table(scenario->max_entries);
	scenario->prepare();
	for (nr_threads = 0; nr_threads < MAX_THREADS && scenario->op[nr_threads]; nr_threads++)
		start(nr_threads, scenario->op[nr_threads]);
}

/* ---- all interleavings ---- */

struct node {
	u32 enabled;
	u32 sleep;
	u32 tried;
	int chosen;
	/* In bounded mode: thread that ran before, and preemptions so far */
	int last;
	int preempted;
	struct access next[MAX_THREADS];
};

static struct node nodes[MAX_STEPS];

static bool independent(struct access a, struct access b)
{
	return a.addr != b.addr || (!a.write && !b.write);
}

/* Set up the node after the choice made at @before, or the first node if that is NULL. */
static void make_node(struct node *node, const struct node *before)
{
	memset(node, 0, sizeof(*node));
	for (int t = 0; t < nr_threads; t++)
		if (!threads[t].done) {
			node->enabled |= 1U << t;
			node->next[t] = threads[t].next;
		}
	node->last = -1;
	if (!before)
		return;
	node->last = before->chosen;
	node->preempted = before->preempted +
			  (before->last >= 0 && before->last != before->chosen &&
			   (before->enabled >> before->last & 1));
	for (int t = 0; t < nr_threads; t++) {
		u32 bit = 1U << t;

		if (t != before->chosen && ((before->sleep | before->tried) & bit) &&
		    independent(before->next[t], before->next[before->chosen]))
			node->sleep |= bit;
	}
}

/*
 * Threads that may run at @node.  Without a bound, these are all that do not repeat an
 * order already explored.  With a bound, the running thread continues once no preemption
 * is left.  Sleep sets do not apply then, as the equivalent order may have been skipped
 * for having too many preemptions.
 */
static u32 choices(const struct node *node, int preemptions)
{
	u32 choice = node->enabled & ~node->tried;

	if (!preemptions)
		return choice & ~node->sleep;
	if (node->preempted >= preemptions && node->last >= 0 &&
	    (node->enabled >> node->last & 1))
		choice &= 1U << node->last;
	return choice;
}

static void print_schedule(int depth)
{
	printf("# schedule:");
	for (int i = 0; i < depth; i++)
		printf(" %d", nodes[i].chosen);
	printf("\n");
}

static bool explore(const struct scenario *scenario, u64 *runs, u64 *pruned, int *longest)
{
	int depth, prefix = 0;

	*runs = 0;
	*pruned = 0;
	*longest = 0;
	for (;;) {
		begin(scenario);
		for (depth = 0;; depth++) {
			struct node *node = &nodes[depth];
			u32 choice;

			if (depth >= MAX_STEPS - 1) {
				printf("# an operation does not come to an end\n");
				print_schedule(100);
				return false;
			}
			if (depth >= prefix) {
				make_node(node, depth ? node - 1 : NULL);
				choice = choices(node, scenario->preemptions);
				if (!choice)
					break;
				node->chosen = __builtin_ctz(choice);
			}
			step(node->chosen);
		}
		if (nodes[depth].enabled) {
			++*pruned;
		} else {
			++*runs;
			*longest = max(*longest, depth);
			if (!finished(scenario)) {
				print_schedule(depth);
				return false;
			}
		}
		if (*runs + *pruned > MAX_RUNS) {
			printf("# too many interleavings\n");
			return false;
		}
		/* Backtrack to the last choice that has an alternative. */
		while (--depth >= 0) {
			struct node *node = &nodes[depth];
			u32 choice;

			node->tried |= 1U << node->chosen;
			choice = choices(node, scenario->preemptions);
			if (choice) {
				node->chosen = __builtin_ctz(choice);
				break;
			}
		}
		if (depth < 0)
			return true;
		prefix = depth + 1;
	}
}

/* ---- NMIs ---- */

/* Run @outer, with all of @nmi at its access number @at.  False if it has fewer. */
static bool nest(int outer, const int *nmi, int nr_nmi, int at, bool *ok)
{
	int i, n, steps;

	for (i = 0; i < at; i++) {
		if (threads[outer].done)
			return false;
		step(outer);
	}
	if (threads[outer].done)
		return false;
	for (n = 0; n < nr_nmi; n++) {
		for (steps = 0; !threads[nmi[n]].done; steps++) {
			if (steps > NMI_STEPS) {
				printf("# the NMI does not come to an end\n");
				*ok = false;
				return false;
			}
			step(nmi[n]);
		}
	}
	while (!threads[outer].done)
		step(outer);
	return true;
}

static bool explore_nmi(const struct scenario *scenario, u64 *runs)
{
	int n = 2 + !!scenario->op[2];
	bool ok = true;

	for (int outer = 0; outer < n; outer++) {
		int nmi[MAX_THREADS], nr_nmi = 0;

		for (int t = 0; t < n; t++)
			if (t != outer)
				nmi[nr_nmi++] = t;
		for (int at = 0;; at++) {
			begin(scenario);
			if (!nest(outer, nmi, nr_nmi, at, &ok))
				break;
			++*runs;
			if (!finished(scenario)) {
				printf("# NMI at access %d of operation %d\n", at, outer);
				return false;
			}
		}
		if (!ok)
			return false;
	}
	return true;
}

int main(int argc, char **argv)
{
	u64 runs, pruned, nmi_runs = 0, all = 0;
	bool verbose = argc > 1 && !strcmp(argv[1], "-v");
	int longest;

	make_table();
	for (size_t i = 0; i < ARRAY_SIZE(scenarios); i++) {
		bool ok = explore(&scenarios[i], &runs, &pruned, &longest);

		all += runs;
		test_result(ok, "%s: %s (%llu)",
			    scenarios[i].preemptions ? "up to 3 preemptions" :
						       "all interleavings",
			    scenarios[i].name, (unsigned long long)runs);
		if (verbose)
			printf("# %llu runs, %llu cut short, longest %d accesses\n",
			       (unsigned long long)runs, (unsigned long long)pruned, longest);
	}
	for (size_t i = 0; i < ARRAY_SIZE(scenarios); i++)
		test_result(explore_nmi(&scenarios[i], &nmi_runs), "NMI: %s",
			    scenarios[i].name);
	printf("# %llu interleavings, %llu NMIs\n", (unsigned long long)all,
	       (unsigned long long)nmi_runs);
	return test_end();
}
