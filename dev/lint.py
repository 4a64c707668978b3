# SPDX-License-Identifier: GPL-2.0
"""usage: dev/lint [CHECK]...

Static checks of the series, the overlay and the repository's own scripts, all or
those named. One line each: check, files, findings; exit status 1 if there is any.

  checkpatch    scripts/checkpatch.pl --strict on each step as a patch, and on sframe/
  messages      step messages and cover within 72 columns (indented lines may be longer);
                subjects `area: Imperative phrase` within 75, without file names
  phrases       phrases that read as translated, in pages, step messages and the code of
                the series; sframe/, bench/ and demo/ are not looked at yet
  kernel-doc    scripts/kernel-doc on the C files of the overlay and of sframe/
  sparse        make C=2 on the objects of all C files that the series adds or edits, in
                .build/obj/series; what it says of the same files in .build/obj/base is not ours
  shellcheck    all shell scripts
  python        all Python files compile
  codespell     all texts

Examples:
  dev/lint
  dev/lint checkpatch sparse
"""

import collections
import functools
import hashlib
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Callable

from export import checkpatch, format_patch
from linux_tree import Tree, __doc__ as variables
from repository import Step
from tool import Failure, run_tool

# Words of the trade that codespell takes for misspelt ones.
WORDS = "benchs,copyin,filp,fpr,ser,ue,inout,mis,te,nd"
INCLUDED = re.compile(r'^#include "(\S+\.c)"', re.M)
SUBJECT = re.compile(r"(?:Documentation|[a-z])[a-z0-9_/, -]*: ([A-Z][a-z]+) \S.*[^.]")
# First words that are no imperative: nouns, gerunds, and what something did or does.
NO_ORDER = re.compile(r"(A|An|The|No|Some|New)$|.*(ing|[^e]ed|[^s]s)$")
FILE_NAME = re.compile(r"\b[\w-]+\.(c|h|py|rst|sh|S)\b")
# Where the words of a sentence stand for those of another language: name the actor, and say
# what it does. Each is with what to write instead.
PHRASES = {
    r"whoever": "name the actor",
    r"what (?:has )?bec[ao]mes? of": "say the outcome",
    r"sp(?:eak(?:s|ing)?|oke) of": "a table covers, a text describes",
    r"in vain": "say what fails",
    r"that is none": "say what it is",
    r"shall": "has to, or will",
    r"return: (?:they|it)|(?:return|context|@\w+):\s+as there": "say it again",
}
PHRASE = re.compile(
    "|".join(rf"(?P<p{i}>(?<!\w)(?:{text})(?!\w))" for i, text in enumerate(PHRASES)), re.I
)
# Where they are looked for, and in what the series adds to files of the base
PHRASE_PLACES = (
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "DISTRIBUTIONS.md",
    "Documentation",
    "README.md",
    "arch",
    "bench",
    "demo",
    "include",
    "kernel",
    "net",
    "samples",
    "series",
    "sframe",
    "tools",
    "vm",
)
FINDING = re.compile(r"^(\S+?\.[chS]):\d+:(?:\d+:)? (warning|error): (.*)$")


class Lint:
    """The checks; each returns the number of files and its findings."""

    def __init__(self, tree: Tree):
        self.tree, self.root = tree, tree.repo.root
        self.files = self._files()

    @functools.cached_property
    def commits(self) -> list[tuple[Step, str]]:
        """The series as the repository holds it."""
        if not self.tree.path.exists():
            raise Failure(".build/linux: not there yet; run dev/tree")
        # Held no longer: sparse runs dev/kernel, which runs dev/tree.
        with self.tree.lock():
            return self.tree.commit_steps(self.tree.git("rev-parse", "base"))

    @property
    def tip(self) -> str:
        return self.commits[-1][1] if self.commits else self.tree.git("rev-parse", "base")

    @functools.cached_property
    def steps(self) -> list[Step]:
        return self.tree.repo.steps()

    @property
    def overlay(self) -> list[str]:
        """A file that a step adds and a later one deletes is not there."""
        added = [path for step in self.steps for path in step.files]
        return sorted(path for path in added if os.path.lexists(self.root / path))

    @property
    def edited(self) -> list[str]:
        """Files of the base."""
        added = {path for step in self.steps for path in step.files}
        return sorted({path for step in self.steps for path, _ in step.heads} - added)

    def _files(self) -> list[Path]:
        """All files of the repository."""
        found = []
        for where, dirs, names in os.walk(self.root):
            dirs[:] = sorted(d for d in dirs if d not in (".git", ".build", "__pycache__"))
            found += [
                Path(where, name)
                for name in sorted(names)
                if not os.path.islink(os.path.join(where, name))
            ]
        return found

    def _scripts(self, suffix: str, interpreter: str) -> list[Path]:
        """Files with the suffix, or whose first line names the interpreter."""
        found = []
        for path in self.files:
            with open(path, "rb") as file:
                first = file.readline(100).decode(errors="replace")
            if path.suffix == suffix or re.match(rf"#!.*\b{interpreter}\b", first):
                found.append(path)
        return found

    def _run(self, *command: str | Path, cwd: Path | None = None) -> list[str]:
        done = subprocess.run(
            command,
            cwd=cwd or self.root,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        lines = (done.stdout + done.stderr).splitlines()
        return lines if done.returncode == 0 or lines else [f"{command[0]}: exit {done.returncode}"]

    def _c_files(self) -> list[str]:
        return [path for path in self.overlay if path.endswith((".c", ".h"))]

    def _tool_files(self) -> list[str]:
        """C files of the tool, which keeps the kernel's style but is not in the series."""
        files = [str(path.relative_to(self.root)) for path in self.files]
        return [path for path in files if re.match(r"sframe/.*\.[ch]$", path)]

    def checkpatch(self) -> tuple[int, list[str]]:
        with tempfile.TemporaryDirectory() as scratch:
            mails = format_patch(self.tree, self.tip, Path(scratch, "mails")) if self.steps else []
            mails += [self._as_patch(path, Path(scratch)) for path in self._tool_files()]
            bad = checkpatch(self.tree, mails)
        return len(mails), bad

    def _as_patch(self, path: str, folder: Path) -> Path:
        """A patch that adds the file: checkpatch is run in the kernel's tree, not in ours."""
        lines = (self.root / path).read_text().splitlines(keepends=True)
        patch = folder / (path.replace("/", "-") + ".patch")
        head = f"Subject: {path}\n\nThe file as it is.\n---\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,{len(lines)} @@\n"
        patch.write_text(head + "".join("+" + line for line in lines))
        return patch

    def messages(self) -> tuple[int, list[str]]:
        texts = [(f"series/{step.name}/message", step.message) for step in self.steps]
        cover = self.root / "series" / "cover"
        if cover.exists():
            texts.append(("series/cover", cover.read_text()))
        bad = []
        for where, text in texts:
            for number, line in enumerate(text.splitlines(), 1):
                # The subject has room up to 75; quoted output, links and tags stay whole.
                limit = 75 if number == 1 else 72
                if len(line) > limit and not line.startswith((" ", "\t", "Fixes: ")) and "://" not in line:
                    bad.append(f"{where}:{number}: {len(line)} columns, {limit} at most")
        for step in self.steps:
            match = SUBJECT.fullmatch(step.subject)
            if not match or NO_ORDER.match(match[1]) or FILE_NAME.search(step.subject):
                bad.append(
                    f"series/{step.name}/message:1: '{step.subject}': write `area: Imperative"
                    " phrase`, without a file name or a full stop"
                )
        return len(texts), bad

    def phrases(self) -> tuple[int, list[str]]:
        bad, files = [], 0
        for path in self.files:
            where = str(path.relative_to(self.root))
            data = path.read_bytes()
            if b"\0" in data or not any(f"{where}/".startswith(f"{p}/") for p in PHRASE_PLACES):
                continue
            files += 1
            for number, line in enumerate(data.decode(errors="replace").splitlines(), 1):
                # Of a patch, what is the base's is not ours.
                if path.suffix == ".patch" and not line.startswith("+"):
                    continue
                for match in PHRASE.finditer(line):
                    hint = list(PHRASES.values())[int((match.lastgroup or "p0")[1:])]
                    bad.append(f"{where}:{number}: '{match[0]}': {hint}")
        return files, bad

    def kernel_doc(self) -> tuple[int, list[str]]:
        files = self._c_files() + self._tool_files()
        script = self.tree.build / "linux-base" / "scripts" / "kernel-doc"
        lines = self._run("perl", script, "-none", *files) if files else []
        return len(files), [
            line for line in lines if re.search(r"\b(warning|error):", line, re.I) or "exit" in line
        ]

    def _sparse(self, kernel: str, paths: list[str]) -> collections.Counter[str]:
        """Findings as `path: kind: text` with their number; line numbers move too often to compare."""
        done = subprocess.run(
            [
                self.root / "dev" / "kernel",
                kernel,
                "--",
                "-s",
                "-k",
                "-j2",
                # Or two findings can share a line.
                "-Otarget",
                "C=2",
                "CHECK=sparse",
                *(path[:-2] + ".o" for path in paths),
            ],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        found: collections.Counter[str] = collections.Counter()
        for line in done.stderr.splitlines():
            if match := FINDING.match(line):
                # dev/kernel shows the source to make at a fixed place.
                path = match[1].removeprefix("/mnt/source/").removeprefix("./")
                found[f"{path}: {match[2]}: {match[3]}"] += 1
        if done.returncode:
            found[
                f"dev/kernel {kernel}: {(done.stderr.strip() or 'no message').splitlines()[-1]}"
            ] += 1
        return found

    def _ours(self, found: collections.Counter[str]) -> collections.Counter[str]:
        """Without what sparse says of headers that the series leaves alone.

        A lock imbalance names the function at fault, but the header that took the lock."""
        mine = {*self.overlay, *self.edited}
        return collections.Counter(
            {
                line: number
                for line, number in found.items()
                if line.split(": ")[0] in mine
                or "context imbalance" in line
                or line.startswith("dev/kernel ")
            }
        )

    def _objects(self, paths: list[str]) -> list[str]:
        """C files that the kernel's own make builds here: no programs, no other architectures,
        no parts of other files."""
        files = [path for path in self.overlay if path.endswith(".c")]
        parts = {
            str(Path(path).with_name(name))
            for path in files
            for name in INCLUDED.findall((self.root / path).read_text())
        }
        return [
            path
            for path in paths
            if path.endswith(".c")
            and path not in parts
            and path.split("/")[0] not in ("tools", "samples")
            and (path.startswith("arch/x86/") or not path.startswith("arch/"))
        ]

    def _known(self) -> collections.Counter[str]:
        """What sparse says of the edited files in the base, kept for as long as these are the same."""
        paths = self._objects([path for path in self.edited if path not in self.overlay])
        config = (self.root / "vm" / "kernel.config").read_text()
        key = [self.tree.git("rev-parse", "base^{tree}"), config, Path(__file__).read_text(), *paths]
        kept = self.tree.build / "sparse" / hashlib.sha256("\n".join(key).encode()).hexdigest()
        if not kept.exists():
            found = self._ours(self._sparse("base", paths))
            if failed := [line for line in found if line.startswith("dev/kernel ")]:
                raise Failure(f"sparse: {failed[0]}")
            kept.parent.mkdir(exist_ok=True)
            for old in kept.parent.iterdir():
                old.unlink()
            kept.write_text("".join(f"{line}\n" for line in sorted(found.elements())))
        return collections.Counter(kept.read_text().splitlines())

    def sparse(self) -> tuple[int, list[str]]:
        paths = self._objects(self.overlay + self.edited)
        if not paths:
            return 0, []
        if self.tree.git("rev-parse", "HEAD^{tree}") != self.tree.git.tree_of(self.tip):
            raise Failure(
                "sparse: .build/linux is not what the repository holds; run dev/tree or dev/capture"
            )
        known = self._known()
        found = self._ours(self._sparse("series", paths))
        # A header's finding shows once per file that includes it.
        new = [
            line
            for line in sorted((found - known).elements())
            if not (".h: " in line and known[line])
        ]
        return len(paths), new

    def shellcheck(self) -> tuple[int, list[str]]:
        files = self._scripts(".sh", "(ba|da)?sh")
        return len(files), self._run("shellcheck", "-f", "gcc", *files) if files else []

    def python(self) -> tuple[int, list[str]]:
        bad = []
        files = self._scripts(".py", "python3?")
        for path in files:
            try:
                compile(path.read_bytes(), path, "exec")
            except SyntaxError as error:
                bad.append(str(error))
        return len(files), bad

    def codespell(self) -> tuple[int, list[str]]:
        files = [path for path in self.files if b"\0" not in path.read_bytes()[:8000]]
        return len(files), self._run("codespell", "-L", WORDS, *files) if files else []


CHECKS: dict[str, Callable[[Lint], tuple[int, list[str]]]] = {
    "checkpatch": Lint.checkpatch,
    "messages": Lint.messages,
    "phrases": Lint.phrases,
    "kernel-doc": Lint.kernel_doc,
    "sparse": Lint.sparse,
    "shellcheck": Lint.shellcheck,
    "python": Lint.python,
    "codespell": Lint.codespell,
}


def main() -> int:
    args = sys.argv[1:]
    if {"-h", "--help"} & set(args):
        print(__doc__ + "\n" + (variables or "").split("\n\n")[-1].rstrip())
        return 0
    if set(args) - CHECKS.keys() - {"--baseline"}:
        print(__doc__, file=sys.stderr)
        return 2

    lint = Lint(Tree())
    if "--baseline" in args:
        lint.write_baseline()
        return 0
    failed = []
    for name in args or CHECKS:
        try:
            files, findings = CHECKS[name](lint)
        except Failure as error:
            files, findings = 0, [f"{name}: {error}"]
        for line in findings:
            print(line, file=sys.stderr)
        print(f"{name + ':':14}{files:4} files, {len(findings)} findings", flush=True)
        if findings:
            failed.append(name)
    if failed:
        raise Failure(f"{', '.join(failed)}: findings above; mend them")
    return 0


if __name__ == "__main__":
    run_tool(main)
