# SPDX-License-Identifier: GPL-2.0
"""Hold what "perf record --off-cpu" saw of waits.c against the kernel's own trace.

usage: check.py kinds NAME WAITS TRACE SCRIPT NANOSECONDS
       check.py totals ERROR STATES TRACE REPORT [PERIOD]
       check.py waker SCRIPT WAIT WAKER
       check.py weights json|flamegraph FILE SCRIPT

WAITS is the output of waits, TRACE the trace file of sched_switch and sched_wakeup with the clock
mono, SCRIPT the output of "perf script -F comm,tid,time,period,event[,wakee],ip,sym,dso", REPORT that of
"perf report -F period -s pid,task_state -t ';'". Exit status 0, 1 wrong, 2 usage.

  kinds   prints TAP, a test NAME-KIND for each kind of wait: the time in
          samples with its function is that of the intervals of NANOSECONDS at least, and their
          stacks are whole, with a kernel part unless NANOSECONDS is 0
  totals  compares the time of all threads of waits in each of STATES, letters of ps(1); each differs
          by ERROR of all their time at most, as the trace lacks what they did before their exec.
          Sampled once in PERIOD nanoseconds, it may also differ by what random rounding can do
  waker   looks for the waker of each sample with the function WAIT: a sample as long, of that wakee,
          with both stacks, WAKER in that of the user, without the frames that all wakeups have in
          common
  weights compares what the sleeps of processes "sleep" weigh in FILE, which perf made for other
          programs, with their periods in SCRIPT: two processes, to the nanosecond
"""

import json
import math
import re
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CHAIN = ["inner", "middle", "outer", "once", "run", "main"]
# Of the wait that finds no tables in memory
FIRST = "first"
HEAD = re.compile(r"^\s*(\S.*?)\s+(\d+)\s+([\d.]+):\s+(\d+)\s+offcpu-(time|waker):"
                  r"\s*(?:-|.*:(\d+))?\s*$")
FRAME = re.compile(r"^\s+([0-9a-f]+) (\S+).*\((.*)\)$")
EVENT = re.compile(r" (\d+)\.(\d{6}): (sched_switch|sched_wakeup): (.*)$")
SWITCH = re.compile(r"prev_comm=(.*) prev_pid=(\d+) .* prev_state=(\S+) ==> .* next_pid=(\d+) ")
WAKEUP = re.compile(r"comm=.* pid=(\d+) ")
ROW = re.compile(r"^\s*(\d+)\s*;\s*(\d+):.*;\s*(\S)\s*$")
# Of a workload: the program, and what has executed it
COMMS = ("waits", "env")
MAX_ERROR = 0.01
MIN_WHOLE = 0.99


@dataclass
class Sample:
    """A sample, its frames leaf first."""

    comm: str
    tid: int
    ns: int
    event: str
    wakee: int
    kernel: list[str] = field(default_factory=list)
    user: list[str] = field(default_factory=list)
    # File of the outermost frame, and the offset in it if the output has that
    bottom: str = ""


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
    """Those of both events, whatever else the output has."""
    found: list[Sample] = []
    current = None
    for line in text.splitlines():
        if head := HEAD.match(line):
            current = Sample(head[1], int(head[2]), int(head[4]), head[5], int(head[6] or 0))
            found.append(current)
        elif not line.strip():
            current = None
        elif current and (frame := FRAME.match(line)):
            where = current.kernel if frame[3].startswith("[kernel") else current.user
            where.append(frame[2])
            current.bottom = frame[3]
    return found


def intervals_of(text: str) -> list[Interval]:
    """Of threads of the workload, as the kernel traced them."""
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
            if switch[1] in COMMS:
                tid = int(switch[2])
                out[tid] = Interval(tid, switch[3][0], when, 0, 0)
            if interval := out.pop(int(switch[4]), None):
                interval.end = when
                interval.woken = interval.woken or when
                found.append(interval)
    return found


def waits_in(samples: list[Sample], function: str) -> list[Sample]:
    return [s for s in samples if s.event == "time" and function in s.user and FIRST not in s.user]


def is_whole(sample: Sample, function: str, kernel: bool) -> bool:
    """The kernel's part, and ours down to where the program starts."""
    at = sample.user.index(function) + 1
    return (sample.user[at:at + len(CHAIN)] == CHAIN and sample.user[-1] == "_start"
            and bool(sample.kernel) == kernel)


def kinds(name: str, waits: str, trace: str, script: str, shortest: int) -> int:
    samples, intervals = samples_of(script), intervals_of(trace)
    status = 0
    lines = waits.splitlines()
    print(f"TAP version 13\n1..{len(lines)}")
    for number, line in enumerate(lines, 1):
        tid, function, state, begin, end, count = line.split()
        real = sum(i.ns for i in intervals if i.tid == int(tid) and i.state == state
                   and i.ns >= shortest and i.begin >= int(begin) and i.end <= int(end))
        mine = waits_in(samples, function)
        seen = sum(sample.ns for sample in mine)
        broken = [sample for sample in mine if not is_whole(sample, function, shortest > 0)]
        whole = seen - sum(sample.ns for sample in broken)
        for sample in broken[:3]:
            print(f"#   {sample}")
        good = bool(real) and abs(seen - real) <= MAX_ERROR * real and whole >= MIN_WHOLE * seen
        print(f"{'ok' if good else 'not ok'} {number} {name}-{function.removeprefix('wait_')}: "
              f"{len(mine)} samples of {count} waits, {seen} of {real} ns "
              f"({100 * seen / (real or 1) - 100:+.2f} %), "
              f"{100 * whole / (seen or 1):.2f} % with whole stacks")
        status |= not good
    return status


def rounding(ns: int, waits: int, period: int) -> float:
    """How far a sum may be off: five standard deviations. perf rounds each wait up or down to a
    multiple of the period, at random, so that the mean is exact."""
    return 5 * math.sqrt(min(ns * period, waits * period**2 / 4))


def totals(error: float, states: str, trace: str, report: str, period: int = 0) -> int:
    seen: Counter[str] = Counter()
    real: Counter[str] = Counter()
    waits: Counter[str] = Counter()
    tids = set()
    for line in report.splitlines():
        if row := ROW.match(line):
            seen[row[3]] += int(row[1])
            tids.add(int(row[2]))
    for interval in intervals_of(trace):
        if interval.tid not in tids:
            continue
        # Where R is recorded, a sleep ends when the task is woken up.
        split = "R" in states and interval.state != "R"
        real[interval.state] += (interval.woken if split else interval.end) - interval.begin
        real["R"] += interval.end - interval.woken if split else 0
        waits[interval.state] += 1
    whole = sum(real[state] for state in states)
    good = bool(whole) and set(seen) <= set(states)
    said = []
    for state in states:
        most = error * whole + rounding(real[state], waits[state], period)
        good = good and abs(seen[state] - real[state]) <= most
        if not seen[state] and not real[state]:
            continue
        said.append(f"{state} {seen[state]} of {real[state]} ns "
                    f"({100 * seen[state] / (real[state] or 1) - 100:+.2f} %)")
    print("#", ", ".join(said))
    return 0 if good else 1


def waker(script: str, wait: str, function: str) -> int:
    samples = samples_of(script)
    waits = waits_in(samples, wait)
    wakes = {(s.wakee, s.ns): s for s in samples if s.event == "waker" and function in s.user
             and s.kernel and not re.search("^bpf_|trace|^try_to_wake_up$", s.kernel[0])}
    found = [wakes[s.tid, s.ns] for s in waits if (s.tid, s.ns) in wakes]
    waited, woken = sum(s.ns for s in waits), sum(s.ns for s in found)
    print(f"# {len(waits)} waits in {wait}, {waited} ns, {woken} ns ended by {function}: {found[:1]}")
    return 0 if found and waited - woken <= MAX_ERROR * waited else 1


def json_weights(profile: dict[str, Any]) -> list[int]:
    """Of "perf data convert --to-json": a process each."""
    found: Counter[int] = Counter()
    for sample in profile["samples"]:
        if (sample["comm"] == "sleep" and sample["event_name"] == "offcpu-time"
                and any("nanosleep" in frame.get("symbol", "") for frame in sample["callchain"])):
            found[sample["pid"]] += sample["sample_period"]
    return sorted(found.values())


def weight(node: dict[str, Any]) -> int:
    return node["v"] + sum(weight(child) for child in node["c"])


def weight_in(node: dict[str, Any], function: str) -> int:
    if function in node["n"]:
        return weight(node)
    return sum(weight_in(child, function) for child in node["c"])


def flamegraph_weights(root: dict[str, Any]) -> list[int]:
    """Of flamegraph.py --format json: a process each."""
    return sorted(weight_in(node, "nanosleep") for node in root["c"] if node["n"].startswith("sleep "))


def script_weights(samples: list[Sample]) -> list[int]:
    found: Counter[int] = Counter()
    for sample in samples:
        if (sample.comm == "sleep" and sample.event == "time"
                and any("nanosleep" in name for name in sample.kernel + sample.user)):
            found[sample.tid] += sample.ns
    return sorted(found.values())


def weights(found: list[int], script: str) -> int:
    real = script_weights(samples_of(script))
    print(f"# {found} ns, of {real} ns")
    return 0 if len(real) == 2 and found == real else 1


def main(arguments: list[str]) -> int:
    """One of the usages; 1 if a case fails."""
    match arguments:
        case ["kinds", name, waits, trace, script, shortest]:
            return kinds(name, read(waits), read(trace), read(script), int(shortest))
        case ["totals", error, states, trace, report, *period]:
            return totals(float(error), states, read(trace), read(report), *map(int, period))
        case ["waker", script, wait, function]:
            return waker(read(script), wait, function)
        case ["weights", "json", name, script]:
            return weights(json_weights(json.loads(read(name))), read(script))
        case ["weights", "flamegraph", name, script]:
            return weights(flamegraph_weights(json.loads(read(name))), read(script))
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
