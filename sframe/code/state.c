// SPDX-License-Identifier: GPL-2.0
/*
 * What is known before an instruction: where the caller's stack pointer and its callee-saved
 * registers are.
 *
 * The stack pointer of the caller, the CFA, is not a number but a symbol.  So is the stack
 * pointer that a function has aligned.  Memory that such symbols do not address is taken not to
 * hold saved registers, and functions are taken to keep the ABI.
 */
#include <string.h>

#include "code/state.h"

#define WORD		8
/* No stack frame is larger. */
#define MAX_FRAME	(1LL << 30)

static const struct fact return_address = { .kind = VALUE_ENTRY, .number = REG_RA };
static const struct fact entry_fp = { .kind = VALUE_ENTRY, .number = GPR_BP };

static int compare_places(u8 place, s32 where, const struct fact *fact)
{
	if (place != fact->place)
		return place - fact->place;
	return where < fact->where ? -1 : where > fact->where;
}

/* The index of the first fact that is not before this place */
static u32 find_place(const struct state *state, u8 place, s32 where)
{
	u32 at = 0;

	while (at < state->num_facts && compare_places(place, where, &state->facts[at]) > 0)
		at++;
	return at;
}

static const struct fact *find(const struct state *state, u8 place, s32 where)
{
	u32 at = find_place(state, place, where);

	if (at == state->num_facts || compare_places(place, where, &state->facts[at]))
		return NULL;
	return &state->facts[at];
}

static void forget_at(struct state *state, u32 at)
{
	state->num_facts--;
	memmove(&state->facts[at], &state->facts[at + 1],
		(state->num_facts - at) * sizeof(state->facts[0]));
	memset(&state->facts[state->num_facts], 0, sizeof(state->facts[0]));
}

static void forget(struct state *state, u8 place, s32 where)
{
	u32 at = find_place(state, place, where);

	if (at < state->num_facts && !compare_places(place, where, &state->facts[at]))
		forget_at(state, at);
}

/*
 * Make room for a fact.  Compilers' code stores many pointers to its variables on the stack;
 * where the caller's stack pointer is saved, its value is nearer to the CFA.  Registers come
 * first, and matter most.
 */
static void forget_one(struct state *state)
{
	u32 at = state->num_facts - 1;
	s64 lowest = 0;

	for (u32 i = 0; i < state->num_facts; i++) {
		const struct fact *fact = &state->facts[i];

		if (fact->place == PLACE_REGISTER)
			continue;
		if (fact->kind == VALUE_ALIGNED) {
			at = i;
			break;
		}
		if (fact->kind == VALUE_CFA && fact->number < lowest) {
			lowest = fact->number;
			at = i;
		}
	}
	forget_at(state, at);
}

/* Note that the value at the place is @value; NULL if it is not known. */
static void note(struct state *state, u8 place, s32 where, const struct fact *value)
{
	struct fact copy;
	u32 at;

	if (!value || value->kind == VALUE_UNKNOWN) {
		forget(state, place, where);
		return;
	}
	copy = *value;
	forget(state, place, where);
	if (state->num_facts == STATE_MAX_FACTS)
		forget_one(state);
	at = find_place(state, place, where);
	memmove(&state->facts[at + 1], &state->facts[at],
		(state->num_facts - at) * sizeof(state->facts[0]));
	memset(&state->facts[at], 0, sizeof(state->facts[at]));
	state->facts[at].place = place;
	state->facts[at].where = where;
	state->facts[at].kind = copy.kind;
	state->facts[at].number = copy.number;
	state->facts[at].count = copy.count;
	state->num_facts++;
}

/**
 * state_register() - what is known of a register
 * @state:	The state.
 * @reg:	The register, or GPR_NONE.
 *
 * Return: the value, or NULL.
 */
const struct fact *state_register(const struct state *state, u8 reg)
{
	return reg == GPR_NONE ? NULL : find(state, PLACE_REGISTER, reg);
}

/* What stands for @size bytes of a register, or of memory at an offset from it */
static s32 part_of(u8 reg, u32 size)
{
	return reg + NUM_GPRS * size;
}

/* What stands for two registers that were compared */
static s32 pair_of(u8 reg, u8 other)
{
	return reg + NUM_GPRS * other;
}

/* Forget that @reg was compared with another register. */
static void forget_pair(struct state *state, u8 reg)
{
	const struct fact *last;

	if (!state->num_facts)
		return;
	last = &state->facts[state->num_facts - 1];
	if (last->place == PLACE_COMPARED_PAIR &&
	    (last->where % NUM_GPRS == reg || last->where / NUM_GPRS == reg))
		forget_at(state, state->num_facts - 1);
}

/* The register's value changes, and what it was compared with or addressed no longer matters. */
static void set_register(struct state *state, u8 reg, const struct fact *value)
{
	if (reg == GPR_NONE)
		return;
	/* @value may be one of the facts. */
	note(state, PLACE_REGISTER, reg, value);
	forget_pair(state, reg);
	for (u32 size = 1; size <= WORD; size *= 2) {
		forget(state, PLACE_PART, part_of(reg, size));
		forget(state, PLACE_MEMORY, part_of(reg, size));
		forget(state, PLACE_COMPARED, part_of(reg, size));
		forget(state, PLACE_COMPARED_MEMORY, part_of(reg, size));
	}
}

/* Forget all facts from this kind of place on. */
static void forget_from(struct state *state, u8 place)
{
	while (state->num_facts && state->facts[state->num_facts - 1].place >= place)
		forget_at(state, state->num_facts - 1);
}

static bool is_stack(const struct fact *value)
{
	return value && (value->kind == VALUE_CFA || value->kind == VALUE_ALIGNED);
}

static bool is_address(const struct fact *value)
{
	return is_stack(value) || (value && value->kind == VALUE_CONSTANT);
}

/* @value + @add, or an unknown value */
static struct fact sum(const struct fact *value, s64 add)
{
	struct fact result = { };

	if (!is_address(value) || __builtin_add_overflow(value->number, add, &result.number))
		return (struct fact){ };
	result.kind = value->kind;
	if (result.kind != VALUE_CONSTANT &&
	    (result.number > MAX_FRAME || result.number < -MAX_FRAME))
		result.kind = VALUE_UNKNOWN;
	return result;
}

/* The address of a memory operand, as far as it is known */
static struct fact address_of(const struct state *state, const struct memory *memory)
{
	static const struct fact zero = { .kind = VALUE_CONSTANT };

	if (!memory->size || !memory->is_known || memory->index != GPR_NONE)
		return (struct fact){ };
	return sum(memory->base == GPR_NONE ? &zero : state_register(state, memory->base),
		   memory->offset);
}

/* The place of a word on the stack; false if @address is elsewhere or not known. */
static bool slot_at(const struct fact *address, u8 *place, s32 *where)
{
	if (!is_stack(address))
		return false;
	*place = address->kind == VALUE_CFA ? PLACE_CFA : PLACE_ALIGNED;
	*where = address->number;
	return true;
}

static const struct fact *word_at(const struct state *state, const struct fact *address)
{
	s32 where;
	u8 place;

	return slot_at(address, &place, &where) ? find(state, place, where) : NULL;
}

/* What is known of @size bytes at @address is no longer true. */
static void overwrite(struct state *state, const struct fact *address, u32 size)
{
	s32 where;
	u8 place;

	forget_from(state, PLACE_MEMORY);
	if (!slot_at(address, &place, &where))
		return;
	for (u32 i = 0; i < state->num_facts;) {
		const struct fact *fact = &state->facts[i];

		if (fact->place == place && fact->where < (s64)where + size &&
		    fact->where + WORD > where)
			forget_at(state, i);
		else
			i++;
	}
}

/* Whether a walk may need the value */
static bool is_worth_keeping(const struct fact *fact)
{
	return fact->kind == VALUE_ENTRY || is_stack(fact);
}

static void store(struct state *state, const struct fact *address, const struct fact *value)
{
	struct fact copy = value ? *value : (struct fact){ };
	s32 where;
	u8 place;

	overwrite(state, address, WORD);
	if (!is_worth_keeping(&copy))
		return;
	if (slot_at(address, &place, &where))
		note(state, place, where, &copy);
}

static void move_stack(struct state *state, s64 by)
{
	struct fact moved = sum(state_register(state, GPR_SP), by);

	set_register(state, GPR_SP, &moved);
}

static void push(struct state *state, const struct fact *value)
{
	struct fact copy = value ? *value : (struct fact){ }, top;

	move_stack(state, -WORD);
	if (state_register(state, GPR_SP)) {
		top = *state_register(state, GPR_SP);
		store(state, &top, &copy);
	}
}

static void pop(struct state *state, u8 to)
{
	const struct fact *top = state_register(state, GPR_SP);
	const struct fact *word = top ? word_at(state, top) : NULL;
	struct fact copy = word ? *word : (struct fact){ };

	move_stack(state, WORD);
	set_register(state, to, &copy);
}

/* An aligned stack pointer is a new symbol; what the old one addressed is lost. */
static void align(struct state *state)
{
	static const struct fact aligned = { .kind = VALUE_ALIGNED };
	const struct fact *sp = state_register(state, GPR_SP);
	s64 top = sp && sp->kind == VALUE_CFA ? sp->number : 0;

	for (u32 i = 0; i < state->num_facts;) {
		const struct fact *fact = &state->facts[i];

		/* What is below the old one may be overwritten by way of the new one. */
		if (fact->place == PLACE_ALIGNED || fact->kind == VALUE_ALIGNED ||
		    (fact->place == PLACE_CFA && fact->where < top))
			forget_at(state, i);
		else
			i++;
	}
	set_register(state, GPR_SP, &aligned);
}

/* A number below @count */
static struct fact below(s64 count)
{
	if (count <= 0 || count > MAX_TABLE)
		return (struct fact){ };
	return (struct fact){ .kind = VALUE_BELOW, .number = 1, .count = count };
}

/* A number of @size bytes, with zeroes above */
static struct fact narrow(u8 size)
{
	return (struct fact){ .kind = VALUE_NARROW, .count = size };
}

static bool is_below(const struct fact *value)
{
	return value && value->kind == VALUE_BELOW && value->number == 1;
}

static void and_register(struct state *state, const struct insn *insn)
{
	const struct fact *value = state_register(state, insn->to);
	struct fact masked = insn->value < MAX_TABLE ? below(insn->value + 1) : (struct fact){ };

	if (insn->to == GPR_SP && insn->value < 0 && is_stack(value))
		align(state);
	else
		set_register(state, insn->to, &masked);
}

static void maybe_move(struct state *state, const struct insn *insn)
{
	const struct fact *to = state_register(state, insn->to);
	const struct fact *from = state_register(state, insn->from);
	struct fact both = { };

	if (is_below(to) && is_below(from))
		both = below(to->count > from->count ? to->count : from->count);
	set_register(state, insn->to, &both);
}

static bool is_offset(const struct fact *value)
{
	return value && (value->kind == VALUE_OFFSET || value->kind == VALUE_SHORT);
}

/* One of the offsets of a table, and the address of the table or another one, make a target. */
static struct fact target_of(const struct fact *base, const struct fact *offset)
{
	struct fact target = { };

	if (!is_offset(offset) || !base || base->kind != VALUE_CONSTANT)
		return target;
	target = *offset;
	if (offset->kind == VALUE_SHORT) {
		target.kind = VALUE_SHORT_TARGET;
		target.count = (u64)offset->number - base->number;
	} else {
		target.kind = base->number == offset->number ? VALUE_TARGET : VALUE_UNKNOWN;
	}
	return target;
}

static void add_register(struct state *state, const struct insn *insn)
{
	const struct fact *a = state_register(state, insn->to);
	const struct fact *b = state_register(state, insn->from);
	struct fact target = is_offset(a) ? target_of(b, a) : target_of(a, b);

	set_register(state, insn->to, &target);
}

/* The address of a table by its parts: a constant, and a bounded number times @size */
static struct fact table_of(const struct fact *base, const struct fact *index, s64 offset,
			    s64 scale, s64 size)
{
	struct fact table = sum(base, offset);

	if (!index || index->kind != VALUE_BELOW || table.kind != VALUE_CONSTANT ||
	    scale * index->number != size)
		return (struct fact){ };
	table.count = index->count;
	return table;
}

/* The table with entries of @size bytes that @memory indexes with a number that is bounded */
static struct fact table_at(const struct state *state, const struct memory *memory, u8 size,
			    enum value_kind kind)
{
	static const struct fact zero = { .kind = VALUE_CONSTANT };
	const struct fact *base = memory->base == GPR_NONE ? &zero :
							     state_register(state, memory->base);
	const struct fact *index = state_register(state, memory->index);
	struct fact table;

	if (!memory->size || !memory->is_known)
		return (struct fact){ };
	table = table_of(base, index, memory->offset, memory->scale, size);
	/* Either register may have the address. */
	if (!table.count && memory->scale == 1)
		table = table_of(index, base, memory->offset, 1, size);
	table.kind = table.count ? kind : VALUE_UNKNOWN;
	return table;
}

static void load(struct state *state, const struct insn *insn)
{
	struct fact address = address_of(state, &insn->memory);
	const struct fact *word = word_at(state, &address);
	struct fact copy = word ? *word : (struct fact){ };

	if (!word)
		copy = table_at(state, &insn->memory, WORD, VALUE_POINTER);
	set_register(state, insn->to, &copy);
}

/* An entry of a table of offsets whose end is not known */
static struct fact open_table_at(const struct state *state, const struct memory *memory)
{
	const struct fact *base = state_register(state, memory->base);
	struct fact table = sum(base, memory->offset);

	if (table.kind != VALUE_CONSTANT || memory->index == GPR_NONE || !memory->is_known ||
	    memory->scale != memory->size)
		return (struct fact){ };
	table.kind = memory->size == 4 ? VALUE_OFFSET : VALUE_SHORT;
	return table;
}

/* @value if @insn, which extends it from @size bytes, keeps it */
static struct fact extended(const struct insn *insn, const struct fact *value, u32 size)
{
	if (value->kind == VALUE_BELOW && !insn->zero_extends && size < 4 &&
	    value->count > 1U << (8 * size - 1))
		return (struct fact){ };
	return *value;
}

/* What a comparison has bounded, or an entry of a table of offsets */
static void load_part(struct state *state, const struct insn *insn)
{
	const struct memory *memory = &insn->memory;
	const struct fact *known = find(state, PLACE_MEMORY,
					part_of(memory->base, memory->size));
	struct fact value = { };

	if (known && known->number == memory->offset && memory->index == GPR_NONE &&
	    memory->is_known) {
		value = below(known->count);
		value = extended(insn, &value, memory->size);
	} else if (memory->size == 4) {
		value = table_at(state, memory, 4, VALUE_OFFSET);
	}
	if (value.kind == VALUE_UNKNOWN && (memory->size == 2 || memory->size == 4))
		value = open_table_at(state, memory);
	if (value.kind == VALUE_UNKNOWN && insn->zero_extends)
		value = narrow(memory->size);
	set_register(state, insn->to, &value);
}

/* Parts of a register keep a bound or an offset, but not an address. */
static void extend(struct state *state, const struct insn *insn)
{
	const struct fact *from = insn->size < 4 ?
		find(state, PLACE_PART, part_of(insn->from, insn->size)) :
		state_register(state, insn->from);
	struct fact copy = { };

	if (from && (from->kind == VALUE_BELOW || from->kind == VALUE_OFFSET))
		copy = extended(insn, from, insn->size);
	else if (insn->zero_extends)
		copy = narrow(insn->size);
	set_register(state, insn->to, &copy);
}

static void exchange(struct state *state, const struct insn *insn)
{
	const struct fact *to = state_register(state, insn->to);
	const struct fact *from = state_register(state, insn->from);
	struct fact old = to ? *to : (struct fact){ }, new = from ? *from : (struct fact){ };

	set_register(state, insn->to, &new);
	set_register(state, insn->from, &old);
}

static void leave(struct state *state)
{
	const struct fact *fp = state_register(state, GPR_BP);
	struct fact copy = fp ? *fp : (struct fact){ };

	set_register(state, GPR_SP, &copy);
	pop(state, GPR_BP);
}

static void enter(struct state *state, s64 locals)
{
	const struct fact *fp = state_register(state, GPR_BP);

	push(state, fp);
	set_register(state, GPR_BP, state_register(state, GPR_SP));
	move_stack(state, -locals);
}

static bool is_constant(const struct fact *value)
{
	return value && (value->kind == VALUE_CONSTANT || value->kind == VALUE_CONSTANTS);
}

/* Whether what follows a call may need the value, which the function called leaves alone */
static bool survives_call(const struct fact *value)
{
	return is_worth_keeping(value) || is_constant(value);
}

/**
 * state_call() - the state after a call
 * @state:	The state before it; changed to that after it.
 * @writes:	Which of the registers that functions need not keep the function called may change,
 *		a bit each.  It keeps what the ABI says, and the stack above its return address.
 */
void state_call(struct state *state, u16 writes)
{
	const struct fact *sp = state_register(state, GPR_SP);
	s64 top = sp ? sp->number : 0;
	u8 place = sp && sp->kind == VALUE_ALIGNED ? PLACE_ALIGNED : PLACE_CFA;

	for (u32 i = 0; i < state->num_facts;) {
		const struct fact *fact = &state->facts[i];

		if ((fact->place == PLACE_REGISTER && CALLER_SAVED & 1 << fact->where &&
		     (writes & 1 << fact->where || !survives_call(fact))) ||
		    fact->place >= PLACE_PART ||
		    (sp && fact->place == place && fact->where < top))
			forget_at(state, i);
		else
			i++;
	}
}

static void write_memory(struct state *state, const struct memory *memory)
{
	struct fact address = address_of(state, memory);

	if (memory->is_written)
		overwrite(state, &address, memory->size);
}

/* What @insn does besides its kind */
static void apply_effects(struct state *state, const struct insn *insn)
{
	write_memory(state, &insn->memory);
	for (u8 reg = 0; reg < NUM_GPRS; reg++)
		if (insn->writes & 1 << reg)
			set_register(state, reg, NULL);
}

/* An address, a bounded number times a factor or plus another one, or a target */
static struct fact loaded_address(const struct state *state, const struct memory *memory)
{
	const struct fact *index = state_register(state, memory->index);
	const struct fact *base = state_register(state, memory->base);
	bool small = memory->offset >= 0 && memory->offset < MAX_TABLE;
	struct fact table;

	if (memory->is_known && memory->base == GPR_NONE && !memory->offset && is_below(index))
		return (struct fact){
			.kind = VALUE_BELOW,
			.number = memory->scale,
			.count = index->count,
		};
	if (memory->is_known && memory->index == GPR_NONE && small && is_below(base))
		return below(base->count + memory->offset);
	if (memory->is_known && memory->scale == 1 && is_offset(index)) {
		table = sum(base, memory->offset);
		return target_of(&table, index);
	}
	return address_of(state, memory);
}

static void set_known(struct state *state, const struct insn *insn)
{
	struct fact value = { .kind = VALUE_CONSTANT, .number = insn->value };

	if (insn->kind == INSN_ADDRESS)
		value = loaded_address(state, &insn->memory);
	else if (insn->kind == INSN_ADD)
		value = sum(state_register(state, insn->to), insn->value);
	set_register(state, insn->to, &value);
}

static u64 low_bytes(u64 value, u32 size)
{
	return size < WORD ? value & ((1ULL << 8 * size) - 1) : value;
}

static void compare(struct state *state, const struct insn *insn)
{
	const struct memory *memory = &insn->memory;
	u64 value = low_bytes(insn->value, insn->from != GPR_NONE ? insn->size : memory->size);
	struct fact bound = { .kind = VALUE_BELOW, .count = value };

	if (value >= MAX_TABLE)
		return;
	if (insn->from != GPR_NONE) {
		note(state, PLACE_COMPARED, part_of(insn->from, insn->size), &bound);
	} else if (memory->is_known && memory->base != GPR_NONE && memory->index == GPR_NONE) {
		bound.number = memory->offset;
		note(state, PLACE_COMPARED_MEMORY, part_of(memory->base, memory->size), &bound);
	}
}

static void compare_registers(struct state *state, const struct insn *insn)
{
	static const struct fact compared = { .kind = VALUE_CONSTANT };

	note(state, PLACE_COMPARED_PAIR, pair_of(insn->to, insn->from), &compared);
}

/**
 * state_step() - the state after an instruction
 * @state:	The state before it; changed to that after it.
 * @insn:	The instruction.  state_call() is for calls.
 */
void state_step(struct state *state, const struct insn *insn)
{
	struct fact value, address;
	const struct fact *from;

	if (insn->sets_flags)
		forget_from(state, PLACE_COMPARED);
	from = state_register(state, insn->from);
	value = from ? *from : (struct fact){ };
	switch (insn->kind) {
	case INSN_PUSH:
		push(state, &value);
		break;
	case INSN_POP:
		pop(state, insn->to);
		/* The stack pointer in the address is that after the pop. */
		write_memory(state, &insn->memory);
		break;
	case INSN_ADD:
	case INSN_SET:
	case INSN_ADDRESS:
		set_known(state, insn);
		break;
	case INSN_ADD_REGISTER:
		add_register(state, insn);
		break;
	case INSN_AND:
		and_register(state, insn);
		break;
	case INSN_MOVE:
		set_register(state, insn->to, &value);
		break;
	case INSN_MAYBE_MOVE:
		maybe_move(state, insn);
		break;
	case INSN_EXTEND:
		extend(state, insn);
		break;
	case INSN_LOAD:
		load(state, insn);
		break;
	case INSN_LOAD_PART:
		load_part(state, insn);
		break;
	case INSN_STORE:
		address = address_of(state, &insn->memory);
		store(state, &address, &value);
		break;
	case INSN_EXCHANGE:
		exchange(state, insn);
		break;
	case INSN_COMPARE:
		compare(state, insn);
		break;
	case INSN_COMPARE_REGISTERS:
		compare_registers(state, insn);
		break;
	case INSN_LEAVE:
		leave(state);
		break;
	case INSN_ENTER:
		enter(state, insn->value);
		break;
	case INSN_OTHER:
	case INSN_BRANCH:
		apply_effects(state, insn);
		break;
	case INSN_NOTHING:
	case INSN_CALL:
	case INSN_JUMP:
	case INSN_RETURN:
	case INSN_STOP:
		break;
	}
}

/*
 * Registers @reg and @other are equal, where a function with a large frame has moved its stack
 * pointer in a loop until it is what the other has.  Returns false if they cannot be.
 */
static bool make_equal(struct state *state, u8 reg, u8 other)
{
	const struct fact *first = state_register(state, reg);
	const struct fact *second = state_register(state, other);
	struct fact copy;

	if (is_stack(first) && is_stack(second))
		return first->kind != second->kind || first->number == second->number;
	if (is_stack(first) && !second) {
		copy = *first;
		set_register(state, other, &copy);
	} else if (is_stack(second) && !first) {
		copy = *second;
		set_register(state, reg, &copy);
	}
	return true;
}

/* Whether a number below @count is more than what is known of a register, by its low 32 bits */
static bool is_news(const struct fact *known, u32 count)
{
	if (!known)
		return true;
	switch (known->kind) {
	case VALUE_CONSTANT:
		return known->number >= 0 && known->number <= UINT32_MAX;
	case VALUE_BELOW:
		return known->number != 1 || known->count > count;
	case VALUE_NARROW:
		return count <= 1U << 8 * known->count;
	case VALUE_OFFSET:
	case VALUE_SHORT:
		return true;
	default:
		return false;
	}
}

/* What was compared is less than a number. */
static void make_less(struct state *state, const struct fact *compared, bool or_equal)
{
	u8 reg = compared->where % NUM_GPRS, size = compared->where / NUM_GPRS;
	struct fact bound = *compared;
	const struct fact *known;

	bound.count += or_equal;
	if (compared->place == PLACE_COMPARED_MEMORY) {
		note(state, PLACE_MEMORY, bound.where, &bound);
		return;
	}
	bound.number = 1;
	if (size < 4)
		note(state, PLACE_PART, bound.where, &bound);
	known = state_register(state, reg);
	if (size < 4 && (!known || known->kind != VALUE_NARROW || known->count > size))
		return;
	if (is_news(known, bound.count))
		note(state, PLACE_REGISTER, reg, &bound);
}

/**
 * state_branch() - learn from the way that a branch takes
 * @state:	The state before the branch; changed to the state after it.
 * @insn:	The branch.
 * @taken:	Whether it is taken.
 *
 * Return: false if it cannot take this way.
 */
bool state_branch(struct state *state, const struct insn *insn, bool taken)
{
	enum condition condition = insn->condition;
	bool if_equal = condition == CONDITION_EQUAL;
	bool if_less = condition == CONDITION_BELOW || condition == CONDITION_BELOW_EQUAL;
	const struct fact *last;
	struct fact compared;

	if (!state->num_facts)
		return true;
	last = &state->facts[state->num_facts - 1];
	if (last->place < PLACE_COMPARED)
		return true;
	compared = *last;
	switch (condition) {
	case CONDITION_OTHER:
		break;
	case CONDITION_EQUAL:
	case CONDITION_UNEQUAL:
		if (compared.place == PLACE_COMPARED_PAIR && taken == if_equal)
			return make_equal(state, compared.where % NUM_GPRS,
					  compared.where / NUM_GPRS);
		break;
	case CONDITION_BELOW:
	case CONDITION_BELOW_EQUAL:
	case CONDITION_ABOVE:
	case CONDITION_ABOVE_EQUAL:
		if (compared.place != PLACE_COMPARED_PAIR && taken == if_less)
			make_less(state, &compared, condition == CONDITION_BELOW_EQUAL ||
				  condition == CONDITION_ABOVE);
		break;
	}
	return true;
}

/**
 * state_enter() - the state at a function's first instruction
 * @state:	Set to it.
 * @fp_saved:	Its callers have saved the frame pointer, as state_fp_saved() has it.
 */
void state_enter(struct state *state, bool fp_saved)
{
	static const struct fact sp = { .kind = VALUE_CFA, .number = -WORD };
	static const u8 kept[] = { GPR_BX, GPR_BP };

	memset(state, 0, sizeof(*state));
	for (size_t i = 0; i < sizeof(kept); i++) {
		struct fact value = { .kind = VALUE_ENTRY, .number = kept[i] };

		note(state, PLACE_REGISTER, kept[i], &value);
	}
	note(state, PLACE_REGISTER, GPR_SP, &sp);
	note(state, PLACE_CFA, -WORD, &return_address);
	if (fp_saved)
		note(state, PLACE_CALLER, 0, &entry_fp);
}

/**
 * state_start() - the state at a program's first instruction
 * @state:	Set to it.
 *
 * Nobody has called it.
 */
void state_start(struct state *state)
{
	static const struct fact outermost = { .kind = VALUE_OUTERMOST };

	memset(state, 0, sizeof(*state));
	note(state, PLACE_CFA, 0, &outermost);
}

static bool is_outermost(const struct state *state)
{
	const struct fact *fact = find(state, PLACE_CFA, 0);

	return fact && fact->kind == VALUE_OUTERMOST;
}

static bool is_same(const struct fact *a, const struct fact *b)
{
	return b && a->kind == b->kind && a->number == b->number && a->count == b->count;
}

static void get_constants(const struct fact *value, const struct constant_sets *sets,
			  struct constants *constants)
{
	if (value->kind == VALUE_CONSTANTS)
		*constants = *sets->sets[value->count];
	else
		*constants = (struct constants){ .count = 1, .at = { value->number } };
}

/* Whether a jump may lead to the values, or a table may have as many entries */
static bool is_useful(const struct constants *constants, const struct constant_sets *sets)
{
	s64 first = constants->at[0], last = constants->at[constants->count - 1];

	return (first >= 0 && last < MAX_TABLE) || (first >= sets->low && last < sets->high);
}

/* Ways with different addresses of code may lead to one jump. */
static struct fact join_constants(const struct fact *fact, const struct fact *other,
				  struct constant_sets *sets)
{
	struct fact joined = { .kind = VALUE_CONSTANTS };
	struct constants constants, more;

	if (fact->place != PLACE_REGISTER || !is_constant(fact) || !is_constant(other))
		return (struct fact){ };
	get_constants(fact, sets, &constants);
	get_constants(other, sets, &more);
	if (!constants_join(&constants, &more) || !is_useful(&constants, sets) ||
	    !constants_find(sets, &constants))
		return (struct fact){ };
	joined.count = constants.index;
	return joined;
}

/* A constant, or one of several, may be one of the numbers that are below another one. */
static struct fact join_bounds(const struct fact *fact, const struct fact *other,
			       const struct constant_sets *sets)
{
	const struct fact *bound = is_below(fact) ? fact : other;
	const struct fact *value = is_below(fact) ? other : fact;
	struct constants constants;

	if (!is_below(bound) || fact->place != PLACE_REGISTER)
		return (struct fact){ };
	if (is_below(value))
		return fact->count > other->count ? *fact : (struct fact){ };
	if (!is_constant(value))
		return (struct fact){ };
	get_constants(value, sets, &constants);
	if (constants.at[0] < 0 || constants.at[constants.count - 1] >= bound->count)
		return (struct fact){ };
	return *bound;
}

/**
 * state_meet() - keep what is known on two ways to an instruction
 * @state:	What is known on one; changed to what is known on both.
 * @other:	What is known on the other.
 * @sets:	The sets of constants that both name; new ones are added.  NULL to forget what is
 *		not the same constant.
 *
 * Return: whether @state has changed.
 */
bool state_meet(struct state *state, const struct state *other, struct constant_sets *sets)
{
	bool changed = false;

	for (u32 i = 0; i < state->num_facts;) {
		const struct fact *fact = &state->facts[i];
		const struct fact *second = find(other, fact->place, fact->where);
		struct fact joined;

		if (is_same(fact, second)) {
			i++;
			continue;
		}
		joined = sets ? join_constants(fact, second, sets) : (struct fact){ };
		if (sets && joined.kind == VALUE_UNKNOWN)
			joined = join_bounds(fact, second, sets);
		i += joined.kind != VALUE_UNKNOWN;
		if (is_same(fact, &joined))
			continue;
		note(state, fact->place, fact->where, &joined);
		changed = true;
	}
	return changed;
}

/* Whether the return address is where a call has put it */
static bool has_return_address(const struct state *state)
{
	return is_same(&return_address, find(state, PLACE_CFA, -WORD));
}

/**
 * state_fp_saved() - whether a function called here may change the frame pointer
 * @state:	The state, with the stack pointer as before the call.
 *
 * Hand-written code calls parts of itself that change registers which functions keep.
 *
 * Return: whether walks find the caller's frame pointer on the stack from here on out, and the CFA
 *	without the frame pointer.
 */
bool state_fp_saved(const struct state *state)
{
	const struct fact *sp = state_register(state, GPR_SP), *fp = state_register(state, GPR_BP);
	u8 place;

	if (find(state, PLACE_CALLER, 0))
		return true;
	if (!sp || is_address(fp) || is_same(&entry_fp, fp))
		return false;
	place = sp->kind == VALUE_CFA ? PLACE_CFA : PLACE_ALIGNED;
	for (u32 i = 0; i < state->num_facts; i++) {
		const struct fact *slot = &state->facts[i];

		if (slot->place != PLACE_REGISTER && is_same(&entry_fp, slot) &&
		    (slot->place != place || slot->where >= sp->number))
			return true;
	}
	return false;
}

/**
 * state_is_left() - whether a function that returns or jumps away here has undone its frame
 * @state:	The state.
 *
 * Return: whether the stack pointer is as at the function's entry, and the frame pointer, too,
 *	unless its callers have saved that.
 */
bool state_is_left(const struct state *state)
{
	const struct fact *sp = state_register(state, GPR_SP), *fp = state_register(state, GPR_BP);

	return has_return_address(state) && sp && sp->kind == VALUE_CFA && sp->number == -WORD &&
	       (is_same(&entry_fp, fp) || find(state, PLACE_CALLER, 0));
}

/**
 * state_constants() - find the addresses that an indirect jump may lead to
 * @state:	The state before the jump.
 * @insn:	The jump.
 * @sets:	The sets of constants that @state names.
 * @constants:	Set to the addresses.
 *
 * Return: whether they are known.
 */
bool state_constants(const struct state *state, const struct insn *insn,
		     const struct constant_sets *sets, struct constants *constants)
{
	const struct fact *target = state_register(state, insn->from);

	if (!is_constant(target))
		return false;
	get_constants(target, sets, constants);
	return true;
}

/**
 * state_table() - find the table of an indirect jump's targets
 * @state:	The state before the jump.
 * @insn:	The jump.
 * @table:	Set to a value of VALUE_TARGET, VALUE_SHORT_TARGET or VALUE_POINTER.
 *
 * Return: whether there is one.
 */
bool state_table(const struct state *state, const struct insn *insn, struct fact *table)
{
	const struct fact *target = state_register(state, insn->from);

	if (target)
		*table = *target;
	else
		*table = table_at(state, &insn->memory, WORD, VALUE_POINTER);
	return table->kind == VALUE_TARGET || table->kind == VALUE_SHORT_TARGET ||
	       table->kind == VALUE_POINTER;
}

/* Registers in the order in which walks know them: the first two in each frame */
static const struct {
	u8	gpr;
	u8	dwarf;
} bases[NUM_GPRS] = {
	{ GPR_SP, REG_SP }, { GPR_BP, REG_FP }, { GPR_BX, 3 }, { GPR_AX, 0 }, { GPR_DX, 1 },
	{ GPR_CX, 2 }, { GPR_SI, 4 }, { GPR_DI, 5 }, { GPR_R8, 8 }, { GPR_R9, 9 },
	{ GPR_R10, 10 }, { GPR_R11, 11 }, { 12, 12 }, { 13, 13 }, { 14, 14 }, { 15, 15 },
};

#define BASES_KNOWN	2

/* A rule by registers @from to @to - 1 of bases[] */
static bool rule_by(const struct state *state, enum value_kind symbol, s64 offset,
		    enum rule_kind kind, u8 from, u8 to, struct rule *rule)
{
	for (u8 i = from; i < to; i++) {
		const struct fact *base = state_register(state, bases[i].gpr);

		if (!base || base->kind != symbol)
			continue;
		*rule = (struct rule){
			.kind = kind,
			.base = bases[i].dwarf,
			.offset = offset - base->number,
		};
		return true;
	}
	return false;
}

/* A rule for the word at @slot, by the stack or the frame pointer */
static bool rule_of_slot(const struct state *state, const struct fact *slot, u8 from, u8 to,
			 struct rule *rule)
{
	return rule_by(state, slot->place == PLACE_CFA ? VALUE_CFA : VALUE_ALIGNED, slot->where,
		       RULE_MEMORY, from, to, rule);
}

/* The CFA by a register, or a word that has it, as far as registers @from to @to - 1 say */
static bool cfa_rule_by(const struct state *state, u8 from, u8 to, struct rule *rule)
{
	if (rule_by(state, VALUE_CFA, 0, RULE_VALUE, from, to, rule))
		return true;
	for (u32 i = 0; i < state->num_facts; i++) {
		const struct fact *slot = &state->facts[i];

		if (slot->place != PLACE_REGISTER && slot->kind == VALUE_CFA &&
		    rule_of_slot(state, slot, from, to, rule)) {
			rule->add = -slot->number;
			return true;
		}
	}
	return false;
}

/* If possible, by a register that a walk knows in each frame */
static bool cfa_rule(const struct state *state, struct rule *rule)
{
	return cfa_rule_by(state, 0, BASES_KNOWN, rule) ||
	       cfa_rule_by(state, BASES_KNOWN, NUM_GPRS, rule);
}

/**
 * state_has_cfa() - whether a walk can find the CFA
 * @state:	The state.
 *
 * Return: whether it can.
 */
bool state_has_cfa(const struct state *state)
{
	struct rule rule;

	return cfa_rule(state, &rule);
}

static bool fp_rule(const struct state *state, struct rule *rule)
{
	if (is_same(&entry_fp, state_register(state, GPR_BP))) {
		*rule = (struct rule){ .kind = RULE_SAME };
		return true;
	}
	for (u32 i = 0; i < state->num_facts; i++) {
		const struct fact *slot = &state->facts[i];

		if (slot->place == PLACE_REGISTER || !is_same(&entry_fp, slot))
			continue;
		if (slot->place == PLACE_CALLER) {
			/* Whatever it has now, nobody needs. */
			*rule = (struct rule){ .kind = RULE_SAME };
			return true;
		}
		if (slot->place == PLACE_CFA) {
			*rule = (struct rule){
				.kind = RULE_MEMORY, .base = REG_CFA, .offset = slot->where,
			};
			return true;
		}
		if (rule_of_slot(state, slot, 0, NUM_GPRS, rule))
			return true;
	}
	return false;
}

/**
 * state_row() - the rules that hold in a state
 * @state:	The state.
 * @row:	Its rules are set.
 *
 * Return: whether both the CFA and the caller's frame pointer are known, or there is no caller.
 */
bool state_row(const struct state *state, struct row *row)
{
	*row = (struct row){
		.ra = { .kind = RULE_MEMORY, .base = REG_CFA, .offset = -WORD },
		.sp = { .kind = RULE_VALUE, .base = REG_CFA },
	};
	if (is_outermost(state)) {
		row->cfa = (struct rule){ .kind = RULE_VALUE, .base = REG_SP, .offset = WORD };
		row->ra = (struct rule){ .kind = RULE_UNDEFINED };
		return true;
	}
	return has_return_address(state) && cfa_rule(state, &row->cfa) &&
	       fp_rule(state, &row->fp);
}

static u8 gpr_of_dwarf(u8 reg)
{
	for (u8 i = 0; i < NUM_GPRS; i++)
		if (bases[i].dwarf == reg)
			return bases[i].gpr;
	return GPR_NONE;
}

/**
 * state_has_rule() - whether somebody else's rule yields the same value
 * @state:	The state.
 * @rule:	The rule, of .eh_frame.
 * @value:	What it has to yield.
 * @known:	Set to whether the state says what the rule yields.
 *
 * Return: whether it yields @value.
 */
bool state_has_rule(const struct state *state, const struct rule *rule, const struct fact *value,
		    bool *known)
{
	static const struct fact cfa = { .kind = VALUE_CFA };
	const struct fact *base = NULL;
	struct fact result = { };

	switch (rule->kind) {
	case RULE_SAME:
		base = state_register(state, value->number);
		result = base ? *base : result;
		break;
	case RULE_VALUE:
	case RULE_MEMORY:
		base = rule->base == REG_CFA ? &cfa :
			state_register(state, gpr_of_dwarf(rule->base));
		/* What the caller had in a register leads nowhere in this frame. */
		*known = base && base->kind == VALUE_ENTRY;
		if (*known)
			return false;
		result = base ? sum(base, rule->offset) : result;
		if (rule->kind == RULE_MEMORY) {
			base = word_at(state, &result);
			result = base ? sum(base, rule->add) : (struct fact){ };
			if (base && base->kind == VALUE_ENTRY)
				result = *base;
		}
		break;
	default:
		break;
	}
	*known = result.kind != VALUE_UNKNOWN;
	return is_same(value, &result);
}
