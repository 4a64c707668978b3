/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints for the unwind tables of processes.  Events carry addresses, not file names:
 * readers look the address up in the task's mappings.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM unwind
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE sframe

#if !defined(_TRACE_SFRAME_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_SFRAME_H

#include <linux/sched.h>
#include <linux/sframe.h>
#include <linux/tracepoint.h>

#define SFRAME_ORIGINS						\
	EM(SFRAME_PRCTL,		"prctl")		\
	EMe(SFRAME_DISCOVERED,		"discovered")

/* Export the values of the enums to user space. */
#undef EM
#undef EMe
#define EM(value, name)		TRACE_DEFINE_ENUM(value);
#define EMe(value, name)	TRACE_DEFINE_ENUM(value);

SFRAME_ORIGINS

#undef EM
#undef EMe
#define EM(value, name)		{ value, name },
#define EMe(value, name)	{ value, name }

/*
 * A table was registered or refused.  error is 0 or the reason for the refusal.  version is
 * 0 for refused and discovered tables.
 */
TRACE_EVENT(sframe_add,

	TP_PROTO(const struct sframe_region *region, enum sframe_origin origin,
		 unsigned int version, int error),

	TP_ARGS(region, origin, version, error),

	TP_STRUCT__entry(
		__field(u64, table)
		__field(u64, table_size)
		__field(u64, text)
		__field(u64, text_size)
		__field(int, tgid)
		__field(int, error)
		__field(u8, version)
		__field(u8, origin)
	),

	TP_fast_assign(
		__entry->table = region->sframe_start;
		__entry->table_size = region->sframe_size;
		__entry->text = region->text_start;
		__entry->text_size = region->text_size;
		__entry->tgid = current->tgid;
		__entry->error = error;
		__entry->version = version;
		__entry->origin = origin;
	),

	TP_printk("tgid=%d origin=%s text=%#llx+%#llx table=%#llx+%#llx version=%u error=%d",
		  __entry->tgid,
		  __print_symbolic(__entry->origin, SFRAME_ORIGINS),
		  __entry->text, __entry->text_size,
		  __entry->table, __entry->table_size,
		  __entry->version, __entry->error)
);

/*
 * A table was removed, for example by prctl() or with its mapping.  exec and exit emit no
 * event.
 */
TRACE_EVENT(sframe_remove,

	TP_PROTO(unsigned long table, unsigned long text, unsigned long text_end,
		 enum sframe_origin origin),

	TP_ARGS(table, text, text_end, origin),

	TP_STRUCT__entry(
		__field(u64, table)
		__field(u64, text)
		__field(u64, text_size)
		__field(int, tgid)
		__field(u8, origin)
	),

	TP_fast_assign(
		__entry->table = table;
		__entry->text = text;
		__entry->text_size = text_end - text;
		__entry->tgid = current->tgid;
		__entry->origin = origin;
	),

	TP_printk("tgid=%d origin=%s text=%#llx+%#llx table=%#llx",
		  __entry->tgid,
		  __print_symbolic(__entry->origin, SFRAME_ORIGINS),
		  __entry->text, __entry->text_size, __entry->table)
);

/*
 * Discovery has an answer for an executable mapping.  error is 0 if the mapping has a table
 * now, -ENOENT if the object has none, -ENOEXEC if the file is no ELF object, or the error
 * of a table that was refused.
 */
TRACE_EVENT(sframe_discover,

	TP_PROTO(unsigned long text, unsigned long text_end, unsigned long object,
		 int error),

	TP_ARGS(text, text_end, object, error),

	TP_STRUCT__entry(
		__field(u64, text)
		__field(u64, text_size)
		__field(u64, object)
		__field(int, tgid)
		__field(int, error)
	),

	TP_fast_assign(
		__entry->text = text;
		__entry->text_size = text_end - text;
		__entry->object = object;
		__entry->tgid = current->tgid;
		__entry->error = error;
	),

	TP_printk("tgid=%d text=%#llx+%#llx object=%#llx error=%d",
		  __entry->tgid, __entry->text, __entry->text_size,
		  __entry->object, __entry->error)
);

#undef EM
#undef EMe

#endif /* _TRACE_SFRAME_H */

/* This part must be outside protection */
#include <trace/define_trace.h>
