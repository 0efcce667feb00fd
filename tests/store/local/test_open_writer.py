from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from registries import opened
from watersmeet.core.entities import SKILL, Entity
from watersmeet.core.errors import IndexBusy, IndexDamaged, IndexMismatch, SourceProblem
from watersmeet.core.index import TIERS_BEFORE_REBUILD, WAITING_RECORDS
from watersmeet.core.model import ANY
from watersmeet.engine.index.writer import open_for_writing
from watersmeet.engine.settings.settings import load
from watersmeet.store.local._file_checks import mark, marked
from watersmeet.store.local._turns import writer_lock
from watersmeet.store.local.catalogue import Catalogue
from watersmeet.store.local.open_writer import bookkeeping, repair
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


# ---------------------------------------------------------------- repair


@pytest.fixture
def catalogue(tmp_path: Path, vault: Path) -> Iterator[Catalogue]:
    with opened(tmp_path, INDEX__VECTORS="false") as engine:
        engine.sync([vault])
        engine.registry.put(Entity(SKILL, "/s", "S", "About tides"))
    with closing(Catalogue(str(tmp_path / "index"))) as made:
        yield made


def damage(catalogue: Catalogue, document: str) -> None:
    with catalogue.transaction() as db:
        db.execute(
            "UPDATE chunks SET text = 'x' WHERE document = (SELECT id FROM documents WHERE name = ?)", (document,)
        )


def test_nothing_is_done_unless_damage_was_met(catalogue: Catalogue) -> None:
    damage(catalogue, "index.md")
    assert repair(catalogue, catalogue.meta()) == {}
    (root,) = catalogue.roots()
    assert all(state.stamp for state in catalogue.files(root.id).values())


def test_where_all_is_sound_only_the_mark_goes(catalogue: Catalogue) -> None:
    mark(catalogue.folder, "somebody said so")
    assert repair(catalogue, catalogue.meta()) == {}
    assert marked(catalogue.folder) == ""


def test_a_damaged_page_is_read_again_and_a_damaged_entity_put_again(catalogue: Catalogue) -> None:
    damage(catalogue, "index.md")
    damage(catalogue, "/s")
    mark(catalogue.folder, "a search met it")
    fresh = repair(catalogue, catalogue.meta())
    assert [found["path"] for found in json.loads(fresh[WAITING_RECORDS])] == ["/s"]
    assert catalogue.meta()[WAITING_RECORDS] == fresh[WAITING_RECORDS]
    (root,) = catalogue.roots()
    assert [name for name, state in catalogue.files(root.id).items() if not state.stamp] == ["index.md"]
    assert marked(catalogue.folder) == ""


def test_what_waits_to_be_put_again_is_not_forgotten(catalogue: Catalogue) -> None:
    mark(catalogue.folder, "somebody said so")
    waiting = [{"path": "/waiting", "kind": "skill"}]
    assert json.loads(repair(catalogue, {WAITING_RECORDS: json.dumps(waiting)})[WAITING_RECORDS]) == waiting


def test_an_index_of_the_tables_that_lost_rows_is_made_again(catalogue: Catalogue) -> None:
    (name,) = catalogue.db.execute(
        "SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = 'links' AND sql IS NOT NULL LIMIT 1"
    ).fetchone()
    rows = catalogue.db.execute("SELECT count(*) FROM links").fetchone()
    assert rows != (0,)
    catalogue.db.execute("PRAGMA writable_schema = ON")
    sql = catalogue.db.execute("SELECT sql FROM sqlite_master WHERE name = ?", (name,)).fetchone()[0]
    catalogue.db.execute("UPDATE sqlite_master SET sql = ? WHERE name = ?", (f"{sql} WHERE 0", name))
    catalogue.db.execute("PRAGMA writable_schema = RESET")
    catalogue.db.execute("REINDEX")  # without rows
    catalogue.db.execute("PRAGMA writable_schema = ON")
    catalogue.db.execute("UPDATE sqlite_master SET sql = ? WHERE name = ?", (sql, name))
    catalogue.db.execute("PRAGMA writable_schema = RESET")
    assert catalogue.db.execute("PRAGMA integrity_check(1)").fetchone() != ("ok",)
    mark(catalogue.folder, "a search met it")
    repair(catalogue, catalogue.meta())
    assert catalogue.db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
