"""Each signal has its own deadline: what stalls is named, and the others answer."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import pytest

from cluster_indexes import cluster_address, cluster_settings
from clusters import NOT_RUN, missing, postgres_socket, running
from stalling import Stalling
from watersmeet import Engine
from watersmeet.core.errors import DatabaseDown
from watersmeet.engine.settings.settings import Settings
from watersmeet.store.postgres.index import Postgres

pytestmark = [pytest.mark.server, pytest.mark.skipif(bool(missing()), reason=NOT_RUN)]
SECONDS = 1.5
OF = "WATERSMEET__STORE__POSTGRES__"


def settings_of(*nodes: str) -> Settings:
    return cluster_settings(
        {
            "WATERSMEET__INDEX__DENSE": "hashed",
            "WATERSMEET__INDEX__STATIC": "",
            f"{OF}QDRANT": json.dumps(list(nodes)),
            f"{OF}TIMEOUT": str(SECONDS),
        }
    )


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("vault")
    for n in range(6):
        (folder / f"{n}.md").write_text(f"# Page {n}\n\nThe otter and the badger, word{n}.\n")
    address = cluster_address("deadlines")
    with Engine(
        address, cluster_settings({"WATERSMEET__INDEX__DENSE": "hashed", "WATERSMEET__INDEX__STATIC": ""})
    ) as e:
        e.sync([folder])
        yield address
        assert isinstance(e.index, Postgres)
        e.index.drop()


@pytest.fixture
def stalling() -> Iterator[Stalling]:
    with Stalling(running().qdrant.port) as server:
        yield server


@pytest.mark.parametrize(
    ("part", "stalled", "other"), [(b"-words", "lexical", "dense"), (b"-vectors", "dense", "lexical")]
)
def test_a_collection_that_stalls_is_a_failure_of_its_signal_alone(
    part: bytes, stalled: str, other: str, place: str, stalling: Stalling
) -> None:
    with Engine(place, settings_of(stalling.url)) as engine:
        assert engine.search("otter word3").failures == ()
        stalling.on = part
        start = time.perf_counter()
        answer = engine.search("badger word4")
        took = time.perf_counter() - start
        assert stalled in {failure.by for failure in answer.failures}
        assert other not in {failure.by for failure in answer.failures}
        for failure in answer.failures:
            assert (failure.by, bool(failure.hint), "Qdrant" in failure.reason) == (failure.by, True, True)
        assert len(answer.results) == 6
        assert took < 4 * SECONDS, [took, answer.failures]
        stalling.on = b""
        assert engine.search("badger word5").failures == ()


def test_what_a_node_does_not_answer_is_asked_of_another(place: str, stalling: Stalling) -> None:
    with Engine(place, settings_of(stalling.url, running().qdrant.url)) as engine:
        stalling.on = b"-words"
        for query in ("otter word1", "badger word2", "word3"):
            answer = engine.search(query)
            assert answer.failures == ()
            assert answer.results
        assert stalling.stalled >= 1


def test_a_postgresql_that_says_nothing_is_an_error_in_time(place: str) -> None:
    with Stalling(postgres_socket()) as server:
        direct = place.partition("index=")[2]
        through = f"postgresql://postgres@127.0.0.1:{server.port}/postgres?sslmode=disable&index={direct}"
        with Engine(through, settings_of(running().qdrant.url)) as engine:
            assert engine.search("otter").failures == ()
            server.silent = True
            start = time.perf_counter()
            with pytest.raises(DatabaseDown, match="does not answer") as raised:
                engine.search("badger")
            assert raised.value.hint
            assert time.perf_counter() - start < 4 * SECONDS
            server.silent = False
            assert engine.search("badger").failures == ()
