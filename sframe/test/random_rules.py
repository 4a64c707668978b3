#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Write assembler code with random unwind directives: random_rules.py SEED

The directives are valid but make no sense.  Two readers of .eh_frame have to
interpret them in the same way.
"""
import random
import sys

REGISTERS = ("rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp",
             "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15")
TRACKED = ("rbp", "rip", "rsp")
# Bases that a table cannot have
ODD = ("rip", "xmm15", "254", "255", "32")
NUMBER = {"rbp": 6, "rsp": 7, "rip": 16}
PLT = "0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x{:x}, 0x2a, 0x33, 0x24, 0x22"


def expression(rng: random.Random, cfa: bool) -> list[str]:
    """The bytes of an expression, lengths of a byte each."""
    if cfa and rng.random() < 0.3:
        return PLT.format(0x30 + rng.choice((9, 10, 11))).split(", ")
    code = [f"{0x70 + rng.randrange(17):#x}", str(rng.randrange(64))]
    for _ in range(rng.randrange(3)):
        code += rng.choice((["0x06"], ["0x23", str(rng.randrange(128))]))
    return code


class Function:
    """One function's directives."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.cfa_is_register = True
        self.remembered: list[bool] = []

    def offset(self) -> int:
        """A multiple of 8, often small."""
        return 8 * self.rng.choice((1, 2, 3, 7, 20, 400, 100000))

    def cfa(self) -> str:
        """A new rule for the CFA."""
        rng = self.rng
        reg = rng.choice(REGISTERS + ODD + ("rsp", "rbp") * 12)
        if rng.random() < 0.15:
            self.cfa_is_register = False
            code = expression(rng, True)
            return f".cfi_escape 0x0f, {len(code)}, {', '.join(code)}"
        # To replace one of register and offset has no meaning after an expression.
        whole = not self.cfa_is_register and rng.random() < 0.9
        if whole or rng.random() < 0.4:
            self.cfa_is_register = True
            return f".cfi_def_cfa {reg}, {self.offset()}"
        return rng.choice((f".cfi_def_cfa_offset {self.offset()}",
                           ".cfi_adjust_cfa_offset 8",
                           f".cfi_def_cfa_register {reg}"))

    def register(self) -> str:
        """A new rule for a register."""
        rng = self.rng
        reg = rng.choice(TRACKED + ("rbp",) * 6 + ("rbx", "r15"))
        if reg in NUMBER and rng.random() < 0.15:
            code = expression(rng, False)
            return (f".cfi_escape {rng.choice((0x10, 0x16)):#x}, {NUMBER[reg]}, "
                    f"{len(code)}, {', '.join(code)}")
        return rng.choice((f".cfi_offset {reg}, -{self.offset()}",
                           f".cfi_offset {reg}, -{self.offset()}",
                           f".cfi_val_offset {reg}, {self.offset()}",
                           f".cfi_register {reg}, {rng.choice(REGISTERS + ODD)}",
                           f".cfi_undefined {reg}",
                           f".cfi_same_value {reg}",
                           f".cfi_restore {reg}",
                           f".cfi_restore {reg}"))

    def directive(self) -> str:
        """Any directive."""
        kind = self.rng.random()
        if kind < 0.1:
            self.remembered.append(self.cfa_is_register)
            return ".cfi_remember_state"
        if kind < 0.2 and self.remembered:
            self.cfa_is_register = self.remembered.pop()
            return ".cfi_restore_state"
        return self.cfa() if kind < 0.6 else self.register()

    def lines(self) -> list[str]:
        """The whole function."""
        rng = self.rng
        lines = [".cfi_startproc"]
        if rng.random() < 0.1:
            lines.append(".cfi_signal_frame")
        for _ in range(rng.choice((0, 1, 5, 20, 20, 400))):
            lines += [self.directive() for _ in range(rng.choice((0, 1, 1, 2)))]
            lines.append(f".skip {rng.choice((1, 1, 2, 5, 16, 33, 300))}, 0x90")
        return lines + [".skip 3, 0x90", ".cfi_endproc"]


def main() -> None:
    rng = random.Random(int(sys.argv[1]))
    print(".text")
    for _ in range(40):
        print("\n".join(Function(rng).lines()))
        if rng.random() < 0.5:
            print(".balign 16")


if __name__ == "__main__":
    main()
