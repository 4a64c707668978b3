#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Print what ELF files are known by, and their layouts, without the tool's code.

usage: layout.py FILE...

A line for each file: the build-id or the hash of the headers, "-" and the layout, in hexadecimal
digits.
"""
import hashlib
import struct
import sys

PT_LOAD, PT_NOTE, PT_GNU_EH_FRAME = 1, 4, 0x6474E550
PF_X = 1
NT_GNU_BUILD_ID = 3


def program_headers(data):
    """Yield type, flags, offset, address, file size and memory size of each."""
    start, = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    for at in range(start, start + size * count, size):
        kind, flags, offset, vaddr, _, filesz, memsz = struct.unpack_from("<IIQQQQQ", data, at)
        yield kind, flags, offset, vaddr, filesz, memsz


def build_id(data):
    for kind, _, at, _, size, _ in program_headers(data):
        end = at + size
        while kind == PT_NOTE and at + 12 <= end:
            name, desc, note = struct.unpack_from("<III", data, at)
            start = at + 12 + (name + 3) // 4 * 4
            if note == NT_GNU_BUILD_ID and data[at + 12:at + 16] == b"GNU\0" and 2 <= desc <= 20:
                return data[start:start + desc]
            at = start + (desc + 3) // 4 * 4
    return None


def headers_id(data):
    start, = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    return hashlib.sha256(data[:4096] + data[start:start + size * count]).digest()[:20]


def layout(data):
    headers = list(program_headers(data))
    words = [len(build_id(data) or b"")]
    for kind, flags, _, vaddr, _, memsz in headers:
        if kind == PT_LOAD and flags & PF_X and memsz:
            words += [vaddr, memsz]
    search = [header for header in headers if header[0] == PT_GNU_EH_FRAME]
    words += [search[0][3], search[0][5]] if search else [0, 0]
    return hashlib.sha256(struct.pack(f"<{len(words)}Q", *words)).digest()[:12]


def main():
    for name in sys.argv[1:]:
        with open(name, "rb") as file:
            data = file.read()
        print(f"{(build_id(data) or headers_id(data)).hex()}-{layout(data).hex()}")


main()
