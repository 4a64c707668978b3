# SPDX-License-Identifier: GPL-2.0
"""series/configs.toml: the configurations in which the series has to build."""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Configuration:
    """An entry of the table, with what it takes over."""

    name: str
    arch: str
    shared: str
    options: dict[str, str]
    make: tuple[str, ...]
    cheap: bool
    steps: bool

    @property
    def fragment(self) -> str:
        return "".join(f"CONFIG_{name}={value}\n" for name, value in self.options.items())


def options_of(series: Path, keys: dict) -> dict[str, str]:
    """Symbols and their values; a later line replaces an earlier one."""
    options = {}
    for fragment in keys.get("fragments", []):
        text = (series / fragment).read_text()
        options |= dict(re.findall(r"^CONFIG_(\w+)=(.*)$", text, re.M))
    for word in keys.get("options", "").split():
        name, _, value = word.lstrip("-").partition("=")
        options[name] = "n" if word.startswith("-") else value or "y"
    return options


def load(series: Path) -> dict[str, Configuration]:
    table: dict[str, Configuration] = {}
    for name, keys in tomllib.loads((series / "configs.toml").read_text()).items():
        parent = table[keys["with"]] if "with" in keys else None
        arch = keys.get("arch") or (parent.arch if parent else "x86_64")
        make = keys.get("make", " ".join(parent.make) if parent else "vmlinux")
        same = parent and parent.arch == arch
        table[name] = Configuration(
            name, arch, parent.shared if same else name,
            {**(parent.options if parent else {}), **options_of(series, keys)},
            tuple(make.split()), keys.get("cheap", False), keys.get("steps", False))
    return table
