# SPDX-License-Identifier: GPL-2.0
"""What perf's samples say of a program's stacks, and whether the series has less than the base.

perf prints "[unknown]" for the file of an address that no mapping of its recording has; it
records the executable ones only. Such an address is no frame.
"""

import re
import statistics
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "demo"))
# pylint: disable=wrong-import-position
from stacks import FIELDS, Frame, Sample, parse  # noqa: E402
from programs import Program  # noqa: E402

LEAST_SAMPLES = 30
LEAST_CHAINS = 0.99
MOST_LOST = 0.01
# How far a mean may fall: standard errors, and a share of the base's mean.
ERRORS = 3
SLACK = 0.01
# Samples that follow each other are alike: the error is that of the means of batches.
BATCHES = 16


@dataclass
class Series:
    """A value a sample."""

    values: Sequence[float]

    @property
    def mean(self) -> float:
        return statistics.fmean(self.values) if self.values else 0.0

    @property
    def variance(self) -> float:
        """Of the mean."""
        size = len(self.values) // BATCHES
        if not size:
            return 0.0
        means = [statistics.fmean(self.values[i * size:(i + 1) * size]) for i in range(BATCHES)]
        return statistics.variance(means) / BATCHES

    def is_less(self, base: "Series") -> bool:
        margin = ERRORS * (self.variance + base.variance) ** 0.5 + SLACK * base.mean
        return self.mean < base.mean - margin


@dataclass
class Stacks:
    """The stacks of a program in a recording."""

    depth: Series
    # Whether they reach the thread's start
    whole: Series
    # Whether those that have to be of the chain's functions are, and whole
    chain: Series
    # Frames in no executable mapping: leaves, which perf must have missed, and others
    lost: int
    outside: int
    # Stacks with a frame twice that is in a function of the chain or of the start
    twice: int

    def __len__(self) -> int:
        return len(self.depth.values)


def follows(frames: Sequence[Frame], chain: Iterable[str]) -> bool:
    """Whether there are frames for the chain's patterns, in their order."""
    rest = iter(frames)
    return all(any(re.fullmatch(name, frame.symbol) for frame in rest) for name in chain)


def goes_round(program: Program, sample: Sample) -> bool:
    """Whether a frame comes again that no recursion can have again."""
    once = [frame for frame in sample.frames
            if any(re.fullmatch(name, frame.symbol) for name in (program.start, *program.chain))]
    return len(once) > len(set(once))


def has_to_have_chain(program: Program, sample: Sample) -> bool:
    return not program.leaf or bool(re.fullmatch(program.leaf, sample.frames[0].symbol))


def measure(program: Program, lines: Iterable[str]) -> Stacks:
    """From the text of `perf script`."""
    samples = [s for s in parse(lines)
               if s.frames and program.thread in ("", s.comm)]
    whole = [any(re.fullmatch(program.start, f.symbol) for f in s.frames) for s in samples]
    right = [w and follows(s.frames, program.chain)
             for s, w in zip(samples, whole) if has_to_have_chain(program, s)]
    return Stacks(Series([s.depth for s in samples]), Series(whole), Series(right),
                  sum(not s.frames[0].is_mapped for s in samples),
                  sum(not f.is_mapped for s in samples for f in s.frames[1:]),
                  sum(goes_round(program, s) for s in samples))


def complaints(program: Program, base: Stacks, series: Stacks) -> list[str]:
    """Why the series is worse than the base, or than it has to be."""
    found = []
    for name, stacks in (("base", base), ("series", series)):
        if len(stacks) < LEAST_SAMPLES:
            found.append(f"{name}: {len(stacks)} samples only")
        if stacks.lost > MOST_LOST * len(stacks):
            found.append(f"{name}: perf knows no mapping of {stacks.lost} leaves")
    if series.depth.is_less(base.depth):
        found.append("stacks are less deep")
    if series.whole.is_less(base.whole):
        found.append("fewer stacks reach the start")
    if series.outside and program.tables:
        found.append(f"{series.outside} frames are in no executable mapping")
    if series.twice > base.twice:
        found.append(f"{series.twice} stacks have a frame twice")
    if program.chain and len(series) and series.chain.mean < LEAST_CHAINS:
        found.append(f"{series.chain.mean:.1%} of the stacks have {' < '.join(program.chain)}")
    return found
