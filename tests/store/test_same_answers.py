"""One corpus in three stores: the same answers, and from the one that is far away within four round trips.

`benchmarks/same_answers.py` does the same with three dev sets of thousands of chunks.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import pytest

from cluster_indexes import cluster_environment, cluster_index
from clusters import NOT_RUN, missing
from copied import copied
from memory_filling import MemoryFilling
from trips import Trips, depth
from watersmeet import Engine
from watersmeet.core.index import Index
from watersmeet.core.model import Condition, Request
from watersmeet.core.visibility import EVERYONE
from watersmeet.engine.settings.settings import Settings, load
from watersmeet.store.postgres import search

pytestmark = [pytest.mark.server, pytest.mark.skipif(bool(missing()), reason=NOT_RUN)]
EXAMPLES = Path(__file__).parents[2] / "examples"
IDENTIFIER = "TRN-1042"
QUERIES = (
    "how do I rotate the signing keys?",
    "what happens when the disk is full",
    IDENTIFIER,
    "rotate_keys --no-telemetry",
    "install the server. Then open the port in the firewall of each machine.",
    "backup",
    "who is on call at night?",
    "error 7878 while syncing notes with the archive",
)
CONDITIONS = (
    Condition({"path": ("*.md",)}),
    Condition({"kind": ("document",)}, without=(("path", ("index.md",)),)),
    Condition({"tag": ("install", "operations")}, since=datetime(2024, 1, 1, tzinfo=UTC)),
)
MAX_ROUND_TRIPS = 4
"""Round trips that follow one another: the snapshot, the search, the rows, the scores that are filled in."""
DELAY, ATTEMPTS = 0.1, 3
"""Seconds added to each call, so that calls that are made at once overlap however busy the machine is: and where they
do not, for a thread was late, another attempt shows whether one waited for the other."""


class Stores(NamedTuple):
    settings: Settings
    local: str
    memory: Index
    cluster: str


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stores]:
    folder = tmp_path_factory.mktemp("stores")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        settings = load(start=str(folder), environ=cluster_environment() | {"WATERSMEET__INDEX__DENSE": "hashed"})
        with Engine(folder / "index", settings) as engine:
            engine.sync([EXAMPLES])
        content = copied(str(folder / "index"))
        memory = MemoryFilling()
        content.fill(memory)
        memory.commit(meta=content.facts)
        with cluster_index({"WATERSMEET__INDEX__DENSE": "hashed"}) as filling:
            content.fill(filling)
            filling.facts(content.facts)
            yield Stores(settings, str(folder / "index"), memory.index, filling.place)


def answers(engine: Engine, condition: Condition) -> list[list[tuple[str, float]]]:
    found = [engine.search(Request(query, condition=condition, viewer=EVERYONE)) for query in QUERIES]
    assert [answer.failures for answer in found] == [()] * len(found)
    assert {answer.mode for answer, query in zip(found, QUERIES, strict=True) if query != IDENTIFIER} == {"hybrid"}
    return [[(result.id, result.score) for result in answer.results] for answer in found]


@pytest.mark.parametrize("condition", [Condition(), *CONDITIONS], ids=["everything", "glob", "without", "tag"])
def test_three_stores_give_the_same_answers(stores: Stores, condition: Condition) -> None:
    with Engine(stores.local, stores.settings) as engine:
        wanted = answers(engine, condition)
    assert sum(map(len, wanted)) > len(QUERIES)
    for index in (stores.memory, stores.cluster):
        with Engine(index, stores.settings) as engine:
            found = answers(engine, condition)
        for ours, theirs in zip(found, wanted, strict=True):
            assert [chunk for chunk, _ in ours] == [chunk for chunk, _ in theirs]
            assert [score for _, score in ours] == pytest.approx([score for _, score in theirs], abs=1e-4)


def test_an_answer_says_that_it_is_incomplete(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = Request("backup", top_n=1, condition=Condition({"path": ("*nowhere*",)}))
    few = {
        "WATERSMEET__INDEX__DENSE": "hashed",
        "WATERSMEET__PIPELINE__POOL": "5",
        "WATERSMEET__PIPELINE__POOL_TIMES": "1",
    }
    with Engine(stores.cluster, load(environ=cluster_environment() | few)) as engine:
        assert engine.search(nothing).failures == ()
        monkeypatch.setattr(search, "MAX_FETCHED", 1)
        answer = engine.search(nothing)
        assert answer.results == ()
        assert {failure.reason.partition(":")[0] for failure in answer.failures} == {"incomplete"}
        assert engine.search(Request("backup")).failures == ()  # of another query


def test_a_query_waits_for_four_answers_at_most(stores: Stores) -> None:
    for query in QUERIES:
        assert min(_depths(stores, query)) <= MAX_ROUND_TRIPS, query


def _depths(stores: Stores, query: str) -> Iterator[int]:
    """Of a query that is new to its process, in each attempt."""
    for _ in range(ATTEMPTS):
        trips = Trips()
        with trips.watched(), Engine(stores.cluster, stores.settings) as engine:
            engine.search(Request("something else"))  # statistics are read once, and models loaded
            trips.delay = DELAY
            with trips.counted() as made:
                engine.search(Request(query))
        assert {to for _, _, to in made} == {"postgres", "qdrant"}
        yield depth(made)
        if depth(made) <= MAX_ROUND_TRIPS:
            return
