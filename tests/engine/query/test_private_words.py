"""The words of private rows: found by those who may see them, counted for nobody else, moved when that changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from registries import opened
from watersmeet import Engine
from watersmeet.core.entities import Entity
from watersmeet.core.model import Request
from watersmeet.core.visibility import EVERYONE, OWNER, Viewer
from watersmeet.engine.settings.settings import load
from watersmeet.store.local._private_words import PUBLIC_TEXT
from watersmeet.store.local.catalogue import Catalogue

pytestmark = pytest.mark.slow

ANN = Viewer("ann")
OPEN = [
    Entity("skill", f"/open{n}", f"Harbour {n}", "Tides and boats of the harbour " * (1 + n % 3)) for n in range(12)
]


def secret(number: int = 0, **more: Any) -> Entity:
    said: dict[str, Any] = {"description": "Layoffs in the harbour", "visibility": "private", "owner": "ann", **more}
    return Entity("skill", f"/secret{number}", "Severance", **said)


@pytest.fixture(params=["tantivy", "fts5"])
def filled(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    environ = {"WATERSMEET__INDEX__VECTORS": "false", "WATERSMEET__INDEX__TEXT": request.param}
    with Engine(tmp_path / "index", load(start=str(tmp_path), environ=environ)) as engine:
        engine.registry.put(*OPEN, secret(), secret(1))
        yield engine


def words(engine: Engine, viewer: Viewer | None, text: str = "severance") -> tuple[int, int]:
    """How many rows there are for a viewer, and how many of them have a word."""
    with engine.snapshot() as snapshot:
        found = engine.visible_index(snapshot, viewer).words
        assert found is not None
        return found.size, found.frequency("body", text)


def documents(engine: Engine, query: str, viewer: Viewer | None) -> list[str]:
    return [result.document for result in engine.search(Request(query, viewer=viewer, mode="lexical")).results]


def facts(engine: Engine) -> dict[str, str]:
    with engine.snapshot() as snapshot:
        return snapshot.facts()


def test_everyone_counts_what_they_see(filled: Engine) -> None:
    assert words(filled, EVERYONE) == (12, 0)
    assert words(filled, ANN) == words(filled, OWNER) == words(filled, None) == (14, 2)
    assert words(filled, EVERYONE, "harbour") == (12, 12)
    assert words(filled, ANN, "harbour") == (14, 14)


def test_private_rows_are_found_by_those_who_see_them(filled: Engine) -> None:
    assert documents(filled, "severance layoffs", EVERYONE) == []
    for viewer in (ANN, OWNER, None):
        assert documents(filled, "severance layoffs", viewer) == ["/secret0", "/secret1"]
        assert documents(filled, "Layoff harbours", viewer)[:2] == ["/secret0", "/secret1"]
        assert len(documents(filled, "harbour", viewer)) == 10
    assert filled.registry.search("severance").to_json()["skills"][0]["path"] == "/secret0"


def test_what_is_public_weighs_as_much_as_what_is_not(engine: Engine, tmp_path: Path) -> None:
    """Two that say the same are side by side, wherever their words are kept."""
    said = {"name": "Pilot", "description": "Boats and tides by night"}
    twins = [Entity("skill", "/a", **said), Entity("skill", "/b", visibility="private", owner="ann", **said)]
    engine.registry.put(*OPEN, *twins)
    results = engine.search(Request("pilot by night", viewer=ANN)).results
    assert {result.document for result in results[:2]} == {"/a", "/b"}
    assert results[1].evidence[0].score == results[0].evidence[0].score


def test_an_index_of_private_rows_alone(engine: Engine) -> None:
    engine.registry.put(secret(), secret(1), Entity("skill", "/c", "Tides", visibility="private", owner="ann"))
    assert documents(engine, "layoffs", ANN) == ["/secret0", "/secret1"]
    assert documents(engine, "layoffs", EVERYONE) == []
    assert all(check.ok for check in engine.doctor())


def test_what_becomes_private_leaves_no_word_behind(filled: Engine) -> None:
    filled.registry.put(secret(2, visibility="public"))
    assert words(filled, EVERYONE) == (13, 1)
    folder = facts(filled)["text_folder"]
    filled.registry.put(secret(2))
    assert words(filled, EVERYONE) == (12, 0)
    assert words(filled, ANN) == (15, 3)
    assert facts(filled)["text_folder"] != folder
    assert facts(filled)[PUBLIC_TEXT] == facts(filled)["text_folder"]
    assert all(check.ok for check in filled.doctor())


def test_what_becomes_public_is_found_by_all(filled: Engine) -> None:
    filled.registry.put(secret(1, visibility="public"))
    assert words(filled, EVERYONE) == (13, 1)
    assert documents(filled, "layoffs", EVERYONE) == ["/secret1"]
    assert sorted(documents(filled, "layoffs", ANN)) == ["/secret0", "/secret1"]


def test_what_is_gone_is_gone(filled: Engine) -> None:
    filled.registry.put(secret(1, description="Nothing of the kind"))
    assert documents(filled, "layoffs", ANN) == ["/secret0"]
    filled.registry.unregister(["/secret0", "/secret1"])
    assert words(filled, None) == (12, 0)
    assert documents(filled, "layoffs", None) == []


def test_an_index_of_before_is_asked_said_and_mended(engine: Engine) -> None:
    """As an older version left it: private rows in the text store."""
    engine.registry.put(*OPEN, secret(visibility="public"))
    catalogue = Catalogue(engine.folder)
    with catalogue.transaction() as db:
        key = db.execute("SELECT id FROM documents WHERE name = '/secret0'").fetchone()[0]
        db.execute("UPDATE facets SET value = 'user:ann' WHERE key = '@audience' AND document = ?", (key,))
        db.execute(
            "UPDATE documents SET fields = json_set(fields, '$.\"@audience\"', json('[\"user:ann\"]'),"
            " '$.record.visibility', 'private', '$.record.owner', 'ann') WHERE id = ?",
            (key,),
        )
        db.execute("DELETE FROM meta WHERE key IN (?, 'check')", (PUBLIC_TEXT,))
        db.execute("UPDATE documents SET hash = substr(hash, 1, 16)")  # it had no sums
    catalogue.close()
    assert documents(engine, "layoffs", EVERYONE) == []
    assert documents(engine, "layoffs", ANN) == ["/secret0"]
    told = {check.name: check for check in engine.doctor()}["private words"]
    assert not told.ok
    assert "register" in told.hint
    engine.registry.put(Entity("skill", "/more", "More"))
    assert words(engine, EVERYONE, "layoffs") == (13, 0)
    assert documents(engine, "layoffs", EVERYONE) == []
    assert documents(engine, "layoffs", ANN) == ["/secret0"]
    assert all(check.ok for check in engine.doctor())


@pytest.mark.model
def test_related_terms_are_of_what_is_seen(tmp_path: Path) -> None:
    with opened(tmp_path) as engine:
        engine.registry.put(*OPEN, *(secret(n) for n in range(3)))
        for viewer in (EVERYONE, ANN, Viewer("eve", ("x",))):
            answer = engine.search(Request("dismissal", recipe="notes", mode="static", viewer=viewer))
            assert not {"severance", "layoffs"} & set(answer.expansion)
        assert {"severance", "layoffs"} & set(
            engine.search(Request("dismissal", recipe="notes", mode="static")).expansion
        )


@pytest.mark.model
def test_what_is_learnt_is_of_what_everyone_sees(tmp_path: Path) -> None:
    with opened(tmp_path) as engine:
        engine.registry.put(*OPEN, secret())
        lesson = engine.calibration.judge([("severance", {"/secret0": 1.0}), ("harbour 3", {"/open3": 1.0})])
        assert [query for query, _ in lesson.unusable] == ["severance"]
        assert lesson.learnt == 1


# ------------------------------------------------------------ small ones of the registry


def test_a_server_of_one_letter_is_found_by_its_words(engine: Engine) -> None:
    engine.registry.put(*OPEN, *(Entity("mcp_server", f"/lang/{name}", name, "A language") for name in ("R", "C")))
    for name in ("R", "C"):
        answer = engine.registry.search(name).to_json()
        assert answer["search_mode"] == "lexical-only"
        assert [server["path"] for server in answer["servers"]] == [f"/lang/{name}"]


@pytest.mark.model
def test_who_made_it_and_where_it_is_from_fit(tmp_path: Path) -> None:
    skills = [
        Entity("skill", f"/s{n}", f"Skill {n}", "Fills in forms", metadata={"registry_name": f"hubname{n}x"})
        for n in range(40)
    ]
    made = [
        Entity("virtual_server", f"/v{n}", f"All {n}", "Many tools", metadata={"created_by": f"{name}berg"})
        for n, name in enumerate(["anna", "kron", "lind", "rosen"] * 10)
        if n < 4
    ]
    with opened(tmp_path) as engine:
        engine.registry.put(*skills, *made)
        for query, path in (("hubname7x", "/s7"), ("kronberg", "/v1")):
            for mode in ("hybrid", "lexical"):
                found = engine.search(Request(query, mode=mode))
                assert found.results[0].document == path
                assert not found.no_good_match, (query, mode, found.confidence)
