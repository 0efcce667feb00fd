"""Damage tests: a small index, bytes of its files flipped one at a time, and the expected behaviour."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from watersmeet import Engine
from watersmeet.core.errors import WatersmeetError
from watersmeet.core.model import Answer, Request
from watersmeet.engine.settings.settings import load
from watersmeet.store.local._stored_text import plain_text

WORDS = "badger sett river otter owl night forest moss fern clay stone keys rotate deploy backup restore".split()
QUERIES = ("badger sett", "rotate keys D7", "part1 wild", "server otter")
MODES = ("hybrid", "lexical", "static", "sparse", "dense")
SERVERS = [
    {
        "kind": "mcp_server",
        "path": f"/s{number}",
        "name": f"Server {number}",
        "description": "otter stones",
        "tags": ["Wild"],
        "tools": [{"name": f"t{number}", "description": "river keys"}],
    }
    for number in range(3)
]


class Index:
    """`whole` is the sound one; each damage is done to a copy."""

    def __init__(self, folder: Path, text: str = "tantivy") -> None:
        self.folder, self.vault, self.whole, self.copy = folder, folder / "vault", folder / "whole", folder / "copy"
        self.vault.mkdir()
        for n in range(20):
            said = " ".join(WORDS[(n * 7 + k * k) % len(WORDS)] for k in range(60))
            head = f"---\ntags: [Wild, part{n % 3}]\naliases: [Grey {n}]\n---\n# Page {n}\n\n"
            body = f"{said}. See D{n} and [[page{(n + 1) % 20}]].\n\n## More\n\n{said[::-1]}\n\n{said}\n"
            (self.vault / f"page{n}.md").write_text(head + body)
        environ = {"WATERSMEET__INDEX__DENSE": "hashed", "WATERSMEET__INDEX__TEXT": text}
        self.settings = load(start=str(folder), environ=environ)
        with self.opened(self.whole) as engine:
            engine.registry.register(SERVERS)
            engine.sync([self.vault])
            engine.deepen(tiers=("sparse",))
            self.right = answers(engine)
            self.got = {name: engine.get(name) for name in ("page3.md", "/s1")}

    def opened(self, index: Path) -> Engine:
        return Engine(index, self.settings)

    def files(self) -> list[Path]:
        found = (path.relative_to(self.whole) for path in self.whole.rglob("*") if path.is_file())
        return sorted(path for path in found if path.name != ".gitignore" and (self.whole / path).stat().st_size)

    def fresh(self) -> Path:
        shutil.rmtree(self.copy, ignore_errors=True)
        shutil.copytree(self.whole, self.copy)
        return self.copy

    def flip(self, file: Path, at: int, mask: int, *, silent: bool = False) -> None:
        """Changes one byte of the copy; `silent`: the file's time stays, as with a disk error."""
        path = self.copy / file
        status, content = path.stat(), bytearray(path.read_bytes())
        content[at] ^= mask
        path.write_bytes(content)
        if silent:
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))

    def flip_text(self, words: bytes) -> None:
        """Changes one byte of the stored text that has these words, in a fresh copy."""
        catalogue = self.fresh() / "catalogue.db"
        with closing(sqlite3.connect(catalogue)) as db:
            texts = [text for (text,) in db.execute("SELECT CAST(text AS BLOB) FROM chunks")]
        (stored,) = [text for text in texts if words in (plain_text(text) or b"")]
        self.flip(Path("catalogue.db"), catalogue.read_bytes().index(stored) + len(stored) // 2, 0x01)

    def repaired(self) -> Engine:
        """Repairs as `doctor` and errors say: sync, or else recreate; lost registry entries are put again."""
        engine = self.opened(self.copy)
        try:
            engine.sync([self.vault])
        except WatersmeetError as error:
            _helps(error, "--recreate")
            engine.sync([self.vault], recreate=True)
        engine.registry.register(SERVERS)
        engine.compact(grace=0)
        return engine


def _helps(error: WatersmeetError, how: str = " ") -> None:
    """An error says what to do."""
    assert how in error.hint, (str(error), error.hint)


def answers(engine: Engine) -> dict[tuple[str, str], Answer]:
    return {(q, mode): engine.search(Request(q, mode=mode, top_n=8)) for q in QUERIES for mode in MODES}


def shown(answer: Answer) -> Any:
    results = [(r.id, round(r.score, 6), r.document, r.title, r.path, r.lines, r.text) for r in answer.results]
    return results, answer.confidence


def problems(index: Index, *, silent: bool = False) -> Iterator[str]:
    """Problems with search, diagnosis and repair of a damaged copy."""
    with index.opened(index.copy) as engine:
        unnoticed = list(_unnoticed(index, engine))
        ill = [check.name for check in engine.doctor() if not check.ok]
    if unnoticed and not (ill and (silent or "catalogue" in ill)):
        yield f"{unnoticed[:2]} differ and nothing says so; doctor: {ill}"
    with index.repaired() as engine:
        yield from (f"after the repair: {check}" for check in engine.doctor() if not check.ok)
        for key, answer in answers(engine).items():
            if answer.failures or shown(answer) != shown(index.right[key]):
                yield f"after the repair {key} answers otherwise: {answer.failures}"


def _unnoticed(index: Index, engine: Engine) -> Iterator[Any]:
    """Queries with other results and no warning; errors must have a hint."""
    for key, right in index.right.items():
        try:
            answer = engine.search(Request(key[0], mode=key[1], top_n=8))
        except WatersmeetError as error:
            _helps(error)
            continue
        assert all(failure.hint for failure in answer.failures), answer.failures
        if not answer.failures and shown(answer) != shown(right):
            yield key
    for name, document in index.got.items():
        try:
            if engine.get(name) != document:
                yield name
        except WatersmeetError as error:
            _helps(error)


def flips(index: Index, count: int, seed: int) -> Iterator[tuple[Path, int, int]]:
    """Random bytes of random files, each file as likely as another."""
    chance, files = random.Random(seed), index.files()  # noqa: S311 - to be repeatable
    for _ in range(count):
        file = chance.choice(files)
        size = (index.whole / file).stat().st_size
        yield file, chance.randrange(size), chance.choice([1 << chance.randrange(8), chance.randrange(1, 256)])
