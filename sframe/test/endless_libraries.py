#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Write a program that needs thousands of libraries, in thousands of directories.

usage: endless_libraries.py OUT
"""
import struct
import sys

DIRECTORIES = 1000
LIBRARIES = 4000
LINKER = b"/lib64/ld-linux-x86-64.so.2\0"
PT_LOAD, PT_DYNAMIC, PT_INTERP = 1, 2, 3
DT_NEEDED, DT_STRTAB, DT_STRSZ, DT_RUNPATH = 1, 5, 10, 29
HEADERS = 64 + 3 * 56


def main():
    strings = bytearray(b"\0" + b":".join([b"/x"] * DIRECTORIES) + b"\0")
    entries = [(DT_RUNPATH, 1)]
    for number in range(LIBRARIES):
        entries.append((DT_NEEDED, len(strings)))
        strings += b"lib%d.so\0" % number
    start = HEADERS + len(LINKER)
    entries += [(DT_STRTAB, start), (DT_STRSZ, len(strings)), (0, 0)]
    dynamic = b"".join(struct.pack("<QQ", *entry) for entry in entries)
    size = start + len(strings) + len(dynamic)
    segments = ((PT_LOAD, 0, size), (PT_INTERP, HEADERS, len(LINKER)),
                (PT_DYNAMIC, start + len(strings), len(dynamic)))
    header = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", 3, 62, 1, 0, 64, 0, 0,
                         64, 56, len(segments), 64, 0, 0)
    for kind, offset, length in segments:
        header += struct.pack("<IIQQQQQQ", kind, 5, offset, offset, offset, length, length, 1)
    with open(sys.argv[1], "wb") as out:
        out.write(header + LINKER + strings + dynamic)


main()
