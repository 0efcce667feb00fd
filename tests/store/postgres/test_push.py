"""`watersmeet push`: a local index moves, goes on where it was interrupted, and is compared before it is named."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from cluster_indexes import cluster_address, cluster_environment, cluster_settings
from clusters import NOT_RUN, missing
from watersmeet import Engine
from watersmeet.core.errors import IndexProblem
from watersmeet.core.model import Request
from watersmeet.core.visibility import EVERYONE, Viewer
from watersmeet.engine.index.location import open_index
from watersmeet.engine.settings.settings import Settings
from watersmeet.engine.sync import push as pushing
from watersmeet.engine.sync.push import push
from watersmeet.face.cli.main import run
from watersmeet.store.postgres.index import Postgres

pytestmark = [pytest.mark.server, pytest.mark.skipif(bool(missing()), reason=NOT_RUN)]
EXAMPLES = Path(__file__).parents[3] / "examples"
SECRET = {"kind": "skill", "path": "/disks", "name": "Disks", "description": "What to do when a disk is full."} | {
    "visibility": "private",
    "owner": "ada",
}
QUERY = "what happens when the disk is full"


@pytest.fixture(scope="module")
def settings() -> Settings:
    return cluster_settings({"WATERSMEET__INDEX__DENSE": ""})


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory, settings: Settings) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("push")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        with Engine(folder / "index", settings) as engine:
            engine.sync([EXAMPLES / "handbook" / "operations"], collection="own", audience="owner:ada")
            engine.sync([EXAMPLES])
            engine.registry.register([SECRET])
            engine.deepen()
        yield str(folder / "index")


@pytest.fixture
def target(settings: Settings, request: pytest.FixtureRequest) -> Iterator[str]:
    place = cluster_address(f"push_{abs(hash(request.node.name)) % 10**8}")
    yield place
    index = open_index(place, settings)
    assert isinstance(index, Postgres)
    index.drop()
    index.close()


def silent(step: str, done: int, whole: int) -> None:
    """No progress."""


def answers(engine: Engine, viewer: Viewer = EVERYONE) -> list[str]:
    answer = engine.search(Request(QUERY, viewer=viewer))
    assert answer.failures == ()
    return [result.id for result in answer.results]


def test_an_index_is_moved_with_all_that_it_has(local: str, target: str, settings: Settings) -> None:
    with Engine(local, settings) as ours, Engine(target, settings) as theirs:
        report = push(ours, target, silent)
        assert report.same_answers.to_json() == {"order": 1.0, "sets": 1.0, "first": 1.0}
        assert (report.rows, report.resumed) == (ours.status()["chunks"], False)
        for viewer in (EVERYONE, Viewer("ada"), Viewer(all=True)):
            assert answers(theirs, viewer) == answers(ours, viewer)
        mine, other = (engine.status() for engine in (ours, theirs))
        for what in ("documents", "chunks", "kinds", "collections", "signals"):
            assert other[what] == mine[what]
        synced = theirs.sync()
        assert (synced.added, synced.changed, synced.removed) == (0, 0, 0)
        assert synced.unchanged == mine["documents"] - 1
        with theirs.snapshot() as snapshot:
            assert dict(snapshot.facts())["fingerprint"]


def test_an_interrupted_push_goes_on(
    local: str, target: str, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pushing, "BATCH_CHUNKS", 20)
    done = []

    def interrupted(step: str, rows: int, whole: int) -> None:
        done.append(rows)
        if len(done) == 2:
            raise KeyboardInterrupt

    with Engine(local, settings) as ours, Engine(target, settings) as theirs:
        with pytest.raises(KeyboardInterrupt):
            push(ours, target, interrupted)
        assert not theirs.index.exists()
        report = push(ours, target, silent)
        assert report.resumed
        assert report.documents < ours.status()["documents"]
        assert report.rows == ours.status()["chunks"]
        assert answers(theirs) == answers(ours)


def test_what_answers_differently_is_not_named(
    local: str, target: str, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Engine(local, settings) as ours, Engine(target, settings) as theirs:
        push(ours, target, silent)
        before = theirs.status()["index"], answers(theirs)
        monkeypatch.setattr(pushing, "_results", lambda engine, query: [str(id(engine))])
        with pytest.raises(IndexProblem, match="answers differently, so it was not named") as raised:
            push(ours, target, silent)
        assert raised.value.hint
        assert (theirs.status()["index"], answers(theirs)) == before


def test_no_query_fails_while_generations_switch(local: str, target: str, settings: Settings) -> None:
    stop = Event()

    def ask(_: int) -> set[tuple[str, ...]]:
        found = set()
        with Engine(target, settings) as engine:
            while not stop.is_set():
                found.add(tuple(answers(engine)))
        return found

    with Engine(local, settings) as ours:
        push(ours, target, silent)
        wanted = tuple(answers(ours))
        with ThreadPoolExecutor(2) as threads:
            asking = [threads.submit(ask, one) for one in range(2)]
            try:
                generations = {push(ours, target, silent).generation for _ in range(2)}
            finally:
                stop.set()
            assert len(generations) == 2
            assert [one.result() for one in asking] == [{wanted}] * 2


def test_the_command_prints_what_it_moved(
    local: str, target: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in cluster_environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("WATERSMEET__INDEX__DENSE", "")
    assert run(["push", "--to", target, "--index", local, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed.keys() >= {"rows", "generation", "same_answers", "took_ms"}
    assert printed["same_answers"] == {"order": 1.0, "sets": 1.0, "first": 1.0}
    assert run(["push", "--to", os.path.dirname(local), "--index", local]) == 2
    assert "is not the address of a store" in capsys.readouterr().err
