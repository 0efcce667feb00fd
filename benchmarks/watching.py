"""Watching: from save to found, a burst of files, and the cost of counting changed files beside a search.

    python benchmarks/watching.py [--saves 30] [--burst 3000] [--data FOLDER]

`watersmeet watch` runs as a process over a copy of a vault; this process saves files and searches by words until they
are found. The look is timed in one process, and as the difference of whole `search` commands with and without it. The
load of the machine is stated beside the figures.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from _common import SHARED, WATERSMEET, Runner, keep, load, machine

from watersmeet import Engine
from watersmeet.engine.query.staleness import count_stale
from watersmeet.engine.settings.settings import load as settings

VAULTS = ("obsidian_help_en", "kubernetes_en")
MOST_SECONDS = 300.0
TIMES = 15


def wait(holds: Callable[[], object]) -> float:
    """Seconds until it holds."""
    start = time.monotonic()
    while not holds():
        if time.monotonic() > start + MOST_SECONDS:
            raise TimeoutError
        time.sleep(0.02)
    return time.monotonic() - start


def spread(values: list[float], digits: int = 2) -> dict[str, Any]:
    return {
        "times": len(values),
        "median": round(statistics.median(values), digits),
        "max": round(max(values), digits),
    }


def watch(vault: Path, index: Path, place: Path, saves: int, burst: int) -> dict[str, Any]:
    with (place / "watch.log").open("w") as log:
        process = subprocess.Popen([*WATERSMEET, "watch", "--index", str(index)], stdout=log, stderr=log, cwd=place)
        try:
            with Engine(index, settings()) as engine:
                time.sleep(10)  # the first sync, and the start of listening
                return {"load": load(), **_saves(engine, vault, saves), **_burst(engine, vault, burst)}
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


def _saves(engine: Engine, vault: Path, saves: int) -> dict[str, Any]:
    files = sorted(vault.rglob("*.md"))
    delays = []
    for number in range(saves):
        word = f"heron{os.getpid()}x{number}"
        file = files[number * 37 % len(files)]
        file.write_text(f"{file.read_text(errors='replace')}\n\n{word}\n")
        delays.append(wait(partial(_finds, engine, word)))
        time.sleep(0.3)
    return {"save_to_found_s": spread(delays)}


def _finds(engine: Engine, word: str) -> bool:
    found = engine.search(word, mode="lexical").results
    return any(word in one.text for one in found)  # not only what is spelled like it


def _burst(engine: Engine, vault: Path, burst: int) -> dict[str, Any]:
    before = engine.status()["documents"]
    start = time.monotonic()
    for number in range(burst):
        place = vault / "burst" / str(number % 30)
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{number}.md").write_text(f"# Number {number}\n\nThe otter number{number} swims here.\n")
    written = time.monotonic() - start
    wait(lambda: engine.status()["documents"] == before + burst)
    found = time.monotonic() - start
    os.rename(vault / "burst", vault / "renamed")
    renamed = wait(lambda: _at(engine, "renamed/") == burst)
    return {
        "burst": {
            "files": burst,
            "written_s": round(written, 1),
            "all_found_s": round(found, 1),
            "folder_renamed_s": round(renamed, 1),
        }
    }


def _at(engine: Engine, beginning: str) -> int:
    return sum(one["document"].startswith(beginning) for one in engine.documents())


def look(index: Path, place: Path) -> dict[str, Any]:
    with Engine(index, settings()) as engine:
        assert count_stale(engine.index, engine.settings, 60) == 0
        costs = []
        for _ in range(TIMES):
            start = time.thread_time()
            count_stale(engine.index, engine.settings, 60)
            costs.append((time.thread_time() - start) * 1000)
    cpu: dict[str, list[float]] = {"true": [], "false": []}
    answers = set()
    for _ in range(TIMES):
        for on, used in cpu.items():
            run = Runner(place, {"WATERSMEET__WATCH__STALE": on})
            done = run(*WATERSMEET, "search", "how do I start", "--mode", "lexical", "--json", "--index", str(index))
            used.append(done.cpu * 1000)
            answers.add((on, json.loads(done.out)["stale"]))
    return {
        "load": load(),
        "look_cpu_ms": spread(costs, 1),
        "command_cpu_ms": {"with": spread(cpu["true"], 0), "without": spread(cpu["false"], 0)},
        "answers": sorted(map(list, answers), key=str),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--saves", type=int, default=30)
    parser.add_argument("--burst", type=int, default=3000)
    parser.add_argument("--data", type=Path, default=SHARED / "data" / "markdown")
    options = parser.parse_args()
    figures: dict[str, Any] = {"machine": machine()}
    with tempfile.TemporaryDirectory() as name:
        place = Path(os.path.realpath(name))
        os.environ |= {"XDG_CACHE_HOME": f"{place}/cache", "XDG_CONFIG_HOME": f"{place}/config", "HOME": str(place)}
        os.environ["WATERSMEET__INDEX__DENSE"] = ""
        for vault in VAULTS:
            shutil.copytree(options.data / vault, place / vault)
            with Engine(place / f"{vault}.index", settings()) as engine:
                engine.sync([place / vault])
                files = engine.status()["documents"]
            time.sleep(3)
            found = look(place / f"{vault}.index", place)
            found |= watch(place / vault, place / f"{vault}.index", place, options.saves, options.burst)
            figures[vault] = {"files": files, **found}
            print(json.dumps({vault: figures[vault]}, indent=1), flush=True)
            keep("watching", figures)


if __name__ == "__main__":
    main()
