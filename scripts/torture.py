"""A stress test of snapshot isolation: some processes read and check while one more writes without pause.

    python scripts/torture.py [--seconds 120] [--readers 8] [--text tantivy] [--grace 2] [--vectors]

Every version of every page carries a word of its own, so a reader can tell which version a hit is of. Inside one
snapshot of the catalogue a reader checks that
  - the id, text and hash of every hit are those of that version, computed anew from the page's source;
  - every hit of a version's word contains that word, and every hit under a filter satisfies it;
  - a page that is live in this snapshot is found by its word, all chunks of it;
  - no signal failed.
The writer adds, edits, deletes, moves and renames pages, removes documents, compacts and sometimes builds the index
anew; rows may be deleted `--grace` seconds after they died. Prints JSON; exit code 1 on any mismatch or error.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import re
import shutil
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from watersmeet import Engine
from watersmeet.chunk.headings import Headings
from watersmeet.core.documents import Document
from watersmeet.core.errors import WatersmeetError
from watersmeet.core.indexing import Found
from watersmeet.core.model import Condition, Plan
from watersmeet.core.text_fields import prepare
from watersmeet.engine.settings.settings import Settings, load
from watersmeet.parse.markdown import Markdown
from watersmeet.store.local._stored_text import PLAIN

LETTERS = "bcdfghjklmnpqrtvwxz"
WORDS = [a + b for a in ("tide", "reed", "silt", "bank", "delta", "marsh") for b in ("gate", "mark", "song", "line")]
BOTH, LEXICAL, EXACT = ("lexical", "exact"), ("lexical",), ("exact",)
SHOWN = 20
START_SECONDS = 120.0
"""How long the start of all readers may take."""


def word_of(number: int, version: int) -> str:
    """A word that occurs in this version of this page and nowhere else."""
    return f"zq{_letters(number)}x{_letters(version)}q"


def _letters(number: int) -> str:
    base = len(LETTERS) - 2  # without x, which separates, and z
    digits = LETTERS[number % base]
    while number := number // base:
        digits = LETTERS[number % base] + digits
    return digits


def page(number: int, version: int) -> str:
    chance = random.Random(number * 1_000_003 + version)  # noqa: S311 - to be repeatable
    word = word_of(number, version)
    sections = [
        f"## {chance.choice(WORDS)} {n}\n\n{word} MK-{number}-{version}-{n} {' '.join(chance.choices(WORDS, k=60))}.\n"
        for n in range(chance.randint(1, 4))
    ]
    matter = f"tags: [t{number % 5}]\nnumber: {number}\nversion: {version}"
    return f"---\n{matter}\n---\n# Page {number}\n\n" + "\n".join(sections)


@lru_cache(maxsize=5000)
def expected(name: str, number: int, version: int) -> dict[str, tuple[bytes, str]]:
    """The chunks of a page by id: hash of what is indexed, and text."""
    (document,) = Markdown().parse(Found(name, name, "0"), page(number, version).encode())
    assert isinstance(document, Document)
    return {p.chunk.id: (p.hash, p.chunk.text) for p in prepare(document, Headings().split(document))}


@dataclass
class Reader:
    """One process that asks and checks."""

    index: str
    settings: Settings
    chance: random.Random
    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def run(self, end: float) -> None:
        engine = Engine(self.index, self.settings)
        while time.time() < end:
            if self.chance.random() < 0.05:
                engine.close()
                engine = Engine(self.index, self.settings)
            try:
                start = time.monotonic()
                with engine.snapshot() as snapshot:
                    opened = time.monotonic() - start
                    for problem in self.look(engine, snapshot):
                        self.wrong.append(f"{problem} (opened in {opened:.2f} s, {time.monotonic() - start:.2f} s ago)")
                self.counts["moments"] += 1
                self.counts["slowest_ms"] = max(self.counts["slowest_ms"], int(1000 * (time.monotonic() - start)))
            except (WatersmeetError, sqlite3.Error, OSError, ValueError, KeyError) as error:
                self.errors.append(f"{type(error).__name__}: {error}")
        engine.close()

    def look(self, engine: Engine, snapshot: Any) -> Iterator[str]:
        for _ in range(self.chance.randint(1, 4)):
            condition = self.chance.choice([Condition(), *self.conditions()])
            hits = self.ask(engine, snapshot, " ".join(self.chance.sample(WORDS, 2)), condition, BOTH)
            yield from self.check(snapshot, hits, condition)
        live = snapshot.query("SELECT d.name, d.fields, d.id FROM documents d ORDER BY random() LIMIT 3")
        for name, fields, key in live:
            facts = json.loads(fields)
            word = word_of(facts["number"], facts["version"])
            question = self.chance.choice([word, f"what is {word}"])
            hits = self.ask(engine, snapshot, question, Condition(), self.chance.choice((BOTH, LEXICAL)))
            yield from self.check(snapshot, hits, Condition(), word)
            chunk_texts = dict(snapshot.query(f"SELECT id, {PLAIN.format('')} FROM chunks WHERE document = ?", [key]))
            if set(hits) != set(chunk_texts):
                missing = len(chunk_texts.keys() - set(hits))
                yield f"{name}: {missing} of {len(chunk_texts)} live chunks were not found by {word}"
            chunk, text = self.chance.choice(list(chunk_texts.items()))
            identifier = text.split("MK-")[1].split()[0]
            hits = self.ask(engine, snapshot, f"MK-{identifier}", Condition(), self.chance.choice((BOTH, EXACT)))
            if hits[:1] != [chunk]:
                yield f"{name} {chunk}: MK-{identifier} finds {hits[:1]}"
            self.counts["live_checked"] += 1
        number, version = self.chance.randrange(400), self.chance.randrange(30)
        hits = self.ask(engine, snapshot, word_of(number, version), Condition(), BOTH)
        yield from self.check(snapshot, hits, Condition(), word_of(number, version))

    def conditions(self) -> list[Condition]:
        number = self.chance.randrange(5)
        return [
            Condition({"tag": (f"t{number}",)}),
            Condition({"path": (f"f{number}/**",)}),
            Condition({"tag": ("t0", "t1"), "path": ("f1/**", "f2/**")}),
        ]

    def ask(
        self, engine: Engine, snapshot: Any, text: str, condition: Condition, signals: tuple[str, ...]
    ) -> list[Any]:
        plan = Plan(text=text, intent="", condition=condition, top_n=20, pool=100)
        outcome = engine.visible_index(snapshot, None).pipeline(self.settings, signals).run(plan)
        self.errors += [f"{failure.by}: {failure.reason}" for failure in outcome.failures]
        self.counts["queries"] += 1
        return [hit.chunk for hit in outcome.ranking.hits]

    def check(self, snapshot: Any, hits: list[Any], condition: Condition, word: str = "") -> Iterator[str]:
        rows = snapshot.query(
            f"SELECT c.id, substr(c.hash, 1, 16), {PLAIN.format('c.')}, d.name"
            " FROM json_each(?) j JOIN chunks c ON c.id = j.value"
            " JOIN documents d ON d.id = c.document",
            [json.dumps(hits)],
        )
        if len(rows) != len(hits):
            yield f"{len(hits)} hits, of which {len(rows)} are in the catalogue"
        for chunk, digest, text, name in rows:
            self.counts["hits"] += 1
            marker = re.search(r"\bMK-(\d+)-(\d+)-\d", text)
            number, version = map(int, marker.groups()) if marker else (-1, -1)
            if expected(name, number, version).get(chunk) != (digest, text):
                yield f"{name} {chunk}: id, hash or text is not that of version {version}"
            if word and word not in text:
                yield f"{name} {chunk}: found by {word}, which it does not contain"
            tags, paths = condition.fields.get("tag"), condition.fields.get("path")
            if (tags and f"t{number % 5}" not in tags) or (paths and f"{name.split('/')[0]}/**" not in paths):
                yield f"{name} {chunk}: does not satisfy {condition.fields}"


@dataclass
class Writer:
    """The one process that changes things."""

    root: Path
    index: str
    settings: Settings
    chance: random.Random
    pages: dict[str, tuple[int, int]] = field(default_factory=dict)
    versions: Counter[int] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)

    def run(self, end: float) -> None:
        while time.time() < end:
            for _ in range(self.chance.choice((1, 3, 30))):
                self.change()
            with Engine(self.index, self.settings) as engine:
                recreate = self.chance.random() < 0.01
                report = engine.sync([self.root], recreate=recreate, deepen=False)
                self.counts["syncs"] += 1
                self.counts["recreated"] += recreate
                for kind in ("added", "changed", "moved", "removed"):
                    self.counts[kind] += getattr(report, kind)
                if self.chance.random() < 0.2 and self.pages:
                    self.counts["documents_removed"] += engine.remove([self.chance.choice(list(self.pages))])
                if self.chance.random() < 0.3:
                    dropped = engine.compact()
                    self.counts["compactions"] += dropped > 0
                    self.counts["rows_dropped"] += dropped

    def change(self) -> None:
        fate = self.chance.random()
        if fate < 0.3 or len(self.pages) < 50:
            number = self.chance.randrange(400)
            name = f"f{self.chance.randrange(5)}/p{number}.md"
            if all(existing != number for existing, _ in self.pages.values()):
                self.put(name, number)
            return
        name = self.chance.choice(list(self.pages))
        if fate < 0.6:
            self.put(name, self.pages[name][0])
        elif fate < 0.8:
            folder, _, stem = name.partition("/")
            elsewhere = f"f{self.chance.randrange(5)}/{stem}"
            new = elsewhere if fate < 0.7 else f"{folder}/r{self.versions.total()}-{stem[-8:]}"
            if new not in self.pages:
                os.replace(self.root / name, self.root / new)
                self.pages[new] = self.pages.pop(name)
        else:
            (self.root / name).unlink()
            del self.pages[name]

    def put(self, name: str, number: int) -> None:
        self.versions[number] += 1
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page(number, self.versions[number]), "utf8")
        self.pages[name] = number, self.versions[number]


def read(index: str, environ: dict[str, str], seed: int, seconds: float, running: Any, out: Any) -> None:
    chance = random.Random(seed)  # noqa: S311 - to be repeatable
    reader = Reader(index, load(start=index, environ=environ), chance)
    running.wait(START_SECONDS)
    reader.run(time.time() + seconds)
    out.put((reader.counts, reader.wrong, reader.errors))


def torture(args: argparse.Namespace, folder: str) -> dict[str, Any]:
    environ = {
        "WATERSMEET__WRITER__GRACE_SECONDS": str(args.grace),
        "WATERSMEET__WRITER__BATCH_CHUNKS": "60",
        "WATERSMEET__WRITER__COMPACT_SHARE": "0.1",
        "WATERSMEET__INDEX__TEXT": args.text,
        "WATERSMEET__INDEX__VECTORS": "true" if args.vectors else "false",
        "WATERSMEET__INDEX__DENSE": "",
        "WATERSMEET__PIPELINE__UNDERSTAND": '["tags", "words", "identifier_weight"]',  # no word is searched as another
    }
    index = os.path.join(folder, "index")
    chance = random.Random(args.seed)  # noqa: S311 - to be repeatable
    writer = Writer(Path(folder, "pages"), index, load(start=folder, environ=environ), chance)
    for _ in range(150):
        writer.change()
    with Engine(index, writer.settings) as engine:
        engine.sync([writer.root], deepen=False)
    context = multiprocessing.get_context("spawn")
    out = context.Queue()
    running = context.Barrier(args.readers + 1)  # the clock starts when all of them run
    given = (args.seconds, running, out)
    readers = [context.Process(target=read, args=(index, environ, args.seed + n, *given)) for n in range(args.readers)]
    for process in readers:
        process.start()
    running.wait(START_SECONDS)
    writer.run(time.time() + args.seconds)
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    errors: list[str] = []
    slowest = 0
    for _ in readers:
        found, bad, failed = out.get(timeout=60)
        slowest = max(slowest, found.pop("slowest_ms", 0))
        counts += found
        wrong += bad
        errors += failed
    for process in readers:
        process.join()
        errors += [f"a reader ended with {process.exitcode}"] if process.exitcode else []
    return {
        "seconds": args.seconds,
        "readers": args.readers,
        "text": args.text,
        "mismatches": len(wrong),
        "errors": len(errors),
        **dict(counts),
        "slowest_moment_ms": slowest,
        "writer": dict(writer.counts),
        "examples": wrong[:SHOWN] + errors[:SHOWN],
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--readers", type=int, default=8)
    parser.add_argument("--text", default="tantivy", help="text store: tantivy or fts5")
    parser.add_argument("--grace", type=float, default=2.0, help="seconds that dead rows are kept")
    parser.add_argument("--vectors", action="store_true", help="write static vectors as well")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    folder = tempfile.mkdtemp()
    try:
        summary = torture(args, folder)
    finally:
        shutil.rmtree(folder)
    print(json.dumps(summary, indent=1))
    return 1 if summary["mismatches"] or summary["errors"] else 0


if __name__ == "__main__":
    sys.exit(main())
