# SPDX-License-Identifier: GPL-2.0
"""Judge the user stacks of a recording: whole is one that ends where a program or thread begins.

usage: judge.py perf TEXT [OPTION...]
       judge.py bpftrace JSON MAPS [OPTION...]

  TEXT      of perf script -F comm,pid,time,ip,sym,dso,dsoff
  JSON      of bpftrace -f json, whose map has the key pid, comm, ustack(raw)
  MAPS      a directory with /proc/PID/maps of each process, as PID
  --least PERCENT  of the stacks that have to be whole
  --comm NAME      it has to be among them; can be given several times
  --only NAME      no other's stacks count
  --from S --to S  nor do those of other times

A program begins in the function at its ELF entry, and a thread where the result of its function
goes to exit(): neither has a symbol in Debian's files.  No stack is to be had between two
programs, in execve(), nor from a process that has given its memory back: they may be 2 in 100.

Exit status: 0 passed, 1 failed, 2 usage.
"""

import argparse
import json
import re
import struct
import sys
from collections import Counter
from functools import cache
from pathlib import Path

# mov %eax, %edi; mov $SYS_exit, %eax; syscall: behind the call of a thread's function
THREAD_END = re.compile(rb"H?\x89\xc7\xb8\x3c\0\0\0\x0f\x05")
FRAME = re.compile(r"\s+([0-9a-f]+) (.*) \((.*?)(?:\+0x([0-9a-f]+))?\)$")
HEADER = re.compile(r"(.+?)\s+(\d+)\s+(\d+\.\d+):")
KERNEL = 1 << 63
# How far behind the entry the first call returns to: 0x48 in programs of Free Pascal
ENTRY_BYTES = 0x50
NO_STACK = ("begin_new_exec", "load_elf_binary", "exit_mm", "exit_files", "exit_notify", "do_exit")
KERNEL_TASK = re.compile(r"ret_from_fork")
WORST = 15
MAX_NONE = 0.02


@cache
def contents(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""


@cache
def entry_offset(path: str) -> int | None:
    """Where in the file the entry is, or None if it is no ELF file."""
    data = contents(path)
    if data[:5] != b"\x7fELF\x02":
        return None
    entry, phoff = struct.unpack_from("<QQ", data, 24)
    size, count = struct.unpack_from("<HH", data, 54)
    for i in range(count):
        kind, _, offset, address, _, length = struct.unpack_from("<IIQQQQ", data, phoff + i * size)
        if kind == 1 and address <= entry < address + length:
            return entry - address + offset
    return None


def is_start(path: str, offset: int | None) -> bool:
    entry = entry_offset(path)
    if entry is None or offset is None:
        return False
    # At the entry itself, the program has not done anything yet.
    return 0 <= offset - entry <= ENTRY_BYTES or bool(THREAD_END.match(contents(path), offset))


class Verdicts:
    def __init__(self) -> None:
        self.seen: Counter[str] = Counter()
        self.whole: Counter[str] = Counter()
        self.short: Counter[tuple[str, str]] = Counter()
        self.none = 0

    def add(self, comm: str, whole: bool, tail: str, count: int = 1) -> None:
        self.seen[comm] += count
        if whole:
            self.whole[comm] += count
        else:
            self.short[comm, tail] += count

    def end(self, args: argparse.Namespace) -> int:
        seen, whole = self.seen.total(), self.whole.total()
        share = 100 * whole / seen if seen else 0
        print(f"# {whole} of {seen} stacks are whole, {share:.2f} %; "
              f"{self.none} samples of no program")
        print("# " + ", ".join(f"{comm} {self.whole[comm]}/{count}"
                               for comm, count in self.seen.most_common()))
        for (comm, tail), count in self.short.most_common(WORST):
            print(f"# short {count} {comm}: {tail}")
        missing = [comm for comm in args.comm if not self.seen[comm]]
        if missing:
            print(f"# no sample of {', '.join(missing)}")
        if not args.least:
            return 0
        too_many = self.none > MAX_NONE * seen
        return 1 if missing or too_many or not seen or share < args.least else 0


def of_perf(args: argparse.Namespace) -> int:
    verdicts = Verdicts()
    for block in Path(args.text).read_text(errors="replace").split("\n\n"):
        head, *lines = block.strip("\n").split("\n")
        header = HEADER.match(head.strip())
        if not header:
            continue
        comm, _, time = header.groups()
        if args.only and comm != args.only or not args.start <= float(time) < args.end:
            continue
        frames = [m.groups() for m in map(FRAME.match, lines) if m]
        user = [f for f in frames if int(f[0], 16) < KERNEL]
        kernel = [f[1] for f in frames if int(f[0], 16) >= KERNEL]
        if any(symbol.startswith(NO_STACK) for symbol in kernel):
            verdicts.none += 1
            continue
        if not user:
            # Of a task of the kernel, if it begins as one; the idle task has no such begin.
            if not comm.startswith("swapper") and not (kernel and KERNEL_TASK.match(kernel[-1])):
                verdicts.add(comm, False, f"no user frame, kernel: {kernel[-1:]}")
            continue
        _, _, path, offset = user[-1]
        tail = " | ".join(f"{f[1]} ({f[2]}+{f[3]})" for f in user[-2:])
        verdicts.add(comm, is_start(path, int(offset, 16) if offset else None), tail)
    return verdicts.end(args)


@cache
def mappings(path: str) -> tuple[tuple[int, int, int, str], ...]:
    try:
        lines = Path(path).read_text().splitlines()
    except OSError:
        return ()
    found = []
    for line in lines:
        fields = line.split(maxsplit=5)
        begin, end = (int(x, 16) for x in fields[0].split("-"))
        found.append((begin, end, int(fields[2], 16), fields[5] if len(fields) > 5 else ""))
    return tuple(found)


def place(maps: tuple[tuple[int, int, int, str], ...], address: int) -> tuple[str, int | None]:
    """The file and the offset in it of an address, or "" and None."""
    return next(((path, address - begin + start) for begin, end, start, path in maps
                 if begin <= address < end), ("", None))


def of_bpftrace(args: argparse.Namespace) -> int:
    verdicts = Verdicts()
    for line in Path(args.text).read_text().splitlines():
        item = json.loads(line)
        if item.get("type") != "map":
            continue
        for stacks in item["data"].values():
            for key, count in stacks.items():
                pid, comm, stack = key.split(",", 2)
                maps = mappings(f"{args.maps}/{pid}")
                addresses = [int(a, 16) for a in re.findall(r"[0-9a-f]{6,}", stack)]
                # A task of the kernel has no maps, nor has a process that has ended.
                if not maps:
                    continue
                if not addresses:
                    verdicts.add(comm, False, "no user frame", count)
                    continue
                # The process has executed another program since, or is another one.
                if not place(maps, addresses[0])[0]:
                    verdicts.none += count
                    continue
                path, offset = place(maps, addresses[-1])
                verdicts.add(comm, is_start(path, offset), f"{path}+{offset or addresses[-1]:x}",
                             count)
    return verdicts.end(args)


def main() -> int:
    parser = argparse.ArgumentParser(usage=__doc__)
    kinds = parser.add_subparsers(required=True)
    for name, judge in (("perf", of_perf), ("bpftrace", of_bpftrace)):
        kind = kinds.add_parser(name)
        kind.add_argument("text")
        if name == "bpftrace":
            kind.add_argument("maps")
        kind.add_argument("--least", type=float, default=100)
        kind.add_argument("--comm", action="append", default=[])
        kind.add_argument("--only")
        kind.add_argument("--from", dest="start", type=float, default=0)
        kind.add_argument("--to", dest="end", type=float, default=float("inf"))
        kind.set_defaults(judge=judge)
    args = parser.parse_args()
    return args.judge(args)


sys.exit(main())
