# SPDX-License-Identifier: GPL-2.0
"""What .eh_frame says about a stripped file: its functions, and where threads begin.

The return address of an outermost frame is undefined. .eh_frame says so for `_start`
and for the first instructions of a new thread in clone() and clone3(), and for nothing
else. This needs no symbols, of which stripped files have few. Only the dynamic linker's
own entry lacks such a description.

All positions are offsets in the file, which is what perf prints.
"""

import re
import subprocess
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

Range = tuple[int, int]

# Instructions of an entry that has no description, in bytes.
ENTRY_SIZE = 0x40

# "0018 0010 0018 FDE cie=00000000 pc=0000000000110300..0000000000110322"
FDE = re.compile(r"^[0-9a-f]+ [0-9a-f]+ [0-9a-f]+ FDE cie=([0-9a-f]+) "
                 r"pc=([0-9a-f]+)\.\.([0-9a-f]+)")
# "0000 0014 0000 CIE": what its functions have in common
CIE = re.compile(r"^([0-9a-f]+) [0-9a-f]+ [0-9a-f]+ CIE")
# "  DW_CFA_advance_loc: 1 to 0000000000001061"
ADVANCE = re.compile(r"^\s+DW_CFA_(?:advance_loc\d?|set_loc): .*?([0-9a-f]+)$")
UNDEFINED = re.compile(r"^\s+DW_CFA_undefined: r16 \(rip\)")
ENTRY = re.compile(r"^\s+Entry point address:\s+0x([0-9a-f]+)", re.MULTILINE)
LOAD = re.compile(r"^\s+LOAD\s+0x(\w+) 0x(\w+) 0x\w+ 0x(\w+)", re.MULTILINE)


@dataclass
class Code:
    """Ranges, sorted by where they start."""

    functions: list[Range] = field(default_factory=list)
    outermost: list[Range] = field(default_factory=list)

    def function(self, offset: int) -> int | None:
        """Where the function starts that the offset lies in."""
        return start_of(self.functions, offset)

    def is_outermost(self, offset: int) -> bool:
        """Whether nothing has called the code there."""
        return start_of(self.outermost, offset) is not None


def start_of(ranges: list[Range], offset: int) -> int | None:
    """The start of the range that the offset lies in."""
    at = bisect_right(ranges, (offset, float("inf"))) - 1
    return ranges[at][0] if at >= 0 and offset < ranges[at][1] else None


def frames(lines: Iterable[str]) -> tuple[list[Range], list[Range]]:
    """Functions, and where the return address is undefined, from readelf -wf.

    Addresses, not offsets. A range without return address goes from the
    instruction that says so to the end of its function.
    """
    functions: list[Range] = []
    undefined: list[Range] = []
    without_caller: set[int] = set()
    common: int | None = None
    at = end = 0
    for line in lines:
        if match := FDE.match(line):
            common, at, end = None, int(match[2], 16), int(match[3], 16)
            functions.append((at, end))
            if int(match[1], 16) in without_caller:
                undefined.append((at, end))
        elif match := CIE.match(line):
            common = int(match[1], 16)
            without_caller.discard(common)
        elif match := ADVANCE.match(line):
            at = int(match[1], 16)
        elif UNDEFINED.match(line):
            if common is not None:
                without_caller.add(common)
            else:
                undefined.append((at, end))
    return sorted(functions), sorted(undefined)


def read_code(headers: str, unwind: Iterable[str]) -> Code:
    """The code of a file from readelf -hlW and readelf -wf."""
    loads = [tuple(int(number, 16) for number in match.groups())
             for match in LOAD.finditer(headers)]

    def offsets(ranges: Iterable[Range]) -> list[Range]:
        return sorted((offset + start - address, offset + end - address)
                      for start, end in ranges for offset, address, size in loads
                      if address <= start < address + size)

    functions, outermost = frames(unwind)
    entry = int(match[1], 16) if (match := ENTRY.search(headers)) else 0
    if entry and start_of(functions, entry) is None:
        after = bisect_right(functions, (entry, 0))
        limit = functions[after][0] if after < len(functions) else entry + ENTRY_SIZE
        outermost.append((entry, min(limit, entry + ENTRY_SIZE)))
    return Code(offsets(functions), offsets(outermost))


def readelf(*arguments: str) -> str:
    """What readelf prints; nothing for what it cannot read."""
    return subprocess.run(["readelf", *arguments], capture_output=True, text=True,
                          errors="replace", check=False).stdout


@cache
def code_of(dso: str) -> Code:
    """The code of a file by its name in a recording; empty where there is no such file."""
    if not Path(dso).is_file():
        return Code()
    return read_code(readelf("-hlW", dso), readelf("-wf", dso).splitlines())
