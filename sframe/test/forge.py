#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Copy a program with its build-id and layout, but with another .eh_frame of equal size.

usage: forge.py PROGRAM OUT
"""
import struct
import sys

# DW_CFA_def_cfa rsp, 8, as each CIE for x86-64 has it
FIRST_RULE = b"\x0c\x07\x08"
WRONG = 0x50


def find_section(data, name):
    at, = struct.unpack_from("<Q", data, 40)
    count, names = struct.unpack_from("<HH", data, 60)
    headers = [struct.unpack_from("<IIQQQQ", data, at + 64 * i) for i in range(count)]
    for header in headers:
        start = headers[names][4] + header[0]
        if data[start:data.index(0, start)] == name:
            return header[4], header[5]
    raise SystemExit(f"{sys.argv[1]}: no {name.decode()}")


def main():
    with open(sys.argv[1], "rb") as file:
        data = bytearray(file.read())
    at, size = find_section(data, b".eh_frame")
    end = at + size
    while at + 8 <= end:
        length, cie = struct.unpack_from("<II", data, at)
        if not length:
            break
        rule = data.find(FIRST_RULE, at, at + 4 + length)
        if not cie and rule > 0:
            data[rule + 2] = WRONG
        at += 4 + length
    with open(sys.argv[2], "wb") as out:
        out.write(data)


main()
