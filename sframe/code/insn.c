// SPDX-License-Identifier: GPL-2.0
/* Decodes instructions, with Zydis, to what matters for unwinding. */
#include <string.h>

#include <Zydis/Zydis.h>

#include "code/insn.h"

/* No processor's state is larger. */
#define MAX_XSAVE	0x10000

/* An instruction as Zydis has it */
struct decoded {
	ZydisDecodedInstruction	insn;
	ZydisDecodedOperand	op[ZYDIS_MAX_OPERAND_COUNT];
	u64			address;
};

/* The number of a general register, or of the one that it is a part of; GPR_NONE for others. */
static u8 gpr_of(ZydisRegister reg)
{
	reg = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
	return ZydisRegisterGetClass(reg) == ZYDIS_REGCLASS_GPR64 ? ZydisRegisterGetId(reg) :
								    GPR_NONE;
}

static bool is_register(const ZydisDecodedOperand *op, unsigned int bits)
{
	return op->type == ZYDIS_OPERAND_TYPE_REGISTER && op->size == bits &&
	       op->visibility != ZYDIS_OPERAND_VISIBILITY_HIDDEN &&
	       gpr_of(op->reg.value) != GPR_NONE;
}

/* All bits of a general register, which is not the high byte of one */
static bool is_whole(const ZydisDecodedOperand *op)
{
	return is_register(op, 64);
}

/* The second byte of a register */
static bool is_high(const ZydisDecodedOperand *op)
{
	return op->reg.value >= ZYDIS_REGISTER_AH && op->reg.value <= ZYDIS_REGISTER_BH;
}

static bool is_immediate(const ZydisDecodedOperand *op)
{
	return op->type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
}

static bool is_memory(const ZydisDecodedOperand *op, unsigned int bits)
{
	return op->type == ZYDIS_OPERAND_TYPE_MEMORY && op->size == bits;
}

static bool is_stack(const ZydisDecodedOperand *op)
{
	return op->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN &&
	       op->mem.base == ZYDIS_REGISTER_RSP;
}

static void set_memory(struct insn *insn, const struct decoded *in, const ZydisDecodedOperand *op)
{
	struct memory *memory = &insn->memory;
	bool narrow = in->insn.address_width != 64;
	bool segment = op->mem.segment == ZYDIS_REGISTER_FS || op->mem.segment == ZYDIS_REGISTER_GS;

	*memory = (struct memory){
		.size = op->size / 8 ?: 1,
		.base = gpr_of(op->mem.base),
		.index = gpr_of(op->mem.index),
		.scale = op->mem.scale,
		.is_known = !narrow && !segment,
		.is_written = op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE,
		.offset = op->mem.disp.value,
	};
	/* How much it writes depends on the processor. */
	if (in->insn.meta.category == ZYDIS_CATEGORY_XSAVE ||
	    in->insn.meta.category == ZYDIS_CATEGORY_XSAVEOPT)
		memory->size = MAX_XSAVE;
	if (op->mem.base == ZYDIS_REGISTER_RIP)
		memory->offset += in->address + in->insn.length;
	/* A vector of addresses, or a string of unknown length */
	if (op->mem.type == ZYDIS_MEMOP_TYPE_VSIB ||
	    in->insn.attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPNE))
		memory->is_known = false;
}

/* What holds for each instruction: the registers and the memory that it writes */
static void set_effects(struct insn *insn, const struct decoded *in)
{
	const ZydisAccessedFlags *flags = in->insn.cpu_flags;

	for (unsigned int i = 0; i < in->insn.operand_count; i++) {
		const ZydisDecodedOperand *op = &in->op[i];

		if (op->type == ZYDIS_OPERAND_TYPE_MEMORY && !is_stack(op) &&
		    (!insn->memory.size || op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
			set_memory(insn, in, op);
		if (op->type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE &&
		    gpr_of(op->reg.value) != GPR_NONE)
			insn->writes |= 1 << gpr_of(op->reg.value);
	}
	insn->sets_flags = flags && (flags->modified || flags->set_0 || flags->set_1 ||
				     flags->undefined);
}

static void set_target(struct insn *insn, const struct decoded *in)
{
	const ZydisDecodedOperand *op = &in->op[0];

	if (is_immediate(op) && op->imm.is_relative) {
		insn->has_target = true;
		insn->target = in->address + in->insn.length + op->imm.value.s;
	} else if (is_whole(op)) {
		insn->from = gpr_of(op->reg.value);
	}
}

static void decode_push(struct insn *insn, const struct decoded *in)
{
	if (in->insn.operand_width != 64)
		return;
	insn->kind = INSN_PUSH;
	if (is_whole(&in->op[0]))
		insn->from = gpr_of(in->op[0].reg.value);
}

static void decode_pop(struct insn *insn, const struct decoded *in)
{
	if (in->insn.operand_width != 64)
		return;
	insn->kind = INSN_POP;
	if (is_whole(&in->op[0]))
		insn->to = gpr_of(in->op[0].reg.value);
}

static void decode_move(struct insn *insn, const struct decoded *in)
{
	const ZydisDecodedOperand *to = &in->op[0], *from = &in->op[1];

	if (is_whole(to) && is_whole(from))
		insn->kind = INSN_MOVE;
	else if (is_whole(to) && is_memory(from, 64))
		insn->kind = INSN_LOAD;
	else if (is_memory(to, 64) && is_whole(from))
		insn->kind = INSN_STORE;
	else if (is_register(to, 32) && is_register(from, 32))
		insn->kind = INSN_EXTEND;
	else if (is_register(to, 32) && is_memory(from, 32))
		insn->kind = INSN_LOAD_PART;
	else if (to->type == ZYDIS_OPERAND_TYPE_REGISTER && to->size >= 32 && is_immediate(from))
		insn->kind = INSN_SET;
	else
		return;
	if (to->type == ZYDIS_OPERAND_TYPE_REGISTER)
		insn->to = gpr_of(to->reg.value);
	if (from->type == ZYDIS_OPERAND_TYPE_REGISTER)
		insn->from = gpr_of(from->reg.value);
	insn->size = to->size / 8;
	insn->value = to->size == 32 ? (s64)(u32)from->imm.value.s : from->imm.value.s;
	if (insn->kind == INSN_SET && insn->to == GPR_NONE)
		insn->kind = INSN_OTHER;
}

static void decode_extend(struct insn *insn, const struct decoded *in)
{
	const ZydisDecodedOperand *to = &in->op[0], *from = &in->op[1];

	insn->to = gpr_of(to->reg.value);
	insn->zero_extends = in->insn.mnemonic == ZYDIS_MNEMONIC_MOVZX;
	if (from->type == ZYDIS_OPERAND_TYPE_REGISTER && to->size >= 32 && !is_high(from)) {
		insn->kind = INSN_EXTEND;
		insn->size = from->size / 8;
		insn->from = gpr_of(from->reg.value);
	} else if (from->type == ZYDIS_OPERAND_TYPE_MEMORY && to->size >= 32) {
		insn->kind = INSN_LOAD_PART;
	}
}

/* add, sub, and, cmp */
static void decode_sum(struct insn *insn, const struct decoded *in)
{
	const ZydisDecodedOperand *to = &in->op[0], *from = &in->op[1];
	ZydisMnemonic name = in->insn.mnemonic;

	if (name == ZYDIS_MNEMONIC_CMP && to->type == ZYDIS_OPERAND_TYPE_MEMORY &&
	    is_immediate(from)) {
		insn->kind = INSN_COMPARE;
		insn->value = from->imm.value.s;
		return;
	}
	if (to->type != ZYDIS_OPERAND_TYPE_REGISTER || gpr_of(to->reg.value) == GPR_NONE)
		return;
	insn->to = gpr_of(to->reg.value);
	if (name == ZYDIS_MNEMONIC_ADD && is_whole(to) && is_whole(from)) {
		insn->kind = INSN_ADD_REGISTER;
		insn->from = gpr_of(from->reg.value);
		return;
	}
	if (name == ZYDIS_MNEMONIC_CMP && is_whole(to) && is_whole(from)) {
		insn->kind = INSN_COMPARE_REGISTERS;
		insn->from = gpr_of(from->reg.value);
		return;
	}
	if (!is_immediate(from))
		return;
	insn->value = from->imm.value.s;
	if (name == ZYDIS_MNEMONIC_CMP) {
		if (is_high(to))
			return;
		insn->kind = INSN_COMPARE;
		insn->size = to->size / 8;
		insn->from = insn->to;
	} else if (name == ZYDIS_MNEMONIC_AND && to->size >= 32) {
		insn->kind = INSN_AND;
		if (to->size == 32)
			insn->value = (u32)insn->value;
	} else if (to->size == 64 && name == ZYDIS_MNEMONIC_SUB) {
		insn->kind = INSN_ADD;
		insn->value = -insn->value;
	} else if (to->size == 64 && name == ZYDIS_MNEMONIC_ADD) {
		insn->kind = INSN_ADD;
	}
}

/* Whether a conditional move moves or not, it clears the upper half of a narrow register. */
static void decode_maybe_move(struct insn *insn, const struct decoded *in)
{
	const ZydisDecodedOperand *to = &in->op[0], *from = &in->op[1];

	if (to->size < 32 || from->type != ZYDIS_OPERAND_TYPE_REGISTER)
		return;
	insn->kind = INSN_MAYBE_MOVE;
	insn->to = gpr_of(to->reg.value);
	insn->from = gpr_of(from->reg.value);
}

static void decode_exchange(struct insn *insn, const struct decoded *in)
{
	if (!is_whole(&in->op[0]) || !is_whole(&in->op[1]))
		return;
	insn->kind = INSN_EXCHANGE;
	insn->to = gpr_of(in->op[0].reg.value);
	insn->from = gpr_of(in->op[1].reg.value);
}

/* Instructions for transactions count as branches, too. */
static void decode_branch(struct insn *insn, const struct decoded *in)
{
	set_target(insn, in);
	if (insn->has_target)
		insn->kind = INSN_BRANCH;
	switch (in->insn.mnemonic) {
	case ZYDIS_MNEMONIC_JNBE:
		insn->condition = CONDITION_ABOVE;
		break;
	case ZYDIS_MNEMONIC_JNB:
		insn->condition = CONDITION_ABOVE_EQUAL;
		break;
	case ZYDIS_MNEMONIC_JB:
		insn->condition = CONDITION_BELOW;
		break;
	case ZYDIS_MNEMONIC_JBE:
		insn->condition = CONDITION_BELOW_EQUAL;
		break;
	case ZYDIS_MNEMONIC_JZ:
		insn->condition = CONDITION_EQUAL;
		break;
	case ZYDIS_MNEMONIC_JNZ:
		insn->condition = CONDITION_UNEQUAL;
		break;
	default:
		break;
	}
}

static void decode_by_name(struct insn *insn, const struct decoded *in)
{
	switch (in->insn.mnemonic) {
	case ZYDIS_MNEMONIC_PUSH:
	case ZYDIS_MNEMONIC_PUSHFQ:
		decode_push(insn, in);
		break;
	case ZYDIS_MNEMONIC_POP:
	case ZYDIS_MNEMONIC_POPFQ:
		decode_pop(insn, in);
		break;
	case ZYDIS_MNEMONIC_MOV:
		decode_move(insn, in);
		break;
	case ZYDIS_MNEMONIC_MOVZX:
	case ZYDIS_MNEMONIC_MOVSX:
	case ZYDIS_MNEMONIC_MOVSXD:
		decode_extend(insn, in);
		break;
	case ZYDIS_MNEMONIC_CDQE:
		insn->kind = INSN_EXTEND;
		insn->to = GPR_AX;
		insn->from = GPR_AX;
		insn->size = 4;
		break;
	case ZYDIS_MNEMONIC_LEA:
		if (is_whole(&in->op[0])) {
			insn->kind = INSN_ADDRESS;
			insn->to = gpr_of(in->op[0].reg.value);
		}
		break;
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
	case ZYDIS_MNEMONIC_AND:
	case ZYDIS_MNEMONIC_CMP:
		decode_sum(insn, in);
		break;
	case ZYDIS_MNEMONIC_XCHG:
		decode_exchange(insn, in);
		break;
	case ZYDIS_MNEMONIC_JMP:
		insn->kind = INSN_JUMP;
		set_target(insn, in);
		break;
	case ZYDIS_MNEMONIC_LEAVE:
		if (in->insn.operand_width == 64)
			insn->kind = INSN_LEAVE;
		break;
	case ZYDIS_MNEMONIC_ENTER:
		/* With display pointers, nobody uses it. */
		if (in->insn.operand_width == 64 && !in->op[1].imm.value.u)
			insn->kind = INSN_ENTER;
		insn->value = in->op[0].imm.value.u;
		break;
	case ZYDIS_MNEMONIC_HLT:
	case ZYDIS_MNEMONIC_UD0:
	case ZYDIS_MNEMONIC_UD1:
	case ZYDIS_MNEMONIC_UD2:
	case ZYDIS_MNEMONIC_INT3:
		insn->kind = INSN_STOP;
		break;
	default:
		break;
	}
}

/**
 * insn_decode() - decode an instruction
 * @insn:	Filled in.
 * @bytes:	Its first byte.
 * @left:	How many bytes there are.
 * @address:	Its address.
 *
 * Return: whether there is a valid instruction of 64-bit code.
 */
bool insn_decode(struct insn *insn, const u8 *bytes, size_t left, u64 address)
{
	struct decoded in;
	ZydisDecoder decoder;

	in.address = address;
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes, left, &in.insn, in.op)))
		return false;
	*insn = (struct insn){
		.length = in.insn.length,
		.to = GPR_NONE,
		.from = GPR_NONE,
	};
	set_effects(insn, &in);
	switch (in.insn.meta.category) {
	case ZYDIS_CATEGORY_CALL:
		set_target(insn, &in);
		/* To the next instruction, it only pushes that address. */
		insn->kind = insn->has_target && insn->target == address + insn->length ?
			     INSN_PUSH : INSN_CALL;
		break;
	case ZYDIS_CATEGORY_COND_BR:
		decode_branch(insn, &in);
		break;
	case ZYDIS_CATEGORY_RET:
		insn->kind = INSN_RETURN;
		if (is_immediate(&in.op[0]))
			insn->value = in.op[0].imm.value.u;
		break;
	case ZYDIS_CATEGORY_SYSCALL:
	case ZYDIS_CATEGORY_INTERRUPT:
		/* The kernel returns a value. */
		insn->writes |= 1 << GPR_AX;
		decode_by_name(insn, &in);
		break;
	case ZYDIS_CATEGORY_NOP:
	case ZYDIS_CATEGORY_WIDENOP:
		insn->kind = INSN_NOTHING;
		break;
	case ZYDIS_CATEGORY_CMOV:
		decode_maybe_move(insn, &in);
		break;
	default:
		decode_by_name(insn, &in);
	}
	return true;
}
