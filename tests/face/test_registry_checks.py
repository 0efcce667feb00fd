"""Duplicates, reviews, provenance, audit and /v1 through a server: by REST, a client, MCP and the command line."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mcp_calls import asked
from serving import Served, served
from watersmeet import Client, Engine, NotAllowed
from watersmeet.core.errors import ConfigError
from watersmeet.engine.settings.settings import load
from watersmeet.face.tokens import Tokens

pytestmark = pytest.mark.server

TIDES: dict[str, Any] = {
    "path": "/tides",
    "server_name": "Tide tables",
    "description": "High and low water of every harbour",
    "proxy_pass_url": "http://tides.internal:8000/mcp",
    "metadata": {"team": {"name": "harbour", "lead": "ada"}},
    "tools": [{"name": "high_water", "description": "The next high water of a harbour"}],
}
CHANGED = {**TIDES, "tools": [{"name": "high_water", "description": "The next high water, in feet"}]}


@pytest.fixture
def site(engine: Engine) -> Iterator[Served]:
    with served(engine, allow_write=True) as made:
        yield made


@pytest.fixture
def tokens(site: Served) -> dict[str, str]:
    return {scope: Tokens().create(scope)[1] for scope in ("read", "write")}


def test_a_client_checks_reviews_and_reads_the_log(site: Served, tokens: dict[str, str]) -> None:
    writer, reader = (Client(site.url, token=tokens[scope]) for scope in ("write", "read"))
    assert writer.registry.check_duplicates(TIDES)["duplicates"] == 0
    writer.registry.register([TIDES])
    (checked,) = reader.registry.check_duplicates({**TIDES, "path": "/copy"})["records"]
    assert [one["path"] for one in checked["duplicates"]] == ["/tides"]
    writer.registry.register([CHANGED])
    (flagged,) = writer.registry.review()
    assert reader.registry.find_tools("high water").tools[0].review == tuple(flagged["reasons"])
    with pytest.raises(ConfigError):
        writer.registry.accept(flagged["id"], "0" * 16)
    writer.registry.accept(flagged["id"], flagged["hash"])
    assert writer.registry.review() == []
    assert writer.registry.provenance("tides").keys() == {"path", "via", "at"}
    assert writer.registry.reindex("/tides").reindexed == 1
    assert isinstance(reader.registry.embeddings()["missing"], list)
    assert reader.registry.listing("mcp_server", metadata_fields=["team.name"])[0]["metadata"] == {
        "team": {"name": "harbour"}
    }
    assert reader.registry.search("tides", metadata_fields=("none",)).servers[0].metadata == {}
    log = writer.audit("1d")
    assert [one["action"] for one in log] == ["reindex", "accept", "accept", "register", "register"]
    assert {one["by"]["token"] for one in log} == {tokens["write"].split("_")[1]}
    assert tokens["write"] not in json.dumps(log)
    for refused in (reader.audit, reader.registry.review, reader.registry.reindex):
        with pytest.raises(NotAllowed):
            refused()


@pytest.mark.parametrize("scope", ["read", "write"])
def test_addresses_of_backends_are_for_those_who_may_write(site: Served, tokens: dict[str, str], scope: str) -> None:
    site.service.engine.registry.register([TIDES])
    address = TIDES["proxy_pass_url"] if scope == "write" else None
    client = Client(site.url, token=tokens[scope])
    assert client.registry.find_tools("high water").tools[0].endpoint_url == address
    assert client.registry.search("tide tables").servers[0].endpoint_url == address


def test_an_agent_lists_finds_changes_and_removes(site: Served) -> None:
    site.service.engine.registry.register([TIDES])

    def called(name: str, values: dict[str, Any]) -> Any:
        return asked(f"{site.url}/mcp", lambda client: client.call_tool(name, values))

    assert called("find_entities", {"query": "tide tables"}).structured_content["servers"][0]["path"] == "/tides"
    listed = called("list_entities", {"entity_type": "mcp_server"}).structured_content
    assert [(one["path"], one["status"]) for one in listed["entities"]] == [("/tides", "active")]
    assert called("set_status", {"path": "/tides"}).is_error
    changed = called("set_status", {"path": "tides", "status": "beta", "enabled": False}).structured_content
    assert (changed["status"], changed["enabled"]) == ("beta", False)
    assert called("unregister", {"path": "/tides"}).structured_content == {"removed": 1}
    assert called("list_entities", {}).structured_content["total"] == 0
    log = site.service.engine.audit()
    assert [(one["action"], one["by"]["via"]) for one in log[:3]] == [
        ("unregister", "mcp"),
        ("disable", "mcp"),
        ("set-status", "mcp"),
    ]


def test_programs_that_ask_several_engines(site: Served) -> None:
    site.service.engine.registry.register([TIDES])
    able = site.ask("/v1/search/capabilities").json()
    assert {"lexical", "hybrid"} <= {*able["modes"]}
    assert (able["documents"], able["kinds"]) == (2, {"mcp_server": 1, "tool": 1})
    found = site.ask("/v1/search", {"query": "high water", "top_n": 1, "mode": able["default_mode"]}).json()
    assert (found["total"], found["degraded"], len(found["results"])) == (1, False, 1)
    assert "igh water" in found["results"][0]["content"]
    assert site.ask("/v1/health").json() == {"status": "ok"}


def test_a_running_server_logs_what_was_ranked_and_never_the_query(engine: Engine) -> None:
    engine.registry.register([{"path": "/context7", "name": "context7", "description": "Documentation"}])
    argv = [
        sys.executable,
        "-m",
        "watersmeet",
        "serve",
        "--index",
        engine.folder,
        "--port",
        "0",
        "--log-level",
        "debug",
    ]
    process = subprocess.Popen([*argv, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        url = json.loads(process.stdout.readline())["url"].rstrip("/")
        Client(url).registry.search("context7 xylophone", recipe="registry")
    finally:
        process.terminate()
        _, log = process.communicate(timeout=60)
    assert re.search(r" (RRF|BOOST) inputs: \d+ vector-ranked docs, 1 keyword-ranked docs", log), log
    assert re.search(r" score for 'context7' \(type=mcp_server\): \d\.\d{6}, text_boost=8\.0", log), log
    assert "xylophone" not in log


def test_declared_types_by_every_way_in(tmp_path: Path) -> None:
    types = {"dataset": {"label": "Datasets", "fields": {"licence": "keyword"}}}
    settings = load(start=str(tmp_path), flags={"index": {"vectors": False}, "registry": {"types": types}})
    record = {"entity_type": "dataset", "path": "/rivers", "name": "River gauges", "licence": "odbl"}
    with Engine(tmp_path / "typed", settings) as engine, served(engine, allow_write=True) as site:
        assert site.ask("/api/entities", [record, TIDES]).json()["registered"] == 2
        asked_for = {"query": "odbl", "entity_types": ["dataset"]}
        answers = [
            site.ask("/api/search/semantic", asked_for).json(),
            asked(f"{site.url}/mcp", lambda client: client.call_tool("find_entities", asked_for)).structured_content,
            Client(site.url).registry.search("odbl", entity_types=("dataset",)).to_json(),
        ]
        for answer in answers:
            (found,) = answer["custom"]
            assert (found["entity_type"], found["label"], found["path"]) == ("dataset", "Datasets", "/rivers")
            assert (found["metadata"], answer["total_custom"]) == ({"licence": "odbl"}, 1)
        listed = site.ask("/api/entities?type=dataset").json()
        assert [one["path"] for one in listed["entities"]] == ["/rivers"]
        assert listed["entities"] == Client(site.url).registry.listing("dataset")
        assert site.ask("/api/stats").json()["entity_types"] == {"mcp_server": 1, "dataset": 1}
        for refused in (
            site.ask("/api/entities?type=datset"),
            site.ask("/api/search/semantic", {"query": "x", "entity_types": ["datset"]}),
        ):
            assert (refused.status, "'dataset'" in refused.content.decode()) == (400, True)
        refused = site.ask("/api/entities", [{**record, "entity_type": "datset"}])
        assert refused.status == 422
        assert "[registry.types.datset]" in refused.content.decode()
