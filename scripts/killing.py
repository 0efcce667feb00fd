"""Kill `watersmeet sync` again and again, at random moments, and look at what it leaves behind.

    python scripts/killing.py [--kills 50] [--seed 1] [--text tantivy] [--files 400] [--records 2000]

Four situations: a first sync, a sync after edits, deletions and moves, `sync --recreate`, and compaction. After
each kill the index must open and answer, `doctor` must find it sound, what was acknowledged ("committed N of M
files") must be there with its text, whatever else is there must be a whole version, old or new; and the next sync
must end with the same documents, chunks and answers as an index that was never disturbed. With --recreate the
caller asks for the old index to be dropped: acknowledged is what the new run has committed. Prints JSON.
`killing_vectors.py` does the same to what has to do with vectors.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from watersmeet import Engine
from watersmeet.core.errors import NoIndex
from watersmeet.core.indexing import Found, SourceRoot
from watersmeet.core.model import ChunkId, Request
from watersmeet.engine.settings.settings import load
from watersmeet.engine.sync.parsers import endings
from watersmeet.source.folder import Folder
from watersmeet.store.local._stored_text import PLAIN, add_functions

COMMAND = [sys.executable, "-c", "from watersmeet.face.cli.main import main; main()"]
COMPACT = (
    "import sys; from watersmeet import Engine; engine = Engine(sys.argv[1]);"
    " print('ready', file=sys.stderr, flush=True); engine.compact(grace=0)"
)
SITUATIONS = ("first", "edited", "recreate", "compact")
SYLLABLES = "ba ke li mo nu ra se ti vo zu dal fen gor hib jun".split()
Version = tuple[tuple[str, bytes, str], ...]
"""A document as it is stored: id, hash and text of its chunks in order."""


class Corpus:
    """Markdown files and two files of records; `edit` makes it another one in place."""

    def __init__(self, root: Path, files: int, records: int, seed: int) -> None:
        self.root = root
        self.chance = random.Random(seed)  # noqa: S311 - to be repeatable
        self.words = [a + b + c for a in SYLLABLES for b in SYLLABLES for c in SYLLABLES[:4]]
        self.pages = {f"part{n % 7}/page{n}.md": self.page(n, 0) for n in range(files)}
        self.records = {
            name: [self.record(f"{name[0]}{n}", 0) for n in range(records // 2)] for name in ("a.jsonl", "b.jsonl")
        }
        self.touched: set[str] = set()
        self.write()

    def prose(self, words: int) -> str:
        return " ".join(self.chance.choices(self.words, k=words)).capitalize() + "."

    def page(self, number: int, version: int) -> str:
        """Its marker PG-number-version is found in this version of this page and nowhere else."""
        sections = "\n\n".join(f"## {self.prose(3)}\n\n{self.prose(90)}\n\n{self.prose(60)}" for _ in range(5))
        head = f"---\ntags: [t{number % 5}]\n---\n# Page {number}\n\nPG-{number}-{version} {self.prose(40)}"
        return f"{head}\n\n{sections}\n"

    def record(self, identity: str, version: int) -> dict[str, Any]:
        text = f"RC-{identity}-{version} {self.prose(30)}"
        return {"_id": identity, "title": self.prose(3), "text": text, "metadata": {"group": identity[-1]}}

    def write(self) -> None:
        content = {name: "\n".join(map(json.dumps, found)) + "\n" for name, found in self.records.items()}
        content |= self.pages
        for name in self.touched - content.keys():
            (self.root / name).unlink(missing_ok=True)
        then = 1_700_000_000  # were it just now, a sync would take a second look
        for name in self.touched & content.keys() if self.touched else content:
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content[name], "utf8")
            os.utime(path, (then, then))

    def edit(self) -> None:
        """A third of the pages is edited, deleted, moved or new; records change, and one file of them moves."""
        for name in sorted(self.pages):
            number = int(re.findall(r"\d+", name)[-1])
            fate = self.chance.random()
            if fate < 0.4:
                self.touched.add(name)
            if fate < 0.1:
                del self.pages[name]
            elif fate < 0.2:
                self.rename(name, f"moved/page{number}.md")
            elif fate < 0.25:
                self.rename(name, f"moved/other{number}.md")
            elif fate < 0.4:
                head, _, tail = self.pages[name].partition(f"PG-{number}-0")
                self.pages[name] = f"{head}PG-{number}-1{tail}\n## New\n\n{self.prose(50)}\n"
        for number in range(len(self.pages) // 10):
            self.pages[f"new/page{10_000 + number}.md"] = self.page(10_000 + number, 1)
            self.touched.add(f"new/page{10_000 + number}.md")
        records = self.records["a.jsonl"]
        for number in range(0, len(records), 3):
            records[number] = self.record(records[number]["_id"], 1)
        del records[1::10]
        self.records["moved/b.jsonl"] = self.records.pop("b.jsonl")
        self.touched |= {"a.jsonl", "b.jsonl", "moved/b.jsonl"}
        self.write()

    def rename(self, old: str, new: str) -> None:
        self.pages[new] = self.pages.pop(old)
        self.touched.add(new)

    def in_order(self, only_touched: bool) -> list[list[str]]:
        """The documents of each file that a sync reads, in the order in which it commits them."""
        scan = Folder(endings=endings()).scan(SourceRoot("folder", str(self.root)), {})
        found = [item.name for item in scan if isinstance(item, Found)]
        names = [name for name in found if name in self.touched or not only_touched]
        return [[r["_id"] for r in self.records[n]] if n in self.records else [n] for n in names]

    def queries(self) -> list[str]:
        pages = [f"PG-{n}-{v}" for n in (0, 3, 8, 10_001) for v in (0, 1)]
        return [*pages, "RC-a3-1", "RC-a3-0", "RC-b5-0", *self.chance.sample(self.words, 9)]


@dataclass
class Trial:
    """An index to disturb, and what it is compared with."""

    situation: str
    argv: list[str]
    start: Path | None  # the index to begin with
    order: list[list[str]]
    versions: list[dict[str, Version]]  # every version that a document may have
    explain: bytes = rb"^committed (\d+) of \d+ files$"  # how it acknowledges
    waits: bool = False  # it prints a line when the real work begins
    seconds: float = 0.0


@dataclass
class Bench:
    folder: Path
    corpus: Corpus
    env: dict[str, str]
    expected: dict[str, Any] = field(default_factory=dict)
    final: dict[str, Version] = field(default_factory=dict)
    queries: list[str] = field(default_factory=list)

    def engine(self, index: Path) -> Engine:
        return Engine(index, load(start=str(self.folder), environ=self.env))

    def run(self, *argv: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*COMMAND, *argv], env=self.env, cwd=self.folder, capture_output=True, text=True, check=False
        )

    def sync(self, index: Path) -> None:
        done = self.run("sync", str(self.corpus.root), "--index", str(index), "--json")
        assert done.returncode == 0, f"sync failed: {done.stderr}"

    def state(self, index: Path) -> dict[str, Any]:
        """All that a reader could notice, without row numbers."""
        with closing(sqlite3.connect(index / "catalogue.db")) as db:
            name = "(SELECT name FROM documents WHERE id = document)"
            queries = {
                "documents": "SELECT name, kind, title, path, modified, hash, fields FROM documents",
                "files": "SELECT d.name, f.name FROM documents d JOIN files f ON f.id = d.file",
                "chunks": f"SELECT id, {name}, ordinal, headings, first, last, hash, text FROM chunks",
                "facets": f"SELECT key, value, {name} FROM facets",
                "names": f"SELECT key, {name}, rank FROM names",
                "links": f"SELECT {name}, target, type, heading, alias FROM links",
                "records": "SELECT path, record FROM records",
                "known": "SELECT name FROM files WHERE hash <> x''",
            }
            return {key: sorted(db.execute(sql).fetchall(), key=repr) for key, sql in queries.items()}

    def answers(self, index: Path) -> dict[str, list[ChunkId]]:
        """Every chunk that a query finds; scores differ in the last digits by how segments were merged."""
        with self.engine(index) as engine:
            found = {}
            for query in self.queries:
                answer = engine.search(Request(query, top_n=1000))
                assert not answer.failures, answer.failures
                found[query] = sorted(result.id for result in answer.results)
            return found


def versions(index: Path) -> dict[str, Version]:
    sql = (
        f"SELECT d.name, c.id, c.hash, {PLAIN.format('c.')}"
        " FROM chunks c JOIN documents d ON d.id = c.document ORDER BY c.ordinal"
    )
    found: dict[str, list[tuple[str, bytes, str]]] = {}
    if not (index / "catalogue.db").exists():
        return {}
    with closing(sqlite3.connect(index / "catalogue.db")) as db:
        add_functions(db)
        if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'chunks'").fetchone():
            return {}
        for name, *chunk in db.execute(sql):
            found.setdefault(name, []).append((chunk[0], chunk[1], chunk[2]))
    return {name: tuple(chunks) for name, chunks in found.items()}


def prepare(folder: Path, corpus: Corpus, env: dict[str, str]) -> tuple[Bench, list[Trial]]:
    """Undisturbed runs of each situation: what is to be expected, and how long it takes."""
    bench = Bench(folder, corpus, env)
    before, fresh, dirty = folder / "before", folder / "fresh", folder / "dirty"
    bench.sync(before)
    corpus.edit()
    bench.queries = corpus.queries()
    bench.sync(fresh)
    shutil.copytree(before, dirty)
    bench.sync(dirty)
    bench.expected, bench.final = bench.state(fresh), versions(fresh)
    assert bench.state(dirty) == bench.expected, "a sync after edits does not end as a fresh index does"
    with bench.engine(fresh) as engine:
        engine.compact(grace=0)
    bench.expected["answers"] = bench.answers(fresh)
    sync = ["sync", str(corpus.root), "--index"]
    every, changed = corpus.in_order(False), corpus.in_order(True)
    trials = [
        Trial("first", [*COMMAND, *sync], None, every, [bench.final]),
        Trial("edited", [*COMMAND, *sync], before, changed, [versions(before), bench.final]),
        Trial("recreate", [*COMMAND, "sync", str(corpus.root), "--recreate", "--index"], fresh, every, [bench.final]),
        Trial("compact", [sys.executable, "-c", COMPACT], dirty, [], [bench.final], waits=True),
    ]
    for trial in trials:
        trial.seconds = disturb(bench, trial, 3600, folder / "timing").seconds
    return bench, trials


@dataclass(frozen=True)
class Kill:
    seconds: float
    killed: bool
    acknowledged: int  # files, or chunks


def disturb(bench: Bench, trial: Trial, transaction: float, index: Path) -> Kill:
    """Runs the command and kills it after so many seconds, counted from its first output if it `waits`."""
    shutil.rmtree(index, ignore_errors=True)
    if trial.start:
        shutil.copytree(trial.start, index)
    process = subprocess.Popen(
        [*trial.argv, str(index)], env=bench.env, cwd=bench.folder, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL
    )
    assert process.stderr is not None
    stderr = process.stderr.readline() if trial.waits else b""
    start = time.monotonic()
    try:
        process.wait(transaction)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
    stderr += process.stderr.read()
    process.stderr.close()
    code = process.wait()
    assert code in (0, -signal.SIGKILL), f"exit {code}: {stderr.decode()}"
    commits = re.findall(trial.explain, stderr, re.MULTILINE)
    return Kill(time.monotonic() - start, code != 0, int(commits[-1]) if commits else 0)


def problems(bench: Bench, trial: Trial, kill: Kill, index: Path) -> Iterator[str]:
    """Problems of the index after a kill."""
    present = versions(shutil.copytree(index, index.with_name("copy"))) if index.exists() else {}
    shutil.rmtree(index.with_name("copy"), ignore_errors=True)
    acknowledged = [name for names in trial.order[: kill.acknowledged] for name in names]
    for name in acknowledged if trial.order else bench.final:
        if present.get(name) != bench.final[name]:
            yield f"acknowledged and not there: {name}"
    for name, version in present.items():
        if all(version != allowed.get(name) for allowed in trial.versions):
            yield f"neither the old nor the new version: {name}"
    if trial.situation in ("edited", "compact"):
        unchanged = set(trial.versions[0]) & set(bench.final)
        yield from (f"vanished: {name}" for name in unchanged if name not in present)
    yield from search_problems(bench, index, present)
    yield from doctor_problems(bench, index, present)
    bench.sync(index)
    after = bench.state(index)
    with bench.engine(index) as engine:
        engine.compact(grace=0)
        with engine.snapshot() as view:
            words, live = engine.visible_index(view, None).words, engine.status()["chunks"]
            size = words.size if words else 0
    if size != live:
        yield f"{size} rows in the text store for {live} live ones"
    after["answers"] = bench.answers(index)
    yield from (f"differs from a fresh index: {key}" for key in after if after[key] != bench.expected[key])


def doctor_problems(bench: Bench, index: Path, present: dict[str, Version]) -> Iterator[str]:
    """All must be sound; before the first commit there may be no index yet, which is said in a sentence."""
    done = bench.run("doctor", "--json", "--index", str(index))
    checks = json.loads(done.stdout)["checks"] if done.stdout else []
    if "Traceback" in done.stderr or (present and not checks) or (not checks and "hint:" not in done.stderr):
        yield f"doctor: {done.stderr}"
    for check in checks:
        if not check["ok"] and (present or check["name"] not in ("documents", "index")):
            yield f"doctor: {check}"


def search_problems(bench: Bench, index: Path, present: dict[str, Version]) -> Iterator[str]:
    """Documents of all sorts must be found by their markers, and a marker finds no other version."""
    try:
        with bench.engine(index) as engine:
            for name in sorted(present)[:: max(1, len(present) // 25)]:
                marker = next(iter(re.findall(r"\b(?:PG|RC)-\w+-\d", present[name][0][2])))
                answer = engine.search(marker)
                best = answer.results[0] if answer.results else None
                if answer.failures or best is None or best.document != name or marker not in best.text:
                    yield f"search {marker}: {answer.failures} {best and best.document}"
    except NoIndex as error:
        if present:
            yield f"search: {error}"


def environment(folder: Path, **settings: str) -> dict[str, str]:
    """A home in this folder, and these settings and no others."""
    env = {key: value for key, value in os.environ.items() if not key.startswith("WATERSMEET__")}
    env |= {"HOME": str(folder), "XDG_CACHE_HOME": str(folder / "cache"), "XDG_CONFIG_HOME": str(folder / "config")}
    return env | {f"WATERSMEET__{key}": value for key, value in settings.items()}


Attempt = Callable[[Trial, float], tuple[Kill, list[str]]]
"""Disturb a trial at a moment: what came of it, and what is wrong with that."""


def hunt(args: argparse.Namespace, trials: list[Trial], attempt: Attempt) -> dict[str, Any]:
    """As many kills as asked for, in all situations in turn, each at a random moment of its duration."""
    chance = random.Random(args.seed)  # noqa: S311 - to be repeatable
    counts = {trial.situation: {"kills": 0, "acknowledged": 0, "nothing_yet": 0} for trial in trials}
    failures: list[str] = []
    kills = tries = 0
    while kills < args.kills and tries < 3 * args.kills:
        trial = trials[kills % len(trials)]
        tries += 1
        moment = chance.uniform(0.0, trial.seconds)
        kill, found = attempt(trial, moment)
        if not kill.killed:
            continue
        kills += 1
        failures += [f"{trial.situation} after {moment:.3f} s: {problem}" for problem in found[:5]]
        counts[trial.situation]["kills"] += 1
        counts[trial.situation]["acknowledged"] += kill.acknowledged
        counts[trial.situation]["nothing_yet"] += not kill.acknowledged
        if sys.stderr.isatty() or args.verbose:
            line = f"{kills}: {trial.situation} at {moment:.2f} s, {kill.acknowledged} acknowledged"
            print(line, *found[:5], file=sys.stderr, flush=True)
    return {
        "kills": kills,
        "failures": failures,
        "situations": counts,
        "undisturbed_seconds": {trial.situation: round(trial.seconds, 2) for trial in trials},
        "seed": args.seed,
    }


def run(args: argparse.Namespace, folder: Path) -> dict[str, Any]:
    settings = {"WRITER__BATCH_CHUNKS": str(args.batch), "INDEX__TEXT": args.text, "INDEX__VECTORS": "false"}
    corpus = Corpus(folder / "corpus", args.files, args.records, args.seed)
    bench, trials = prepare(folder, corpus, environment(folder, **settings))
    index = folder / "index"

    def attempt(trial: Trial, transaction: float) -> tuple[Kill, list[str]]:
        kill = disturb(bench, trial, transaction, index)
        return kill, list(problems(bench, trial, kill, index)) if kill.killed else []

    return {**hunt(args, trials, attempt), "documents": len(bench.final), "text": args.text}


def parser(about: str | None) -> argparse.ArgumentParser:
    arguments = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--kills", type=int, default=50)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--verbose", action="store_true", help="a line for each kill")
    return arguments


def concluded(args: argparse.Namespace, work: Callable[[argparse.Namespace, Path], dict[str, Any]]) -> int:
    """Runs `work` in a temporary folder, prints the summary and returns the exit code."""
    with tempfile.TemporaryDirectory() as folder:
        summary = work(args, Path(folder).resolve())
    print(json.dumps(summary, indent=1))
    return 1 if summary["failures"] or summary["kills"] < args.kills else 0


def main() -> int:
    arguments = parser(__doc__)
    arguments.add_argument("--files", type=int, default=400)
    arguments.add_argument("--records", type=int, default=2000)
    arguments.add_argument("--batch", type=int, default=200, help="chunks in a commit")
    arguments.add_argument("--text", default="tantivy", help="text store: tantivy or fts5")
    return concluded(arguments.parse_args(), run)


if __name__ == "__main__":
    sys.exit(main())
