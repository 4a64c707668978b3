# SPDX-License-Identifier: GPL-2.0
"""Hold what "perf record --off-cpu" saw of waits.c against the kernel's own trace.

usage: check.py kinds NAME WAITS TRACE SCRIPT NANOSECONDS
       check.py totals NAME ERROR TRACE REPORT
       check.py stacks NAME COUNT SCRIPT FUNCTION

WAITS is the output of waits, TRACE the trace file of sched_switch and sched_wakeup with the clock
mono, SCRIPT the output of "perf script -F comm,tid,time,period,event,ip,sym,dso", REPORT that of
"perf report -F period -s pid,task_state -t ';'". Prints a line "ok NAME..." or "not ok NAME...":

  kinds   for each kind of wait: the time in samples with its function is that of the intervals of
          NANOSECONDS at least, and their stacks are whole, with a kernel part unless
          NANOSECONDS is 0
  totals  the time of all threads of waits in each state that is reported; each differs by
          ERROR of all their time at most, as the trace lacks what they did before their exec
  stacks  there are COUNT samples with FUNCTION at least
"""

import re
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

CHAIN = ["inner", "middle", "outer", "run", "main"]
HEAD = re.compile(r"^\s*(\S.*?)\s+(\d+)\s+([\d.]+):\s+(\d+)\s+offcpu-time:")
FRAME = re.compile(r"^\s+([0-9a-f]+) (\S+).*\((.*)\)$")
EVENT = re.compile(r" (\d+)\.(\d{6}): (sched_switch|sched_wakeup): (.*)$")
SWITCH = re.compile(r"prev_comm=(.*) prev_pid=(\d+) .* prev_state=(\S+) ==> .* next_pid=(\d+) ")
WAKEUP = re.compile(r"comm=.* pid=(\d+) ")
ROW = re.compile(r"^\s*(\d+)\s*;\s*(\d+):.*;\s*(\S)\s*$")
MAX_ERROR = 0.01
MIN_WHOLE = 0.99


@dataclass
class Sample:
    """A sample, its frames leaf first."""

    tid: int
    ns: int
    kernel: list[str] = field(default_factory=list)
    user: list[str] = field(default_factory=list)


@dataclass
class Interval:
    """A task was off the CPU; it was woken up at some time, or at its end."""

    tid: int
    state: str
    begin: int
    woken: int
    end: int

    @property
    def ns(self) -> int:
        return self.end - self.begin


def read(name: str) -> str:
    return Path(name).read_text(encoding="utf-8", errors="replace")


def samples_of(text: str) -> list[Sample]:
    """Those of the event, whatever else the output has."""
    found: list[Sample] = []
    current = None
    for line in text.splitlines():
        if head := HEAD.match(line):
            current = Sample(int(head[2]), int(head[4]))
            found.append(current)
        elif not line.strip():
            current = None
        elif current and (frame := FRAME.match(line)):
            where = current.kernel if frame[3].startswith("[kernel") else current.user
            where.append(frame[2])
    return found


def intervals_of(text: str) -> list[Interval]:
    """Of threads of waits, as the kernel traced them."""
    found: list[Interval] = []
    out: dict[int, Interval] = {}
    for line in text.splitlines():
        if not (event := EVENT.search(line)):
            continue
        when = int(event[1]) * 10**9 + int(event[2]) * 1000
        if event[3] == "sched_wakeup":
            wakeup = WAKEUP.search(event[4])
            if wakeup and (interval := out.get(int(wakeup[1]))) and not interval.woken:
                interval.woken = when
        elif switch := SWITCH.search(event[4]):
            if switch[1] == "waits":
                tid = int(switch[2])
                out[tid] = Interval(tid, switch[3][0], when, 0, 0)
            if interval := out.pop(int(switch[4]), None):
                interval.end = when
                interval.woken = interval.woken or when
                found.append(interval)
    return found


def say(good: bool, name: str, what: str) -> int:
    """The line of a case; the exit status."""
    print(f"{'ok' if good else 'not ok'} {name}: {what}")
    return 0 if good else 1


def is_whole(sample: Sample, function: str, kernel: bool) -> bool:
    """The kernel's part, and ours down to where the program starts."""
    at = sample.user.index(function) + 1
    return (sample.user[at:at + len(CHAIN)] == CHAIN and sample.user[-1] == "_start"
            and bool(sample.kernel) == kernel)


def kinds(name: str, waits: str, trace: str, script: str, shortest: int) -> int:
    samples, intervals = samples_of(script), intervals_of(trace)
    status = 0
    for line in waits.splitlines():
        tid, function, state, begin, end, count = line.split()
        real = sum(i.ns for i in intervals if i.tid == int(tid) and i.state == state
                   and i.ns >= shortest and i.begin >= int(begin) and i.end <= int(end))
        mine = [sample for sample in samples if function in sample.user]
        seen = sum(sample.ns for sample in mine)
        whole = sum(sample.ns for sample in mine if is_whole(sample, function, shortest > 0))
        status |= say(bool(real) and abs(seen - real) <= MAX_ERROR * real and whole >= MIN_WHOLE * seen,
                      f"{name}-{function.removeprefix('wait_')}",
                      f"{len(mine)} samples of {count} waits, {seen} of {real} ns "
                      f"({100 * seen / (real or 1) - 100:+.2f} %), "
                      f"{100 * whole / (seen or 1):.2f} % with whole stacks")
    return status


def totals(name: str, error: float, trace: str, report: str) -> int:
    seen: Counter[str] = Counter()
    real: dict[bool, Counter[str]] = defaultdict(Counter)
    tids = set()
    for line in report.splitlines():
        if row := ROW.match(line):
            seen[row[3]] += int(row[1])
            tids.add(int(row[2]))
    # Where R is recorded, a sleep ends when the task is woken up.
    split = "R" in seen
    for interval in intervals_of(trace):
        if interval.tid not in tids:
            continue
        if interval.state == "R" or not split:
            real[split][interval.state] += interval.ns
        else:
            real[split][interval.state] += interval.woken - interval.begin
            real[split]["R"] += interval.end - interval.woken
    good = bool(seen)
    said = []
    for state, ns in sorted(seen.items()):
        truth = real[split][state]
        good = good and abs(ns - truth) <= error * sum(real[split].values())
        said.append(f"{state} {ns} of {truth} ns ({100 * ns / (truth or 1) - 100:+.2f} %)")
    return say(good, name, ", ".join(said) or "nothing was recorded")


def stacks(name: str, count: int, script: str, function: str) -> int:
    found = [s for s in samples_of(script) if function in s.user or function in s.kernel]
    return say(len(found) >= count, name,
               f"{len(found)} samples with {function}, {sum(s.ns for s in found)} ns")


def main(arguments: list[str]) -> int:
    """One of the usages; 1 if a case fails."""
    match arguments:
        case ["kinds", name, waits, trace, script, shortest]:
            return kinds(name, read(waits), read(trace), read(script), int(shortest))
        case ["totals", name, error, trace, report]:
            return totals(name, float(error), read(trace), read(report))
        case ["stacks", name, count, script, function]:
            return stacks(name, int(count), read(script), function)
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
