"""A new generation is built beside the old one, which answers until it is complete, and can be taken back."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.helpers.generations import failures_while_rolling_back

from watersmeet import Engine
from watersmeet.core.errors import IndexBusy, IndexProblem, NotFound
from watersmeet.core.visibility import EVERYONE, Viewer
from watersmeet.engine.index.generations import can_be_beside, recreate, roll_back
from watersmeet.engine.settings.settings import Settings, load
from watersmeet.face.cli.main import run

pytestmark = pytest.mark.slow

ENTITY = {"kind": "mcp_server", "path": "/clock", "name": "clock", "description": "Tells the time"}


def _settings(folder: Path, **more: str) -> Settings:
    return load(start=str(folder), environ={"WATERSMEET__INDEX__DENSE": "hashed", **more})


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with twenty pages, an entity and an index."""
    vault = tmp_path / "vault"
    vault.mkdir()
    for n in range(20):
        (vault / f"{n}.md").write_text(f"# Page {n}\n\nThe otter and the badger, word{n}.\n\n## More\n\nRiver {n}.\n")
    with Engine(tmp_path / "index", _settings(tmp_path)) as engine:
        engine.registry.register([ENTITY])
        engine.sync([vault], collection="notes")
        engine.calibration.judge([("otter", {"3.md": 1.0})])
    return tmp_path


def _ids(engine: Engine) -> set[str]:
    return {one["document"] for one in engine.documents()}


def test_another_model_is_used_once_its_vectors_are_complete_and_can_be_taken_back(place: Path) -> None:
    other = _settings(place, WATERSMEET__EMBED__HASHED__DIMENSION="64")
    with Engine(place / "index", _settings(place)) as old, Engine(place / "index", other) as new:
        before = old.search("otter", mode="dense", top_n=5)
        assert not before.failures
        assert new.search("otter", top_n=5).failures  # it is made by another model
        seen: list[bool] = []

        def progress(_: object) -> None:
            answer = old.search("otter", mode="dense", top_n=5)
            seen.append(not answer.failures and [r.id for r in answer.results] == [r.id for r in before.results])

        ids, learned = _ids(old), old.calibration.show()
        report = recreate(new, progress=progress)
        assert report.added == 20
        assert seen
        assert all(seen)  # the old one answered all the time
        assert not new.search("otter", mode="dense", top_n=5).failures
        assert (_ids(new), new.calibration.show()) == (ids, learned)
        assert new.documents()[0]["document"] == old.documents()[0]["document"]
        assert [one for one in new.doctor() if not one.ok] == []
        (place / "vault" / "new.md").write_text("# New\n\nA walrus.\n")
        assert new.sync().added == 1
        roll_back(old)
        again = old.search("otter", mode="dense", top_n=5)
        assert [(r.id, r.score) for r in again.results] == [(r.id, r.score) for r in before.results]
        assert old.sync().added == 1  # it is brought up to date like any index
        roll_back(old)
        assert not new.search("walrus", mode="lexical").failures
        assert new.index.forget_previous() > 0  # type: ignore[attr-defined]
        with pytest.raises(NotFound, match="no previous"):
            roll_back(new)
    assert sorted(one.name for one in place.iterdir() if one.name != "home") == ["index", "vault"]


def test_what_is_registered_meanwhile_is_in_the_new_one(place: Path) -> None:
    with Engine(place / "index", _settings(place)) as engine:
        calls = 0

        def progress(_: object) -> None:
            nonlocal calls
            calls += 1
            if calls == 1:
                engine.registry.register([{**ENTITY, "path": "/late", "name": "late"}])
                engine.registry.unregister("/clock")

        recreate(engine, progress=progress)
        assert _ids(engine) >= {"/late", "3.md"}
        assert "/clock" not in _ids(engine)


def test_who_may_see_what_is_as_it_was_last_said(place: Path) -> None:
    """Neither a build that began before nor a rollback shows what was restricted since."""
    with Engine(place / "index", _settings(place)) as engine:
        done: list[object] = []

        def progress(_: object) -> None:
            if not done:
                done.append(engine.set_audience("notes", "group:staff"))

        recreate(engine, progress=progress)
        assert not engine.search("otter", mode="lexical", viewer=EVERYONE).results
        assert engine.search("otter", mode="lexical", viewer=Viewer(groups=("staff",))).results
        engine.set_audience("notes", "public")
        recreate(engine)
        assert engine.search("otter", mode="lexical", viewer=EVERYONE).results
        engine.set_audience("notes", "private")
        (place / "plans").mkdir()
        (place / "plans" / "p.md").write_text("# Plan\n")
        engine.sync([place / "plans"], audience="group:staff")  # a collection that the old one does not have
        engine.registry.register([{**ENTITY, "path": "/later", "name": "later"}])
        roll_back(engine)
        assert not engine.search("otter", mode="lexical", viewer=EVERYONE).results
        assert {"/later", "/clock"} <= _ids(engine)


def test_a_folder_that_was_restricted_since_stays_so(place: Path) -> None:
    """It was moved into a collection that the other generation has not, or has for everyone."""
    with Engine(place / "index", _settings(place)) as engine:
        done: list[object] = []

        def progress(_: object) -> None:
            if not done:
                done.append(engine.sync([place / "vault"], collection="secret", audience="group:staff"))

        recreate(engine, progress=progress)
        assert not engine.search("otter", mode="lexical", viewer=EVERYONE).results
        assert engine.search("otter", mode="lexical", viewer=Viewer(groups=("staff",))).results
        engine.set_audience("secret", "public")
        engine.sync([place / "vault"], collection="notes")
        recreate(engine)
        engine.sync([place / "vault"], collection="hidden", audience="private")
        roll_back(engine)
        assert not engine.search("otter", mode="lexical", viewer=EVERYONE).results
        assert engine.search("otter", mode="lexical").results
        assert engine.status()["collections"]["hidden"] == 20


def test_without_its_model_the_old_one_stays(place: Path) -> None:
    broken = _settings(place, WATERSMEET__INDEX__DENSE="onnx", WATERSMEET__EMBED__ONNX__MODEL=str(place / "none"))
    with Engine(place / "index", broken) as engine:
        with pytest.raises(IndexProblem, match="the old one stays") as problem:
            recreate(engine)
        assert "--no-deepen" in problem.value.hint
    with Engine(place / "index", _settings(place)) as engine:
        assert not engine.search("otter", mode="dense").failures
    assert not (place / ".index.next").exists()


def test_a_folder_that_is_added_meanwhile_is_not_lost(place: Path) -> None:
    (place / "more").mkdir()
    (place / "more" / "x.md").write_text("# X\n")
    with Engine(place / "index", _settings(place)) as engine:
        done: list[object] = []

        def progress(_: object) -> None:
            if not done:
                done.append(engine.sync([place / "more"]).added)

        with pytest.raises(IndexBusy, match="added or removed"):
            recreate(engine, progress=progress)
        assert "more/x.md" in _ids(engine)


@pytest.mark.kill
def test_a_build_that_is_killed_leaves_the_old_one(place: Path) -> None:
    code = (
        "import sys, time\nfrom watersmeet import Engine\nfrom watersmeet.engine.index.generations import recreate\n"
        "with Engine(sys.argv[1]) as e:\n"
        "    recreate(e, progress=lambda step: (print(step, flush=True), time.sleep(60)))\n"
    )
    building = subprocess.Popen([sys.executable, "-c", code, str(place / "index")], stdout=subprocess.PIPE)
    assert building.stdout is not None
    building.stdout.readline()
    building.kill()
    building.communicate()
    with Engine(place / "index", _settings(place)) as engine:
        assert not engine.search("otter", mode="dense").failures
        assert [one for one in engine.doctor() if not one.ok] == []
        recreate(engine)
        assert [one for one in engine.doctor() if not one.ok] == []


def test_no_query_fails_while_generations_change_places(place: Path) -> None:
    with Engine(place / "index", _settings(place)) as engine, Engine(place / "index", _settings(place)) as other:
        recreate(other)
        wrong, answers = failures_while_rolling_back(engine, other, times=20, pause=0.02)
        assert (wrong, answers > 20) == ({}, True)


def test_the_commands(place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WATERSMEET__INDEX__DENSE", "hashed")
    index = ["--index", str(place / "index")]
    assert run(["sync", "--recreate", *index]) == 0
    assert "watersmeet rollback" in capsys.readouterr().out
    assert run(["rollback", "--json", *index]) == 0
    assert json.loads(capsys.readouterr().out) == {"documents": 21, "previous": str(place / ".index.previous")}
    assert run(["rollback", "--forget", "--json", *index]) == 0
    assert json.loads(capsys.readouterr().out)["freed_bytes"] > 0
    assert run(["rollback", *index]) == 1
    assert run(["sync", "--recreate", "--in-place", *index]) == 0
    assert not (place / ".index.previous").exists()


def test_a_place_without_room_beside_it_is_rebuilt_in_place(engine: Engine, vault: Path) -> None:
    assert not can_be_beside(engine)  # there is nothing yet
    engine.sync([vault])
    assert can_be_beside(engine)
    link = Path(f"{engine.folder}-link")
    link.symlink_to(engine.folder)
    with Engine(link, engine.settings) as linked:
        assert not can_be_beside(linked)
