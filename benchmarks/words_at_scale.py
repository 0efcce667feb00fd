"""BM25 as sparse vectors in Qdrant beside tantivy, in one run: processor time of 12-word questions in all fields.

    python benchmarks/words_at_scale.py [--chunks 1000000] [--questions 300] [--folder FOLDER] [--keep]

The chunks are real texts: Markdown and judged corpora of ../shared/data, cut into passages. Where there are too few, a
further one joins the beginning of one passage and the end of another, so that the words, their frequencies and the
lengths stay those of real texts. Questions are those of the judged corpora: their first 12 words, and of the longer
ones the first 12 that are no stop words. Every question has its words in body, title, headings, names and tags, and
asks for 100 rows. Server time is that of all threads of Qdrant.

What it costs to leave out words that stand in more than a fifth of the rows while there are rarer ones: in processor
time at this size, and in nDCG@10 on judged corpora, each in an index of its own.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from _common import RESULTS, ROOT, SHARED, keep, machine

sys.path.insert(0, str(ROOT / "tests" / "helpers"))

import _corpus

from clusters import Qdrant as Server
from watersmeet.core.documents import Chunk, Document
from watersmeet.core.indexing import Entry
from watersmeet.core.model import ChunkId, DocId, Row
from watersmeet.core.ports import Term
from watersmeet.core.text_fields import prepare
from watersmeet.core.tokens import STOPWORDS, both
from watersmeet.evaluate.data import load
from watersmeet.store.local.tantivy import Tantivy
from watersmeet.store.qdrant.bm25 import FIELDS, rarity, token_of, tokens_of, weights
from watersmeet.store.qdrant.nodes import Access, Nodes
from watersmeet.store.qdrant.points import Point, Qdrant, sparse

BOOSTS = {"body": 1.0, "title": 0.3, "headings": 0.1, "names": 0.3, "tags": 0.1}
LIMIT, WORDS, LONGEST, BATCH, COMMON = 100, 12, 1200, 10_000, 0.2
JUDGED = ("scifact_train", "cranfield", "cisi", "med", "cacm", "zoomcamp_faq", "msmarco_dl_pool5k")
Arrays = dict[str, "np.ndarray[Any, Any]"]
Hits = list[tuple[int, float]]


def passages() -> Iterator[tuple[str, str]]:
    """(title, text) of every passage that there is."""
    for folder in sorted((SHARED / "data" / "markdown").iterdir()):
        yield from _corpus.notes(folder)
    for corpus in sorted((SHARED / "data" / "eval").glob("*/corpus.jsonl")):
        with open(corpus, encoding="utf8") as lines:
            for line in lines:
                read = json.loads(line)
                text = read.get("text") or ""
                for start in range(0, max(1, len(text)), LONGEST):
                    yield read.get("title") or "", text[start : start + LONGEST]


def real_chunks() -> list[dict[str, str]]:
    found = []
    for number, (title, text) in enumerate(passages()):
        name = DocId(f"d{number}.md")
        chunk = Chunk(ChunkId(str(number)), name, text, (title,))
        found += [one.fields for one in prepare(Document(name, "document", title, name), [chunk])]
    return found


def indexed(name: str, text: str) -> list[str]:
    """The words of a field that are indexed, so that both stores cut a passage at the same word."""
    return [word for word in text.split() if token_of(name, word)]


class Corpus:
    """Chunks by number: the real ones, then mixed ones. `terms` has the number of each (field, token)."""

    def __init__(self, size: int) -> None:
        self.texts = [{name: indexed(name, fields[name]) for name in FIELDS} for fields in real_chunks()]
        self.real, self.size = len(self.texts), size
        self.terms: dict[tuple[str, str], int] = {}
        self.tokens: list[Arrays] = [
            {name: self._numbers(name, " ".join(words)) for name, words in fields.items()} for fields in self.texts
        ]
        chance = np.random.default_rng(7)
        self.pairs = chance.integers(0, self.real, (size, 2))
        self.frequencies = np.zeros(len(self.terms), dtype=np.int64)
        lengths = {name: np.array([len(one[name]) for one in self.tokens]) for name in FIELDS}
        self.averages = {n: float(self._lengths(lengths[name]).mean()) for n, name in enumerate(FIELDS)}

    def _numbers(self, name: str, text: str) -> Any:
        terms = self.terms
        return np.array([terms.setdefault((name, one), len(terms)) for one in tokens_of(name, text)], dtype=np.int64)

    def _lengths(self, lengths: Any) -> Any:
        first, second = lengths[self.pairs[self.real :, 0]], lengths[self.pairs[self.real :, 1]]
        return np.concatenate((lengths[: self.size], first // 2 + second - second // 2))

    def _mixed(self, of: Sequence[Any], number: int, name: str) -> Any:
        if number < self.real:
            return of[number][name]
        first, second = (of[one][name] for one in self.pairs[number])
        if name not in ("body", "forms"):
            return first
        return first[: len(first) // 2], second[len(second) // 2 :]

    def entry(self, number: int) -> Entry:
        fields = {}
        for name in FIELDS:
            found = self._mixed(self.texts, number, name)
            fields[name] = " ".join(found if isinstance(found, list) else [*found[0], *found[1]])
        return Entry(Row(number), fields)

    def point(self, number: int) -> Point:
        terms, lengths = [], {}
        for n, name in enumerate(FIELDS):
            found = self._mixed(self.tokens, number, name)
            tokens = np.concatenate(found) if isinstance(found, tuple) else found
            lengths[n] = len(tokens)
            distinct, counts = np.unique(tokens, return_counts=True)
            self.frequencies[distinct] += 1
            terms.append(np.column_stack((distinct, np.full(len(distinct), n), counts)))
        return Point(number, weights(np.concatenate(terms), lengths, self.averages), {})


def questions(limit: int) -> dict[str, list[list[str]]]:
    """Words of questions: the first 12, and the first 12 that are no stop words."""
    files = sorted((SHARED / "data" / "eval").glob("*/queries.jsonl"))
    texts = [json.loads(line)["text"] for file in files for line in file.read_text().split("\n") if line]
    spoken = [text.split()[:WORDS] for text in texts if len(text.split()) >= WORDS]
    full = [[word for word in both(text)[0] if word not in STOPWORDS][:WORDS] for text in texts]
    chance = np.random.default_rng(3)
    asked = {
        "12 words": [list(dict.fromkeys(both(" ".join(one))[0])) for one in spoken],
        "12 words, none of them a stop word": [one for one in full if len(set(one)) == WORDS],
    }
    return {name: [found[i] for i in chance.permutation(len(found))[:limit]] for name, found in asked.items()}


def terms_of(words: Sequence[str]) -> list[Term]:
    return [Term(field, word, boost) for field, boost in BOOSTS.items() for word in words]


def without_common(words: Sequence[str], frequency: Callable[[str], int], size: int) -> list[str]:
    """The words without those in more than a fifth of the rows, if there are rarer ones."""
    rare = [word for word in words if frequency(word) <= COMMON * size]
    return rare if any(frequency(word) for word in rare) else list(words)


class Cost:
    """Processor milliseconds of questions, each apart."""

    def __init__(self, pid: int = 0) -> None:
        self.pid = pid
        self.client: list[float] = []
        self.server: list[float] = []
        self.wall: list[float] = []

    def measure(self, ask: Callable[[], Hits]) -> Hits:
        before, start, clock = self._server(), time.process_time(), time.perf_counter()
        found = ask()
        self.wall.append(1000 * (time.perf_counter() - clock))
        self.client.append(1000 * (time.process_time() - start))
        self.server.append(self._server() - before)
        return found

    def _server(self) -> float:
        if not self.pid:
            return 0.0
        total = 0
        for task in os.listdir(f"/proc/{self.pid}/task"):
            try:
                with open(f"/proc/{self.pid}/task/{task}/schedstat") as file:
                    total += int(file.read().split()[0])
            except FileNotFoundError:
                pass
        return total / 1e6

    def report(self) -> dict[str, Any]:
        named = {"client": self.client, "server": self.server if self.pid else [], "wall": self.wall}
        return {name: quantiles(values) for name, values in named.items() if values}


def quantiles(values: Sequence[float]) -> dict[str, float]:
    ranked = sorted(values)
    return {
        "p50": round(statistics.median(ranked), 2),
        "p99": round(ranked[min(len(ranked) - 1, math.ceil(0.99 * len(ranked)) - 1)], 2),
        "most": round(ranked[-1], 2),
    }


def filled(corpus: Corpus, text: Any, qdrant: Qdrant, pid: int) -> dict[str, Any]:
    """Both stores with all chunks; how long each took."""
    cost, tantivy_cpu, encoding = Cost(pid), 0.0, 0.0
    qdrant.make("words")
    writer = text.writer()
    server, begin = cost._server(), time.perf_counter()
    for start in range(0, corpus.size, BATCH):
        numbers = range(start, min(start + BATCH, corpus.size))
        clock = time.process_time()
        writer.add(map(corpus.entry, numbers))
        tantivy_cpu += time.process_time() - clock
        clock = time.process_time()
        points = [corpus.point(number) for number in numbers]
        qdrant.put("words", points)
        encoding += time.process_time() - clock
        if start % (20 * BATCH) == 0:
            print(f"{start:,} of {corpus.size:,}: {time.perf_counter() - begin:.0f} s", file=sys.stderr, flush=True)
    writer.commit()
    writer.close()
    while qdrant.state("words") != "green":
        time.sleep(1)
    return {
        "seconds": round(time.perf_counter() - begin),
        "tantivy_cpu_seconds": round(tantivy_cpu),
        "points_client_cpu_seconds": round(encoding),
        "points_server_cpu_seconds": round((cost._server() - server) / 1000),
    }


def asked(corpus: Corpus, text: Any, qdrant: Qdrant, pid: int, limit: int) -> dict[str, Any]:
    reader, report = text.reader(), {}

    def number_of(field: str, word: str) -> int | None:
        return corpus.terms.get((field, token_of(field, word)))

    def frequency(word: str) -> int:
        number = number_of("body", word)
        return 0 if number is None else int(corpus.frequencies[number])

    def vector(words: Sequence[str]) -> dict[int, float]:
        found = {}
        for term in terms_of(words):
            number = number_of(term.field, term.text)
            if number is not None and corpus.frequencies[number]:
                found[2 * number] = term.boost * rarity(int(corpus.frequencies[number]), corpus.size)
        return found

    def ask_qdrant(words: Sequence[str]) -> Hits:
        (hits,) = qdrant.search("words", [qdrant.query(sparse(vector(words)), LIMIT, {})])
        return hits

    for name, found in questions(limit).items():
        costs = {"tantivy": Cost(), "qdrant": Cost(pid), "qdrant without common words": Cost(pid)}
        same = {"first": 0, "ten": 0}
        left_out = 0
        for words in found:
            short = without_common(words, frequency, corpus.size)
            left_out += len(words) - len(short)
            ours = costs["tantivy"].measure(partial(reader.match, terms_of(words), LIMIT))
            theirs = costs["qdrant"].measure(partial(ask_qdrant, words))
            costs["qdrant without common words"].measure(partial(ask_qdrant, short))
            same["first"] += [row for row, _ in ours[:1]] == [row for row, _ in theirs[:1]]
            same["ten"] += {row for row, _ in ours[:10]} == {row for row, _ in theirs[:10]}
        report[name] = {
            "questions": len(found),
            "words_left_out": left_out,
            "same": same,
            **{store: cost.report() for store, cost in costs.items()},
        }
    return report


def gain(ranked: Sequence[str], relevant: dict[str, int]) -> float:
    def total(grades: Sequence[int]) -> float:
        return math.fsum(float(2**grade - 1) / math.log2(place + 2) for place, grade in enumerate(grades[:10]))

    best = total(sorted(relevant.values(), reverse=True))
    return total([relevant.get(name, 0) for name in ranked]) / best if best else 0.0


def left_out(name: str) -> dict[str, Any]:
    """nDCG@10 of BM25 on a judged corpus, with all words and without the common ones."""
    folder = SHARED / "data" / "eval" / name
    documents = [json.loads(line) for line in (folder / "corpus.jsonl").read_text().split("\n") if line]
    with tempfile.TemporaryDirectory() as place:
        text = Tantivy(folder=place)
        writer = text.writer()
        for number, one in enumerate(documents):
            identity = DocId(str(one["_id"]))
            chunk = Chunk(ChunkId(str(number)), identity, one.get("text") or "", ())
            (made,) = prepare(Document(identity, "document", one.get("title") or "", ""), [chunk])
            writer.add([Entry(Row(number), made.fields)])
        writer.commit()
        writer.close()
        reader = text.reader()
        size = reader.size
        plain: list[float] = []
        short: list[float] = []
        changed = 0
        for question in load(folder).questions:
            words = list(dict.fromkeys(both(question.text)[0]))
            fewer = without_common(words, lambda word: reader.frequency("body", word), size)
            relevant = {key: grade for key, grade in question.relevant.items() if grade > 0}
            if not relevant:
                continue
            changed += fewer != words
            for asked_words, found in ((words, plain), (fewer, short)):
                hits = reader.match(terms_of(asked_words), 10)
                found.append(gain([str(documents[row]["_id"]) for row, _ in hits], relevant))
        text.close()
    apart = [b - a for a, b in zip(plain, short, strict=True)]
    spread = 1.96 * statistics.stdev(apart) / math.sqrt(len(apart))
    return {
        "questions": len(plain),
        "changed": changed,
        "all_words": round(statistics.fmean(plain), 4),
        "without_common": round(statistics.fmean(short), 4),
        "difference": [round(statistics.fmean(apart) + sign * spread, 4) for sign in (-1, 0, 1)],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=1_000_000)
    parser.add_argument("--questions", type=int, default=300)
    parser.add_argument("--folder", help="where the two stores are made; default: a temporary one")
    parser.add_argument("--keep", action="store_true", help="in benchmarks/results")
    wanted = parser.parse_args()
    report: dict[str, Any] = {"machine": machine(), "load": os.getloadavg()}
    report["leaving out common words"] = {name: left_out(name) for name in JUDGED}
    print(json.dumps(report), file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory(dir=wanted.folder) as place:
        corpus = Corpus(wanted.chunks)
        report |= {"chunks": corpus.size, "real_chunks": corpus.real, "terms": len(corpus.terms)}
        server = Server(Path(place) / "qdrant")
        try:
            nodes = Nodes([server.url], [server.grpc_port], Access(), 120.0, 600.0)
            text, qdrant = Tantivy(folder=os.path.join(place, "text")), Qdrant(nodes)
            report["filling"] = filled(corpus, text, qdrant, server.pid)
            corpus.texts, corpus.tokens = [], []
            report["questions"] = asked(corpus, text, qdrant, server.pid, wanted.questions)
            with open(f"/proc/{server.pid}/status") as status:
                report["server_memory_mb"] = next(
                    int(line.split()[1]) // 1024 for line in status if line.startswith("VmRSS")
                )
        finally:
            server.stop()
    report["load_after"] = os.getloadavg()
    print(json.dumps(keep("words_at_scale", report, RESULTS if wanted.keep else None), indent=1))


if __name__ == "__main__":
    main()
