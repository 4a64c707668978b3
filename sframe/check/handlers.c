// SPDX-License-Identifier: GPL-2.0
/*
 * Reads where exceptions lead, from the tables in .gcc_except_table, for code that nothing else
 * leads to.
 *
 * The layout is that of the Itanium C++ ABI's "Exception Handling Tables", with the encodings of
 * the Linux Standard Base's "DWARF Extensions".
 */
#include <dwarf.h>

#include "base/bytes.h"
#include "check/handlers.h"

/* Two bytes, and two numbers of at most ten bytes with one between */
#define MAX_HEAD	23

static u64 get_offset(struct bytes *in, u8 encoding)
{
	switch (encoding) {
	case DW_EH_PE_uleb128:
		return get_uleb(in);
	case DW_EH_PE_udata2:
		return get_fixed(in, 2);
	case DW_EH_PE_udata4:
		return get_fixed(in, 4);
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
		return get_fixed(in, 8);
	default:
		in->bad = true;
		return 0;
	}
}

/* Read a table's head.  Returns the encoding of its offsets; @table is set to what follows. */
static u8 read_head(struct bytes *table, const u8 *bytes, u64 left)
{
	struct bytes in = { .at = bytes, .end = bytes + (left < MAX_HEAD ? left : MAX_HEAD) };
	u8 encoding;
	u64 size;

	/* Handlers are at offsets from the function, not from elsewhere. */
	if (get_fixed(&in, 1) != DW_EH_PE_omit)
		in.bad = true;
	if (get_fixed(&in, 1) != DW_EH_PE_omit)
		get_uleb(&in);
	encoding = get_fixed(&in, 1);
	size = get_uleb(&in);
	if (in.bad || size > left - (in.at - bytes))
		size = 0;
	*table = (struct bytes){ .at = in.at, .end = in.at + size };
	return encoding;
}

/**
 * handlers_add() - have the handlers of a function's exceptions followed
 * @follow:	From follow_new().
 * @function:	The function.  Call this for functions in ascending order.
 */
void handlers_add(struct follow *follow, const struct function *function)
{
	u64 left, start, size, handler;
	const u8 *bytes = function->handlers ?
			  follow_data(follow, function->handlers, &left) : NULL;
	struct bytes in;
	u8 encoding;

	if (!bytes || !follow_spend(follow, 1))
		return;
	encoding = read_head(&in, bytes, left);
	while (bytes_left(&in)) {
		bytes = in.at;
		start = get_offset(&in, encoding);
		size = get_offset(&in, encoding);
		handler = get_offset(&in, encoding);
		get_uleb(&in);
		/* Many functions may name one table. */
		if (!follow_spend(follow, in.at - bytes) || in.bad)
			return;
		if (!handler || handler >= function->size || start >= function->size)
			continue;
		start += function->start;
		follow_catch(follow, start, start + size, function->start + handler);
	}
}
