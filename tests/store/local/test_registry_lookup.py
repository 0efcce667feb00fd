from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from registries import opened
from watersmeet.core.entities import SERVER, SKILL, Entity, Tool
from watersmeet.store.local.catalogue import Catalogue
from watersmeet.store.local.registry_lookup import claimed, contents, last_row, spelled, tools_of


@pytest.fixture
def catalogue(tmp_path: Path, vault: Path) -> Iterator[Catalogue]:
    with opened(tmp_path, INDEX__VECTORS="false") as engine:
        engine.sync([vault])
        engine.registry.put(
            Entity(SERVER, "/Tides", "Tides", "When", tools=(Tool("next"), Tool("last"))),
            Entity(SERVER, "/Tides2", "More", "Where", tools=(Tool("next"),)),
            Entity(SKILL, "/s", "S", "What"),
        )
    with closing(Catalogue(str(tmp_path / "index"))) as made:
        yield made


@pytest.mark.parametrize(
    ("path", "found"),
    [("/Tides", "/Tides"), ("/tides", "/Tides"), ("Tides", ""), ("/none", ""), ("index.md", ""), ("\ud800", "")],
)
def test_however_a_path_is_written(catalogue: Catalogue, path: str, found: str) -> None:
    assert spelled(catalogue, path) == found


def test_who_has_an_id(catalogue: Catalogue) -> None:
    assert claimed(catalogue, "/Tides") is False
    assert claimed(catalogue, "/Tides#next") is True
    assert claimed(catalogue, "index.md") == "document"
    assert claimed(catalogue, "/none") is claimed(catalogue, "\ud800") is None


def test_tools_are_those_of_this_entity_and_of_no_other(catalogue: Catalogue) -> None:
    assert sorted(tools_of(catalogue, "/Tides")) == ["/Tides#last", "/Tides#next"]
    assert tools_of(catalogue, "/s") == tools_of(catalogue, "/Tides#next") == []


def test_what_entities_say_is_told_apart(catalogue: Catalogue) -> None:
    found = contents(catalogue)
    assert list(found) == sorted(found)
    assert {"/Tides", "/Tides2", "/s"} <= set(found)
    assert len(set(found.values())) == len(found)


def test_the_highest_row_and_none_of_an_empty_catalogue(catalogue: Catalogue, tmp_path: Path) -> None:
    assert last_row(catalogue) == catalogue.db.execute("SELECT max(row) FROM chunks").fetchone()[0] > 0
    with closing(Catalogue(str(tmp_path / "empty"))) as empty:
        assert last_row(empty) == 0
