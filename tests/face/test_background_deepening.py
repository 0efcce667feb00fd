"""A server embeds what no model has read yet, by itself: nobody types `deepen`, and nobody waits for it."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from command import START
from watersmeet import Engine
from watersmeet.core.visibility import EVERYONE, Viewer
from watersmeet.engine.settings.settings import load
from watersmeet.engine.sync import deepen as deepening
from watersmeet.engine.sync.pending import pending_chunks
from watersmeet.face import background_deepening as backgrounds
from watersmeet.face.background_deepening import Background
from watersmeet.face.index_writes import SyncParams, sync
from watersmeet.face.service import Service

pytestmark = pytest.mark.server
PAGES = {f"{n}.md": f"# Page {n}\n\nWhat is said of tide {n}.\n" for n in range(20)}
WITH = {"WATERSMEET__INDEX__VECTORS": "true", "WATERSMEET__INDEX__DENSE": "hashed"}
Run = Callable[..., "subprocess.CompletedProcess[str]"]


def until(holds: Callable[[], object], seconds: float = 60.0) -> None:
    """What never happens is a failure; how long it takes is the machine's business."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.05)


# ---------------------------------------------------------------- processes


def started(place: Path, *words: str, **environ: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", START, *words],
        cwd=place,
        env={**os.environ, **WITH, **environ},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(process: subprocess.Popen[str]) -> tuple[str, str]:
    try:
        return process.communicate(timeout=20)
    finally:
        process.kill()


def status(port: int) -> Any:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("GET", "/api/status")
    found = json.loads(connection.getresponse().read())
    connection.close()
    return found


def port_of(process: subprocess.Popen[str]) -> int:
    assert process.stdout is not None
    return int(json.loads(process.stdout.readline())["url"].rstrip("/").rpartition(":")[2])


def missing(place: Path, **environ: str) -> dict[str, int]:
    inner = place / ".watersmeet"
    with Engine(inner if inner.exists() else place, load(start=str(place), environ=WITH | environ)) as engine:
        return pending_chunks(engine)


@pytest.fixture
def place(fresh: Path, run: Run) -> Path:
    """A vault whose index the deep model has not read."""
    done = run("sync", ".", "--no-deepen", cwd=fresh, **WITH)
    assert "a running `watersmeet serve` or `mcp` makes them in the background" in done.stdout
    return fresh


@pytest.mark.parametrize("dense", ["hashed", "onnx"])
def test_a_server_embeds_by_itself(place: Path, dense: str) -> None:
    process = started(place, "serve", "--json", "--port", "0", WATERSMEET__INDEX__DENSE=dense)
    try:
        port = port_of(process)
        assert status(port)["signals"]["dense"]["coverage"] == 0
        until(lambda: not missing(place, WATERSMEET__INDEX__DENSE=dense))
        assert status(port)["signals"]["dense"]["coverage"] == 1
        until(lambda: status(port)["background"] == {"state": "idle"})
        process.send_signal(signal.SIGINT)
    finally:
        out, err = ended(process)
    assert (process.returncode, out, err) == (0, "", "")


def test_so_does_an_agent_s_server(place: Path) -> None:
    process = started(place, "mcp")
    try:
        until(lambda: not missing(place))
    finally:
        out, err = ended(process)  # nobody talks to it any more
    assert (process.returncode, out, err) == (0, "", "")


def test_and_one_over_a_folder(fresh: Path, home: Path) -> None:
    process = started(fresh.parent, "serve", "--in", str(fresh), "--json", "--port", "0")
    try:
        port = port_of(process)
        assert status(port)["signals"]["dense"]["coverage"] < 1  # it is indexed by now
        place = next((home / "cache" / "watersmeet" / "indexes").iterdir())
        until(lambda: not missing(place))
    finally:
        process.kill()
        ended(process)


@pytest.mark.parametrize(
    ("flags", "environ"),
    [
        (["--no-deepen"], {}),
        ([], {"WATERSMEET__SERVE__DEEPEN": "false"}),
        ([], {"WATERSMEET__INDEX__VECTORS": "false"}),
    ],
    ids=["flag", "setting", "no vectors"],
)
def test_it_can_be_switched_off(place: Path, flags: list[str], environ: dict[str, str]) -> None:
    process = started(place, "serve", "--json", "--port", "0", *flags, **environ)
    try:
        assert status(port_of(process))["background"] == {"state": "off"}
    finally:
        process.kill()
        ended(process)
    assert missing(place)["dense"]


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_while_a_model_is_at_work(place: Path, how: signal.Signals) -> None:
    (place / "long.txt").write_text("\n\n".join(f"Paragraph {n} about the tide. " * 40 for n in range(800)))
    with Engine(place / ".watersmeet", load(start=str(place), environ=WITH)) as engine:
        engine.sync(deepen=False)
    before = missing(place)["dense"]
    process = started(place, "serve", "--json", "--port", "0")
    try:
        port_of(process)
        until(lambda: missing(place)["dense"] < before)
        process.send_signal(how)
    finally:
        _, err = ended(process)
    assert (process.returncode, err) == (0 if how == signal.SIGINT else -how, "")
    with Engine(place / ".watersmeet", load(start=str(place), environ=WITH)) as engine:
        assert all(check.ok for check in engine.doctor())
        engine.deepen()
        assert not pending_chunks(engine)


def test_status_says_how_far_it_is_and_that_it_goes_on(place: Path, run: Run) -> None:
    said = run("status", cwd=place, **WITH).stdout
    assert "dense       0% covered, hashed" in said
    assert "missing     a running `watersmeet serve` or `mcp` makes them in the background" in said
    assert run("deepen", cwd=place, **WITH).returncode == 0
    assert "missing" not in run("status", cwd=place, **WITH).stdout


def test_an_index_of_words_only_is_said_to_need_a_sync(synced: Path, run: Run) -> None:
    said = run("status", cwd=synced, **WITH).stdout
    assert "missing     no vectors yet: `watersmeet sync` makes them" in said


# ---------------------------------------------------------------- the thread itself


@pytest.fixture
def engine(tmp_path: Path, write: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    """Twenty pages that the deep model has not read, and a background that does not wait long."""
    monkeypatch.setattr(backgrounds, "SETTLE_SECONDS", 0.05)
    monkeypatch.setattr(backgrounds, "POLL_SECONDS", 0.05)
    monkeypatch.setattr(deepening, "SHORT_WINDOW", 4)
    with Engine(tmp_path / "index", load(start=str(tmp_path), environ=WITH)) as made:
        made.sync([write(PAGES)], deepen=False)
        yield made


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def begin(engine: Engine, said: list[str]) -> Iterator[Callable[..., Background]]:
    begun: list[Background] = []

    def begin(quiet: Callable[[], float] = lambda: 60.0, **other: Any) -> Background:
        begun.append(Background(other.get("engine", engine), quiet, said.append))
        begun[-1].start()
        return begun[-1]

    yield begin
    for one in begun:
        one.close()


Begin = Callable[..., Background]


def test_questions_come_first(engine: Engine, begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backgrounds, "MAX_WAIT_SECONDS", 1e6)
    seconds = 0.0
    background = begin(lambda: seconds)
    until(lambda: pending_chunks(engine) == {"dense": 16})  # one window, and then no other as long as somebody asks
    time.sleep(0.5)
    assert pending_chunks(engine) == {"dense": 16}
    seconds = 60.0
    until(lambda: not pending_chunks(engine))
    until(lambda: background.state == "idle")


def test_questions_that_never_cease_do_not_keep_it_from_going_on(
    engine: Engine, begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backgrounds, "MAX_WAIT_SECONDS", 0.1)
    begin(lambda: 0.0)
    until(lambda: not pending_chunks(engine))


def test_another_process_that_embeds_is_left_alone(
    engine: Engine, begin: Begin, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backgrounds, "BUSY_SECONDS", 0.1)
    with engine.index.alone("deepen-dense"):
        background = begin()
        until(lambda: background._retry_at)
        assert pending_chunks(engine) == {"dense": 20}
    until(lambda: not pending_chunks(engine))
    assert said == []


def test_a_model_that_cannot_be_had_is_said_once_and_tried_again(
    engine: Engine, tmp_path: Path, begin: Begin, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backgrounds, "FIRST_RETRY_SECONDS", 0.05)
    environ = {"WATERSMEET__INDEX__DENSE": "onnx", "WATERSMEET__EMBED__ONNX__MODEL": str(tmp_path / "nowhere")}
    with Engine(engine.folder, load(start=str(tmp_path), environ=environ)) as other:
        background = begin(engine=other)
        until(lambda: background._pauses.get("dense", 0) > 0.5)  # four times
        assert len(said) == 1
        assert "background embedding of dense vectors failed: " in said[0]
        assert str(tmp_path / "nowhere") in background.problem
        background.close()


def test_a_change_embeds_for_itself_and_meets_nobody(
    engine: Engine, write: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backgrounds, "MAX_WAIT_SECONDS", 1e6)  # it begins, and waits with the lock in its hand
    service = Service(engine, allow_write=True)
    service.work.under_way = 1  # as if somebody asked all the time
    service.start()
    try:
        until(lambda: pending_chunks(engine) == {"dense": 16})
        folder = str(write({"new.md": "# New\n\nLater.\n"}))
        report = asyncio.run(
            service.run(lambda _: sync(service.engine, SyncParams((folder,)), True, lambda _: None), writes=True)
        )
        assert (report["added"], report["embedded"], report["warnings"]) == (1, 17, [])
    finally:
        service.close()


def test_what_is_wrong_is_told_to_whom_the_machine_belongs(engine: Engine) -> None:
    service = Service(engine)
    service.background._problems["dense"] = "no model in /home/ann"
    assert service.status(Viewer(all=True))["background"]["problem"] == "no model in /home/ann"
    assert service.status(EVERYONE)["background"] == {"state": "off"}
    service.close()


def test_where_nothing_is_missing_no_model_is_loaded(place: Path, run: Run) -> None:
    assert run("deepen", cwd=place, **WITH).returncode == 0
    script = (
        "import sys, time\n"
        "from watersmeet import Engine\n"
        "from watersmeet.face.background_deepening import Background\n"
        "background = Background(Engine('.watersmeet'), lambda: 60.0, print)\n"
        "background.start()\n"
        "while background.state != 'idle': time.sleep(0.01)\n"
        "print([name for name in ('numpy', 'onnxruntime', 'watersmeet.engine.sync.deepen') if name in sys.modules])\n"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(
        command, cwd=place, env={**os.environ, **WITH}, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")
