"""An index of version 0.1: it answers as it is, and the first that writes to it makes it one of today."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
import tarfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from watersmeet import Engine
from watersmeet.core.entities import Entity
from watersmeet.core.errors import IndexMismatch
from watersmeet.core.visibility import Viewer
from watersmeet.engine.settings.settings import Settings, load
from watersmeet.store.local._connect import FORMAT
from watersmeet.store.local._paths import change_paths
from watersmeet.store.local._upgrade import UPGRADES

pytestmark = pytest.mark.slow

ARCHIVE = Path(__file__).parents[2] / "data" / "format_1.tar.gz"
MADE = "/tmp/watersmeet-format-1"  # noqa: S108 - nothing is read or written there
"""Where it was made: its paths are absolute."""
ENVIRON = {"WATERSMEET__INDEX__STATIC": "", "WATERSMEET__INDEX__SPARSE": "", "WATERSMEET__INDEX__DENSE": "hashed"}
KILLED = """
import os, signal, sys
from watersmeet import Engine
from watersmeet.engine.settings.settings import load
from watersmeet.store.local import _upgrade

real = getattr(_upgrade, sys.argv[2])

def killed(*given):
    real(*given)
    os.kill(os.getpid(), signal.SIGKILL)

setattr(_upgrade, sys.argv[2], killed)
Engine(sys.argv[1], load()).sync()
"""
ANN = Viewer("ann")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load(start=str(tmp_path), environ=ENVIRON)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(tmp_path, filter="data")
    for name in ("one", "two"):
        with closing(sqlite3.connect(tmp_path / name / ".watersmeet" / "catalogue.db")) as db, db:
            db.execute("UPDATE roots SET path = replace(path, ?, ?)", (MADE, str(tmp_path)))
            change_paths(db, "file IS NOT NULL", (), lambda path: path.replace(MADE, str(tmp_path)))
    return tmp_path


@pytest.fixture
def two(place: Path) -> Path:
    return place / "two" / ".watersmeet"


def ids(engine: Engine) -> dict[str, list[str]]:
    names = [one["document"] for one in engine.documents()]
    return {name: [passage.id for passage in engine.passages(name)] for name in names}


def found(engine: Engine, queries: list[str]) -> dict[str, list[str]]:
    return {query: [result.id for result in engine.search(query).results] for query in queries}


def same(engine: Engine) -> None:
    """It says what it said in its time."""
    said: dict[str, Any] = json.loads(Path(engine.folder, "said.json").read_text())
    assert ids(engine) == said["ids"]
    assert found(engine, list(said["found"])) == said["found"]
    assert engine.calibration.state() == said["calibration"]


def format_of(index: Path) -> int:
    with closing(sqlite3.connect(index / "catalogue.db")) as db:
        return int(db.execute("PRAGMA user_version").fetchone()[0])


class TestAsItIs:
    @pytest.mark.parametrize("name", ["one", "two"])
    def test_it_answers(self, place: Path, settings: Settings, name: str) -> None:
        index = place / name / ".watersmeet"
        with Engine(index, settings) as engine:
            same(engine)
            assert engine.get(next(iter(ids(engine))))["text"]
            assert engine.status()["fingerprint"]["format"] == 1
            checks = {check.name: check for check in engine.doctor()}
            assert all(check.ok for check in checks.values())
            assert "watersmeet sync" in checks["format"].hint
        assert format_of(index) == 1

    @pytest.mark.parametrize("version", [1, 2])
    def test_what_has_no_places_has_lines(self, two: Path, settings: Settings, version: int) -> None:
        if version == 2:
            with closing(sqlite3.connect(two / "catalogue.db")) as db, db:
                UPGRADES[1](db, str(two))
                db.execute("PRAGMA user_version = 2")
        with Engine(two, settings) as engine:
            before = {name: [(p.where, p.lines) for p in engine.passages(name)] for name in ids(engine)}
            assert before["team/plan.md"] == [(":1", (1, 7))]
            assert before["/context7"] == [("", None)]  # it is in no file
            assert all(check.ok for check in engine.doctor())
            assert format_of(two) == version
            engine.sync()
            assert {name: [(p.where, p.lines) for p in engine.passages(name)] for name in before} == before
            assert all(check.ok for check in engine.doctor())

    def test_a_newer_one_says_so(self, two: Path, settings: Settings) -> None:
        with closing(sqlite3.connect(two / "catalogue.db")) as db, db:
            db.execute(f"PRAGMA user_version = {FORMAT + 1}")
        with Engine(two, settings) as engine:
            for call in (lambda: engine.search("heron"), lambda: engine.sync([two.parent / "notes"]), engine.sync):
                with pytest.raises(
                    IndexMismatch, match=f"has format {FORMAT + 1}; this version of watersmeet reads up to {FORMAT}"
                ):
                    call()


def sync_all(engine: Engine) -> object:
    return engine.sync()


def sync_one(engine: Engine) -> object:
    return engine.sync([Path(engine.folder).parent / "notes"])


def register(engine: Engine) -> object:
    engine.registry.put(Entity("skill", "/new", "new", "Something new"))
    return engine.registry.unregister("/new")


class TestUpgrade:
    @pytest.mark.parametrize("write", [sync_all, sync_one, register, Engine.compact])
    def test_whoever_writes_first(self, two: Path, settings: Settings, write: Callable[[Engine], object]) -> None:
        with Engine(two, settings) as engine:
            engine.search("heron")  # whoever has it open goes on
            write(engine)
            assert format_of(two) == FORMAT
            same(engine)

    def test_nothing_is_lost_or_made_again(self, two: Path, settings: Settings) -> None:
        with Engine(two, settings) as engine:
            before = [engine.registry.get(path) for path in ("/context7", "/private/tides", "/flags")]
            report = engine.sync().to_json()
            counts = {name: report[name] for name in ("added", "changed", "moved", "removed", "unchanged", "embedded")}
            assert counts == {"added": 0, "changed": 0, "moved": 0, "removed": 0, "unchanged": 3, "embedded": 0}
            assert (report["skipped"], report["warnings"]) == ([], [])
            same(engine)
            assert engine.status()["fingerprint"]["format"] == FORMAT
            assert [engine.registry.get(path) for path in ("/context7", "/private/tides", "/flags")] == before
            assert {r.document for r in engine.search("heron", filters={"owner": "ann"}).results} >= {"team/plan.md"}
            assert engine.status()["collections"]["Team"] == 1
            assert {r.document for r in engine.related("notes/keys.md").results} == {"notes/doors.md", "team/plan.md"}
            assert all(check.ok for check in engine.doctor())

    def test_what_is_private_stays_private(self, two: Path, settings: Settings) -> None:
        with Engine(two, settings) as engine:
            engine.sync()
            for viewer, sees in ((Viewer(), False), (Viewer("bob"), False), (ANN, True)):
                results = engine.search("tides heron", viewer=viewer).results
                assert ("/private/tides" in {result.document for result in results}) is sees

    def test_evidence_that_was_known_is_known(self, two: Path, settings: Settings) -> None:
        with Engine(two, settings) as engine:
            engine.sync()
            lesson = engine.calibration.judge([("rotate keys", {"notes/keys.md": 1.0})])
            assert (lesson.learnt, lesson.known) == (0, 1)

    def test_ids_are_those_of_before_for_new_files_too(self, place: Path, settings: Settings) -> None:
        for name, prefix in (("one", ""), ("two", "notes/")):
            folder = place / "one" if name == "one" else place / "two" / "notes"
            (folder / "new.md").write_text("# New\n\nAbout an egret.\n")
            with Engine(place / name / ".watersmeet", settings) as engine:
                engine.sync()
                assert engine.search("egret").results[0].document == f"{prefix}new.md"

    def test_a_folder_more_or_less_renames_nothing(self, place: Path, settings: Settings) -> None:
        with Engine(place / "two" / ".watersmeet", settings) as engine:
            before = ids(engine)
            engine.sync([place / "one"])
            assert before.items() <= ids(engine).items()
            engine.remove(["notes", "one"])
            assert ids(engine) == {key: value for key, value in before.items() if not key.startswith("notes/")}

    def test_it_can_be_moved_afterwards(self, place: Path, settings: Settings) -> None:
        with Engine(place / "two" / ".watersmeet", settings) as engine:
            engine.sync()
        new = (place / "two").rename(place / "elsewhere")
        with Engine(new / ".watersmeet", settings) as engine:
            report = engine.sync()
            assert (report.unchanged, report.added, report.warnings) == (3, 0, [])
            assert engine.search("quagga").results[0].path == str(new / "team" / "plan.md")
            same(engine)

    def test_everything_may_be_read_again(self, two: Path, settings: Settings) -> None:
        with Engine(two, settings) as engine:
            report = engine.sync(recreate=True)
            assert (report.added, report.removed) == (3, 0)
            same(engine)

    @pytest.mark.kill
    @pytest.mark.parametrize("step", ["rewrite_paths", "seal_meta"])
    def test_a_kill_leaves_the_old_one(self, two: Path, settings: Settings, step: str) -> None:
        code = subprocess.run([sys.executable, "-c", KILLED, str(two), step], check=False).returncode
        assert code == -signal.SIGKILL
        assert format_of(two) == 1
        with Engine(two, settings) as engine:
            same(engine)
            assert engine.sync().unchanged == 3
            same(engine)
        assert format_of(two) == FORMAT
