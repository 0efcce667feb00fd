from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from registries import opened
from watersmeet.core.entities import SKILL, Entity
from watersmeet.core.index import WAITING_RECORDS
from watersmeet.core.model import ANY
from watersmeet.core.ports import Term
from watersmeet.engine.index.writer import open_for_writing
from watersmeet.store.local._private_words import PUBLIC_TEXT
from watersmeet.store.local.catalogue import Catalogue
from watersmeet.store.local.rebuild_text import next_folder, rebuild, registered, rewrite
from watersmeet.testing.contracts.corpus import page

GIVEN = [page(f"{name}.md", ((), f"A tide of {name}.")) for name in "abc"]
TIDE = [Term("body", "tide")]


def text_of(writer):
    return writer.options.open_text, writer.options.text


def test_nothing_is_done_to_words_that_are_whole(local) -> None:
    filling = local(*GIVEN)
    with open_for_writing(filling.index, filling._settings) as work:
        writer = work.catalogue
        assert rebuild(writer, *text_of(writer), writer.meta(), lambda: None) == {}


def test_words_that_are_lost_are_made_again_and_score_as_before(local, tmp_path: Path) -> None:
    filling = local(*GIVEN)
    with filling.index.snapshot() as snapshot:
        before, folder = dict(snapshot.words(ANY).match(TIDE, ANY, 9)), snapshot.generation
    filling.index.close()
    (Path(filling.index.place) / folder).rename(tmp_path / "lost")
    with open_for_writing(filling.index, filling._settings) as work:
        assert work.catalogue.mended
    with filling.index.snapshot() as snapshot:
        assert snapshot.generation != folder
        assert dict(snapshot.words(ANY).match(TIDE, ANY, 9)) == pytest.approx(before)


def test_written_anew_dead_rows_count_no_more(local) -> None:
    filling = local(*GIVEN)
    filling.remove(["a.md"])
    signs: list[int] = []
    with open_for_writing(filling.index, filling._settings) as work:
        writer = work.catalogue
        assert writer.text.row_count() == 3
        writer.close_text()
        fresh = rewrite(writer, *text_of(writer), writer.meta(), lambda: signs.append(1))
        assert fresh[PUBLIC_TEXT] == fresh["text_folder"] == writer.meta()["text_folder"]
        assert writer.text.row_count() == 2
    assert signs  # of life


def test_a_store_that_had_a_private_row_is_written_anew(local) -> None:
    filling = local(*GIVEN)
    with open_for_writing(filling.index, filling._settings) as work:
        writer = work.catalogue
        writer.close_text()
        assert rebuild(writer, *text_of(writer), {**writer.meta(), PUBLIC_TEXT: "text-0"}, lambda: None)


def test_a_name_that_no_store_has(tmp_path: Path) -> None:
    assert next_folder(str(tmp_path), "text-0") == "text-1"
    os.mkdir(tmp_path / "text-1")
    os.mkdir(tmp_path / "text-2")
    assert next_folder(str(tmp_path), "text-0") == "text-3"


def test_all_that_is_registered_is_noted_each_once(tmp_path: Path) -> None:
    with opened(tmp_path, INDEX__VECTORS="false") as engine:
        engine.registry.put(Entity(SKILL, "/s", "S", "New"))
    catalogue = Catalogue(str(tmp_path / "index"))
    kept = [{"path": "/s", "description": "Old"}, {"path": "/waiting"}]
    noted = json.loads(registered(catalogue, {WAITING_RECORDS: json.dumps(kept)})[WAITING_RECORDS])
    assert {found["path"]: found.get("description") for found in noted} == {"/s": "New", "/waiting": None}
    catalogue.close()
