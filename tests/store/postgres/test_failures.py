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
from serving import Served, served
from watersmeet import Engine
from watersmeet.core.errors import DatabaseDown, WatersmeetError
from watersmeet.core.index import Check
from watersmeet.core.model import DocId, Request
from watersmeet.core.writing import Changes
from watersmeet.engine.index.writer import open_for_writing
from watersmeet.engine.settings.settings import load
from watersmeet.face.cli.main import run
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


def test_a_server_says_which_part_is_down_and_is_ready_again_with_it(
    filling: EngineFilling, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a restart. A search without PostgreSQL is an error with a hint, over REST and from a shell."""
    for name, value in {**cluster_environment(), "WATERSMEET__INDEX__VECTORS": "false"}.items():
        monkeypatch.setenv(name, value)
    qdrant = running().qdrant
    with Engine(filling.index, load()) as engine, served(engine) as site:
        assert site.ask("/ready").status == 200
        qdrant.kill()
        try:
            assert down(site) == (503, ["Qdrant"])
            assert site.ask("/health").status == 200
        finally:
            qdrant.start()
        until_ready(site)
        with restart_postgres():
            assert down(site) == (503, ["index", "PostgreSQL"])
            asked = site.ask("/api/search", {"query": "pier"})
            assert asked.status == 503
            assert "does not answer" in asked.content.decode()
            assert "start it" in asked.json()["hint"]
            assert run(["search", "pier", "--index", filling.place]) == 2
            assert "hint: start it" in capsys.readouterr().err
        until_ready(site)
        assert site.ask("/api/search", {"query": "tern"}).json()["results"]


def down(site: Served) -> tuple[int, list[str]]:
    answer = site.ask("/ready")
    return answer.status, [one["name"] for one in answer.json()["checks"] if not one["ok"]]


def until_ready(site: Served) -> None:
    end = time.monotonic() + 60
    while site.ask("/ready").status != 200:
        assert time.monotonic() < end
        time.sleep(0.2)


def test_a_model_that_is_gone_is_named_and_searches_go_on(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# Terns\n\nA tern by the pier.\n")
    environ = {"WATERSMEET__INDEX__STATIC": "", "WATERSMEET__INDEX__DENSE": "hashed"}
    with cluster_index(environ) as filling, Engine(filling.index, cluster_settings(environ)) as engine:
        engine.sync([tmp_path])
        other = cluster_settings({**environ, "WATERSMEET__EMBED__HASHED__DIMENSION": "64"})
        with Engine(filling.index, other) as changed, served(changed) as site:
            assert down(site) == (200, ["dense model"])
            assert site.ask("/ready").json()["state"] == "degraded"
