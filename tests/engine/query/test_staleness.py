"""A search says how many files changed since the last sync, where a look at them is cheap."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from watersmeet import Engine
from watersmeet.engine.query import staleness
from watersmeet.engine.query.multi_index import MultiIndex
from watersmeet.engine.query.staleness import count_stale
from watersmeet.engine.settings.settings import load


def opened(place: Path, **flags: Any) -> Engine:
    flags = {"index": {"vectors": False}, "watch": {"stale_ms": 60_000}} | flags
    return Engine(place / "index", load(start=str(place), environ={}, flags=flags))


def stale(place: Path, **flags: Any) -> int | None:
    with opened(place, **flags) as engine:
        return engine.search("herons").stale


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staleness, "WAIT_SECONDS", 30.0)


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    (folder / "sub").mkdir(parents=True)
    for name in ("a.md", "sub/b.md"):
        (folder / name).write_text(f"# {name}\n\nherons in {name}\n")
    with opened(tmp_path) as engine:
        engine.sync([folder])
    return folder


def test_added_changed_and_deleted_files_are_counted(notes: Path, tmp_path: Path) -> None:
    assert stale(tmp_path) == 0
    (notes / "a.md").write_text("# A\n\nherons and otters\n")
    (notes / "sub" / "new.md").write_text("# New\n")
    (notes / "sub" / "b.md").unlink()
    assert stale(tmp_path) == 3
    with opened(tmp_path) as engine:
        engine.sync()
    assert stale(tmp_path) == 0


def test_what_no_sync_reads_is_not_counted(notes: Path, tmp_path: Path) -> None:
    (notes / "data.bin").write_bytes(b"0")
    (notes / ".hidden.md").write_text("hidden")
    (notes / "broken.md").write_bytes(bytes(range(256)) * 40)
    (notes / "large.md").write_text("x" * 200)
    (notes / "drafts").mkdir()
    (notes / "drafts" / "one.md").write_text("left out by the format")
    flags = {"source": {"folder": {"max_bytes": 100}}, "parse": {"markdown": {"exclude": ["drafts/"]}}}
    with opened(tmp_path, **flags) as engine:
        engine.sync()
    assert stale(tmp_path, **flags) == 0
    assert stale(tmp_path) is None  # other settings: nobody can say


def test_nobody_looks_where_it_is_off_or_takes_too_long(notes: Path, tmp_path: Path) -> None:
    for number in range(60):
        (notes / f"folder{number}").mkdir()
    assert stale(tmp_path, watch={"stale": False}) is None
    assert stale(tmp_path, watch={"stale_ms": 0}) is None
    assert stale(tmp_path) == 0


def test_a_file_system_that_hangs_does_not_hold_up_a_search(
    notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = threading.Event()
    monkeypatch.setattr(staleness, "WAIT_SECONDS", 0.01)
    monkeypatch.setattr(staleness, "count_stale", lambda *_: go_on.wait(30) and 7)
    with opened(tmp_path) as engine:
        assert engine.search("herons").stale is None
        go_on.set()
        end = time.monotonic() + 30
        while engine.search("herons").stale != 7:
            assert time.monotonic() < end


def test_a_process_that_searches_often_looks_now_and_then(
    notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = []
    monkeypatch.setattr(staleness, "REST_SECONDS", 3600.0)
    monkeypatch.setattr(staleness, "count_stale", lambda *_: looks.append(1) or 4)
    with opened(tmp_path) as engine:
        assert [engine.search("herons").stale for _ in range(5)] == [4] * 5
        assert len(looks) == 1
        engine.staleness.watcher = lambda: 0
        assert engine.search("herons").stale == 0


def test_several_indexes(notes: Path, tmp_path: Path) -> None:
    (notes / "a.md").write_text("# A\n\nother herons\n")
    other = tmp_path / "other"
    other.mkdir()
    with opened(tmp_path) as one, opened(other) as two:
        two.sync([notes])
        assert MultiIndex([one, two]).search("herons").stale == 1
        with opened(other, watch={"stale": False}) as three:
            assert MultiIndex([one, three]).search("herons").stale is None


def test_an_index_without_folders_or_of_an_earlier_version(tmp_path: Path, notes: Path) -> None:
    with opened(tmp_path) as engine:
        with engine.index.bookkeeping(5) as book:
            book.set_meta({name: "" for name in book.meta() if name.startswith("scan.")})
        assert count_stale(engine.index, engine.settings, 60) is None
        engine.remove(["notes"])
        assert count_stale(engine.index, engine.settings, 60) is None


def test_nested_roots_count_once(tmp_path: Path, notes: Path) -> None:
    with opened(tmp_path) as engine:
        engine.sync([notes.parent / "notes"])
    with opened(tmp_path / "more") as engine:
        os.makedirs(tmp_path / "more", exist_ok=True)
        engine.sync([notes / "sub"])
        engine.sync([notes])
        (notes / "sub" / "b.md").write_text("changed")
        assert count_stale(engine.index, engine.settings, 60) == 1
