# SPDX-License-Identifier: GPL-2.0
"""In a guest: run Debian's stress-ng and trinity while the whole machine is sampled.

usage: dev/check outsiders -- [STRESS_SECONDS=N] [STRESS_SEED=N] [LOAD...]

LOAD is stress-ng, trinity-root or trinity-nobody (default: all). The samplers are Debian's too:
perf with immediate and deferred walks, bpftrace, and in runs of a minute and more three of bcc's
tools. All run from before the first load until after the last. A sampler passes if it took
samples and its output can be read, a load if it ended well. The kernel finds tables of the loads.

Outputs: TAP, a case for each load and sampler; $OUT/stress, what they wrote. The kernel log is
judged by vm/run, and on the debug kernel leaks by vm/init.

  dev/check outsiders.debug -- STRESS_SECONDS=1200 STRESS_SEED=7
"""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPO / "test"))
import tap  # noqa: E402  pylint: disable=wrong-import-position

WORK = Path("/tmp/outsiders")
TABLE_PATH = Path("/proc/sys/kernel/unwind_table_path")
SECONDS = int(os.environ.get("STRESS_SECONDS", "20"))
SEED = int(os.environ.get("STRESS_SEED", "1"))
# These end a run that hangs; none is waited for otherwise. Samplers find symbols when they end.
READY_SECONDS = 900
STOP_SECONDS = 900 + 2 * SECONDS
GRACE_SECONDS = 300
# As root, trinity counts down before it begins.
WARN_SECONDS = 10
# To compile one of bcc's tools takes an emulated kernel one to two minutes.
BCC_SECONDS = 60

STRESSORS = """fork vfork vforkmany clone exec mmap mmapaddr mmapcow mmapfiles mmapfixed mmapfork
    mmaphuge mmapmany mmaptorture mremap munmap madvise mprotect userfaultfd ptrace bad-altstack
    sigsegv context longjmp prctl""".split()
# Each exists in trinity's tables for 64 and for 32 bits, and is called as both.
TRINITY_CALLS = """perf_event_open bpf prctl mmap munmap mremap mprotect madvise mlock munlock msync
    mincore remap_file_pages pkey_mprotect userfaultfd process_madvise""".split()
BPFTRACE = """profile:hz:49 { @cpu[ustack, kstack] = count(); }
    tracepoint:sched:sched_switch { @switch[ustack(8), kstack(8)] = count(); }
    tracepoint:sched:sched_process_exit { @exit[ustack] = count(); }"""
NOBODY = "65534"
# stress-ng's exec stressor refuses to be root; the others want root's capabilities.
STRESS = ["setpriv", "--reuid", NOBODY, "--inh-caps", "+all", "--ambient-caps", "+all",
          "stress-ng", "--seed", str(SEED), "--timeout", f"{SECONDS}s", "--verify", "--temp-path", "."]
STRESS += [word for name in STRESSORS for word in (f"--{name}", "1")]
STRESS += [word for name in ("mmap", "mmapfork", "mmaptorture", "mremap", "userfaultfd")
           for word in (f"--{name}-bytes", "16M")]
# Root's /dev/mem and sysfs are not the subject, and neither is the network.
TRINITY = ["trinity", "-q", "-l", "off", "-C", "4", "--stats", "-s", str(SEED)]
TRINITY += [word for name in TRINITY_CALLS for word in ("-c", name)]
TRINITY += [f"--disable-fds={name}" for name in ("sockets", "pseudo", "drm", "testfile")]
LOADS = {
    "stress-ng": STRESS,
    "trinity-root": [*TRINITY, "--dangerous"],
    "trinity-nobody": ["setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", *TRINITY],
}

Verdict = tuple[str, bool]


def perf(*arguments: str) -> str:
    return subprocess.run(["perf", *arguments], check=True, text=True, errors="replace",
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE).stdout


def judge_perf(stats: str, chains: str, deferred: bool) -> Verdict:
    """From perf's statistics, and each sample with its chain."""
    events = {name: int(count) for name, count in re.findall(r"(\w+) events: +(\d+)", stats)}
    samples, later = events.get("SAMPLE", 0), events.get("CALLCHAIN_DEFERRED", 0)
    deep = sum("\n" in chain for chain in chains.strip().split("\n\n"))
    return (f"{samples} samples, {deep} with more than one frame, {later} deferred stacks",
            samples > 0 and deep > 0 and (later > 0) == deferred)


def judge_bcc(text: str) -> Verdict:
    """Stacks are paragraphs whose last line is an indented count."""
    counts = [int(number) for number in re.findall(r"^ {4,8}(\d+)$", text, re.MULTILINE)]
    frames = len(re.findall(r"^ {2,4}[^\s\[-]", text, re.MULTILINE))
    return (f"{len(counts)} stacks, {frames} frames",
            sum(counts) > 0 and frames > len(counts) and "Traceback" not in text)


def judge_bpftrace(text: str) -> Verdict:
    stacks = {name: text.count(f"\n@{name}[") for name in ("cpu", "switch", "exit")}
    frames = len(re.findall(r"^ {4,8}\S", text, re.MULTILINE))
    return f"{stacks}, {frames} frames", all(stacks.values()) and frames > 0


def judge_stress(text: str) -> Verdict:
    """stress-ng's own last lines: "passed: 3: fork (1) exec (1) ..."."""
    found = dict(re.findall(r" (skipped|passed|failed): (\d+)", text))
    counts = [int(found.get(kind, -1)) for kind in ("passed", "failed", "skipped")]
    listed = re.findall(r" (?:skipped|failed): [1-9]\d*: (.*)", text)
    return (" ".join([f"passed, failed, skipped: {counts} of {len(STRESSORS)}", *listed]),
            counts == [len(STRESSORS), 0, 0])


def judge_trinity(text: str) -> Verdict:
    found = re.findall(r"Ran (\d+) syscalls\. Successes: (\d+)", text)
    ran, good = map(int, found[-1]) if found else (0, 0)
    return f"{ran} system calls, {good} succeeded", ran > 0 and good > 0


@dataclass
class Sampler:
    """A program that samples the whole machine until SIGINT, and how to read what it wrote."""

    name: str
    command: list[str]
    judge: Callable[[Path], Verdict]

    @property
    def path(self) -> Path:
        return WORK / self.name

    def start(self) -> None:
        output = open(os.devnull if self.is_perf else self.path, "wb")
        with output, open(WORK / f"{self.name}.log", "wb") as log:
            command = self.command + (["-o", str(self.path)] if self.is_perf else [])
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=log)

    @property
    def is_perf(self) -> bool:
        return self.command[0] == "perf"

    def is_ready(self) -> bool:
        """perf writes its data's header then, and a BPF tool has loaded programs."""
        if self.is_perf:
            return self.path.exists() and self.path.stat().st_size > 0
        with contextlib.suppress(OSError):
            return any("prog_id" in info.read_text()
                       for info in Path(f"/proc/{self.process.pid}/fdinfo").iterdir())
        return False

    def stop(self) -> str:
        """What went wrong, if anything."""
        if self.process.poll() is not None:
            return f"ended early, status {self.process.returncode}"
        was_ready = self.is_ready()
        self.process.send_signal(signal.SIGINT)
        try:
            status = self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return f"did not end within {STOP_SECONDS} seconds"
        if not was_ready:
            return f"did not begin within {READY_SECONDS} seconds"
        # perf ends by the signal that it was sent.
        return "" if status in (0, -signal.SIGINT) else f"exit status {status}"

    def result(self) -> Verdict:
        why = self.stop()
        try:
            text, good = self.judge(self.path)
        except (OSError, subprocess.CalledProcessError) as error:
            text, good = str(error), False
        return f"{why} {text}", good and not why


def perf_sampler(name: str, deferred: bool, *options: str) -> Sampler:
    # Without --buildid-all, perf reads all of its samples again before it ends.
    command = ["perf", "record", "-q", "-a", "--buildid-all", "-e", "cpu-clock", "-F", "99", *options]
    return Sampler(name, command, lambda path: judge_perf(
        perf("report", "-i", str(path), "--stats"),
        perf("script", "-i", str(path), "-F", "ip", "--no-inline"), deferred))


def samplers() -> list[Sampler]:
    """The BPF tools first: they compile their programs, which perf would sample and slow down."""
    bcc = [["profile-bpfcc", "-F", "49"], ["offcputime-bpfcc"], ["stackcount-bpfcc", "t:syscalls:sys_enter_m*"]]
    found = [Sampler(command[0], command, lambda path: judge_bcc(path.read_text(errors="replace")))
             for command in bcc if SECONDS >= BCC_SECONDS]
    found += [Sampler("bpftrace", ["bpftrace", "-e", BPFTRACE],
                      lambda path: judge_bpftrace(path.read_text(errors="replace"))),
              perf_sampler("perf-at-once", False, "-g")]
    # The base cannot defer.
    if TABLE_PATH.exists():
        found.append(perf_sampler("perf-deferred", True, "--call-graph", "fp,defer"))
    return found


def start(chosen: list[Sampler]) -> None:
    """Those that are ready, or ended, or took too long, are waited for no more."""
    end = time.monotonic() + READY_SECONDS
    for sampler in chosen:
        sampler.start()
        while not sampler.is_ready() and sampler.process.poll() is None and time.monotonic() < end:
            time.sleep(0.5)


def run_load(name: str) -> Verdict:
    """stress-ng ends by itself, trinity when it is interrupted."""
    path = WORK / f"{name}.txt"
    limit = SECONDS + GRACE_SECONDS if name == "stress-ng" else SECONDS // 2 + WARN_SECONDS
    with path.open("wb") as output, subprocess.Popen(
            LOADS[name], stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
            start_new_session=True) as process:
        why = ""
        try:
            status = process.wait(limit)
            why = f"exit status {status}; " if status else ""
        except subprocess.TimeoutExpired:
            why = "late; " if name == "stress-ng" else ""
            process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(GRACE_SECONDS)
        # And what it has left behind
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    text, good = (judge_stress if name == "stress-ng" else judge_trinity)(path.read_text(errors="replace"))
    return why + text, good and not why


def main() -> int:
    chosen = sys.argv[1:] or list(LOADS)
    if unknown := set(chosen).difference(LOADS):
        print(f"{', '.join(unknown)}: no such load\n{__doc__}", file=sys.stderr)
        return 2
    # Trinity calls both as nobody.
    Path("/proc/sys/kernel/unprivileged_bpf_disabled").write_text("0\n")
    Path("/proc/sys/vm/unprivileged_userfaultfd").write_text("1\n")
    out = Path(os.environ["OUT"])
    if TABLE_PATH.exists():
        TABLE_PATH.write_text(f"{out}/cache\n")
    # The samplers outlive a shortage of memory.
    Path("/proc/self/oom_score_adj").write_text("-900\n")
    os.environ |= {"PYTHONUNBUFFERED": "1", "HOME": "/tmp"}
    # In memory: of perf's many small writes to the host's files some came out as zeroes, on any kernel.
    WORK.mkdir()
    WORK.chmod(0o777)
    os.chdir(WORK)
    results = tap.Tap()
    running = samplers()
    start(running)
    for name in chosen:
        text, good = run_load(name)
        results.result(good, f"{name}: {text}")
    for sampler in running:
        text, good = sampler.result()
        results.result(good, f"{sampler.name}: {text}")
    shutil.rmtree(out / "stress", ignore_errors=True)
    (out / "stress").mkdir()
    for path in WORK.iterdir():
        if path.is_file():
            shutil.copy(path, out / "stress")
    return results.finish()


if __name__ == "__main__":
    sys.exit(main())
