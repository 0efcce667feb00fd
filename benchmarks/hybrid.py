"""What a hybrid query costs beside its parts, in a small index of real Markdown.

    python benchmarks/hybrid.py [FOLDER OF MARKDOWN] [--pages 300] [--queries 180] [--runs 2]

Each query is asked in a warm process in one mode only, since vectors of queries are cached; three processes in turn see
that every query is asked in every mode. "Again" are the same hybrid queries once more. Figures are the means, over the
queries, of the least CPU time of all threads; wall times are reported beside. The reranker reads ten pairs: the
transformer itself, with one number for a pair.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import json
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from _common import RESULTS, keep, load, machine, queries
from _corpus import source

from watersmeet import Engine
from watersmeet.core.model import Answer, Request
from watersmeet.embed._locate import locate
from watersmeet.embed._mapped_graph import _message
from watersmeet.embed.crossencoder import Crossencoder
from watersmeet.engine.settings.settings import load as load_settings

MODES = ("lexical", "dense", "hybrid")
WARMING, RERANKED = 15, 25


def copied(folder: Path, pages: int, out: Path) -> Path:
    """Some pages, from all over the folder."""
    found = sorted(folder.rglob("*.md"))
    random.Random(1).shuffle(found)  # noqa: S311 - a sample
    for number, path in enumerate(found[:pages]):
        (out / f"{number:04}-{path.stem}").with_suffix(".md").parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, out / f"{number:04}-{path.stem}.md")
    return out


def digest(answer: Answer) -> str:
    """What an answer says, digit by digit."""
    said = [
        (one.id, one.score, one.fusion_score, [(e.by, e.rank, e.score, sorted(e.detail.items())) for e in one.evidence])
        for one in answer.results
    ]
    return hashlib.sha256(repr((said, answer.confidence, answer.no_good_match)).encode()).hexdigest()[:16]


def asking(index: str, texts: list[str], turn: int) -> dict[str, Any]:
    """Each text in one mode, which changes with the turn; then the hybrid ones again."""
    took: dict[str, dict[str, tuple[float, float]]] = {mode: {} for mode in (*MODES, "again")}
    digests = {}
    with Engine(index, load_settings(start=index, environ={})) as engine:

        def ask(text: str, mode: str, into: str) -> None:
            wall, cpu = time.perf_counter(), time.process_time()
            answer = engine.search(Request(text, mode=mode))
            took[into][text] = (1000 * (time.process_time() - cpu), 1000 * (time.perf_counter() - wall))
            digests[f"{mode} {text}"] = digest(answer)

        for number, text in enumerate(texts[:WARMING]):
            engine.search(Request(f"{text} {number}", mode=MODES[number % 3]))
        gc.collect()
        gc.disable()
        for number, text in enumerate(texts):
            mode = MODES[(number + turn) % 3]
            ask(text, mode, mode)
        for text in list(took["hybrid"]):
            ask(text, "hybrid", "again")
    return {"took": took, "digests": digests}


def reranker(folder: Path) -> Crossencoder:
    """The transformer with one number for a pair: as large as the rerankers that people use."""
    place = locate("granite-30m", "", False)
    for file in place.iterdir():
        if file.is_file():
            shutil.copyfile(file, folder / file.name)
    node = _message(1, b"sentence_embedding") + _message(2, b"logits") + _message(4, b"ReduceMax")
    size = _message(1, b"\x08\x01")  # a dimension of 1
    kind = _message(1, b"\x08\x01" + _message(2, size + size))  # float32, of this shape
    graph = _message(1, node) + _message(12, _message(1, b"logits") + _message(2, kind))
    with (folder / "model.onnx").open("ab") as model:
        model.write(_message(7, graph))  # messages that follow one another are merged
    return Crossencoder(str(folder))


def reranking(index: Path, texts: list[str]) -> float:
    """CPU of reading the first ten results with each query, in milliseconds."""
    took = []
    with tempfile.TemporaryDirectory() as folder, Engine(index, load_settings(start=str(index), environ={})) as engine:
        reader = reranker(Path(folder))
        for text in texts:
            found = [one.text for one in engine.search(Request(text, mode="lexical", top_n=10)).results]
            if len(found) == 10:
                start = time.process_time()
                reader.score(text, found)
                took.append(1000 * (time.process_time() - start))
    return round(statistics.median(took), 1)


def measured(index: Path, texts: list[str], runs: int) -> dict[str, Any]:
    least: dict[str, dict[str, tuple[float, float]]] = {}
    digests: dict[str, str] = {}
    for run in range(3 * runs):
        command = [sys.executable, __file__, "--ask", str(index), str(run % 3)]
        found = json.loads(
            subprocess.run(command, input=json.dumps(texts), capture_output=True, text=True, check=True).stdout
        )
        digests |= found["digests"]
        for mode, times in found["took"].items():
            for text, (cpu, wall) in times.items():
                before = least.setdefault(mode, {}).get(text, (cpu, wall))
                least[mode][text] = (min(cpu, before[0]), min(wall, before[1]))
    figures: dict[str, Any] = {
        mode: {
            "cpu_ms": round(statistics.mean(cpu for cpu, _ in times.values()), 3),
            "cpu_p50_ms": round(statistics.median(cpu for cpu, _ in times.values()), 3),
            "wall_p50_ms": round(statistics.median(wall for _, wall in times.values()), 3),
        }
        for mode, times in least.items()
    }
    parts = figures["lexical"]["cpu_ms"] + figures["dense"]["cpu_ms"]
    figures["hybrid_to_lexical_and_dense"] = round(figures["hybrid"]["cpu_ms"] / parts, 3)
    figures["hybrid_to_lexical"] = round(figures["hybrid"]["cpu_ms"] / figures["lexical"]["cpu_ms"], 2)
    figures["again_to_lexical"] = round(figures["again"]["cpu_ms"] / figures["lexical"]["cpu_ms"], 2)
    figures["answers"] = hashlib.sha256(json.dumps(sorted(digests.items())).encode()).hexdigest()[:16]
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=source() / "kubernetes_en")
    parser.add_argument("--pages", type=int, default=300)
    parser.add_argument("--queries", type=int, default=180)
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--index", type=Path, help="an index made before, with its pages beside it")
    parser.add_argument("--ask", nargs=2)
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    if options.ask:
        print(json.dumps(asking(options.ask[0], json.load(sys.stdin), int(options.ask[1]))))
        return
    where = machine()
    with tempfile.TemporaryDirectory(prefix="hybrid-") as scratch:
        place = options.index or Path(scratch) / "index"
        pages = place.parent / "pages"
        if not pages.is_dir():
            copied(options.folder, options.pages, pages)
        with Engine(place, load_settings(start=str(place.parent), environ={})) as engine:
            engine.sync([pages], deepen=False)
            engine.deepen()
            chunks = engine.status()["chunks"]
        texts = list(dict.fromkeys(queries(pages, options.queries, 1)))
        figures = measured(place, texts, options.runs)
        figures["reranker_ten_pairs_cpu_ms"] = reranking(place, texts[2::5][:RERANKED])
    figures |= {"chunks": chunks, "queries": len(texts), "load_after": load()}
    print(json.dumps(keep("hybrid", {"machine": where, **figures}, options.out), indent=1))


if __name__ == "__main__":
    main()
