from __future__ import annotations

from pathlib import Path

import pytest

from text_stores import TextStoreTests, entry, fill
from watersmeet.core.errors import ConfigError, IndexMismatch
from watersmeet.core.ports import Term
from watersmeet.store.local.tantivy import Tantivy, _schema


class TestTantivy(TextStoreTests):
    store = Tantivy


@pytest.mark.parametrize("options", [{"threads": 0}, {"heap_bytes": 1}, {"heap_bytes": 1 << 60}])
def test_settings_that_make_no_sense_are_refused(options: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match=r"store\.tantivy"):
        Tantivy("x", **options)


def test_the_reader_is_the_same_until_something_is_committed(tmp_path: Path) -> None:
    store = Tantivy(str(tmp_path / "text"))
    first = fill(store, entry(1, "tides"))
    assert store.reader() is first
    assert fill(store, entry(2, "tides")) is not first


def test_tantivy_with_other_fields_is_a_mismatch(tmp_path: Path) -> None:
    import tantivy

    builder = tantivy.SchemaBuilder()
    builder.add_text_field("text")
    tantivy.Index(builder.build(), str(tmp_path))
    with pytest.raises(IndexMismatch):
        Tantivy(str(tmp_path)).writer()


def test_a_store_with_positions_is_read_and_written(tmp_path: Path) -> None:
    """Earlier versions stored them; scores are the same."""
    import tantivy

    tantivy.Index(_schema("position"), str(tmp_path))
    before, now = Tantivy(str(tmp_path)), Tantivy(str(tmp_path / "now"))
    readers = [fill(store, entry(1, "tides and tides"), entry(2, "one tide")) for store in (before, now)]
    assert '"position"' in (tmp_path / "meta.json").read_text()
    assert '"position"' not in (tmp_path / "now" / "meta.json").read_text()
    first, second = (reader.match([Term("body", "tides")], 5) for reader in readers)
    assert first == second
    assert len(first) == 2


def test_tantivy_checks_its_memory() -> None:
    with pytest.raises(ConfigError):
        Tantivy("x", heap_bytes=20_000_000, threads=2)


@pytest.mark.slow
def test_what_was_written_in_many_commits_ends_in_one_piece(tmp_path: Path) -> None:
    """And few new rows beside many old ones are no reason to write all of them again."""
    store = Tantivy(str(tmp_path / "text"))
    with store.writer() as writer:
        assert writer.pieces(100) == 1  # there is nothing to join them to
        for start in (0, 100, 200):
            writer.add([entry(row, f"apples {row}") for row in range(start, start + 100)])
            writer.commit()
        assert writer.pieces(4) == 1  # too few to be divided
        assert writer.pieces(50) == 5
        for part in range(5):
            writer.add([entry(300 + part, "pears")])
            writer.commit()
    assert store.reader()._searcher.num_segments == 1
    assert store.reader().size == 305
    with store.writer() as writer:
        writer.add([entry(400, "plums")])
        writer.commit()
        assert writer.pieces(50) == 1
    store.close()
