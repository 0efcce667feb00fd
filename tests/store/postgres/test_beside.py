"""A generation in a cluster is built beside the one that answers, and the one before can be taken back."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.generations import failures_while_rolling_back

from cluster_indexes import cluster_address, cluster_environment, cluster_settings
from clusters import NOT_RUN, missing
from watersmeet import Engine
from watersmeet.core.errors import IndexBusy, IndexProblem, NotFound
from watersmeet.core.visibility import EVERYONE, Viewer
from watersmeet.engine.index.generations import can_be_beside, recreate, roll_back
from watersmeet.engine.settings.settings import Settings
from watersmeet.face.cli.main import run
from watersmeet.store.postgres import beside
from watersmeet.store.postgres.index import Postgres

pytestmark = [pytest.mark.server, pytest.mark.skipif(bool(missing()), reason=NOT_RUN)]
ENTITY = {"kind": "mcp_server", "path": "/clock", "name": "clock", "description": "Tells the time"}
DENSE = {"WATERSMEET__INDEX__DENSE": "hashed", "WATERSMEET__INDEX__STATIC": ""}


def _settings(**more: str) -> Settings:
    return cluster_settings({**DENSE, **more})


@pytest.fixture
def place(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[str]:
    """An index of eight pages and an entity."""
    (tmp_path / "vault").mkdir()
    for n in range(8):
        (tmp_path / "vault" / f"{n}.md").write_text(f"# Page {n}\n\nThe otter and the badger, word{n}.\n")
    address = cluster_address(f"beside_{abs(hash(request.node.name)) % 10**8}")
    with Engine(address, _settings()) as engine:
        engine.registry.register([ENTITY])
        engine.sync([tmp_path / "vault"], collection="notes")
        engine.calibration.judge([("otter", {"3.md": 1.0})])
        yield address
        assert isinstance(engine.index, Postgres)
        engine.index.drop()


def _ids(engine: Engine) -> set[str]:
    return {one["document"] for one in engine.documents()}


def _once(work: Callable[[], object]) -> Callable[[object], None]:
    """What somebody else does while a generation is built."""
    done: list[object] = []
    return lambda _: None if done else done.append(work())


def test_another_model_is_used_once_its_vectors_are_complete_and_can_be_taken_back(place: str, tmp_path: Path) -> None:
    other = _settings(WATERSMEET__EMBED__HASHED__DIMENSION="64")
    with Engine(place, _settings()) as old, Engine(place, other) as new:
        before = old.search("otter", mode="dense", top_n=5)
        assert new.search("otter", top_n=5).failures  # it is made by another model
        seen: list[bool] = []

        def progress(_: object) -> None:
            answer = old.search("otter", mode="dense", top_n=5)
            seen.append(not answer.failures and [r.id for r in answer.results] == [r.id for r in before.results])

        ids, learned = _ids(old), old.calibration.show()
        assert recreate(new, progress=progress).added == 8
        assert seen
        assert all(seen)  # the old one answered all the time
        assert not new.search("otter", mode="dense", top_n=5).failures
        assert (_ids(new), new.calibration.show()) == (ids, learned)
        assert [one for one in new.doctor() if not one.ok] == []
        new.calibration.judge([("badger", {"4.md": 1.0})])
        (tmp_path / "vault" / "new.md").write_text("# New\n\nA walrus.\n")
        assert new.sync().added == 1
        roll_back(old)
        again = old.search("otter", mode="dense", top_n=5)
        assert [(r.id, r.score) for r in again.results] == [(r.id, r.score) for r in before.results]
        assert old.calibration.show() == learned
        assert old.sync().added == 1  # it is brought up to date like any index
        roll_back(old)
        assert new.calibration.show() != learned
        assert not new.search("walrus", mode="lexical").failures
        assert new.index.forget_previous() > 0  # type: ignore[attr-defined]
        with pytest.raises(NotFound, match="no previous"):
            roll_back(new)


def test_what_others_write_meanwhile_is_in_the_new_one_and_in_the_one_taken_back(place: str) -> None:
    """What is registered, and who may see what, is as it was last said."""
    with Engine(place, _settings()) as engine, Engine(place, _settings()) as other:

        def write() -> None:
            other.registry.register([{**ENTITY, "path": "/late", "name": "late"}])
            other.registry.unregister("/clock")
            other.set_audience("notes", "group:staff")

        recreate(engine, progress=_once(write))
        assert _ids(engine) >= {"/late", "3.md"}
        assert "/clock" not in _ids(engine)
        for viewer, seen in ((EVERYONE, 0), (Viewer(groups=("staff",)), 8)):
            assert len(engine.search("otter", mode="lexical", viewer=viewer).results) == seen
        other.set_audience("notes", "private")
        other.registry.register([{**ENTITY, "path": "/later", "name": "later"}])
        roll_back(engine)
        assert not engine.search("otter", mode="lexical", viewer=Viewer(groups=("staff",))).results
        assert {"/later", "/late"} <= _ids(engine)
        assert "/clock" not in _ids(engine)
        assert engine.registry.get("/later") is not None


def test_a_writer_leaves_a_build_alone_that_has_just_begun(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    original = beside.make_generation
    with Engine(place, _settings()) as engine, Engine(place, _settings()) as other:

        def make(*of: Any, **named: Any) -> int:
            number = original(*of, **named)
            other.sync(now=True)  # a writer drops what is left over
            return number

        monkeypatch.setattr(beside, "make_generation", make)
        assert recreate(engine).added == len(_ids(engine)) - 1


def test_a_folder_that_was_restricted_since_stays_so(place: str, tmp_path: Path) -> None:
    (tmp_path / "plans").mkdir()
    (tmp_path / "plans" / "p.md").write_text("# Plan\n\nA walrus.\n")
    with Engine(place, _settings()) as engine:
        engine.sync([tmp_path / "plans"], collection="plans")
        recreate(engine)
        engine.sync([tmp_path / "plans"], collection="hidden", audience="group:staff")
        roll_back(engine)
        for viewer, seen in ((EVERYONE, 0), (Viewer(groups=("staff",)), 1)):
            assert len(engine.search("walrus", mode="lexical", viewer=viewer).results) == seen


def test_a_build_that_fails_leaves_the_old_one_and_nothing_else(place: str, tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "x.md").write_text("# X\n")
    broken = _settings(WATERSMEET__INDEX__DENSE="onnx", WATERSMEET__EMBED__ONNX__MODEL=str(tmp_path / "none"))
    with Engine(place, broken) as engine, pytest.raises(IndexProblem, match="the old one stays"):
        recreate(engine)
    with Engine(place, _settings()) as engine:
        with pytest.raises(IndexBusy, match="added or removed"):
            recreate(engine, progress=_once(lambda: engine.sync([tmp_path / "more"])))
        assert _ids(engine) >= {"more/x.md", "3.md", "/clock"}
        index = engine.index
        assert isinstance(index, Postgres)
        with index.lasting.connection() as db:
            sql = "SELECT count(*) FROM pg_namespace WHERE starts_with(nspname, %s)"
            assert db.execute(sql, [f"wm_{index._o.name}__"]).fetchall() == [(1,)]
        points = [name for name in index._o.qdrant.names() if name.startswith(f"wm-{index._o.name}-")]
        assert {name.split("-")[2] for name in points} == {"1"}


def test_a_build_is_kept_while_it_goes_on_and_dropped_once_nobody_is_at_it(place: str) -> None:
    with Engine(place, _settings()) as engine:
        index = engine.index
        assert isinstance(index, Postgres)
        with index.next_generation() as building, Engine(building.place, engine.settings) as new:
            with Engine(place, _settings()) as other:
                other.sync(now=True)  # a writer drops what is left over
                with pytest.raises(IndexBusy, match="is building"), other.index.next_generation():  # type: ignore[attr-defined]
                    pass
            assert (new.status()["documents"], new.folder[-2:]) == (0, "=2")
            assert not can_be_beside(new)
            with pytest.raises(IndexProblem, match="is one generation"):
                roll_back(new)
            with index.lasting.connection() as db:
                db.execute("UPDATE leases SET expires = clock_timestamp() WHERE name = 'beside'")
            engine.sync(now=True)
            assert not new.index.exists()


def test_no_query_fails_while_generations_change_places(place: str) -> None:
    with Engine(place, _settings()) as engine, Engine(place, _settings()) as other:
        recreate(other)
        wrong, answers = failures_while_rolling_back(engine, other, times=8, pause=0.05)
        assert (wrong, answers > 10) == ({}, True)


def test_the_commands(place: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {**cluster_environment(), **DENSE}.items():
        monkeypatch.setenv(name, value)
    index = ["--index", place]
    assert run(["sync", "--recreate", *index]) == 0
    assert "watersmeet rollback" in capsys.readouterr().out
    assert run(["rollback", "--json", *index]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert (printed["documents"], printed["previous"].endswith("&generation=2")) == (9, True)
    assert run(["rollback", "--forget", "--json", *index]) == 0
    assert json.loads(capsys.readouterr().out)["freed_bytes"] > 0
    assert run(["rollback", *index]) == 1
    assert "no previous generation" in capsys.readouterr().err
