# SPDX-License-Identifier: GPL-2.0
"""Text of the report: aligned columns, the same as Markdown, the top stacks."""

import textwrap
from collections import Counter
from collections.abc import Sequence

WIDTH = 100


def is_number(cell: str) -> bool:
    """Whether the cell is aligned to the right."""
    return cell[:1].isdigit() or cell == "-"


def widths(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    """How wide each column is."""
    return [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]


def pad(cell: str, width: int, right: bool) -> str:
    """One cell."""
    return cell.rjust(width) if right else cell.ljust(width)


def right_columns(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[bool]:
    """Which columns hold numbers."""
    return [any(row[i] for row in rows) and all(is_number(row[i]) for row in rows if row[i])
            for i in range(len(head))]


def aligned(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The table for a terminal."""
    wide, right = widths(head, rows), right_columns(head, rows)
    lines = [head, ["-" * width for width in wide], *rows]
    return "\n".join("  ".join(pad(*cell) for cell in zip(line, wide, right)).rstrip()
                     for line in lines)


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The table for a document."""
    wide, right = widths(head, rows), right_columns(head, rows)
    rule = ["-" * (width - 1) + (":" if is_right else "-")
            for width, is_right in zip(wide, right)]
    lines = [head, rule, *rows]
    return "\n".join("| " + " | ".join(pad(*cell) for cell in zip(line, wide, right)) + " |"
                     for line in lines)


def top_stacks(stacks: Counter[tuple[str, ...]], limit: int) -> str:
    """The most frequent stacks, root first, with their share of all samples."""
    total = sum(stacks.values())
    blocks = []
    # Equal counts in the order of their names: the text is the same each time.
    ranked = sorted(stacks.items(), key=lambda item: (-item[1], item[0]))
    for names, count in ranked[:limit]:
        blocks.append(textwrap.fill(" ".join(f"{name};" for name in names).rstrip(";"),
                                    WIDTH, initial_indent=f"{100 * count / total:5.1f} %  ",
                                    subsequent_indent=" " * 9, break_long_words=False,
                                    break_on_hyphens=False))
    return "\n".join(blocks)
