# SPDX-License-Identifier: GPL-2.0
"""The series as files of this repository.

`base`, series/series, series/<step>/{message,files,edit.patch} and the overlay, which is every
file below a top folder that the base kernel has too. One step adds an overlay file, later ones
may edit or delete it. The overlay has the last text; undoing the later edits gives the first.
"""

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Iterator

from tool import Failure

# Top folders of the base that are the repository's own here.
NOT_OVERLAY = {"LICENSES"}
# What editors and Python leave behind is no overlay file.
LEFTOVER = re.compile(r"(~|\.sw[a-p]|\.orig|\.rej|\.pyc)$")


@dataclass
class Step:
    """One commit of the series, as series/<name>/ and the overlay hold it."""

    name: str
    message: str = ""
    files: list[str] = field(default_factory=list)
    patch: bytes = b""

    @property
    def subject(self) -> str:
        return self.message.split("\n", 1)[0].strip()

    @property
    def heads(self) -> list[tuple[str, str]]:
        """Path and header lines of each file that the patch edits or deletes."""
        return list(patch_heads(self.patch.decode(errors="replace")))


def check_name(where: str, name: str) -> None:
    if not re.fullmatch(r"[a-z][a-z0-9_-]*", name) or name in ("series", "cover"):
        raise Failure(
            f"{where}: step '{name}': a name is small letters, digits, - and _, and not series or cover; rename it"
        )


def check_message(where: str, message: str) -> None:
    if not message.strip():
        raise Failure(f"{where}: missing or empty; write subject, blank line, body")
    lines = message.split("\n")
    if not lines[0].strip() or (len(lines) > 1 and lines[1].strip()):
        raise Failure(f"{where}: must be the subject, a blank line, the body")
    if re.search(r"^Signed-off-by:", message, re.M):
        raise Failure(
            f"{where}: carries a Signed-off-by; remove it: who submits signs with dev/export --signoff"
        )


class Repository:
    """The series as files of this repository."""

    def __init__(self, root: Path):
        self.root = root
        self.series = root / "series" / "series"

    def base(self) -> tuple[str, str, dict[str, str]]:
        """Package, tested version, and path -> sha256 of base files that the overlay replaces."""
        path = self.root / "base"
        package, version, replaced = "", "", {}
        if not path.exists():
            raise Failure(f"{path}: missing; it names the base's package and version")
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match line.split("#", 1)[0].split():
                case []:
                    pass
                case ["package", package]:
                    pass
                case ["version", version]:
                    pass
                case ["sha256", digest, name]:
                    replaced[name] = digest
                case _:
                    raise Failure(
                        f"{path}:{number}: not 'package', 'version' or 'sha256 HASH PATH': {line}"
                    )
        if not package or not version:
            raise Failure(f"{path}: needs a 'package' and a 'version' line")
        return package, version, replaced

    def lines(self) -> list[str]:
        return self.series.read_text().splitlines() if self.series.exists() else []

    def names(self) -> list[str]:
        """The step names in order."""
        return [line.strip() for line in self.lines() if line.strip() and not line.startswith("#")]

    def folder(self, name: str) -> Path:
        return self.root / "series" / name

    def step(self, name: str) -> Step:
        folder = self.folder(name)
        step = Step(name)
        if (folder / "message").exists():
            step.message = (folder / "message").read_text()
        if (folder / "files").exists():
            step.files = (folder / "files").read_text().split()
        if (folder / "edit.patch").exists():
            step.patch = (folder / "edit.patch").read_bytes()
        return step

    def steps(self) -> list[Step]:
        """All steps in order, after checking series/ for what has no single meaning."""
        names = self.names()
        for name in names:
            where = f"series/series: step '{name}'"
            check_name("series/series", name)
            if names.count(name) > 1:
                raise Failure(f"{where} is listed twice; remove one line")
            if not self.folder(name).is_dir():
                raise Failure(f"{where} has no folder series/{name}; add it or remove the line")
        for folder in sorted((self.root / "series").glob("*/")):
            if folder.name not in names:
                raise Failure(
                    f"series/{folder.name}: no line of series/series names this step; add the line or remove the folder"
                )
        steps = [self.step(name) for name in names]
        for step in steps:
            check_message(f"series/{step.name}/message", step.message)
            if step.files != sorted(set(step.files)):
                raise Failure(f"series/{step.name}/files: not sorted, or a path twice; sort -u it")
            if not step.files and not step.patch:
                raise Failure(
                    f"series/{step.name}: neither files nor edit.patch: the step does nothing; remove it"
                )
        return steps

    def overlay(self, folders: set[str]) -> set[str]:
        """Paths of the overlay files: all files below top folders that the base has too."""
        found = set()
        for top in folders - NOT_OVERLAY:
            for where, dirs, names in os.walk(self.root / top):
                dirs[:] = [d for d in dirs if d != "__pycache__"]
                linked = [d for d in dirs if os.path.islink(os.path.join(where, d))]
                for name in names + linked:
                    if not LEFTOVER.search(name):
                        found.add(os.path.relpath(os.path.join(where, name), self.root))
        return found

    def owners(self, steps: list[Step], folders: set[str]) -> dict[str, str]:
        """Path -> step that adds it, also of files that a later step deletes."""
        owner: dict[str, str] = {}
        for step in steps:
            for path in step.files:
                where = f"series/{step.name}/files: {path}"
                if path in owner:
                    raise Failure(
                        f"{where}: step '{owner[path]}' adds it too; one step adds a file, later ones edit it: remove one line"
                    )
                owner[path] = step.name
                if path.split("/")[0] not in folders - NOT_OVERLAY or "/" not in path:
                    raise Failure(
                        f"{where}: not below a top folder of the kernel; an overlay file needs one"
                    )
        gone = {
            path: step.name
            for step in steps
            for path, head in step.heads
            if path in owner and "\ndeleted file" in head
        }
        for path, name in owner.items():
            there = os.path.lexists(self.root / path)
            if there and path in gone:
                raise Failure(
                    f"{path}: step '{gone[path]}' deletes it, but the repository has it; remove it"
                )
            if not there and path not in gone:
                raise Failure(
                    f"series/{name}/files: {path}: no such file in the repository; add it or remove the line"
                )
        for path in sorted(self.overlay(folders)):
            if path not in owner:
                raise Failure(
                    f"{path}: no step adds this file; add it to series/<step>/files or remove it"
                )
        return owner


def patch_heads(text: str) -> Iterator[tuple[str, str]]:
    """Path and header lines of each file of a git patch."""
    for part in re.split(r"^(?=diff --git )", text, flags=re.M):
        if match := re.match(r"diff --git a/(.*?) b/\1\n", part):
            yield match[1], re.split(r"^@@", part, maxsplit=1, flags=re.M)[0]
        elif part.strip():
            raise Failure(
                f"edit.patch: not a git patch of one path: {part.splitlines()[0]}; let dev/capture write it"
            )


def hunk_at(text: str, path: str, line: int) -> str:
    """The hunk of the path that starts at the line, before it or after it."""
    for part in re.split(r"^(?=diff --git )", text, flags=re.M):
        if part.startswith(f"diff --git a/{path} b/{path}\n"):
            for hunk in re.split(r"^(?=@@ )", part, flags=re.M)[1:]:
                if re.match(rf"@@ (-|.*\+){line}[, ]", hunk):
                    return hunk.rstrip("\n")
    return f"(line {line} of {path})"
