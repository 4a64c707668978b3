# SPDX-License-Identifier: GPL-2.0
"""Work for the stock python3 for SECONDS of processor time: usage: python3 work.py SECONDS

One round turns records into JSON and back, sorts them by Python callbacks, rewrites text by
callbacks of a regular expression, and compresses. It crosses from C to Python and back.
"""

import json
import re
import sys
import time
import zlib
from functools import cmp_to_key, reduce

WORDS = ["quill", "river", "stone", "tallow", "umber", "vellum", "walnut", "yarrow"]


class Price:
    """A number that only Python code can compare and write."""

    def __init__(self, cents: int) -> None:
        self.cents = cents

    def __lt__(self, other: "Price") -> bool:
        return self.cents < other.cents

    def __repr__(self) -> str:
        return f"{self.cents // 100}.{self.cents % 100:02}"


ROWS = [{"id": i, "item": f"{WORDS[i * 5 % 8]}-{i * 7919 % 97}", "price": Price(i * 7919 % 20000),
         "tags": WORDS[i % 5:i % 8]} for i in range(120)]


def nested(value: object, depth: int) -> object:
    """A document as deep as its writer has to recurse."""
    return [value] if depth == 0 else {"level": depth, "in": nested(value, depth - 1)}


def work() -> bytes:
    rows = sorted(ROWS, key=cmp_to_key(lambda a, b: (a["item"] > b["item"]) - (a["item"] < b["item"])
                                       or a["id"] - b["id"]))
    prices = sorted(row["price"] for row in rows)
    text = json.dumps([prices, nested(rows, 6)], default=repr, indent=1)
    assert len(reduce(lambda inner, _: inner["in"], range(6), json.loads(text)[1])[0]) == len(rows)
    text = re.sub(r"([a-z]+)-(\d+)", lambda match: f"{match[2]} {match[1].title()}", text)
    return zlib.compress(text.encode(), 6)


first = work()
end = time.process_time() + float(sys.argv[1])
while time.process_time() < end:
    assert work() == first, "rounds differ"
