/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints for the unwind tables that processes register.  Events carry addresses, not file
 * names: readers look the address up in the task's mappings.
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

/*
 * A table was registered or refused.  error is 0 or the reason for the refusal.  version is
 * 0 for refused tables.
 */
TRACE_EVENT(sframe_add,

	TP_PROTO(const struct sframe_region *region, unsigned int version, int error),

	TP_ARGS(region, version, error),

	TP_STRUCT__entry(
		__field(u64, table)
		__field(u64, table_size)
		__field(u64, text)
		__field(u64, text_size)
		__field(int, tgid)
		__field(int, error)
		__field(u8, version)
	),

	TP_fast_assign(
		__entry->table = region->sframe_start;
		__entry->table_size = region->sframe_size;
		__entry->text = region->text_start;
		__entry->text_size = region->text_size;
		__entry->tgid = current->tgid;
		__entry->error = error;
		__entry->version = version;
	),

	TP_printk("tgid=%d text=%#llx+%#llx table=%#llx+%#llx version=%u error=%d",
		  __entry->tgid,
		  __entry->text, __entry->text_size,
		  __entry->table, __entry->table_size,
		  __entry->version, __entry->error)
);

/*
 * A table was removed, for example by prctl() or with its mapping.  exec and exit emit no
 * event.
 */
TRACE_EVENT(sframe_remove,

	TP_PROTO(unsigned long table, unsigned long text, unsigned long text_end),

	TP_ARGS(table, text, text_end),

	TP_STRUCT__entry(
		__field(u64, table)
		__field(u64, text)
		__field(u64, text_size)
		__field(int, tgid)
	),

	TP_fast_assign(
		__entry->table = table;
		__entry->text = text;
		__entry->text_size = text_end - text;
		__entry->tgid = current->tgid;
	),

	TP_printk("tgid=%d text=%#llx+%#llx table=%#llx",
		  __entry->tgid,
		  __entry->text, __entry->text_size, __entry->table)
);

#endif /* _TRACE_SFRAME_H */

/* This part must be outside protection */
#include <trace/define_trace.h>
