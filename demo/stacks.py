# SPDX-License-Identifier: GPL-2.0
"""Stacks as `perf script --no-inline -F comm,tid,ip,sym,dso,dsoff` prints them.

A sample is a header with command and thread, a line for each frame from the leaf outwards, and
an empty line.
"""

import re
import struct
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

FIELDS = "comm,tid,ip,sym,dso,dsoff"
UNKNOWN = "[unknown]"
HEADER = re.compile(r"^(?!\t)\s*(\S.*?)\s+-?\d+\s*:?\s*$")
FRAME = re.compile(r"^\s+[0-9a-f]+ (.+?) \((.*?)(?:\+0x([0-9a-f]+))?\)\s*$")
# Bytes from where a thread starts to the end of the call that is its outermost frame
START_SIZE = 96
# clone3() of glibc: its number and the system call
CLONE3 = bytes.fromhex("b8b30100000f05")
PT_LOAD = 1


@dataclass(frozen=True)
class Frame:
    """One entry of a call chain."""

    symbol: str
    dso: str
    # In the file; None where perf names no file or no position.
    offset: int | None = None

    @property
    def is_mapped(self) -> bool:
        """Whether the address lies in a file; else it is no return address."""
        return self.dso != UNKNOWN

    @property
    def name(self) -> str:
        """That of the function, or of its file if that is stripped."""
        return self.symbol if self.symbol != UNKNOWN else f"[{Path(self.dso).name.strip('[]')}]"


@dataclass
class Sample:
    """One sample: the user frames of its chain, leaf first."""

    comm: str
    frames: list[Frame] = field(default_factory=list)

    @property
    def depth(self) -> int:
        """Frames that are in a file; what is not there is not a frame."""
        return sum(frame.is_mapped for frame in self.frames)

    @property
    def is_whole(self) -> bool:
        """Whether the chain ends where its thread starts."""
        last = self.frames[-1] if self.frames else Frame("", UNKNOWN)
        return any(last.offset in start for start in starts(last.dso))


@cache
def starts(dso: str) -> list[range]:
    """Where in a file threads start: at its entry point, and in clone3()."""
    try:
        image = Path(dso).read_bytes()
    except OSError:
        return []
    if not image.startswith(b"\x7fELF"):
        return []
    entry, table = struct.unpack_from("<QQ", image, 24)
    size, number = struct.unpack_from("<HH", image, 54)
    found = [match.start() for match in re.finditer(re.escape(CLONE3), image)]
    for at in range(table, table + size * number, size):
        kind, _, offset, address, _, length = struct.unpack_from("<IIQQQQ", image, at)
        if kind == PT_LOAD and address <= entry < address + length:
            found.append(entry - address + offset)
    return [range(start, start + START_SIZE) for start in found]


def parse(lines: Iterable[str]) -> list[Sample]:
    """All samples; a line of any other form is an error."""
    samples: list[Sample] = []
    is_open = False
    for line in lines:
        if not line.strip():
            is_open = False
        elif is_open and (match := FRAME.match(line)):
            if not match[2].startswith("[kernel"):
                offset = int(match[3], 16) if match[3] else None
                samples[-1].frames.append(Frame(match[1], match[2], offset))
        elif match := HEADER.match(line):
            samples.append(Sample(match[1]))
            is_open = True
        else:
            raise ValueError(f"not what perf script is known to print: {line!r}")
    return samples
