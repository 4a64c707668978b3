#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Write an ELF file whose headers name the same bytes again and again:
many_headers.py notes|frames|segments|texts TO

Half of the file are headers, half are these bytes, so a reader that copies the bytes of each
header needs quadratic memory.
"""
import struct
import sys

SIZE = 500000
EHDR, PHDR, SHDR = 64, 56, 64
NAMES = b"\0.eh_frame\0.note\0"
LOAD, NOTE_SEGMENT, FRAME_SEGMENT = 1, 4, 0x6474E550


def segment(kind: int, offset: int, size: int) -> bytes:
    return struct.pack("<IIQQQQQQ", kind, 5, offset, offset, offset, size, size, 4)


def section(name: int, kind: int, offset: int, size: int) -> bytes:
    return struct.pack("<IIQQQQIIQQ", name, kind, 2, offset, offset, size, 0, 0, 4, 0)


def text(address: int, offset: int, size: int) -> bytes:
    return struct.pack("<IIQQQQIIQQ", 0, 1, 6, address, offset, size, 0, 0, 4, 0)


def main() -> None:
    kind, target = sys.argv[1:]
    # Notes without a build-id; read as .eh_frame, they are entries of length 4.
    data = struct.pack("<III", 4, 0, 7) * (SIZE // 12)
    segments, sections = [], []
    if kind == "segments":
        count = 8000
        start = EHDR + PHDR * (2 * count + 1)
        segments = [segment(LOAD, 0, start + len(data))]
        segments += [segment(NOTE_SEGMENT, start, len(data)),
                     segment(FRAME_SEGMENT, start, len(data))] * count
    elif kind == "texts":
        count = 8000
        start = EHDR + PHDR + SHDR * (count + 1)
        segments = [struct.pack("<IIQQQQQQ", LOAD, 5, 0, 0, 0, start, count * len(data), 4)]
        sections = [section(0, 3, start + len(data), len(NAMES))]
        sections += [text(i * len(data), start, len(data)) for i in range(count)]
    else:
        count = 8000
        start = EHDR + PHDR + SHDR * (count + 1)
        segments = [segment(LOAD, 0, start + len(data))]
        sections = [section(0, 3, start + len(data), len(NAMES))]
        sections += [section(11, 7, start, len(data)) if kind == "notes" else
                     section(1, 1, start, len(data))] * count
    shoff = EHDR + PHDR * len(segments) if sections else 0
    ident = b"\x7fELF\2\1\1" + bytes(9)
    header = ident + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, EHDR, shoff, 0, EHDR, PHDR,
                                 len(segments), SHDR, len(sections), 0)
    with open(target, "wb") as file:
        file.write(header + b"".join(segments) + b"".join(sections) + data + NAMES)


if __name__ == "__main__":
    main()
