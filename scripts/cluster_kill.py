"""Readers and writers of one index while a server of the cluster is killed and started again.

    python scripts/cluster_kill.py [--seconds 60] [--readers 4] [--writers 2] [--rate half] [--postgres] [--hybrid]

Three nodes of Qdrant, 6 shards of 2 copies, one PostgreSQL; every reader and writer is a process. Each document says
its number and its version in three sections. Writers swap documents for their next version and note what was
acknowledged; readers search and read whole documents. After a third of the time a node of Qdrant is killed, and after
two thirds it is started again; with `--postgres` PostgreSQL is killed instead, for five seconds, with `--none` nothing.
With `--hybrid` queries also compare static vectors, which one more process makes. With `--rate half` the rate that all
of them sustain is measured first, and then each keeps to half of it.

Counted: acknowledged swaps that are lost, answers of two versions at once, answers older than one before, queries that
failed, p50 of a search and a whole document before, without the server and after, and how many cores this and other
programs kept busy meanwhile. The end is 1 if anything was lost, mixed or failed; while PostgreSQL is gone everything
fails, and it is counted how soon it answers again.
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
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "benchmarks"))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "helpers"))

from _cluster_cpu import Busy
from _common import RESULTS, keep, machine

from clusters import NOT_RUN, Qdrant, missing, restart_postgres, running
from watersmeet import Engine
from watersmeet.core.errors import WatersmeetError
from watersmeet.core.model import DocId, Request
from watersmeet.core.text_fields import document_hash, prepare
from watersmeet.core.writing import Changes, Put
from watersmeet.engine.index.location import open_index
from watersmeet.engine.index.writer import open_for_writing
from watersmeet.engine.settings.settings import Settings, load
from watersmeet.testing.contracts.corpus import page

SECTIONS = ("one", "two", "three")
PER_COMMIT = 4
WARM_UP, SUSTAINED = 10.0, 30.0
"""Seconds until all processes have begun, and for which the sustained rate is measured."""
OUTAGE = 5.0
"""Seconds for which PostgreSQL is gone."""
PHASES = ("before", "gone", "back")
Found = dict[str, Any]


@dataclass(frozen=True)
class Work:
    """What a process does: on which documents, how often a second at most (0: as often as it can), and until when."""

    place: str
    settings: Settings
    mode: str
    documents: Sequence[int]
    rate: float
    end: float

    def turns(self) -> Iterator[None]:
        """One for each time, at the rate. A turn that comes late is not made up for."""
        due = time.time()
        while (now := time.time()) < self.end:
            if self.rate and now < due:
                time.sleep(min(due, self.end) - now)
                continue
            yield
            due = max(due + 1 / self.rate, time.time() - 1 / self.rate) if self.rate else 0.0


def put_of(number: int, version: int, collection: int) -> Put:
    text = f"Document number{number} has version v{version}x of all its sections."
    given = page(f"d{number}.md", *(((name,), f"{text} This is {name}.") for name in SECTIONS))
    prepared = tuple(prepare(given.document, given.chunks))
    return Put(given.document, prepared, document_hash(given.document, prepared), collection)


def version_in(text: str) -> int:
    return int(text.partition("version v")[2].partition("x")[0])


def swap(work: Work, versions: dict[int, int]) -> Found:
    """Next versions of these documents; which ones were acknowledged, and commits that failed and were repeated."""
    found: Found = {"done": [], "failed": []}
    mine, at = work.documents, 0
    index = open_index(work.place, work.settings)
    for _ in work.turns():
        chosen = [mine[(at + step) % len(mine)] for step in range(PER_COMMIT)]
        start = time.perf_counter()
        try:
            with open_for_writing(index, work.settings) as opened:
                number = opened.catalogue.collection("main")
                puts = [put_of(one, versions[one] + 1, number) for one in chosen]
                opened.catalogue.commit(Changes(put=puts))
        except WatersmeetError as error:
            found["failed"].append((time.time(), str(error)))
            time.sleep(0.1)
            continue
        found["done"].append((time.time(), 1000 * (time.perf_counter() - start)))
        for one in chosen:
            versions[one] += 1
        at += len(chosen)
    return {**found, "versions": versions}


def read(work: Work, seed: int) -> Found:
    found: Found = {"done": [], "failed": [], "mixed": 0, "backwards": 0}
    seen: dict[int, int] = {}
    at, documents = seed, len(work.documents)
    with Engine(work.place, work.settings) as engine:
        for _ in work.turns():
            at = (at * 7 + 13) % documents
            start = time.perf_counter()
            try:
                answer = engine.search(Request(f"number{at} version", mode=work.mode, top_n=5))
                if answer.failures:
                    found["failed"].append((time.time(), answer.failures[0].reason))
                shown = {version_in(one.text) for one in answer.results if one.document == f"d{at}.md"}
                with engine.snapshot() as snapshot:
                    whole = [version_in(one.text) for one in snapshot.passages_of(DocId(f"d{at}.md"))]
            except WatersmeetError as error:
                found["failed"].append((time.time(), str(error)))
                continue
            found["done"].append((time.time(), 1000 * (time.perf_counter() - start)))
            found["mixed"] += len(shown) > 1 or len(set(whole)) != 1 or len(whole) != len(SECTIONS)
            found["backwards"] += whole[0] < seen.get(at, 0)
            seen[at] = whole[0]
    return found


def embed(work: Work) -> Found:
    """The vectors of new texts, as one worker makes them."""
    found: Found = {"failed": []}
    with Engine(work.place, work.settings) as engine:
        for _ in work.turns():
            try:
                engine.deepen()
            except WatersmeetError as error:
                found["failed"].append((time.time(), str(error)))
    return found


class Crowd:
    """Readers and writers of one index."""

    def __init__(self, wanted: argparse.Namespace, place: str, settings: Settings) -> None:
        self.wanted, self.place, self.settings = wanted, place, settings
        self.mode = "hybrid" if wanted.hybrid else "lexical"
        self.versions = dict.fromkeys(range(wanted.documents), 1)
        index = open_index(place, settings)
        with open_for_writing(index, settings) as opened:
            number = opened.catalogue.collection("main")
            opened.catalogue.commit(Changes(put=[put_of(one, 1, number) for one in self.versions]))
        if wanted.hybrid:
            with Engine(index, settings) as engine:
                engine.deepen()

    def run(self, seconds: float, reads: float, swaps: float, meanwhile: Callable[[float], None]) -> list[list[Found]]:
        """What writers and readers have found. `reads`, `swaps`: rate of all together. `meanwhile` gets the time at
        which all have begun."""
        wanted, every = self.wanted, range(self.wanted.documents)
        begin = time.time() + WARM_UP
        work = Work(self.place, self.settings, self.mode, every, reads / wanted.readers, begin + seconds)
        writer = replace(work, rate=swaps / wanted.writers)
        with multiprocessing.get_context("spawn").Pool(wanted.readers + wanted.writers + 1) as pool:
            parts = [range(part, len(every), wanted.writers) for part in range(wanted.writers)]
            started = [
                [
                    pool.apply_async(swap, (replace(writer, documents=part), {one: self.versions[one] for one in part}))
                    for part in parts
                ],
                [pool.apply_async(read, (work, one)) for one in range(wanted.readers)],
                [pool.apply_async(embed, (replace(work, rate=2.0),))] if wanted.hybrid else [],
            ]
            time.sleep(max(0.0, begin - time.time()))
            meanwhile(begin)
            found = [[one.get() for one in part] for part in started]
        for one in found[0]:
            self.versions |= one["versions"]
        return found

    def sustained(self) -> tuple[float, float]:
        """Queries and commits a second that all together reach."""
        begun: list[float] = []
        writers, readers, _ = self.run(SUSTAINED, 0.0, 0.0, begun.append)
        reads, swaps = (sum(at >= begun[0] for one in part for at, _ in one["done"]) for part in (readers, writers))
        return reads / SUSTAINED, swaps / SUSTAINED

    def left(self) -> Found:
        """Whether everything that was acknowledged is there, whole and found."""
        lost = mixed = missing = 0
        with Engine(self.place, self.settings) as engine:
            if self.wanted.hybrid:
                engine.deepen()
            with open_for_writing(engine.index, self.settings) as opened:
                opened.compact()
            with engine.snapshot() as snapshot:
                for document, version in self.versions.items():
                    texts = {version_in(one.text) for one in snapshot.passages_of(DocId(f"d{document}.md"))}
                    lost += min(texts, default=0) < version
                    mixed += len(texts) != 1
                coverage = {name: snapshot.coverage(tier) for name, tier in snapshot.tiers().items()}
            for document, version in self.versions.items():
                answer = engine.search(Request(f"number{document} v{version}x", mode="lexical", top_n=3))
                known = {version_in(one.text) for one in answer.results if one.document == f"d{document}.md"}
                missing += not known or min(known) < version
            problems = [f"{one.name}: {one.detail}" for one in engine.index.check() if not one.ok]
        return {
            "acknowledged swaps lost": lost,
            "documents of two versions": mixed,
            "documents not found by their words": missing,
            "share with vectors": coverage,
            "problems": problems,
        }


@contextmanager
def without(nodes: list[Qdrant], wanted: argparse.Namespace) -> Iterator[None]:
    """A server is gone for as long as the block takes."""
    if wanted.none:
        yield
        return
    if wanted.postgres:
        with restart_postgres():
            yield
        return
    nodes[1].kill()
    try:
        yield
    finally:
        nodes[1].start()


def after_outage(readers: Sequence[Found], writers: Sequence[Found], back: float) -> Found:
    """Failures while PostgreSQL was gone, and how soon everything answers again."""
    failed = [at for one in readers for at, _ in one["failed"]]
    late = sum(at > back + 1 for at in failed)
    found: Found = {"queries failed": late, "queries failed while it was gone": len(failed) - late}
    for name, part in (("queries", readers), ("commits", writers)):
        first = [min([at for at, _ in one["done"] if at > back], default=float("inf")) - back for one in part]
        found[f"seconds until all had {name} again"] = round(max(first), 2)
    return found


def killed(wanted: argparse.Namespace) -> str:
    return "none" if wanted.none else "postgres" if wanted.postgres else "qdrant"


def report(wanted: argparse.Namespace, place: str, settings: Settings, nodes: list[Qdrant]) -> Found:
    crowd = Crowd(wanted, place, settings)
    figures: Found = {"mode": crowd.mode, "readers": wanted.readers, "writers": wanted.writers}
    figures |= {"killed": killed(wanted), "seconds": wanted.seconds}
    rates = (0.0, 0.0)
    if wanted.rate == "half":
        reads, swaps = crowd.sustained()
        figures["sustained"] = {"queries_a_second": round(reads, 2), "commits_a_second": round(swaps, 2)}
        rates = (reads / 2, swaps / 2)
        print(json.dumps(figures), file=sys.stderr, flush=True)
    busy: list[Busy] = []

    def killing(begin: float) -> None:
        busy.append(Busy.now())
        figures["load"] = os.getloadavg()
        time.sleep(max(0.0, begin + wanted.seconds / 3 - time.time()))
        busy.append(Busy.now())
        with without(nodes, wanted):
            time.sleep(OUTAGE if wanted.postgres else wanted.seconds / 3)
        busy.append(Busy.now())
        time.sleep(max(0.0, begin + wanted.seconds - time.time()))
        busy.append(Busy.now())

    writers, readers, makers = crowd.run(wanted.seconds, *rates, killing)
    phases = dict(zip(PHASES, pairwise(one.at for one in busy), strict=True))

    def in_phases(part: Sequence[Found], of: Callable[[list[float], float], float]) -> Found:
        done = [one for each in part for one in each["done"]]
        return {
            name: round(of([took for at, took in done if first <= at < last], last - first), 2)
            for name, (first, last) in phases.items()
        }

    def half(values: list[float], _: float) -> float:
        return statistics.median(values or [0.0])

    figures |= {
        "load_after": os.getloadavg(),
        "swaps": PER_COMMIT * sum(len(one["done"]) for one in writers),
        "queries": sum(len(one["done"]) for one in readers),
        "busy cores": {name: b.cores_since(a) for name, (a, b) in zip(PHASES, pairwise(busy), strict=True)},
        "queries_a_second": in_phases(readers, lambda values, seconds: len(values) / seconds),
        "commits_a_second": in_phases(writers, lambda values, seconds: len(values) / seconds),
        "query_p50_ms": in_phases(readers, half),
        "commit_p50_ms": in_phases(writers, half),
        "answers of two versions": sum(one["mixed"] for one in readers),
        "answers older than one before": sum(one["backwards"] for one in readers),
        "queries failed": sum(len(one["failed"]) for one in readers),
        "commits repeated": sum(len(one["failed"]) for one in writers),
        "reasons": sorted({reason[:200] for each in (*readers, *writers, *makers) for _, reason in each["failed"]})[:5],
        **crowd.left(),
    }
    if wanted.postgres:
        figures |= after_outage(readers, writers, busy[2].at)
    return figures


WRONG = (
    "acknowledged swaps lost",
    "documents of two versions",
    "documents not found by their words",
    "problems",
    "answers of two versions",
    "answers older than one before",
    "queries failed",
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--readers", type=int, default=4)
    parser.add_argument("--writers", type=int, default=2)
    parser.add_argument("--documents", type=int, default=200)
    parser.add_argument("--rate", choices=("full", "half"), default="full")
    parser.add_argument("--postgres", action="store_true", help="kill PostgreSQL instead of a node of Qdrant")
    parser.add_argument("--none", action="store_true", help="kill nothing, to compare with")
    parser.add_argument("--hybrid", action="store_true", help="with static vectors")
    parser.add_argument("--keep", action="store_true", help="in benchmarks/results")
    wanted = parser.parse_args()
    if missing():
        print(NOT_RUN)
        return 0
    servers, figures = running(), {"machine": machine()}
    with tempfile.TemporaryDirectory(prefix="wm-kill-") as folder:
        nodes = [Qdrant(Path(folder) / "0", clustered=True)]
        nodes += [Qdrant(Path(folder) / str(number), nodes[0]) for number in (1, 2)]
        of = "WATERSMEET__STORE__POSTGRES__"
        settings = load(
            environ={
                "WATERSMEET__INDEX__VECTORS": json.dumps(wanted.hybrid),
                "WATERSMEET__INDEX__DENSE": "",
                "WATERSMEET__WRITER__LOCK_SECONDS": "60",
                f"{of}QDRANT": json.dumps([node.url for node in nodes]),
                f"{of}QDRANT_GRPC_PORTS": json.dumps([node.grpc_port for node in nodes]),
                f"{of}SHARDS": "6",
                f"{of}REPLICAS": "2",
                f"{of}TIMEOUT": "5",
            }
        )
        try:
            figures |= report(wanted, f"{servers.postgres}&index=kill", settings, nodes)
        finally:
            for node in nodes:
                node.stop()
    print(json.dumps(keep(f"cluster_kill_{killed(wanted)}", figures, RESULTS if wanted.keep else None), indent=1))
    return int(any(figures[one] for one in WRONG))


if __name__ == "__main__":
    sys.exit(main())
