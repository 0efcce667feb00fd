"""Shared parts of the benchmarks: machine, commit, commands and their cost, result files."""

from __future__ import annotations

import json
import math
import os
import platform
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"
RESULTS = ROOT / "benchmarks" / "results"
WATERSMEET = [sys.executable, "-c", "from watersmeet.face.cli.main import main; main()"]


@dataclass(frozen=True)
class Cost:
    """The cost of a command: CPU seconds (user and system, with children), peak memory in MB, seconds."""

    cpu: float
    peak: float
    wall: float
    out: str


class CommandFailed(Exception):
    """A command failed; the message has the end of its output."""


class Runner:
    """Runs commands in a home of their own and measures them."""

    def __init__(self, home: Path, extra: Mapping[str, str] | None = None) -> None:
        self.home = home
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("WATERSMEET__")}
        self.env.pop("PYTHONDONTWRITEBYTECODE", None)  # real runs have bytecode
        self.env |= {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache"), "XDG_CONFIG_HOME": str(home / "config")}
        self.env |= extra or {}

    def __call__(self, *argv: str, good: tuple[int, ...] = (0, 1)) -> Cost:
        """`good`: exit codes that are no failure; ours is 1 where nothing was found."""
        start = time.perf_counter()
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            process = subprocess.Popen(argv, env=self.env, cwd=self.home, stdout=out, stderr=err)
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            wall = time.perf_counter() - start
            out.seek(0)
            err.seek(0)
            text = out.read().decode(errors="replace")
            if process.returncode not in good:
                output = (text + err.read().decode(errors="replace")).strip()
                raise CommandFailed(f"{' '.join(argv)[:200]} ended with {process.returncode}: {output[-600:]}")
        return Cost(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, wall, text)


def cold(
    run: Runner, command: Sequence[str], queries_asked: Sequence[str], good: tuple[int, ...] = (0, 1)
) -> dict[str, float]:
    """Cold start: one process per query, in turn with the bare interpreter; medians of CPU time."""
    ours, bare = [], []
    run(*command, queries_asked[0], good=good)
    for query in queries_asked:
        ours.append(run(*command, query, good=good).cpu)
        bare.append(run(sys.executable, "-c", "pass").cpu)
    return {
        "cold_cpu_ms": round(1000 * statistics.median(ours), 1),
        "python_cpu_ms": round(1000 * statistics.median(bare), 1),
        "cold_to_python": round(statistics.median(ours) / statistics.median(bare), 2),
    }


def queries(folder: Path, count: int, step: int = 8) -> list[str]:
    """Words, pairs, sentences and identifiers from all over a folder of Markdown."""
    chance = random.Random(1)  # noqa: S311 - to be repeatable
    text = "\n".join(path.read_text(errors="replace") for path in sorted(folder.rglob("*.md"))[::step])
    words = [word for word, n in Counter(re.findall(r"[a-z]{4,}", text)).items() if n > 2]
    identifiers = sorted(set(re.findall(r"\b[a-z]+(?:[A-Z][a-z]+)+\b|--[a-z][a-z-]{3,}|\b[a-z]+(?:_[a-z]+)+\b", text)))
    sentences = [s.strip() for s in re.findall(r"(?<=\. )[A-Z][^.\n<>{}`]{30,90}(?=\.)", text)]
    made: list[str] = []
    for n in range(count):
        kinds = (
            lambda: chance.choice(words),
            lambda: " ".join(chance.sample(words, 2)),
            lambda: chance.choice(sentences),
            lambda: chance.choice(identifiers),
            lambda: f"what does {chance.choice(identifiers)} do",
        )
        made.append(kinds[n % len(kinds)]())
    return made


def percentiles(values: Sequence[float]) -> dict[str, float]:
    cuts = statistics.quantiles(values, n=20)
    return {"p50": round(statistics.median(values), 2), "p95": round(cuts[18], 2)}


def exponent(sizes: Sequence[float], values: Sequence[float]) -> float | None:
    """The growth exponent (slope of the logarithms): 1 is linear, 0 is none. None with fewer than two sizes."""
    if len(sizes) < 2 or min(values) <= 0:
        return None
    slope = statistics.linear_regression([math.log(s) for s in sizes], [math.log(v) for v in values]).slope
    return round(slope, 3)


def size_mb(folder: Path) -> float:
    return round(sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6, 1)


def peak_mb() -> int:
    """Peak memory of this process, without that of its parent."""
    found = re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())
    return round(int(found[1]) / 1024) if found else 0


def machine() -> dict[str, Any]:
    model = re.findall(r"model name\s*: (.+)", Path("/proc/cpuinfo").read_text()) or [platform.processor()]
    return {
        "processor": model[0],
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "load_before": load(),
    }


def load() -> list[float]:
    """The machine's load average over one and five minutes."""
    return [round(one, 1) for one in os.getloadavg()[:2]]


def commit() -> str:
    """The measured commit, marked if the package differs from it."""

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()

    return (git("rev-parse", "--short", "HEAD") or "unknown") + (
        "-dirty" if git("status", "--porcelain", "src") else ""
    )


def keep(name: str, figures: Mapping[str, Any], folder: Path | None = RESULTS) -> dict[str, Any]:
    """Writes the figures to `<name>-<commit>.json`, if there is a folder; returns them with the commit."""
    result = {"commit": commit(), "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), **figures}
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        place = folder / f"{name}-{result['commit']}.json"
        place.write_text(json.dumps(result, indent=1) + "\n", "utf8")
        print(place, file=sys.stderr)
    return result
