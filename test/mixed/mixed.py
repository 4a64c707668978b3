# SPDX-License-Identifier: GPL-2.0
"""Record programs that mix code with and without tables on base and series, and compare.

usage: dev/check mixed -- [BASE=kept] [NAME...]

NAME is a program of programs.toml, or a pattern. With BASE=kept the recordings of the base
are those of an earlier run, where there are some. KTAP, a case for each program and way to
unwind, goes to standard output, and at its end a table.

  dev/check mixed -- BASE=kept 'java*' cgo
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import judge
import programs
import record

HERE = Path(__file__).resolve().parent
REPO = HERE.parents[1]
sys.path.insert(0, str(REPO / "test"))
import tap  # noqa: E402  pylint: disable=wrong-import-position

OUT = REPO / ".build" / "test" / "mixed"
# One program takes a minute or less, but for Java.
GUEST_SECONDS = 300
PROGRAM_SECONDS = 90
NATIVE_SECONDS = 60
MAPPED = re.compile(r"^\S+ r-xp .* (/\S+)$", re.MULTILINE)
# perf looks for a file in the mount namespace of the process with the recorded PID, if there is one.
ALONE = ["unshare", "--pid", "--fork", "--mount-proc"]
COLUMNS = "# {:<14} {:<6} {:>7} {:>7} {:>9} {:>7} {:>7} {:>8}  {}"


def build() -> None:
    (OUT / "bin").mkdir(parents=True, exist_ok=True)
    for directory, target in (("sframe", OUT), (HERE / "src", OUT / "bin")):
        subprocess.run(["make", "-s", "-C", directory, f"O={target}"], cwd=REPO, check=True,
                       stdout=sys.stderr)


def make_tables(chosen: list[programs.Program]) -> None:
    """Of all that the programs have mapped: a guest would take minutes to find that out."""
    objects = set()
    for program in chosen:
        with program.running(OUT / "bin", NATIVE_SECONDS) as pid:
            maps = Path(f"/proc/{pid}/maps").read_text(encoding="utf-8")
            objects |= {path for path in MAPPED.findall(maps) if os.path.isfile(path)}
    # It fails for those that have nothing to make a table of.
    subprocess.run([OUT / "sframe", "cache", "--quiet", "--cache-dir", OUT / "cache",
                    *sorted(objects)], check=False, stdout=sys.stderr)


def run_guest(kernel: str, names: list[str]) -> bool:
    where = OUT / kernel
    where.mkdir(exist_ok=True)
    for name in names:
        for old in (f"{name}.log", *(f"{name}-{mode}.data" for mode in record.MODES)):
            (where / old).unlink(missing_ok=True)
    limit = GUEST_SECONDS + PROGRAM_SECONDS * len(names)
    return subprocess.run([REPO / "vm/run", "--kernel", kernel, "--mem", "3G", "--timeout",
                           str(limit), "--", "python3", "-B", HERE / "record.py", OUT, kernel,
                           *names], check=False, stdout=sys.stderr).returncode == 0


def stacks(program: programs.Program, kernel: str, mode: str) -> judge.Stacks:
    data = OUT / kernel / f"{program.name}-{mode}.data"
    if not data.exists():
        return judge.measure(program, [])
    text = subprocess.run([*ALONE, "perf", "script", "--no-inline", "--force", "-F", judge.FIELDS,
                           "-i", data],
                          capture_output=True, text=True, errors="replace", check=True).stdout
    return judge.measure(program, text.splitlines())


def compare(program: programs.Program) -> list[tuple[str, list[str], str]]:
    """For each way to unwind its name, what is wrong and the table's line."""
    base = stacks(program, "base", "fp")
    results = []
    for mode in record.MODES:
        series = stacks(program, "series", mode)
        wrong = judge.complaints(program, base, series)
        chain = f"{series.chain.mean:.1%}" if program.chain else "-"
        line = COLUMNS.format(program.name, mode, f"{base.depth.mean:.1f}", f"{base.whole.mean:.1%}",
                              f"{series.depth.mean:.1f}", f"{series.whole.mean:.1%}", chain,
                              series.outside, "; ".join(wrong) or "ok")
        results.append((f"{program.name}-{mode}", wrong, line))
    return results


def main() -> int:
    chosen = programs.choose(sys.argv[1:])
    build()
    make_tables(chosen)
    names = [program.name for program in chosen]
    recorded = [name for name in names if (OUT / "base" / f"{name}-fp.data").exists()]
    for_base = [n for n in names if n not in recorded] if os.environ.get("BASE") == "kept" else names
    good = {"base": not for_base or run_guest("base", for_base), "series": run_guest("series", names)}

    results = [result for program in chosen for result in compare(program)]
    tests = tap.Tap()
    for name, wrong, _ in results:
        tests.result(not wrong, name, *wrong)
    tests.result(all(good.values()), "guests")
    print(COLUMNS.format("program", "mode", "base", "whole", "series", "whole", "chain", "outside",
                         "result"))
    for _, _, line in results:
        print(line)
    return tests.finish()


if __name__ == "__main__":
    sys.exit(main())
