# SPDX-License-Identifier: GPL-2.0
"""From samples to figures: how deep, how complete, where the leaf is."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

from .samples import Frame, Sample

ROOT = "main"


@dataclass(frozen=True)
class Figures:
    """Of one group of samples."""

    samples: int
    depth: float
    complete: float
    garbage: float


def measure(samples: Sequence[Sample], program: str) -> Figures | None:
    """Figures of a group; None for no samples: there is no mean of nothing."""
    count = len(samples)
    if not count:
        return None
    return Figures(
        samples=count,
        depth=sum(sample.depth for sample in samples) / count,
        complete=100 * sum(sample.reaches(ROOT, program) for sample in samples) / count,
        garbage=100 * sum(sample.has_garbage for sample in samples) / count,
    )


def leaf_kind(sample: Sample, program: str) -> str:
    """Which text the sample was taken in: own, libc or other."""
    leaf = sample.leaf
    if leaf is None or not leaf.is_mapped:
        return "other"
    if leaf.dso == program:
        return "own"
    return "libc" if PurePath(leaf.dso).name.startswith("libc.so") else "other"


def by_leaf(samples: Sequence[Sample], program: str) -> dict[str, list[Sample]]:
    """Group samples by the text of their leaf, in the order of the table."""
    groups: dict[str, list[Sample]] = {"own": [], "libc": [], "other": []}
    for sample in samples:
        groups[leaf_kind(sample, program)].append(sample)
    return groups


def frame_name(frame: Frame) -> str:
    """A name that stands for the frame in a folded stack."""
    if not frame.is_mapped:
        return "[not in any file]"
    if frame.symbol == "[unknown]":
        return f"[{PurePath(frame.dso).name}]"
    return frame.symbol


def folded(sample: Sample) -> tuple[str, ...]:
    """The stack, root first; a row of addresses that are no code is one entry."""
    names: list[str] = []
    for frame in reversed(sample.frames):
        name = frame_name(frame)
        if frame.is_mapped or not names or names[-1] != name:
            names.append(name)
    return tuple(names)


def fold(samples: Sequence[Sample]) -> Counter[tuple[str, ...]]:
    """How often each stack was seen."""
    return Counter(folded(sample) for sample in samples)
