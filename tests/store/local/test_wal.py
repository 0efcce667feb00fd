from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from threading import Event, Thread

import pytest

from watersmeet.store.local._wal import use_wal


def _change(path: Path, started: Event, over: Event) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        started.set()
        over.wait(10)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with closing(sqlite3.connect(tmp_path / "a.db")) as db:
        db.execute("CREATE TABLE t (x)")
    return tmp_path / "a.db"


def _beside_another(path: Path, patience: float, leaves_after: float | None) -> str:
    started, over = Event(), Event()
    other = Thread(target=_change, args=(path, started, over))
    other.start()
    assert started.wait(10)
    if leaves_after is not None:
        Thread(target=lambda: (Event().wait(leaves_after), over.set())).start()
    try:
        with closing(sqlite3.connect(path, timeout=patience, isolation_level=None)) as db:
            use_wal(db, patience)
            return str(db.execute("PRAGMA journal_mode").fetchone()[0])
    finally:
        over.set()
        other.join()


@pytest.mark.slow
def test_it_waits_for_another_that_is_about_to_change_the_file(path: Path) -> None:
    assert _beside_another(path, 10, leaves_after=0.2) == "wal"


def test_its_patience_ends(path: Path) -> None:
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        _beside_another(path, 0.1, leaves_after=None)


def test_another_complaint_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "a.db").write_bytes(b"this is not a database, whatever it is called" * 100)
    with closing(sqlite3.connect(tmp_path / "a.db")) as db:  # noqa: SIM117 - it must be closed after the complaint
        with pytest.raises(sqlite3.DatabaseError, match="not a database"):
            use_wal(db, 60)
