#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of vm/run and vm/splat.py.

usage: dev/check vm [-- [--kernel NAME] [CASE...]]

  dev/check vm                               all cases, on the series kernel
  dev/check vm -- lost_panic splat_warn      two of them

Outputs: a line per case, then the line that the runner of suites reads.
Exit status: 0 all passed, 1 a failure or nothing run, 2 usage or no kernel.
"""

import argparse
import concurrent.futures
import contextlib
import datetime
import hashlib
import io
import os
import pty
import select
import shlex
import signal
import subprocess
import sys
import tempfile
import termios
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
VM = HERE.parent
REPO = VM.parent
sys.path[:0] = [str(VM), str(REPO / "test")]

import run as runner  # noqa: E402 (vm/run.py)
import splat  # noqa: E402
import tap  # noqa: E402
import watch  # noqa: E402

BOOT_SECONDS = 60  # a guest on a busy machine; a whole run takes about 3 s
JOBS = 2
KERNEL = "series"
SCRATCH = REPO / ".build" / "vm" / "test"

Case = Callable[[], None]
CASES: dict[str, Case] = {}


@dataclass
class Result:
    status: int
    out: bytes
    err: str


def case(function: Case) -> Case:
    CASES[function.__name__] = function
    return function


def expect(what: str, got: object, wanted: object) -> None:
    if got != wanted:
        raise AssertionError(f"{what}: got {got!r}, expected {wanted!r}")


def expect_in(what: str, part: str, text: str) -> None:
    if part not in text:
        raise AssertionError(f"{what}: no {part!r} in {text[-2000:]!r}")


def command_line(*args: str) -> list[str]:
    return [sys.executable, str(VM / "run.py"), "--kernel", KERNEL, *args]


def guest(*args: str) -> Result:
    """Run vm/run with these arguments to its end. One CPU boots fastest."""
    done = subprocess.run(command_line("--smp", "1", *args), stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=10 * BOOT_SECONDS, check=False, cwd=REPO)
    return Result(done.returncode, done.stdout, done.stderr.decode(errors="replace"))


def shell(script: str, *options: str) -> Result:
    return guest("--timeout", str(BOOT_SECONDS), *options, "--", "sh", "-c", script)


def qemu_of(process: subprocess.Popen[bytes]) -> int:
    """The QEMU that belongs to one vm/run; waits until the guest has said it runs."""
    end = time.monotonic() + BOOT_SECONDS
    assert process.stdout
    ready, _, _ = select.select([process.stdout], [], [], end - time.monotonic())
    expect("guest says that it runs", os.read(process.stdout.fileno(), 64) if ready else b"", b"running\n")
    # /proc/PID/task/TID/children lists the children that one thread made.
    for task in Path(f"/proc/{process.pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            return int(child)
    raise AssertionError(f"vm/run {process.pid} has no QEMU")


def start_running(*options: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command_line("--smp", "1", "--timeout", str(BOOT_SECONDS), *options, "--",
                                         "sh", "-c", "echo running; sleep 1000"),
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, cwd=REPO)


def expect_gone(pid: int) -> None:
    end = time.monotonic() + 5
    while Path(f"/proc/{pid}").exists() and time.monotonic() < end:
        time.sleep(0.05)
    if Path(f"/proc/{pid}").exists():
        raise AssertionError(f"process {pid} outlived its run")


# How a command ends

@case
def status_of_command_comes_back() -> None:
    for wanted in (0, 1, 7):
        expect("status", shell(f"exit {wanted}").status, wanted)


@case
def status_of_signal_is_128_and_more() -> None:
    expect("status", shell("kill -TERM $$").status, 128 + signal.SIGTERM)


# What comes back from it

@case
def output_is_apart_and_whole() -> None:
    script = ("import sys; sys.stderr.write('to stderr\\n'); sys.stdout.buffer.write("
              "b''.join(i.to_bytes(4, 'big') for i in range(1 << 18)))")
    result = guest("--", "python3", "-c", script)
    expect("status", (result.status, result.err), (0, "to stderr\n"))
    expect("stdout", hashlib.sha256(result.out).hexdigest(),
           hashlib.sha256(b"".join(i.to_bytes(4, "big") for i in range(1 << 18))).hexdigest())


@case
def files_in_repository_and_dir_are_complete() -> None:
    with tempfile.TemporaryDirectory(prefix="vm, test ") as outside:
        inside = SCRATCH / "written"
        inside.unlink(missing_ok=True)
        # What is left running must neither delay the end nor hold a file back.
        script = (f"head -c 4194304 /dev/zero | tr '\\0' x >{inside}; "
                  f"cp {inside} '{outside}/copy'; sleep 1000 &")
        result = shell(script, "--dir", outside)
        expect("status", (result.status, result.err), (0, ""))
        expect("file in the repository", inside.read_bytes(), b"x" * 4194304)
        expect("file in --dir", (Path(outside) / "copy").read_bytes(), b"x" * 4194304)


@case
def guest_is_a_whole_system() -> None:
    script = """
        for dir in /proc /sys /sys/kernel/debug /sys/kernel/tracing /sys/kernel/debug/tracing \
                   /sys/fs/bpf /sys/fs/cgroup /tmp /dev /dev/pts /dev/shm; do
            mountpoint -q $dir || echo "not mounted: $dir"
        done
        ip -br addr show lo | grep -q 127.0.0.1 || echo "lo is down"
        [ "$(id -u)" = 0 ] || echo "not root"
        [ "$(nproc)" = 3 ] || echo "$(nproc) CPUs"
        touch /etc/written-by-guest || echo "root is not writable"
        [ -d vm/test ] || echo "in $(pwd)"
        [ -z "$(cat)" ] || echo "standard input is not empty"
        unshare --user true || echo "no user namespaces"
    """
    result = shell(script, "--smp", "3")
    expect("complaints", (result.status, result.out.decode(), result.err), (0, "", ""))
    expect("file of the guest on the host", Path("/etc/written-by-guest").exists(), False)


@case
def terminal_is_real() -> None:
    """--interactive on a pseudo terminal: size, interrupt key, status."""
    pid, master = pty.fork()
    if pid == 0:
        os.chdir(REPO)
        os.execv(sys.executable, command_line("--interactive", "--timeout", str(BOOT_SECONDS), "--",
                                              "bash", "--norc", "-i"))
    termios.tcsetwinsize(master, (33, 101))
    dialogue = [(b"# ", b"stty size; tty\n"), (b"33 101\r\n/dev/hvc0", b"sleep 1000\n"),
                (b"sleep 1000\r\n", b"\x03"), (b"# ", b"exit 9\n")]
    seen = b""
    end = time.monotonic() + BOOT_SECONDS
    try:
        for wanted, answer in dialogue:
            while wanted not in seen:
                ready, _, _ = select.select([master], [], [], max(0, end - time.monotonic()))
                if not ready:
                    raise AssertionError(f"terminal: no {wanted!r} in {seen!r}")
                seen += os.read(master, 4096)
            seen = seen.split(wanted, 1)[1]
            if answer == b"\x03":
                time.sleep(0.3)  # the echo comes before the program starts
            os.write(master, answer)
        with contextlib.suppress(OSError):
            while os.read(master, 4096):
                pass
    except BaseException:
        os.kill(pid, signal.SIGKILL)
        raise
    finally:
        _, status = os.waitpid(pid, 0)
        os.close(master)
    expect("status", os.waitstatus_to_exitcode(status), 9)


@case
def icount_clock_counts_instructions() -> None:
    source, program = SCRATCH / "loop.c", SCRATCH / "loop"
    source.write_text("""
        #include <stdio.h>
        #include <time.h>
        static long now(void)
        {
            struct timespec t;
            clock_gettime(CLOCK_MONOTONIC, &t);
            return t.tv_sec * 1000000000L + t.tv_nsec;
        }
        static long loop(long n)
        {
            long start = now();
            __asm__ volatile("1: dec %0; jnz 1b" : "+r"(n));
            return now() - start;
        }
        int main(void)
        {
            loop(10); loop(10);
            for (int i = 0; i < 20; i++)
                printf("%ld %ld\\n", loop(10000), loop(20000));
        }
    """)
    subprocess.run(["gcc", "-O2", "-o", str(program), str(source)], check=True)
    result = guest("--icount", "--", str(program))
    expect("status", (result.status, result.err), (0, ""))
    # The smallest of each: a timer interrupt may fall into some of the loops.
    rows = [tuple(map(int, line.split())) for line in result.out.decode().splitlines()]
    short, long = (min(column) for column in zip(*rows))
    expect("nanoseconds for 20000 more instructions", long - short, 20000)


# Guests that are lost

def expect_lost(result: Result) -> None:
    expect("status", result.status, runner.EXIT_LOST)
    expect_in("stderr", "vm/run: guest: lost", result.err)
    expect_in("stderr", "console.log", result.err)


@case
def lost_panic() -> None:
    result = shell("echo c >/proc/sysrq-trigger")
    expect_lost(result)
    expect_in("shown log", "sysrq triggered crash", result.err)


@case
def lost_reboot() -> None:
    expect_lost(shell("echo b >/proc/sysrq-trigger"))


@case
def lost_forged_status() -> None:
    """A word of the command's own on the status port is garbage, not a pass."""
    result = shell("echo 'exit 0 taint 0' >/dev/vport0p1; exit 3")
    expect_lost(result)
    expect_in("stderr", "garbage instead of a status", result.err)


@case
def lost_qemu_killed() -> None:
    with start_running() as process:
        os.kill(qemu_of(process), signal.SIGKILL)
        out, err = process.communicate(timeout=10)
    expect_lost(Result(process.returncode, out, err.decode()))


@case
def timeout_kills_this_guest_only() -> None:
    with start_running() as other:
        other_qemu = qemu_of(other)
        started = time.monotonic()
        result = guest("--timeout", "20", "--", "sh", "-c", "echo $LINUX_STACKS_SLOW; sleep 1000")
        took = time.monotonic() - started
        slow = int(result.out)
        limit = 20 * slow / 100
        expect("status", result.status, runner.EXIT_TIMEOUT)
        expect_in("stderr", f"no end within {limit:g} seconds", result.err)
        # The error has the end of the log only.
        log = Path(result.err.split("kernel log: ")[1].strip())
        waits = log.read_text(errors="replace")
        expect_in("what waits", f"not ended after {10 * slow // 100} seconds", waits)
        expect_in("what waits", "(sleep) S", waits)
        expect_in("what waits", "hrtimer_nanosleep", waits)
        expect_in("registers", "RIP=", log.with_name("registers").read_text())
        # Of a busy machine, not only the limit is stretched.
        if took > limit + 6 * slow / 100:
            raise AssertionError(f"a limit of {limit:g} s took {took:.1f} s")
        expect("the other guest is there", Path(f"/proc/{other_qemu}").exists(), True)
        other.send_signal(signal.SIGTERM)
        other.wait(10)
    expect_gone(other_qemu)


@case
def interrupt_ends_the_guest() -> None:
    with start_running() as process:
        qemu = qemu_of(process)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=10)
    expect("status", process.returncode, runner.EXIT_INTERRUPTED)
    expect_in("stderr", "interrupted", err.decode())
    expect_gone(qemu)


@case
def killed_runner_takes_its_guest_along() -> None:
    with start_running() as process:
        qemu = qemu_of(process)
        process.kill()
    expect_gone(qemu)


# Splats

WARN = "echo WARNING >/sys/kernel/debug/provoke-crash/DIRECT"


@case
def splat_line_fails_a_good_command() -> None:
    result = shell("echo '<4>BUG: made up for a test' >/dev/kmsg; exit 0")
    expect("status", result.status, runner.EXIT_LOST)
    expect_in("stderr", "first: ", result.err)
    expect_in("shown log", "BUG: made up for a test", result.err)


@case
def splat_warn_of_the_kernel_fails() -> None:
    result = shell(WARN)
    expect("status", result.status, runner.EXIT_LOST)
    expect_in("shown log", "lkdtm_WARNING", result.err)


@case
def splat_allowed_passes() -> None:
    allow = SCRATCH / "allow"
    tomorrow = datetime.date.today() + datetime.timedelta(days=1)
    allow.write_text(entry(pattern=r"WARNING: CPU: .* lkdtm_WARNING", expires=str(tomorrow)))
    result = shell(WARN + "; exit 4", "--allow", str(allow))
    expect("status", (result.status, result.err), (4, ""))


@case
def splat_hidden_from_the_console_still_fails() -> None:
    result = shell("echo 1 >/proc/sys/kernel/printk; " + WARN)
    expect("status", result.status, runner.EXIT_LOST)
    expect_in("stderr", "taint", result.err)


def entry(**fields: str) -> str:
    good = {"pattern": "some report", "reason": "known since the base kernel",
            "link": "https://example.org/1", "expires": str(datetime.date.today())}
    return "".join(f"{name}: {value}\n" for name, value in (good | fields).items() if value)


def rules(allow: str = "", deny: str | None = None) -> splat.Rules:
    with tempfile.TemporaryDirectory() as name:
        allow_file, deny_file = Path(name) / "allow", Path(name) / "deny"
        allow_file.write_text(allow)
        if deny is not None:
            deny_file.write_text(deny)
        return splat.Rules.load(VM / "splat.deny" if deny is None else deny_file, allow_file)


def expect_refused(why: str, allow: str = "", deny: str | None = None) -> None:
    try:
        rules(allow, deny)
    except splat.ListError as err:
        expect_in("complaint", why, str(err))
    else:
        raise AssertionError(f"list accepted: {allow!r} {deny!r}")


@case
def list_entries_need_everything() -> None:
    yesterday = datetime.date.today() - datetime.timedelta(days=1)
    rules(entry())
    rules(entry() + "\n" + entry(pattern="other"))
    expect_refused("expired", entry(expires=str(yesterday)))
    expect_refused("more than a year", entry(expires="2999-01-01"))
    expect_refused("not a date", entry(expires="soon"))
    expect_refused("without 'reason'", entry(reason=""))
    expect_refused("is no reason", entry(reason="flaky"))
    expect_refused("without 'link'", entry(link=""))
    expect_refused("not an https:// link", entry(link="see chat"))
    expect_refused("without 'pattern'", entry(pattern=""))
    expect_refused("not a regular expression", entry(pattern="("))
    expect_refused("matches every line", entry(pattern=".*"))
    expect_refused("not one of", entry() + "comment without key\n")
    expect_refused("part entries by a blank line", entry() + entry())
    expect_refused("no pattern in it", deny="# empty\n")


@case
def list_that_expired_fails_before_boot() -> None:
    allow = SCRATCH / "expired"
    allow.write_text(entry(expires="2020-01-01"))
    started = time.monotonic()
    result = shell("true", "--allow", str(allow))
    expect("status", result.status, runner.EXIT_LOST)
    expect_in("stderr", "expired:1: entry expired on 2020-01-01", result.err)
    if time.monotonic() - started > 2:
        raise AssertionError("a guest was booted first")


@case
def list_missing_fails() -> None:
    result = shell("true", "--deny", "/no/such/list")
    expect("status", result.status, runner.EXIT_LOST)
    expect_in("stderr", "/no/such/list", result.err)


@case
def deny_list_knows_reports_from_notes() -> None:
    known = rules()
    for name, wanted in (("reports", True), ("notes", False)):
        for line in (HERE / f"{name}.log").read_text().splitlines():
            expect(f"splat: {line}", bool(known.scan(line)), wanted)


# The machine

@contextlib.contextmanager
def patched(module: object, name: str, value: object):
    old = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, old)


@contextlib.contextmanager
def stand_in(qemu: str):
    """A script instead of QEMU; gives the arguments of a run, what vm/run says, a count of starts."""
    with tempfile.TemporaryDirectory() as name:
        fake, count = Path(name) / "qemu", Path(name) / "count"
        fake.write_text(f"#!/bin/bash\necho x >>{count}\n{qemu}\n")
        fake.chmod(0o755)
        args = argparse.Namespace(kernel=KERNEL, icount=False, accel="auto", smp=1, mem="1G",
                                  dir=[], append=[], kunit="", interactive=False,
                                  command=["true"], timeout=60)
        messages = io.StringIO()
        with patched(runner, "QEMU", str(fake)), patched(runner, "RUNS", Path(name)), \
                patched(runner, "KVM_DEVICE", "/dev/null"), patched(runner, "KVM_PROBE_SECONDS", 1), \
                contextlib.redirect_stderr(messages):
            yield args, messages, lambda: len(count.read_text().split())


# Among the arguments of -chardev are the descriptors of status and monitor and the file of the log.
CHANNELS = """for a; do case $a in
socket,id=status,fd=*) fd=${a##*=} ;;
socket,id=monitor,fd=*) monitor=${a##*=} ;;
file,id=console,path=*) log=${a##*=} ;;
esac; done"""
SUCCEED = "printf 'begin 100\\nexit 0 taint 0\\n' >&$fd"


def choose(qemu: str) -> tuple[str, str, int]:
    """What is chosen with a stand-in for QEMU; messages; how often QEMU was started."""
    with stand_in(qemu) as (args, messages, starts):
        first, second = runner.choose_accel(args), runner.choose_accel(args)
        expect("second answer", second, first)
        return first, messages.getvalue(), starts()


def boot(first: str, always: bool = False) -> tuple[int | None, int, str]:
    """The status of a guest whose first boot, or each, runs `first`; how many there were; messages."""
    again = first if always else f"[ -e $0-again ] || {{ touch $0-again; {first}; }}; {SUCCEED}"
    with stand_in(f"{CHANNELS}\n{again}") as (args, messages, starts), patched(runner, "BOOT_SECONDS", 1):
        outcome = runner.run_guest(args, "tcg", rules())[1]
        return outcome.status, starts(), messages.getvalue()


def a_guest_lost_to_the_emulator_boots_again() -> None:
    int3 = r"printf '[    2.437897] Oops: int3: 0000 [#1] PREEMPT SMP\nCode: 90 0f <1f> 44' >$log"
    begin = "echo begin 100 >&$fd"
    crash = "echo 'physmem.c:1: Assertion failed' >&2; kill -ABRT $$"
    for what, first in (("breakpoint", f"{int3}; exit"), ("stuck", "exec sleep 1000"), ("crash", crash)):
        status, starts, messages = boot(first)
        expect(what, (status, starts, messages.count("\n")), (0, 2, 1))
        expect_in("message", "booting again", messages)
        expect(f"{what}, each time", boot(first, always=True)[:2], (None, runner.BOOTS))
    for what, first in (("breakpoint of the command", f"{begin}; {int3}; exit"),
                        ("crash under the command", f"{begin}; {crash}"),
                        ("QEMU is killed", "kill -KILL $$"),
                        ("command runs long", f"{begin}; sleep 2; echo exit 3 taint 0 >&$fd; exit"),
                        ("other oops", "echo 'Oops: general protection fault: 0000' >$log; exit"),
                        ("stuck with an oops", "echo 'BUG: soft lockup' >$log; exec sleep 1000")):
        status, starts, messages = boot(first)
        expect(what, (status, starts, messages), (3 if "exit 3" in first else None, 1, ""))


def a_guest_lost_to_the_emulator_is_called_so() -> None:
    oops, lost = "Oops: int3: 0000 [#1] PREEMPT SMP\nRIP: 0010:f+0x1/0x10\n", "lost, no exit status"
    user = "RIP: 0033:0x7f\nCode: 00 0f 05 <48> 3d\n"
    for what, log, words in (
            ("removed breakpoint", f"{oops}Code: 90 0f <1f> 44 00 00\n{user}",
             "lost to the emulator: it met a breakpoint"),
            ("breakpoint in memory", f"{oops}Code: 90 cc <24> 08\n{user}", lost),
            ("freed code", f"{oops}Code: Unable to access opcode bytes at 0x1.\n{user}", lost),
            ("other oops", "Oops: general protection fault: 0000 [#1]\nCode: 90 0f <1f> 44", lost),
            ("a splat before", f"WARNING: CPU: 0 PID: 1\n{oops}Code: 90 0f <1f> 44 00 00\n", lost)):
        command = f"echo begin 100 >&$fd; echo {shlex.quote(log)} >$log"
        with stand_in(f"{CHANNELS}\n{command}") as (args, messages, starts):
            guest, outcome = runner.run_guest(args, "tcg", rules())
            expect(what, (runner.judge(guest, outcome, rules()), starts()), (runner.EXIT_LOST, 1))
            expect_in(what, f"vm/run: guest: {words}", messages.getvalue())


def a_cpu_that_does_not_wake_is_lost_to_the_emulator() -> None:
    begin, oops = "echo begin 100 >&$fd", "echo 'BUG: soft lockup' >$log"

    def boot_with(before: str = begin, flags: int = 0x246, halted: int = 1, lvt: int = 0xec,
                  initial: str = "100", current: int = 0, irr: str = "(none)") -> tuple[int, int, str]:
        answer = f"""dumping local APIC state for CPU 0
LVTT\t 0x{lvt:08x} active-hi edge  one-shot  Fixed  (vec 236)
Timer\t DCR=0x3 (divide by 16) initial_count = {initial} current_count = {current}
ISR\t (none)
IRR\t {irr}

APR 0x00 TPR 0x10 DFR 0x0f LDR 0x00 PPR 0x10
(qemu) info registers -a

CPU#0
RIP=ffffffff816f991f RFL={flags:08x} [-] CPL=0 II=0 A20=1 SMM=0 HLT={halted}
ES =0000 0000000000000000
(qemu) """.replace("\n", "\r\n")
        monitor = f"""while read -r -u $monitor line; do
case $line in *registers*) echo "{answer}" >&$monitor ;; esac
done"""
        with stand_in(f"{CHANNELS}\n{before}\n{monitor}") as (args, messages, starts), \
                patched(watch, "LOOK_SECONDS", 0.05), patched(runner, "MONITOR_SECONDS", 0.1):
            args.timeout = 2
            guest, outcome = runner.run_guest(args, "tcg", rules())
            return runner.judge(guest, outcome, rules()), starts(), messages.getvalue()

    for what, words, fields in (("timer", "its timer has run out after 100 counts", {}),
                                ("interrupt", "it has not taken interrupt 251",
                                 {"current": 7, "irr": "251 (level)"})):
        status, starts, messages = boot_with(**fields)
        expect(what, (status, starts), (runner.EXIT_LOST, 1))
        expect_in(what, f"lost to the emulator: CPU 0 sleeps at ffffffff816f991f, and {words}", messages)
    expect("before its command", boot_with(before="")[:2], (runner.EXIT_LOST, runner.BOOTS))
    for what, fields in (("timer runs", {"current": 7}), ("timer is masked", {"lvt": 0x100ec}),
                         ("timer is stopped", {"initial": "0"}), ("no interrupts", {"flags": 0x46}),
                         ("CPU works", {"halted": 0}), ("timer works", {"initial": "$((++n))"})):
        expect(what, boot_with(**fields)[:2], (runner.EXIT_TIMEOUT, 1))
    status, starts, messages = boot_with(before=f"{begin}; {oops}")
    expect("a splat before", (status, starts), (runner.EXIT_LOST, 1))
    expect_in("a splat before", "vm/run: guest: lost, no exit status came back", messages)


def limits_grow_on_a_slow_machine() -> None:
    late = "sleep 1.5; echo exit 0 taint 0 >&$fd"
    for begin, status in (("begin 100", None), ("begin 300", 0)):
        with stand_in(f"{CHANNELS}\necho {begin} >&$fd; {late}") as (args, messages, _):
            args.timeout = 1
            guest, outcome = runner.run_guest(args, "tcg", rules())
            expect(begin, (outcome.status, outcome.timed_out), (status, status is None))
            runner.judge(guest, outcome, rules())
            if outcome.timed_out:
                expect_in("message", "no end within 1 seconds", messages.getvalue())
    # What is no measured speed is no guest of ours.
    for begin in ("begin", "begin 99", "begin 700"):
        with stand_in(f"{CHANNELS}\necho {begin} >&$fd; {late}") as (args, *_):
            outcome = runner.run_guest(args, "tcg", rules())[1]
            expect(begin, (outcome.status, outcome.began), (None, False))


def kvm_is_used_only_where_it_boots() -> None:
    accel, messages, starts = choose("echo 'kvm: no' >&2; exit 1")
    expect("QEMU fails", (accel, starts, messages.count("\n")), ("tcg", 1, 1))
    expect_in("message", "guests are emulated", messages)
    accel, messages, starts = choose("exec sleep 1000")
    expect("QEMU hangs", (accel, starts, messages.count("\n")), ("tcg", 1, 1))
    expect_in("message", "did not end within 1 seconds", messages)
    accel, messages, starts = choose(f"{CHANNELS}\n{SUCCEED}")
    expect("KVM boots", (accel, starts, messages), ("kvm", 1, ""))


# Signal handlers can be set in the main thread alone.
MAIN_THREAD: dict[str, Case] = {function.__name__: function for function in (
    kvm_is_used_only_where_it_boots, a_guest_lost_to_the_emulator_boots_again,
    a_guest_lost_to_the_emulator_is_called_so,
    a_cpu_that_does_not_wake_is_lost_to_the_emulator,
    limits_grow_on_a_slow_machine)}
PRINTING = threading.Lock()


def attempt(results: tap.Tap, name: str, function: Case) -> None:
    started = time.monotonic()
    why = ""
    try:
        function()
    except (AssertionError, OSError, subprocess.SubprocessError) as err:
        why = str(err) if isinstance(err, AssertionError) else traceback.format_exc()
    with PRINTING:
        results.result(not why, f"{name} ({time.monotonic() - started:.1f} s)", why)


def main() -> int:
    global KERNEL
    parser = argparse.ArgumentParser(prog="dev/check vm --", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernel", default=KERNEL, choices=("base", "series", "debug", "kcsan"))
    parser.add_argument("cases", nargs="*", metavar="CASE", help="default: all")
    args = parser.parse_args()
    KERNEL = args.kernel
    unknown = [name for name in args.cases if name not in CASES | MAIN_THREAD]
    if unknown:
        parser.error(f"no such case: {', '.join(unknown)}; "
                     f"there are: {', '.join(CASES | MAIN_THREAD)}")
    try:
        runner.kernel_image(KERNEL)
    except runner.Refused as err:
        print(f"harness: {err}", file=sys.stderr)
        return 2

    SCRATCH.mkdir(parents=True, exist_ok=True)
    chosen = args.cases or [*MAIN_THREAD, *CASES]
    results = tap.Tap()
    # The first guest finds out about KVM; later ones read its answer.
    guest("--", "true")
    for name in chosen:
        if name in MAIN_THREAD:
            attempt(results, name, MAIN_THREAD[name])
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        # list() raises what none of them expects: there is no plan then.
        list(pool.map(lambda name: attempt(results, name, CASES[name]),
                      [name for name in chosen if name in CASES]))
    return results.finish()


if __name__ == "__main__":
    sys.exit(main())
