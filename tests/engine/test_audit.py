"""The audit log: each change is in it, with who made it, before anybody is told that it is made."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from watersmeet import Engine
from watersmeet.core.actor import Actor, acting
from watersmeet.core.errors import NotFound
from watersmeet.core.visibility import EVERYONE, Viewer
from watersmeet.engine.audit import append, entries, entry, log_of
from watersmeet.face.tokens import Tokens

LAMP = {"path": "/lamp", "name": "Lamp", "description": "Switches lights"}


def test_changes_are_recorded_with_who_made_them(engine: Engine, vault: Path) -> None:
    engine.sync([vault])
    engine.sync([vault])  # which changes nothing
    with acting(Actor("rest", "ada", "1f0c")):
        engine.registry.register([LAMP])
        engine.registry.set_status("/lamp", "beta")
    engine.registry.disable("/lamp")
    engine.registry.unregister("/lamp")
    engine.remove("index.md")
    with pytest.raises(NotFound):
        engine.registry.enable("/lamp")
    name, secret = Tokens().create("read", "bob")
    Tokens().revoke(name.id)
    found = engine.audit()[::-1]
    actions = ["sync", "register", "set-status", "disable", "unregister", "remove", "enable"]
    assert [one["action"] for one in found] == [*actions, "create-token", "revoke-token"]
    assert found[1]["by"] == {"via": "rest", "user": "ada", "token": "1f0c"}
    assert (found[2]["targets"], found[2]["detail"], found[2]["result"]) == (
        ["/lamp"],
        {"status": "beta"},
        {"changed": 1},
    )
    assert [one["state"] for one in found[5:7]] == ["done", "failed"]
    assert secret not in json.dumps(found)
    assert [one["action"] for one in engine.audit(limit=1)] == ["revoke-token"]
    assert engine.audit("2999-01-01") == []


def test_others_see_their_own_changes_and_those_of_what_they_see(engine: Engine) -> None:
    with acting(Actor("rest", "ada", "aa")):
        engine.registry.register([{**LAMP, "visibility": "private", "owner": "ada"}])
    with acting(Actor("rest", "", "bb")):
        engine.registry.register([{**LAMP, "path": "/open"}])
    with acting(Actor("cli", "eve")):  # who is logged in is no user of a token
        engine.registry.register([{**LAMP, "path": "/secret", "visibility": "private"}])
    Tokens().create("read")

    def targets(viewer: Viewer, token: str = "") -> list[str]:
        return [name for one in engine.audit(viewer=viewer, token=token) for name in one["targets"]]

    assert targets(EVERYONE) == ["/open"]
    assert targets(Viewer("ada")) == ["/open", "/lamp"]
    assert targets(EVERYONE, "aa") == ["/open", "/lamp"]
    assert targets(Viewer("eve")) == ["/open"]


def test_a_line_that_was_cut_off_loses_no_other(engine: Engine) -> None:
    engine.registry.register([LAMP])
    with open(log_of(engine.index), "ab") as log:
        log.write(
            b'{"id": "less"}\n{"id": "odd", "at": "then", "by": 3, "targets": "x", "count": 1}\n[]\n{"id": "torn", "at'
        )
    append(log_of(engine.index), {**entry("register", ["/next"]), "state": "done"})
    assert [one["targets"] for one in entries(log_of(engine.index))] == [["/lamp"], ["/next"]]
    assert [one["targets"] for one in engine.audit("7d")] == [["/next"], ["/lamp"]]


PROGRAM = """
import sys
from watersmeet import Engine
from watersmeet.engine.settings.settings import load
with Engine(sys.argv[1], load(flags={"index": {"vectors": False}})) as engine:
    for number in range(10_000):
        engine.registry.register([{"path": f"/{number}", "name": f"n{number}", "description": "lamp"}])
        print(number, flush=True)
"""


@pytest.mark.kill
def test_a_killed_process_has_recorded_what_it_acknowledged(tmp_path: Path) -> None:
    """And nothing is registered that no line says was begun."""
    index = tmp_path / "index"
    with open(tmp_path / "out", "wb") as out:
        process = subprocess.Popen([sys.executable, "-c", PROGRAM, str(index)], stdout=out)
        end = time.monotonic() + 60
        while (tmp_path / "out").stat().st_size < 8 and time.monotonic() < end:
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    acknowledged = {f"/{line}" for line in (tmp_path / "out").read_text().split("\n")[:-1]}
    with Engine(index) as engine:
        recorded = {one["targets"][0]: one["state"] for one in engine.audit()}
        registered = {one["path"] for one in engine.registry.listing()}
    assert acknowledged
    assert {path for path, state in recorded.items() if state == "done"} >= acknowledged
    assert registered - {"/0"} <= recorded.keys()  # the first one makes the index
