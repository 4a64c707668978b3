#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Damage files: mutate.py SEED COUNT TO FROM...

Damage COUNT files, with the seeds from SEED on: the files FROM in turn, seed modulo their
number, each to the path TO with the seed after it.  Truncate it, or replace a field of a header,
or change bytes anywhere or in the unwind sections.  The same seed makes the same damage.
"""
import random
import struct
import sys

EHDR = struct.Struct("<16xHHIQQQIHHHHHH")
VALUES = (0, 1, 7, 8, 0x7F, 0xFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF,
          0x7FFFFFFFFFFFFFFF, 0xFFFFFFFFFFFFFFF0, 0xFFFFFFFFFFFFFFFF)


def put_value(data: bytearray, at: int, rng: random.Random) -> None:
    """Replace one field of 1, 2, 4 or 8 bytes."""
    size = rng.choice((1, 2, 4, 8))
    value = rng.choice(VALUES + (len(data), rng.getrandbits(64)))
    at = max(0, min(at, len(data) - size))
    data[at:at + size] = (value & ((1 << 8 * size) - 1)).to_bytes(size, "little")


def sections(data: bytes) -> list[tuple[int, int, int]]:
    """Place of the header, offset and size of each section with unwind data."""
    fields = EHDR.unpack_from(data)
    shoff, count, names = fields[5], fields[11], fields[12]
    headers = [struct.unpack_from("<IIQQQQIIQQ", data, shoff + 64 * i)
               for i in range(count)]
    found = []
    for i, header in enumerate(headers):
        start = headers[names][4] + header[0]
        name = data[start:data.index(0, start)]
        if name in (b".eh_frame", b".eh_frame_hdr", b".debug_frame", b".sframe"):
            found.append((shoff + 64 * i, header[4], header[5]))
    return found


def mutate(data: bytearray, rng: random.Random) -> bytearray:
    """Damage @data in one of the ways."""
    elf = data[:4] == b"\x7fELF"
    way = rng.randrange(6) if elf else rng.choice((0, 1))
    fields = EHDR.unpack_from(data) if elf else ()
    # Find the sections first: the damage may hit their headers.
    targets = (sections(data) if elf else []) or [(64, 64, 64)]
    if way == 0:
        return data[:rng.randrange(len(data))]
    for _ in range(rng.randint(1, 8)):
        if way == 1:
            put_value(data, rng.randrange(len(data) if elf else 8192), rng)
        elif way == 2:
            put_value(data, rng.randrange(64), rng)
        elif way == 3:
            put_value(data, fields[4] + rng.randrange(56 * fields[9]), rng)
        else:
            header, offset, size = rng.choice(targets)
            put_value(data, header + rng.randrange(64) if way == 5 and
                      rng.random() < 0.3 else offset + rng.randrange(size), rng)
    return data


def main() -> None:
    first, count = int(sys.argv[1]), int(sys.argv[2])
    target, sources = sys.argv[3], sys.argv[4:]
    for seed in range(first, first + count):
        with open(sources[seed % len(sources)], "rb") as file:
            data = bytearray(file.read())
        with open(f"{target}{seed}", "wb") as file:
            file.write(mutate(data, random.Random(seed)))


if __name__ == "__main__":
    main()
