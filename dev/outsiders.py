#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Run Debian's stress-ng and trinity in a guest while the whole machine is sampled.

The kernel finds SFrame tables that `sframe cache` has made of the loads. The samplers are
Debian's too: perf with immediate and with deferred walks, bcc's profile,
offcputime and stackcount (all three in runs of a minute and more), and bpftrace on a timer,
on context switches and on exits. All run side by side from before the first load until after the
last. Long runs are made of rounds, each of which starts and stops every sampler.

A round passes when each sampler took samples and its output can be read, and each load ended
well; the run passes when the guest did and its kernel log holds no splat. On the debug kernel,
vm/init has kmemleak look for leaks at the end.

Outputs: .build/test/outsiders, a directory a round; TAP on stdout.
Exit status: 0 all passed, 1 not, 2 usage.

  dev/check outsiders.debug
  dev/check outsiders -- --seconds 120 stress-ng
  dev/check outsiders.debug -- --seconds 1200 --seed 7
"""

import argparse
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPO = HERE.parent
OUT = REPO / ".build" / "test" / "outsiders"
SFRAME = REPO / ".build" / "test" / "outsiders-sframe"
CACHE = SFRAME / "cache"
TABLE_PATH = Path("/proc/sys/kernel/unwind_table_path")
TABLES_FOR = ("/usr/bin/stress-ng", "/usr/bin/trinity", "/usr/lib/x86_64-linux-gnu")
KERNELS = ("debug", "series", "base")

# A longer run is cut into rounds of at most this many seconds of each load.
ROUND_SECONDS = 1200
# Limits for a guest that is emulated on a busy machine. They end a run that hangs;
# none of them is waited for otherwise.
READY_SECONDS = 900
# Beside that, twice the length of a load: samplers find symbols when they end.
STOP_SECONDS = 900
GUEST_SECONDS = 900
# A load that has been told to stop may need this much longer.
GRACE_SECONDS = 300
POLL_SECONDS = 0.5
# To compile one of bcc's tools takes an emulated kernel one to two minutes: shorter runs
# have none.
ALL_TOOLS_SECONDS = 60

STRESSORS = """fork vfork vforkmany clone exec mmap mmapaddr mmapcow mmapfiles mmapfixed mmapfork
    mmaphuge mmapmany mmaptorture mremap munmap madvise mprotect userfaultfd ptrace bad-altstack
    sigsegv context longjmp prctl""".split()
# Stressors that cannot run in this guest, and why. stress-ng must not skip any other.
NOT_HERE: dict[str, str] = {}
STRESS_MEMORY = "16M"

# Each exists in trinity's tables for 64 and for 32 bits, and is called as both.
TRINITY_CALLS = """perf_event_open bpf prctl mmap munmap mremap mprotect madvise mlock munlock msync
    mincore remap_file_pages pkey_mprotect userfaultfd process_madvise""".split()
# Root's /dev/mem and sysfs are not the subject, and neither is the network.
TRINITY_NO_FDS = ("sockets", "pseudo", "drm", "testfile")
TRINITY_CHILDREN = 4
# As root, it counts down before it begins.
TRINITY_WARNS_SECONDS = 10
NOBODY = "65534"

BPFTRACE = """profile:hz:49 { @cpu[ustack, kstack] = count(); }
    tracepoint:sched:sched_switch { @switch[ustack(8), kstack(8)] = count(); }
    tracepoint:sched:sched_process_exit { @exit[ustack] = count(); }"""


@dataclass(frozen=True)
class Sampler:
    """A program that samples the whole machine until SIGINT, and how to read what it says."""

    name: str
    command: list[str]
    # perf's data, or what a BPF tool prints.
    output: str
    # From that file: a description, and whether enough was sampled.
    read: Callable[[Path], tuple[str, bool]]

    @property
    def is_perf(self) -> bool:
        return self.output.endswith(".data")


def read_perf(path: Path) -> tuple[str, bool]:
    return perf_counts(path, deferred=False)


def read_perf_deferred(path: Path) -> tuple[str, bool]:
    return perf_counts(path, deferred=True)


def perf_counts(path: Path, deferred: bool) -> tuple[str, bool]:
    """perf reads its own data twice: the statistics, and each sample with its chain."""
    stats = run_perf("report", "-i", str(path), "--stats")
    events = {name: int(count) for name, count in re.findall(r"(\w+) events: +(\d+)", stats)}
    samples, later = events.get("SAMPLE", 0), events.get("CALLCHAIN_DEFERRED", 0)
    chains = run_perf("script", "-i", str(path), "-F", "ip", "--no-inline")
    deep = sum(chain.count("\n") > 0 for chain in chains.strip().split("\n\n"))
    text = f"{samples} samples, {deep} with more than one frame, {later} deferred stacks"
    return text, samples > 0 and deep > 0 and (later > 0) == deferred


def run_perf(*arguments: str) -> str:
    """perf's standard output; raises where it fails."""
    result = subprocess.run(["perf", *arguments], check=True, text=True, errors="replace",
                            stdin=subprocess.DEVNULL, capture_output=True)
    return result.stdout


def bcc_counts(path: Path) -> tuple[str, bool]:
    """Stacks are paragraphs whose last line is an indented count."""
    text = path.read_text(errors="replace")
    counts = [int(number) for number in re.findall(r"^ {4,8}(\d+)$", text, re.MULTILINE)]
    frames = len(re.findall(r"^ {2,4}[^\s\[-]", text, re.MULTILINE))
    good = sum(counts) > 0 and frames > len(counts) and "Traceback" not in text
    return f"{len(counts)} stacks, {frames} frames", good


def bpftrace_counts(path: Path) -> tuple[str, bool]:
    text = path.read_text(errors="replace")
    stacks = {name: text.count(f"\n@{name}[") for name in ("cpu", "switch", "exit")}
    frames = len(re.findall(r"^ {4,8}\S", text, re.MULTILINE))
    listed = ", ".join(f"{number} of {name}" for name, number in stacks.items())
    return f"stacks: {listed}; {frames} frames", all(stacks.values()) and frames > 0


# Without --buildid-all, perf reads all of its samples again before it ends.
PERF = ["perf", "record", "-q", "-a", "--buildid-all", "-e", "cpu-clock", "-F", "99"]
SAMPLERS = [
    Sampler("perf-at-once", [*PERF, "-g"], "perf-at-once.data", read_perf),
    Sampler("perf-deferred", [*PERF, "--call-graph", "fp,defer"], "perf-deferred.data",
            read_perf_deferred),
    Sampler("bcc-profile", ["profile-bpfcc", "-F", "49"], "bcc-profile.txt", bcc_counts),
    Sampler("bcc-offcputime", ["offcputime-bpfcc"], "bcc-offcputime.txt", bcc_counts),
    Sampler("bcc-stackcount", ["stackcount-bpfcc", "t:syscalls:sys_enter_m*"], "bcc-stackcount.txt",
            bcc_counts),
    Sampler("bpftrace", ["bpftrace", "-e", BPFTRACE], "bpftrace.txt", bpftrace_counts),
]


LONG_ONLY = ("bcc-profile", "bcc-offcputime", "bcc-stackcount")


def samplers(options: argparse.Namespace) -> list[Sampler]:
    """The base cannot defer."""
    left_out = ["perf-deferred"] if options.kernel == "base" else []
    if options.seconds < ALL_TOOLS_SECONDS:
        left_out += LONG_ONLY
    return [sampler for sampler in SAMPLERS if sampler.name not in left_out]


def stress_command(options: argparse.Namespace, number: int, seconds: int) -> list[str]:
    # Its exec stressor refuses to be root; the others want root's capabilities.
    rights = ["setpriv", "--reuid", NOBODY, "--inh-caps", "+all", "--ambient-caps", "+all"]
    command = ["stress-ng", "--seed", str(options.seed + number), "--timeout", f"{seconds}s",
               "--verify", "--temp-path", "."]
    for name in STRESSORS:
        if name not in NOT_HERE:
            command += [f"--{name}", "1"]
    for name in ("mmap", "mmapfork", "mmaptorture", "mremap", "userfaultfd"):
        command += [f"--{name}-bytes", STRESS_MEMORY]
    return rights + command


def trinity_command(options: argparse.Namespace, number: int, user: bool) -> list[str]:
    command = ["trinity", "-q", "-l", "off", "-C", str(TRINITY_CHILDREN), "--stats",
               "-s", str(options.seed + number)]
    for name in TRINITY_CALLS:
        command += ["-c", name]
    for name in TRINITY_NO_FDS:
        command += [f"--disable-fds={name}"]
    if not user:
        return [*command, "--dangerous"]
    rights = ["setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"]
    return rights + command


def say(text: str) -> None:
    print(f"# {text}", flush=True)


# In the guest


class Running:
    """A sampler at work."""

    def __init__(self, sampler: Sampler, out: Path) -> None:
        self.sampler = sampler
        self.path = out / sampler.output
        self.log = out / f"{sampler.name}.log"
        command = [*sampler.command, *(["-o", str(self.path)] if sampler.is_perf else [])]
        with self.log.open("wb") as log, self.stdout().open("wb") as stdout:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=stdout,
                                            stderr=log)

    def stdout(self) -> Path:
        return Path(os.devnull) if self.sampler.is_perf else self.path

    def is_ready(self) -> bool:
        """perf writes its data's header then, and a BPF tool has loaded programs."""
        if self.sampler.is_perf:
            return self.path.exists() and self.path.stat().st_size > 0
        with contextlib.suppress(OSError):
            for info in Path(f"/proc/{self.process.pid}/fdinfo").iterdir():
                if "prog_id" in info.read_text():
                    return True
        return False

    def finish(self, begin: float, limit: float) -> str:
        """Empty when it lived until now and ended by itself, else what went wrong."""
        try:
            status = self.process.wait(max(1, begin + limit - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return f"did not end within {limit} seconds"
        # perf ends by the signal that it was sent.
        return "" if status in (0, -signal.SIGINT) else f"exit status {status}"


def wait_until_ready(running: list[Running]) -> None:
    """Those that are ready, or ended, or took too long, are waited for no more."""
    begin = time.monotonic()
    while running and time.monotonic() - begin < READY_SECONDS:
        time.sleep(POLL_SECONDS)
        running = [r for r in running if r.process.poll() is None and not r.is_ready()]


def start_samplers(options: argparse.Namespace, out: Path) -> list[Running]:
    """The BPF tools compile their programs first: perf would sample that, and slow it down."""
    begin = time.monotonic()
    bpf = [Running(sampler, out) for sampler in samplers(options) if not sampler.is_perf]
    wait_until_ready(bpf)
    perf = [Running(sampler, out) for sampler in samplers(options) if sampler.is_perf]
    wait_until_ready(perf)
    say(f"samplers began within {time.monotonic() - begin:.0f} s")
    return bpf + perf


def stop_seconds(seconds: int) -> int:
    """In which samplers of such loads have to end."""
    return STOP_SECONDS + 2 * seconds


def stop_samplers(running: list[Running], limit: int) -> dict[str, str]:
    trouble = {}
    for r in running:
        if r.process.poll() is not None:
            trouble[r.sampler.name] = f"ended early, status {r.process.returncode}"
        elif not r.is_ready():
            trouble[r.sampler.name] = f"did not begin within {READY_SECONDS} seconds"
        r.process.send_signal(signal.SIGINT)
    begin = time.monotonic()
    for r in running:
        why = r.finish(begin, limit)
        if why:
            trouble.setdefault(r.sampler.name, why)
    return trouble


def run_load(name: str, command: list[str], seconds: int, out: Path) -> str:
    """Empty when it ended with status 0; trinity is interrupted after its time."""
    with (out / f"{name}.txt").open("wb") as output, subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
            start_new_session=True) as process:
        limit = seconds + GRACE_SECONDS if name == "stress-ng" else seconds
        with contextlib.suppress(subprocess.TimeoutExpired):
            status = process.wait(limit)
            return "" if status == 0 else f"exit status {status}"
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(GRACE_SECONDS)
        # Whatever it has left behind, too.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        if name == "stress-ng":
            return f"did not end within {limit} seconds"
    return ""


def guest_round(options: argparse.Namespace, number: int, seconds: int, out: Path) -> None:
    running = start_samplers(options, out)
    trouble = {}
    for load in loads(options):
        share = seconds if load == "stress-ng" else max(1, seconds // 2)
        begin = time.monotonic()
        if load == "stress-ng":
            command = stress_command(options, number, share)
        else:
            command = trinity_command(options, number, user=load == "trinity-nobody")
            share += TRINITY_WARNS_SECONDS if load == "trinity-root" else 0
        say(f"round {number}: {load} for {share} s")
        trouble[load] = run_load(load, command, share, out)
        say(f"round {number}: {load} ended after {time.monotonic() - begin:.0f} s")
    begin = time.monotonic()
    trouble |= stop_samplers(running, stop_seconds(seconds))
    say(f"samplers ended within {time.monotonic() - begin:.0f} s")
    (out / "trouble.json").write_text(json.dumps(trouble, indent=1) + "\n")


def in_guest(options: argparse.Namespace) -> int:
    release = os.uname().release
    modules = Path("/lib/modules") / release
    modules.mkdir(parents=True, exist_ok=True)
    # bcc compiles its programs against them.
    for link, target in (("build", REPO / ".build/obj" / options.kernel),
                         ("source", REPO / ".build/linux")):
        (modules / link).unlink(missing_ok=True)
        (modules / link).symlink_to(target)
    # Trinity calls both as nobody.
    Path("/proc/sys/kernel/unprivileged_bpf_disabled").write_text("0\n")
    Path("/proc/sys/vm/unprivileged_userfaultfd").write_text("1\n")
    # The base has none.
    if TABLE_PATH.exists():
        TABLE_PATH.write_text(f"{CACHE}\n")
    # The samplers outlive a shortage of memory.
    Path("/proc/self/oom_score_adj").write_text("-900\n")
    os.environ |= {"PYTHONUNBUFFERED": "1", "HOME": "/tmp"}
    scratch = Path("/tmp/outsiders")
    scratch.mkdir(mode=0o777)
    scratch.chmod(0o777)
    os.chdir(scratch)
    for number, seconds in enumerate(rounds(options.seconds), 1):
        # In memory first: of perf's many small writes to the host's file system some came
        # out as zeroes, on any kernel.
        with tempfile.TemporaryDirectory() as out:
            guest_round(options, number, seconds, Path(out))
            shutil.copytree(out, OUT / f"round-{number}", dirs_exist_ok=True)
    return 0


# On the host


def loads(options: argparse.Namespace) -> list[str]:
    chosen = options.load or ["stress-ng", "trinity"]
    split = {"stress-ng": ["stress-ng"], "trinity": ["trinity-root", "trinity-nobody"]}
    return [part for load in split if load in chosen for part in split[load]]


def rounds(seconds: int) -> list[int]:
    number = -(-seconds // ROUND_SECONDS)
    return [seconds // number + (i < seconds % number) for i in range(number)]


class Tap:
    """Counts what it prints."""

    def __init__(self) -> None:
        self.passed = self.failed = self.skipped = 0

    def result(self, name: str, good: bool, text: str) -> None:
        self.passed += good
        self.failed += not good
        number = self.passed + self.failed + self.skipped
        print(f"{'ok' if good else 'not ok'} {number} {name}: {text}", flush=True)

    def skip(self, name: str, why: str) -> None:
        self.skipped += 1
        print(f"ok {self.passed + self.failed + self.skipped} {name} # SKIP {why}", flush=True)

    def end(self) -> int:
        total = self.passed + self.failed + self.skipped
        print(f"1..{total}")
        return 1 if self.failed or not self.passed else 0


def judge_stress(out: Path) -> tuple[str, bool]:
    """stress-ng's own last lines: "passed: 3: fork (1) exec (1) ..."."""
    text = (out / "stress-ng.txt").read_text(errors="replace")
    found = dict(re.findall(r" (skipped|passed|failed|metrics untrustworthy): (\d+)", text))
    passed, failed, skipped = (int(found.get(k, -1)) for k in ("passed", "failed", "skipped"))
    listed = re.findall(r" (?:skipped|failed): [1-9]\d*: (.*)", text)
    want = len(STRESSORS) - len(NOT_HERE)
    words = f"{passed} of {want} stressors passed, {failed} failed, {skipped} skipped"
    return " ".join([words, *listed]), (passed, failed, skipped) == (want, 0, 0)


def judge_trinity(path: Path) -> tuple[str, bool]:
    text = path.read_text(errors="replace")
    found = re.findall(r"Ran (\d+) syscalls\. Successes: (\d+) +Failures: (\d+)", text)
    if not found:
        return "no total in its output", False
    ran, good, bad = map(int, found[-1])
    return f"{ran} system calls, {good} succeeded, {bad} failed", ran > 0 and good > 0


def judge_sampler(sampler: Sampler, out: Path) -> tuple[str, bool]:
    try:
        return sampler.read(out / sampler.output)
    except OSError as err:
        return f"{sampler.output}: {err.strerror}", False
    except subprocess.CalledProcessError as err:
        return f"perf {err.cmd[1]}: exit status {err.returncode}: {err.stderr[-200:]!r}", False


def judge_round(tap: Tap, options: argparse.Namespace, number: int) -> None:
    out = OUT / f"round-{number}"
    prefix = f"round-{number}." if options.seconds > ROUND_SECONDS else ""
    try:
        trouble = json.loads((out / "trouble.json").read_text())
    except (OSError, ValueError):
        trouble = dict.fromkeys([*loads(options), *(s.name for s in samplers(options))],
                                "the guest did not finish this round")
    for load in loads(options):
        try:
            text, good = (judge_stress(out) if load == "stress-ng"
                          else judge_trinity(out / f"{load}.txt"))
        except OSError as err:
            text, good = str(err.strerror), False
        why = trouble.get(load, "")
        tap.result(prefix + load, good and not why, f"{why}; {text}" if why else text)
    for sampler in samplers(options):
        text, good = judge_sampler(sampler, out)
        why = trouble.get(sampler.name, "")
        tap.result(prefix + sampler.name, good and not why, f"{why}; {text}" if why else text)


def make_tables() -> None:
    subprocess.run(["make", "-s", "-C", str(REPO / "sframe"), f"O={SFRAME}", "all"],
                   check=True, stdout=sys.stderr)
    subprocess.run([str(SFRAME / "sframe"), "cache", "--quiet", "--cache-dir", str(CACHE),
                    *TABLES_FOR], check=True)


def run_guest(options: argparse.Namespace) -> int:
    shutil.rmtree(OUT, ignore_errors=True)
    turns = rounds(options.seconds)
    for number in range(1, len(turns) + 1):
        (OUT / f"round-{number}").mkdir(parents=True)
    each = READY_SECONDS + stop_seconds(max(turns)) + 3 * GRACE_SECONDS
    limit = GUEST_SECONDS + 3 * options.seconds + len(turns) * each
    print(f"# seed {options.seed}, kernel {options.kernel}, {options.seconds} s of each load",
          flush=True)
    command = [str(REPO / "vm" / "run"), "--kernel", options.kernel, "--timeout", str(limit), "--",
               "python3", "-B", str(HERE / "outsiders.py"), "--in-guest", "--kernel", options.kernel,
               "--seconds", str(options.seconds), "--seed", str(options.seed), *options.load]
    return subprocess.run(command, check=False, stdin=subprocess.DEVNULL).returncode


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="dev/check outsiders --", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernel", default="debug", choices=KERNELS)
    parser.add_argument("--seconds", type=int, default=20, metavar="N",
                        help="how long each load runs (default: 20)")
    parser.add_argument("--seed", type=int, default=1, metavar="N",
                        help="for both loads; round N adds N to it (default: 1)")
    parser.add_argument("--in-guest", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("load", nargs="*", metavar="LOAD", help="stress-ng, trinity (default: both)")
    options = parser.parse_args()
    if options.seconds < 2:
        parser.error(f"--seconds {options.seconds}: at least 2")
    for load in options.load:
        if load not in ("stress-ng", "trinity"):
            parser.error(f"{load}: no such load")
    return options


def main() -> int:
    options = parse_arguments()
    if options.in_guest:
        return in_guest(options)
    make_tables()
    status = run_guest(options)
    tap = Tap()
    print("TAP version 13", flush=True)
    for number in range(1, len(rounds(options.seconds)) + 1):
        judge_round(tap, options, number)
    if "stress-ng" in loads(options):
        for name, why in NOT_HERE.items():
            tap.skip(f"stress-ng-{name}", why)
    if options.kernel == "base":
        tap.skip("perf-deferred", "the base kernel cannot defer")
    tap.result("kernel", status == 0, "no splat" if status == 0 else f"vm/run: exit status {status}")
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
