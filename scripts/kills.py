"""Kill sync, deepen, compaction and register again and again, while files are edited, moved and deleted.

    python scripts/kills.py [--kills 300] [--seed 1] [--text tantivy] [--pages 60] [--every 10] [--save FILE]

One index lives through all of it. The writer is a process of its own; another thread goes on changing the folder until
the kill, and after it. After each kill the index must open and answer, `doctor` must find it sound, what was
acknowledged must be there (a document in the version that was committed, gone if its removal was, as many vectors as
were reported), and every document must be one whole version that its file had. After every tenth kill a sync and a
compaction complete it: documents, chunks, links, vocabulary, confidence and every score must then be those of an index
that was built just now, to a millionth. `killing.py` and `killing_vectors.py` disturb first syncs and `--recreate`, and
count what is embedded twice. Prints JSON.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import re
import shutil
import signal
import sqlite3
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from killing import SYLLABLES

from watersmeet import Engine
from watersmeet.core.model import Request
from watersmeet.engine.index.tiers import tiers_of
from watersmeet.engine.settings.settings import load
from watersmeet.store.local._stored_text import PLAIN, add_functions

SITUATIONS = ("sync", "deepen", "compact", "register")
MODES = ("lexical", "static", "sparse", "dense", "hybrid")
SETTINGS = {
    "INDEX__DENSE": "hashed",
    "WRITER__BATCH_CHUNKS": "12",
    "WRITER__GRACE_SECONDS": "0",
    "REGISTRY__SIGNALS": '["lexical", "exact", "sparse"]',  # so that a sync makes sparse vectors, too
}
MARK = re.compile(r"PG(\d+)-(\d+)-(\d)")
SECTIONS = 4
MAX_PAGES = 80
"""The maximal number of pages."""
PRELOADED = [
    "numpy",
    "tantivy",
    "simsimd",
    "kills",
    "watersmeet.engine.sync.roots",
    "watersmeet.engine.registry.register",
]
CHANGES = 8
"""How often the folder changes during one run of the writer."""
CLOSE = 1e-6
Version = tuple[int, int]
"""Which page, and how often it was edited."""


# ---------------------------------------------------------------- the writer, in a process of its own


def write(situation: str, index: str, root: str, environ: dict[str, str], log: int, entities: list[Any]) -> None:
    """Runs one situation, and logs each acknowledgement; written lines survive the kill."""
    from watersmeet.core.writing import Changes, Put
    from watersmeet.engine.sync.report import Progress
    from watersmeet.store.local.writer import LocalWriter

    os.environ.update(environ)
    waiting: list[list[str]] = []
    commit = LocalWriter.commit

    def noted(self: LocalWriter, changes: Changes, last: bool = False) -> list[Put]:
        refused = commit(self, changes, last)
        waiting.extend(["gone", name] for name in changes.removed)
        waiting.extend(["gone", put.moved_from] for put in changes.put if put.moved_from)
        for put in changes.put:
            text = "\n".join(prepared.chunk.text for prepared in put.chunks)
            waiting.append(["there", put.document.id, *(MARK.findall(text)[:1] or [("", "")])[0][:2]])
        return refused

    def report(step: Progress) -> None:
        if step.doing.startswith("embedding"):
            waiting.append(["embedded", step.doing, str(step.done)])
        os.write(log, "".join(json.dumps(line) + "\n" for line in waiting).encode())
        waiting.clear()

    LocalWriter.commit = noted  # type: ignore[method-assign] # to log the content of commits
    with opened(Path(index), environ) as engine:
        os.write(log, b'["begun"]\n')
        if situation == "sync":
            engine.sync([root], progress=report)
        elif situation == "words":
            engine.sync([root], progress=report, deepen=False)
        elif situation == "deepen":
            engine.deepen(report)
        elif situation == "register":
            engine.registry.register(entities, progress=report)
        else:
            engine.compact(grace=0)
        report(Progress("done", 0, 0))


def opened(index: Path, environ: dict[str, str]) -> Engine:
    return Engine(index, load(start=str(index.parent), environ=environ))


# ---------------------------------------------------------------- what is written about


@dataclass
class Folder:
    """Pages that change all the time; it remembers every version that each of them ever had."""

    root: Path
    chance: random.Random
    pages: dict[str, Version] = field(default_factory=dict)
    ever: set[tuple[str, Version]] = field(default_factory=set)
    left: set[str] = field(default_factory=set)
    """The names that nothing had at some time: what is missing there need not be lost."""
    number: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def prose(self, words: int) -> str:
        return " ".join("".join(self.chance.choices(SYLLABLES, k=3)) for _ in range(words)).capitalize() + "."

    def put(self, name: str, version: Version) -> None:
        page, edit = version
        sections = [f"## {self.prose(3)}\n\nPG{page}-{edit}-{k} {self.prose(70)}" for k in range(1, SECTIONS)]
        head = f"---\ntags: [Wild{page % 5}, t{page % 3}]\naliases: [Other {page}]\n---\n# Page {page}\n\n"
        text = "\n\n".join([f"{head}PG{page}-{edit}-0 {self.prose(60)} See [[page{page // 2}]].", *sections])
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        made = path.with_name(f".{path.name}.new")
        made.write_text(text + "\n", "utf8")
        self.pages[name] = version
        self.ever.add((name, version))
        made.replace(path)

    def add(self) -> None:
        self.number += 1
        self.put(f"part{self.number % 4}/page{self.number}.md", (self.number, 0))

    def change(self) -> None:
        """One page is edited, moved, deleted or new."""
        with self.lock:
            fate, name = self.chance.random(), self.chance.choice(sorted(self.pages))
            page, edit = self.pages[name]
            if fate < 0.6:
                self.put(name, (page, edit + 1))
            elif fate < 0.75:
                other = f"part{self.chance.randrange(4)}/page{page}.md"
                if other not in self.pages:
                    self.ever.add((other, (page, edit)))
                    self.left.add(name)
                    self.pages[other] = self.pages.pop(name)
                    (self.root / other).parent.mkdir(exist_ok=True)
                    (self.root / name).rename(self.root / other)
            elif len(self.pages) > (self.number // 2 if fate < 0.85 else MAX_PAGES):
                self.left.add(name)
                del self.pages[name]
                (self.root / name).unlink()
            else:
                self.add()


@dataclass
class Ground:
    folder: Path
    environ: dict[str, str]
    pages: Folder
    wanted: dict[str, dict[str, Any]] = field(default_factory=dict)  # what is to be registered in the end
    offered: set[tuple[str, str]] = field(default_factory=set)  # every path with every description that it ever had
    usual: dict[str, float] = field(default_factory=lambda: dict.fromkeys(SITUATIONS, 0.2))

    @property
    def index(self) -> Path:
        return self.folder / "index"

    def entities(self) -> list[dict[str, Any]]:
        """A few servers, with other descriptions than before."""
        chance, found = self.pages.chance, []
        for number in chance.sample(range(12), 4):
            path = f"/server{number}"
            description = self.pages.prose(20)
            tools = [{"name": f"tool_{number}_{n}", "description": self.pages.prose(12)} for n in range(3)]
            made = {"kind": "mcp_server", "path": path, "name": f"Server {number}", "description": description}
            self.wanted[path] = {**made, "tools": tools, "tags": [f"Wild{number % 5}"]}
            self.offered.add((path, description))
            found.append(self.wanted[path])
        return found

    def run(self, situation: str, seconds: float, entities: list[Any] | None = None) -> tuple[bool, float, list[Any]]:
        """Start the writer and kill it once it has worked so many seconds, while the folder changes.

        The time that it has worked is counted, not the time that has passed: on a busy machine that says nothing.
        """
        context = multiprocessing.get_context("forkserver")
        log = self.folder / "said"
        log.write_bytes(b"")
        process = context.Process(
            target=_begun,
            args=(situation, str(self.index), str(self.pages.root), self.environ, str(log), entities or []),
        )
        process.start()
        while process.is_alive() and not log.stat().st_size:
            time.sleep(0.002)
        clock = _cpu_clock(process.pid)
        begun = changed = used = _used(clock)
        while process.is_alive() and used - begun < seconds:
            if situation != "compact" and used - changed >= self.usual.get(situation, seconds) / CHANGES:
                self.pages.change()
                changed = used
            process.join(0.001)
            used = _used(clock) or used
        killed = process.is_alive()
        if killed and process.pid:
            os.kill(process.pid, signal.SIGKILL)
        process.join()
        if process.exitcode not in (0, -signal.SIGKILL):
            raise RuntimeError(f"{situation}: exit {process.exitcode}: {log.read_text()[-500:]}")
        lines = [json.loads(line) for line in log.read_text().splitlines() if line.endswith("]")]
        return process.exitcode != 0, used - begun, lines


def _cpu_clock(process: int | None) -> int:
    """CPU time of a process, from Linux."""
    return (~(process or 0) << 3) | 2


def _used(clock: int) -> float:
    try:
        return time.clock_gettime(clock)
    except OSError:  # it has ended
        return 0.0


def _begun(situation: str, index: str, root: str, environ: dict[str, str], log: str, entities: list[Any]) -> None:
    write(situation, index, root, environ, os.open(log, os.O_WRONLY | os.O_APPEND), entities)


# ---------------------------------------------------------------- what must hold


def stored(index: Path) -> dict[str, str]:
    """The documents with their texts, read from a copy: opening it for real would tidy up."""
    if not (index / "catalogue.db").exists():
        return {}
    with tempfile.TemporaryDirectory() as copy:
        for path in index.glob("catalogue.db*"):
            shutil.copy(path, copy)
        with closing(sqlite3.connect(Path(copy) / "catalogue.db")) as db:
            add_functions(db)
            if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'chunks'").fetchone():
                return {}
            rows = db.execute(
                f"SELECT d.name, {PLAIN.format('c.')} FROM chunks c JOIN documents d ON d.id = c.document"
                " ORDER BY d.id, c.ordinal"
            )
            found: dict[str, str] = {}
            for name, text in rows:
                found[name] = found.get(name, "") + "\n" + text
    return found


def problems(ground: Ground, before: dict[str, str], lines: list[Any]) -> Iterator[str]:
    present = stored(ground.index)
    yield from _lost(ground, before, present, lines)
    for name, text in present.items():
        if name.endswith(".md"):
            marks = {(int(page), int(edit)) for page, edit, _ in MARK.findall(text)}
            if len(marks) != 1 or len(set(MARK.findall(text))) != SECTIONS or (name, *marks) not in ground.pages.ever:
                yield f"{name} is no whole version of what was there: {sorted(marks)}"
        elif "#" not in name and not any(path == name and description in text for path, description in ground.offered):
            yield f"{name} is nothing that was registered"
    if not present:
        return
    embedded = {line[1]: int(line[2]) for line in lines if line[0] == "embedded"}
    with opened(ground.index, ground.environ) as engine:
        for check in engine.doctor():
            if not check.ok:
                yield f"doctor: {check.name}: {check.detail}"
        with engine.snapshot() as view:
            tiers = tiers_of(view.facts())
        for doing, count in embedded.items():
            name = doing.partition("(")[2].rstrip(")")
            if count and (name not in tiers or tiers[name].rows < count):
                yield f"{count} {name} vectors were reported, {tiers[name].rows if name in tiers else 0} are there"
        for name in sorted(present)[:: max(1, len(present) // 4)]:
            mark = re.search(r"PG[\d-]+|\w+", present[name])
            answer = engine.search(Request(mark[0] if mark else name, mode="lexical"))
            if answer.failures or not answer.results:
                yield f"search for {mark and mark[0]}: {answer.failures}"


def _lost(ground: Ground, before: dict[str, str], present: dict[str, str], lines: list[Any]) -> Iterator[str]:
    """What was acknowledged last of each document, and what was there before and is not now."""
    acknowledged = {line[1]: line for line in lines if line[0] in ("there", "gone")}
    for name, (what, _, *version) in acknowledged.items():
        if what == "gone" and name in present:
            yield f"{name} is there, and its removal was acknowledged"
        if what == "there" and name not in present:
            yield f"{name} was acknowledged and is not there"
        elif what == "there" and version[0] and "PG{}-{}-0".format(*version) not in present[name]:
            yield f"{name}: version {version} was acknowledged, and another is there"
    for name in before.keys() - present.keys() - acknowledged.keys():
        if name not in ground.pages.left and not name.startswith("/"):
            yield f"{name} has vanished"


def state(index: Path) -> dict[str, Any]:
    """All that a reader could notice, without row numbers and the times of registrations."""
    origin = "'$.\"@origin\"'"
    name = "(SELECT name FROM documents WHERE id = document)"
    queries = {
        "documents": "SELECT name, kind, title, path, substr(hash, 1, 16),"
        f" json_remove(fields, {origin}) FROM documents",
        "files": "SELECT d.name, f.name FROM documents d JOIN files f ON f.id = d.file",
        "chunks": f"SELECT id, {name}, ordinal, headings, first, last, hash, text FROM chunks",
        "facets": f"SELECT key, value, {name} FROM facets",
        "names": f"SELECT key, {name}, rank FROM names",
        "links": f"SELECT {name}, target, type, heading, alias FROM links",
        "records": f"SELECT path, json_remove(record, {origin}) FROM records WHERE record IS NOT NULL",
        "mentions": f"SELECT word, kind, {name}, places FROM mentions",
    }
    with closing(sqlite3.connect(index / "catalogue.db")) as db:
        return {key: sorted(db.execute(sql).fetchall(), key=repr) for key, sql in queries.items()}


def answers(engine: Engine, queries: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for query in queries:
        for mode in MODES:
            answer = engine.search(Request(query, mode=mode, top_n=50))
            assert not answer.failures, answer.failures
            hits = {one.id: (one.score, one.fusion_score) for one in answer.results}
            found[f"{mode}: {query}"] = (answer.confidence, hits)
    found["levels"] = {name: one.get("level") for name, one in engine.status()["signals"].items()}
    found["vocabulary"] = json.loads((Path(engine.folder) / "concept_vocabulary.json").read_bytes())["terms"]
    return found


def differences(one: dict[str, Any], other: dict[str, Any]) -> Iterator[str]:
    for key, value in one.items():
        if not isinstance(value, tuple):
            if value != other[key]:
                yield key
            continue
        (confidence, hits), (confidence_too, hits_too) = value, other[key]
        if abs(confidence - confidence_too) > CLOSE or hits.keys() != hits_too.keys():
            yield key
        elif any(
            abs(a - b) > CLOSE * max(1, abs(b))
            for chunk in hits
            for a, b in zip(hits[chunk], hits_too[chunk], strict=True)
        ):
            yield f"{key}: scores"


def completed(ground: Ground) -> Iterator[str]:
    """What is not as in a fresh index, after the sync and the compaction that complete this one."""
    with opened(ground.index, ground.environ) as engine:
        engine.registry.register(list(ground.wanted.values()))
        engine.sync([ground.pages.root])
        engine.compact(grace=0)
        queries = [ground.pages.prose(4) for _ in range(4)]
        queries += [f"PG{page}-{edit}-1" for page, edit in list(ground.pages.pages.values())[::12]] + [
            "Wild3",
            "Other 7",
        ]
        ours = answers(engine, queries)
        with engine.snapshot() as view:
            words = engine.visible_index(view, None).words
            size, live = words.size if words else 0, engine.status()["chunks"]
    if size != live:
        yield f"{size} rows in the text store for {live} live ones"
    fresh = ground.folder / "fresh"
    shutil.rmtree(fresh, ignore_errors=True)
    with opened(fresh, ground.environ) as engine:
        engine.registry.register(list(ground.wanted.values()))
        engine.sync([ground.pages.root])
        theirs = answers(engine, queries)
    mine, right = state(ground.index), state(fresh)
    for key in mine:
        if mine[key] != right[key]:
            odd = (
                [row for row in mine[key] if row not in right[key]],
                [row for row in right[key] if row not in mine[key]],
            )
            yield f"differs from a fresh index: {key}: {[repr(rows[:1])[:300] for rows in odd]}"
    yield from (f"differs from a fresh index: {key}" for key in differences(ours, theirs))


# ---------------------------------------------------------------- the hunt


def attempt(ground: Ground, situation: str) -> tuple[bool, list[str], int]:
    """Whether it was killed, what is wrong, and how much was acknowledged."""
    for _ in range(3):
        ground.pages.change()
    if situation in ("deepen", "compact"):  # something to embed or to drop
        ground.run("words" if situation == "deepen" else "sync", 600)
    before = stored(ground.index)
    entities = ground.entities() if situation == "register" else None
    killed, took, lines = ground.run(situation, ground.pages.chance.uniform(0, ground.usual[situation]), entities)
    if not killed:
        ground.usual[situation] = took
        return False, [], 0
    ground.usual[situation] *= 1.1
    return True, list(problems(ground, before, lines)), sum(line[0] in ("there", "gone", "embedded") for line in lines)


def run(args: argparse.Namespace, folder: Path) -> dict[str, Any]:
    environ = {"HOME": str(folder), "XDG_CACHE_HOME": str(folder / "cache"), "XDG_CONFIG_HOME": str(folder / "config")}
    environ |= {f"WATERSMEET__{key}": value for key, value in {**SETTINGS, "INDEX__TEXT": args.text}.items()}
    os.environ.update(environ)
    multiprocessing.set_forkserver_preload(PRELOADED)
    pages = Folder(folder / "pages", random.Random(args.seed))  # noqa: S311 - to be repeatable
    pages.root.mkdir()
    for _ in range(args.pages):
        pages.add()
    ground = Ground(folder, environ, pages)
    counts = {name: {"kills": 0, "acknowledged": 0} for name in SITUATIONS}
    failures: list[str] = []
    kills = compared = tries = 0
    start = time.monotonic()
    while kills < args.kills and tries < 4 * args.kills:
        tries += 1
        situation = SITUATIONS[kills % len(SITUATIONS)]
        killed, found, acknowledged = attempt(ground, situation)
        kills += killed
        counts[situation]["kills"] += killed
        counts[situation]["acknowledged"] += acknowledged
        if killed and kills % args.every == 0:
            found += completed(ground)
            compared += 1
        failures += [f"kill {kills} ({situation}): {problem}" for problem in found[:5]]
        if args.verbose:
            print(kills, situation, killed, acknowledged, *found[:5], file=sys.stderr, flush=True)
    return {
        "kills": kills,
        "failures": failures,
        "situations": counts,
        "compared_with_fresh": compared,
        "versions": len(pages.ever),
        "pages": len(pages.pages),
        "text": args.text,
        "seed": args.seed,
        "seconds": round(time.monotonic() - start),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--text", default="tantivy", help="text store: tantivy or fts5")
    parser.add_argument("--pages", type=int, default=60)
    parser.add_argument("--every", type=int, default=10, help="compared with a fresh index after so many kills")
    parser.add_argument("--save", type=Path, help="write the summary here too")
    parser.add_argument("--verbose", action="store_true", help="a line for each attempt")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        summary = run(args, Path(folder).resolve())
    text = json.dumps(summary, indent=1)
    print(text)
    if args.save:
        args.save.write_text(text + "\n", "utf8")
    return 1 if summary["failures"] or summary["kills"] < args.kills else 0


if __name__ == "__main__":
    sys.exit(main())
