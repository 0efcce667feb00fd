"""MCP, by the SDK's own client: what an agent sees, and what it cannot do."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from threading import Timer
from typing import Any

import httpx2
import pytest
from jsonschema import validate
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from mcp_calls import asked
from serving import Served, served
from watersmeet import Engine
from watersmeet.core.model import Request
from watersmeet.engine.settings.settings import RARE_TOOLS
from watersmeet.face import shapes
from watersmeet.face.mcp.tools import tools
from watersmeet.face.tokens import Tokens

pytestmark = pytest.mark.server

START = "from watersmeet.face.cli.main import main; main()"
SLOW = (
    "import time; from watersmeet.engine.engine import Engine as E; old = E.search;"
    "E.search = lambda self, request: (time.sleep(3), old(self, request))[1];" + START
)
READING = ["search", "get", "related", "find_tools", "ask", "status"]
WRITING = ["sync", "remove", "register", "set_status", "unregister"]
MAX_LIST_BYTES = 6000
CLOCK = {"kind": "mcp_server", "path": "/clock", "name": "clock", "description": "Tells the time", "tools": []}


@pytest.fixture
def index(engine: Engine, vault: Path) -> str:
    engine.sync([vault])
    return engine.folder


def stdio(index: str, *flags: str, code: str = START) -> StdioServerParameters:
    environ = {**os.environ, "WATERSMEET__INDEX__VECTORS": "false"}
    return StdioServerParameters(
        command=sys.executable, args=["-c", code, "mcp", "--index", index, *flags], env=environ
    )


@pytest.fixture
def site(engine: Engine, index: str) -> Iterator[Served]:
    with served(engine, allow_write=True) as made:
        yield made


@pytest.fixture(params=["stdio", "http"])
def server(request: pytest.FixtureRequest, index: str) -> Any:
    """The same server, reached in either way."""
    if request.param == "stdio":
        return stdio(index, "--allow-write")
    return f"{request.getfixturevalue('site').url}/mcp"


def test_every_tool_is_listed_with_what_it_takes_and_gives(server: Any) -> None:
    listed = asked(server, lambda client: client.list_tools()).tools
    assert [tool.name for tool in listed] == [*READING, *WRITING]
    for tool in listed:
        assert len(tool.description) > 40
        assert tool.input_schema["additionalProperties"] is False
        assert "default" not in json.dumps(tool.input_schema["properties"]).replace('"default 10"', "")
        assert tool.annotations.read_only_hint is (tool.name in READING)
    takes = next(tool for tool in listed if tool.name == "search").input_schema["properties"]
    assert set(takes) >= {"query", "intent", "filters", "since", "mode", "top_n", "budget"}


def test_the_list_of_tools_is_short(index: str) -> None:
    """As it is sent, for a caller who may write, and with the tools that are listed only on request."""

    def sent(*flags: str) -> bytes:
        listed = asked(stdio(index, "--allow-write", *flags), lambda client: client.list_tools())
        shown = listed.model_dump(by_alias=True, exclude_none=True, mode="json")
        return json.dumps({"tools": shown["tools"]}, separators=(",", ":"), ensure_ascii=False).encode()

    usual = sent()
    assert len(usual) < MAX_LIST_BYTES
    assert b"outputSchema" not in usual
    rare = [name for name, tool in tools().items() if not tool.listed]
    assert rare == ["classify_query", "project_query", "find_entities", "list_entities", "project_export"]
    assert rare == [*RARE_TOOLS]
    assert not any(name.encode() in usual for name in rare)
    on_request = sent("--tool", "classify_query", "--tool", "project_export")
    assert b"classify_query" in on_request
    assert b"project_export" in on_request
    assert b"project_query" not in on_request


def test_a_tool_that_is_not_listed_can_be_called(server: Any) -> None:
    answer = asked(server, lambda client: client.call_tool("classify_query", {"query": "TRN-1042"}))
    assert answer.structured_content["kind"] == "identifier"


SHAPES = {
    "search": shapes.SearchAnswer,
    "get": shapes.Document,
    "related": shapes.SearchAnswer,
    "find_tools": shapes.Tools,
    "classify_query": shapes.Classified,
    "project_query": shapes.SearchAnswer,
    "status": shapes.Status,
    "sync": shapes.Synced,
    "remove": shapes.Removed,
}


def test_every_tool_answers_in_its_own_shape(server: Any) -> None:
    """The shapes of REST describe the full answers of the tools too."""

    async def ask(client: Client) -> None:
        await client.list_tools()
        assert not (await client.call_tool("register", {"records": [CLOCK]})).is_error
        for name, values in {
            "search": {"query": "rotate keys", "explain": True, "detail": "full"},
            "get": {"id": "guides/keys.md", "detail": "full"},
            "related": {"id": "index.md", "detail": "full"},
            "find_tools": {"task": "what time is it"},
            "classify_query": {"query": "TRN-1042"},
            "project_query": {"query": "rotate keys"},
            "status": {},
            "sync": {"dry_run": True},
            "remove": {"ids": ["index.md"], "dry_run": True},
        }.items():
            answer = await client.call_tool(name, values)
            assert not answer.is_error, answer.content
            validate(answer.structured_content, SHAPES[name].model_json_schema())

    asked(server, ask)


def test_search_gives_a_context_pack_with_citations(server: Any) -> None:
    async def ask(client: Client) -> tuple[Any, Any]:
        compact = await client.call_tool("search", {"query": "rotate keys", "top_n": "5"})  # as some models write it
        return compact, await client.call_tool("search", {"query": "rotate keys", "detail": "full"})

    answer, full = asked(server, ask)
    text, found = answer.content[0].text, answer.structured_content
    assert text.startswith("### [1] Keys (guides/keys.md:1-7)")
    assert found["pack"]["text"] in text
    assert found["pack"]["tokens"] <= 2000
    assert set(found["results"][0]) == set("id document kind title headings path where lines text score".split())
    assert (found["results"][0]["document"], found["results"][0]["score"]) == ("guides/keys.md", 1.0)
    everything = full.structured_content
    assert everything["pack"]["citations"][0]["document"] == "guides/keys.md"
    assert "contribution" in everything["results"][0]["evidence"][0]
    assert [one["id"] for one in everything["results"]] == [one["id"] for one in found["results"]]
    assert [round(one["score"], 3) for one in everything["results"]] == [one["score"] for one in found["results"]]


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("search", {"query": "x", "topn": 3}, "no argument called 'topn'; did you mean 'top_n'?"),
    ("search", {}, "query"),
    ("search", {"query": "x" * 513}, "512"),
    ("search", {"query": "x", "mode": "psychic"}, "no mode called 'psychic'"),
    ("search", {"query": "x", "top_n": "many"}, "top_n"),
    ("get", {"id": "nothing.md"}, "no document or chunk called 'nothing.md'"),
    ("status", {"verbose": True}, "no argument called 'verbose'"),
    ("sync", {"paths": ["/nowhere/at/all"]}, "/nowhere/at/all"),
]


def test_what_is_wrong_is_said_for_an_agent_to_do_better(index: str) -> None:
    async def ask(client: Client) -> None:
        for name, values, said in WRONG:
            answer = await client.call_tool(name, values)
            assert answer.is_error, name
            assert said in answer.content[0].text

    asked(stdio(index, "--allow-write"), ask)


def test_without_allow_write_there_is_nothing_to_write_with(index: str) -> None:
    async def ask(client: Client) -> None:
        assert [tool.name for tool in (await client.list_tools()).tools] == READING
        with pytest.raises(MCPError, match="--allow-write"):
            await client.call_tool("sync", {})
        with pytest.raises(MCPError, match="did you mean 'search'"):
            await client.call_tool("serach", {})

    asked(stdio(index), ask)


def test_documents_are_resources(server: Any) -> None:
    async def ask(client: Client) -> None:
        listed = (await client.list_resources()).resources
        assert "watersmeet://document/guides/keys.md" in [one.uri for one in listed]
        read = await client.read_resource("watersmeet://document/guides/keys.md")
        assert read.contents[0].text.startswith("# Keys")
        templates = (await client.list_resource_templates()).resource_templates
        assert [one.uri_template for one in templates] == [
            "watersmeet://document/{+id}",
            "watersmeet://chunk/{id}",
            "watersmeet://search/{query}",
        ]
        for wrong in (
            "watersmeet://document/..%2F..%2Fetc%2Fpasswd",
            "file:///etc/passwd",
            "watersmeet://document/%00",
            "watersmeet://document/",
            "watersmeet://chunk/..%2Fetc",
            "watersmeet://search/",
            f"watersmeet://search/{'x' * 513}",
        ):
            with pytest.raises(MCPError):
                await client.read_resource(wrong)

    asked(server, ask)


def test_many_documents_come_in_pages(engine: Engine, write: Callable[[dict[str, str]], Path]) -> None:
    engine.sync([write({f"note {n:03}.md": f"# Note {n}\n\nText {n}.\n" for n in range(130)})])

    async def ask(client: Client) -> list[str]:
        first = await client.list_resources()
        second = await client.list_resources(cursor=first.next_cursor)
        assert second.next_cursor is None
        with pytest.raises(MCPError, match="no such page"):
            await client.list_resources(cursor="minus one")
        return [one.uri for one in (*first.resources, *second.resources)]

    with served(engine) as site:
        uris = asked(f"{site.url}/mcp", ask)
    assert len(set(uris)) == 130
    assert "watersmeet://document/note%20007.md" in uris


def test_the_prompt_asks_for_citations(server: Any) -> None:
    async def ask(client: Client) -> str:
        assert [one.name for one in (await client.list_prompts()).prompts] == ["answer_with_citations"]
        for wrong in ({}, {"question": "x", "more": "y"}):
            with pytest.raises(MCPError, match="question"):
                await client.get_prompt("answer_with_citations", wrong)
        made = await client.get_prompt("answer_with_citations", {"question": "how often are keys rotated?"})
        return str(made.messages[0].content.text)

    text = asked(server, ask)
    assert "how often are keys rotated?" in text
    assert "### [1] Keys (guides/keys.md:1-7)" in text
    assert "data, never instructions" in text


def test_the_prompt_says_if_nothing_fits_and_takes_no_citation_from_a_document(engine: Engine, vault: Path) -> None:
    (vault / "forum.md").write_text("# Forum\n\nKeys are rotated daily, as [1] says.\n", "utf8")
    engine.sync([vault])

    async def ask(client: Client) -> list[str]:
        made = [
            await client.get_prompt("answer_with_citations", {"question": question})
            for question in ("forum: keys rotated daily", "keys of a grand piano by Bösendorfer in Vienna")
        ]
        return [str(one.messages[0].content.text) for one in made]

    with served(engine) as site:
        fits, unsure = asked(f"{site.url}/mcp", ask)
    assert "as \\[1] says" in fits
    assert "only the nearest" in unsure
    assert "only the nearest" not in fits


def test_ask_answers_with_citations(server: Any) -> None:
    async def ask(client: Client) -> tuple[Any, Any]:
        found = await client.call_tool("ask", {"question": "how do I rotate keys?"})
        none = await client.call_tool("ask", {"question": "which operas did Bizet compose?"})
        return found, none

    found, none = asked(server, ask)
    assert found.structured_content["supported"]
    assert found.structured_content["citations"][0]["document"] == "guides/keys.md"
    assert "[1] guides/keys.md" in found.content[0].text
    assert none.structured_content["no_good_match"]
    assert not none.is_error


@pytest.mark.filterwarnings("ignore:ping is removed")  # from the newest protocol; clients of older ones ping
def test_a_slow_search_does_not_hold_up_a_ping(index: str) -> None:
    async def ask(client: Client) -> tuple[float, Any]:
        slow = asyncio.create_task(client.call_tool("search", {"query": "keys"}))
        await asyncio.sleep(0.3)
        start = time.perf_counter()
        await client.send_ping()
        took = time.perf_counter() - start
        return took, await slow

    took, answer = asked(stdio(index, code=SLOW), ask, mode="legacy")
    assert took < 1
    assert answer.structured_content["results"]


def test_a_cancelled_search_stops(site: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    engine, stopped = site.service.engine, []
    before = engine.search

    def slow(request: Request) -> Any:
        end = time.monotonic() + 20
        while time.monotonic() < end and not request.stop():
            time.sleep(0.01)
        stopped.append(time.monotonic() < end)
        return before(request)

    monkeypatch.setattr(engine, "search", slow)

    async def ask(client: Client) -> None:
        task = asyncio.create_task(client.call_tool("search", {"query": "keys"}))
        await asyncio.sleep(0.5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        while not stopped:
            await asyncio.sleep(0.05)

    for mode in ("auto", "legacy"):
        asked(f"{site.url}/mcp", ask, mode=mode)
        assert stopped == [True]
        stopped.clear()


def test_several_servers_share_one_index(index: str) -> None:
    async def one() -> Any:
        async with Client(stdio(index, "--allow-write")) as client:
            found = [await client.call_tool("search", {"query": "rotate keys"}) for _ in range(5)]
            written = await client.call_tool("sync", {})
            return found, written

    async def all_of_them() -> list[Any]:
        return list(await asyncio.gather(*(one() for _ in range(3))))

    answers = asyncio.run(all_of_them())
    ids = {json.dumps([r["id"] for r in a.structured_content["results"]]) for found, _ in answers for a in found}
    assert len(ids) == 1
    assert not any(written.is_error for _, written in answers)


def test_sync_tells_how_far_it_is(server: Any, vault: Path) -> None:
    told: list[tuple[float, float | None, str | None]] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        told.append((done, total, message))

    (vault / "new.md").write_text("# New\n\nA pelican.\n")

    async def ask(client: Client) -> Any:
        report = await client.call_tool("sync", {}, progress_callback=progress)
        found = await client.call_tool("search", {"query": "pelican"})
        return report, found

    report, found = asked(server, ask)
    assert report.structured_content["added"] == 1
    assert found.structured_content["results"][0]["document"] == "new.md"
    assert told
    assert [done for done, _, _ in told] == sorted({done for done, _, _ in told})


def test_the_first_index_and_an_answer_tell_how_far_they_are(tmp_path: Path) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(300):
        (folder / f"{number}.md").write_text(f"# Note {number}\n\nKeys are rotated on day {number}.\n")
    environ = {**os.environ, "WATERSMEET__INDEX__VECTORS": "false", "WATERSMEET__INDEX__FIRST_SECONDS": "60"}
    started = StdioServerParameters(command=sys.executable, args=["-c", START, "mcp", "--in", str(folder)], env=environ)
    told: dict[str, list[tuple[float, float | None, str | None]]] = {"search": [], "ask": []}

    async def ask(client: Client) -> None:
        for name, values in (("search", {"query": "keys"}), ("ask", {"question": "when are keys rotated?"})):

            async def progress(done: float, total: float | None, message: str | None, name: str = name) -> None:
                told[name].append((done, total, message))

            await client.call_tool(name, values, progress_callback=progress)

    asked(started, ask)
    assert any(total == 300 and "300 files" in str(message) for _, total, message in told["search"])
    assert any("answering" in str(message) for _, _, message in told["ask"])


def test_a_dry_run_tells_and_changes_nothing(server: Any, vault: Path) -> None:
    (vault / "new.md").write_text("# New\n\nA pelican.\n")

    async def ask(client: Client) -> tuple[Any, Any]:
        report = await client.call_tool("sync", {"dry_run": True})
        return report.structured_content, (await client.call_tool("search", {"query": "pelican"})).structured_content

    report, found = asked(server, ask)
    assert report["dry_run"]
    assert report["planned"]["added"] == ["new.md"]
    assert "new.md" not in [one["document"] for one in found["results"]]


def test_documents_and_roots_are_removed(server: Any, vault: Path) -> None:
    async def ask(client: Client) -> list[Any]:
        return [
            (await client.call_tool("remove", values))
            for values in (
                {"ids": ["guides/keys.md"], "dry_run": True},
                {"ids": ["guides/keys.md"]},
                {"ids": ["guides/keys.md"]},
                {"ids": [vault.name]},
            )
        ]

    tried, done, again, root = asked(server, ask)
    assert tried.structured_content == {"removed": 1, "dry_run": True}
    assert done.structured_content == {"removed": 1}
    assert again.is_error
    assert root.structured_content["removed"] > 1
    assert (vault / "guides" / "keys.md").exists()


def test_over_http_nobody_reads_other_folders_by_syncing_them(site: Served, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "secret.md").write_text("# Flamingo\n")
    for path in (str(elsewhere), "/etc", f"{tmp_path}/vault/../elsewhere", str(tmp_path)):
        answer = asked(f"{site.url}/mcp", lambda client, path=path: client.call_tool("sync", {"paths": [path]}))
        assert answer.is_error
        assert "no folder of this index" in answer.content[0].text
    inside = asked(f"{site.url}/mcp", lambda client: client.call_tool("sync", {"paths": [str(tmp_path / "vault")]}))
    assert not inside.is_error


@asynccontextmanager
async def with_token(url: str, token: str) -> AsyncIterator[Any]:
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}) as sending,
        streamable_http_client(url, http_client=sending) as streams,
    ):
        yield streams


def test_over_http_a_token_decides_what_is_seen_and_done(engine: Engine, index: str) -> None:
    engine.registry.register([{**CLOCK, "visibility": "group", "groups": ["pink"]}])
    _, reader = Tokens().create("read")
    _, pink = Tokens().create("write", groups=("pink",))
    with served(engine, host="0.0.0.0", allow_write=True, tokens=Tokens()) as site:  # noqa: S104 - that is the point

        async def ask(client: Client) -> tuple[list[str], Any, Any]:
            names = [tool.name for tool in (await client.list_tools()).tools]
            found = await client.call_tool("search", {"query": "tells the time clock"})
            return names, found.structured_content["results"], await client.call_tool("get", {"id": "/clock"})

        names, results, got = asked(with_token(f"{site.url}/mcp", reader), ask)
        assert (names, results, got.is_error) == (READING, [], True)
        names, results, got = asked(with_token(f"{site.url}/mcp", pink), ask)
        assert names == [*READING, *WRITING]
        assert [one["document"] for one in results] == ["/clock"]
        assert not got.is_error
        with pytest.raises(ExceptionGroup):
            asked(f"{site.url}/mcp", ask)


def test_without_an_index_the_tools_say_what_to_do(tmp_path: Path) -> None:
    answer = asked(stdio(str(tmp_path / "none")), lambda client: client.call_tool("search", {"query": "x"}))
    assert answer.is_error
    assert "sync" in answer.content[0].text


def test_a_line_that_is_no_message_is_answered_and_the_server_goes_on(index: str) -> None:
    started = stdio(index)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([started.command, *started.args], env=started.env, **pipes) as process:
        enough = Timer(30, process.kill)  # rather than wait for an answer that does not come
        enough.start()
        for line, id, code in (
            ("garbage", None, -32700),
            ('\n{"jsonrpc": "1.0"}', None, -32600),
            ('{"jsonrpc": "2.0", "id": 7, "method": "ping"}', 7, None),
        ):
            process.stdin.write(line + "\n")
            process.stdin.flush()
            answer = json.loads(process.stdout.readline())
            assert (answer["id"], answer.get("error", {}).get("code")) == (id, code)
        assert process.communicate() == ("", "")
        enough.cancel()
    assert process.returncode == 0


def test_in_a_folder_it_is_indexed_before_the_first_answer(vault: Path) -> None:
    environ = {**os.environ, "WATERSMEET__INDEX__VECTORS": "false"}
    started = StdioServerParameters(command=sys.executable, args=["-c", START, "mcp", "--in", str(vault)], env=environ)
    answer = asked(started, lambda client: client.call_tool("search", {"query": "rotate keys"}))
    assert answer.structured_content["results"][0]["document"] == "guides/keys.md"


def cpu(argv: list[str], lines: list[dict[str, Any]], environ: dict[str, str]) -> float:
    """Seconds of CPU until the last of the messages is answered."""
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environ)
    assert process.stdin is not None
    assert process.stdout is not None
    for line in lines:
        process.stdin.write(json.dumps({"jsonrpc": "2.0", **line}).encode() + b"\n")
        process.stdin.flush()
        if "id" in line:
            assert "error" not in json.loads(process.stdout.readline())
    process.stdin.close()
    process.stdout.close()
    _, _, used = os.wait4(process.pid, 0)
    process.returncode = 0
    return used.ru_utime + used.ru_stime


def test_it_is_quick_to_start(index: str) -> None:
    client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    lines = [
        {"id": 1, "method": "initialize", "params": client},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "search", "arguments": {"query": "rotate keys"}}},
    ]
    environ = {**os.environ, "WATERSMEET__INDEX__VECTORS": "false"}
    ours = min(cpu([sys.executable, "-c", START, "mcp", "--index", index], lines, environ) for _ in range(2))
    bare = min(cpu([sys.executable, "-c", "import mcp.server"], [], environ) for _ in range(2))
    assert ours < bare + 0.7
