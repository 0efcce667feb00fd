"""Comparison with other tools: the same documents and queries for all, in one run.

    python benchmarks/peers.py [--sets scifact_train,k8s_anchor] [--queries 300] [--no-granite] [--quick]

Every record of a set is written as a Markdown file. Each peer indexes that folder with its own command where it has
one, is asked for 100 passages a query, and is judged by the documents in the order of their best passage; times are
for 10 results. Peers live in virtual environments of their own below --venvs, made here if they are not there, with
a home folder of their own. One that cannot be installed or run is reported with the reason.

watersmeet with granite takes its dense vectors from your embedding cache, as far as they are in it: embedding them
takes minutes. How many were new is in the result, and the indexing CPU counts only those.
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
from collections.abc import Sequence
from dataclasses import dataclass
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

from watersmeet.engine.settings.settings import cache_folder
from watersmeet.evaluate.data import Dataset, Question
from watersmeet.evaluate.data import load as load_dataset
from watersmeet.evaluate.metrics import judge, means

DATA = SHARED / "data" / "eval"
POTION = SHARED / "models" / "potion-base-8M"
SCRIPT = str(ROOT / "benchmarks" / "_peer.py")
PASSAGES, RESULTS_SHOWN = 100, 10
WARMING, TIMED, COLD = 20, 100, 10
SHOWN = ("ndcg@10", "mrr@10", "hit@1")


@dataclass(frozen=True)
class Peer:
    """`kind` is what _peer.py calls it. Those of the same `home` share an index."""

    name: str
    kind: str
    what: str
    needs: tuple[str, ...] = ()
    system_python: bool = False
    home: str = ""


OURS = "watersmeet"
PEERS = [
    Peer("watersmeet lexical", f"{OURS}:lexical", "words and identifiers, no vectors"),
    Peer("watersmeet static", f"{OURS}:hybrid", "hybrid after `sync --no-deepen`: words, identifiers, potion-base-8M"),
    Peer("watersmeet", f"{OURS}:hybrid", "hybrid: words, identifiers, potion-base-8M, granite-30m"),
    Peer("docmancer 0.5.2 lexical", "docmancer:lexical", "FTS5", ("docmancer==0.5.2",)),
    Peer(
        "docmancer 0.6.17 hybrid",
        "docmancer:hybrid",
        "FTS5 and potion-base-8M in sqlite-vec, as shipped: two stages, documents first",
        ("docmancer==0.6.17",),
        system_python=True,
        home="docmancer-0.6.17",
    ),
    Peer(
        "docmancer 0.6.17 one stage",
        "docmancer:hybrid-one",
        "the same with retrieval.hierarchical.auto off",
        ("docmancer==0.6.17",),
        system_python=True,
        home="docmancer-0.6.17",
    ),
    Peer("bm25s", "bm25s", "whole documents, English stems and stop words", ("bm25s>=0.3,<0.4", "PyStemmer", "numpy")),
    Peer("numpy", "numpy", "potion-base-8M means of 200 words, all cosines", ("numpy", "tokenizers")),
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
    """One set, written as files, and each peer's run over it."""

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
        job = {
            "queries": [question.text for question in questions],
            "results": RESULTS_SHOWN,
            "passages": PASSAGES,
            "timed": min(TIMED, len(questions) - WARMING),
            "warming": WARMING,
        }
        self.job_file = folder / "asked.json"
        self.job_file.write_text(json.dumps(job), "utf8")
        self.indexed: dict[str, dict[str, Any]] = {}

    def run(self, peer: Peer) -> dict[str, Any]:
        """The peer's figures, or why there are none."""
        try:
            return self._run(peer, interpreter(peer, self.venvs))
        except CommandFailed as problem:
            return {"failed": str(problem)}

    def _run(self, peer: Peer, python: str) -> dict[str, Any]:
        home = self.folder / (peer.home or peer.name.replace(" ", "-"))
        home.mkdir(exist_ok=True)
        caching = {"XDG_CACHE_HOME": os.path.dirname(cache_folder())} if deep(peer) else {}
        run = Runner(home, {"HF_HUB_OFFLINE": "1", **caching})
        place = str(home.resolve())
        if str(home) not in self.indexed:
            self.indexed[str(home)] = self._index(peer, python, run, home)
        answers = home / "answers.json"
        run(python, SCRIPT, peer.kind, "ask", place, str(self.job_file), str(answers), good=(0,))
        found = json.loads(answers.read_text("utf8"))
        rankings = [[self.ids[name] for name in ranking] for ranking in found["documents"]]
        quality = means(judge(self.questions, rankings))
        return {
            **{name: quality[name] for name in SHOWN},
            "unanswered": sum(not ranking for ranking in rankings),
            "documents_found": round(statistics.mean(map(len, rankings)), 1),
            **self.indexed[str(home)],
            "warm_cpu_ms": percentiles(found["cpu_ms"]),
            "warm_wall_ms": percentiles(found["wall_ms"]),
            "query_peak_mb": found["peak_mb"],
            **self._cold(peer, python, place, run),
        }

    def _cold(self, peer: Peer, python: str, place: str, run: Runner) -> dict[str, float]:
        good = (0, 1) if peer.kind.startswith(OURS) else (0,)
        return cold(run, one(peer, python, place), [question.text for question in self.questions[:COLD]], good)

    def _index(self, peer: Peer, python: str, run: Runner, home: Path) -> dict[str, Any]:
        index, corpus = home / "index", str(self.corpus)
        if peer.kind.startswith(OURS):
            flags = ["--no-vectors"] if peer.kind.endswith("lexical") else [] if deep(peer) else ["--no-deepen"]
            cost = run(*WATERSMEET, "sync", corpus, "--index", str(index), "--json", *flags, good=(0,))
        elif peer.kind.startswith("docmancer"):
            command = [str(Path(python).parent / "docmancer"), "ingest", corpus]
            cost = run(*command, *(["--no-vectors"] if peer.kind.endswith("lexical") else []), good=(0,))
        else:
            (home / "model").write_text(str(POTION), "utf8")
            if peer.kind == "numpy" and not POTION.is_dir():
                raise CommandFailed(f"{POTION} is not there")
            cost = run(python, SCRIPT, peer.kind, "index", corpus, str(home), good=(0,))
        figures = {
            "index_cpu_s": round(cost.cpu, 2),
            "index_peak_mb": round(cost.peak),
            "index_mb": size_mb(index if index.is_dir() else home),
        }
        if deep(peer):
            report = json.loads(cost.out)
            figures |= {"chunks": report["chunks"], "embedded": report["embedded"]}
        return figures


def deep(peer: Peer) -> bool:
    return "granite" in peer.what


def one(peer: Peer, python: str, place: str) -> list[str]:
    """The command that answers one query."""
    name, _, mode = peer.kind.partition(":")
    if name == OURS:
        return [*WATERSMEET, "search", "--mode", mode, "--index", f"{place}/index", "--"]
    if name == "docmancer":
        return [str(Path(python).parent / name), "query", "--mode", mode.removesuffix("-one"), "--limit", "10", "--"]
    return [python, SCRIPT, peer.kind, "one", place]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default="scifact_train,k8s_anchor")
    parser.add_argument("--queries", type=int, default=300, help="the first so many of each set")
    parser.add_argument("--no-granite", action="store_true", help="leave out what needs the transformer")
    parser.add_argument("--venvs", type=Path, default=Path(tempfile.gettempdir()) / "watersmeet-peers")
    parser.add_argument("--quick", action="store_true", help="few queries, nothing kept: to see that it works")
    parser.add_argument("--out", type=Path, default=RESULTS)
    chosen = parser.parse_args()
    limit = 60 if chosen.quick else chosen.queries
    facts, sets = machine(), {}
    for name in chosen.sets.split(","):
        dataset = load_dataset(DATA / name)
        questions = dataset.questions[:limit]
        folder = Path(tempfile.mkdtemp()).resolve()
        try:
            contest = Contest(dataset, questions, folder, chosen.venvs)
            figures: dict[str, Any] = {}
            for peer in PEERS:
                if deep(peer) and chosen.no_granite:
                    figures[peer.name] = {"failed": "left out: --no-granite"}
                    continue
                figures[peer.name] = contest.run(peer)
                print(f"{name}: {peer.name}: {figures[peer.name]}", file=sys.stderr, flush=True)
            sets[name] = {"documents": len(contest.ids), "queries": len(questions), "peers": figures}
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    facts["load_after"] = load()
    what = {peer.name: peer.what for peer in PEERS}
    result = {"machine": facts, "quick": chosen.quick, "peers": what, "passages": PASSAGES, "sets": sets}
    print(json.dumps(keep("peers", result, None if chosen.quick else chosen.out), indent=1))


if __name__ == "__main__":
    main()
