"""Servers that die and come back: what searches say meanwhile, and that nothing has to be restarted here."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from cluster_indexes import cluster_index
from clusters import NOT_RUN, Qdrant, missing, restart_postgres, running
from engine_filling import EngineFilling
from watersmeet import Engine
from watersmeet.core.errors import DatabaseDown, DatabaseProblem, WatersmeetError
from watersmeet.core.index import Check
from watersmeet.core.model import Request
from watersmeet.engine.settings.settings import load
from watersmeet.store.qdrant.nodes import Nodes
from watersmeet.testing.contracts.corpus import page

pytestmark = [pytest.mark.server, pytest.mark.kill, pytest.mark.skipif(bool(missing()), reason=NOT_RUN)]


@pytest.fixture
def filling() -> Iterator[EngineFilling]:
    with cluster_index() as made:
        made.put([page("a.md", ((), "A tern by the pier.")), page("b.md", ((), "An auk."))])
        yield made


def found(engine: Engine) -> tuple[list[str], set[str]]:
    answer = engine.search(Request("tern", mode="lexical"))
    return [result.document for result in answer.results], {failure.by for failure in answer.failures}


def servers(filling: EngineFilling) -> list[Check]:
    """What `/ready` asks."""
    return filling.index.servers()  # type: ignore[attr-defined] # of an index on servers


def eventually(engine: Engine, wanted: tuple[list[str], set[str]]) -> None:
    end = time.monotonic() + 60
    while True:
        try:
            last: object = found(engine)
        except WatersmeetError as error:
            last = error
        if last == wanted:
            return
        assert time.monotonic() < end, last
        time.sleep(0.1)


def test_a_dead_qdrant_is_a_named_failure_until_it_answers(filling: EngineFilling) -> None:
    qdrant = running().qdrant
    with Engine(filling.index, load(environ={"WATERSMEET__INDEX__VECTORS": "false"})) as engine:
        assert found(engine) == (["a.md"], set())
        assert [(one.name, one.ok) for one in servers(filling)] == [("PostgreSQL", True), ("Qdrant", True)]
        qdrant.kill()
        try:
            answer = engine.search(Request("pier"))
            assert {failure.by for failure in answer.failures} == {"lexical"}
            assert "Qdrant" in answer.failures[0].reason
            assert answer.failures[0].hint
            assert [check.name for check in filling.index.check() if not check.ok][:1] == ["text store"]
            assert [(one.name, one.ok) for one in servers(filling)] == [("PostgreSQL", True), ("Qdrant", False)]
        finally:
            qdrant.start()
        eventually(engine, (["a.md"], set()))


def test_a_dead_postgresql_is_an_error_until_it_answers(filling: EngineFilling) -> None:
    with Engine(filling.index, load(environ={"WATERSMEET__INDEX__VECTORS": "false"})) as engine:
        assert found(engine) == (["a.md"], set())
        with restart_postgres():
            with pytest.raises(DatabaseDown) as raised:
                engine.search(Request("pier"))
            assert raised.value.hint
            assert [check.name for check in filling.index.check() if not check.ok] == ["index"]
        eventually(engine, (["a.md"], set()))


def test_another_node_is_asked_and_the_dead_one_is_left_out() -> None:
    qdrant = running().qdrant
    nodes = Nodes(["http://127.0.0.1:1", qdrant.url], [0], "", 10.0, 10.0)
    try:
        for _ in range(6):
            assert nodes.call("GET", "/collections") is not None
        assert nodes.down() == ["127.0.0.1:1"]
        asked = [node.failures for node in nodes._nodes]
        assert asked == [1, 0]  # it was met once, not every second time
    finally:
        nodes.close()


def test_keys_are_sent_and_never_shown(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("key") / "qdrant"
    qdrant = Qdrant(folder, settings={"QDRANT__SERVICE__API_KEY": "sesame-77"})
    try:
        for key, refused in (("sesame-77", False), ("wrong-key-88", True)):
            nodes = Nodes([qdrant.url], [qdrant.grpc_port], key, 10.0, 10.0)
            if refused:
                with pytest.raises(WatersmeetError, match="refuses the key") as raised:
                    nodes.call("GET", "/collections")
                assert key not in str(raised.value)
                with pytest.raises(WatersmeetError, match="refuses the key"):
                    nodes.put(b"")
            else:
                assert nodes.call("GET", "/collections") == {"collections": []}
                with pytest.raises(DatabaseProblem, match="Qdrant"):  # an empty message names no collection
                    nodes.put(b"")
            nodes.close()
    finally:
        qdrant.stop()
