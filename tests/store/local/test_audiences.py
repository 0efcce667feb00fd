"""Audiences in a local index: what is kept in `meta`, damaged documents, damaged catalogues."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from engine_filling import EngineFilling
from watersmeet import Engine
from watersmeet.core.visibility import EVERYONE, Viewer
from watersmeet.engine.index.writer import open_for_writing
from watersmeet.store.local._audiences import AUDIENCES
from watersmeet.store.local._checksums import seal_meta
from watersmeet.store.local._connect import FILE, connect
from watersmeet.store.local._private_words import PUBLIC_TEXT
from watersmeet.testing.contracts.corpus import EVERYONES, page

GIVEN = [page(f"{name}.md", ((), f"A tern on {name}."), collection="team") for name in ("rock", "pier")]


def private_rows(filling: EngineFilling) -> int:
    with closing(connect(filling.place)) as db:
        return int(db.execute("SELECT count(*) FROM withheld").fetchone()[0])


def test_words_move_between_the_text_store_and_the_catalogue(local: Callable[..., EngineFilling]) -> None:
    filling = local(*GIVEN)
    for audience, rows in ((("private",), 2), (("group:a",), 2), ((), 0)):
        with filling.index.snapshot() as snapshot:
            before = snapshot.generation
        filling.restrict("team", audience)
        assert private_rows(filling) == rows
        with filling.index.snapshot() as snapshot:
            assert snapshot.text().size == 2 - rows  # the text store has no other rows, not even dead ones
            assert snapshot.facts()[PUBLIC_TEXT] == snapshot.generation
            assert (snapshot.generation == before) == (audience == ("group:a",))  # nothing to move
            assert snapshot.statistics(EVERYONES).documents == 2 - rows


def test_a_damaged_document_is_restricted_too_and_stays_damaged(local: Callable[..., EngineFilling]) -> None:
    filling = local(*GIVEN)
    with closing(connect(filling.place)) as db, db:
        db.execute("UPDATE documents SET fields = 'x' WHERE name = 'rock.md'")
    filling.restrict("team", ("group:a",))
    with filling.index.snapshot() as snapshot:
        assert snapshot.only(["rock.md", "pier.md"], EVERYONES) == set()
        assert [record.document for record in snapshot.records()] == ["pier.md"]
        assert dict(snapshot.damaged) == {"rock.md": None}


@pytest.mark.parametrize("lost", [False, True], ids=["its audiences can be read", "they cannot"])
def test_an_index_built_anew_from_a_damaged_catalogue_opens_nothing(tmp_path: Path, lost: bool, engine: Engine) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "pay.md").write_text("# zanzibar\n")
    engine.sync([notes], collection="pay", audience="group:hr")
    engine.index.close()
    with closing(sqlite3.connect(tmp_path / "index" / FILE)) as db, db:
        db.execute("UPDATE chunks SET text = 'x'")
        if lost:
            db.execute("UPDATE meta SET value = '{' WHERE key = ?", (AUDIENCES,))
            seal_meta(db)
    engine.sync([notes], recreate=True)
    assert engine.documents(EVERYONE) == []
    assert len(engine.documents(Viewer("", ("hr",)))) == (0 if lost else 1)
    assert len(engine.documents()) == 1
    shown = {one["collection"]: one["audience"] for one in engine.collections()}
    assert shown == ({"rescued": "private"} if lost else {"pay": "group:hr"})


def test_what_a_writer_has_read_before_gets_the_audience_of_its_commit(local: Callable[..., EngineFilling]) -> None:
    filling = local(*GIVEN)
    with open_for_writing(filling.index, filling._settings) as opened:
        (collection,) = [key for key, name in opened.catalogue.collections().items() if name == "team"]
        opened.catalogue.set_audience(collection, ("group:a",))
        assert json.loads(opened.catalogue.meta()[AUDIENCES]) == {"team": ["group:a"]}
    filling.put([page("late.md", ((), "A tern, read before."), collection="team")])
    with filling.index.snapshot() as snapshot:
        assert snapshot.records(EVERYONES) == []
        assert len(snapshot.records()) == 3
