"""Backup and restore: size, CPU seconds, and how long writers wait, beside a copy of the index folder in the same run.

    python benchmarks/backup.py [--vault kubernetes_en] [--dense] [--data FOLDER]

A folder of Markdown is indexed with words and static vectors, and with `--dense` with the transformer's too. Then
`watersmeet backup` and `restore` run as commands three times, `cp -r` beside them; the fastest is stated. Writers wait
while files are opened: that time is taken inside of one process, ten times.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import tempfile
import time
from importlib import import_module
from pathlib import Path
from typing import Any

from _common import SHARED, WATERSMEET, Runner, keep, load, machine, size_mb

from watersmeet.engine.index.location import open_index
from watersmeet.engine.settings.settings import load as settings

ROUNDS = 3


def pauses(index: Path, scratch: Path) -> list[float]:
    """Milliseconds for which the writer lock is held by a backup."""
    backup: Any = import_module("watersmeet.store.local.backup")
    found: list[float] = []
    real = backup.writer_lock

    class Timed:
        def __init__(self, folder: str, wait: float) -> None:
            self.lock = real(folder, wait)

        def __enter__(self) -> Any:
            held = self.lock.__enter__()
            self.start = time.perf_counter()
            return held

        def __exit__(self, *error: Any) -> Any:
            found.append(1000 * (time.perf_counter() - self.start))
            return self.lock.__exit__(*error)

    backup.writer_lock = Timed
    opened: Any = open_index(str(index), settings())
    for _ in range(10):
        with opened.back_up(str(scratch), 30.0):
            pass
    backup.writer_lock = real
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vault", default="kubernetes_en")
    parser.add_argument("--data", type=Path, default=SHARED / "data" / "markdown")
    parser.add_argument("--dense", action="store_true")
    options = parser.parse_args()
    before = load()
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as place:
        home, index, file = Path(place), Path(place) / "index", Path(place) / "backup.tar"
        run = Runner(home, {} if options.dense else {"WATERSMEET__INDEX__DENSE": ""})
        vault = options.data / options.vault / "files"
        synced = json.loads(run(*WATERSMEET, "sync", str(vault), "--index", str(index), "--json").out)
        costs: dict[str, list[tuple[float, float]]] = {"backup": [], "restore": [], "copy": []}
        for number in range(ROUNDS):
            restored = home / f"restored-{number}"
            for name, command in (
                ("backup", [*WATERSMEET, "backup", str(file), "--index", str(index)]),
                ("restore", [*WATERSMEET, "restore", str(file), "--index", str(restored)]),
                ("copy", ["cp", "-r", str(index), str(home / "copy")]),
            ):
                cost = run(*command)
                costs[name].append((round(cost.cpu, 2), round(cost.peak, 1)))
            shutil.rmtree(restored)
            shutil.rmtree(home / "copy")
        scratch = home / "scratch"
        scratch.mkdir()
        waits = pauses(index, scratch)
        figures = {
            "machine": machine() | {"load_before": before, "load_after": load()},
            "vault": options.vault,
            "documents": synced["documents"],
            "chunks": synced["chunks"],
            "index_mb": round(size_mb(index), 1),
            "backup_mb": round(file.stat().st_size / 1e6, 1),
            **{f"{name}_cpu_s": min(cost)[0] for name, cost in costs.items()},
            **{f"{name}_peak_mb": min(cost)[1] for name, cost in costs.items()},
            "writers_wait_ms": {"median": round(statistics.median(waits), 1), "max": round(max(waits), 1)},
        }
    print(json.dumps(keep("backup", figures), indent=1))


if __name__ == "__main__":
    main()
