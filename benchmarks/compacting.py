"""How long a writer waits for its turn while another process compacts the words of an index.

    git worktree add ../before COMMIT
    python benchmarks/compacting.py --before ../before [--copies 4] [--data FOLDER]

A folder is indexed several times (words only) and one copy is removed. Then one process compacts, while this one opens
the index for writing again and again, notes a value, and closes it. Both states of the source begin with the same
index.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from _common import ROOT, SHARED, WATERSMEET, Runner, keep, load, machine

from watersmeet.engine.index.location import open_index
from watersmeet.engine.index.writer import open_for_writing
from watersmeet.engine.settings.settings import load as settings

DATA = SHARED / "data" / "markdown" / "kubernetes_en"
COMPACT = "import sys; from watersmeet import Engine; print(Engine(sys.argv[1]).compact(grace=0))"
PAUSE = 0.1


def built(place: Path, tree: Path, data: Path, copies: int) -> tuple[Path, int]:
    """An index by the earlier source, with one copy removed, and how many chunks it has."""
    run = Runner(place, {"WATERSMEET__WRITER__COMPACT_SHARE": "1", "PYTHONPATH": str(tree / "src")})
    index, folder = place / "index", place / "pages"
    for number in range(copies):
        shutil.copytree(data, folder / str(number))
    sync = [*WATERSMEET, "sync", str(folder), "--no-vectors", "--index", str(index), "-q"]
    run(*sync)
    shutil.rmtree(folder / "0")
    run(*sync)
    status = run(*WATERSMEET, "status", "--json", "--index", str(index)).out
    return index, json.loads(status)["chunks"]


def waits(index: Path, env: Mapping[str, str]) -> dict[str, Any]:
    """Waits of a writer while a process compacts, and what that took."""
    chosen = settings(start=str(index.parent))
    opened = open_index(str(index), chosen)
    took: list[float] = []
    process = subprocess.Popen([sys.executable, "-c", COMPACT, str(index)], env={**env}, stdout=subprocess.PIPE)
    start = time.monotonic()
    while process.poll() is None:
        began = time.monotonic()
        with open_for_writing(opened, chosen) as writer:
            writer.catalogue.set_meta({"probe": str(len(took))})
        took.append(time.monotonic() - began)
        time.sleep(PAUSE)
    wall = time.monotonic() - start
    opened.close()
    assert process.stdout is not None
    freed = int(process.stdout.read())
    return {
        "freed": freed,
        "seconds": round(wall, 1),
        "turns": len(took),
        "longest_wait_s": round(max(took), 2),
        "median_wait_s": round(statistics.median(took), 3),
        "load": load(),
    }


def children_cpu() -> float:
    used = os.times()
    return used.children_user + used.children_system


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--before", type=Path, required=True)
    parser.add_argument("--now", type=Path, default=ROOT)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--copies", type=int, default=4)
    args = parser.parse_args()
    about = machine()
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        index, chunks = built(place, args.before.resolve(), args.data.resolve(), args.copies)
        for name, tree in {"before": args.before, "now": args.now}.items():
            copy = place / f"index-{name}"
            shutil.copytree(index, copy)
            before = children_cpu()
            figures[name] = waits(copy, {**os.environ, "PYTHONPATH": str(tree.resolve() / "src")})
            figures[name]["cpu_s"] = round(children_cpu() - before, 1)
    print(json.dumps(keep("compacting", {"machine": about, "live_chunks": chunks, **figures}), indent=1))


if __name__ == "__main__":
    main()
