"""The first call on a new folder: an answer from the words that are there, how far indexing is, and never an error."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from watersmeet import Engine
from watersmeet.core.errors import IndexBusy, NoIndex, SourceProblem
from watersmeet.core.visibility import OWNER
from watersmeet.engine.settings.settings import load
from watersmeet.engine.sync import folder_cache
from watersmeet.engine.sync.folder_cache import Indexing, sync_after_search, sync_folder_cache, sync_for_search
from watersmeet.engine.sync.report import Progress
from watersmeet.engine.sync.root_sync import RootSync
from watersmeet.face.search import SearchParams
from watersmeet.face.service import Service

FILES = 40
SLOW = """
import time
from watersmeet.engine.sync.root_sync import RootSync as R
old = R._read
def slow(self, item, state):
    time.sleep(0.05)
    old(self, item, state)
R._read = slow
from watersmeet.face.cli.main import main
main()
"""
"""The command line, with 50 ms for each file."""
GATED = """
import os, time
from watersmeet.engine.sync.root_sync import RootSync as R
old, go = R._read, os.environ["GO"]
def gated(self, item, state):
    if item.name == "page10.md":
        self.batch.commit()
        open(go + ".reached", "w").close()
    while item.name >= "page10.md" and not os.path.exists(go):
        time.sleep(0.02)
    old(self, item, state)
R._read = gated
from watersmeet.face.cli.main import main
main()
"""
"""The command line, which reads ten pages, and the others once the file `$GO` exists."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Pages of which each has a word of its own."""
    place = tmp_path / "pages"
    place.mkdir()
    for number in range(FILES):
        page = place / f"page{number:02}.md"
        page.write_text(f"# Page {number}\n\nOf the heron, number zq{number:02}x.\n")
        os.utime(page, (1e9, 1e9))  # one that was just written would be read again
    return place


def settings(tmp_path: Path, **more: str) -> Any:
    return load(start=str(tmp_path), environ={"WATERSMEET__INDEX__VECTORS": "false", **more})


class Gate:
    """Lets so many files be read, and the others only after `open`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, files: int) -> None:
        self.reached, self.open = Event(), Event()
        left, read = iter(range(files)), RootSync._read

        def gated(sync: RootSync, *arguments: Any) -> None:
            if next(left, None) is None:
                sync.batch.commit()
                self.reached.set()
                assert self.open.wait(60)
            read(sync, *arguments)

        monkeypatch.setattr(RootSync, "_read", gated)


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int], Gate]]:
    gates: list[Gate] = []

    def made(files: int) -> Gate:
        gates.append(Gate(monkeypatch, files))
        return gates[-1]

    yield made
    for one in gates:
        one.open.set()


def asked(service: Service, query: str, progress: Callable[[Progress], None] = lambda _: None) -> dict[str, Any]:
    def work(stop: Event) -> dict[str, Any]:
        return service.search(SearchParams(query), OWNER, stop).to_json()

    return asyncio.run(service.run(work, progress=progress))


def until_ready(service: Service) -> None:
    assert service.folder is not None
    assert service.folder._ready.wait(60)


class TestServer:
    @pytest.fixture
    def start(self, tmp_path: Path, folder: Path) -> Iterator[Callable[..., Service]]:
        services: list[Service] = []

        def started(**environ: str) -> Service:
            engine = Engine(tmp_path / "index", settings(tmp_path, WATERSMEET__INDEX__FIRST_SECONDS="0.3", **environ))
            services.append(Service(engine, inside=str(folder)))
            return services[-1]

        yield started
        for service in services:
            service.close()

    def test_it_answers_from_what_is_committed_and_says_how_far_it_is(
        self, start: Callable[..., Service], gate: Callable[[int], Gate]
    ) -> None:
        closed = gate(10)
        service = start()
        assert closed.reached.wait(60)
        steps: list[Progress] = []
        answer = asked(service, "heron", steps.append)
        assert len(answer["results"]) == 10
        assert answer["indexing"] == {"done": 10, "files": FILES}
        assert answer["notes"] == ["10 of 40 files are indexed so far; ask again for the rest"]
        assert (steps[-1].done, steps[-1].total) == (10, FILES)
        assert service.ready().state == "starting"
        assert service.status(OWNER)["indexing"] == {"done": 10, "files": FILES}
        closed.open.set()
        until_ready(service)
        assert asked(service, "zq39x")["results"][0]["document"] == "page39.md"
        assert "indexing" not in asked(service, "heron")
        assert service.ready().ready

    def test_with_nothing_committed_the_answer_is_empty(
        self, start: Callable[..., Service], gate: Callable[[int], Gate]
    ) -> None:
        gate(0)
        answer = asked(start(), "heron")
        assert (answer["results"], answer["indexing"]["done"]) == ([], 0)
        assert "so far; ask again" in answer["notes"][-1]

    def test_nor_is_a_missing_index_an_error(
        self, start: Callable[..., Service], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        hold = Event()

        def held(*_: object) -> None:
            hold.wait(60)
            raise SourceProblem("the test is over")

        monkeypatch.setattr("watersmeet.face.service.sync_folder_cache", held)
        service = start()
        try:
            answer = asked(service, "heron")
            assert (answer["results"], answer["indexing"]) == ([], {"done": 0, "files": None})
            assert "is being indexed" in answer["notes"][0]
            with pytest.raises(NoIndex, match="is being indexed"):
                asyncio.run(service.run(lambda _: service.status(OWNER)))
        finally:
            hold.set()
            until_ready(service)

    def test_another_server_that_is_at_it_first(
        self, start: Callable[..., Service], gate: Callable[[int], Gate]
    ) -> None:
        closed = gate(10)
        first = start()
        assert closed.reached.wait(60)
        second = start()
        assert {len(asked(service, "heron")["results"]) for service in (first, second)} == {10}
        assert asked(second, "heron")["indexing"] == {"done": 0, "files": None}
        closed.open.set()
        for service in (first, second):
            until_ready(service)
            assert asked(service, "zq39x")["results"][0]["document"] == "page39.md"


class TestTimeLimit:
    def test_each_sync_goes_on_where_the_last_one_ended(self, engine: Engine, folder: Path) -> None:
        left = [engine.sync([folder], seconds=0).left for _ in range(3)]
        assert left == [FILES - 1, FILES - 2, FILES - 3]
        report = engine.sync([folder])
        assert (report.left, report.added, report.unchanged, report.removed) == (0, FILES - 3, 3, 0)
        assert "left" not in report.to_json()

    def test_it_takes_nothing_for_deleted(self, engine: Engine, folder: Path) -> None:
        engine.sync([folder])
        for number in (0, 1, 2):
            (folder / f"page{number:02}.md").unlink()
        for number in range(50, 53):
            (folder / f"page{number}.md").write_text(f"# New\n\nzq{number}x\n")
        report = engine.sync([folder], seconds=0)
        assert (report.removed, report.left) == (0, 2)
        assert len(engine.documents()) == FILES + 1
        report = engine.sync([folder])
        assert (report.removed, report.left) == (3, 0)
        assert len(engine.documents()) == FILES

    def test_how_far_it_is(self, engine: Engine, folder: Path) -> None:
        found = [sync_for_search(engine, str(folder), 0, lambda _: None) for _ in range(2)]
        assert found == [Indexing(1, FILES), Indexing(2, FILES)]
        sync_after_search(engine, str(folder), 60, lambda _: None)
        assert sync_for_search(engine, str(folder), 60, lambda _: None) is None

    def test_another_process_is_waited_for_but_not_longer(
        self, engine: Engine, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        slept: list[float] = []
        monkeypatch.setattr(folder_cache.time, "sleep", slept.append)
        with engine.index.alone(folder_cache.LOCK), pytest.raises(IndexBusy):
            sync_for_search(engine, str(folder), 0.25, lambda _: None)
        assert slept
        assert not sync_folder_cache(engine, str(folder)).left


def test_the_first_commits_of_a_new_index_come_early(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch of a new index is committed after half a second, the next after one; later syncs take their time."""
    ahead, read, monotonic = [0.0], RootSync._read, time.monotonic

    def timed(sync: RootSync, *arguments: Any) -> None:
        ahead[0] += 0.2
        read(sync, *arguments)

    monkeypatch.setattr(time, "monotonic", lambda: monotonic() + ahead[0])
    monkeypatch.setattr(RootSync, "_read", timed)
    steps: list[Progress] = []
    with Engine(tmp_path / "index", settings(tmp_path, WATERSMEET__WRITER__BATCH_SECONDS="1000")) as engine:
        engine.sync([folder], progress=steps.append)
        first, second, third, *_ = [step.done for step in steps if step.doing == "committed"]
        assert first <= 3 < second <= 9 < third
        for page in folder.iterdir():
            page.write_text(page.read_text() + "\nmore\n")
        steps.clear()
        engine.sync([folder], progress=steps.append)
    assert [step.done for step in steps if step.doing == "committed"] == [FILES]


def environ(**more: str) -> dict[str, str]:
    return {**os.environ, "WATERSMEET__INDEX__VECTORS": "false", "WATERSMEET__INDEX__FIRST_SECONDS": "0.3", **more}


@pytest.mark.slow
def test_on_the_command_line(folder: Path) -> None:
    def search(*arguments: str) -> dict[str, Any]:
        command = [sys.executable, "-c", SLOW, "search", "zq39x", "--in", str(folder), "--json", *arguments]
        done = subprocess.run(command, env=environ(), capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode in (0, 1), done.stderr) == (True, "")
        return dict(json.loads(done.stdout))

    first = search()
    assert first["indexing"]["files"] == FILES
    assert 0 < first["indexing"]["done"] < FILES
    assert first["notes"][-1].endswith("of 40 files are indexed so far; ask again for the rest")
    for _ in range(20):
        answer = search()
        if "indexing" not in answer:
            break
    assert answer["results"][0]["document"] == "page39.md"


@pytest.mark.server
def test_over_mcp_two_servers_at_once(folder: Path, tmp_path: Path) -> None:
    """Both answer from what is there, with progress; in the end, from all pages."""
    go, reached = tmp_path / "go", tmp_path / "go.reached"
    command = StdioServerParameters(
        command=sys.executable, args=["-c", GATED, "mcp", "--in", str(folder), "--quiet"], env=environ(GO=str(go))
    )

    async def ask(steps: list[tuple[Any, ...]], answered: asyncio.Barrier) -> list[Any]:
        async def progress(*step: Any) -> None:
            steps.append(step)

        async with Client(command) as client:
            end = time.monotonic() + 60
            while not reached.exists() and time.monotonic() < end:
                await asyncio.sleep(0.02)
            answers = [await client.call_tool("search", {"query": "heron zq39x"}, progress_callback=progress)]
            await answered.wait()
            go.touch()
            while answers[-1].structured_content.get("indexing") and time.monotonic() < end:
                answers.append(await client.call_tool("search", {"query": "heron zq39x"}))
            return answers

    async def both() -> tuple[list[Any], list[Any], list[tuple[Any, ...]]]:
        steps: list[tuple[Any, ...]] = []
        answered = asyncio.Barrier(2)
        first, second = await asyncio.gather(ask(steps, answered), ask(steps, answered))
        return first, second, steps

    *found, steps = asyncio.run(both())
    for answers in found:
        assert not any(answer.is_error for answer in answers)
        assert answers[-1].structured_content["results"][0]["document"] == "page39.md"
    assert [answers[0].structured_content["indexing"] for answers in found].count({"done": 10, "files": FILES}) == 1
    assert any("10 of 40 files are indexed so far" in answers[0].content[0].text for answers in found)
    assert (10.0, 40.0, "committed 10 of 40 files") in steps
