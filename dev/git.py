# SPDX-License-Identifier: GPL-2.0
"""Run git on one work tree, ignoring the user's configuration and environment.

Commits have a fixed identity and date: the same input gives the same ids on every machine.
"""

import os
import subprocess
from pathlib import Path

from tool import Failure

NAME = "Linux Stacks"
EMAIL = "linux-stacks@localhost"
# One date for all commits: ids depend on the content alone.
DATE = "1735689600 +0000"


class Git:
    """git on the work tree work."""

    def __init__(self, work: Path):
        self.work = work

    def env(self, **extra: str) -> dict[str, str]:
        env = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
        # Without the ceiling, a damaged work tree would mean the repository around it.
        env |= {
            "GIT_CEILING_DIRECTORIES": str(self.work.resolve().parent),
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_AUTHOR_NAME": NAME,
            "GIT_AUTHOR_EMAIL": EMAIL,
            "GIT_AUTHOR_DATE": DATE,
            "GIT_COMMITTER_NAME": NAME,
            "GIT_COMMITTER_EMAIL": EMAIL,
            "GIT_COMMITTER_DATE": DATE,
        }
        return env | extra

    def try_run(
        self, *args: str, data: bytes | None = None, **env: str
    ) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            ["git", *args],
            cwd=self.work,
            env=self.env(**env),
            input=data,
            capture_output=True,
            check=False,
        )

    def raw(self, *args: str, data: bytes | None = None, **env: str) -> bytes:
        done = self.try_run(*args, data=data, **env)
        if done.returncode:
            text = done.stderr.decode(errors="replace").strip()
            raise Failure(f"{self.work}: git {args[0]} failed: {text}")
        return done.stdout

    def __call__(self, *args: str, data: bytes | None = None, **env: str) -> str:
        return self.raw(*args, data=data, **env).decode(errors="surrogateescape").strip()

    def commit_of(self, name: str) -> str | None:
        done = self.try_run("rev-parse", "--quiet", "--verify", name + "^{commit}")
        return done.stdout.decode().strip() if done.returncode == 0 else None

    def tree_of(self, commit: str) -> str:
        return self("rev-parse", commit + "^{tree}")

    def files_of(self, commit: str) -> dict[str, str]:
        """Path -> blob of every file of the commit."""
        out = self.raw("ls-tree", "-r", "-z", commit).decode(errors="surrogateescape")
        return {
            line.split("\t", 1)[1]: line.split("\t", 1)[0].split()[2]
            for line in out.split("\0")
            if line
        }
