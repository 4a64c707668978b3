# SPDX-License-Identifier: GPL-2.0
"""The report: rows of the table, ratios, conditions that must hold, the flame graphs."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from .code import code_of
from .figures import Codes, Figures, fold, measure, misses, of_program
from .flamegraph import Graph, Tab, page
from .perf import Data
from .runs import FREQUENCY
from .samples import Sample
from .table import aligned, markdown, top_stacks
from .workloads import LUA, LUA_FRAME_POINTERS, Program, Run, Workload

HEAD = ("program", "kernel", "perf mode", "samples", "lost", "mean depth", "reach start",
        "garbage", "bytes/sample")
NOTE = f"""\
Samples: cpu-clock:u (user mode only) at {FREQUENCY} Hz, all threads. Mean depth: frames in mapped files.
Reach start: the chain ends where its thread begins, in _start or in a new thread's first function.
Garbage: the chain names an address that is in no file. Bytes per sample: data section of perf.data
over samples. The programs are Debian's files; the series kernel finds tables made of their own
.eh_frame (sframe cache)."""
LUA_NOTE = """\
Lua is built from Debian's source, and reaching main counts as the start: frame pointers end there."""
CAUSES = 3
CAUSES_IN_LOG = 100

MIN_OURS = 99.0
# Samples from the first instructions of a program are complete on any kernel.
MAX_BASE = 5.0
MAX_RATIO = 1.5
ENTRY_BYTES = 8


@dataclass
class Measured:
    """A recording with the program that it is of."""

    data: Data
    program: Program
    codes: Codes = code_of

    @cached_property
    def samples(self) -> list[Sample]:
        """Those of the program."""
        return of_program(self.data.recording.samples, self.program)

    @cached_property
    def figures(self) -> Figures | None:
        """Of all of them."""
        return measure(self.samples, self.program, self.codes)


Results = dict[Run, Measured]


def recorded(workloads: Sequence[Workload], results: Results) -> list[Run]:
    """The runs that there are results of: of one kernel, or of both."""
    return [run for workload in workloads for run in workload.runs if run in results]


def row(run: Run, measured: Measured) -> tuple[str, ...]:
    """The table's row of one recording."""
    figures = measured.figures
    values = ("", "", "", "") if figures is None else (
        f"{figures.depth:.1f}", f"{figures.complete:.1f} %", f"{figures.garbage:.1f} %",
        f"{measured.data.bytes_per_sample:.0f}")
    return (run.program.title, run.kernel, run.mode, str(figures.samples if figures else 0),
            str(measured.data.lost), *values)


def rows(workloads: Sequence[Workload], results: Results) -> list[tuple[str, ...]]:
    """All rows; a program is named in its first."""
    found: list[tuple[str, ...]] = []
    last = None
    for run in recorded(workloads, results):
        cells = row(run, results[run])
        found.append(cells if cells[0] != last else ("", *cells[1:]))
        last = cells[0]
    return found


def ratio(results: Results, run: Run, other: Run) -> float:
    """Bytes per sample of a run over those of another."""
    return results[run].data.bytes_per_sample / results[other].data.bytes_per_sample


def ratio_at_equal_depth(results: Results) -> float:
    """Ours over frame pointers had its chains as many entries, of 8 bytes in both modes.

    Frame pointers find some frames of libc by luck, and garbage, which cost bytes
    too, and miss others that ours finds.
    """
    ours, other = (results[run].data for run in (LUA.ours, LUA_FRAME_POINTERS))
    missing = other.recording.mean_entries - ours.recording.mean_entries
    return (ours.bytes_per_sample + ENTRY_BYTES * missing) / other.bytes_per_sample


def sizes(workloads: Sequence[Workload], results: Results) -> str:
    """A line on sizes, and one more where Lua has been recorded."""
    lines = []
    times = [f"{workload.name} {ratio(results, workload.dwarf, workload.ours):.0f}"
             for workload in workloads if workload.dwarf in results]
    if times:
        lines.append(f"Bytes of a dwarf sample in those of ours: {', '.join(times)}.")
    if LUA in workloads:
        line = (f"Lua: ours takes {ratio(results, LUA.ours, LUA_FRAME_POINTERS):.2f} x the bytes "
                f"of frame pointers, {ratio_at_equal_depth(results):.2f} x at equal depth")
        if LUA.dwarf in results:
            line += f"; dwarf {ratio(results, LUA.dwarf, LUA_FRAME_POINTERS):.1f} x"
        lines.append(f"{line}.")
    return "\n".join(lines)


def ended(measured: Measured, limit: int) -> str:
    """The most frequent places where chains end early."""
    found = misses(measured.samples, measured.program, measured.codes).most_common(limit)
    return "; ".join(f"{count} x {where}" for where, count in found)


def lost_chains(workloads: Sequence[Workload], results: Results) -> str:
    """One line a program: what the series kernel did not get whole."""
    lines = ["Chains that end early on the series kernel:"]
    for workload in workloads:
        ours = results[workload.ours]
        count = misses(ours.samples, ours.program, ours.codes).total()
        lines.append(f"  {workload.name}: {count} of {len(ours.samples)}"
                     + (f": {ended(ours, CAUSES)}" if count else ""))
    return "\n".join(lines)


def all_misses(workloads: Sequence[Workload], results: Results) -> str:
    """The places of every recording, for those who look for the cause."""
    lines = []
    for run in recorded(workloads, results):
        measured = results[run]
        lines.append(f"{run.name}: {len(measured.samples)} samples")
        found = misses(measured.samples, measured.program, measured.codes)
        lines += [f"{count:8} {where}" for where, count in found.most_common(CAUSES_IN_LOG)]
    return "\n".join(lines) + "\n"


def failures(workloads: Sequence[Workload], results: Results) -> list[str]:
    """What the demo promises and these results do not show."""
    found = []
    for workload in workloads:
        ours = results[workload.ours].figures
        if ours is None or ours.complete < MIN_OURS:
            found.append(f"{workload.name}: series kernel: {share(ours)} of the samples reach the "
                         f"start of their thread; at least {MIN_OURS:g} % are expected: "
                         f"{ended(results[workload.ours], CAUSES) or 'no samples'}")
        if workload.base not in results:
            continue
        base = results[workload.base].figures
        if base is None or base.complete > MAX_BASE:
            found.append(f"{workload.name}: base kernel: {share(base)} of the samples reach the "
                         f"start of their thread; at most {MAX_BASE:g} % are expected: "
                         "is it the untouched kernel?")
    if LUA in workloads and (size := ratio_at_equal_depth(results)) > MAX_RATIO:
        found.append(f"lua: series kernel: {size:.2f} x the bytes per sample of frame pointers at "
                     f"equal depth; at most {MAX_RATIO:g} x are expected")
    return found


def share(figures: Figures | None) -> str:
    """A percentage in a message."""
    return "none" if figures is None else f"{figures.complete:.2f} %"


def notes(workloads: Sequence[Workload]) -> str:
    """What the columns mean."""
    return f"{NOTE}\n{LUA_NOTE}" if LUA in workloads else NOTE


def hottest(workload: Workload, results: Results) -> str:
    """The most frequent stack of the series kernel."""
    ours = results[workload.ours]
    return f"{workload.name}:\n{top_stacks(fold(ours.samples, ours.codes), 1)}"


def remarks(workloads: Sequence[Workload], results: Results) -> list[str]:
    """What stands below the table, a paragraph each."""
    said = (notes(workloads), sizes(workloads, results), lost_chains(workloads, results))
    return [paragraph for paragraph in said if paragraph]


def text(workloads: Sequence[Workload], results: Results) -> str:
    """What is printed."""
    stacks = "\n".join(hottest(workload, results) for workload in workloads)
    return "\n\n".join((aligned(HEAD, rows(workloads, results)), *remarks(workloads, results),
                        f"The hottest stack of each on the series kernel, root first:\n{stacks}\n"))


def document(workloads: Sequence[Workload], results: Results) -> str:
    """The same table as Markdown."""
    return "\n\n".join((markdown(HEAD, rows(workloads, results)),
                        *remarks(workloads, results))) + "\n"


def graph(title: str, run: Run, measured: Measured) -> Graph:
    """One flame graph."""
    figures = measured.figures
    note = "No samples." if figures is None else (
        f"{figures.samples} samples, {figures.depth:.1f} frames deep in the mean; "
        f"{figures.complete:.1f} % reach the start of their thread.")
    return Graph(f"{title}: perf record --call-graph {run.mode}", note,
                 fold(measured.samples, measured.codes))


def flamegraph(workloads: Sequence[Workload], results: Results,
               sources: Path | None = None) -> str:
    """The page: before and after, a tab for each program."""
    tabs = [Tab(workload.name,
                tuple(graph(title, run, results[run])
                      for title, run in (("Base kernel", workload.base), ("This series", workload.ours))
                      if run in results))
            for workload in workloads]
    intro = ("Programs without frame pointers, recorded by stock perf; all but lua are the files "
             "that Debian ships. The width of each graph is all of its samples, the start of the "
             "thread is on top. Orange: functions with a name. Blue: functions of a stripped file, "
             "named by where they start in it. Grey: an address that is in no file, where the "
             "stack was lost. Click a frame to zoom.")
    title = "User stacks without frame pointers"
    return page(title, intro, tabs) if sources is None else page(title, intro, tabs, sources)
