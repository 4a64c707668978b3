# SPDX-License-Identifier: GPL-2.0
"""In a guest: create stack maps and print the memory of each.

The script creates several maps of a kind and divides the sum, so that allocations of
other tasks and rounding to pages hardly count. It creates one map before all others,
because the first map allocates the callchain buffers that all maps share, and prints
the memory of these buffers as well.
"""
import ctypes
import os
import struct
import sys
import time

BPF_MAP_CREATE, STACK_TRACE, NO_PREALLOC = 0, 7, 1
MAPS = 8
GROUP = "/sys/fs/cgroup/stackmap"


def create(entries: int, frames: int, flags: int = 0) -> int:
    attr = struct.pack("=IIIII", STACK_TRACE, 4, 8 * frames, entries, flags).ljust(128, b"\0")
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.syscall(321, BPF_MAP_CREATE, attr, len(attr))
    if fd < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return fd


def read(path: str) -> str:
    with open(path) as file:
        return file.read()


def charged() -> int:
    return int(read(f"{GROUP}/memory.current")) // 1024


def taken() -> int:
    """KiB that the system uses for slabs, vmalloc() and per-CPU memory."""
    with open("/proc/sys/vm/drop_caches", "w") as file:
        file.write("3")
    lines = (line.split() for line in read("/proc/meminfo").splitlines())
    return sum(int(line[1]) for line in lines if line[0] in ("Slab:", "VmallocUsed:", "Percpu:"))


def said(fd: int) -> int:
    for line in read(f"/proc/self/fdinfo/{fd}").splitlines():
        if line.startswith("memlock:"):
            return int(line.split()[1]) // 1024
    raise LookupError("memlock")


def measure(kernel: str, entries: int, frames: int, flags: int) -> None:
    # 2048 frames of 16,384 entries are 256 MiB on the base.
    number = 2 if frames > 127 else MAPS
    charge, before = charged(), taken()
    maps = [create(entries, frames, flags) for _ in range(number)]
    # The worker may add more blocks.
    time.sleep(0.5)
    charge, before = charged() - charge, taken() - before
    print(f"{kernel:8} {os.sysconf('SC_NPROCESSORS_CONF'):3} CPUs {entries:6} entries {frames:5} "
          f"frames {'no prealloc' if flags else 'prealloc':11} says {said(maps[0]):7} "
          f"charged {charge // number:7} taken {before // number:7}", flush=True)
    for fd in maps:
        os.close(fd)
    time.sleep(1)


def main() -> None:
    try:
        with open("/sys/fs/cgroup/cgroup.subtree_control", "w") as file:
            file.write("+memory")
    except OSError:
        pass
    os.makedirs(GROUP, exist_ok=True)
    with open(f"{GROUP}/cgroup.procs", "w") as file:
        file.write(str(os.getpid()))
    for frames in 127, 2048:
        charge, before = charged(), taken()
        first = create(1, frames)
        print(f"{sys.argv[1]:8} {os.sysconf('SC_NPROCESSORS_CONF'):3} CPUs, first map of {frames:4} "
              f"frames: charged {charged() - charge}, taken {taken() - before}", flush=True)
        if sys.argv[1] == "base" and frames == 127:
            # The base limits depth by the sysctl, which cannot change while a map exists.
            os.close(first)
            time.sleep(1)
            with open("/proc/sys/kernel/perf_event_max_stack", "w") as file:
                file.write("2048")
    for frames in 127, 2048:
        for entries in 10000, 16384:
            for flags in 0, NO_PREALLOC:
                # The old map has no such flag.
                if sys.argv[1] != "base" or not flags:
                    measure(sys.argv[1], entries, frames, flags)


main()
