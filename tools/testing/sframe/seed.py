#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""usage: seed.py DIRECTORY PROGRAM...

Write an input for sframe-fuzz for each program's table: see struct request in
fuzz.c. Of each, some for every four functions, and one that is cut off.
"""

import struct
import sys
from pathlib import Path

PT_LOAD, PF_X = 1, 1
# TEST_TABLE of test.h
TABLE = 0x500000


def sections(elf: bytes) -> dict[str, tuple[int, int, int]]:
    """Name -> address, file offset, size."""
    offset = struct.unpack_from("<Q", elf, 40)[0]
    size, count, names = struct.unpack_from("<HHH", elf, 58)
    heads = [struct.unpack_from("<IIQQQQ", elf, offset + i * size) for i in range(count)]
    strings = heads[names][4]

    def name(at: int) -> str:
        return elf[strings + at : elf.index(b"\0", strings + at)].decode()

    return {name(head[0]): (head[3], head[4], head[5]) for head in heads}


def text(elf: bytes) -> tuple[int, int]:
    """Address and size of the executable segment."""
    offset = struct.unpack_from("<Q", elf, 32)[0]
    size, count = struct.unpack_from("<HH", elf, 54)
    for i in range(count):
        kind, flags, _, address, _, _, memory = struct.unpack_from("<IIQQQQQ", elf, offset + i * size)
        if kind == PT_LOAD and flags & PF_X:
            return address, memory
    raise ValueError("no executable segment")


def request(start: int, size: int, first: int, depth: int) -> bytes:
    """Four functions from @first on, @depth bytes into each."""
    start += TABLE
    region = struct.pack("<QQQQ", TABLE, 4096, start, size)
    where = [first, first + 1, first + 2, first + 3] + [depth] * 4
    return struct.pack("<QQ8HII", start, start + size, *where, 1, 1) + region


def main() -> int:
    if len(sys.argv) < 3 or sys.argv[1].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    for path in map(Path, sys.argv[2:]):
        elf = path.read_bytes()
        address, at, length = sections(elf)[".sframe"]
        start, size = text(elf)
        table = elf[at : at + length]
        head = start - address, size
        for first in range(0, 32, 4):
            for depth in (1, 5, 40):
                name = f"{path.name}-{first}-{depth}"
                out.joinpath(name).write_bytes(request(*head, first, depth) + table)
        out.joinpath(f"{path.name}-cut").write_bytes(
            request(*head, 0, 5) + table[: length // 2]
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
