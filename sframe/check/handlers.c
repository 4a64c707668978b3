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

/**
 * handlers_add() - have the handlers of a function's exceptions followed
 * @follow:	From follow_new().
 * @function:	The function.  Call this for functions in ascending order.
 */
void handlers_add(struct follow *follow, const struct function *function)
{
	u64 left, start, size, handler;
	struct bytes in;
	u8 encoding;

	if (!function->handlers)
		return;
	in.at = follow_data(follow, function->handlers, &left);
	if (!in.at)
		return;
	in = (struct bytes){ .at = in.at, .end = in.at + left };
	/* Handlers are at offsets from the function, not from elsewhere. */
	if (get_fixed(&in, 1) != DW_EH_PE_omit)
		return;
	if (get_fixed(&in, 1) != DW_EH_PE_omit)
		get_uleb(&in);
	encoding = get_fixed(&in, 1);
	size = get_uleb(&in);
	if (size > bytes_left(&in))
		return;
	in.end = in.at + size;
	while (bytes_left(&in)) {
		start = get_offset(&in, encoding);
		size = get_offset(&in, encoding);
		handler = get_offset(&in, encoding);
		get_uleb(&in);
		if (in.bad || start >= function->size || handler >= function->size)
			return;
		start += function->start;
		if (!follow_catch(follow, start, start + size,
				  handler ? function->start + handler : 0))
			return;
	}
}
