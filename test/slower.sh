# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
# For a guest: at perf's default of 4000 samples a second, an emulated CPU that another
# guest keeps busy does little but take samples.
slower='cd /proc/sys/kernel; echo 25 >perf_cpu_time_max_percent
	echo 400 >perf_event_max_sample_rate; echo 0 >perf_cpu_time_max_percent; cd -'
