# SPDX-License-Identifier: GPL-2.0
"""The report: rows of the table, ratios, what must hold, the flame graphs."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .figures import Figures, by_leaf, fold, measure
from .flamegraph import Graph, page
from .perf import Data
from .runs import BASE, DWARF, FREQUENCY, OURS, OURS_FP, RUNS, Run
from .table import aligned, markdown, top_stacks

HEAD = ("kernel", "Lua built with", "perf mode", "leaf in", "samples", "lost", "mean depth",
        "reach main", "garbage", "bytes/sample")
BUILT = {"sframe": "SFrame", "fp": "frame pointers"}
LEAF = {"own": "Lua", "libc": "libc", "other": "other"}
NOTE = f"""\
Samples: cpu-clock:u (user mode only) at {FREQUENCY} Hz. Mean depth: frames in mapped files. Reach main:
the chain has a frame of main. Garbage: the chain names an address that is in no file. Bytes per sample:
data section of perf.data over samples. libc has no SFrame table and no frame pointers."""
TOP = 5

MIN_OURS = 99.0
MAX_BASE = 5.0
MAX_RATIO = 1.5
ENTRY_BYTES = 8


@dataclass(frozen=True)
class Measured:
    """A recording with the program that it is of."""

    data: Data
    program: str

    def own(self) -> Figures | None:
        """Figures of the samples in the program's own text."""
        return measure(by_leaf(self.data.recording.samples, self.program)["own"], self.program)


Results = Mapping[Run, Measured]


def rows(run: Run, measured: Measured) -> list[tuple[str, ...]]:
    """The table's rows of one recording: all samples, then by leaf."""
    samples = measured.data.recording.samples
    groups = {"all": samples} | {LEAF[kind]: group for kind, group
                                 in by_leaf(samples, measured.program).items()}
    result: list[tuple[str, ...]] = []
    for name, group in groups.items():
        figures = measure(group, measured.program)
        if figures is None:
            continue
        first = name == "all"
        result.append((
            *((run.kernel, BUILT[run.program], run.mode) if first else ("", "", "")),
            name, str(figures.samples), str(measured.data.lost) if first else "",
            f"{figures.depth:.1f}", f"{figures.complete:.1f} %", f"{figures.garbage:.1f} %",
            f"{measured.data.bytes_per_sample:.0f}" if first else ""))
    return result


def ratio(results: Results, run: Run) -> float:
    """Bytes per sample of a run over frame-pointer mode with frame pointers."""
    return results[run].data.bytes_per_sample / results[OURS_FP].data.bytes_per_sample


def ratio_at_equal_depth(results: Results) -> float:
    """The ratio of ours had its chains as many entries: each takes 8 bytes in both modes.

    Frame pointers find some frames of libc by luck, and garbage, which cost bytes too.
    """
    ours, other = (results[run].data for run in (OURS, OURS_FP))
    missing = other.recording.mean_entries - ours.recording.mean_entries
    return (ours.bytes_per_sample + ENTRY_BYTES * missing) / other.bytes_per_sample


def ratios(results: Results) -> str:
    """One line on sizes."""
    size = {run: results[run].data.bytes_per_sample for run in (OURS, OURS_FP, DWARF)}
    return (f"Bytes per sample: ours {size[OURS]:.0f}, frame pointers {size[OURS_FP]:.0f}, "
            f"dwarf {size[DWARF]:.0f}: ours is {ratio(results, OURS):.2f} x frame pointers "
            f"({ratio_at_equal_depth(results):.2f} x at equal depth), "
            f"dwarf {ratio(results, DWARF):.1f} x.")


def failures(results: Results) -> list[str]:
    """What the demo promises and these results do not show."""
    found = []
    ours, base = results[OURS].own(), results[BASE].own()
    if ours is None or ours.complete < MIN_OURS:
        found.append(f"series kernel: {share(ours)} of the samples in Lua's own text reach main; "
                     f"at least {MIN_OURS:g} % are expected")
    if base is None or base.complete > MAX_BASE:
        found.append(f"base kernel: {share(base)} of the samples in Lua's own text reach main; "
                     f"at most {MAX_BASE:g} % are expected: is it the untouched kernel?")
    size = ratio_at_equal_depth(results)
    if size > MAX_RATIO:
        found.append(f"series kernel: {size:.2f} x the bytes per sample of frame pointers at "
                     f"equal depth; at most {MAX_RATIO:g} x are expected")
    return found


def share(figures: Figures | None) -> str:
    """A percentage in a message."""
    return "none" if figures is None else f"{figures.complete:.1f} %"


def text(results: Results) -> str:
    """What is printed."""
    lines = [row for run in RUNS for row in rows(run, results[run])]
    stacks = fold(results[OURS].data.recording.samples)
    return (f"{aligned(HEAD, lines)}\n\n{NOTE}\n\n{ratios(results)}\n\n"
            f"Top {TOP} stacks of the series kernel, SFrame, {OURS.mode}, root first:\n"
            f"{top_stacks(stacks, TOP)}\n")


def document(results: Results) -> str:
    """The same table as Markdown."""
    lines = [row for run in RUNS for row in rows(run, results[run])]
    return f"{markdown(HEAD, lines)}\n\n{NOTE}\n\n{ratios(results)}\n"


def graph(title: str, run: Run, measured: Measured) -> Graph:
    """One flame graph."""
    samples = measured.data.recording.samples
    figures = measure(samples, measured.program)
    assert figures is not None
    return Graph(f"{title}: perf record --call-graph {run.mode}",
                 f"{figures.samples} samples, {figures.depth:.1f} frames deep in the mean; "
                 f"{figures.complete:.1f} % reach main.", fold(samples))


def flamegraph(results: Results, sources: Path | None = None) -> str:
    """The page: before and after."""
    graphs = [graph("Base kernel", BASE, results[BASE]),
              graph("This series", OURS, results[OURS])]
    intro = ("One Lua program built without frame pointers, with SFrame tables, recorded by stock "
             "perf. Orange: functions. Blue: a file without symbols. Grey: an address that is in "
             "no file, where the stack was lost. Click a frame to zoom.")
    title = "User stacks without frame pointers"
    return page(title, intro, graphs) if sources is None else page(title, intro, graphs, sources)
