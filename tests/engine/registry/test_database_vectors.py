"""Vectors in MongoDB for the recipe `registry`: the same entities in the same order as with those of the index."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import registries
from watersmeet import Engine
from watersmeet.core.entities import Entity
from watersmeet.core.visibility import EVERYONE, Viewer
from watersmeet.engine.registry.requests import EntityRequest
from watersmeet.engine.registry.shared_records import close_shared, shared_records
from watersmeet.engine.settings.settings import load

QUERIES = ("search development issues", "fill in forms", "github", "code documentation", "travel", "pdf of ops")
BOOK = Entity(
    "skill",
    "/skills/book",
    "Booking",
    "Reserve a seat",
    body="How to search development issues in code documentation.",
    examples=("travel to the sea",),
)
"""What only the index has vectors of counts as well: bodies and examples."""
VIEWERS = (None, EVERYONE, Viewer(user="ann"), Viewer(groups=frozenset({"ops"})))


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    close_shared()


def opened(folder: Path, uri: str, database: str, **more: Any) -> Engine:
    mongodb = {"uri": uri, "database": database, "timeout": 2.0, "write_through": True, **more}
    flags = {"index": {"dense": "hashed"}, "registry": {"records": "mongodb"}, "records": {"mongodb": mongodb}}
    return Engine(folder / "index", load(start=str(folder), environ={}, flags=flags))


def answers(engine: Engine) -> list[Any]:
    """Groups of every query for every viewer, without how long it took and what failed."""
    found = []
    for query in QUERIES:
        for viewer in VIEWERS:
            for more in ({}, {"include_deprecated": True, "include_disabled": True}, {"tags": ("development",)}):
                request = EntityRequest(query, recipe="registry", mode="hybrid", viewer=viewer, **more)
                answer = engine.registry.search(request).to_json()
                found.append({key: answer[key] for key in (*registries.GROUPS, "search_mode")})
    return found


@pytest.mark.server
def test_the_database_ranks_as_the_index_does(tmp_path: Path, mongodb: str, database: str) -> None:
    with opened(tmp_path, mongodb, database) as engine:
        engine.registry.put(*registries.ENTITIES, BOOK)
        wanted = answers(engine)
        assert any(found["agents"] for found in wanted)
    with opened(tmp_path, mongodb, database, vector_search="cosine") as engine:
        assert answers(engine) == wanted
        vectors = _vectors(engine)
        assert vectors._cached, "the vectors of the database were read"
        assert engine.registry.search(EntityRequest("github", recipe="registry")).failures == ()
    with opened(tmp_path, mongodb, database, vector_search="documentdb") as engine:
        assert answers(engine) == wanted
        (failure,) = engine.registry.search(EntityRequest("github", recipe="registry")).failures
        assert "refuses $search.vectorSearch" in failure.reason
        assert engine.registry.search(EntityRequest("github", recipe="default")).failures == ()


@pytest.mark.server
def test_the_vectors_of_the_database_decide_the_order(tmp_path: Path, mongodb: str, database: str) -> None:
    """So that the test before says something: with other vectors there, the order is another one."""
    with opened(tmp_path, mongodb, database, vector_search="cosine") as engine:
        engine.registry.put(*registries.ENTITIES, BOOK)
        before = answers(engine)
        collection = shared_records(engine.settings)._connection.collection(_vectors(engine).name)  # type: ignore[union-attr]
        for number, found in enumerate(list(collection.find({}, {"embedding": 1}))):
            turned = found["embedding"][number + 1 :] + found["embedding"][: number + 1]
            collection.update_one({"_id": found["_id"]}, {"$set": {"embedding": turned, "watersmeet.digest": "other"}})
        _vectors(engine)._fresh_until = 0.0
        assert answers(engine) != before


@pytest.mark.server
def test_a_database_that_is_down_leaves_the_vectors_of_the_index(
    tmp_path: Path, mongodb: str, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path, mongodb, database) as engine:
        engine.registry.put(*registries.ENTITIES, BOOK)
        wanted = answers(engine)
    from watersmeet.store.mongodb import vectors

    monkeypatch.setattr(vectors, "SEARCH_SECONDS", 0.1)
    with opened(tmp_path, "mongodb://127.0.0.1:1", database, vector_search="cosine", timeout=0.2) as engine:
        assert answers(engine) == wanted
        (failure,) = engine.registry.search(EntityRequest("github", recipe="registry")).failures
        assert "the vectors of the index are used" in failure.reason


def _vectors(engine: Engine) -> Any:
    shared = shared_records(engine.settings)
    assert shared is not None
    with engine.snapshot() as snapshot:
        return shared.searched(snapshot.tiers()["dense"].dimension)
