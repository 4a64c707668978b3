# SPDX-License-Identifier: GPL-2.0
"""Work for the stock python3: documents, regular expressions, sorting, zlib.

usage: python3 work.py SECONDS

One round turns records into JSON and back, sorts them by Python callbacks,
rewrites text by callbacks of a regular expression, and compresses. It crosses
from C to Python and back: sorted() calls __lt__, re.sub() calls a function,
the JSON encoder calls default().

Output: "checksum HEX rounds N" after SECONDS of processor time, in which
importing modules does not count.
"""

import json
import re
import sys
import time
import zlib
from functools import cmp_to_key, reduce

WORDS = ["quill", "river", "stone", "tallow", "umber", "vellum", "walnut", "yarrow"]
WORD = re.compile(r"([a-z]+)-(\d+)")


class Price:
    """A number that only Python code can compare and write."""

    def __init__(self, cents: int) -> None:
        self.cents = cents

    def __lt__(self, other: "Price") -> bool:
        return self.cents < other.cents

    def __repr__(self) -> str:
        return f"{self.cents // 100}.{self.cents % 100:02}"


def records(count: int) -> list[dict]:
    """The same records each time."""
    seed, found = 20240229, []
    for number in range(count):
        seed = (seed * 1103515245 + 12345) & 0x7fffffff
        found.append({"id": number, "item": f"{WORDS[seed % 8]}-{seed % 97}",
                      "price": Price(seed % 20000), "tags": WORDS[seed % 5:seed % 8]})
    return found


def compare(left: dict, right: dict) -> int:
    """Order by item, then by number."""
    return (left["item"] > right["item"]) - (left["item"] < right["item"]) \
        or left["id"] - right["id"]


def nested(value: object, depth: int) -> object:
    """A document as deep as its writer has to recurse."""
    return [value] if depth == 0 else {"level": depth, "in": nested(value, depth - 1)}


def work() -> int:
    """One round."""
    rows = records(120)
    rows.sort(key=cmp_to_key(compare))
    prices = sorted(row["price"] for row in rows)
    text = json.dumps(nested(rows, 6), default=repr, indent=1)
    assert len(reduce(lambda inner, _: inner["in"], range(6), json.loads(text))[0]) == len(rows)
    text = WORD.sub(lambda match: f"{match[2]} {match[1].title()}", text)
    packed = zlib.compress(text.encode(), 6)
    assert zlib.decompress(packed).decode() == text
    return zlib.crc32(repr(prices).encode(), zlib.crc32(text.encode()))


def main() -> None:
    """Rounds until the time is over; each has to give the same."""
    rounds, checksum = 0, work()
    end = time.process_time() + float(sys.argv[1])
    while time.process_time() < end:
        assert work() == checksum, "rounds differ"
        rounds += 1
    print(f"checksum {checksum:08x} rounds {rounds}")


main()
