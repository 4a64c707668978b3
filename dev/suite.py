# SPDX-License-Identifier: GPL-2.0
"""The suites of dev/suites.toml, which says what each key means."""

import datetime
import shlex
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
REPO = HERE.parent
TABLE = HERE / "suites.toml"
LOGS = REPO / ".build" / "log"
# A variant of such a name runs on that kernel.
KERNELS = ("series", "base", "debug", "kcsan")
# Each has the suites of those before it; the last is none: its suites only run by name.
TARGETS = ("quick", "test", "all", "named")


@dataclass(frozen=True)
class Suite:
    """A table of dev/suites.toml, or one of its variants: NAME.VARIANT."""

    name: str
    target: str
    build: str = ""
    guest: str = ""
    host: str = ""
    args: str = ""
    more: str = ""
    kernels: tuple[str, ...] = ()
    seconds: int = 0
    adds: str = ""
    vm: str = ""
    fails: str = ""
    skips: tuple[dict[str, Any], ...] = ()
    alone: bool = False
    selects: bool = False

    @property
    def program(self) -> str:
        """What the variants of a suite share, with the directory for what they build."""
        return self.name.split(".")[0]

    @property
    def log(self) -> Path:
        return LOGS / f"suite-{self.name}.log"

    @property
    def runs_again(self) -> bool:
        """Whether a test that fails may run once more: not where it counts instructions."""
        return bool(self.guest) and self.selects and "--icount" not in self.vm

    def is_in(self, target: str) -> bool:
        return TARGETS.index(self.target) <= TARGETS.index(target)

    def whole(self) -> "Suite":
        """With its heavy arguments, too."""
        return replace(self, args=f"{self.args} {self.more}".strip(), more="")

    def may_skip(self, case: str) -> bool:
        today = datetime.date.today()
        return any(case in skip["cases"] and today <= skip["until"] and skip["why"]
                   for skip in self.skips)

    def command(self, words: list[str]) -> list[str]:
        """A shell that builds and runs it; WORDS are settings NAME=VALUE, and then arguments
        instead of the table's."""
        given, words = settings_first(words)
        usual, arguments = settings_first(shlex.split(self.args))
        settings, words = usual | given, words or arguments
        variables = {"OUT": f"{REPO}/.build/test/{self.program}", "REPO": str(REPO),
                     "KERNEL": self.kernels[0] if self.kernels else "", **settings}
        exports = [f"{name}={shlex.quote(value)}" for name, value in variables.items()]
        lines = [f"export {' '.join(exports)}", 'mkdir -p "$OUT"']
        if self.build:
            lines.append(f"{{\n{self.build}\n}} >&2")
        lines.append(self.guest_line(exports, settings) if self.guest else self.host)
        return ["bash", "-euo", "pipefail", "-c", "\n".join(lines), self.name, *words]

    def guest_line(self, exports: list[str], settings: dict[str, str]) -> str:
        # One stream: two would be mixed in the middle of lines.
        inner = shlex.quote(f"exec 2>&1\n{self.guest}")
        seconds = self.seconds + 2 * int(settings.get(self.adds, 0))
        return (f"exec python3 -B vm/run.py --kernel $KERNEL --timeout {seconds} {self.vm} -- "
                f"env {' '.join(exports)} bash -euo pipefail -c {inner} {self.name} \"$@\"")


def is_setting(word: str) -> bool:
    name, equals, _ = word.partition("=")
    return bool(equals) and name.isidentifier() and name.isupper()


def settings_first(words: list[str]) -> tuple[dict[str, str], list[str]]:
    """The settings that come first, and the other words."""
    count = next((i for i, word in enumerate(words) if not is_setting(word)), len(words))
    pairs = (word.partition("=") for word in words[:count])
    return {name: value for name, _, value in pairs}, words[count:]


def make(name: str, keys: dict[str, Any]) -> Suite:
    """Raises TypeError for a key that is missing or not known, ValueError for another target."""
    if keys.get("target", "named") not in TARGETS:
        raise ValueError(f"{name}: target {keys['target']!r} is none of {', '.join(TARGETS)}")
    lists = {key: tuple(keys[key]) for key in ("kernels", "skips") if key in keys}
    return Suite(name, **{**keys, **lists})


def load(path: Path = TABLE) -> list[Suite]:
    """In the order of the table. A variant has the keys of its suite but for its own; if it names no
    target, it runs only when it is named, and with `args` of its own it has no `more`."""
    suites = []
    for name, keys in tomllib.loads(path.read_text()).items():
        own = {key: value for key, value in keys.items() if not isinstance(value, dict)}
        if "guest" in own:
            own.setdefault("kernels", ["series"])
        suites.append(make(name, own))
        for variant, change in keys.items():
            if isinstance(change, dict):
                kernels = {"kernels": [variant]} if variant in KERNELS else {}
                more = {"more": ""} if "args" in change else {}
                suites.append(make(f"{name}.{variant}",
                                   {**own, "target": "named", **kernels, **more, **change}))
    return suites
