"""Kill what makes and keeps vectors, again and again, at random moments, and look at what it leaves behind.

    python scripts/killing_vectors.py [--kills 50] [--seed 1] [--chunks 150] [--many 2000]

Three situations: `watersmeet deepen` with the shipped transformer; the same with an embedder that takes no time, so
that nearly all of it is writing the embedding cache and the vectors; and compaction of an index with vectors. After
each kill the index must answer, `doctor` must find it sound, every vector in it and in the cache must be the right
one, and as many must be there as were acknowledged ("embedding (dense) N of M chunks"). The next `deepen` must embed
exactly what is neither in the index nor in the cache, and end as an undisturbed one does. What the model had in hand
at the moment of the kill, two slices at most, is all that is ever embedded again: `again` says how much that was.
After compaction no live vector may be missing, no dead one found, and another compaction leaves no dead one. Prints
JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from killing import Bench, Corpus, Kill, Trial, concluded, disturb, doctor_problems, environment, hunt, parser
from killing import versions as documents

from watersmeet.core.index import Tier
from watersmeet.core.model import ANY, ChunkId, Request, Row
from watersmeet.core.text_fields import breadcrumb
from watersmeet.core.vectors import key_of
from watersmeet.engine.index.tiers import tiers_of
from watersmeet.store.local.documents import DocumentsView
from watersmeet.store.local.embeddings import Embeddings
from watersmeet.store.local.vectors import Vectors

COUNTED = [sys.executable, str(Path(__file__).with_name("_counted.py"))]
COMPACT = """
import sys

import numpy

from watersmeet import Engine
from watersmeet.store.local.index import Local

drop = Local._drop

def told(*given):
    print("ready", file=sys.stderr, flush=True)
    drop(*given)

Local._drop = told
Engine(sys.argv[1]).compact(grace=0)
"""
"""The clock starts when it comes to the vectors: `killing.py` disturbs what is before that."""
PROGRESS = rb"^embedding \(dense\) (\d+) of \d+ chunks"
Ranked = list[tuple[ChunkId, float | None]]


class Records(Corpus):
    """Records of a few words; `edit` changes every second one and takes away one in ten."""

    def __init__(self, root: Path, count: int, length: int, seed: int) -> None:
        self.length = length
        super().__init__(root, 0, count, seed)

    def record(self, identity: str, version: int) -> dict[str, Any]:
        return {**super().record(identity, version), "text": f"RC-{identity}-{version} {self.prose(self.length)}"}

    def edit(self) -> None:
        for name, records in self.records.items():
            for number in range(0, len(records), 2):
                records[number] = self.record(records[number]["_id"], 1)
            del records[1::10]
            self.touched.add(name)
        self.write()

    def queries(self) -> list[str]:
        return [record["text"] for records in self.records.values() for record in records[:3]]


@dataclass
class Ground(Bench):
    """A corpus, an embedder, and what an undisturbed run makes of them."""

    window: int = 32
    piece: int = 8
    tier: Tier | None = None
    vectors: dict[Row, bytes] = field(default_factory=dict)
    cached_vectors: dict[Row, bytes] = field(default_factory=dict)
    ranked: dict[str, Ranked] = field(default_factory=dict)

    @property
    def cache(self) -> Path:
        return Path(self.env["XDG_CACHE_HOME"])

    @property
    def log(self) -> Path:
        return self.folder / "embedded.log"

    def embedded(self) -> int:
        """How many texts a model has really embedded since the log was removed."""
        return self.log.read_bytes().count(b"\n") if self.log.exists() else 0

    def deepening(self, *options: str) -> list[str]:
        return [*COUNTED, str(self.window), str(self.piece), str(self.log), "deepen", *options, "--index"]

    def deepen(self, index: Path) -> dict[str, Any]:
        argv = [*self.deepening("--json"), str(index)]
        done = subprocess.run(argv, env=self.env, cwd=self.folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"deepen failed: {done.stderr}"
        report: dict[str, Any] = json.loads(done.stdout)
        return report

    def store(self, index: Path) -> Vectors:
        assert self.tier is not None
        return Vectors(str(index / self.tier.folder), self.tier.dimension)

    def live(self, index: Path) -> dict[Row, bytes]:
        """The live rows, each with the key by which the cache knows its text."""
        snapshot = DocumentsView(str(index))
        with snapshot.transaction():
            found = snapshot.texts(snapshot.every(ANY))
        snapshot.close()
        return {row: key_of(f"{breadcrumb(title, headings)}\n{text}") for row, title, headings, text in found}

    def stored_vectors(self, index: Path) -> dict[Row, bytes]:
        """The rows of the dense store with their vectors, whether live or not."""
        reader = self.store(index).reader()
        rows = [Row(row) for row in reader.rows().tolist()]
        return {row: vector.tobytes() for row, vector in zip(rows, reader.vectors(rows), strict=True)}

    def remembered(self, keys: dict[Row, bytes]) -> tuple[dict[Row, bytes], list[str]]:
        """The rows whose vectors the cache has, read from a copy of it; and what it complains of."""
        assert self.tier is not None
        copy = self.folder / "cache-copy"
        if self.cache.exists():
            shutil.copytree(self.cache, copy)
        cache = Embeddings(str(copy / "watersmeet" / "embeddings"))
        found = cache.get_many(self.tier.fingerprint, list(keys.values()))
        warnings = cache.warnings()
        cache.close()
        shutil.rmtree(copy, ignore_errors=True)
        return {row: found[key].tobytes() for row, key in keys.items() if key in found}, warnings

    def nearest(self, index: Path) -> dict[str, Ranked]:
        """What each query finds by its dense vectors, all of it."""
        with self.engine(index) as engine:
            answers = [engine.search(Request(query, mode="dense", top_n=1000)) for query in self.queries]
        assert all(answer.mode == "dense" and not answer.failures for answer in answers), answers[0].failures
        return {a.query: [(r.id, r.similarity and round(r.similarity, 5)) for r in a.results] for a in answers}

    def learn(self, index: Path) -> None:
        """Take this index for what is right."""
        snapshot = DocumentsView(str(index))
        with snapshot.transaction():
            self.tier = tiers_of(snapshot.meta())["dense"]
        snapshot.close()
        self.queries = self.corpus.queries()
        self.vectors, (self.cached_vectors, _) = self.stored_vectors(index), self.remembered(self.live(index))
        self.ranked = self.nearest(index)


def ground(folder: Path, corpus: Records, window: int, **settings: str) -> Ground:
    folder.mkdir(exist_ok=True)
    settings |= {"REGISTRY__SIGNALS": '["lexical", "sparse"]'}  # so that sparse vectors are made, too
    return Ground(folder, corpus, environment(folder, **settings), window=window)


def deepening(bench: Ground, situation: str) -> Trial:
    """An index without dense vectors, and how long it takes to make them."""
    start, done = bench.folder / f"{situation}-start", bench.folder / f"{situation}-done"
    made = bench.run("sync", str(bench.corpus.root), "--no-deepen", "--index", str(start))
    assert made.returncode == 0, made.stderr
    trial = Trial(situation, bench.deepening(), start, [], [], explain=PROGRESS, waits=True)
    trial.seconds = disturb(bench, trial, 3600, done).seconds
    bench.learn(done)
    counts = {len(bench.vectors), len(bench.cached_vectors), len(bench.live(done)), bench.embedded()}
    assert len(counts) == 1, f"an undisturbed run is not right itself: {counts}"
    return trial


def compaction(bench: Ground) -> Trial:
    """An index of which much is dead, and how long it takes to write it anew."""
    dirty, done = bench.folder / "dirty", bench.folder / "compact-done"
    bench.sync(dirty)
    bench.corpus.edit()
    bench.sync(dirty)
    trial = Trial("compact", [sys.executable, "-c", COMPACT], dirty, [], [], waits=True)
    trial.seconds = disturb(bench, trial, 3600, done).seconds
    bench.learn(done)
    dead = len(bench.stored_vectors(dirty)) - len(bench.vectors)
    generations = {path.stem for path in Path(bench.store(done).folder).glob("*.rows")}
    assert dead > 0, "there was nothing to compact"
    assert len(generations) > 1, "the vectors were not written anew"
    return trial


def deepened_problems(bench: Ground, kill: Kill, index: Path) -> Iterator[str]:
    """What is wrong after a kill of `deepen`, and after the `deepen` that completes it."""
    keys, stored = bench.live(index), bench.stored_vectors(index)
    cached, warnings = bench.remembered(keys)
    yield from (f"cache: {text}" for text in warnings)
    for what, found, right in (("index", stored, bench.vectors), ("cache", cached, bench.cached_vectors)):
        wrong = [row for row, vector in found.items() if right.get(row) != vector]
        if wrong:
            yield f"{len(wrong)} wrong vectors in the {what}"
    if len(stored) < kill.acknowledged:
        yield f"{kill.acknowledged} acknowledged, {len(stored)} there"
    yield from answer_problems(bench, kill, index)
    yield from doctor_problems(bench, index, documents(index))
    before = bench.embedded()
    report = bench.deepen(index)
    missing = len(keys.keys() - stored.keys() - cached.keys())
    now = bench.embedded() - before
    if not missing == now == report["embedded"]:
        yield f"{missing} were missing, {now} embedded, {report['embedded']} reported"
    if report["embedded"] + kill.acknowledged > len(keys):
        yield f"{report['embedded']} embedded after {kill.acknowledged} of {len(keys)} had been acknowledged"
    if before + now > len(keys) + 2 * bench.piece:
        yield f"{before} and {now} embedded for {len(keys)} chunks"
    if set(report["coverage"].values()) != {1.0}:
        yield f"not complete: {report['coverage']}"
    if bench.stored_vectors(index) != bench.vectors or bench.nearest(index) != bench.ranked:
        yield "differs from an undisturbed index"


def answer_problems(bench: Ground, kill: Kill, index: Path) -> Iterator[str]:
    """Both modes answer; as long as too little is there to ask by meaning, that is said."""
    with bench.engine(index) as engine:
        status = engine.status()
        share = status["signals"].get("dense", {}).get("coverage", 0.0)
        if round(share * status["chunks"]) < kill.acknowledged:
            yield f"status has {share:.3f} of {status['chunks']} chunks, {kill.acknowledged} were acknowledged"
        for mode in ("hybrid", "dense"):
            answer = engine.search(Request(bench.queries[0], mode=mode))
            unsaid = answer.mode != mode and not answer.failures
            enough = share >= engine.settings.section("index").min_coverage
            if not answer.results or unsaid or (answer.failures and (enough or mode == "hybrid")):
                yield f"{mode}: {len(answer.results)} results in mode {answer.mode}, {answer.failures}"


def compacted_problems(bench: Ground, index: Path) -> Iterator[str]:
    """What is wrong after a kill of compaction, and after the compaction that completes it."""
    stored = bench.stored_vectors(index)
    lost = [row for row, vector in bench.vectors.items() if stored.get(row) != vector]
    if lost:
        yield f"{len(lost)} live vectors lost or wrong"
    if bench.nearest(index) != bench.ranked:
        yield "other answers than an undisturbed index gives"
    yield from doctor_problems(bench, index, documents(index))
    with bench.engine(index) as engine:
        engine.compact(grace=0)
        status = engine.status()
    if bench.stored_vectors(index) != bench.vectors or status["dead"]:
        yield f"dead vectors are left, or live ones gone; {status['dead']} rows to bury"
    shares = {name: signal["coverage"] for name, signal in status["signals"].items()}
    if set(shares.values()) != {1.0}:
        yield f"not complete: {shares}"
    if bench.nearest(index) != bench.ranked:
        yield "other answers after the next compaction"


def run(args: argparse.Namespace, folder: Path) -> dict[str, Any]:
    quick = {"INDEX__DENSE": "hashed", "EMBED__HASHED__DIMENSION": "384"}
    sized = {
        "deepen": ground(folder / "deepen", Records(folder / "a", args.chunks, 30, args.seed), 32),
        "cache": ground(folder / "cache", Records(folder / "b", args.many, 5, args.seed), 256, **quick),
        "compact": ground(folder / "compact", Records(folder / "c", args.many, 5, args.seed), 256, **quick),
    }
    trials = [deepening(sized["deepen"], "deepen"), deepening(sized["cache"], "cache"), compaction(sized["compact"])]
    again: dict[str, int] = dict.fromkeys(("deepen", "cache"), 0)

    def attempt(trial: Trial, transaction: float) -> tuple[Kill, list[str]]:
        bench = sized[trial.situation]
        index = bench.folder / "index"
        shutil.rmtree(bench.cache, ignore_errors=True)
        bench.log.unlink(missing_ok=True)
        kill = disturb(bench, trial, transaction, index)
        if not kill.killed:
            return kill, []
        if trial.situation == "compact":
            return kill, list(compacted_problems(bench, index))
        found = list(deepened_problems(bench, kill, index))
        again[trial.situation] = max(again[trial.situation], bench.embedded() - len(bench.vectors))
        return kill, found

    summary = hunt(args, trials, attempt)
    chunks = {name: len(bench.vectors) for name, bench in sized.items()}
    return {**summary, "chunks": chunks, "again": {"most": again, "slice": sized["deepen"].piece}}


def main() -> int:
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    arguments = parser(__doc__)
    arguments.add_argument("--chunks", type=int, default=150, help="for the transformer")
    arguments.add_argument("--many", type=int, default=2000, help="for the embedder that takes no time")
    return concluded(arguments.parse_args(), run)


if __name__ == "__main__":
    sys.exit(main())
