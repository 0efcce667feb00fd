"""A server keeps up with its folders by itself."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from serving import served
from watersmeet import Engine
from watersmeet.core.visibility import EVERYONE, Viewer
from watersmeet.engine.index.location import index_in
from watersmeet.engine.settings.settings import load
from watersmeet.engine.sync import watching
from watersmeet.face.search import SearchParams
from watersmeet.face.service import Service

pytestmark = pytest.mark.server
OWNER = Viewer(all=True)


def until(holds: Callable[[], object], seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.02)


def opened(index: Path | str, **flags: Any) -> Engine:
    return Engine(index, load(environ={}, flags={"index": {"vectors": False}, **flags}))


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.md").write_text("# A\n\nherons\n")
    return folder


def test_a_save_is_found_and_the_status_says_who_watches(notes: Path, tmp_path: Path) -> None:
    with opened(tmp_path / "index") as engine:
        engine.sync([notes])
    engine = opened(tmp_path / "index")
    with served(engine) as server:
        assert server.ask("/api/status").json()["watching"]["state"] == "off"
        server.service.start()
        until(lambda: server.ask("/api/search", {"query": "herons"}).json()["stale"] == 0)
        until(lambda: server.service.watching.is_current())
        (notes / "b.md").write_text("# B\n\notters\n")
        until(lambda: server.ask("/api/search", {"query": "otters"}).json()["results"])
        found = server.service.status(OWNER)["watching"]
        assert (found["state"], found["folders"], found["problem"]) == ("watching", [str(notes)], "")
        assert found["last_sync"] > 0
        assert set(server.service.watching.status(False)) == {"state", "last_sync"}
        assert set(server.service.status(EVERYONE)["watching"]) == {"state", "last_sync"}


def test_the_folder_of_in_is_watched(notes: Path) -> None:
    service = Service(opened(index_in(str(notes)), serve={"fresh_seconds": 3600.0}), inside=str(notes))
    service.start()
    try:
        until(service.watching.is_current)
        (notes / "b.md").write_text("# B\n\notters\n")
        until(lambda: service.search(SearchParams("otters"), OWNER).answer.results)
    finally:
        service.close()


def test_an_index_of_somebody_else_is_served_and_not_written(
    notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path / "index") as engine:
        engine.sync([notes])
    monkeypatch.setattr(watching, "is_ours", lambda _: False)
    service = Service(opened(tmp_path / "index"))
    service.start()
    try:
        assert service.status(OWNER)["watching"]["problem"] == "the index belongs to another user"
        assert service.search(SearchParams("herons"), OWNER).answer.results
        assert not (tmp_path / "index" / "watch.lock").exists()
    finally:
        service.close()


def test_it_can_be_switched_off(notes: Path, tmp_path: Path) -> None:
    service = Service(opened(tmp_path / "index", serve={"watch": False}))
    service.start()
    service.close()
    assert service.watching.status(True)["state"] == "off"


def test_an_unexpected_failure_does_not_end_the_server(
    notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path / "index") as engine:
        engine.sync([notes])

    def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(watching.Watcher, "_watch", fail)
    messages: list[str] = []
    service = Service(opened(tmp_path / "index"), say=messages.append)
    service.start()
    try:
        until(lambda: messages)
        assert service.watching.status(True)["state"] == "off"
        assert service.search(SearchParams("herons"), OWNER).answer.results
    finally:
        service.close()
