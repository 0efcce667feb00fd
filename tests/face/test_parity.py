"""One engine, every door: the command line, Python, REST and MCP give the same answer to the same question."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from serving import Served, served
from watersmeet import AsyncClient, AsyncEngine, Engine
from watersmeet import Client as HttpClient
from watersmeet.core.model import Answer, Condition, Request
from watersmeet.engine.query.filters import condition
from watersmeet.engine.settings.settings import load, recipes
from watersmeet.face.cli.main import run

pytestmark = pytest.mark.slow

HANDBOOK = Path(__file__).parents[2] / "examples" / "handbook"
START = "from watersmeet.face.cli.main import main; main()"
ENVIRON = {"WATERSMEET__INDEX__DENSE": "hashed"}  # the same on every machine, and no model to load

QUERIES = (
    "how do I log on?",
    "TRN-1042",
    "rotate the keys every quarter",
    "backup",
    "--no-telemetry",
    "what to do when the server does not start",
    "expenses for travel",
    "#security keys",
    "release",
    "naïve café 東京",
)
OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"mode": "lexical"},
    {"mode": "exact"},
    {"mode": "static"},
    {"mode": "dense"},
    {"mode": "sparse"},
    {"mode": "hybrid", "top_n": 3},
    {"top_n": 25},
    {"filters": {"path": ["**/*.md"], "kind": ["document"]}},
    {"filters": {"tag": ["security", "keys"]}},
    {"since": "2000-01-01", "before": "2100"},
    {"intent": "I have forgotten my password"},
    {"explain": True},
    {"strict": True, "mode": "lexical"},
    {"why_not": "accounts/sign-in.md"},
    *({"recipe": name} for name in recipes()),
)


SERVERS = [
    {
        "kind": "mcp_server",
        "path": f"/{name}",
        "name": name,
        "description": f"All about {name}",
        "tools": [{"name": f"{verb}_{name}", "description": f"Can {verb} the {name}"} for verb in ("list", "send")],
    }
    for name in ("invoices", "letters", "parcels")
] + [{"kind": "mcp_server", "path": "/post-office", "name": "Post office", "description": "Send a parcel abroad"}]


def questions() -> list[dict[str, Any]]:
    """At least fifty, with each option several times and with different queries."""
    many = max(50, 2 * len(OPTIONS))
    return [{"query": QUERIES[n % len(QUERIES)], **OPTIONS[n % len(OPTIONS)]} for n in range(many)]


COMPARED = ("id", "document", "where", "lines", "score", "fusion_score", "similarity")


def _json(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


@dataclass(frozen=True)
class Seen:
    """What is compared: all of it exactly."""

    mode: str
    recipe: str
    results: tuple[tuple[Any, ...], ...]
    failures: tuple[str, ...]

    @classmethod
    def of(cls, answer: dict[str, Any]) -> Seen:
        return cls(
            answer["mode"],
            answer["recipe"],
            tuple(tuple(r[name] for name in COMPARED) for r in answer["results"]),
            tuple(sorted(failure["by"] for failure in answer["failures"])),
        )

    @classmethod
    def of_python(cls, answer: Answer) -> Seen:
        return cls(
            answer.mode,
            answer.recipe,
            tuple(tuple(_json(getattr(r, name)) for name in COMPARED) for r in answer.results),
            tuple(sorted(failure.by for failure in answer.failures)),
        )


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("parity")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**ENVIRON, "XDG_CACHE_HOME": str(folder / "cache")}.items():
            patch.setenv(name, value)
        with Engine(folder / "index", load(start=str(folder))) as engine:
            assert engine.sync([HANDBOOK]).embedded
            assert engine.registry.register(SERVERS).registered == 4
            engine.deepen(tiers=("sparse",))
    return folder


@pytest.fixture
def engine(place: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    monkeypatch.chdir(place)
    for name, value in ENVIRON.items():
        monkeypatch.setenv(name, value)
    with Engine(place / "index", load()) as opened:
        yield opened


@pytest.fixture
def site(engine: Engine) -> Iterator[Served]:
    with served(engine) as made:
        yield made


def by_python(engine: Engine, asked: dict[str, Any]) -> Seen:
    """`Engine.search` called by hand."""
    pairs = [f"{key}={value}" for key, values in asked.get("filters", {}).items() for value in values]
    wanted = (
        condition(pairs, asked.get("since", ""), asked.get("before", "")) if pairs or "since" in asked else Condition()
    )
    request = Request(
        asked["query"],
        asked.get("mode", ""),
        asked.get("recipe", ""),
        asked.get("top_n", 10),
        wanted,
        asked.get("intent", ""),
        asked.get("strict", False),
    )
    return Seen.of_python(engine.search(request))


def python_options(asked: dict[str, Any]) -> dict[str, Any]:
    """The options of a question that `search` of Python has."""
    return {name: value for name, value in asked.items() if name not in ("query", "explain", "why_not")}


async def by_coroutines(place: AsyncEngine | AsyncClient) -> list[Seen]:
    """All questions, some of them at once."""
    limit = asyncio.Semaphore(4)

    async def ask(asked: dict[str, Any]) -> Seen:
        async with limit:
            return Seen.of_python(await place.search(asked["query"], **python_options(asked)))

    async with place:
        return await asyncio.gather(*map(ask, questions()))


def by_command(place: Path, asked: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> Seen:
    words = ["search", "--json", "--index", str(place / "index")]
    for name, value in asked.items():
        flag = f"--{name.replace('_', '-')}"
        if name == "filters":
            words += [part for key, values in value.items() for one in values for part in ("--filter", f"{key}={one}")]
        elif value is True:
            words.append(flag)
        elif name != "query":
            words += [flag, str(value)]
    code = run([*words, "--", asked["query"]])
    answer = json.loads(capsys.readouterr().out)
    assert code == (0 if answer["results"] else 1)
    return Seen.of(answer)


async def by_mcp(server: Any, mode: str) -> list[Seen]:
    """All questions over one connection, by the SDK's own client, with all details; half of them briefly as well."""
    seen = []
    async with Client(server, mode=mode) as client:
        for number, asked in enumerate(questions()):
            answer = await client.call_tool("search", {**asked, "detail": "full"})
            assert not answer.is_error, answer.content
            seen.append(Seen.of(answer.structured_content))
            if number % 2:
                check_compact((await client.call_tool("search", asked)).structured_content, answer.structured_content)
    return seen


def check_compact(brief: dict[str, Any], full: dict[str, Any]) -> None:
    """The brief answer has the same results in the same order, or the first two of them if nothing fits."""
    results = full["results"][:2] if full["no_good_match"] else full["results"]
    assert [(one["id"], one["document"], one.get("where", ""), one["score"]) for one in brief["results"]] == [
        (one["id"], one["document"], one["where"], round(one["score"], 3)) for one in results
    ]
    assert (brief["mode"], brief["recipe"]) == (full["mode"], full["recipe"])
    assert [one["by"] for one in brief.get("failures", ())] == [one["by"] for one in full["failures"]]
    assert brief["pack"]["text"] == (full["pack"]["text"] if not full["no_good_match"] else brief["pack"]["text"])


def test_every_face_gives_the_same_answer(
    engine: Engine, site: Served, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = questions()
    assert len(asked) >= 50
    expected = [by_python(engine, one) for one in asked]
    assert sum(bool(one.results) for one in expected) > 40
    assert {one.mode for one in expected} >= {"lexical", "exact", "static", "dense", "sparse", "hybrid"}
    places = [result[2:4] for one in expected for result in one.results]
    assert all(where == (f":{lines[0]}" if lines else "") for where, lines in places)
    assert any(lines is None for _, lines in places)  # of servers and tools
    rest = [Seen.of(site.ask("/api/search", one).json()) for one in asked]
    commands = [by_command(place, one, capsys) for one in asked]
    started = StdioServerParameters(
        command=sys.executable, args=["-c", START, "mcp", "--index", str(place / "index")], env=dict(os.environ)
    )
    stdio = asyncio.run(by_mcp(started, "auto"))
    over_http = asyncio.run(by_mcp(f"{site.url}/mcp", "auto"))
    legacy = asyncio.run(by_mcp(f"{site.url}/mcp", "legacy"))
    http = HttpClient(site.url)
    client = [Seen.of_python(http.search(one["query"], **python_options(one))) for one in asked]
    async_client = asyncio.run(by_coroutines(AsyncClient(site.url)))
    async_engine = asyncio.run(by_coroutines(AsyncEngine(place / "index", engine.settings)))
    for number, one in enumerate(asked):
        for name, seen in (
            ("rest", rest),
            ("cli", commands),
            ("stdio", stdio),
            ("http", over_http),
            ("http, handshake", legacy),
            ("Client", client),
            ("AsyncClient", async_client),
            ("AsyncEngine", async_engine),
        ):
            assert seen[number] == expected[number], (name, one)


def test_the_whole_answer_is_the_same_but_for_the_time_it_took(
    site: Served, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = {"query": "how do I log on?", "explain": True, "budget": 500}
    rest = site.ask("/api/search", asked).json()
    run(["search", "--json", "--explain", "--budget", "500", "--index", str(place / "index"), "--", asked["query"]])
    command = json.loads(capsys.readouterr().out)
    for answer in (rest, command):
        assert answer.pop("took_ms") > 0
        assert set(answer.pop("timings")) >= {"lexical", "fusion"}
    assert rest == command


def test_documents_and_what_is_related_are_the_same(
    engine: Engine, site: Served, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def ask() -> tuple[Any, Any, Any]:
        async with Client(f"{site.url}/mcp") as client:
            got = await client.call_tool("get", {"id": "accounts/sign-in.md", "detail": "full"})
            related = await client.call_tool("related", {"id": "accounts/sign-in.md", "top_n": 5, "detail": "full"})
            classified = await client.call_tool("classify_query", {"query": "TRN-1042"})
            return got.structured_content, related.structured_content, classified.structured_content

    got, related, classified = asyncio.run(ask())
    assert got == engine.get("accounts/sign-in.md") == site.ask("/api/documents/accounts/sign-in.md").json()
    assert got == HttpClient(site.url).get("accounts/sign-in.md")
    rest = site.ask("/api/related/accounts/sign-in.md?top_n=5").json()
    assert run(["related", "accounts/sign-in.md", "-n", "5", "--json", "--index", str(place / "index")]) == 0
    command = json.loads(capsys.readouterr().out)
    assert related["results"] == rest["results"] == command["results"]
    assert (
        HttpClient(site.url).related("accounts/sign-in.md", 5).results
        == engine.related("accounts/sign-in.md", 5).results
    )
    assert len(related["results"]) > 1
    assert run(["classify", "--json", "--index", str(place / "index"), "TRN-1042"]) == 0
    command = json.loads(capsys.readouterr().out)
    assert classified == site.ask("/api/classify?query=TRN-1042").json() == command


def test_tools_are_found_the_same(
    engine: Engine, site: Served, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def ask() -> Any:
        async with Client(f"{site.url}/mcp") as client:
            return (await client.call_tool("find_tools", {"task": "send a parcel", "top_n": 4})).structured_content

    assert run(["find-tools", "--json", "--index", str(place / "index"), "--top-n", "4", "send a parcel"]) == 0
    command = json.loads(capsys.readouterr().out)
    rest = site.ask("/api/find-tools?task=send%20a%20parcel&top_n=4").json()
    found = engine.registry.find_tools("send a parcel", top_n=4).to_json()
    assert found["tools"][0]["tool_name"] == "send_parcels"
    mcp = asyncio.run(ask())
    assert mcp["tools"] == rest["tools"] == command["tools"] == found["tools"]
    assert mcp["servers"] == rest["servers"] == command["servers"] == found["servers"]
    assert [server["server_path"] for server in found["servers"]] == ["/post-office"]
    client = HttpClient(site.url).registry
    assert client.find_tools("send a parcel", top_n=4).to_json()["tools"] == found["tools"]
    assert client.search("send a parcel").entities == engine.registry.search("send a parcel").entities
