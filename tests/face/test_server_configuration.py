"""How to connect to a server, by REST and on the command line: secrets and hidden addresses stay where they are."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from serving import Served, served
from watersmeet import Engine
from watersmeet.core.entities import Entity
from watersmeet.engine.settings.settings import load
from watersmeet.face.cli.main import cli
from watersmeet.face.tokens import Tokens

NPM = {"registryType": "npm", "identifier": "@tide/clock", "version": "1.0.0"}
ENTITIES = [
    Entity("mcp_server", "/clock", "Clock", "Tells the time", extra={"packages": [NPM]}),
    Entity("mcp_server", "/inside", "Inside", "Of the house", extra={"proxy_pass_url": "http://10.1.2.3:8000/mcp"}),
    Entity("mcp_server", "/both", "Both", extra={"packages": [NPM], "remotes": [{"url": "http://clock.internal/"}]}),
    Entity("mcp_server", "/of-ann", "Of Ann", visibility="private", owner="ann", extra={"packages": [NPM]}),
    Entity("mcp_server", "/plain", "Plain", "Names no address", extra={"location": "https://example.org/plain"}),
]


@pytest.fixture
def filled(tmp_path: Path) -> Iterator[Engine]:
    settings = load(start=str(tmp_path), environ={"WATERSMEET__INDEX__VECTORS": "false"})
    with Engine(tmp_path / "index", settings) as engine:
        engine.registry.put(*ENTITIES)
        yield engine


@pytest.mark.server
def test_a_token_that_may_only_read_gets_no_address_of_a_backend(filled: Engine, tmp_path: Path) -> None:
    tokens = Tokens(str(tmp_path / "tokens.json"))
    _, reader = tokens.create("read")
    _, writer = tokens.create("write")

    def told(site: Served, path: str, token: str) -> str:
        return site.ask(f"/api/servers/{path}/configuration", token=token).content.decode()

    with served(filled, tokens=tokens) as site:
        assert "http://10.1.2.3:8000/mcp" in told(site, "inside", writer)
        for path, hidden in (("inside", "10.1.2.3"), ("both", "clock.internal")):
            found = told(site, path, reader)
            assert hidden not in found
            assert json.loads(found)["notes"] == [
                "an address of this server is shown only to tokens with the scope write"
            ]
        (way,) = json.loads(told(site, "both", reader))["ways"]
        assert way["configuration"]["mcpServers"]["both"]["args"] == ["-y", "@tide/clock@1.0.0"]
        assert json.loads(told(site, "/clock", reader))["notes"] == []
        assert json.loads(told(site, "of-ann", writer))["status"] == 404
        assert json.loads(told(site, "nobody", writer))["status"] == 404


def run(index: Path, *words: str) -> Result:
    return CliRunner().invoke(cli, ["get", *words, "--as-config", "--index", str(index)])


def test_the_command_prints_what_can_be_pasted(filled: Engine, tmp_path: Path) -> None:
    filled.close()
    pasted = run(tmp_path / "index", "/clock")
    assert pasted.exit_code == 0
    assert json.loads(pasted.stdout) == {
        "mcpServers": {"clock": {"command": "npx", "args": ["-y", "@tide/clock@1.0.0"]}}
    }
    both = run(tmp_path / "index", "/both")
    assert "another way, with --json: npm package @tide/clock (stdio)" in both.stderr
    assert len(json.loads(run(tmp_path / "index", "/both", "--json").stdout)["ways"]) == 2
    none = run(tmp_path / "index", "/plain")
    assert (none.exit_code, none.stdout) == (1, "")
    assert "names no address, package, image or command; see https://example.org/plain" in none.stderr
