from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from registries import opened
from watersmeet.core.entities import SKILL, Entity
from watersmeet.core.index import WAITING_RECORDS
from watersmeet.store.local._file_checks import mark, marked
from watersmeet.store.local.catalogue import Catalogue
from watersmeet.store.local.repair import heal


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
    assert heal(catalogue, catalogue.meta()) == {}
    (root,) = catalogue.roots()
    assert all(state.stamp for state in catalogue.files(root.id).values())


def test_where_all_is_sound_only_the_mark_goes(catalogue: Catalogue) -> None:
    mark(catalogue.folder, "somebody said so")
    assert heal(catalogue, catalogue.meta()) == {}
    assert marked(catalogue.folder) == ""


def test_a_damaged_page_is_read_again_and_a_damaged_entity_put_again(catalogue: Catalogue) -> None:
    damage(catalogue, "index.md")
    damage(catalogue, "/s")
    mark(catalogue.folder, "a search met it")
    fresh = heal(catalogue, catalogue.meta())
    assert [found["path"] for found in json.loads(fresh[WAITING_RECORDS])] == ["/s"]
    assert catalogue.meta()[WAITING_RECORDS] == fresh[WAITING_RECORDS]
    (root,) = catalogue.roots()
    assert [name for name, state in catalogue.files(root.id).items() if not state.stamp] == ["index.md"]
    assert marked(catalogue.folder) == ""


def test_what_waits_to_be_put_again_is_not_forgotten(catalogue: Catalogue) -> None:
    mark(catalogue.folder, "somebody said so")
    waiting = [{"path": "/waiting", "kind": "skill"}]
    assert json.loads(heal(catalogue, {WAITING_RECORDS: json.dumps(waiting)})[WAITING_RECORDS]) == waiting


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
    heal(catalogue, catalogue.meta())
    assert catalogue.db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
