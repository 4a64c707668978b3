#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Write assembler code whose .eh_frame takes a careless reader quadratic time: many
functions name many long CIEs in turn."""

CIES = 40
LETTERS = 100000
FUNCTIONS = 400000


def main() -> None:
    print(".text\n.globl f\nf: .skip 4, 0x90\n.section .eh_frame, \"a\", @progbits")
    for i in range(CIES):
        print(f"cie{i}: .long cie{i}_end - . - 4, 0\n.byte 1\n.fill {LETTERS}, 1, 'S'\n"
              f".byte 0, 1, 0x78, 16, 12, 7, 8, 0x90, 1\n.balign 4\ncie{i}_end:")
    print(".set n, 0\n"
          f".rept {FUNCTIONS // CIES}")
    for i in range(CIES):
        print(f".long 20, . - cie{i}\n.quad f, 1")
    print(".endr")


if __name__ == "__main__":
    main()
