/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoint for walks of user stacks.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM unwind

#if !defined(_TRACE_UNWIND_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_UNWIND_H

#include <linux/tracepoint.h>
#include <linux/unwind_user.h>

#define UNWIND_WAYS						\
	EM(UNWIND_USER_RESIDENT,	"at_once")		\
	EM(UNWIND_USER_FAULTABLE,	"faultable")		\
	EMe(UNWIND_USER_DEFERRED,	"deferred")

#define UNWIND_ENDS						\
	EM(UNWIND_USER_COMPLETE,	"complete")		\
	EM(UNWIND_USER_FULL,		"full")			\
	EM(UNWIND_USER_NO_TABLE,	"no_table")		\
	EM(UNWIND_USER_NO_ROW,		"no_row")		\
	EM(UNWIND_USER_NO_RULE,		"no_rule")		\
	EM(UNWIND_USER_NO_REGISTER,	"no_register")		\
	EM(UNWIND_USER_FAULT,		"fault")		\
	EM(UNWIND_USER_CORRUPT,		"corrupt")		\
	EM(UNWIND_USER_NO_STACK,	"no_stack")		\
	EMe(UNWIND_USER_NO_MEMORY,	"no_memory")

/* Export the values of the enums to user space. */
#undef EM
#undef EMe
#define EM(value, name)		TRACE_DEFINE_ENUM(value);
#define EMe(value, name)	TRACE_DEFINE_ENUM(value);

UNWIND_WAYS
UNWIND_ENDS

#undef EM
#undef EMe
#define EM(value, name)		{ value, name },
#define EMe(value, name)	{ value, name }

/* A walk ended: the last instruction pointer, the number of frames, and the reason. */
TRACE_EVENT(unwind_user_walk,

	TP_PROTO(const struct unwind_user_trace *trace,
		 enum unwind_user_access access),

	TP_ARGS(trace, access),

	TP_STRUCT__entry(
		__field(u64, ip)
		__field(unsigned int, frames)
		__field(u8, way)
		__field(u8, end)
	),

	TP_fast_assign(
		__entry->ip = trace->nr ? trace->entries[trace->nr - 1] : 0;
		__entry->frames = trace->nr;
		__entry->way = access;
		__entry->end = trace->end;
	),

	TP_printk("way=%s frames=%u end=%s ip=%#llx",
		  __print_symbolic(__entry->way, UNWIND_WAYS),
		  __entry->frames, __print_symbolic(__entry->end, UNWIND_ENDS),
		  __entry->ip)
);

#undef EM
#undef EMe

#endif /* _TRACE_UNWIND_H */

/* This part must be outside protection */
#include <trace/define_trace.h>
