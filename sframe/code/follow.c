// SPDX-License-Identifier: GPL-2.0
/*
 * Follows code from the entries of functions, as an abstract interpreter: for each instruction
 * that a way leads to, it keeps what holds on all ways.
 *
 * A block is a stretch of instructions that is entered at its start only.  Each block has the
 * state before its first instruction; a state loses facts where ways meet that differ, and gains
 * some once at most, when it turns out that a function begins there.  So the states settle.
 */
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/search.h"
#include "code/follow.h"
#include "code/imports.h"

/* How often an instruction may be decoded, on average over the text */
#define MAX_VISITS	16
/* lea disp32(%rip), %r64, and its size without the prefix */
#define LEA		0x8d
#define LEA_SIZE	6
#define REX_MASK	0xfb
#define REX_W		0x48
#define MODRM_MASK	0xc7
#define MODRM_RIP	0x05
/* What part of the instructions that may be decoded a table may have as entries */
#define TABLE_SHARE	8
/* How many entries of a table count whose end is not known, and how far they may lead */
#define OPEN_ENTRIES	8
#define OPEN_BYTES	65536
/* How deep functions that never return may call each other */
#define MAX_CALLS	8
/* How many bytes of text there are for each block at least; compilers' code has 20 */
#define MIN_BLOCK	8
#define FEW_BLOCKS	65536
/* More than any program has */
#define MAX_PARTS	64
#define MAX_EDGES	(NONE - 1)
#define NONE		UINT32_MAX

/**
 * struct part - bytes of the object that are in memory
 * @vaddr:	Address of the first one.
 * @size:	Their number.
 * @bytes:	The bytes.
 * @seen:	A bit for each byte that begins an instruction which some way leads to; NULL if
 *		the bytes cannot be executed.
 * @certain:	All bytes of the instructions that are no guess, likewise.
 * @likely:	Those, and those of likely guesses, likewise.
 * @begins:	Those that begin a block, likewise.
 * @named:	Those whose address some code may load, relative to itself, likewise; NULL until
 *		find_named().
 */
struct part {
	u64		vaddr;
	u64		size;
	const u8	*bytes;
	u8		*seen;
	u8		*certain;
	u8		*likely;
	u8		*begins;
	u8		*named;
};

/**
 * struct block - a stretch of instructions
 * @start:	Address of the first one.
 * @facts:	What is known there, as struct state has it.
 * @num_facts:	Their number.
 * @from:	The last of the ways that lead there: an index of edges, or NONE.
 * @callers:	The last of the calls that lead there, likewise.
 * @group:	Another block of the same group, or itself: see group_of().
 * @writes:	Of a group: the registers that it may change, of those that functions need not keep.
 * @assumed:	Those that the function which the block calls may change, when it was followed.
 * @is_entry:	A function begins there.
 * @fp_saved:	Of an entry: all that lead there have saved the frame pointer.
 * @guess:	How sure it is that some way leads there.
 * @is_bad:	Of a group: it does something that no function does.
 * @is_good:	Of a group: it returns to a caller.
 * @is_framed:	Of a group: it saves a register of its caller.
 * @is_called:	Of a group: a function that is sure calls it.
 * @is_tail:	Of a group: it leaves by a jump to another function, its frame undone.
 * @is_weak:	Only ways back from calls lead there.
 * @is_queued:	Its state has changed since it was followed.
 * @is_open:	It ends with a jump by a table whose end is not known.
 * @returns:	Some way leads from there back to the function's caller.
 */
struct block {
	u64		start;
	struct fact	*facts;
	u32		num_facts;
	u32		from;
	u32		callers;
	u32		group;
	u16		writes;
	u16		assumed;
	bool		is_entry;
	bool		fp_saved;
	enum guess	guess;
	bool		is_bad;
	bool		is_good;
	bool		is_framed;
	bool		is_called;
	bool		is_tail;
	bool		is_weak;
	bool		is_queued;
	bool		is_open;
	bool		returns;
};

/**
 * struct edge - a way from one block to another
 * @block:	Where it comes from.
 * @next:	Another one to the same block, or NONE.
 */
struct edge {
	u32	block;
	u32	next;
};

/**
 * struct handler - where exceptions lead that are thrown below calls
 * @start:	Address of the first of these calls.
 * @end:	The end of the last one.
 * @address:	Where execution goes on.
 */
struct handler {
	u64	start;
	u64	end;
	u64	address;
};

/**
 * struct follow - what is known of an object's code
 * @limits:	The code to follow; NULL for all.
 * @parts:	The object's segments.
 * @num_parts:	Their number.
 * @room_parts:	How many @parts has room for.
 * @blocks:	All blocks.
 * @num_blocks:	Their number.
 * @room_blocks: How many @blocks has room for.
 * @hash:	Indexes of blocks by address; NONE where none is.
 * @hash_size:	A power of two.
 * @edges:	The ways between blocks.
 * @num_edges:	Their number.
 * @room_edges:	How many @edges has room for.
 * @sets:	The sets of addresses that registers may have.
 * @queue:	Blocks to follow, as a stack.
 * @num_queue:	Their number.
 * @room_queue:	How many @queue has room for.
 * @open:	Blocks that end with a jump by a table whose end is not known.
 * @num_open:	Their number.
 * @room_open:	How many @open has room for.
 * @next_open:	How many of them have been guessed.
 * @imports:	What pointers lead to that the dynamic linker sets.
 * @handlers:	Handlers of exceptions, by ascending address of the calls.
 * @num_handlers: Their number.
 * @room_handlers: How many @handlers has room for.
 * @stack:	Blocks to go back from, as a stack.
 * @num_stack:	Their number.
 * @room_stack:	How many @stack has room for.
 * @max_blocks:	How many blocks there may be.
 * @max_table:	How many entries a table of jumps may have.
 * @budget:	How many more instructions may be decoded.
 */
struct follow {
	const struct ranges *limits;
	struct part	*parts;
	size_t		num_parts;
	size_t		room_parts;
	struct block	*blocks;
	size_t		num_blocks;
	size_t		room_blocks;
	u32		*hash;
	size_t		hash_size;
	struct edge	*edges;
	size_t		num_edges;
	size_t		room_edges;
	struct constant_sets sets;
	u32		*queue;
	size_t		num_queue;
	size_t		room_queue;
	u32		*open;
	size_t		num_open;
	size_t		room_open;
	size_t		next_open;
	struct imports	imports;
	struct handler	*handlers;
	size_t		num_handlers;
	size_t		room_handlers;
	u32		*stack;
	size_t		num_stack;
	size_t		room_stack;
	size_t		max_blocks;
	u64		max_table;
	u64		budget;
};

static const struct part *part_at(const struct follow *follow, u64 address, bool code)
{
	for (size_t i = 0; i < follow->num_parts; i++) {
		const struct part *part = &follow->parts[i];

		if (address - part->vaddr < part->size && (part->seen || !code))
			return part;
	}
	return NULL;
}

static bool has_bit(const u8 *bits, u64 at)
{
	return bits[at / 8] & 1 << at % 8;
}

static void set_bit(u8 *bits, u64 at)
{
	bits[at / 8] |= 1 << at % 8;
}

static void add_part(struct follow *follow, const struct object *obj, const GElf_Phdr *phdr)
{
	struct part *part;
	Elf_Data *data;

	/* libelf copies each; segments may share their bytes. */
	if (phdr->p_type != PT_LOAD || !phdr->p_filesz || phdr->p_offset > obj->file_size ||
	    phdr->p_filesz > obj->file_size - phdr->p_offset || follow->num_parts == MAX_PARTS)
		return;
	data = elf_getdata_rawchunk(obj->elf, phdr->p_offset, phdr->p_filesz, ELF_T_BYTE);
	if (!data || !data->d_buf || data->d_size != phdr->p_filesz)
		return;
	follow->parts = grow(follow->parts, &follow->room_parts, follow->num_parts,
			     sizeof(*follow->parts));
	follow->parts[follow->num_parts++] = (struct part){
		.vaddr = phdr->p_vaddr,
		.size = phdr->p_filesz,
		.bytes = data->d_buf,
	};
	if (!(phdr->p_flags & PF_X))
		return;
	part = &follow->parts[follow->num_parts - 1];
	part->seen = require_memory(calloc(phdr->p_filesz / 8 + 1, 1));
	part->certain = require_memory(calloc(phdr->p_filesz / 8 + 1, 1));
	part->likely = require_memory(calloc(phdr->p_filesz / 8 + 1, 1));
	part->begins = require_memory(calloc(phdr->p_filesz / 8 + 1, 1));
}

/* The function that an indirect call or jump leads to by a pointer of the dynamic linker */
static const struct import *import_of(const struct follow *follow, const struct insn *insn)
{
	const struct memory *memory = &insn->memory;

	if (!memory->size || !memory->is_known || memory->base != GPR_NONE ||
	    memory->index != GPR_NONE)
		return NULL;
	return imports_find(&follow->imports, memory->offset);
}

static void clear_hash(struct follow *follow, size_t size)
{
	free(follow->hash);
	follow->hash_size = size;
	follow->hash = require_memory(malloc(size * sizeof(*follow->hash)));
	memset(follow->hash, 0xff, size * sizeof(*follow->hash));
}

static void set_bounds(struct follow *follow)
{
	u64 bytes = 0;

	follow->sets.low = INT64_MAX;
	for (size_t i = 0; i < follow->num_parts; i++) {
		const struct part *part = &follow->parts[i];

		if (!part->seen)
			continue;
		bytes += follow->limits ? 0 : part->size;
		if ((s64)part->vaddr < follow->sets.low)
			follow->sets.low = part->vaddr;
		if ((s64)(part->vaddr + part->size) > follow->sets.high)
			follow->sets.high = part->vaddr + part->size;
	}
	for (size_t i = 0; follow->limits && i < follow->limits->count; i++)
		bytes += follow->limits->at[i].end - follow->limits->at[i].start;
	follow->budget = MAX_VISITS * bytes;
	follow->max_table = follow->budget / TABLE_SHARE;
	follow->max_blocks = FEW_BLOCKS + bytes / MIN_BLOCK;
}

/**
 * follow_new() - begin to follow an object's code
 * @obj:	The object.  It has to stay open.
 * @limits:	The code to follow, sorted; NULL for all.  It has to stay.
 *
 * Return: what follow_free() frees.
 */
struct follow *follow_new(const struct object *obj, const struct ranges *limits)
{
	struct follow *follow = require_memory(calloc(1, sizeof(*follow)));
	size_t count;
	GElf_Phdr phdr;

	follow->limits = limits;
	clear_hash(follow, 1024);
	if (elf_getphdrnum(obj->elf, &count))
		return follow;
	for (size_t i = 0; i < count; i++)
		if (gelf_getphdr(obj->elf, i, &phdr))
			add_part(follow, obj, &phdr);
	imports_add(&follow->imports, obj);
	set_bounds(follow);
	return follow;
}

/**
 * follow_free() - end
 * @follow:	From follow_new().
 */
void follow_free(struct follow *follow)
{
	for (size_t i = 0; i < follow->num_parts; i++) {
		free(follow->parts[i].seen);
		free(follow->parts[i].certain);
		free(follow->parts[i].likely);
		free(follow->parts[i].begins);
		free(follow->parts[i].named);
	}
	for (size_t i = 0; i < follow->num_blocks; i++)
		free(follow->blocks[i].facts);
	free(follow->parts);
	free(follow->blocks);
	free(follow->hash);
	imports_free(&follow->imports);
	free(follow->handlers);
	free(follow->edges);
	constants_free(&follow->sets);
	free(follow->queue);
	free(follow->open);
	free(follow->stack);
	free(follow);
}

/* The bytes at @address and how many follow; NULL if there are none. */
static const u8 *bytes_at(const struct follow *follow, u64 address, bool code, u64 *left)
{
	const struct part *part = part_at(follow, address, code);

	if (!part)
		return NULL;
	*left = part->size - (address - part->vaddr);
	return part->bytes + (address - part->vaddr);
}

static void see(struct follow *follow, u64 address, u8 length, enum guess guess)
{
	const struct part *part = part_at(follow, address, true);
	u64 at = address - part->vaddr;

	set_bit(part->seen, at);
	for (u64 end = at + length; at < end; at++) {
		if (guess <= GUESS_LIKELY)
			set_bit(part->likely, at);
		if (guess == GUESS_NONE)
			set_bit(part->certain, at);
	}
}

/* Whether a way that is surer than @guess leads to @address. */
static bool is_surer(const struct follow *follow, u64 address, enum guess guess)
{
	const struct part *part = part_at(follow, address, true);

	if (guess == GUESS_NONE)
		return false;
	return has_bit(guess == GUESS_LIKELY ? part->certain : part->likely,
		       address - part->vaddr);
}

/**
 * follow_is_within() - whether there is code to follow
 * @follow:	From follow_new().
 * @address:	Where.
 *
 * Return: whether that is within the limits.
 */
bool follow_is_within(const struct follow *follow, u64 address)
{
	const struct ranges *limits = follow->limits;
	size_t next;

	if (!part_at(follow, address, true))
		return false;
	if (!limits)
		return true;
	next = search_starts(limits->at, limits->count, sizeof(*limits->at), address);
	return next && address < limits->at[next - 1].end;
}

/**
 * follow_bytes() - get the bytes of the object's code
 * @follow:	From follow_new().
 * @address:	Address of the first one.
 * @left:	Set to how many there are.
 *
 * Return: the bytes, or NULL if there is no code.
 */
const u8 *follow_bytes(const struct follow *follow, u64 address, u64 *left)
{
	return bytes_at(follow, address, true, left);
}

/**
 * follow_data() - get bytes of the object's memory
 * @follow:	From follow_new().
 * @address:	Address of the first one.
 * @left:	Set to how many there are.
 *
 * Return: the bytes, or NULL if there are none.
 */
const u8 *follow_data(const struct follow *follow, u64 address, u64 *left)
{
	return bytes_at(follow, address, false, left);
}

/**
 * follow_word() - get a word of the object's memory, as linked
 * @follow:	From follow_new().
 * @address:	Its address.
 * @word:	Set to it.
 *
 * Return: whether there is one.
 */
bool follow_word(const struct follow *follow, u64 address, u64 *word)
{
	u64 left;
	const u8 *bytes = bytes_at(follow, address, false, &left);

	if (!bytes || left < sizeof(*word))
		return false;
	memcpy(word, bytes, sizeof(*word));
	return true;
}

/**
 * follow_decode() - decode an instruction of the object
 * @follow:	From follow_new().
 * @address:	Its address.
 * @insn:	Filled in.
 *
 * Return: whether there is one.
 */
bool follow_decode(struct follow *follow, u64 address, struct insn *insn)
{
	u64 left;
	const u8 *bytes = bytes_at(follow, address, true, &left);

	return bytes && insn_decode(insn, bytes, left, address);
}

/* Where the hash has the block at @address, or has room for it */
static u32 *find_slot(struct follow *follow, u64 address)
{
	size_t at = address * 0x9e3779b97f4a7c15ULL >> 32;

	for (;; at++) {
		u32 *slot = &follow->hash[at & (follow->hash_size - 1)];

		if (*slot == NONE || follow->blocks[*slot].start == address)
			return slot;
	}
}

/* Most addresses are not those of blocks, and the hash is too large for the CPU's caches. */
static struct block *find_block(struct follow *follow, u64 address)
{
	const struct part *part = part_at(follow, address, true);

	if (!part || !has_bit(part->begins, address - part->vaddr))
		return NULL;
	return &follow->blocks[*find_slot(follow, address)];
}

/**
 * follow_has_seen() - whether some way leads to an instruction
 * @follow:	From follow_new().
 * @address:	Its address.
 *
 * Return: whether one does.
 */
bool follow_has_seen(const struct follow *follow, u64 address)
{
	const struct part *part = part_at(follow, address, true);

	return part && has_bit(part->seen, address - part->vaddr);
}

/**
 * follow_is_weak() - whether nothing but ways back from calls, which may never return, and padding
 * after them lead to an instruction
 * @follow:	From follow_new().
 * @address:	Its address.
 *
 * Return: whether that is so, and a block begins there.
 */
bool follow_is_weak(struct follow *follow, u64 address)
{
	const struct block *block = find_block(follow, address);

	return block && block->is_weak && !block->is_entry;
}

static void grow_hash(struct follow *follow)
{
	clear_hash(follow, 2 * follow->hash_size);
	for (u32 i = 0; i < follow->num_blocks; i++)
		*find_slot(follow, follow->blocks[i].start) = i;
}

static void queue_block(struct follow *follow, struct block *block)
{
	if (block->is_queued)
		return;
	block->is_queued = true;
	follow->queue = grow(follow->queue, &follow->room_queue, follow->num_queue,
			     sizeof(*follow->queue));
	follow->queue[follow->num_queue++] = block - follow->blocks;
}

static void get_state(const struct block *block, struct state *state)
{
	*state = (struct state){ .num_facts = block->num_facts };
	if (block->num_facts)
		memcpy(state->facts, block->facts, block->num_facts * sizeof(*block->facts));
}

/* Most states have few facts, and there are many blocks. */
static void set_state(struct block *block, const struct state *state)
{
	if (state->num_facts > block->num_facts)
		block->facts = require_memory(reallocarray(block->facts, state->num_facts,
							   sizeof(*block->facts)));
	block->num_facts = state->num_facts;
	if (state->num_facts)
		memcpy(block->facts, state->facts, state->num_facts * sizeof(*block->facts));
}

static void push_stack(struct follow *follow, u32 block)
{
	follow->stack = grow(follow->stack, &follow->room_stack, follow->num_stack,
			     sizeof(*follow->stack));
	follow->stack[follow->num_stack++] = block;
}

static struct block *add_block(struct follow *follow, u64 address, const struct state *state)
{
	const struct part *part = part_at(follow, address, true);
	struct block *block;

	if (2 * follow->num_blocks >= follow->hash_size)
		grow_hash(follow);
	if (follow->num_blocks >= follow->max_blocks)
		follow->budget = 0;
	set_bit(part->begins, address - part->vaddr);
	*find_slot(follow, address) = follow->num_blocks;
	follow->blocks = grow(follow->blocks, &follow->room_blocks, follow->num_blocks,
			      sizeof(*follow->blocks));
	block = &follow->blocks[follow->num_blocks++];
	*block = (struct block){
		.start = address,
		.from = NONE,
		.callers = NONE,
		.group = block - follow->blocks,
	};
	set_state(block, state);
	queue_block(follow, block);
	return block;
}

/* Note that @block leads to a block, as one of @list. */
static void add_edge(struct follow *follow, u32 *list, u32 block)
{
	for (u32 at = *list, left = 4; at != NONE && left; at = follow->edges[at].next, left--)
		if (follow->edges[at].block == block)
			return;
	if (follow->num_edges == MAX_EDGES) {
		follow->budget = 0;
		return;
	}
	follow->edges = grow(follow->edges, &follow->room_edges, follow->num_edges,
			     sizeof(*follow->edges));
	follow->edges[follow->num_edges] = (struct edge){ block, *list };
	*list = follow->num_edges++;
}

/* Some way leads from block @index back to the caller, and so from all that lead there. */
static void set_returns(struct follow *follow, u32 index)
{
	size_t bottom = follow->num_stack;

	push_stack(follow, index);
	while (follow->num_stack > bottom) {
		struct block *block = &follow->blocks[follow->stack[--follow->num_stack]];

		if (block->returns)
			continue;
		block->returns = true;
		for (u32 at = block->from; at != NONE; at = follow->edges[at].next)
			push_stack(follow, follow->edges[at].block);
		/* The way back from calls of the function can be taken. */
		for (u32 at = block->callers; at != NONE; at = follow->edges[at].next)
			queue_block(follow, &follow->blocks[follow->edges[at].block]);
	}
}

/* The block that stands for all blocks of the functions that @index belongs to */
static struct block *group_of(struct follow *follow, u32 index)
{
	struct block *blocks = follow->blocks;

	while (blocks[index].group != index) {
		blocks[index].group = blocks[blocks[index].group].group;
		index = blocks[index].group;
	}
	return &blocks[index];
}

static void join_groups(struct follow *follow, u32 index, u32 other)
{
	struct block *group = group_of(follow, index), *joined = group_of(follow, other);

	if (joined == group)
		return;
	joined->group = group - follow->blocks;
	group->is_bad |= joined->is_bad;
	group->is_good |= joined->is_good;
	group->is_framed |= joined->is_framed;
	group->is_tail |= joined->is_tail;
	group->writes |= joined->writes;
}

/* Nobody knows what the functions that @index belongs to do. */
static void set_bad(struct follow *follow, u32 index)
{
	struct block *group = group_of(follow, index);

	group->is_bad = true;
	group->writes = CALLER_SAVED;
}

/* Block @index leaves for code that is not followed. */
static void leave_for_elsewhere(struct follow *follow, u32 index)
{
	group_of(follow, index)->writes = CALLER_SAVED;
	set_returns(follow, index);
}

static struct block *add_entry(struct follow *follow, u64 address, enum guess guess,
			       bool fp_saved)
{
	struct block *block;
	struct state state;

	if (!follow_is_within(follow, address))
		return NULL;
	state_enter(&state, fp_saved);
	block = add_block(follow, address, &state);
	block->is_entry = true;
	block->fp_saved = fp_saved;
	block->guess = guess;
	return block;
}

/* A function begins at @block.  What jumps there is a tail call, or no valid way. */
static void make_entry(struct follow *follow, struct block *block, bool fp_saved)
{
	struct state state;

	state_enter(&state, fp_saved);
	set_state(block, &state);
	queue_block(follow, block);
	block->is_entry = true;
	block->fp_saved = fp_saved;
	block->is_weak = false;
}

/* Another way, as sure as @guess, leads to entry @block; what is surer does not depend on it. */
static void enter_again(struct follow *follow, struct block *block, enum guess guess,
			bool fp_saved)
{
	if (block->fp_saved && !fp_saved && guess <= block->guess)
		make_entry(follow, block, false);
}

/* A function begins at @address, as a caller says that is as sure as @guess. */
static struct block *enter(struct follow *follow, u64 address, enum guess guess, bool fp_saved)
{
	struct block *block = find_block(follow, address);

	if (!block && follow_is_within(follow, address) && is_surer(follow, address, guess))
		return NULL;
	if (!block)
		return add_entry(follow, address, guess, fp_saved);
	if (block->is_entry)
		enter_again(follow, block, guess, fp_saved);
	else if (guess == GUESS_NONE)
		make_entry(follow, block, fp_saved);
	return block;
}

/**
 * follow_enter() - say where a function begins
 * @follow:	From follow_new().
 * @address:	Its first instruction.
 */
void follow_enter(struct follow *follow, u64 address)
{
	enter(follow, address, GUESS_NONE, false);
}

/**
 * follow_start() - say where the program begins
 * @follow:	From follow_new().
 * @address:	Its first instruction.
 */
void follow_start(struct follow *follow, u64 address)
{
	struct state state;

	state_start(&state);
	if (!find_block(follow, address) && follow_is_within(follow, address))
		add_block(follow, address, &state)->is_entry = true;
}

/**
 * follow_spend() - count what a caller does as instructions that are decoded
 * @follow:	From follow_new().
 * @units:	Their number.
 *
 * Return: false if that takes too long; then follow_run() fails.
 */
bool follow_spend(struct follow *follow, u64 units)
{
	follow->budget -= units < follow->budget ? units : follow->budget;
	return follow->budget;
}

/**
 * follow_catch() - say where exceptions lead
 * @follow:	From follow_new().
 * @start:	Address of the first of the calls below which they are thrown.  It ascends from one
 *		call of this function to the next.
 * @end:	The end of the last one.
 * @handler:	Where execution goes on then, in the same frame.
 */
void follow_catch(struct follow *follow, u64 start, u64 end, u64 handler)
{
	if (follow->num_handlers == follow->max_blocks)
		return;
	follow->handlers = grow(follow->handlers, &follow->room_handlers, follow->num_handlers,
				sizeof(*follow->handlers));
	follow->handlers[follow->num_handlers++] = (struct handler){ start, end, handler };
}

/* Whether ways with these states, of which one at least has the CFA, cannot meet. */
static bool is_conflict(const struct state *state, const struct state *other)
{
	struct state both = *state;

	return state_meet(&both, other, NULL) && !state_has_cfa(&both);
}

/* Function @from goes on in another one, or beyond the limits.  It must have left its frame. */
static void leave_function(struct follow *follow, u32 from, const struct state *state)
{
	if (state_is_left(state))
		group_of(follow, from)->is_tail = true;
	else if (state_has_cfa(state))
		set_bad(follow, from);
}

/* Merge @state, of a way that is as certain as @block, into the block's. */
static bool merge_state(struct follow *follow, struct block *block, const struct state *state,
			bool is_weak)
{
	struct state both;

	get_state(block, &both);
	if (block->is_weak != is_weak && is_conflict(&both, state)) {
		if (is_weak)
			return false;
		set_state(block, state);
		queue_block(follow, block);
	} else if (state_meet(&both, state, &follow->sets)) {
		set_state(block, &both);
		queue_block(follow, block);
	}
	block->is_weak &= is_weak;
	return true;
}

/*
 * Whether a guess leads to code that is surer, or to other code that was guessed before, and the
 * states cannot meet: that refutes it.
 */
static bool is_refuted(struct follow *follow, u32 from, const struct block *block,
		       const struct state *state)
{
	enum guess guess = follow->blocks[from].guess;
	struct state before;

	if (guess < block->guess || guess == GUESS_NONE)
		return false;
	if (guess == block->guess &&
	    group_of(follow, from) == group_of(follow, block - follow->blocks))
		return false;
	get_state(block, &before);
	return is_conflict(&before, state);
}

/*
 * A way with @state leads from block @from to @address.  If it is the way back from a call,
 * @is_weak, which may never be taken, another way counts more.
 */
static void lead_to(struct follow *follow, u32 from, u64 address, const struct state *state,
		    bool is_weak)
{
	struct block *block = find_block(follow, address);
	enum guess guess = follow->blocks[from].guess;

	if (!block && !follow_is_within(follow, address)) {
		if (!is_weak && !follow->blocks[from].is_weak)
			leave_function(follow, from, state);
		leave_for_elsewhere(follow, from);
		return;
	}
	if (!block && is_surer(follow, address, guess)) {
		/* Amid a block, whose state there is not known here */
		set_bad(follow, from);
		return;
	}
	if (!block) {
		block = add_block(follow, address, state);
		block->is_weak = is_weak;
		block->guess = guess;
		join_groups(follow, from, block - follow->blocks);
	} else if (block->is_entry) {
		/* Its state stays that of an entry.  A call before that may not have returned. */
		if (!is_weak && !follow->blocks[from].is_weak)
			leave_function(follow, from, state);
		if (!is_weak)
			enter_again(follow, block, guess, state_fp_saved(state));
	} else if (is_refuted(follow, from, block, state)) {
		set_bad(follow, from);
		return;
	} else if (guess > block->guess) {
		/* What is surer does not depend on it. */
	} else if (merge_state(follow, block, state, is_weak)) {
		join_groups(follow, from, block - follow->blocks);
	} else {
		return;
	}
	add_edge(follow, &block->from, from);
	if (block->returns)
		set_returns(follow, from);
}

/* Note what instructions like `lea disp32(%rip), %r64` name, wherever their bytes are. */
static void find_named_by(struct follow *follow, const struct part *code)
{
	const u8 *at = code->bytes + 1, *end = code->bytes + code->size;
	const struct part *part;
	u64 target;
	s32 offset;

	for (; end - at >= LEA_SIZE && (at = memchr(at, LEA, end - at - LEA_SIZE + 1)); at++) {
		if ((at[-1] & REX_MASK) != REX_W || (at[1] & MODRM_MASK) != MODRM_RIP)
			continue;
		memcpy(&offset, at + 2, sizeof(offset));
		target = code->vaddr + (at - code->bytes) + LEA_SIZE + offset;
		part = part_at(follow, target, false);
		if (part)
			set_bit(part->named, target - part->vaddr);
	}
}

static void find_named(struct follow *follow)
{
	for (size_t i = 0; i < follow->num_parts; i++) {
		struct part *part = &follow->parts[i];

		part->named = require_memory(calloc(part->size / 8 + 1, 1));
	}
	for (size_t i = 0; i < follow->num_parts; i++)
		if (follow->parts[i].seen)
			find_named_by(follow, &follow->parts[i]);
}

/*
 * How many entries a table of offsets has.  A mask may let its index be more than it ever is, but
 * the next table begins where other code says.
 */
static u32 count_entries(struct follow *follow, const struct fact *table)
{
	const struct part *part = part_at(follow, table->number, false);
	u64 next = table->number;
	u32 count = 1;

	if (!part || table->kind != VALUE_TARGET || !table->count ||
	    table->count & (table->count - 1))
		return table->count;
	/* Few objects need it. */
	if (!part->named)
		find_named(follow);
	for (; count < table->count && follow->budget; count++, follow->budget--) {
		next += sizeof(s32);
		if (next - part->vaddr >= part->size || has_bit(part->named, next - part->vaddr))
			break;
	}
	return count;
}

static unsigned int entry_size(const struct fact *table)
{
	if (table->kind == VALUE_POINTER)
		return 8;
	return table->kind == VALUE_TARGET ? 4 : 2;
}

/* The address that entry @i of a table of jumps leads to; false if that is no code. */
static bool table_target(const struct follow *follow, const struct fact *table, u32 i, u64 *target)
{
	unsigned int size = entry_size(table);
	u64 left, word = 0;
	const u8 *bytes = bytes_at(follow, table->number + (u64)i * size, false, &left);

	if (!bytes || left < size)
		return false;
	memcpy(&word, bytes, size);
	*target = word;
	if (table->kind == VALUE_TARGET)
		*target = (u64)table->number + (s32)word;
	else if (table->kind == VALUE_SHORT_TARGET)
		*target = (u64)table->number - (s32)table->count + word;
	return bytes_at(follow, *target, true, &left);
}

static bool is_table(struct follow *follow, const struct fact *table)
{
	u64 target;

	if ((table->kind != VALUE_TARGET && table->kind != VALUE_POINTER) || !table->count ||
	    table->count > follow->max_table)
		return false;
	for (u32 i = 0; i < table->count && follow->budget; i++, follow->budget--)
		if (!table_target(follow, table, i, &target))
			return false;
	return follow->budget;
}

static bool is_open(const struct fact *table)
{
	return table->kind == VALUE_SHORT_TARGET || (table->kind == VALUE_TARGET && !table->count);
}

/* Block @index ends with a jump by a table whose end is not known. */
static void add_open(struct follow *follow, u32 index)
{
	if (follow->blocks[index].is_open)
		return;
	follow->blocks[index].is_open = true;
	follow->open = grow(follow->open, &follow->room_open, follow->num_open,
			    sizeof(*follow->open));
	follow->open[follow->num_open++] = index;
}

/*
 * A jump by a pointer of the dynamic linker to a function of this object.  Another one may have
 * its name, too, so nobody knows which registers it changes.
 */
static void jump_to_export(struct follow *follow, u32 from, u64 target, const struct state *state)
{
	enter(follow, target, follow->blocks[from].guess, state_fp_saved(state));
	lead_to(follow, from, target, state, false);
	group_of(follow, from)->writes = CALLER_SAVED;
}

/* An indirect jump, to an address that was loaded, by a table, or to another function */
static void jump_indirectly(struct follow *follow, u32 from, const struct insn *insn,
			    const struct state *state)
{
	const struct import *import;
	struct constants constants;
	struct fact table;
	u32 count;
	u64 target;

	import = import_of(follow, insn);
	if (import) {
		if (import->target)
			jump_to_export(follow, from, import->target, state);
		return;
	}
	if (state_constants(state, insn, &follow->sets, &constants)) {
		for (u32 i = 0; i < constants.count && follow->budget; i++) {
			follow->budget--;
			lead_to(follow, from, constants.at[i], state, false);
		}
		return;
	}
	if (state_table(state, insn, &table) && is_open(&table))
		add_open(follow, from);
	count = table.count;
	table.count = count_entries(follow, &table);
	if (!is_table(follow, &table)) {
		leave_for_elsewhere(follow, from);
		return;
	}
	if (table.count < count)
		leave_for_elsewhere(follow, from);
	for (u32 i = 0; i < table.count && follow->budget; i++) {
		follow->budget--;
		if (table_target(follow, &table, i, &target))
			lead_to(follow, from, target, state, false);
	}
}

/*
 * Whether another function begins at @address, right after a call: it saves a register of its
 * caller, though the frame of the calling function is there already.  Then the call never returns.
 */
static bool is_after_last_call(struct follow *follow, u64 address, const struct state *state)
{
	const struct fact *sp = state_register(state, GPR_SP);
	struct insn insn;

	return sp && sp->kind == VALUE_CFA && sp->number < -8 &&
	       follow_decode(follow, address, &insn) && insn_saves(&insn);
}

/* An exception that is thrown below the call at @address, before @next, may lead to a handler. */
static void catch_exception(struct follow *follow, u32 from, u64 address, u64 next,
			    const struct state *state)
{
	const struct handler *handlers = follow->handlers;
	size_t after = search_starts(handlers, follow->num_handlers, sizeof(*handlers), address);
	struct state caught = *state;

	if (!after || next > handlers[after - 1].end)
		return;
	state_call(&caught, CALLER_SAVED);
	lead_to(follow, from, handlers[after - 1].address, &caught, false);
}

/* Go on after a call if some way leads back from the function called. */
static void follow_call(struct follow *follow, u32 from, const struct insn *insn, u64 next,
			struct state *state)
{
	const struct import *import = import_of(follow, insn);
	u64 target = import ? import->target : insn->target;
	struct block *callee = insn->has_target || (import && target) ?
			       enter(follow, target, follow->blocks[from].guess,
				     state_fp_saved(state)) : NULL;
	/* Another function may have the name of an import, too. */
	const u16 writes = callee && !import ? group_of(follow, callee - follow->blocks)->writes :
					       CALLER_SAVED;

	group_of(follow, from)->writes |= writes;
	follow->blocks[from].assumed |= writes;
	if (callee)
		add_edge(follow, &callee->callers, from);
	if ((callee && !callee->returns) || (import && !target) ||
	    is_after_last_call(follow, next, state))
		return;
	state_call(state, writes);
	lead_to(follow, from, next, state, true);
}

/* Follow @insn, which ends block @from, or return false if it does not. */
static bool leave_block(struct follow *follow, u32 from, const struct insn *insn, u64 address,
			struct state *state)
{
	u64 next = address + insn->length;
	struct state taken;

	switch (insn->kind) {
	case INSN_BRANCH:
		state_step(state, insn);
		taken = *state;
		if (state_branch(&taken, insn, true) && insn->has_target)
			lead_to(follow, from, insn->target, &taken, false);
		if (state_branch(state, insn, false))
			lead_to(follow, from, next, state, false);
		return true;
	case INSN_JUMP:
		if (insn->has_target)
			lead_to(follow, from, insn->target, state, false);
		else
			jump_indirectly(follow, from, insn, state);
		return true;
	case INSN_CALL:
		catch_exception(follow, from, address, next, state);
		follow_call(follow, from, insn, next, state);
		return true;
	case INSN_RETURN:
		if (state_is_left(state) && !insn->value)
			group_of(follow, from)->is_good = true;
		else
			set_bad(follow, from);
		set_returns(follow, from);
		return true;
	case INSN_STOP:
		return true;
	default:
		return false;
	}
}

/* Whether a block that has come to @address goes on there */
static bool goes_on(struct follow *follow, u64 address)
{
	return !find_block(follow, address) && follow_is_within(follow, address);
}

/*
 * A call that never returns may end a function.  If there is only padding from the way back to
 * @address, which is aligned, another function may begin there.
 */
static bool may_begin(const struct follow *follow, u32 index, const struct insn *insn, u64 address)
{
	const struct block *block = &follow->blocks[index];

	return block->is_weak && insn->kind == INSN_NOTHING && address % CODE_ALIGNMENT == 0 &&
	       address - block->start < CODE_ALIGNMENT;
}

static void follow_block(struct follow *follow, u32 index)
{
	u64 address = follow->blocks[index].start;
	struct state state;
	struct insn insn;

	get_state(&follow->blocks[index], &state);
	follow->blocks[index].is_queued = false;
	while (follow->budget) {
		follow->budget--;
		if (!follow_decode(follow, address, &insn) ||
		    !follow_is_within(follow, address + insn.length - 1)) {
			/* Nobody knows what happens there. */
			set_bad(follow, index);
			set_returns(follow, index);
			return;
		}
		see(follow, address, insn.length, follow->blocks[index].guess);
		group_of(follow, index)->writes |= insn.writes & CALLER_SAVED;
		if (leave_block(follow, index, &insn, address, &state))
			return;
		if (insn_saves(&insn))
			group_of(follow, index)->is_framed = true;
		state_step(&state, &insn);
		address += insn.length;
		if (may_begin(follow, index, &insn, address)) {
			lead_to(follow, index, address, &state, true);
			return;
		}
		if (!goes_on(follow, address)) {
			lead_to(follow, index, address, &state, false);
			return;
		}
	}
}

static void run_queue(struct follow *follow)
{
	while (follow->num_queue && follow->budget)
		follow_block(follow, follow->queue[--follow->num_queue]);
}

/* The functions that one of these ways comes from change what @writes has. */
static bool spread_writes(struct follow *follow, u32 ways, u16 writes)
{
	bool changed = false;

	for (u32 at = ways; at != NONE && follow->budget; at = follow->edges[at].next) {
		struct block *group = group_of(follow, follow->edges[at].block);

		follow->budget--;
		changed |= writes & ~group->writes;
		group->writes |= writes;
	}
	return changed;
}

/*
 * Hand-written code keeps values in such registers while it calls parts of itself that leave
 * them alone.  Find what each function changes by itself, by those that it calls and by those
 * that it jumps to, and follow again what went on from a call and took it to change less.
 */
static void find_writes(struct follow *follow)
{
	bool changed = true;

	while (changed && follow->budget) {
		changed = false;
		for (u32 i = 0; i < follow->num_blocks; i++) {
			u16 writes = group_of(follow, i)->writes;

			changed |= spread_writes(follow, follow->blocks[i].callers, writes);
			changed |= spread_writes(follow, follow->blocks[i].from, writes);
		}
	}
	for (u32 i = 0; i < follow->num_blocks; i++) {
		u16 writes = group_of(follow, i)->writes;

		for (u32 at = follow->blocks[i].callers; at != NONE; at = follow->edges[at].next) {
			struct block *caller = &follow->blocks[follow->edges[at].block];

			if (writes & ~caller->assumed)
				queue_block(follow, caller);
			caller->assumed |= writes;
		}
	}
}

static bool is_sure(struct follow *follow, u32 index)
{
	const struct block *group = group_of(follow, index);
	bool is_good = group->is_good || group->is_called ||
		       (group->is_framed && group->is_tail);

	return !group->is_bad && (is_good || follow->blocks[index].guess == GUESS_NONE);
}

/* Whether a jump may lead to @address, where nothing that is likely does */
static bool may_lead_to(const struct follow *follow, u64 jump, u64 address)
{
	const struct part *part = part_at(follow, address, true);

	return address > jump && address - jump < OPEN_BYTES && follow_is_within(follow, address) &&
	       !has_bit(part->likely, address - part->vaddr);
}

/* Guess that block @from leads to @address with @state.  Returns whether a function does. */
static bool guess_target(struct follow *follow, u32 from, u64 address, const struct state *state)
{
	struct block *block = find_block(follow, address);
	u32 index;

	if (block)
		return false;
	block = add_block(follow, address, state);
	block->guess = follow->blocks[from].guess ?: GUESS_LIKELY;
	index = block - follow->blocks;
	run_queue(follow);
	if (!is_sure(follow, index))
		return false;
	join_groups(follow, from, index);
	block = &follow->blocks[index];
	add_edge(follow, &block->from, from);
	if (block->returns)
		set_returns(follow, from);
	return true;
}

/* Find the jump at the end of block @index, and the state before it. */
static bool find_jump(struct follow *follow, u32 index, u64 *address, struct insn *insn,
		      struct state *state)
{
	*address = follow->blocks[index].start;
	get_state(&follow->blocks[index], state);
	while (follow_decode(follow, *address, insn) && insn->kind < INSN_CALL) {
		state_step(state, insn);
		*address += insn->length;
		if (!goes_on(follow, *address))
			return false;
	}
	return insn->kind == INSN_JUMP;
}

/*
 * Guess where the jump at the end of block @from leads by a table whose end is not known.  In
 * hand-written code, one of the first entries leads to what follows the jump, and the next ones
 * further each.
 */
static void guess_table(struct follow *follow, u32 from)
{
	u64 jump, target, last;
	struct insn insn = { };
	struct fact table;
	struct state state;
	u32 i = 0;

	if (!find_jump(follow, from, &jump, &insn, &state) ||
	    !state_table(&state, &insn, &table) || !is_open(&table))
		return;
	last = jump + insn.length;
	while (follow_decode(follow, last, &insn) && insn.kind == INSN_NOTHING)
		last += insn.length;
	while (i < OPEN_ENTRIES && (!table_target(follow, &table, i, &target) || target != last))
		i++;
	for (last = jump; i < OPEN_ENTRIES && table_target(follow, &table, i, &target); i++) {
		if (target <= last || !may_lead_to(follow, jump, target) ||
		    !guess_target(follow, from, target, &state))
			break;
		last = target;
	}
}

static void guess_tables(struct follow *follow)
{
	while (follow->next_open < follow->num_open && follow->budget)
		guess_table(follow, follow->open[follow->next_open++]);
}

/**
 * follow_guess() - follow what may be a function
 * @follow:	From follow_new(), after all that is surer.
 * @address:	Its first instruction.
 * @guess:	How sure that is.
 *
 * Return: whether it is a function, as far as follow_run() does not find otherwise.
 */
bool follow_guess(struct follow *follow, u64 address, enum guess guess)
{
	struct block *entry;
	u32 index;

	/* What is surer comes first. */
	run_queue(follow);
	guess_tables(follow);
	entry = find_block(follow, address);
	if (follow_is_weak(follow, address)) {
		make_entry(follow, entry, false);
		entry->guess = guess;
	} else {
		entry = entry ? NULL : add_entry(follow, address, guess, false);
	}
	if (!entry)
		return false;
	index = entry - follow->blocks;
	run_queue(follow);
	guess_tables(follow);
	return is_sure(follow, index);
}

static bool is_called(struct follow *follow, const struct block *block)
{
	for (u32 at = block->callers; at != NONE; at = follow->edges[at].next)
		if (is_sure(follow, follow->edges[at].block))
			return true;
	return false;
}

/* Functions that never return are as sure as those that call them. */
static void find_called(struct follow *follow)
{
	bool changed = true;

	for (int i = 0; i < MAX_CALLS && changed; i++) {
		changed = false;
		for (u32 n = 0; n < follow->num_blocks; n++) {
			struct block *group = group_of(follow, n);

			if (!follow->blocks[n].is_entry || group->is_bad || is_sure(follow, n) ||
			    !is_called(follow, &follow->blocks[n]))
				continue;
			group->is_called = true;
			changed = true;
		}
	}
}

/**
 * follow_run() - follow the code from all entries
 * @follow:	From follow_new().
 *
 * Return: false if that takes too long, as no compiler's code does.
 */
bool follow_run(struct follow *follow)
{
	size_t count;

	/*
	 * A block that begins amid another was not there when that was followed, so follow all
	 * once more until no state changes.  What groups do counts by the last states only, but
	 * for the registers that they change.
	 */
	do {
		run_queue(follow);
		count = follow->num_blocks;
		for (u32 i = 0; i < count; i++) {
			follow->blocks[i].is_bad = false;
			follow->blocks[i].is_good = false;
			follow->blocks[i].is_framed = false;
			follow->blocks[i].is_tail = false;
		}
		for (u32 i = 0; i < count && follow->budget; i++)
			follow_block(follow, i);
		find_writes(follow);
	} while ((follow->num_queue || follow->num_blocks != count) && follow->budget);
	find_called(follow);
	return follow->budget || !follow->num_blocks;
}

/**
 * follow_for_each() - look at each instruction that some way leads to
 * @follow:	From follow_new(), after follow_run().
 * @each:	Called for each, block by block.
 * @data:	Passed to @each.
 */
void follow_for_each(struct follow *follow, follow_each *each, void *data)
{
	for (u32 i = 0; i < follow->num_blocks; i++) {
		struct followed now = {
			.address = follow->blocks[i].start,
			.is_sure = is_sure(follow, i),
		};
		struct state state;
		struct insn insn;

		/* It may only be another way to read the bytes of code. */
		if (!now.is_sure && follow->blocks[i].guess != GUESS_NONE)
			continue;
		now.state = &state;
		now.insn = &insn;
		get_state(&follow->blocks[i], &state);
		while (follow_decode(follow, now.address, &insn)) {
			now.length = insn.length;
			each(&now, data);
			if (insn.kind >= INSN_CALL)
				break;
			state_step(&state, &insn);
			now.address += insn.length;
			if (!goes_on(follow, now.address))
				break;
		}
	}
}
