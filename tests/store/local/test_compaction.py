from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from watersmeet.core.errors import IndexDamaged
from watersmeet.core.model import ANY
from watersmeet.core.ports import Term
from watersmeet.core.visibility import AUDIENCE_GATE
from watersmeet.engine.index.writer import open_for_writing
from watersmeet.engine.settings.settings import load
from watersmeet.store.local.compaction import COMPACTION, _note, _write, progress_of
from watersmeet.testing.contracts.corpus import page

TIDE = [Term("body", "tide")]
PRIVATE = {AUDIENCE_GATE: ["user:ada"]}
NAMES = [f"{number:02}.md" for number in range(20)]


class Killed(BaseException):
    """Ends a compaction where `kill` would."""


def two_parts(name: str) -> Any:
    parts = [(("First",), f"A tide of {name}."), (("Second",), f"Another of {name}.")]
    return page(name, *parts)


@pytest.fixture
def dirty(local) -> Any:
    """40 live rows and two dead ones; a piece has four."""
    filling = local(*map(two_parts, NAMES))
    filling.remove([NAMES[0]])
    filling._settings = load(
        start=filling.place, environ={"WATERSMEET__INDEX__VECTORS": "false", "WATERSMEET__WRITER__BATCH_CHUNKS": "4"}
    )
    return filling


def compact(dirty: Any, others: Callable[[int], None]) -> list[int]:
    """Compacts while another writer always waits, and calls `others` between two pieces; the rows written by then."""
    turns: list[int] = []
    with open_for_writing(dirty.index, dirty._settings) as opened:
        writer: Any = opened.catalogue
        released = writer._lock_released

        @contextmanager
        def with_others() -> Iterator[None]:
            progress = progress_of(writer.meta())
            turns.append(progress.rows if progress else 0)
            with released():
                others(len(turns))
                yield

        writer.is_wanted = lambda: True
        writer._lock_released = with_others
        assert writer.compact(0, 0.0) > 0
    return turns


def words(filling: Any) -> dict[str, float]:
    with filling.index.snapshot() as snapshot:
        reader, found = snapshot.words(ANY), {}
        for text in ("tide", "another", "ebb"):
            found |= {f"{text} {chunk}": score for chunk, score in reader.match([Term("body", text)], ANY, 99)}
        return found


def rows_and_folder(filling: Any) -> tuple[int, int, str]:
    """Live rows, those of the text store, and its folder."""
    with filling.index.snapshot() as snapshot:
        return snapshot.statistics().chunks, snapshot.text().size, snapshot.generation


def test_in_pieces_as_at_once(dirty) -> None:
    turns = compact(dirty, lambda turn: None)
    assert turns == list(range(4, 38, 4))
    in_pieces = words(dirty)
    with open_for_writing(dirty.index, dirty._settings) as opened:
        opened.catalogue.rewrite()
        assert COMPACTION not in opened.catalogue.meta()
    assert words(dirty) == pytest.approx(in_pieces)


def test_what_others_write_between_two_pieces_is_there(dirty) -> None:
    def others(turn: int) -> None:
        if turn < 4:
            dirty.put([page(NAMES[turn], ((), f"An ebb {turn}.")), page(f"new {turn}.md", ((), f"A new tide {turn}."))])
            dirty.remove([NAMES[10 + turn]])

    compact(dirty, others)
    live, stored, _ = rows_and_folder(dirty)
    assert live == 2 * (19 - 6) + 6
    assert live <= stored < live + 12
    assert sum(key.startswith("ebb") for key in words(dirty)) == 3
    found = words(dirty)
    with open_for_writing(dirty.index, dirty._settings) as opened:
        opened.catalogue.rewrite()
    assert words(dirty).keys() == found.keys()


def test_it_goes_on_where_it_was_killed(dirty) -> None:
    def kill(turn: int) -> None:
        if turn == 3:
            raise Killed

    before = words(dirty).keys()
    with pytest.raises(Killed):
        compact(dirty, kill)
    assert words(dirty).keys() == before
    turns = compact(dirty, lambda turn: None)
    assert turns == list(range(16, 38, 4))
    assert rows_and_folder(dirty)[:2] == (38, 38)


def test_killed_between_its_two_commits_it_begins_again(dirty, monkeypatch: pytest.MonkeyPatch) -> None:
    def kill(turn: int) -> None:
        if turn == 3:
            monkeypatch.setattr("watersmeet.store.local.compaction._note", lambda *of: (_ for _ in ()).throw(Killed))

    with pytest.raises(Killed):
        compact(dirty, kill)
    monkeypatch.setattr("watersmeet.store.local.compaction._note", _note)
    before = rows_and_folder(dirty)
    assert compact(dirty, lambda turn: None)[0] == 0
    live, stored, folder = rows_and_folder(dirty)
    assert (live, stored) == (38, 38) != before[:2]
    assert folder == "text-3"


def test_what_becomes_private_meanwhile_is_in_no_text_store(dirty) -> None:
    def others(turn: int) -> None:
        if turn == 5:
            dirty.put([page(NAMES[1], ((), "A secret tide."), fields=PRIVATE)])

    compact(dirty, others)
    with dirty.index.snapshot() as snapshot:
        assert snapshot.public_text
        assert snapshot.text().size == 36
        assert snapshot.text().frequency("body", "secret") == 0


def test_two_compactions_help_each_other(dirty) -> None:
    """The second one finishes what the first began, which then has nothing to do."""

    def others(turn: int) -> None:
        if turn == 2:
            with open_for_writing(dirty.index, dirty._settings) as opened:
                assert opened.catalogue.compact(0, 0.0) == 2

    assert compact(dirty, others) == [4, 8]
    assert rows_and_folder(dirty) == (38, 38, "text-2")


@pytest.mark.parametrize("folder", ["{place}/outside", "../outside", "text-1", "vectors-dense-1-a", 7, None])
def test_a_strange_entry_is_none(dirty, folder: Any) -> None:
    """A backup may be a stranger's, and a compaction writes to the folder that is named."""
    place = Path(dirty.place)
    named = folder.format(place=place.parent) if isinstance(folder, str) else folder
    entry = json.dumps({"folder": named, "replaces": "text-1"})
    for text in (entry, "[]", "{", "3", '{"more": 1}', "[" * 100_000):
        with open_for_writing(dirty.index, dirty._settings) as opened:
            opened.catalogue.set_meta({COMPACTION: text})
            assert progress_of(opened.catalogue.meta()) is None
    compact(dirty, lambda turn: None)
    assert rows_and_folder(dirty) == (38, 38, "text-2")
    assert not (place.parent / "outside").exists()


@pytest.mark.parametrize("turn_of_damage", [0, 3])
def test_a_disk_that_fails_each_time_ends_it(dirty, monkeypatch: pytest.MonkeyPatch, turn_of_damage: int) -> None:
    pieces = 0

    def fail(*of: Any) -> bool:
        nonlocal pieces
        pieces += 1
        if pieces > 20:
            raise Killed
        if pieces > turn_of_damage:
            raise IndexDamaged("Input/output error (os error 5)", "")
        return _write(*of)

    before = words(dirty)
    monkeypatch.setattr("watersmeet.store.local.compaction._write", fail)
    with pytest.raises(IndexDamaged, match="error 5"):
        compact(dirty, lambda turn: None)
    monkeypatch.undo()
    assert words(dirty) == before
    assert compact(dirty, lambda turn: None)[0] == 4
    assert rows_and_folder(dirty)[:2] == (38, 38)
