# SPDX-License-Identifier: GPL-2.0
"""Import the base: make one commit from a tarball."""

import stat
import subprocess
import tarfile
from pathlib import Path
from typing import IO

from git import DATE, EMAIL, NAME, Git
from tool import Failure, Progress


def _add_member(to: IO[bytes], tar: tarfile.TarFile, member: tarfile.TarInfo) -> None:
    # The first component is the tarball's own folder.
    path = member.name.removeprefix("./").partition("/")[2]
    if member.issym():
        mode, data = "120000", member.linkname.encode()
    elif member.isfile():
        mode = "100755" if member.mode & stat.S_IXUSR else "100644"
        data = tar.extractfile(member).read()  # type: ignore[union-attr]
    elif member.isdir():
        return
    else:
        raise tarfile.TarError(f"{member.name} is no file, link or folder")
    quoted = path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    to.write(
        f'M {mode} inline "{quoted}"\ndata {len(data)}\n'.encode("utf-8", "surrogateescape")
        + data
        + b"\n"
    )


def import_tarball(git: Git, tarball: Path, what: str, package: str, ref: str) -> str:
    """Stream the tarball into one pack, and have ref name the commit, whose message is what.

    git's ignore rules have no say in it. Returns the commit.
    """
    if not tarball.exists():
        raise Failure(
            f"{tarball}: no such file; it comes with {package}: run dev/env setup"
        )
    progress = Progress(f"importing {what}", tarball.stat().st_size)
    with (
        open(tarball, "rb") as packed,
        subprocess.Popen(
            [
                "git",
                "-c",
                "core.compression=1",
                "fast-import",
                "--quiet",
                "--done",
                "--depth=0",
            ],
            cwd=git.work,
            env=git.env(),
            stdin=subprocess.PIPE,
        ) as importer,
    ):
        to = importer.stdin
        assert to
        who = f"{NAME} <{EMAIL}> {DATE}"
        text = f"{what}\n".encode()
        try:
            to.write(f"commit {ref}\ncommitter {who}\ndata {len(text)}\n".encode() + text)
            with tarfile.open(fileobj=packed, mode="r|*") as tar:
                for member in tar:
                    _add_member(to, tar, member)
                    progress.at(packed.tell())
                # tarfile takes an end within a header for the archive's.
                if not tar.fileobj.read(tarfile.BLOCKSIZE):  # type: ignore[union-attr]
                    raise EOFError("it has no end")
            to.write(b"done\n")
            to.close()
        except (OSError, tarfile.TarError, EOFError) as error:
            importer.kill()
            raise Failure(
                f"{tarball}: import failed: {error}; a broken file? run dev/env setup"
            ) from error
        if importer.wait():
            raise Failure(f"{git.work}: git fast-import failed; is the disk full?")
    # The base never changes: keep git's housekeeping from repacking it.
    for pack in (git.work / ".git/objects/pack").glob("*.pack"):
        pack.with_suffix(".keep").touch()
    progress.end()
    return git("rev-parse", ref)
