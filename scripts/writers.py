"""Four processes write to one index at once, others read, and writers are killed again and again.

    python scripts/writers.py [--seconds 120] [--seed 1] [--text tantivy] [--readers 2] [--short] [--save FILE]

One writer edits and syncs a folder, one syncs a second folder and the first one, too, one registers and unregisters
servers, one removes documents of a third folder and syncs it again, and sometimes compacts. Each says what it is about
to do and, when the call has returned, that it is done: the latter is acknowledged. In the end every acknowledged
document must be there with the last text that was acknowledged or a later one, what was removed must be gone, every
document must be whole, each of its chunks found once and nowhere else, no row both live and dead, and `doctor` must
find the index sound; a sync then brings it up to date, and another one must find everything unchanged. No writer may be
told that the index is busy. Prints JSON; exit code 1 on any problem.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import re
import signal
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from watersmeet import Engine
from watersmeet.core.errors import NoIndex, WatersmeetError
from watersmeet.core.model import Request
from watersmeet.engine.settings.settings import load
from watersmeet.store.local._stored_text import PLAIN, add_functions

WRITERS = ("one folder", "two folders", "registry", "removing")
FOLDERS = ("first", "second", "third")
PAGES, SERVERS, SECTIONS = 16, 6, 3
SETTINGS = {"INDEX__VECTORS": "false", "WRITER__BATCH_CHUNKS": "20", "WRITER__LOCK_SECONDS": "60"}
PRELOADED = ["tantivy", "writers", "watersmeet.engine.sync.roots", "watersmeet.engine.registry.register"]
MARK = re.compile(r"MK(\w+?)V(\d+)S(\d)E")
WORDS = "tide reed silt bank delta marsh gate mark song line".split()


def mark(name: str, version: int, section: int) -> str:
    """A word that this section of this version has, and nothing else."""
    return f"MK{name}V{version}S{section}E"


def page(name: str, version: int) -> str:
    chance = random.Random(f"{name} {version}")  # noqa: S311 - to be repeatable
    parts = [
        f"## Part {n}\n\n{mark(name, version, n)} {' '.join(chance.choices(WORDS, k=80))}" for n in range(SECTIONS)
    ]
    return f"# Page {name}\n\n" + "\n\n".join(parts) + "\n"


def server(number: int, version: int) -> dict[str, Any]:
    name = f"server{number}"
    description = f"{mark(name, version, 0)} answers questions about {' '.join(WORDS[number:])}"
    tools = [{"name": f"tool_{number}", "description": f"{mark(name, version, 1)} does it"}]
    return {"kind": "mcp_server", "path": f"/{name}", "name": name, "description": description, "tools": tools}


def opened(index: str) -> Engine:
    return Engine(index, load(start=str(Path(index).parent), environ=dict(os.environ)))


# ---------------------------------------------------------------- the writers, each in a process of its own


@dataclass
class Writer:
    """`say` writes a line that outlives a kill: what is about to be done, and what was."""

    engine: Engine
    ground: Path
    log: int
    chance: random.Random

    def say(self, what: str, name: str, version: int = 0) -> None:
        os.write(self.log, (json.dumps([what, name, version]) + "\n").encode())

    def versions(self, folder: str) -> dict[str, int]:
        found = {}
        for path in (self.ground / folder).glob("*.md"):
            present = MARK.search(path.read_text())
            found[path.stem] = int(present[2]) if present else 0
        return found

    def stored_ids(self) -> set[str]:
        """The documents that are there; none as long as nobody has written."""
        try:
            return {found["document"] for found in self.engine.documents()}
        except NoIndex:
            return set()

    def edit(self, folder: str) -> None:
        """Some pages get another text, one may go, and one may come back."""
        present = self.versions(folder)
        for name in self.chance.sample(sorted(present), min(5, len(present))):
            self.write(folder, name, present[name] + 1)
        gone = sorted({f"{folder}{n}" for n in range(PAGES)} - present.keys())
        if present and self.chance.random() < 0.3:
            name = self.chance.choice(sorted(present))
            self.say("removing", name)
            (self.ground / folder / f"{name}.md").unlink()
        if gone and self.chance.random() < 0.5:
            self.write(folder, self.chance.choice(gone), self.chance.randrange(10**6, 10**9))

    def write(self, folder: str, name: str, version: int) -> None:
        path = self.ground / folder / f"{name}.md"
        self.say("putting", name, version)
        made = path.with_suffix(".new")
        made.write_text(page(name, version))
        made.replace(path)

    def sync(self, folder: str) -> None:
        """What lies there now is acknowledged once this returns: nobody else changes it meanwhile."""
        present = self.versions(folder)
        self.engine.sync([self.ground / folder])
        for name in {f"{folder}{n}" for n in range(PAGES)} - present.keys():
            self.say("gone", name)
        for name, version in present.items():
            self.say("there", name, version)

    def one_folder(self) -> None:
        self.edit("first")
        self.sync("first")

    def two_folders(self) -> None:
        self.edit("second")
        self.sync("second")
        self.engine.sync([self.ground / "first"])  # the other writer syncs it, too
        self.say("also", "first")

    def registry(self) -> None:
        number, version = self.chance.randrange(SERVERS), self.chance.randrange(10**9)
        path = f"/server{number}"
        if path in self.stored_ids() and self.chance.random() < 0.4:
            self.say("removing", path)
            self.engine.registry.unregister(path)
            self.say("gone", path)
        else:
            self.say("putting", path, version)
            self.engine.registry.register([server(number, version)], deepen=False)
            self.say("there", path, version)

    def removing(self) -> None:
        ids = {Path(name).stem: name for name in self.stored_ids() if Path(name).stem.startswith("third")}
        if ids:
            name = self.chance.choice(sorted(ids))
            self.say("removing", name)
            self.engine.remove(ids[name])
            self.say("gone", name)
        if self.chance.random() < 0.5:
            for name, version in self.versions("third").items():
                self.say("putting", name, version)
            self.edit("third")
            self.sync("third")
        elif self.chance.random() < 0.2:
            self.engine.compact(grace=2)
            self.say("compacted", "")


def write(kind: str, index: str, log: str, seed: str, end: float) -> None:
    with opened(index) as engine:
        handle = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        writer = Writer(engine, Path(index).parent, handle, random.Random(seed))  # noqa: S311 - to be repeatable
        while time.time() < end:
            try:
                getattr(writer, kind.replace(" ", "_"))()
            except WatersmeetError as error:
                writer.say("error", f"{kind}: {type(error).__name__}: {error}")


def read(index: str, log: str, seed: str, end: float) -> None:
    """Ask for words, and check that every hit belongs to the document that it says it is of."""
    chance = random.Random(seed)  # noqa: S311 - to be repeatable
    handle = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    queries, wrong = 0, []
    with opened(index) as engine:
        while time.time() < end:
            try:
                answer = engine.search(Request(" ".join(chance.sample(WORDS, 2)), mode="lexical", top_n=20))
            except NoIndex:
                time.sleep(0.05)
                continue
            except WatersmeetError as error:
                wrong.append(f"{type(error).__name__}: {error}")
                continue
            queries += 1
            time.sleep(0.02)
            wrong += [failure.reason for failure in answer.failures]
            for hit in answer.results:
                name = Path(hit.document.partition("#")[0]).stem
                wrong += [f"{hit.document} says {found[0]}" for found in MARK.finditer(hit.text) if found[1] != name]
    os.write(handle, (json.dumps(["read", "; ".join(wrong[:3]), queries]) + "\n").encode())


# ---------------------------------------------------------------- what must hold


@dataclass
class Acknowledged:
    """What the log of one writer says of a document: what was acknowledged last, and what was begun since."""

    acknowledged: tuple[str, int] | None = None
    begun: list[tuple[str, int]] = field(default_factory=list)

    def problem(self, version: int | None) -> str:
        """What is wrong with the version that is there; None if there is none."""
        allowed = [*self.begun, *([self.acknowledged] if self.acknowledged else [("gone", 0)])]
        if version is None:
            return "" if any(what in ("gone", "removing") for what, _ in allowed) else f"is lost: {allowed}"
        if any(what in ("there", "putting") and acknowledged == version for what, acknowledged in allowed):
            return ""
        return f"has version {version}, and should have one of {allowed}"


def read_log(log: Path) -> tuple[dict[str, Acknowledged], Counter[str], list[str]]:
    acknowledged: dict[str, Acknowledged] = {}
    counts: Counter[str] = Counter()
    errors = []
    for line in log.read_text().splitlines() if log.exists() else ():
        try:
            what, name, version = json.loads(line)
        except ValueError:  # killed while it wrote this
            continue
        counts[what] += 1
        if what == "error":
            errors.append(name)
        elif what in ("there", "gone"):
            one = acknowledged.setdefault(name, Acknowledged())
            later = [said for said in one.begun if said[1] > version] if what == "there" and version else []
            acknowledged[name] = Acknowledged((what, version), later)
        elif what in ("putting", "removing"):
            acknowledged.setdefault(name, Acknowledged()).begun.append((what, version))
    return acknowledged, counts, errors


def stored(index: Path) -> dict[str, list[str]]:
    with closing(sqlite3.connect(index / "catalogue.db")) as db:
        add_functions(db)
        found: dict[str, list[str]] = {}
        for name, text in db.execute(
            f"SELECT d.name, {PLAIN.format('c.')} FROM chunks c JOIN documents d ON d.id = c.document"
            " ORDER BY d.id, c.ordinal"
        ):
            found.setdefault(name, []).append(text)
        return found


def whole(engine: Engine, present: dict[str, list[str]]) -> Iterator[str]:
    """Each document is one whole version of itself, and each of its chunks is found once, by its own word."""
    for name, texts in present.items():
        own = Path(name.partition("#")[0]).stem
        marks = [found.groups() for text in texts for found in MARK.finditer(text)]
        if len({version for _, version, _ in marks}) != 1 or any(other != own for other, _, _ in marks):
            yield f"{name} is no whole version: {marks}"
        if name.endswith(".md") and sorted(part for *_, part in marks) != [str(n) for n in range(SECTIONS)]:
            yield f"{name} lacks a part, or has one twice: {marks}"
        for one, version, part in marks if "#" not in name else ():
            answer = engine.search(Request(mark(one, int(version), int(part)), mode="lexical", top_n=20))
            ids = [hit.id for hit in answer.results if mark(one, int(version), int(part)) in hit.text]
            documents = {hit.document.partition("#")[0] for hit in answer.results if hit.id in ids}
            if len(ids) != len(set(ids)) or documents != {name}:
                yield f"{mark(one, int(version), int(part))} of {name} is found in {sorted(ids)}"


def in_step(index: Path) -> Iterator[str]:
    """No row lives twice or is dead at once; each belongs to a document, and each document of a file to a file."""
    checks = {
        "rows are live and dead": "SELECT count(*) FROM chunks JOIN dead USING (row)",
        "rows belong to nobody": "SELECT count(*) FROM chunks WHERE document NOT IN (SELECT id FROM documents)",
        "documents belong to no file": "SELECT count(*) FROM documents WHERE file NOT IN (SELECT id FROM files)",
        "files belong to no root": "SELECT count(*) FROM files WHERE root NOT IN (SELECT id FROM roots)",
        "rows are reserved and live": "SELECT count(*) FROM chunks c JOIN reserved r"
        " ON c.row BETWEEN r.first AND r.first + r.count - 1",
        "chunks are counted wrong": "SELECT (SELECT count(*) FROM chunks)"
        " - (SELECT value FROM counts WHERE name = 'chunks')",
    }
    with closing(sqlite3.connect(index / "catalogue.db")) as db:
        for what, sql in checks.items():
            (count,) = db.execute(sql).fetchone()
            if count:
                yield f"{count} {what}"


def problems(index: Path, ground: Path, logs: list[Path]) -> Iterator[str]:
    present = stored(index)
    versions = {}
    for name, texts in present.items():
        if found := MARK.search("\n".join(texts)):
            versions[name if name.startswith("/") else Path(name).stem] = int(found[2])
    for log in logs:
        acknowledged, _, errors = read_log(log)
        yield from errors
        for name, one in acknowledged.items():
            if problem := one.problem(versions.get(name)):
                yield f"{name} {problem}"
    yield from in_step(index)
    with opened(str(index)) as engine:
        yield from whole(engine, present)
        yield from (f"doctor: {check.name}: {check.detail}" for check in engine.doctor() if not check.ok)
        engine.sync([ground / folder for folder in FOLDERS])
        again = engine.sync([])
        if again.added or again.changed or again.moved or again.removed or again.skipped:
            yield f"another sync finds something to do: {again}"
        names = {Path(name).stem for name in stored(index) if name.endswith(".md")}
        on_disk = {path.stem for folder in FOLDERS for path in (ground / folder).glob("*.md")}
        if names != on_disk:
            yield f"not what lies in the folders: {sorted(names ^ on_disk)}"
        yield from whole(engine, stored(index))
    yield from in_step(index)


# ---------------------------------------------------------------- the hunt


def run(args: argparse.Namespace, ground: Path) -> dict[str, Any]:
    environ = {"HOME": str(ground), "XDG_CACHE_HOME": str(ground / "cache"), "XDG_CONFIG_HOME": str(ground / "config")}
    os.environ.update(environ | {f"WATERSMEET__{key}": value for key, value in SETTINGS.items()})
    os.environ["WATERSMEET__INDEX__TEXT"] = args.text
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    chance = random.Random(args.seed)  # noqa: S311 - to be repeatable
    index = ground / "index"
    for folder in FOLDERS:
        (ground / folder).mkdir()
        for number in range(PAGES):
            (ground / folder / f"{folder}{number}.md").write_text(page(f"{folder}{number}", 1))
    end = time.time() + args.seconds
    logs = [ground / f"{kind}.log" for kind in (*WRITERS, "readers")]
    readers = [
        context.Process(target=read, args=(str(index), str(logs[-1]), f"{args.seed} {n}", end))
        for n in range(args.readers)
    ]
    writers: dict[str, Any] = {}
    kills: Counter[str] = Counter()
    for process in readers:
        process.start()
    while time.time() < end:
        for number, kind in enumerate(WRITERS):
            if kind not in writers or not writers[kind].is_alive():
                seed = f"{args.seed} {kind} {sum(kills.values())}"
                writers[kind] = context.Process(target=write, args=(kind, str(index), str(logs[number]), seed, end))
                writers[kind].start()
        time.sleep(chance.uniform(0.1, 1.2))
        kind = chance.choice(WRITERS)
        if time.time() < end and writers[kind].is_alive():
            os.kill(writers[kind].pid, signal.SIGKILL)
            writers[kind].join()
            kills[kind] += 1
    for process in [*readers, *writers.values()]:
        process.join(120)
    counts = {kind: read_log(log)[1] for kind, log in zip(WRITERS, logs, strict=False)}
    found = list(problems(index, ground, logs[:-1]))
    reads = [json.loads(line) for line in logs[-1].read_text().splitlines()]
    found += [f"a reader: {wrong}" for _, wrong, _ in reads if wrong]
    return {
        "seconds": args.seconds,
        "kills": kills,
        "acknowledged": {kind: {w: n for w, n in one.items() if w != "error"} for kind, one in counts.items()},
        "searches": sum(count for *_, count in reads),
        "lost": sum(" is lost" in problem for problem in found),
        "problems": found[:20],
        "text": args.text,
        "seed": args.seed,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--text", default="tantivy", help="text store: tantivy or fts5")
    parser.add_argument("--readers", type=int, default=2)
    parser.add_argument("--short", action="store_true", help="ten seconds, for CI")
    parser.add_argument("--save", type=Path, help="write the summary here too")
    args = parser.parse_args()
    args.seconds = 10.0 if args.short else args.seconds
    with tempfile.TemporaryDirectory() as folder:
        summary = run(args, Path(folder).resolve())
    text = json.dumps(summary, indent=1)
    print(text)
    if args.save:
        args.save.write_text(text + "\n", "utf8")
    return 1 if summary["problems"] else 0


if __name__ == "__main__":
    sys.exit(main())
