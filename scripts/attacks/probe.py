"""A probe: one attack, and what must come of it. It raises `Breach` if the attack got through."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

COMMAND = [sys.executable, "-c", "from watersmeet.face.cli.main import main; main()"]
PROBES: list[Probe] = []


class Breach(AssertionError):
    """The attack got through; the message says how."""


@dataclass(frozen=True)
class Probe:
    area: str
    tried: str
    run: Callable[[Path], str]  # takes an empty folder; returns what was refused
    slow: bool = False  # left out of the short form that CI runs


def probe(tried: str, *, slow: bool = False) -> Callable[[Callable[[Path], str]], Callable[[Path], str]]:
    """Register an attack under the name of its file; `tried` is its row in the table."""

    def register(run: Callable[[Path], str]) -> Callable[[Path], str]:
        PROBES.append(Probe(run.__module__.rpartition(".")[2], tried, run, slow))
        return run

    return register


def command(
    folder: Path, *words: str | bytes, timeout: float = 60, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """`watersmeet WORDS` in this folder, with a home of its own. A traceback is a breach whatever was tried."""
    home = folder / "home"
    home.mkdir(exist_ok=True)
    surroundings = {**os.environ, "HOME": str(home), "XDG_CACHE_HOME": str(home / "cache"), **(environment or {})}
    surroundings.setdefault("XDG_CONFIG_HOME", str(home / "config"))
    done = subprocess.run(
        [*COMMAND, *words],
        cwd=folder,
        env=surroundings,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=timeout,
        check=False,
    )
    require("Traceback" not in done.stderr, f"a traceback: {done.stderr[-300:]}")
    return done


def require(condition: object, otherwise: str) -> None:
    if not condition:
        raise Breach(otherwise)
