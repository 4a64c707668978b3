# SPDX-License-Identifier: GPL-2.0
"""In a guest: see bench/unwind/memory. Arguments: output folder, numbers of objects.

The script counts the objects in the kernel's slabs before and after perf has profiled a
number of equal processes. It ignores slabs that grow by less than half an object for each
process, as other tasks allocate there.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

PROCESSES = 40
# Nothing is of a process and its objects. What other tasks allocate meanwhile does not grow with
# the number of objects: the base has up to 1254 bytes a process of it.
MOST_BYTES_OF_OBJECT = 8
SLABS = Path("/sys/kernel/slab")
# perf reads the files of each process in /proc.
OF_PROC = {"dentry", "filp", "lsm_inode_cache", "proc_inode_cache"}
CHILD = """
import ctypes, sys

def mapped():
    with open("/proc/self/maps") as maps:
        fields = (line.split() for line in maps)
        return len({f[5] for f in fields if f[1] == "r-xp" and len(f) > 5 and f[5][0] == "/"})

for path in sys.argv[2:]:
    if mapped() >= int(sys.argv[1]):
        break
    try:
        ctypes.CDLL(path)
    except OSError:
        pass
print(mapped(), flush=True)
while True:
    sum(range(1000))
"""


def objects_in_use() -> dict[str, tuple[int, int]]:
    """Number of objects, and size of an object in bytes, for each slab cache."""
    for shrink in SLABS.glob("*/shrink"):
        shrink.write_text("1")
    lines = Path("/proc/slabinfo").read_text(encoding="ascii").splitlines()[2:]
    fields = (line.split() for line in lines)
    return {f[0]: (int(f[1]), int(f[3])) for f in fields if f[0] not in OF_PROC}


def profile(seconds: int) -> None:
    subprocess.run(["perf", "record", "-q", "-a", "-g", "-F", "99", "-e", "cpu-clock", "-o",
                    "/tmp/perf.data", "--", "sleep", str(seconds)], check=True)


def measure(objects: int, libraries: list[str]) -> tuple[int, float]:
    """Print the memory of one of PROCESSES; return its number of objects, and the memory."""
    children = []
    for _ in range(PROCESSES):
        children.append(subprocess.Popen([sys.executable, "-c", CHILD, str(objects), *libraries],
                                         stdout=subprocess.PIPE, text=True))
        # Load one after the other: those that have loaded are stopped.
        mapped = int(children[-1].stdout.readline())
        os.kill(children[-1].pid, signal.SIGSTOP)
    before = objects_in_use()
    for child in children:
        os.kill(child.pid, signal.SIGCONT)
    profile(20)
    for child in children:
        os.kill(child.pid, signal.SIGSTOP)
    after = objects_in_use()
    for child in children:
        child.kill()
        child.wait()
    grown = {name: (after[name][0] - before[name][0], after[name][1]) for name in after}
    theirs = {name: (n / PROCESSES, size) for name, (n, size) in grown.items() if n > PROCESSES / 2}
    total = sum(n * size for n, size in theirs.values())
    parts = ", ".join(f"{n:.2f} {name} of {size}" for name, (n, size) in sorted(theirs.items()))
    print(f"{mapped} objects: {total:.0f} bytes a process: {parts}", flush=True)
    return mapped, total


def main() -> int:
    out = Path(sys.argv[1])
    libraries = (out / "libraries").read_text(encoding="utf-8").split()
    Path("/proc/sys/kernel/unwind_table_path").write_text(f"{out}/cache\n", encoding="utf-8")
    # Load the tables of all files, which processes share.
    child = subprocess.Popen([sys.executable, "-c", CHILD, "1000", *libraries],
                             stdout=subprocess.PIPE, text=True)
    child.stdout.readline()
    profile(10)
    child.kill()
    child.wait()
    figures = [measure(int(n), libraries) for n in sys.argv[2:]]
    (least, first), (most, last) = min(figures), max(figures)
    grows = (last - first) / max(most - least, 1)
    print(f"{grows:.1f} bytes more for each object, at most {MOST_BYTES_OF_OBJECT}")
    return 0 if grows <= MOST_BYTES_OF_OBJECT else 1


if __name__ == "__main__":
    sys.exit(main())
