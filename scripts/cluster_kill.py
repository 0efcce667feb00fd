"""Readers and writers of one index while a node of Qdrant is killed and started again.

    python scripts/cluster_kill.py [--seconds 60] [--readers 4] [--writers 2] [--documents 200]

Three nodes, 6 shards of 2 copies, one PostgreSQL; every reader and writer is a process. Each document says its number
and its version in three sections. Writers swap documents for their next version and note what was acknowledged; readers
search and read whole documents. After a third of the time a node is killed, after two thirds it is started again.
Counted: acknowledged swaps that are lost, answers of two versions at once, failed queries, and p50 in each third.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "helpers"))

from clusters import Qdrant, running
from watersmeet import Engine
from watersmeet.core.errors import WatersmeetError
from watersmeet.core.model import ANY, DocId, Request
from watersmeet.core.text_fields import document_hash, prepare
from watersmeet.core.writing import Changes, Put
from watersmeet.engine.index.location import open_index
from watersmeet.engine.index.writer import open_for_writing
from watersmeet.engine.settings.settings import Settings, load
from watersmeet.testing.contracts.corpus import page

SECTIONS = ("one", "two", "three")
PER_COMMIT = 4


def put_of(number: int, version: int, collection: int) -> Put:
    text = f"Document number{number} has version v{version}x of all its sections."
    given = page(f"d{number}.md", *(((name,), f"{text} This is {name}.") for name in SECTIONS))
    prepared = tuple(prepare(given.document, given.chunks))
    return Put(given.document, prepared, document_hash(given.document, prepared), collection)


def version_in(text: str) -> int:
    return int(text.partition("version v")[2].partition("x")[0])


def swap(place: str, settings: Settings, mine: Sequence[int], end: float) -> dict[str, Any]:
    """Next versions of these documents; which ones were acknowledged, and commits that failed and were repeated."""
    versions, swaps, failed = dict.fromkeys(mine, 1), 0, 0
    index, at = open_index(place, settings), 0
    while time.time() < end:
        chosen = [mine[(at + step) % len(mine)] for step in range(PER_COMMIT)]
        try:
            with open_for_writing(index, settings) as opened:
                number = opened.catalogue.collection("main")
                puts = [put_of(one, versions[one] + 1, number) for one in chosen]
                opened.catalogue.commit(Changes(put=puts))
        except WatersmeetError:
            failed += 1
            continue
        for one in chosen:
            versions[one] += 1
        swaps, at = swaps + len(chosen), at + len(chosen)
    return {"versions": versions, "swaps": swaps, "failed": failed}


def read(place: str, settings: Settings, seed: int, documents: int, end: float) -> dict[str, Any]:
    found: dict[str, Any] = {"times": [], "failed": [], "mixed": 0, "backwards": 0}
    seen: dict[int, int] = {}
    at = seed
    with Engine(place, settings) as engine:
        while time.time() < end:
            at = (at * 7 + 13) % documents
            start = time.perf_counter()
            try:
                answer = engine.search(Request(f"number{at} version", mode="lexical", top_n=5))
                if answer.failures:
                    found["failed"].append(answer.failures[0].reason)
                shown = {version_in(one.text) for one in answer.results if one.document == f"d{at}.md"}
                with engine.snapshot() as snapshot:
                    whole = [version_in(one.text) for one in snapshot.passages_of(DocId(f"d{at}.md"))]
            except WatersmeetError as error:
                found["failed"].append(str(error))
                continue
            found["times"].append((time.time(), 1000 * (time.perf_counter() - start)))
            found["mixed"] += len(shown) > 1 or len(set(whole)) != 1 or len(whole) != len(SECTIONS)
            found["backwards"] += whole[0] < seen.get(at, 0)
            seen[at] = whole[0]
    return found


def report(wanted: argparse.Namespace, place: str, settings: Settings, nodes: list[Qdrant]) -> dict[str, Any]:
    index = open_index(place, settings)
    with open_for_writing(index, settings) as opened:
        number = opened.catalogue.collection("main")
        opened.catalogue.commit(Changes(put=[put_of(one, 1, number) for one in range(wanted.documents)]))
    begin = time.time() + 3
    killed, started, end = (begin + share * wanted.seconds for share in (1 / 3, 2 / 3, 1))
    context = multiprocessing.get_context("spawn")
    with context.Pool(wanted.readers + wanted.writers) as pool:
        every = wanted.documents
        parts = [range(part, every, wanted.writers) for part in range(wanted.writers)]
        writing = [pool.apply_async(swap, (place, settings, part, end)) for part in parts]
        reading = [pool.apply_async(read, (place, settings, one, every, end)) for one in range(wanted.readers)]
        time.sleep(max(0.0, killed - time.time()))
        nodes[1].kill()
        time.sleep(max(0.0, started - time.time()))
        nodes[1].start()
        writers, readers = [one.get() for one in writing], [one.get() for one in reading]
    lost = 0
    with index.snapshot() as snapshot:
        for one in writers:
            for document, version in one["versions"].items():
                texts = {version_in(passage.text) for passage in snapshot.passages_of(DocId(f"d{document}.md"))}
                lost += min(texts, default=0) < version
        words: Any = snapshot.words(ANY)
        assert words.size
    times = [one for reader in readers for one in reader["times"]]
    phases = {"before": (0.0, killed), "one node is gone": (killed, started), "it is back": (started, end)}
    return {
        "load": os.getloadavg(),
        "swaps": sum(one["swaps"] for one in writers),
        "commits repeated": sum(one["failed"] for one in writers),
        "acknowledged swaps lost": lost,
        "queries": len(times),
        "failed queries": sum(len(one["failed"]) for one in readers),
        "reasons": sorted({reason for one in readers for reason in one["failed"]})[:3],
        "answers of two versions": sum(one["mixed"] for one in readers),
        "older than seen before": sum(one["backwards"] for one in readers),
        "p50_ms": {
            name: round(statistics.median([took for at, took in times if first <= at < last] or [0.0]), 1)
            for name, (first, last) in phases.items()
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--readers", type=int, default=4)
    parser.add_argument("--writers", type=int, default=2)
    parser.add_argument("--documents", type=int, default=200)
    wanted = parser.parse_args()
    servers = running()
    with tempfile.TemporaryDirectory(prefix="wm-kill-") as folder:
        nodes = [Qdrant(Path(folder) / "0", clustered=True)]
        nodes += [Qdrant(Path(folder) / str(number), nodes[0]) for number in (1, 2)]
        of = "WATERSMEET__STORE__POSTGRES__"
        settings = load(
            environ={
                "WATERSMEET__INDEX__VECTORS": "false",
                "WATERSMEET__WRITER__LOCK_SECONDS": "60",
                f"{of}QDRANT": json.dumps([node.url for node in nodes]),
                f"{of}QDRANT_GRPC_PORTS": json.dumps([node.grpc_port for node in nodes]),
                f"{of}SHARDS": "6",
                f"{of}REPLICAS": "2",
                f"{of}TIMEOUT": "5",
            }
        )
        try:
            print(json.dumps(report(wanted, f"{servers.postgres}&index=kill", settings, nodes), indent=1))
        finally:
            for node in nodes:
                node.stop()


if __name__ == "__main__":
    main()
