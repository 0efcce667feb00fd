"""Equality of results from a folder and from the cluster it was pushed to: on one node of Qdrant, and on three.

    python benchmarks/same_answers.py [--sets cranfield scifact_train] [--queries 100] [--nodes 1 3]
        [--epoch-share 1] [--keep]

Three nodes have 6 shards of 2 copies. A fifth of the documents is for one group, a fifth for one user. Each query is
asked of both by the same engine and recipe, in every mode, with filters and by viewers. Counted: the same first 10 in
the same order, the same 10, the same first; and how far apart the scores are at most, and those of given passages by
every signal. Dense vectors are those of the embedder `hashed`, which needs no model. Then a fifth of the documents is
edited, and the cluster goes on with the statistics of before (or publishes them after `--epoch-share` of the rows has
changed): nDCG@10 of all queries there and in a folder filled with the edited documents, with the interval of the
difference.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from _common import RESULTS, ROOT, SHARED, keep, machine
from _common import load as load_of_machine

sys.path.insert(0, str(ROOT / "tests" / "helpers"))

from clusters import Qdrant, running
from watersmeet import Engine
from watersmeet.core.model import ANY, ChunkId, Condition, DocId, Request
from watersmeet.core.ports import Term
from watersmeet.core.tokens import both
from watersmeet.core.visibility import Viewer, gates
from watersmeet.engine.index.location import open_index
from watersmeet.engine.models import embedder, encoder
from watersmeet.engine.settings.settings import Settings, load
from watersmeet.engine.sync.push import push
from watersmeet.evaluate.data import Dataset, Question
from watersmeet.evaluate.data import load as load_dataset
from watersmeet.evaluate.known_items import known_items

SETS = ("cranfield", "metatool", "zoomcamp_faq", "scifact_train", "cisi")
MODES = ("lexical", "exact", "static", "sparse", "dense", "hybrid")
PARTS = {"open": "", "staff": "group:staff", "own": "owner:ann"}
"""Collections, each with who may see it."""
ANONYMOUS, STAFF = Viewer(), Viewer("ann", ("staff",))
ASKED: dict[str, dict[str, Any]] = {
    "a tag": {"condition": Condition({"tag": ("even",)})},
    "without a tag": {"condition": Condition(without=(("tag", ("even",)),))},
    "a path": {"condition": Condition({"path": ("*1*",)})},
    "dates": {"condition": Condition(since=datetime(2025, 4, 1, tzinfo=UTC), before=datetime(2025, 9, 1, tzinfo=UTC))},
    "a collection": {"condition": Condition({"collection": ("staff",)})},
    "anonymous": {"viewer": ANONYMOUS},
    "anonymous, lexical": {"viewer": ANONYMOUS, "mode": "lexical"},
    "anonymous, sparse": {"viewer": ANONYMOUS, "mode": "sparse"},
    "a group and a user": {"viewer": STAFF},
    "a viewer, a tag and dates": {
        "viewer": ANONYMOUS,
        "condition": Condition({"tag": ("even",)}, since=datetime(2025, 4, 1, tzinfo=UTC)),
    },
}
"""How queries are asked besides the modes: hybrid, if they do not say."""
SCORED_QUERIES, SCORED_PASSAGES = 20, 300
FEW_JUDGED, MADE = 300, 1000
"""With fewer judged questions, so many are made from the documents besides."""
ENVIRON = {"WATERSMEET__INDEX__DENSE": "hashed"}
SPREAD = {1: {}, 3: {"SHARDS": "6", "REPLICAS": "2"}}
Hits = list[tuple[str, float]]


@contextmanager
def cluster(nodes: int, epoch_share: float) -> Iterator[dict[str, str]]:
    """Variables that lead to PostgreSQL and so many nodes of Qdrant."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="wm-nodes-")))
        started: list[Qdrant] = []
        for number in range(nodes):
            started.append(Qdrant(folder / str(number), started[0] if started else None, clustered=nodes > 1))
            stack.callback(started[-1].stop)
        of = "WATERSMEET__STORE__POSTGRES__"
        settings = {f"{of}EPOCH_SHARE": str(epoch_share)}
        settings[f"{of}QDRANT"] = json.dumps([one.url for one in started])
        settings[f"{of}QDRANT_GRPC_PORTS"] = json.dumps([one.grpc_port for one in started])
        yield ENVIRON | settings | {f"{of}{name}": value for name, value in SPREAD[nodes].items()}


def prepared(dataset: Dataset, folder: Path) -> list[Path]:
    """The corpus with a tag on every second document and dates of a year, as a file for each collection."""
    assert dataset.corpus is not None
    parts: dict[str, list[str]] = {name: [] for name in PARTS}
    for number, line in enumerate(dataset.corpus.read_text().split("\n")):
        if line:
            read = json.loads(line)
            date = f"2025-{1 + number % 12:02}-{1 + number % 28:02}"
            metadata = {**(read.get("metadata") or {}), "updated": date, **({"tags": ["even"]} if number % 2 else {})}
            part = {1: "staff", 2: "own"}.get(number % 5, "open")
            parts[part].append(json.dumps({**read, "metadata": metadata}) + "\n")
    for name, lines in parts.items():
        (folder / f"{name}.jsonl").write_text("".join(lines))
    return [folder / f"{name}.jsonl" for name in parts]


def edited(path: Path) -> None:
    """Every fifth document says what the one before it says as well."""
    lines = [json.loads(line) for line in path.read_text().split("\n") if line]
    for number in range(4, len(lines), 5):
        lines[number]["text"] = f"{lines[number]['text']}\n\n{lines[number - 1]['text'][:300]}"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def results_of(engine: Engine, query: str, **options: Any) -> Hits:
    answer = engine.search(Request(query, top_n=10, **options))
    if answer.failures:
        raise SystemExit(f"{query!r}: {answer.failures}")
    return [(result.id, result.score) for result in answer.results]


def compared(pairs: Sequence[tuple[Hits, Hits]]) -> dict[str, Any]:
    found: dict[str, Any] = {"queries": len(pairs), "order": 0, "set": 0, "first": 0, "apart": 0.0}
    for ours, theirs in pairs:
        order, other = [chunk for chunk, _ in ours], [chunk for chunk, _ in theirs]
        found["order"] += order == other
        found["set"] += set(order) == set(other)
        found["first"] += order[:1] == other[:1]
        scores = dict(theirs)
        apart = max((abs(score - scores[chunk]) for chunk, score in ours if chunk in scores), default=0.0)
        found["apart"] = max(found["apart"], apart)
    return found


def scored(ours: Engine, theirs: Engine, texts: Sequence[str]) -> dict[str, Any]:
    """How far apart the scores of the same passages are, by signal: for the owner and for everyone. Those above 1 as a
    share of the score: they are sums in single precision."""
    apart: dict[str, float] = {}
    counted = 0
    with ours.snapshot() as local, theirs.snapshot() as remote:
        for visible in (ANY, Condition(gates=gates(ANONYMOUS))):
            ids = local.sample(SCORED_PASSAGES, visible)
            for text in texts[:SCORED_QUERIES]:
                found = [
                    _scores(one, snapshot, visible, text, ids) for one, snapshot in ((ours, local), (theirs, remote))
                ]
                for signal, scores in found[0].items():
                    other = found[1][signal]
                    counted += len(scores)
                    pairs = [(scores.get(one, 0.0), other.get(one, 0.0)) for one in {*scores, *other}]
                    far = max((abs(a - b) / max(1.0, a, b) for a, b in pairs), default=0.0)
                    apart[signal] = max(apart.get(signal, 0.0), far)
    return {"scores": counted, "apart": apart}


def _scores(
    engine: Engine, snapshot: Any, visible: Condition, text: str, ids: Sequence[ChunkId]
) -> dict[str, Mapping[ChunkId, float]]:
    words = snapshot.words(visible)
    found = {"lexical": words.score([Term("body", one) for one in dict.fromkeys(both(text)[0])], ids)}
    for name, tier in snapshot.tiers().items():
        component = getattr(engine.settings.section("index"), name)
        model = encoder(engine.settings, component) if name == "sparse" else embedder(engine.settings, component)
        (found[name],) = snapshot.vectors(tier, visible).score([model.embed_query(text)], ids)
    return found


def gains(engine: Engine, questions: Sequence[Question]) -> list[float]:
    """nDCG@10 of each question. What a question was made from is left out of its results."""
    found = []
    for question in questions:
        answer = engine.search(
            Request(question.text, top_n=20 if question.withheld else 10, one_per_document=not question.withheld)
        )
        documents = dict.fromkeys(one.document for one in answer.results if one.id not in question.withheld)
        relevant = {name: grade for name, grade in question.relevant.items() if grade > 0}
        grades = [relevant.get(name, relevant.get(DocId(name.rpartition("#")[2]), 0)) for name in list(documents)[:10]]
        best = sorted(relevant.values(), reverse=True)[:10]
        whole = sum((2**grade - 1) / math.log2(place + 2) for place, grade in enumerate(best))
        found.append(sum((2**grade - 1) / math.log2(n + 2) for n, grade in enumerate(grades)) / whole if whole else 0.0)
    return found


def after_edits(folder: Path, files: Sequence[Path], theirs: Engine, dataset: Dataset) -> dict[str, Any]:
    """The cluster beside a folder that was filled with the edited documents: one that was edited counts old versions
    in its statistics until they are buried."""
    for path in files:
        edited(path)
    theirs.sync(files)
    theirs.deepen()
    with Engine(folder / "edited", theirs.settings) as ours:
        for path in files:
            ours.sync([path], collection=path.stem, audience=PARTS[path.stem])
        ours.deepen(tiers=("static", "dense"))
        asked = {"judged": list(dataset.questions)}
        if len(dataset.questions) < FEW_JUDGED:
            asked["made from documents"] = list(known_items(ours, MADE, 7, lambda _: None).questions)
        return {what: differing(gains(ours, part), gains(theirs, part)) for what, part in asked.items()}


def differing(local: Sequence[float], other: Sequence[float]) -> dict[str, Any]:
    apart = [b - a for a, b in zip(local, other, strict=True)]
    spread = 1.96 * statistics.stdev(apart) / math.sqrt(len(apart))
    mean = statistics.fmean(apart)
    return {
        "queries": len(apart),
        "other gains": sum(one != 0 for one in apart),
        "local": round(statistics.fmean(local), 4),
        "cluster": round(statistics.fmean(other), 4),
        "difference": [round(mean - spread, 5), round(mean, 5), round(mean + spread, 5)],
    }


def run(dataset: Dataset, queries: int, nodes: Sequence[int], epoch_share: float) -> dict[str, Any]:
    report: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as place:
        for count in nodes:
            folder = Path(place) / str(count)
            folder.mkdir()
            with cluster(count, epoch_share) as environ:
                report[f"{count} nodes"] = _one(folder, load(environ=environ), dataset, queries, count)
            shutil.rmtree(folder)
    return report


def _one(folder: Path, settings: Settings, dataset: Dataset, queries: int, nodes: int) -> dict[str, Any]:
    texts = [question.text for question in dataset.limited(queries, 7).questions] if queries else []
    target = f"{running().postgres}&index=same_{dataset.name}_{nodes}"
    files = prepared(dataset, folder)
    with Engine(folder / "index", settings) as ours:
        for path in files:
            ours.sync([path], collection=path.stem, audience=PARTS[path.stem])
        ours.deepen(tiers=("static", "sparse", "dense"))
        start, cpu = time.perf_counter(), time.process_time()
        pushed = push(ours, target, lambda *_: None)
        report: dict[str, Any] = {
            "chunks": pushed.rows,
            "push_seconds": round(time.perf_counter() - start, 1),
            "push_cpu_seconds": round(time.process_time() - cpu, 1),
        }
        with Engine(target, settings) as theirs:
            theirs.deepen(tiers=("sparse",))
            for what, options in {**{mode: {"mode": mode} for mode in MODES}, **ASKED}.items() if texts else ():
                report[what] = compared(
                    [(results_of(ours, q, **options), results_of(theirs, q, **options)) for q in texts]
                )
            if texts:
                report["scores of given passages"] = scored(ours, theirs, texts)
            report["a fifth edited"] = after_edits(folder, files, theirs, dataset)
    index: Any = open_index(target, settings)
    index.drop()
    index.close()
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--queries", type=int, default=100, help="0: only after edits")
    parser.add_argument("--nodes", type=int, nargs="*", default=[1, 3])
    parser.add_argument(
        "--epoch-share", type=float, default=1.0, help="share of changed rows; the default setting: 0.05"
    )
    parser.add_argument("--data", type=Path, default=SHARED / "data" / "eval")
    parser.add_argument("--keep", action="store_true", help="in benchmarks/results")
    wanted = parser.parse_args()
    sets: dict[str, Any] = {}
    figures: dict[str, Any] = {"machine": machine(), "epoch_share": wanted.epoch_share, "sets": sets}
    for name in wanted.sets:
        sets[name] = run(load_dataset(wanted.data / name), wanted.queries, wanted.nodes, wanted.epoch_share)
        print(name, json.dumps(sets[name]), file=sys.stderr, flush=True)
    figures["load_after"] = load_of_machine()
    print(json.dumps(keep("same_answers", figures, RESULTS if wanted.keep else None), indent=1))


if __name__ == "__main__":
    main()
