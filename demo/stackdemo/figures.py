# SPDX-License-Identifier: GPL-2.0
"""Compute figures from samples: depth, completeness, and what is missing."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from .code import Code, code_of
from .samples import UNKNOWN, Frame, Sample
from .workloads import Program

Codes = Callable[[str], Code]


@dataclass(frozen=True)
class Figures:
    """Of one group of samples."""

    samples: int
    depth: float
    complete: float
    garbage: float


def of_program(samples: Sequence[Sample], program: Program) -> list[Sample]:
    """The program's own: perf is sampled until it has become the program."""
    return [sample for sample in samples if sample.comm == program.comm]


def instruction(sample: Sample, index: int) -> int | None:
    """Where in its file the frame is: a caller's return address may be past its end."""
    offset = sample.frames[index].offset
    return offset if offset is None or index == 0 else offset - 1


def is_complete(sample: Sample, program: Program, codes: Codes = code_of) -> bool:
    """Whether the chain reaches the start of its thread.

    That is a frame without caller, or, where the program names one, its root.
    """
    if not sample.frames:
        return False
    if program.root and sample.reaches(program.root, program.path):
        return True
    offset = instruction(sample, len(sample.frames) - 1)
    return offset is not None and codes(sample.frames[-1].dso).is_outermost(offset)


def measure(samples: Sequence[Sample], program: Program,
            codes: Codes = code_of) -> Figures | None:
    """Figures of a group; None for no samples: there is no mean of nothing."""
    count = len(samples)
    if not count:
        return None
    return Figures(
        samples=count,
        depth=sum(sample.depth for sample in samples) / count,
        complete=100 * sum(is_complete(sample, program, codes) for sample in samples) / count,
        garbage=100 * sum(sample.has_garbage for sample in samples) / count,
    )


def cause(sample: Sample, codes: Codes = code_of) -> str:
    """Where a chain ends that should have gone on: the last frame that is in a file."""
    mapped = [index for index, frame in enumerate(sample.frames) if frame.is_mapped]
    if not mapped:
        return "no frame in any file"
    frame, offset = sample.frames[mapped[-1]], instruction(sample, mapped[-1])
    text = PurePath(frame.dso).name
    if frame.offset is not None and offset is not None:
        text += f"+{frame.offset:#x}"
        code = codes(frame.dso)
        start = code.function(offset)
        # Of a file that is not at hand, as the vDSO, nothing is known.
        if code.functions:
            text += " (no unwind information)" if start is None else f" (function {start:#x})"
    if frame.symbol != UNKNOWN:
        text += f" {frame.symbol}"
    return text + (" at the leaf" if mapped[-1] == 0 else "")


def misses(samples: Sequence[Sample], program: Program,
           codes: Codes = code_of) -> Counter[str]:
    """How many chains end early, by where."""
    return Counter(cause(sample, codes) for sample in samples
                   if not is_complete(sample, program, codes))


def frame_name(frame: Frame, offset: int | None, codes: Codes = code_of) -> str:
    """A name that stands for the function in a folded stack.

    A function of a stripped file is named by where it starts, or as a start itself.
    """
    if not frame.is_mapped:
        return "[not in any file]"
    if frame.symbol != UNKNOWN:
        return frame.symbol
    file = PurePath(frame.dso).name
    if offset is None:
        return f"[{file}]"
    code = codes(frame.dso)
    if code.is_outermost(offset):
        return f"[start in {file}]"
    start = code.function(offset)
    return f"[{file}]" if start is None else f"[{file} {start:#x}]"


def folded(sample: Sample, codes: Codes = code_of) -> tuple[str, ...]:
    """The stack, root first; a row of addresses that are no code is one entry."""
    names: list[str] = []
    for index in reversed(range(len(sample.frames))):
        frame = sample.frames[index]
        name = frame_name(frame, instruction(sample, index), codes)
        if frame.is_mapped or not names or names[-1] != name:
            names.append(name)
    return tuple(names)


def fold(samples: Sequence[Sample], codes: Codes = code_of) -> Counter[tuple[str, ...]]:
    """How often each stack was seen."""
    return Counter(folded(sample, codes) for sample in samples)
