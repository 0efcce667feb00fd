from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from watersmeet.core.errors import IndexBusy, IndexDamaged, IndexMismatch, SourceProblem
from watersmeet.core.index import TIERS_BEFORE_REBUILD
from watersmeet.core.model import ANY
from watersmeet.engine.index.writer import open_for_writing
from watersmeet.engine.settings.settings import load
from watersmeet.store.local._turns import writer_lock
from watersmeet.store.local.open_writer import bookkeeping
from watersmeet.testing.contracts.corpus import STATIC, page, vectors

GIVEN = [page(f"{name}.md", ((), f"A tide of {name}.")) for name in "abc"]


def test_an_index_is_made_for_its_owner_and_for_no_repository(local) -> None:
    place = Path(local(*GIVEN).index.place)
    assert (place / ".gitignore").read_text() == "*\n"
    assert all(path.stat().st_mode & 0o077 == 0 for path in place.rglob("*"))


def test_what_was_built_otherwise_is_refused_and_stays(local, tmp_path: Path) -> None:
    filling = local(*GIVEN)
    other = load(
        start=str(tmp_path), environ={"WATERSMEET__INDEX__TEXT": "fts5", "WATERSMEET__INDEX__VECTORS": "false"}
    )
    with pytest.raises(IndexMismatch), open_for_writing(filling.index, other):
        pass
    with filling.index.snapshot() as snapshot:
        assert len(snapshot.records(ANY)) == 3


def test_begun_anew_it_is_empty_its_rows_go_on_and_the_tiers_are_noted(local) -> None:
    filling = local(*GIVEN)
    filling.embed(STATIC, vectors(GIVEN))
    with filling.index.snapshot() as snapshot:
        last, text = snapshot.last_row(), snapshot.generation
    with open_for_writing(filling.index, filling._settings, recreate=True) as work:
        assert work.catalogue.counts() == (0, 0)
        assert work.catalogue.reserve(1) > last
        meta = work.catalogue.meta()
        assert json.loads(meta[TIERS_BEFORE_REBUILD]) == ["static"]
        assert meta["text_folder"] != text
    assert (Path(filling.index.place) / text).exists()  # a query of this moment may still read it


def test_stores_of_before_are_swept_once_no_query_can_read_them(local) -> None:
    filling = local(*GIVEN)
    old = Path(filling.index.place) / "text-77"
    old.mkdir()
    with open_for_writing(filling.index, filling._settings):
        assert old.exists()
    past = time.time() - 100_000
    os.utime(old, (past, past))
    with open_for_writing(filling.index, filling._settings):
        assert not old.exists()


def test_a_damaged_catalogue_is_refused_and_made_again_if_that_is_wanted(local) -> None:
    filling = local(*GIVEN)
    filling.index.close()
    (Path(filling.index.place) / "catalogue.db").write_bytes(b"garbage " * 2000)
    with pytest.raises(IndexDamaged) as error, open_for_writing(filling.index, filling._settings):
        pass
    assert "--recreate" in error.value.hint
    with open_for_writing(filling.index, filling._settings, recreate=True) as work:
        assert work.catalogue.counts() == (0, 0)


def test_nothing_is_begun_anew_that_could_not_be_read_again(local, tmp_path: Path) -> None:
    filling = local(*GIVEN)
    with open_for_writing(filling.index, filling._settings) as work:
        work.catalogue.add_root(str(tmp_path / "gone"), "gone", work.catalogue.collection("main"), "")
    with pytest.raises(SourceProblem, match="gone"), open_for_writing(filling.index, filling._settings, recreate=True):
        pass
    with filling.index.snapshot() as snapshot:
        assert len(snapshot.records(ANY)) == 3


def test_something_is_noted_while_nobody_else_writes(local) -> None:
    place = local(*GIVEN).index.place
    with bookkeeping(place, 1) as catalogue:
        catalogue.set_meta({"noted": "yes"})
    with bookkeeping(place, 1) as catalogue:
        assert catalogue.meta()["noted"] == "yes"
    with writer_lock(place, 0), pytest.raises(IndexBusy), bookkeeping(place, 0):
        pass
