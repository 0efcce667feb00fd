"""What `to_json` writes is read back as it was."""

from __future__ import annotations

import json
from typing import Any

import pytest

from watersmeet.client.decode import decoded
from watersmeet.core.entities import Refused
from watersmeet.core.errors import NoReply
from watersmeet.core.indexing import Skipped
from watersmeet.core.model import (
    Answer,
    ChunkId,
    DocId,
    Evidence,
    Failure,
    Operator,
    Respelling,
    Result,
    RouteMatch,
)
from watersmeet.core.place import Place
from watersmeet.engine.registry.register import Duplicate, Registered
from watersmeet.engine.sync.report import SyncReport
from watersmeet.face.search import SearchParams, SearchReply

PLACES = [
    Place(),
    Place((3, 9)),
    Place((3, 9), pages=(2, 4)),
    Place((1, 1), slides=(7, 7)),
    Place((1, 2), sheet="Budget 2026"),
    Place((5, 5), anchor="install"),
    Place(pages=(2, 2)),
]


def result(place: Place) -> Result:
    evidence = (Evidence("lexical", 1, 2.5, {"contribution": 0.5, "rank of": [1, 2]}), Evidence("dense", 2, 0.5))
    return Result(
        ChunkId("c1"), DocId("a.md"), "document", "A", ("A", "B"), "/a.md", place, "Text.", 1.0, 2.0, None, evidence
    )


def rendered(found: Answer) -> Any:
    """As a server sends it."""
    return json.loads(json.dumps(SearchReply(SearchParams("q", explain=True), found).to_json()))


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.where)
def test_results_with_their_places(place: Place) -> None:
    found = Answer("q", "hybrid", "default", (result(place),), (), 1.5)
    assert decoded(Answer, rendered(found)) == found


def test_all_of_an_answer() -> None:
    found = Answer(
        query="q",
        mode="hybrid",
        recipe="default",
        results=(),
        failures=(Failure("dense", "no model", "get one"),),
        took_ms=1.0,
        timings={"lexical": 1.0},
        silent={"sparse": "no vectors"},
        confidence=0.25,
        no_good_match=True,
        stale=3,
        spelling=(Respelling("metastasses", ("metastases",)), Respelling("logon", ("log", "on"), False)),
        expansion=("sign", "in"),
        routed=(
            RouteMatch(2, "django", {"sdk": ("python",)}, {"lexical": 2.0}, ()),
            RouteMatch(3, "x", {}, {}, ("a",)),
        ),
        operators=(Operator("phrase", "a b"), Operator("tag", "x", False, "no such tag")),
        confidence_words="nothing fits",
    )
    assert decoded(Answer, rendered(found)) == found


def test_reports() -> None:
    synced = SyncReport(added=2, skipped=[Skipped("a", "no")], fresh=["https://x.org"], left=1, took_ms=1.5, cached=3)
    assert decoded(SyncReport, synced.to_json()) == synced
    registered = Registered(1, 2, [Refused("a", "b")], [Duplicate("a", "b", "c")], [Refused("w", "x")], took_ms=2.0)
    assert decoded(Registered, registered.to_json()) == registered


@pytest.mark.parametrize(
    "changes",
    [
        {"mode": 3},
        {"results": None},
        {"results": [{}]},
        {"failures": [{"by": "x", "reason": None, "hint": ""}]},
        {"timings": {"lexical": "long"}},
        {"results": [{"where": "behind the sofa"}]},
    ],
)
def test_an_answer_of_another_kind_is_no_answer(changes: dict[str, Any]) -> None:
    found = rendered(Answer("q", "hybrid", "default", (result(Place()),), (), 1.0))
    if changes.get("results"):
        changes = {"results": [{**found["results"][0], **changes["results"][0]} if changes["results"][0] else {}]}
    with pytest.raises(NoReply, match="not a valid Answer") as caught:
        decoded(Answer, {**found, **changes})
    assert "same version" in caught.value.hint


def test_what_a_newer_server_adds_is_left_out() -> None:
    found = Answer("q", "hybrid", "default", (), (), 1.0)
    assert decoded(Answer, {**rendered(found), "new": {"a": 1}}) == found
