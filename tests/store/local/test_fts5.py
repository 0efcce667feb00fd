from __future__ import annotations

from pathlib import Path

import pytest

from watersmeet.core.errors import IndexDamaged, IndexMismatch
from watersmeet.core.indexing import Entry
from watersmeet.core.model import Row
from watersmeet.core.ports import Term, TextReader
from watersmeet.store.local.fts5 import Fts5


def entry(row: int, body: str = "", **fields: str) -> Entry:
    return Entry(Row(row), {"body": body, **fields})


def fill(store: Fts5, *entries: Entry) -> TextReader:
    with store.writer() as writer:
        writer.add(entries)
        writer.commit()
    return store.reader()


def test_words_are_stemmed_forms_are_not_and_equal_scores_come_by_row(tmp_path: Path) -> None:
    store = Fts5(str(tmp_path / "text"))
    reader = fill(store, entry(2, "tides", forms="TRN-1"), entry(1, "tides"), entry(3, "stones", forms="trn-1"))
    assert [row for row, _ in reader.match([Term("body", "tide")], 9)] == [1, 2]
    assert [row for row, _ in reader.match([Term("forms", "TRN-1")], 9)] == [2]
    assert reader.score([Term("body", "tide")], [Row(3), Row(99)]) == {}
    assert (reader.size, reader.frequency("body", "tide"), reader.frequency("forms", "TRN-1")) == (3, 2, 1)
    store.close()


def test_what_stands_for_a_word(tmp_path: Path) -> None:
    reader = fill(Fts5(str(tmp_path / "text")), entry(1, "tides"))
    assert reader.analyse("body", "tides") == reader.analyse("body", "tide") == "tide"
    assert reader.analyse("forms", "Tides") == "Tides"
    assert reader.analyse("body", "the") == ""


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
