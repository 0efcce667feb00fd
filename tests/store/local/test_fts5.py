from __future__ import annotations

from pathlib import Path

import pytest

from text_stores import TextStoreTests, entry, fill
from watersmeet.core.errors import IndexDamaged, IndexMismatch
from watersmeet.core.ports import Term
from watersmeet.engine.engine import Engine
from watersmeet.engine.settings.settings import load
from watersmeet.store.local.fts5 import Fts5


class TestFts5(TextStoreTests):
    store = Fts5


def test_hidden_signs_of_the_query_language_are_only_text(tmp_path: Path) -> None:
    reader = fill(Fts5(str(tmp_path / "text")), entry(1, "tides", forms='a"b OR c'), entry(2, "stones"))
    for text in ('tide" OR "stone', "tide OR stone", "tide*", "body:tide", "NEAR(tide stone)"):
        assert reader.match([Term("body", text)], 9) == [], text
    assert [row for row, _ in reader.match([Term("forms", 'a"b')], 9)] == [1]


def test_a_file_that_is_not_what_was_written_is_damaged(tmp_path: Path) -> None:
    assert fill(Fts5(str(tmp_path)), *(entry(n, f"tides number{n}") for n in range(200))).size == 200
    Fts5(str(tmp_path)).verify()
    file = tmp_path / "text.db"
    content = bytearray(file.read_bytes())
    content[len(content) // 2 :] = b"x" * (len(content) - len(content) // 2)
    file.write_bytes(content)
    with pytest.raises(IndexDamaged):
        Fts5(str(tmp_path)).verify()


def test_fts5_of_another_format_is_a_mismatch(tmp_path: Path) -> None:
    import sqlite3

    fill(Fts5(str(tmp_path)), entry(1, "apples"))
    with sqlite3.connect(tmp_path / "text.db") as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    for use in (Fts5(str(tmp_path)).reader, Fts5(str(tmp_path)).writer):
        with pytest.raises(IndexMismatch):
            use()


def test_an_older_format_is_written_again_by_the_next_sync(tmp_path: Path) -> None:
    import sqlite3

    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "tides.md").write_text("# Tides\n\nThe sea rises easily.\n")
    index = str(tmp_path / "index")
    settings = load(environ={}, start=str(tmp_path), flags={"index": {"text": "fts5", "vectors": False}})
    with Engine(index, settings) as engine:
        engine.sync([tmp_path / "docs"])
        (file,) = Path(index).glob("text-*/text.db")
    with sqlite3.connect(file) as connection:
        connection.execute("PRAGMA user_version = 1")
    connection.close()
    with Engine(index, settings) as engine:
        with pytest.raises(IndexDamaged, match="older version") as raised:
            engine.search("easily")
        assert "sync" in raised.value.hint
        engine.sync()
        assert [result.document for result in engine.search("easily").results] == ["tides.md"]
