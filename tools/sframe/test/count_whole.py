#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Count the samples whose outermost frame is where a thread begins.

usage: perf script -F ip,sym,dso,dsoff | count_whole.py PROGRAM

Prints the number of samples, and of those that are whole. A thread begins in a
function that is known by name, or, in a program without symbols, at its entry.
"""

import re
import subprocess
import sys

STARTS = {"_start", "__clone", "__clone3", "clone", "clone3", "start_thread", "_dl_start_user"}
FRAME = re.compile(r"^\s+[0-9a-f]+ (.+?)(?:\+0x[0-9a-f]+)? \((.*?)(?:\+0x([0-9a-f]+))?\)$")
# Instructions of _start() up to its call, in bytes.
START_SIZE = 0x40


def entry_offset(program: str) -> int:
    """Where the program is entered: an offset in the file."""
    text = subprocess.run(["readelf", "-hlW", program], check=True, capture_output=True,
                          text=True).stdout
    entry = int(re.search(r"Entry point address:\s+0x([0-9a-f]+)", text)[1], 16)
    for load in re.finditer(r"LOAD\s+0x(\w+) 0x(\w+) 0x\w+ 0x(\w+)", text):
        offset, vaddr, size = (int(number, 16) for number in load.groups())
        if vaddr <= entry < vaddr + size:
            return entry - vaddr + offset
    raise SystemExit(f"count_whole: {program}: the entry is in no segment")


def main() -> None:
    program = sys.argv[1]
    entry = entry_offset(program)
    samples = whole = 0
    last = None
    for line in [*sys.stdin, "\n"]:
        frame = FRAME.match(line)
        if frame:
            last = frame
        elif not line.strip() and last:
            samples += 1
            symbol, file, offset = last.groups()
            in_start = (file.endswith(program) and offset is not None
                        and 0 <= int(offset, 16) - entry < START_SIZE)
            whole += symbol in STARTS or in_start
            last = None
    print(samples, whole)


main()
