# SPDX-License-Identifier: GPL-2.0
"""Find, through QEMU's monitor, an emulated CPU that sleeps although an interrupt is due.

The emulator can lose the interrupt of a CPU's timer. That CPU then sleeps in HLT for ever, and
whatever waits for it: a kernel whose watchdogs sleep by the same timer says nothing. From outside,
it shows: the CPU is halted with interrupts enabled, and its timer has run out, or its local APIC
has an interrupt for it. A CPU that works leaves this state at once, so only one that is in the
very same state at each of LOOKS looks is lost.
"""

import re
from collections import Counter

# Seconds from one look to the next, and how many must find the same
LOOK_SECONDS, LOOKS = 15, 5
APIC = re.compile(r"local APIC state for CPU (\d+)\s(.*?)\bAPR ", re.DOTALL)
TIMER = re.compile(r"^LVTT\s+0x([0-9a-f]+) .*?^Timer\s.*?initial_count = (\d+) current_count = (\d+)",
                   re.DOTALL | re.MULTILINE)
REQUESTED = re.compile(r"^IRR\s+(.*?)\s*$", re.MULTILINE)
CPU = re.compile(r"^CPU#(\d+)\s(?:.*?)\bRIP=([0-9a-f]+) RFL=([0-9a-f]+) .*?HLT=([01])",
                 re.DOTALL | re.MULTILINE)
LVT_MASKED, RFLAGS_IF = 1 << 16, 1 << 9


def questions(cpus: int) -> bytes:
    """To the monitor; the registers come last."""
    lines = [*(f"info lapic {cpu}" for cpu in range(cpus)), "info registers -a"]
    return "".join(f"{line}\n" for line in lines).encode()


def overdue(text: str) -> dict[int, str]:
    """The halted CPUs that an interrupt is due for, from answers of the monitor: what is due."""
    due: dict[int, str] = {}
    for cpu, state in APIC.findall(text):
        requested = REQUESTED.search(state)
        if requested and requested[1] != "(none)":
            due[int(cpu)] = f"it has not taken interrupt {requested[1]}"
        elif timer := TIMER.search(state):
            lvt, initial, current = int(timer[1], 16), int(timer[2]), int(timer[3])
            if not lvt & LVT_MASKED and initial and not current:
                due[int(cpu)] = f"its timer has run out after {initial} counts, and did not fire"
    asleep = {int(cpu): rip for cpu, rip, flags, halted in CPU.findall(text)
              if halted == "1" and int(flags, 16) & RFLAGS_IF}
    return {cpu: f"CPU {cpu} sleeps at {asleep[cpu]}, and {why}"
            for cpu, why in due.items() if cpu in asleep}


class Watch:
    """Looks at the CPUs of one guest."""

    def __init__(self, cpus: int) -> None:
        self.cpus = cpus
        self.text = ""
        self.seen: Counter[str] = Counter()

    def answer(self, data: bytes) -> str:
        """Take a piece of the answers; why a CPU is lost, or an empty string."""
        self.text += data.decode(errors="replace").replace("\r", "")
        if len(CPU.findall(self.text)) < self.cpus:
            return ""
        now = list(overdue(self.text).values())
        self.text = ""
        self.seen = Counter({state: self.seen[state] + 1 for state in now})
        return next((state for state in now if self.seen[state] >= LOOKS), "")
