# SPDX-License-Identifier: GPL-2.0
"""Read the text of `perf script -F comm,tid,ip,sym,dso,dsoff --no-inline`.

A sample is a header line (command and thread), one indented line a frame from
the leaf outwards, and an empty line. perf merges a deferred call chain into the
samples that wait for it before it prints them.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

FIELDS = "comm,tid,ip,sym,dso,dsoff"
UNKNOWN = "[unknown]"

HEADER = re.compile(r"^\s*(\S.*?)\s+(-?\d+)\s*:?\s*$")
FRAME = re.compile(r"^\s+([0-9a-f]+) (.+?) \((.*?)(?:\+0x([0-9a-f]+))?\)\s*$")


@dataclass(frozen=True)
class Frame:
    """One entry of a call chain."""

    symbol: str
    dso: str
    # In the file; None where perf names no file or no position.
    offset: int | None = None

    @property
    def is_mapped(self) -> bool:
        """Whether the address lies in a file; else it is no return address."""
        return self.dso != UNKNOWN

    @property
    def is_kernel(self) -> bool:
        """Whether the frame is the kernel's own."""
        return self.dso.startswith("[kernel")


@dataclass
class Sample:
    """One sample: the user frames of its chain, leaf first."""

    comm: str
    tid: int
    frames: list[Frame] = field(default_factory=list)

    @property
    def leaf(self) -> Frame | None:
        """Where the sample was taken."""
        return self.frames[0] if self.frames else None

    @property
    def depth(self) -> int:
        """Frames that are in a file; what is not there is not a frame."""
        return sum(frame.is_mapped for frame in self.frames)

    @property
    def has_garbage(self) -> bool:
        """Whether the chain names an address that is in no file."""
        return any(not frame.is_mapped for frame in self.frames)

    def reaches(self, symbol: str, dso: str) -> bool:
        """Whether the chain has a frame in that function of that file."""
        return any(frame.symbol == symbol and frame.dso == dso for frame in self.frames)


@dataclass
class Recording:
    """All samples of a text, and how many lines made no sense."""

    samples: list[Sample] = field(default_factory=list)
    garbage_lines: int = 0

    @property
    def mean_entries(self) -> float:
        """Entries of a call chain in the mean, whatever they are."""
        count = len(self.samples)
        return sum(len(sample.frames) for sample in self.samples) / count if count else 0.0


def parse(lines: Iterable[str]) -> Recording:
    """Parse perf's text; lines of any other form are counted, not guessed at."""
    recording = Recording()
    sample: Sample | None = None

    for line in lines:
        line = line.rstrip("\n")
        if not line.strip():
            sample = None
            continue
        if sample is not None:
            match = FRAME.match(line)
            if match:
                frame = Frame(match[2], match[3], int(match[4], 16) if match[4] else None)
                if not frame.is_kernel:
                    sample.frames.append(frame)
                continue
        match = HEADER.match(line) if not line.startswith("\t") else None
        if match:
            sample = Sample(match[1], int(match[2]))
            recording.samples.append(sample)
        else:
            recording.garbage_lines += 1
    return recording
