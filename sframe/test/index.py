#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Check the index of a directory of tables, without the tool's code.

usage: index.py DIR [KEY...]

Fails unless DIR/index.v4 is well formed and names exactly the objects with the keys that
layout.py prints; without keys, exactly the tables that are in DIR.
"""
import pathlib
import struct
import sys

HEADER = struct.Struct("<8sIIQ")
ENTRY = 32


def read_index(path):
    data = path.read_bytes()
    magic, version, entry_size, count = HEADER.unpack_from(data)
    assert magic == b"SFRMIDX1", magic
    assert version == 4, version
    assert entry_size == ENTRY, entry_size
    assert len(data) == HEADER.size + count * ENTRY, (len(data), count)
    entries = [data[at:at + ENTRY] for at in range(HEADER.size, len(data), ENTRY)]
    assert entries == sorted(set(entries)), "not sorted, or an entry is there twice"
    return entries


def entry(key):
    build_id, layout = (bytes.fromhex(digits) for digits in key.split("-"))
    assert len(build_id) <= 20 and len(layout) == 12, key
    return build_id.ljust(20, b"\0") + layout


def key_of_table(path):
    data = path.read_bytes()
    size, = struct.unpack_from("<I", data, 48)
    return f"{data[56:56 + size].hex()}-{data[136:148].hex()}"


def main():
    top = pathlib.Path(sys.argv[1])
    keys = sys.argv[2:] or [key_of_table(path) for path in top.glob("??/*.v4")]
    found = read_index(top / "index.v4")
    wanted = sorted({entry(key) for key in keys})
    for name in wanted:
        if name not in found:
            raise SystemExit(f"{top}: the index lacks {name.hex()}")
    for name in found:
        if name not in wanted:
            raise SystemExit(f"{top}: the index has {name.hex()}, too")
    print(f"{top}: {len(found)} entries")


main()
