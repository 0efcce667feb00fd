"""Backup and restore of an index in PostgreSQL and Qdrant: size, CPU seconds here and in the servers, and how long
commits take meanwhile.

    python benchmarks/cluster_backup.py [--vault kubernetes_en] [--data FOLDER] [--keep]

A folder of Markdown is indexed with words and static vectors. It is backed up twice, the second time while a thread
syncs one changed page again and again, which is timed, and restored once under another name.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from _common import ROOT, SHARED, keep, load, machine

sys.path.insert(0, str(ROOT / "tests" / "helpers"))

from _cluster_cpu import used

from clusters import running
from watersmeet import Engine
from watersmeet.engine.backup.backup import back_up, restore
from watersmeet.engine.settings.settings import Settings
from watersmeet.engine.settings.settings import load as settings_of

FEWEST = 10
"""Commits that are timed at least."""


def commits(engine: Engine, folder: Path, over: threading.Event) -> list[float]:
    """Milliseconds of each sync of one changed page, until it is over."""
    found: list[float] = []
    while not over.is_set() or len(found) < FEWEST:
        (folder / "page.md").write_text(f"# Page\n\nVersion {len(found)} of it.\n")
        start = time.perf_counter()
        engine.sync([folder])
        found.append(1000 * (time.perf_counter() - start))
    return found


def measured(place: str, settings: Settings, vault: Path, scratch: Path) -> dict[str, Any]:
    report: dict[str, Any] = {}
    (scratch / "own").mkdir()
    with Engine(place, settings) as engine, Engine(place, settings) as writer:
        start = used()
        engine.sync([vault])
        report["sync"] = {"chunks": engine.status()["chunks"], **used().since(start).to_json()}
        print(json.dumps(report), file=sys.stderr, flush=True)
        ended = threading.Event()
        ended.set()
        alone = commits(writer, scratch / "own", ended)
        start = used()
        made = back_up(engine.index, settings, str(scratch / "b.tar"))
        report["backup"] = {"mb": round(made.size_bytes / 1e6, 1), **used().since(start).to_json()}
        over, beside = threading.Event(), list[float]()
        thread = threading.Thread(target=lambda: beside.extend(commits(writer, scratch / "own", over)))
        thread.start()
        back_up(engine.index, settings, str(scratch / "b.tar"))
        over.set()
        thread.join()
        report["commit_ms"] = {
            name: {"median": round(statistics.median(times), 1), "longest": round(max(times), 1), "commits": len(times)}
            for name, times in (("alone", alone), ("while backing up", beside))
        }
        print(json.dumps(report), file=sys.stderr, flush=True)
    with Engine(place.replace("index=whole", "index=copy"), settings) as copy:
        start = used()
        restore(copy.index, settings, str(scratch / "b.tar"))
        report["restore"] = used().since(start).to_json()
        report["restore"]["chunks_a_second"] = round(report["sync"]["chunks"] / report["restore"]["seconds"])
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vault", default="kubernetes_en")
    parser.add_argument("--data", type=Path, default=SHARED / "data" / "markdown")
    parser.add_argument("--keep", action="store_true", help="in benchmarks/results")
    options = parser.parse_args()
    servers, of = running(), "WATERSMEET__STORE__POSTGRES__"
    settings = settings_of(
        environ={
            "WATERSMEET__INDEX__DENSE": "",
            f"{of}QDRANT": json.dumps([servers.qdrant.url]),
            f"{of}QDRANT_GRPC_PORTS": json.dumps([servers.qdrant.grpc_port]),
        }
    )
    report: dict[str, Any] = {"machine": machine(), "load_before": os.getloadavg(), "vault": options.vault}
    with tempfile.TemporaryDirectory() as scratch:
        vault = options.data / options.vault / "files"
        report |= measured(f"{servers.postgres}&index=whole", settings, vault, Path(scratch))
    report["load_after"] = load()
    print(json.dumps(report, indent=1))
    if options.keep:
        keep("cluster_backup", report)


if __name__ == "__main__":
    main()
