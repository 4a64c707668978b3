# SPDX-License-Identifier: GPL-2.0
"""Ask perf about a recording: its samples, its size, its losses."""

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from .common import DemoError, shown
from .samples import FIELDS, Recording, parse


@dataclass
class Data:
    """A perf.data file, read."""

    path: Path
    recording: Recording
    # Of the data section: all records, not the header and its features.
    data_bytes: int
    lost: int

    @property
    def bytes_per_sample(self) -> float:
        """Size of the data section over the number of samples."""
        return self.data_bytes / len(self.recording.samples)


def perf(path: Path, *arguments: str) -> str:
    """Run perf on a file and return what it prints."""
    command = ["perf", *arguments, "-i", str(path)]
    # --force: the guest's user ids need not be ours.
    done = subprocess.run([*command, "--force"], capture_output=True, text=True,
                          errors="replace", stdin=subprocess.DEVNULL, check=False)
    if done.returncode:
        why = next((line for line in reversed(done.stderr.splitlines()) if line.strip()),
                   "no message")
        raise DemoError(f"{shown(path)}: perf {arguments[0]} ended with {done.returncode}: "
                        f"{why.strip()}; record it again")
    return done.stdout


def data_size(header: str) -> int:
    """The size of the data section, from the text of the header."""
    match = re.search(r"^# data size\s*: (\d+)$", header, re.MULTILINE)
    if not match:
        raise DemoError("perf report: the header names no data size; perf 7.3 is expected")
    return int(match[1])


def lost_samples(stats: str) -> int:
    """The samples that did not fit, from the text of --stats."""
    return sum(int(count) for count in
               re.findall(r"^\s*LOST_SAMPLES events:\s+(\d+)\s*$", stats, re.MULTILINE))


def sample_events(stats: str) -> int:
    """How many sample records the file has, from the text of --stats."""
    match = re.search(r"^\s*SAMPLE events:\s+(\d+)", stats, re.MULTILINE)
    return int(match[1]) if match else 0


def read(path: Path) -> Data:
    """Read a recording; refuse one without samples or not fully understood."""
    if not path.is_file():
        raise DemoError(f"{shown(path)}: perf wrote no such file; see the log beside it")
    stats = perf(path, "report", "--stats")
    recording = parse(perf(path, "script", "--no-inline", "-F", FIELDS).splitlines())
    found, expected = len(recording.samples), sample_events(stats)
    if not expected or not found:
        raise DemoError(f"{shown(path)}: no samples were recorded; "
                        "give the run more --seconds")
    if found != expected or recording.garbage_lines:
        raise DemoError(f"{shown(path)}: {expected} samples are recorded, {found} were read and "
                        f"{recording.garbage_lines} lines not understood; perf 7.3 is expected")
    return Data(path, recording, data_size(perf(path, "report", "--header-only")),
                lost_samples(stats))
