"""Attacks that once came to something: one caller at the cost of the others, and what a stranger could learn."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from sse_starlette.sse import EventSourceResponse

from serving import Reply, Served, served
from watersmeet import Engine
from watersmeet.core.errors import Stopped
from watersmeet.engine.sync.report import Progress, cancellable
from watersmeet.face.mcp import http as sessions
from watersmeet.face.rest import process
from watersmeet.face.tokens import Tokens

pytestmark = pytest.mark.server

OPEN = {"kind": "mcp_server", "path": "/clock", "name": "clock", "description": "Tells the time"}
SECRET = {**OPEN, "path": "/vault", "name": "flamingo", "visibility": "group", "groups": ["pink"], "owner": "ann"}
VIRTUAL = {
    "kind": "virtual_server",
    "path": "/virtual/all",
    "name": "everything",
    "description": "All that there is",
    "tool_mappings": [
        {"tool_name": "now", "alias": "now", "backend_server_path": "/clock"},
        {"tool_name": "launch", "alias": "launch", "backend_server_path": "/vault"},
    ],
}
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


@pytest.fixture
def site(engine: Engine, vault: Path) -> Iterator[Served]:
    engine.sync([vault])
    engine.registry.register([OPEN, SECRET])
    with served(engine, allow_write=True) as made:
        yield made


@pytest.fixture
def far(engine: Engine, vault: Path) -> Iterator[Served]:
    """As if it listened on all addresses."""
    engine.sync([vault])
    with served(engine, host="0.0.0.0", allow_write=True, tokens=Tokens()) as made:  # noqa: S104 - that is the point
        yield made


# ---------------------------------------------------------------- at the cost of others


def test_writes_leave_the_readers_their_workers(site: Served) -> None:
    """As many as there are workers for questions, all of them stuck: a question is answered all the same."""
    free = Event()
    many = site.service.limits.workers + 2

    async def stuck() -> None:
        await asyncio.gather(*(site.service.run(lambda _: free.wait(20), writes=True) for _ in range(many)))

    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(asyncio.run, stuck())
        try:
            start = time.monotonic()
            assert site.ask("/api/search", {"query": "keys"}).status == 200
            assert site.ask("/metrics").status == 200
            assert time.monotonic() - start < 5
        finally:
            free.set()
        writing.result(20)


def test_metrics_are_told_while_every_worker_is_busy(site: Served) -> None:
    free = Event()
    many = site.service.limits.workers + 1

    async def stuck() -> None:
        await asyncio.gather(*(site.service.run(lambda _: free.wait(20)) for _ in range(many)))

    with ThreadPoolExecutor(1) as pool:
        asking = pool.submit(asyncio.run, stuck())
        try:
            deadline = time.monotonic() + 5
            while site.service.work.under_way < many and time.monotonic() < deadline:
                time.sleep(0.01)
            text = site.ask("/metrics").content.decode()
        finally:
            free.set()
        asking.result(20)
    assert f"watersmeet_work_under_way {many}" in text
    assert "watersmeet_index_documents" in text


def test_a_write_that_nobody_waits_for_stops() -> None:
    stop, told = Event(), list[Progress]()
    tell = cancellable(stop, told.append)
    step = Progress("embedding", 1, 2, "chunks")
    tell(step)
    stop.set()
    with pytest.raises(Stopped):
        tell(step)
    assert told == [step]


def test_half_open_connections_shut_nobody_out(site: Served) -> None:
    opened = []
    try:
        for _ in range(process.MAX_CONNECTIONS_PER_ADDRESS + 40):
            connection = socket.create_connection(("127.0.0.1", site.port), timeout=5)
            connection.sendall(b"GET /health HTTP/1.1\r\nHost: local")
            opened.append(connection)
        assert site.ask("/health").status == 200
    finally:
        for connection in opened:
            connection.close()


@pytest.mark.parametrize("first", [b"", b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"])
def test_a_head_that_does_not_come_is_not_waited_for(
    site: Served, monkeypatch: pytest.MonkeyPatch, first: bytes
) -> None:
    """Neither that of the first request nor that of a later one."""
    monkeypatch.setattr(process, "HEADER_SECONDS", 0.3)
    with socket.create_connection(("127.0.0.1", site.port), timeout=5) as connection:
        if first:
            connection.sendall(first)
            assert b"200 OK" in connection.recv(65536)
        for letter in b"GET /hea":
            connection.sendall(bytes([letter]))
        start = time.monotonic()
        try:
            while connection.recv(65536):
                pass
        except ConnectionResetError:
            pass
        assert time.monotonic() - start < 3


def test_one_caller_does_not_get_all_sessions(
    site: Served, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sessions, "MAX_SESSIONS_PER_CALLER", 3)
    kind = {"Accept": "application/json, text/event-stream"}
    seen = [site.ask("/mcp", HELLO, **kind) for _ in range(5)]
    assert [one.status for one in seen] == [200] * 5
    names = [one.headers["mcp-session-id"] for one in seen]
    ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
    asked = [site.ask("/mcp", ping, **kind, Mcp_Session_Id=name).status for name in names]
    assert asked == [404, 404, 200, 200, 200]  # those that were used least lately have made room
    _, other = Tokens().create("read")
    assert site.ask("/mcp", HELLO, token=other, **kind).status == 200
    assert site.ask("/mcp", ping, **kind, Mcp_Session_Id=names[2]).status == 200
    assert site.ask("/mcp", ping, token=other, **kind, Mcp_Session_Id=names[2]).status == 404  # it is not theirs
    assert site.ask("/mcp", None, "DELETE", Mcp_Session_Id=names[3]).status == 200
    assert site.ask("/mcp", HELLO, **kind).status == 200
    assert site.ask("/mcp", ping, **kind, Mcp_Session_Id=names[4]).status == 200
    assert capfd.readouterr().err == ""


def test_metrics_do_not_grow_with_what_is_made_up(site: Served) -> None:
    for number in range(5):
        site.raw(f"METHOD{number}", "/api/status", None, {})
        site.raw("GET", f"/made/up/{number}", None, {"Host": "evil.example"})
    text = site.ask("/metrics").content.decode()
    assert "METHOD" not in text
    assert "made" not in text
    assert 'method="other"' in text


def test_many_globs_are_refused_and_a_few_are_quick(site: Served) -> None:
    worst = "?*" * 99
    assert site.ask("/api/search", {"query": "keys", "filters": {"path": ["a"] * 21}}).status == 422
    assert site.ask("/api/search", {"query": "keys", "filters": {"path": ["a" * 201]}}).status == 422
    start = time.monotonic()
    globs = [f"{worst}{number}" for number in range(10)]
    assert site.ask("/api/search", {"query": "keys", "filters": {"path": globs}}).status == 200
    assert time.monotonic() - start < 2


# ---------------------------------------------------------------- tokens


def test_two_that_change_the_tokens_at_once_lose_nothing() -> None:
    """Each keeps one of the two that it makes; a token that was revoked does not come back."""

    def change(_: int) -> tuple[str, str]:
        mine = Tokens()
        (kept, _), (gone, _) = mine.create("read"), mine.create("read")
        mine.revoke(gone.id)
        return kept.id, gone.id

    with ThreadPoolExecutor(8) as pool:
        done = list(pool.map(change, range(16)))
    assert set(Tokens().all()) == {kept for kept, _ in done}


def test_the_last_token_revoked_opens_no_door(site: Served) -> None:
    token, _ = Tokens().create("write")
    Tokens().revoke(token.id)
    assert not Tokens().all()
    assert site.ask("/api/entities", {**OPEN, "path": "/new"}).status == 403
    assert site.ask("/api/status").status == 200


def test_a_stream_ends_with_its_token(far: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is sent on a stream after the token was revoked is not sent."""
    monkeypatch.setattr(EventSourceResponse, "DEFAULT_PING_INTERVAL", 0.3)
    token, sent = Tokens().create("read")
    opened = far.ask("/mcp", HELLO, token=sent, Accept="application/json, text/event-stream")
    connection = http.client.HTTPConnection("127.0.0.1", far.port, timeout=5)
    try:
        headers = {
            "Accept": "text/event-stream",
            "Authorization": f"Bearer {sent}",
            "Mcp-Session-Id": opened.headers["mcp-session-id"],
        }
        connection.request("GET", "/mcp", headers=headers)
        stream = connection.getresponse()
        assert stream.status == 200
        Tokens().revoke(token.id)
        deadline = time.monotonic() + 5
        with contextlib.suppress(http.client.IncompleteRead, ConnectionError):
            while stream.read1():  # heartbeats, until it ends at the first after the revocation
                assert time.monotonic() < deadline
    finally:
        connection.close()


# ---------------------------------------------------------------- what a stranger learns


def test_a_virtual_server_shows_what_stands_behind_it_to_whom_that_is_for(site: Served) -> None:
    site.service.engine.registry.register([VIRTUAL])
    _, ann = Tokens().create("read", "ann")
    asked: list[tuple[str, Any]] = [
        ("/api/search/semantic", {"query": "everything"}),
        ("/api/entities", None),
        ("/api/entities/virtual/all", None),
        ("/api/documents//virtual/all", None),
    ]
    for path, body in asked:
        stranger, owner = (site.ask(path, body, token=token).content.decode() for token in ("", ann))
        assert "/virtual/all" in stranger, path
        assert "/clock" in stranger, path
        assert "/vault" not in stranger, path
        assert "/vault" in owner, path
        assert ("launch" in stranger, "launch" in owner) == (False, path != "/api/search/semantic"), path
    passages = {"query": "everything in one place", "budget": 1000, "explain": True}
    stranger, owner = (site.ask("/api/search", passages, token=token).content.decode() for token in ("", ann))
    assert ("launch" in stranger, "launch" in owner) == (False, True)
    shown = site.ask("/api/entities/virtual/all").json()
    assert shown["metadata"]["backend_count"] == len(shown["metadata"]["backend_paths"]) == 1
    assert [tool["name"] for tool in shown["tools"]] == ["now"]
    for token, tools in (("", ["now"]), (ann, ["now", "launch"])):
        asked_for = {"query": "everything: now, launch", "entity_types": ["virtual_server"]}
        (found,) = site.ask("/api/search/semantic", asked_for, token=token).json()["virtual_servers"]
        assert {tool["tool_name"] for tool in found["matching_tools"]} == set(tools)
        document = site.ask("/api/documents//virtual/all", token=token).json()
        counts = (found["tool_count"], found["metadata"]["num_tools"], document["fields"]["num_tools"])
        assert counts == (len(tools),) * 3


def test_where_files_lie_is_told_on_this_machine_only(far: Served, site: Served, vault: Path) -> None:
    _, reader = Tokens().create("read")
    asked: list[tuple[str, Any]] = [
        ("/api/search", {"query": "rotate keys", "explain": True}),
        ("/api/documents/guides/keys.md", None),
        ("/api/related/index.md", None),
    ]
    for path, body in asked:
        assert str(vault) in site.ask(path, body).content.decode(), path
        away = far.ask(path, body, token=reader)
        assert away.status == 200
        assert str(vault) not in away.content.decode(), path
        assert str(vault) not in site.ask(path, body, X_Forwarded_For="10.1.1.1").content.decode(), path
    assert far.ask(asked[1][0], token=reader).json()["path"] == "guides/keys.md"


def test_what_went_wrong_does_not_say_where_the_index_lies(far: Served) -> None:
    _, writer = Tokens().create("write")
    folder = far.service.engine.folder
    assert "the index" in far.service.without_folder(f"process 1 is writing to {folder}")
    answer = asked_by_mcp(far, "sync", {"paths": ["a\0b"]}, writer)
    assert "NUL" in answer
    assert folder not in answer


def asked_by_mcp(site: Served, tool: str, values: dict[str, Any], token: str) -> str:
    async def go() -> str:
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}) as plain,
            Client(streamable_http_client(f"{site.url}/mcp", http_client=plain)) as client,
        ):
            answer = await client.call_tool(tool, values)
            assert answer.is_error
            return str(answer.content[0].text)  # type: ignore[union-attr] # an error is text

    return asyncio.run(go())


@pytest.mark.parametrize(
    "path", ["/api/status?x=1", "/api/documents?limt=3", "/api/classify?query=a&q=b", "/api/search/tags?all=1"]
)
def test_a_parameter_that_nobody_reads_is_refused_by_name(site: Served, path: str) -> None:
    answer = site.ask(path)
    assert answer.status == 422
    assert path.partition("?")[2].rpartition("&")[2].partition("=")[0] in answer.json()["detail"]
    assert site.ask("/?q=keys").status == 200  # the page keeps its own there


def test_only_the_page_at_this_port_may_ask(site: Served) -> None:
    asked = {"query": "keys"}
    assert site.ask("/api/search", asked, Origin=site.url).status == 200
    assert site.ask("/api/search", asked, Origin=f"http://127.0.0.1:{site.port + 1}").status == 403
    assert site.ask("/api/search", asked, Origin="http://127.0.0.1").status == 403


@pytest.mark.parametrize("path", ["", "/", "//", "%23", "a%23b", "x" * 501])
def test_a_path_that_no_entity_can_have_is_refused(site: Served, path: str) -> None:
    assert site.ask(f"/api/entities/{path}", OPEN, "PUT").status in (404, 405, 422)
    assert site.ask("/api/entities").json()["total"] == 1


def test_every_problem_says_what_to_do(site: Served) -> None:
    long = str(site.service.limits.body_bytes + 1)
    refused: list[Reply] = [
        site.ask("/api/search", b"{", Content_Type="application/json"),
        site.raw("POST", "/api/search", b"x", {"Content-Length": long}),
        site.ask("/api/search", {"query": "keys"}, Origin="http://evil.example"),
        site.ask("/api/entities", {"nonsense": 1}),
        site.ask("/api/entities/vault", OPEN, "PUT"),
        site.ask("/nowhere"),
        site.ask("/api/search", None, "DELETE"),
        site.ask("/api/documents/nothing"),
    ]
    assert [one.status for one in refused] == [400, 413, 403, 422, 404, 404, 405, 404]
    assert all(one.json()["hint"] for one in refused)
    assert "taken" not in json.dumps(refused[4].json())


# ---------------------------------------------------------------- MCP


def test_a_prompt_that_is_too_long_and_an_argument_where_there_is_none(site: Served) -> None:
    async def go() -> tuple[MCPError, str]:
        async with Client(f"{site.url}/mcp") as client:
            with pytest.raises(MCPError) as caught:
                await client.get_prompt("answer_with_citations", {"question": "x" * 600})
            answer = await client.call_tool("status", {"verbose": True})
            return caught.value, str(answer.content[0].text)  # type: ignore[union-attr] # an error is text

    error, said = asyncio.run(go())
    assert error.code == -32602
    assert "'verbose'" in said
    assert "this tool takes no arguments" in said


# ---------------------------------------------------------------- the command line


@pytest.mark.parametrize("command", ["install", "uninstall"])
@pytest.mark.parametrize("name", ["../../../escaped", "a/b", "", ".", "a b", "-x"])
def test_an_entry_has_a_name_and_not_a_path(run: Any, tmp_path: Path, command: str, name: str) -> None:
    done = run(command, "cursor", f"--as={name}", "--yes", cwd=tmp_path)
    assert done.returncode == 2
    assert "letters, digits, - and _ only" in done.stderr
    assert not (tmp_path / ".cursor").exists()


def test_what_is_linked_with_a_document_says_nothing_of_hidden_backends(engine: Engine, vault: Path) -> None:
    (vault / "doc.md").write_text("# Doc\n\nSee [[/virtual/all]].\n")
    odd = {**OPEN, "path": "/odd", "metadata": {"status": "gold", "backend_paths": ["/vault", "/clock"]}}
    engine.sync([vault])
    engine.registry.register([OPEN, SECRET, VIRTUAL, odd])
    with served(engine) as site:
        related = site.ask("/api/related/doc.md").json()
        assert related["results"]
        assert "launch" not in json.dumps(related)
        told = site.ask("/api/documents//odd").json()["fields"]
        assert (told["status"], told["backend_paths"]) == ("active", ["/clock"])
        assert told["record"]["metadata"] == {"status": "gold", "backend_paths": ["/clock"]}
