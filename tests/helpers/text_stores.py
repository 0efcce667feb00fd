"""What every text store of a local index does, as tests to subclass; and how tests fill one."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from watersmeet.core.indexing import Entry
from watersmeet.core.model import Row
from watersmeet.core.ports import Term, TextReader, TextStore


def entry(row: int, body: str = "", **fields: str) -> Entry:
    return Entry(Row(row), {"body": body, **fields})


def fill(store: TextStore, *entries: Entry) -> TextReader:
    with store.writer() as writer:
        writer.add(entries)
        writer.commit()
    return store.reader()


class TextStoreTests:
    store: ClassVar[Any]

    def test_words_are_stemmed_forms_are_not_and_equal_scores_come_by_row(self, tmp_path: Path) -> None:
        store = self.store(str(tmp_path / "text"))
        reader = fill(store, entry(2, "tides", forms="TRN-1"), entry(1, "tides"), entry(3, "stones", forms="trn-1"))
        assert [row for row, _ in reader.match([Term("body", "tide")], 9)] == [1, 2]
        assert [row for row, _ in reader.match([Term("forms", "TRN-1")], 9)] == [2]
        assert reader.score([Term("body", "tide")], [Row(3), Row(99)]) == {}
        assert (reader.size, reader.frequency("body", "tide"), reader.frequency("forms", "TRN-1")) == (3, 2, 1)
        assert reader.frequencies("body", ["tides", "unheard", "tide"]) == [2, 0, 2]
        assert reader.frequencies("forms", ["TRN-1", "trn-1"]) == [
            reader.frequency("forms", t) for t in ("TRN-1", "trn-1")
        ]
        store.close()

    def test_what_stands_for_a_word(self, tmp_path: Path) -> None:
        reader = fill(self.store(str(tmp_path / "text")), entry(1, "tides"))
        assert reader.analyse("body", "tides") == reader.analyse("body", "tide") == "tide"
        assert reader.analyse("forms", "Tides") == "Tides"
        assert reader.analyse("body", "the") == ""
