"""A frozen catalogue may be a stranger's: only our tables, no names that lead elsewhere, and errors for the rest."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from watersmeet import Engine
from watersmeet.core.errors import IndexDamaged, IndexMismatch, IndexProblem, WatersmeetError
from watersmeet.store.local._checksums import seal_meta
from watersmeet.store.local._frozen import FROZEN, check_folder_names

Change = Callable[[sqlite3.Connection], object]


@pytest.fixture
def frozen(engine: Engine, vault: Path, tmp_path: Path) -> Path:
    engine.sync([vault])
    index: Any = engine.index
    index.copy_to(str(tmp_path / "frozen"), [])
    with Engine(tmp_path / "frozen", engine.settings) as copy:
        made: Any = copy.index
        made.freeze()
    return tmp_path / "frozen"


def opened(folder: Path) -> None:
    with Engine(folder) as engine:
        index: Any = engine.index
        index.check_frozen()
        engine.search("keys", mode="lexical")


def change(folder: Path, edit: Change) -> None:
    with closing(sqlite3.connect(folder / "catalogue.db", isolation_level=None)) as db:
        edit(db)


def test_a_sound_copy_opens(frozen: Path) -> None:
    opened(frozen)


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE VIEW extra AS SELECT 1",
        "CREATE TRIGGER bad AFTER UPDATE ON meta BEGIN SELECT 1; END",
        "CREATE TABLE more (a)",
        "CREATE INDEX by_text ON chunks (casefold(text))",
        "ALTER TABLE chunks ADD COLUMN b AS (1)",
        "DROP TABLE facets; CREATE VIEW facets AS SELECT 'k' AS key, 'v' AS value, 1 AS document",
    ],
)
def test_other_tables_than_ours_are_refused(frozen: Path, sql: str) -> None:
    def edit(db: sqlite3.Connection) -> None:
        db.create_function("casefold", 1, str, deterministic=True)
        db.executescript(sql)

    change(frozen, edit)
    with pytest.raises(IndexMismatch, match="not ours"):
        opened(frozen)


@pytest.mark.parametrize(
    "facts",
    [
        {"text_folder": "../../etc"},
        {"text_folder": "/etc"},
        {"tiers": json.dumps({"static": {"folder": "../x", "dimension": 1}})},
        {"tiers": json.dumps({"static": {"folder": "vectors-static-1-00000000", "dimension": 10**9}})},
        {"tiers": "[" * 100_000},
        {"tiers": "7"},
    ],
)
def test_names_that_lead_elsewhere_are_refused(frozen: Path, facts: dict[str, str]) -> None:
    with pytest.raises(IndexDamaged):
        check_folder_names({"text_folder": "text-1", **facts}, "x")

    def edit(db: sqlite3.Connection) -> None:
        db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", facts.items())
        seal_meta(db)

    change(frozen, edit)
    with pytest.raises(WatersmeetError):
        opened(frozen)


def test_a_journal_beside_it_is_not_read_and_nothing_is_written(frozen: Path) -> None:
    for ending in ("-wal", "-journal", "-shm"):
        (frozen / f"catalogue.db{ending}").write_bytes(b"x" * 5000)
    before = (frozen / "catalogue.db").read_bytes()
    opened(frozen)
    assert (frozen / "catalogue.db").read_bytes() == before
    assert (frozen / "catalogue.db-shm").read_bytes() == b"x" * 5000


def test_a_folder_without_the_mark_is_not_a_frozen_copy(frozen: Path) -> None:
    (frozen / FROZEN).unlink()
    with pytest.raises(IndexProblem, match="not a frozen copy"):
        opened(frozen)


def test_flipped_bytes_are_errors_or_found_documents_and_never_anything_else(frozen: Path) -> None:
    """Every file in turn, at several places: the answer is an error of ours, or an answer."""
    for path in sorted(path for path in frozen.rglob("*") if path.is_file() and path.stat().st_size):
        original = path.read_bytes()
        for at in sorted({0, len(original) // 3, len(original) // 2, len(original) - 1}):
            path.write_bytes(original[:at] + bytes([original[at] ^ 0xFF]) + original[at + 1 :])
            with suppress(WatersmeetError):
                opened(frozen)
        path.write_bytes(original)
    opened(frozen)
