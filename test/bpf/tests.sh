# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
# Which BPF selftests run: those of the series, and the base's own on stacks, tracepoints
# and records, unmodified.

# Of test_progs, ours, and what they load
OURS=(stack_map_capacity stack_map_counters stack_map_kfunc stack_map_pressure
	stack_map_program stack_map_syscall output_record perf_raw_record
	perf_output_lost tp_attach tp_data_loc tp_filter tp_header tp_nest
	tp_no_record tp_sleepable tp_stress)
OUR_PROGS=(stack_map_kfunc stack_map_take test_output_record test_perf_raw_record test_tp_attach test_tp_data_loc
	test_tp_filter test_tp_header test_tp_nest test_tp_no_record
	test_tp_no_record_ext test_tp_sleepable test_tp_stress)
# The base's own; a hundred others need a kernel with everything.
STOCK=(stacktrace_map stacktrace_map_raw_tp stacktrace_map_skip stacktrace_build_id
	stacktrace_build_id_nmi get_stack_raw_tp get_stackid_cannot_attach
	perf_event_stackmap perf_buffer perf_link perf_branches tp_attach_query
	xdp_bpf2bpf attach_probe raw_tp_test_run raw_tp_writable_test_run trace_printk
	trace_vprintk ringbuf ringbuf_multi dynptr)
# What they load, what test_maps loads, and what both are linked with
STOCK_PROGS=(test_stacktrace_map stacktrace_map_skip test_stacktrace_build_id
	test_get_stack_rawtp test_get_stack_rawtp_err perf_event_stackmap
	sockmap_parse_prog sockmap_verdict_prog sockmap_tcp_msg_prog test_map_in_map
	test_map_in_map_invalid map_percpu_stats read_bpf_task_storage_busy btf_data
	test_perf_buffer test_perf_link test_perf_branches test_tracepoint test_xdp
	test_xdp_bpf2bpf test_attach_kprobe_sleepable test_attach_probe_manual
	test_attach_probe test_raw_tp_test_run trace_printk trace_vprintk
	test_ringbuf test_ringbuf_n test_ringbuf_map_key test_ringbuf_write
	test_ringbuf_multi dynptr_fail dynptr_success test_pkt_access)
# What the benchmarks load, all of which are in one program
BENCH_PROGS=(bench_local_storage_create bloom_filter_bench bpf_hashmap_full_update_bench
	bpf_hashmap_lookup bpf_loop_bench crypto_bench htab_mem_bench local_storage_bench
	local_storage_rcu_tasks_trace_bench perfbuf_bench ringbuf_bench stack_map_take
	strncmp_bench test_overhead trigger_bench)
# Those of STOCK_PROGS that have a light skeleton
LIGHT_SKELETONS=(trace_printk.c trace_vprintk.c test_ringbuf.c test_ringbuf_n.c
	test_ringbuf_map_key.c test_ringbuf_write.c)
