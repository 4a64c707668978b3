#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Compare two outputs of 'sframe dump --rows': same_rows.py OURS THEIRS

OURS has to have each function of THEIRS, with the same size and the same rows.  OURS may
have more functions: start-up code has no .sframe.  Prints the number of functions that were
compared.
"""
import re
import sys

FUNCTION = re.compile(r"^ +([0-9a-f]+) +(\d+) bytes +\d+ rows(.*)$")
ROW = re.compile(r"^ +([0-9a-f]+)  (\S.*)$")

Function = tuple[int, bool, list[tuple[int, str]]]


def read(name: str) -> dict[int, Function]:
    """Functions by start; a row that repeats the rule before it is dropped."""
    functions: dict[int, Function] = {}
    rows: list[tuple[int, str]] = []
    with open(name, encoding="ascii") as file:
        for line in file:
            if found := FUNCTION.match(line):
                rows = []
                functions[int(found[1], 16)] = (int(found[2]),
                                                "repeat" in found[3], rows)
            elif found := ROW.match(line):
                rule = " ".join(found[2].split())
                if not rows or rows[-1][1] != rule:
                    rows.append((int(found[1], 16), rule))
    return functions


def is_wrong_plt(function: Function) -> bool:
    """GNU ld up to 2.44 says sp+16 of .plt.got, whose stubs push nothing."""
    return function[1] and [rule for _, rule in function[2]] == ["sp+16 [cfa-8] ="]


def main() -> None:
    ours, theirs = read(sys.argv[1]), read(sys.argv[2])
    compared = 0
    for start, function in sorted(theirs.items()):
        mine = ours.get(start)
        if function[0] == 0 or is_wrong_plt(function):
            continue
        compared += 1
        # A function of one row may repeat with any period, or not.
        if not mine or mine[0] != function[0] or mine[2] != function[2]:
            sys.exit(f"{start:#x}: {mine} instead of {function}")
    print(compared)


if __name__ == "__main__":
    main()
