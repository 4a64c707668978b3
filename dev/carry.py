# SPDX-License-Identifier: GPL-2.0
"""Carry the series elsewhere: into a distribution's source package, onto another release."""

import contextlib
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Iterator

from git import Git
from linux_tree import Tree
from tool import Failure, say

# Where Debian's kernel package keeps features, below debian/patches/.
FEATURE = "features/all/stacks"
# dpkg-source wants one, and a debian/control.
CHANGELOG = """\
linux (1-1) unstable; urgency=low

  * Patched.

 -- root <root@localhost>  Thu, 01 Jan 1970 00:00:00 +0000
"""


@contextlib.contextmanager
def clone_of_base(tree: Tree) -> Iterator[Git]:
    """A clone at the base on branch am, with only those files that the series edits."""
    clone = tree.build / "am.partial"
    shutil.rmtree(clone, ignore_errors=True)
    try:
        tree.git("clone", "--quiet", "--shared", "--no-checkout", ".", str(clone.resolve()))
        git = Git(clone)
        # The index has the whole base.
        sparse = clone / ".git" / "info" / "sparse-checkout"
        sparse.parent.mkdir(exist_ok=True)
        sparse.write_text("".join(f"/{path}\n" for path in touched(tree)))
        git("config", "core.sparseCheckout", "true")
        git("checkout", "--quiet", "-b", "am", tree.git("rev-parse", "base"))
        yield git
    finally:
        shutil.rmtree(clone, ignore_errors=True)


def touched(tree: Tree) -> list[str]:
    """The files that the series edits or adds."""
    return tree.git("diff", "--name-only", "--no-renames", "base", "series").splitlines()


# -- a distribution's source package ----------------------------------------


def write_quilt(tree: Tree, mails: list[Path], where: Path) -> None:
    """The patches as debian/patches has them, after the proof that dpkg-source applies them."""
    mark = f"# {tree.package}: complete call stacks"
    series = where / "series"
    if where == Path("/"):
        raise Failure(f"{where}: not a directory of patches")
    if os.path.lexists(series):
        text = series.read_text(errors="replace") if series.is_file() else ""
        if not text.startswith(mark):
            raise Failure(f"{series}: not written by dev/export; name another directory")
    with clone_of_base(tree) as git:
        queue = git.work / "debian/patches"
        shutil.rmtree(queue, ignore_errors=True)
        (queue / FEATURE).mkdir(parents=True)
        for mail in mails:
            shutil.copyfile(mail, queue / FEATURE / mail.name)
        lines = [f"{FEATURE}/{mail.name}" for mail in mails]
        (queue / "series").write_text("\n".join([mark, *lines]) + "\n")
        prove_quilt(tree, git)
        shutil.rmtree(where / FEATURE, ignore_errors=True)
        shutil.copytree(queue / FEATURE, where / FEATURE)
        shutil.copyfile(queue / "series", series)
    print(
        f"quilt: {len(mails)} patches in {where}; dpkg-source gives the tree of branch series\n"
        f"Copy {where}/features into debian/patches, and add {series} to debian/patches/series."
    )


def prove_quilt(tree: Tree, git: Git) -> None:
    """Have dpkg-source apply debian/patches to the clone, without fuzz, as in a build."""
    debian = git.work / "debian"
    (debian / "source").mkdir(parents=True, exist_ok=True)
    (debian / "source/format").write_text("3.0 (quilt)\n")
    (debian / "changelog").write_text(CHANGELOG)
    (debian / "control").write_text("Source: linux\n\nPackage: linux\nArchitecture: any\n")
    done = subprocess.run(
        ["dpkg-source", "--before-build", "."],
        cwd=git.work,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode:
        raise Failure(
            f".build/series: dpkg-source does not apply it:\n{done.stdout}{done.stderr}"
        )
    # Only of the files that the series edits; dpkg-source keeps its own beside them.
    names = "\0".join(touched(tree))
    git("add", "--force", "--sparse", "--pathspec-from-file=-", "--pathspec-file-nul",
        data=names.encode(errors="surrogateescape"))  # fmt: skip
    if git("write-tree") != tree.git.tree_of("series"):
        raise Failure(
            ".build/series: dpkg-source gives another tree than branch series:\n"
            + git("diff", "--cached", "--stat", tree.git.tree_of("series"))
        )


# -- another release ----------------------------------------------------------


def try_release(tree: Tree, mails: list[Path], name: str) -> int:
    """Apply each step to another release, and say which stop.  Returns how many."""
    stops = merges = 0
    with tempfile.TemporaryDirectory(dir=tree.build) as scratch, clone_of_base(tree) as git:
        put_release(tree, git, release_files(tree, name, Path(scratch)))
        for mail in mails:
            if not git.try_run("apply", "--index", str(mail.resolve())).returncode:
                pass
            elif not git.try_run("apply", "--index", "--3way", str(mail.resolve())).returncode:
                merges += 1
                print(f"merges  {mail.name}")
            else:
                stops += 1
                print(f"stops   {mail.name}")
                for place in apply_what_fits(git, mail):
                    print(f"        {place}")
            git("commit", "--quiet", "--allow-empty", "--no-verify", "-m", mail.name)
    print(
        f"try {name}: of {len(mails)} patches {len(mails) - merges - stops} apply, "
        f"{merges} by a merge with .build/linux, {stops} stop"
    )
    return stops


def apply_what_fits(git: Git, mail: Path) -> list[str]:
    """Apply the hunks that fit, so that the next steps can be tried.  Returns the others."""
    git("reset", "--quiet", "--hard")
    done = git.try_run("apply", "--reject", str(mail.resolve()))
    for left in git.work.rglob("*.rej"):
        left.unlink()
    git("add", "--all", "--sparse")
    text = done.stderr.decode(errors="replace")
    missing = re.findall(r"^error: (\S+): (No such file or directory|already exists)", text, re.M)
    return re.findall(r"^error: patch failed: (\S+:\d+)", text, re.M) + [
        f"{path}: {why}" for path, why in missing
    ]


def put_release(tree: Tree, git: Git, release: Path) -> None:
    """Replace the files of the clone by those of the release, and commit them."""
    for path in touched(tree):
        mine, theirs = git.work / path, release / path
        if not theirs.exists():
            mine.unlink(missing_ok=True)
            continue
        mine.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(theirs, mine)
    git("add", "--all", "--force", "--sparse")
    git("commit", "--quiet", "--allow-empty", "--no-verify", "-m", "the release")


def release_files(tree: Tree, name: str, scratch: Path) -> Path:
    """The folder of a release: a kernel tree, or what is unpacked of the base's package."""
    folder = Path(name)
    if folder.is_dir():
        if not (folder / "Makefile").exists() or not (folder / "MAINTAINERS").exists():
            raise Failure(f"{folder}: not a kernel tree; it has no Makefile or no MAINTAINERS")
        return folder
    version = known_version(tree, name)
    say(f"fetching {tree.package} {version}")
    fetch = ["apt-get", "--quiet", "download", f"{tree.package}={version}"]
    run(fetch, scratch, f"{tree.package} {version}: cannot be downloaded")
    package = next(scratch.glob("*.deb"))
    run(["dpkg-deb", "--extract", package.name, "."], scratch, f"{package.name}: damaged")
    return unpack(tree, next(scratch.glob("usr/src/*.tar.*")), scratch)


def known_version(tree: Tree, name: str) -> str:
    """The newest version of the base's package that begins with name."""
    done = subprocess.run(
        ["apt-cache", "madison", tree.package], capture_output=True, text=True, check=False
    )
    versions = [line.split("|")[1].strip() for line in done.stdout.splitlines() if "|" in line]
    for version in versions:
        if version == name or version.startswith(f"{name}-"):
            return version
    known = ", ".join(dict.fromkeys(versions)) or "none"
    raise Failure(
        f"{name}: neither a kernel tree nor a version of {tree.package} that apt knows: {known}"
    )


def unpack(tree: Tree, tarball: Path, scratch: Path) -> Path:
    """Of a kernel's tarball, the files that the series edits."""
    say(f"unpacking {tarball.name}")
    done = subprocess.run(
        ["tar", "-tf", str(tarball)], capture_output=True, text=True, errors="replace", check=False
    )
    if done.returncode or not done.stdout:
        raise Failure(f"{tarball}: no tarball: {done.stderr.strip()}")
    top = done.stdout.split("/", 1)[0]
    have = set(done.stdout.splitlines())
    want = [f"{top}/{path}" for path in touched(tree)]
    names = scratch / "names"
    names.write_text("".join(f"{name}\n" for name in want if name in have))
    extract = ["tar", "-xf", str(tarball), "--no-same-owner", "--verbatim-files-from"]
    run([*extract, "--files-from", str(names)], scratch, f"{tarball}: damaged")
    return scratch / top


def run(command: list[str], where: Path, error: str) -> None:
    done = subprocess.run(command, cwd=where, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failure(f"{error}: {done.stderr.strip()}")
