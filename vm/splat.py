#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Find reports of the kernel about itself (WARNING, BUG, KASAN, lockdep, ...) in a log.

usage: vm/splat.py [--deny FILE] [--allow FILE] LOG

A line that matches a regular expression of the deny list is a splat, unless an entry of the
allow list matches it too. The lists explain themselves: vm/splat.deny, vm/splat.allow.

Outputs: the splats on stdout, complaints about the lists on stderr.
Exit status: 0 no splat, 1 splats or a list that cannot be used, 2 usage.

  vm/splat.py .build/vm/last/console.log
"""

import argparse
import datetime
import re
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
FIELDS = ("pattern", "reason", "link", "expires")
MIN_REASON = 10
MAX_AHEAD = datetime.timedelta(days=366)


class ListError(Exception):
    """A deny or allow list that cannot be used; the text says where and why."""


@dataclass(frozen=True)
class Splat:
    line: int  # counted from 1
    text: str


def compile_pattern(text: str, where: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as err:
        raise ListError(f"{where}: not a regular expression: {err}") from None


def read_lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError as err:
        raise ListError(f"{path}: {err.strerror}; without it no run can pass") from None


def load_deny(path: Path) -> list[re.Pattern[str]]:
    """Patterns keep their trailing blanks: `BUG: ` differs from `BUG:`."""
    patterns = [
        compile_pattern(line, f"{path}:{number}")
        for number, line in enumerate(read_lines(path), 1)
        if line.strip() and not line.startswith("#")
    ]
    if not patterns:
        raise ListError(f"{path}: no pattern in it; without one no run can pass")
    return patterns


def blocks(path: Path) -> list[tuple[int, dict[str, str]]]:
    """The allow list's blocks with the number of their first line."""
    found: list[tuple[int, dict[str, str]]] = []
    open_block = False
    for number, line in enumerate(read_lines(path), 1):
        if line.startswith("#"):
            continue
        if not line.strip():
            open_block = False
            continue
        key, colon, value = line.partition(":")
        if not colon or key not in FIELDS:
            raise ListError(f"{path}:{number}: not one of {', '.join(FIELDS)}: {line}")
        if not open_block:
            found.append((number, {}))
            open_block = True
        if key in found[-1][1]:
            raise ListError(f"{path}:{number}: second '{key}' in one entry; part entries by a blank line")
        found[-1][1][key] = value.strip()
    return found


def check_entry(entry: dict[str, str], where: str, today: datetime.date) -> re.Pattern[str]:
    for field in FIELDS:
        if not entry.get(field):
            raise ListError(f"{where}: entry without '{field}'")
    if len(entry["reason"]) < MIN_REASON:
        raise ListError(f"{where}: '{entry['reason']}' is no reason")
    if not re.fullmatch(r"https://\S+\.\S+", entry["link"]):
        raise ListError(f"{where}: '{entry['link']}' is not an https:// link")
    try:
        expires = datetime.date.fromisoformat(entry["expires"])
    except ValueError:
        raise ListError(f"{where}: '{entry['expires']}' is not a date (YYYY-MM-DD)") from None
    if expires < today:
        raise ListError(f"{where}: entry expired on {expires}; fix the cause, or look again and renew it")
    if expires - today > MAX_AHEAD:
        raise ListError(f"{where}: {expires} is more than a year ahead")
    pattern = compile_pattern(entry["pattern"], where)
    if pattern.search(""):
        raise ListError(f"{where}: pattern matches every line")
    return pattern


def load_allow(path: Path, today: datetime.date) -> list[re.Pattern[str]]:
    return [check_entry(entry, f"{path}:{number}", today) for number, entry in blocks(path)]


@dataclass(frozen=True)
class Rules:
    deny: list[re.Pattern[str]]
    allow: list[re.Pattern[str]]

    @classmethod
    def load(cls, deny: Path, allow: Path) -> "Rules":
        return cls(load_deny(deny), load_allow(allow, datetime.date.today()))

    def scan(self, log: str) -> list[Splat]:
        return [
            Splat(number, line)
            for number, line in enumerate(log.splitlines(), 1)
            if any(p.search(line) for p in self.deny) and not any(p.search(line) for p in self.allow)
        ]


def add_list_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--deny", type=Path, default=HERE / "splat.deny", metavar="FILE",
                        help="deny list (default: vm/splat.deny)")
    parser.add_argument("--allow", type=Path, default=HERE / "splat.allow", metavar="FILE",
                        help="allow list (default: vm/splat.allow)")


def main() -> int:
    parser = argparse.ArgumentParser(prog="vm/splat.py", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add_list_options(parser)
    parser.add_argument("log", type=Path, metavar="LOG")
    args = parser.parse_args()
    try:
        rules = Rules.load(args.deny, args.allow)
        log = args.log.read_text(errors="replace")
    except (ListError, OSError) as err:
        print(f"splat: {err}", file=sys.stderr)
        return 1
    splats = rules.scan(log)
    for splat in splats:
        print(f"{args.log}:{splat.line}: {splat.text}")
    return 1 if splats else 0


if __name__ == "__main__":
    sys.exit(main())
