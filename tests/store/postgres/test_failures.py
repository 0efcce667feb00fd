"""Servers that die and come back: what searches say meanwhile, and that nothing has to be restarted here."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from cluster_indexes import NO_VECTORS, cluster_environment, cluster_index, cluster_settings, points_of
from clusters import NOT_RUN, missing, restart_postgres, running
from engine_filling import EngineFilling
from serving import served
from watersmeet import Engine
from watersmeet.core.errors import DatabaseDown, WatersmeetError
from watersmeet.core.index import Check
from watersmeet.core.model import DocId, Request
from watersmeet.core.writing import Changes
from watersmeet.engine.index.writer import open_for_writing
from watersmeet.engine.settings.settings import load
from watersmeet.testing.contracts.corpus import page

pytestmark = [pytest.mark.server, pytest.mark.kill, pytest.mark.skipif(bool(missing()), reason=NOT_RUN)]


ROOT = Path(__file__).parents[3]


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


def test_postgresql_restarted_under_a_writer_holds_nobody_up(filling: EngineFilling) -> None:
    """The writer could not release its lease, which would last for half a minute."""
    settings = cluster_settings({**NO_VECTORS, "WATERSMEET__WRITER__LOCK_SECONDS": "15"})
    with ExitStack() as writing:
        opened = writing.enter_context(open_for_writing(filling.index, settings))
        with restart_postgres():
            with pytest.raises(DatabaseDown):
                opened.catalogue.commit(Changes(removed=[DocId("a.md")]))
            writing.close()
    other = EngineFilling(filling.place, settings)
    other.put([page("b.md", ((), "A gull."))])
    other.index.close()
    with filling.index.snapshot() as snapshot:
        assert [record.document for record in snapshot.records()] == ["a.md", "b.md"]
        assert [one.text for one in snapshot.passages_of(DocId("b.md"))] == ["A gull."]


def test_a_killed_writer_holds_nobody_up(filling: EngineFilling) -> None:
    """On one machine its lease is free at once, and the points of what it never committed are removed."""
    code = (
        "import sys; sys.path[:0] = ['tests/helpers', '.']\n"
        "from watersmeet.engine.index.location import open_index\n"
        "from watersmeet.engine.index.writer import open_for_writing\n"
        "from watersmeet.engine.settings.settings import load\n"
        "from tests.store.postgres.test_writing import put_of, page, Changes\n"
        "settings = load()\n"
        "with open_for_writing(open_index(sys.argv[1], settings), settings) as opened:\n"
        "    writer = opened.catalogue\n"
        "    writer._points(writer._versions(Changes(put=[put_of(page('k.md', ((), 'A tern that dies.')))])))\n"
        "    print('written', flush=True)\n"
        "    sys.stdin.read()\n"
    )
    environ = {**os.environ, **cluster_environment(), "WATERSMEET__INDEX__VECTORS": "false"}
    command = [sys.executable, "-c", code, filling.place]
    with subprocess.Popen(
        command, env=environ, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "written\n"
        assert points_of(filling.index) == 3
        writer.kill()
        writer.wait()
        filling.put([page("c.md", ((), "A gull."))])
    assert points_of(filling.index) == 3
    with filling.index.snapshot() as snapshot:
        assert [record.document for record in snapshot.records()] == ["a.md", "b.md", "c.md"]


def test_a_server_is_not_ready_without_qdrant_and_ready_again_with_it(filling: EngineFilling) -> None:
    qdrant = running().qdrant
    settings = load(environ={"WATERSMEET__INDEX__VECTORS": "false"})
    with Engine(filling.index, settings) as engine, served(engine) as site:
        assert site.ask("/ready").status == 200
        qdrant.kill()
        try:
            down = site.ask("/ready")
            assert down.status == 503
            assert [one["name"] for one in down.json()["checks"] if not one["ok"]] == ["Qdrant"]
            assert site.ask("/health").status == 200
        finally:
            qdrant.start()
        end = time.monotonic() + 60
        while site.ask("/ready").status != 200:
            assert time.monotonic() < end
            time.sleep(0.2)
