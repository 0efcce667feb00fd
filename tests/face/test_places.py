"""Every face says where in its document a result is: page, slide, sheet, anchor, line, or nothing at all."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import validate
from mcp import Client

from placed import Placed
from serving import Served, served
from watersmeet import Engine
from watersmeet.core.model import Result
from watersmeet.engine.settings.settings import load
from watersmeet.face.cli.main import run
from watersmeet.face.cli.pretty import print_answer, print_head
from watersmeet.parse.text import Text
from watersmeet.present.groups import grouped

FILES = {
    "report.txt": "@page 3\n# Harbour\nThe heron waits at the harbour.\n",
    "talk.txt": "@nolines\n@slide 4\n# Tern\nA tern dives.\n",
    "costs.txt": "@sheet Budget (2026)\n# Pelican\nA pelican eats fish.\n",
    "page.txt": "@anchor install\n# Gannet\nA gannet plunges.\n",
    "plain.txt": "\nA cormorant dries its wings.\n",
}
SERVER = {"kind": "mcp_server", "path": "/weather", "name": "weather", "description": "Rain and fog"}
SHOWN = {
    "heron": "report.txt p. 3",
    "tern": "talk.txt slide 4",
    "pelican": "costs.txt sheet Budget (2026)",
    "gannet": "page.txt#install",
    "cormorant": "plain.txt:2",
    "fog": "/weather",
}
CITED = SHOWN | {"pelican": "costs.txt sheet Budget \\(2026\\)", "cormorant": "plain.txt:2-2"}
PLACES: dict[str, tuple[str, list[int] | None]] = {
    "heron": ("p. 3", [2, 3]),
    "tern": ("slide 4", None),
    "pelican": ("sheet Budget (2026)", [2, 3]),
    "gannet": ("#install", [2, 3]),
    "cormorant": (":2", [2, 2]),
    "fog": ("", None),
}
QUERIES = list(PLACES)


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    vault = tmp_path / "vault"
    vault.mkdir()
    for name, text in FILES.items():
        (vault / name).write_text(text)
    monkeypatch.chdir(vault)
    monkeypatch.setenv("WATERSMEET__INDEX__VECTORS", "false")
    monkeypatch.setattr(Text, "parse", Placed.parse)
    with Engine(vault / ".watersmeet", load()) as made:
        assert made.sync([vault]).added == len(FILES)
        assert made.registry.register([SERVER]).registered == 1
        yield made


@pytest.fixture
def site(engine: Engine) -> Iterator[Served]:
    with served(engine) as made:
        yield made


def best(answer: dict[str, Any]) -> tuple[str, list[int] | None]:
    result = answer["results"][0]
    return result["where"], result["lines"]


def cited(answer: dict[str, Any]) -> tuple[str, list[int] | None]:
    citation = answer["pack"]["citations"][0]
    return citation["where"], citation["lines"]


def test_python(engine: Engine) -> None:
    def place(one: Result) -> tuple[str, list[int] | None]:
        return one.where, list(one.lines) if one.lines else None

    assert {query: place(engine.search(query).results[0]) for query in QUERIES} == PLACES


@pytest.mark.slow
@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("query", QUERIES)
def test_commands(query: str, capsys: pytest.CaptureFixture[str]) -> None:
    def said(*words: str) -> str:
        assert run(list(words)) == 0
        return capsys.readouterr().out

    assert said("search", query).splitlines()[1] == f"   {SHOWN[query]}  score 1.000"
    found = json.loads(said("search", query, "--json"))
    assert best(found) == PLACES[query]
    assert cited(json.loads(said("search", query, "--json", "--budget", "500"))) == PLACES[query]
    assert f"({CITED[query]})" in said("search", query, "--budget", "500").splitlines()[0]
    marked = SHOWN[query].replace(":2", ":2-2")
    assert f"{marked}`, score 1.000" in said("search", query, "--format", "markdown")
    chunk = json.loads(said("get", found["results"][0]["id"], "--json"))
    assert (chunk["where"], chunk["chunks"][0]["where"], chunk["chunks"][0]["lines"]) == (
        PLACES[query][0],
        *PLACES[query],
    )
    assert said("get", found["results"][0]["id"]).splitlines()[1] == SHOWN[query]
    document = found["results"][0]["document"]
    assert said("get", document).splitlines()[1] == document


@pytest.mark.usefixtures("engine")
def test_what_is_read_from_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["inspect", "costs.txt", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["chunks"][0]["where"], found["chunks"][0]["lines"]) == ("sheet Budget (2026)", [2, 3])
    assert found["headings"] == [{"level": 1, "text": "Pelican", "where": "sheet Budget (2026)", "line": 2}]
    assert run(["inspect", "talk.txt"]) == 0
    shown = capsys.readouterr().out
    assert "slide 4  Tern" in shown
    assert "slide 4    13 characters" in shown


def test_on_a_terminal(engine: Engine, capsys: pytest.CaptureFixture[str]) -> None:
    for query, shown in SHOWN.items():
        answer = engine.search(query)
        print_answer(grouped(answer.results), answer, "", explain=False)
        assert f"    {shown}  1.000" in capsys.readouterr().out
    print_head("Report", "report.txt", "p. 3")
    assert "report.txt p. 3" in capsys.readouterr().out


@pytest.mark.slow
def test_rest_as_openapi_says(site: Served) -> None:
    described = site.ask("/openapi.json").json()
    schema = {"$ref": "#/components/schemas/SearchAnswer", "components": described["components"]}
    result = described["components"]["schemas"]["Result"]
    assert {"where", "lines"} <= set(result["required"])
    assert "place" not in result["properties"]
    for query in QUERIES:
        found = site.ask("/api/search", {"query": query, "budget": 500}).json()
        assert best(found) == cited(found) == PLACES[query]
        validate(found, schema)
        chunk = site.ask(f"/api/documents/{found['results'][0]['id']}").json()
        assert chunk["where"] == PLACES[query][0]


@pytest.mark.slow
def test_mcp_in_text_and_structure(site: Served) -> None:
    async def ask() -> list[Any]:
        async with Client(f"{site.url}/mcp") as client:
            return [await client.call_tool("search", {"query": query, "detail": "full"}) for query in QUERIES]

    for query, answer in zip(QUERIES, asyncio.run(ask()), strict=True):
        assert best(answer.structured_content) == cited(answer.structured_content) == PLACES[query]
        assert f"({CITED[query]})" in answer.content[0].text
