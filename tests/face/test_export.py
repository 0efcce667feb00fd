"""The server of an export: short routes over the same calls, the same ranks as the parent, and a new export while it
runs."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client

from serving import Served
from serving import serving as served_by
from watersmeet import Engine
from watersmeet.core.errors import NoIndex
from watersmeet.engine.export import export as exporting
from watersmeet.engine.export.export import export
from watersmeet.engine.export.requirements import Requirements
from watersmeet.engine.settings.settings import load
from watersmeet.face.export_service import ExportService
from watersmeet.face.service import Service

pytestmark = pytest.mark.server
QUERIES = ("rotate keys", "TRN-1042", "which port does the server use", "tides", "nothing about zebras")


@pytest.fixture(autouse=True)
def light(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporting, "make_requirements", lambda *_: Requirements("", (), True))


@pytest.fixture
def parent(vault: Path, tmp_path: Path) -> Iterator[Engine]:
    with Engine(tmp_path / "index", load(start=str(tmp_path), flags={"index": {"dense": ""}})) as engine:
        engine.sync([vault])
        yield engine


@pytest.fixture
def out(parent: Engine, tmp_path: Path) -> Path:
    export(parent, str(tmp_path / "out"))
    return tmp_path / "out"


@contextmanager
def serving(service: Service) -> Iterator[Served]:
    """A server that closes its index."""
    try:
        with served_by(service) as site:
            yield site
    finally:
        service.close()


def ids(answer: Any) -> list[tuple[str, float]]:
    return [(one["id"], one["score"]) for one in answer["results"]]


def test_every_route_answers_and_ranks_as_the_parent(parent: Engine, out: Path) -> None:
    with serving(ExportService(str(out))) as site:
        for query in QUERIES:
            mine = [(one.id, one.score) for one in parent.search(query).results]
            assert ids(site.ask("/search", {"query": query}).json()) == mine
            assert ids(site.ask("/api/search", {"query": query}).json()) == mine
            assert ids(site.ask(f"/search?query={query.replace(' ', '+')}&top_n=2").json()) == mine[:2]
        found = site.ask("/search", {"query": "rotate keys", "explain": True}).json()["results"][0]
        assert (found["path"], found["document"]) == ("guides/keys.md", "guides/keys.md")
        assert site.ask(f"/chunks/{found['id']}").json()["text"] == found["text"]
        assert site.ask("/chunks/none").status == 404
        assert site.ask("/health").json() == {"status": "ok"}
        for address in re.findall(r'(?:src|href)="(/web/[^"]+)"', site.ask("/").content.decode()):
            assert site.ask(address).status == 200
        stats = site.ask("/stats").json()
        assert (stats["documents"], stats["query_classification"], stats["recipe"]) == (4, True, "default")
        sources = site.ask("/sources?limit=2").json()
        assert sources["sources"] == [{"source": "vault"}]
        assert (len(sources["documents"]), sources["total"]) == (2, 4)
        assert site.ask("/").status == 200
        assert {"/search", "/chat", "/stats", "/sources", "/chunks/{identity}"} <= set(
            site.ask("/openapi.json").json()["paths"]
        )


def test_chat_answers_with_quotes_or_says_that_nothing_fits(out: Path) -> None:
    with serving(ExportService(str(out))) as site:
        found = site.ask("/chat", {"question": "How often should I rotate keys?"}).json()
        assert found["answer"]
        assert found["citations"] or found["no_good_match"]
        assert site.ask("/chat", {"question": "x", "other": 1}).status == 422
        assert site.ask("/chat", {"question": ""}).status == 422
        parts = site.ask("/chat", {"question": "How often should I rotate keys?", "stream": True}).content.decode()
        assert "event: answer" in parts


def test_it_is_read_only_over_rest_and_mcp(parent: Engine, out: Path) -> None:
    async def ask(address: str) -> tuple[set[str], Any]:
        async with Client(address) as client:
            found = await client.call_tool("project_query", {"query": "rotate keys"})
            return {tool.name for tool in (await client.list_tools()).tools}, found.structured_content

    with serving(ExportService(str(out))) as site:
        assert site.ask("/api/sync", {"paths": []}).status in (403, 404)
        names, found = asyncio.run(ask(f"{site.url}/mcp"))
    assert {"search", "get", "ask"} <= names
    assert not {"sync", "register", "project_export"} & names
    assert ids(found) == [(one.id, one.score) for one in parent.search("rotate keys").results]
    service = ExportService(str(out))
    assert not service.allow_write
    service.close()


def test_routes_of_exports_are_not_on_other_servers(parent: Engine) -> None:
    with serving(Service(Engine(parent.folder, parent.settings))) as site:
        for path in ("/search?query=x", "/sources", "/stats"):
            assert site.ask(path).status == 404


def test_a_running_server_goes_on_with_a_new_export(parent: Engine, vault: Path, out: Path) -> None:
    with serving(ExportService(str(out))) as site:
        assert site.ask("/search?query=walrus&mode=lexical").json()["results"] == []
        stop, statuses = threading.Event(), []

        def ask() -> None:
            while not stop.is_set():
                statuses.append(site.ask("/search?query=keys").status)

        thread = threading.Thread(target=ask)
        thread.start()
        try:
            for number in range(3):
                (vault / f"new{number}.md").write_text(f"# Walrus {number}\n\nA walrus.\n", "utf8")
                parent.sync([vault])
                export(parent, str(out))
                assert len(site.ask("/search?query=walrus&mode=lexical").json()["results"]) == number + 1
        finally:
            stop.set()
            thread.join(30)
        assert set(statuses) == {200}
        assert site.ask("/stats").json()["documents"] == 7


def test_a_broken_new_export_does_not_stop_it(parent: Engine, out: Path) -> None:
    said: list[str] = []
    service = ExportService(str(out), say=said.append)
    with serving(service) as site:
        (out / "export.json").write_text("{}", "utf8")
        assert site.ask("/search?query=keys").status == 200
        assert len(said) == 1
        assert "goes on" in said[0]


def test_mcp_exports_below_the_named_folder_only_and_queries_alike(
    parent: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    below = tmp_path / "exports"
    below.mkdir()
    flags = {
        "index": {"dense": ""},
        "serve": {"export_folder": str(below), "deepen": False, "tools": ["project_export", "project_query"]},
    }
    engine = Engine(parent.folder, load(start=str(tmp_path), flags=flags))
    (below / "link").symlink_to(tmp_path / "elsewhere")

    async def ask(address: str) -> list[Any]:
        async with Client(address) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert {"project_export", "project_query"} <= set(names)
            made = await client.call_tool("project_export", {"name": "mine"})
            assert not made.is_error, made.content
            assert made.structured_content is not None
            assert made.structured_content["documents"] == 4
            for name in ("../out", "/out", ".hidden", "", "a/b", "link"):
                assert (await client.call_tool("project_export", {"name": name})).is_error
            here = await client.call_tool("project_query", {"query": "rotate keys"})
            there = await client.call_tool("project_query", {"query": "rotate keys", "name": "mine"})
            assert (await client.call_tool("project_query", {"query": "x", "name": "none"})).is_error
            return [ids(here.structured_content), ids(there.structured_content)]

    with serving(Service(engine, allow_write=True)) as site:
        here, there = asyncio.run(ask(f"{site.url}/mcp"))
    assert here == there != []
    assert not (tmp_path / "elsewhere").exists()
    with serving(ExportService(str(below / "mine"))) as site:
        assert ids(site.ask("/search?query=rotate+keys").json()) == here


def test_without_a_named_folder_mcp_exports_nowhere(parent: Engine) -> None:
    async def ask(address: str) -> Any:
        async with Client(address) as client:
            return await client.call_tool("project_export", {"name": "mine"})

    with serving(Service(Engine(parent.folder, parent.settings), allow_write=True)) as site:
        answer = asyncio.run(ask(f"{site.url}/mcp"))
    assert answer.is_error
    assert "serve.export_folder" in answer.content[0].text


def test_a_folder_that_is_no_export_is_not_served(tmp_path: Path) -> None:
    with pytest.raises(NoIndex):
        ExportService(str(tmp_path))


@pytest.mark.slow
def test_its_own_tests_pass_when_it_is_started_by_its_script(out: Path, tmp_path: Path) -> None:
    """With the packages of this Python; .ci/run does it in a new environment."""
    environ = {**os.environ, "EXPORT_TEST_OPTIONS": "--no-venv", "HOME": str(tmp_path / "nowhere")}
    done = subprocess.run(
        [sys.executable, str(out / "test_export.py")],
        cwd=tmp_path,
        env=environ,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads((out / "export.json").read_text("utf8"))["documents"] == 4
