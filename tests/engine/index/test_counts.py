"""Which rows no model has read, and how many of everything there are: kept up with each commit, and never wrong."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from watersmeet import Engine
from watersmeet.core.entities import Entity
from watersmeet.core.model import ANY
from watersmeet.core.vectors import VectorCache
from watersmeet.engine.settings.settings import load
from watersmeet.engine.sync import deepen as deepening
from watersmeet.store.local import _counts

pytestmark = pytest.mark.slow

ENVIRON = {"WATERSMEET__INDEX__STATIC": "", "WATERSMEET__INDEX__SPARSE": "", "WATERSMEET__INDEX__DENSE": "hashed"}


def opened(folder: Path) -> Engine:
    return Engine(folder / "index", load(start=str(folder), environ=ENVIRON))


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with opened(tmp_path) as made:
        yield made


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    folder.mkdir()
    for number in range(6):
        write(folder, number, "first")
    return folder


def write(folder: Path, number: int, text: str) -> None:
    (folder / f"{number}.md").write_text(f"# Page {number}\n\nwhat is said {text} of number{number}\n")


def kept(engine: Engine) -> dict[str, int]:
    with closing(sqlite3.connect(Path(engine.folder, "catalogue.db"))) as db:
        return {name: value for name, value in db.execute("SELECT name, value FROM counts") if value}


def counted(engine: Engine) -> dict[str, int]:
    """The same, from the tables and the vectors themselves."""
    with engine.snapshot() as snapshot, closing(sqlite3.connect(Path(engine.folder, "catalogue.db"))) as db:
        live = set(snapshot.every(ANY))
        there = db.execute("SELECT 1 FROM sqlite_master WHERE name = 'withheld'").fetchone()
        private = {row for (row,) in db.execute("SELECT row FROM withheld")} & live if there else set()
        found = Counter({_counts.CHUNKS: len(live), _counts.PRIVATE: len(private)})
        for (kind,) in db.execute("SELECT kind FROM documents"):
            found.update({_counts.DOCUMENTS: 1, _counts.KIND + kind: 1})
        for tier in snapshot.tiers().values():
            with closing(engine.index.vector_store(tier)) as store:
                unread = live - set(store.reader().rows().tolist())
            found[_counts.UNSEEN + tier.folder] = len(unread)
            found[_counts.UNSEEN_PRIVATE + tier.folder] = len(unread & private)
    return {name: value for name, value in found.items() if value}


@pytest.mark.parametrize("seed", range(4))
def test_whatever_happens(engine: Engine, vault: Path, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - the same each time
    engine.sync([vault])

    def edit() -> None:
        write(vault, chance.randrange(9), chance.choice("abc"))

    def move() -> None:
        page = chance.choice(sorted(vault.glob("*.md")))
        page.rename(vault / f"moved-{chance.randrange(100)}.md")

    def lose() -> None:
        chance.choice(sorted(vault.glob("*.md"))).unlink()
        write(vault, 0, "there is always one")

    def register() -> None:
        visibility = chance.choice(("public", "private"))
        engine.registry.put(Entity("skill", f"/{chance.randrange(3)}", "Skill", visibility=visibility, owner="ann"))

    for _ in range(25):
        chance.choice((edit, edit, move, lose, register))()
        chance.choice(
            (
                lambda: engine.sync([vault]),
                lambda: engine.sync([vault], deepen=False),
                lambda: engine.sync([vault], recreate=chance.random() < 0.2, deepen=False),
                lambda: engine.deepen(),
                lambda: engine.compact(grace=0),
            )
        )()
        assert kept(engine) == counted(engine)
    engine.deepen()
    assert engine.status()["signals"]["dense"]["coverage"] == 1.0
    assert kept(engine) == counted(engine)


def test_vectors_from_a_backup_are_looked_through(engine: Engine, vault: Path, tmp_path: Path) -> None:
    engine.sync([vault])
    (store,) = Path(engine.folder).glob("vectors-dense-*")
    shutil.copytree(store, tmp_path / "backup")
    for number in range(3):
        write(vault, number, "since then")
    engine.sync([vault])
    engine.close()
    shutil.rmtree(store)
    shutil.copytree(tmp_path / "backup", store)
    with opened(tmp_path) as again:
        again.deepen()
        assert kept(again) == counted(again)
        assert again.status()["signals"]["dense"]["coverage"] == 1.0


def test_an_index_that_is_begun_anew_meanwhile_is_filled(
    engine: Engine, vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    level = deepening._Pass._measured

    def meanwhile(one: deepening._Pass, tier: deepening.Tier, cache: VectorCache) -> deepening.Tier:
        monkeypatch.setattr(deepening._Pass, "_measured", level)
        with opened(tmp_path) as other:
            other.sync([vault], recreate=True, deepen=False)
        return level(one, tier, cache)

    monkeypatch.setattr(deepening._Pass, "_measured", meanwhile)
    engine.sync([vault])
    assert kept(engine) == counted(engine)
    engine.deepen()
    assert len(engine.search("number3", mode="dense").results) == 6


def test_damaged_rows_do_not_keep_others_from_being_read(
    engine: Engine, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(deepening.WINDOWS, "dense", 2)
    engine.sync([vault], deepen=False)
    with closing(sqlite3.connect(Path(engine.folder, "catalogue.db"))) as db, db:
        db.execute("UPDATE chunks SET text = text || '!' WHERE row <= 4")
    assert engine.deepen().embedded == 2
    engine.sync([vault])  # reads again what is damaged
    assert engine.status()["signals"]["dense"]["coverage"] == 1.0
    assert kept(engine) == counted(engine)
