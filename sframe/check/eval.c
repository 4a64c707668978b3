// SPDX-License-Identifier: GPL-2.0
/*
 * Unwinds one frame of an invented machine, once by .eh_frame as libdw reads it, and once
 * by a row of a table.
 *
 * Registers and memory hold hashes, so that two ways of unwinding agree only if
 * they use the same registers, offsets and words.  This file shares no
 * code with the part of the tool that makes rows from .eh_frame.
 */
#include <dwarf.h>
#include <string.h>

#include "check/eval.h"

#define STACK_DEPTH	32

struct stack {
	u64		value[STACK_DEPTH];
	unsigned int	depth;
	bool		bad;
};

/* What an expression yields: a value, or the address of the value. */
enum place { PLACE_ADDRESS, PLACE_VALUE };

static u64 machine_mix(u64 x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

/**
 * machine_make() - invent a machine
 * @m:		Filled in.
 * @pc:		The instruction that it is at.
 * @seed:	Picks the contents of registers and memory.
 */
void machine_make(struct machine *m, u64 pc, u64 seed)
{
	for (unsigned int i = 0; i < MACHINE_REGS; i++)
		m->reg[i] = machine_mix(seed + i);
	m->reg[REG_RA] = pc;
	m->seed = seed;
}

/**
 * machine_memory() - read a machine's memory
 * @m:		The machine.
 * @address:	Any address.
 *
 * Return: the word at @address; always the same one.
 */
u64 machine_memory(const struct machine *m, u64 address)
{
	return machine_mix(address + m->seed);
}

/**
 * caller_equal() - whether two ways of unwinding found the same
 * @a:	The caller that one of them found.
 * @b:	The caller that the other found.
 *
 * Return: whether @a and @b are equal.
 */
bool caller_equal(const struct caller *a, const struct caller *b)
{
	if (a->outermost || b->outermost)
		return a->outermost == b->outermost;
	return a->sp == b->sp && a->ra == b->ra && a->fp == b->fp;
}

static void stack_push(struct stack *st, u64 value)
{
	if (st->depth == STACK_DEPTH)
		st->bad = true;
	else
		st->value[st->depth++] = value;
}

static u64 stack_pop(struct stack *st)
{
	if (!st->depth) {
		st->bad = true;
		return 0;
	}
	return st->value[--st->depth];
}

static u64 machine_reg(const struct machine *m, struct stack *st, u64 reg)
{
	if (reg >= MACHINE_REGS) {
		st->bad = true;
		return 0;
	}
	return m->reg[reg];
}

static u64 eval_binary(u8 atom, u64 a, u64 b)
{
	switch (atom) {
	case DW_OP_plus:
		return a + b;
	case DW_OP_minus:
		return a - b;
	case DW_OP_mul:
		return a * b;
	case DW_OP_and:
		return a & b;
	case DW_OP_or:
		return a | b;
	case DW_OP_shl:
		return b < 64 ? a << b : 0;
	case DW_OP_shr:
		return b < 64 ? a >> b : 0;
	case DW_OP_ge:
		return (s64)a >= (s64)b;
	case DW_OP_gt:
		return (s64)a > (s64)b;
	case DW_OP_le:
		return (s64)a <= (s64)b;
	case DW_OP_lt:
		return (s64)a < (s64)b;
	case DW_OP_eq:
		return a == b;
	default:
		return a != b;
	}
}

static bool is_binary(u8 atom)
{
	switch (atom) {
	case DW_OP_plus:
	case DW_OP_minus:
	case DW_OP_mul:
	case DW_OP_and:
	case DW_OP_or:
	case DW_OP_shl:
	case DW_OP_shr:
	case DW_OP_ge:
	case DW_OP_gt:
	case DW_OP_le:
	case DW_OP_lt:
	case DW_OP_eq:
	case DW_OP_ne:
		return true;
	default:
		return false;
	}
}

static void eval_step_other(const struct machine *m, struct stack *st,
			    const Dwarf_Op *op, const u64 *cfa)
{
	u64 value;

	switch (op->atom) {
	case DW_OP_const1u ... DW_OP_consts:
		stack_push(st, op->number);
		break;
	case DW_OP_bregx:
		stack_push(st, machine_reg(m, st, op->number) + op->number2);
		break;
	case DW_OP_plus_uconst:
		stack_push(st, stack_pop(st) + op->number);
		break;
	case DW_OP_deref:
		stack_push(st, machine_memory(m, stack_pop(st)));
		break;
	case DW_OP_dup:
		value = stack_pop(st);
		stack_push(st, value);
		stack_push(st, value);
		break;
	case DW_OP_call_frame_cfa:
		st->bad |= !cfa;
		stack_push(st, cfa ? *cfa : 0);
		break;
	default:
		st->bad = true;
	}
}

static void eval_step(const struct machine *m, struct stack *st, const Dwarf_Op *op,
		      const u64 *cfa)
{
	u64 right;

	if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31) {
		stack_push(st, op->atom - DW_OP_lit0);
	} else if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31) {
		stack_push(st, machine_reg(m, st, op->atom - DW_OP_breg0) + op->number);
	} else if (is_binary(op->atom)) {
		right = stack_pop(st);
		stack_push(st, eval_binary(op->atom, stack_pop(st), right));
	} else {
		eval_step_other(m, st, op, cfa);
	}
}

/* A register by itself is a location that no other operation may follow. */
static bool is_register(const Dwarf_Op *ops, size_t count, u64 *reg)
{
	if (count != 1)
		return false;
	if (ops->atom == DW_OP_regx)
		*reg = ops->number;
	else if (ops->atom >= DW_OP_reg0 && ops->atom <= DW_OP_reg31)
		*reg = ops->atom - DW_OP_reg0;
	else
		return false;
	return true;
}

static bool eval_ops(const struct machine *m, const Dwarf_Op *ops, size_t count,
		     const u64 *cfa, enum place place, u64 *value)
{
	struct stack st = { };
	u64 reg;

	if (is_register(ops, count, &reg)) {
		*value = machine_reg(m, &st, reg);
		return !st.bad;
	}
	for (size_t i = 0; i < count; i++) {
		if (ops[i].atom == DW_OP_stack_value)
			place = PLACE_VALUE;
		else
			eval_step(m, &st, &ops[i], cfa);
	}
	*value = stack_pop(&st);
	if (place == PLACE_ADDRESS)
		*value = machine_memory(m, *value);
	return !st.bad;
}

enum found { FOUND_NOT, FOUND, FOUND_UNDEFINED };

static enum found eval_register(const struct machine *m, Dwarf_Frame *frame,
				unsigned int reg, u64 cfa, u64 *value)
{
	Dwarf_Op room[3], *ops;
	size_t count;

	if (dwarf_frame_register(frame, reg, room, &ops, &count))
		return FOUND_NOT;
	if (!count && ops)
		return FOUND_UNDEFINED;
	if (!count) {
		*value = m->reg[reg];
		return FOUND;
	}
	return eval_ops(m, ops, count, &cfa, PLACE_ADDRESS, value) ? FOUND :
								 FOUND_NOT;
}

/**
 * eval_frame() - unwind by .eh_frame, as libdw reads it
 * @m:		The machine.
 * @frame:	libdw's frame for the machine's instruction.
 * @caller:	Filled in.
 *
 * Return: false if an expression is not supported here, or a value is undefined.
 */
bool eval_frame(const struct machine *m, Dwarf_Frame *frame,
		struct caller *caller)
{
	enum found found;
	Dwarf_Op *ops;
	size_t count;
	u64 cfa;

	*caller = (struct caller){ };
	found = eval_register(m, frame, REG_RA, 0, &caller->ra);
	if (found == FOUND_UNDEFINED) {
		caller->outermost = true;
		return true;
	}
	if (dwarf_frame_cfa(frame, &ops, &count) || !count ||
	    !eval_ops(m, ops, count, NULL, PLACE_VALUE, &cfa))
		return false;
	found = eval_register(m, frame, REG_SP, cfa, &caller->sp);
	if (found == FOUND_NOT)
		return false;
	if (found == FOUND_UNDEFINED)
		caller->sp = cfa;
	return eval_register(m, frame, REG_RA, cfa, &caller->ra) == FOUND &&
	       eval_register(m, frame, REG_FP, cfa, &caller->fp) == FOUND;
}

static u64 eval_rule(const struct machine *m, const struct rule *rule,
		     u64 cfa, u64 same)
{
	u64 base = rule->base == REG_CFA ? cfa : m->reg[rule->base];

	switch (rule->kind) {
	case RULE_VALUE:
		return base + (s64)rule->offset;
	case RULE_MEMORY:
		return machine_memory(m, base + (s64)rule->offset) + (s64)rule->add;
	default:
		return same;
	}
}

/**
 * eval_row() - unwind by a row of a table
 * @m:		The machine.
 * @row:	The row.
 * @caller:	Filled in.
 */
void eval_row(const struct machine *m, const struct row *row,
	      struct caller *caller)
{
	*caller = (struct caller){ };
	if (row->ra.kind == RULE_UNDEFINED) {
		caller->outermost = true;
		return;
	}
	caller->sp = eval_rule(m, &row->cfa, 0, 0);
	caller->ra = eval_rule(m, &row->ra, caller->sp, 0);
	caller->fp = eval_rule(m, &row->fp, caller->sp, m->reg[REG_FP]);
}
