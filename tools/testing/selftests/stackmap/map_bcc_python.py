#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Test bcc's Python class for a stack map: walk(), iteration, and clear(), which does
nothing on any kernel. Needs the tree that bcc compiles against: KERNEL_BUILD, the directory
that O= named.

Outputs: TAP on stdout; exit status 0 all passed, 1 not.
"""
import ctypes
import os
import sys

TEXT = """
#include <uapi/linux/ptrace.h>
BPF_STACK_TRACE(stacks, 64);
BPF_HASH(ids, int, u64);
int take(struct pt_regs *ctx)
{
	if (bpf_get_current_pid_tgid() >> 32 == TGID)
		ids.increment(stacks.get_stackid(ctx, 0));
	return 0;
}
"""
failures = 0


def result(number: int, passed: bool, name: str) -> None:
    global failures
    print(f"{'' if passed else 'not '}ok {number} bcc_python.{name}")
    failures += not passed


def main() -> int:
    print("TAP version 13")
    modules = f"/lib/modules/{os.uname().release}"
    if build := os.environ.get("KERNEL_BUILD"):
        os.makedirs(modules, exist_ok=True)
        for name, target in ("build", build), ("source", os.environ["KERNEL_SOURCE"]):
            if not os.path.lexists(f"{modules}/{name}"):
                os.symlink(target, f"{modules}/{name}")
    try:
        from bcc import BPF
        os.stat(f"{modules}/build")
    except (ImportError, FileNotFoundError) as error:
        print(f"1..0 # SKIP {error}\n# Totals: pass:0 fail:0 xfail:0 xpass:0 skip:1 error:0")
        return 4

    bpf = BPF(text=TEXT.replace("TGID", str(os.getpid())))
    bpf.attach_kprobe(event=bpf.get_syscall_fnname("getpgid"), fn_name="take")
    for _ in range(100):
        os.getpgid(0)
    bpf.detach_kprobe(event=bpf.get_syscall_fnname("getpgid"))

    stacks, ids = bpf["stacks"], bpf["ids"]
    taken = {key.value: count.value for key, count in ids.items()}
    result(1, len(taken) == 1 and list(taken.values()) == [100], "one_stack_one_id")
    stack_id = next(iter(taken))
    names = [bpf.ksym(ip).decode() for ip in stacks.walk(stack_id)]
    print(f"# {stack_id}: {' '.join(names)}")
    result(2, any("getpgid" in name for name in names), "walk")
    result(3, [key.value for key in stacks.keys()] == [stack_id] and len(stacks) == 1, "keys")
    stacks.clear()
    result(4, len(stacks) == 1, "clear_does_nothing")
    del stacks[ctypes.c_int(stack_id)]
    result(5, len(stacks) == 0, "delete")
    print(f"1..5\n# Totals: pass:{5 - failures} fail:{failures} xfail:0 xpass:0 skip:0 error:0")
    return 1 if failures else 0


sys.exit(main())
