"""The access log: a line for each request, and nothing of what was asked in any of them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from command import START
from serving import serving
from watersmeet import Engine
from watersmeet.core.errors import ConfigError
from watersmeet.face.access_log import Access, AccessLog
from watersmeet.face.rest.app import make
from watersmeet.face.rest.guard import Guard
from watersmeet.face.service import Service
from watersmeet.face.tokens import Tokens

WORD = "xylophone"
ACCESS = Access("GET", "/health", 200, 1.5, "", 0, 15)


def _lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def _await_line(path: Path) -> None:
    """A line is written after the answer was sent."""
    end = time.monotonic() + 20
    while not (path.exists() and path.stat().st_size) and time.monotonic() < end:
        time.sleep(0.01)


@pytest.mark.server
def test_each_request_is_a_line_without_its_text(
    engine: Engine, vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (vault / f"{WORD}.md").write_text(f"# {WORD}\n\nWords.\n")
    engine.sync([vault])
    _, sent = (tokens := Tokens()).create("read", name="grafana")
    path = tmp_path / "access.log"
    log = AccessLog(str(path))

    def with_log(service: Service, host: str, hosts: tuple[str, ...], tokens: Tokens | None) -> Guard:
        return make(service, host, hosts, tokens, log)

    monkeypatch.setattr("serving.make", with_log)
    with serving(Service(engine), "0.0.0.0", tokens=tokens) as site:  # noqa: S104 - so that tokens are needed
        body = {"query": WORD}
        found = site.ask("/api/search", body, token=sent)
        site.ask(f"/api/documents/{WORD}.md", token=sent)
        site.ask(f"/api/classify?query={WORD}", token=sent)
        site.ask(f"/{WORD}", token=sent)
        site.ask("/api/status", token=f"wm_00000000_{WORD}")
        site.ask("/health", method="BREW")
    lines = _lines(path)  # the server has ended
    logged = {(one["method"], one["route"], one["status"], one["token"]): one for one in lines}
    assert len(lines) == len(logged)
    assert logged.keys() == {  # a line is written after its answer: in any order
        ("POST", "/api/search", 200, "grafana"),
        ("GET", "/api/documents/{identity:path}", 200, "grafana"),
        ("GET", "/api/classify", 200, "grafana"),
        ("GET", "other", 404, "grafana"),
        ("GET", "other", 401, None),
        ("other", "/health", 405, None),
    }
    search = logged["POST", "/api/search", 200, "grafana"]
    assert search["bytes_in"] == len(json.dumps(body))
    assert search["bytes_out"] == len(found.content)
    assert all(set(one) == {"time", *Access._fields} for one in lines)
    written = path.read_text()
    assert WORD not in written
    assert sent.rpartition("_")[2] not in written
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_log_that_is_rotated_goes_on_in_a_new_file(tmp_path: Path) -> None:
    path, away = tmp_path / "access.log", tmp_path / "access.log.1"
    log = AccessLog(str(path))
    log.write(ACCESS)
    path.rename(away)
    log.write(ACCESS)
    path.unlink()
    log.write(ACCESS)
    log.write(ACCESS)
    assert (len(_lines(away)), len(_lines(path))) == (1, 2)
    os.truncate(path, 0)  # as `copytruncate` does
    log.write(ACCESS)
    assert len(_lines(path)) == 1


def test_a_log_that_cannot_be_written_stops_nothing_and_is_said_once(tmp_path: Path) -> None:
    folder, said = tmp_path / "logs", list[str]()
    folder.mkdir()
    log = AccessLog(str(folder / "access.log"), said.append)
    (folder / "access.log").unlink()
    folder.rmdir()
    for _ in range(3):
        log.write(ACCESS)
    assert len(said) == 1
    folder.mkdir()
    log.write(ACCESS)
    assert len(_lines(folder / "access.log")) == 1
    with pytest.raises(ConfigError, match="cannot write the access log"):
        AccessLog(str(tmp_path / "nowhere" / "access.log"))


@pytest.mark.server
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGHUP")
def test_serve_writes_it_and_outlives_a_hangup(engine: Engine, vault: Path, tmp_path: Path) -> None:
    engine.sync([vault])
    path = tmp_path / "access.log"
    command = [sys.executable, "-c", START, "serve", "--port", "0", "--json", "--index", engine.folder]
    flags = ["--no-watch", "--no-deepen", "--access-log", str(path)]
    with subprocess.Popen([*command, *flags], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True) as server:
        try:
            assert server.stdout is not None
            url = json.loads(server.stdout.readline())["url"]
            urllib.request.urlopen(f"{url}health").read()  # noqa: S310 - our own server
            _await_line(path)
            path.rename(tmp_path / "access.log.1")
            server.send_signal(signal.SIGHUP)
            time.sleep(0.1)
            urllib.request.urlopen(f"{url}health").read()  # noqa: S310 - our own server
            _await_line(path)
            assert server.poll() is None
        finally:
            server.terminate()
            server.wait(20)
    assert len(_lines(tmp_path / "access.log.1")) == len(_lines(path)) == 1
