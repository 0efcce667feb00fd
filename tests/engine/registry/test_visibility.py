"""What is not for a viewer is not there: not found, not listed, not counted, not hinted at, in any mode."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from watersmeet import Engine
from watersmeet.core.entities import Entity, Tool
from watersmeet.core.errors import NotFound
from watersmeet.core.model import Condition, Request
from watersmeet.core.visibility import EVERYONE, OWNER, STATUSES, Viewer, gates
from watersmeet.engine.settings.settings import load

MODES = ("", "lexical", "exact", "static", "sparse", "hybrid")
PUBLIC = Entity("mcp_server", "/open", "Heron", "Tides for all", tools=(Tool("tide", "Heron tides"),))
PRIVATE = Entity(
    "mcp_server",
    "/hidden",
    "Heron hidden",
    "Secret tides",
    ("heronry",),
    (Tool("dredge", "Heron secret"),),
    visibility="private",
    owner="ada",
    metadata={"vault": "deep"},
)
GROUP = Entity("skill", "/staff", "Heron staff", "Tides for staff", visibility="group", groups=("staff",))
NOTE = "---\nenabled: false\naudience: nobody\nlifecycle: draft\nstatus: draft\n---\n# Heron note\n\nSee [[hidden]].\n"
FOR = {
    "everyone": (EVERYONE, {"/open", "/open#tide", "note.md"}),
    "ada": (Viewer("ada"), {"/open", "/open#tide", "note.md", "/hidden", "/hidden#dredge"}),
    "staff": (Viewer("bob", ("staff",)), {"/open", "/open#tide", "note.md", "/staff"}),
    "owner": (OWNER, {"/open", "/open#tide", "note.md", "/hidden", "/hidden#dredge", "/staff"}),
    "none": (None, {"/open", "/open#tide", "note.md", "/hidden", "/hidden#dredge", "/staff"}),
}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """With quick vectors; tests only read."""
    folder = tmp_path_factory.mktemp("shared")
    (folder / "vault").mkdir()
    (folder / "vault/note.md").write_text(NOTE)
    environ = {"XDG_CONFIG_HOME": str(folder), "WATERSMEET__INDEX__DENSE": ""}
    with Engine(folder / "index", load(start=str(folder), environ=environ)) as engine:
        engine.sync([folder / "vault"], deepen=False)
        engine.registry.put(PUBLIC, PRIVATE, GROUP, deepen=False)
        engine.deepen(tiers=("sparse",))
        yield engine


@pytest.fixture(params=FOR)
def case(request: pytest.FixtureRequest) -> tuple[Viewer | None, set[str]]:
    return FOR[request.param]


Case = tuple[Viewer | None, set[str]]


@pytest.mark.model
@pytest.mark.parametrize("mode", MODES)
def test_search(shared: Engine, case: Case, mode: str) -> None:
    viewer, seen = case
    found = {r.document for r in shared.search(Request("heron tides", mode=mode, viewer=viewer)).results}
    assert found <= seen
    assert found == seen or mode == "exact"


def test_a_request_cannot_open_its_own_gate(shared: Engine) -> None:
    every = Condition(gates={"@audience": ("public", "user:ada", "group:staff")})
    found = {r.document for r in shared.search(Request("heron", viewer=EVERYONE, condition=every)).results}
    assert found == FOR["everyone"][1]


def test_lists_and_counts(shared: Engine, case: Case) -> None:
    viewer, seen = case
    assert {d["document"] for d in shared.documents(viewer)} == seen
    status = shared.status(viewer)
    assert (status["documents"], sum(status["kinds"].values())) == (len(seen), len(seen))
    assert status["collections"] == {"default": 1, "registry": len(seen) - 1}
    assert status["kinds"].get("skill", 0) == ("/staff" in seen)
    texts = sum(len(passage.text.encode()) for name in seen for passage in shared.passages(name))
    limited = viewer is not None and not viewer.all
    assert status["size_bytes"] == texts if limited else status["size_bytes"] > 10 * texts


def test_one_by_one(shared: Engine, case: Case) -> None:
    viewer, seen = case
    for document in sorted(FOR["owner"][1]):
        chunks = [passage.id for passage in shared.passages(document)]
        assert bool(shared.passages(document, viewer)) is (document in seen)
        for identity in (document, *chunks):
            if document in seen:
                assert shared.get(identity, viewer)["document"] == document
            else:
                with pytest.raises(NotFound) as error:
                    shared.get(identity, viewer)
                with pytest.raises(NotFound) as other:
                    shared.get("no-such", viewer)
                assert str(error.value).replace(identity, "") == str(other.value).replace("no-such", "")
                assert "hidden" not in error.value.hint.replace(identity, "")
                assert "staff" not in error.value.hint.replace(identity, "")


def test_related(shared: Engine, case: Case) -> None:
    viewer, seen = case
    found = {result.document for result in shared.related("note.md", viewer=viewer).results}
    assert found == ({"/hidden"} & seen)


def test_why_not(shared: Engine, case: Case) -> None:
    viewer, seen = case
    said = shared.why_not(Request("heron", top_n=50, viewer=viewer), "/hidden")
    assert said.place == ("result" if "/hidden" in seen else "index")


def test_names_of_fields(shared: Engine) -> None:
    asking = Request("heron", viewer=EVERYONE, condition=Condition({"vault": ("deep",)}))
    assert "no document has the field 'vault'" in shared.unknown_fields(asking)[0]
    assert shared.unknown_fields(Request("heron", condition=asking.condition)) == []
    assert "@" not in str(shared.unknown_fields(Request("x", condition=Condition({"zzz": ("y",)}))))


def test_what_decides_who_sees_it_is_not_shown(shared: Engine) -> None:
    assert not any(key.startswith("@") for key in shared.get("/hidden")["fields"])


# ------------------------------------------------------------ lifecycle


@pytest.fixture
def lives(engine: Engine) -> Engine:
    for status in STATUSES:
        engine.registry.put(Entity("skill", f"/{status}", f"Heron {status}", status=status))
    engine.registry.put(Entity("skill", "/disabled", "Heron disabled", enabled=False))
    engine.registry.register([{"path": "/missing", "server_name": "Heron missing"}])
    return engine


@pytest.mark.slow
@pytest.mark.parametrize(
    ("flags", "more"),
    [
        ({}, set()),
        ({"include_deprecated": True}, {"/deprecated"}),
        ({"include_draft": True}, {"/draft"}),
        ({"include_disabled": True}, {"/disabled"}),
        (
            {"include_deprecated": True, "include_draft": True, "include_disabled": True},
            {"/deprecated", "/draft", "/disabled"},
        ),
    ],
)
@pytest.mark.parametrize("mode", ["lexical", ""])
def test_each_flag_adds_just_its_own(lives: Engine, flags: dict[str, bool], more: set[str], mode: str) -> None:
    request = Request("heron", mode=mode, condition=Condition(gates=gates(**flags)) if flags else Condition())
    found = {result.document for result in lives.search(request).results}
    assert found == {"/active", "/beta", "/missing"} | more


@pytest.mark.slow
def test_why_not_says_that_it_is_retired(lives: Engine) -> None:
    said = lives.why_not(Request("heron"), "/deprecated")
    assert (said.place, said.reason) == ("condition", "it is deprecated, a draft or disabled")


def test_what_is_retired_can_still_be_looked_at(lives: Engine) -> None:
    assert lives.get("/deprecated")["title"] == "Heron deprecated"
    assert len(lives.documents()) == 6


@pytest.mark.slow
def test_an_empty_query_still_finds_nothing(lives: Engine) -> None:
    assert lives.search(" ").results == ()


def test_without_a_registry_no_gate_is_held(engine: Engine, vault: Path) -> None:
    engine.sync([vault])
    asked: list[Any] = []
    with engine.snapshot() as snapshot:
        asked.append(snapshot.needed(gates(EVERYONE)))
    assert asked == [{}]
