"""MCP configurations: from each form of record, without secrets, and nothing made up."""

from __future__ import annotations

import json
from typing import Any

import pytest

from watersmeet.present.mcp_configuration import ServerConfiguration, configuration


def of(kind: str = "mcp_server", path: str = "/io.github.upstash/context7", **extra: Any) -> ServerConfiguration:
    return configuration({"kind": kind, "path": path, "name": "Context7", "metadata": {}, "extra": extra})


def entry(made: ServerConfiguration, number: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = made.ways[number].configuration["mcpServers"]["context7"]
    return found


def test_a_remote_server_of_the_official_registry() -> None:
    headers = [
        {"name": "Authorization", "value": "Bearer {api_key}", "isSecret": True, "isRequired": True},
        {"name": "X-Region", "default": "eu", "description": "Where"},
        {"name": "X-Trace", "description": "For support"},
    ]
    made = of(remotes=[{"type": "streamable-http", "url": "https://{tenant}.example.org/mcp", "headers": headers}])
    assert entry(made) == {
        "type": "http",
        "url": "https://<tenant>.example.org/mcp",
        "headers": {"Authorization": "Bearer <api_key>", "X-Region": "eu"},
    }
    way = made.ways[0]
    assert way.transport == "streamable-http"
    assert [(one.name, one.where, one.required) for one in way.to_fill] == [
        ("tenant", "address", True),
        ("api_key", "header", True),
        ("X-Trace", "header", False),
    ]
    assert made.notes == ()


@pytest.mark.parametrize(
    ("registry", "command", "args"),
    [
        ("npm", "npx", ["-y", "pkg@1.2.0", "--stdio", "--root", "<dir>"]),
        ("pypi", "uvx", ["pkg@1.2.0", "--stdio", "--root", "<dir>"]),
        ("oci", "docker", ["run", "-i", "--rm", "-e", "API_KEY", "pkg:1.2.0", "--stdio", "--root", "<dir>"]),
        ("nuget", "dnx", ["pkg@1.2.0", "--yes", "--", "--stdio", "--root", "<dir>"]),
    ],
)
def test_a_package_is_started_by_the_program_of_its_registry(registry: str, command: str, args: list[str]) -> None:
    package = {
        "registryType": registry,
        "identifier": "pkg",
        "version": "1.2.0",
        "packageArguments": [
            {"type": "positional", "value": "--stdio"},
            {"type": "named", "name": "--root", "valueHint": "dir", "isRequired": True},
            {"type": "named", "name": "--depth", "valueHint": "n"},
        ],
        "environmentVariables": [
            {"name": "API_KEY", "isSecret": True, "isRequired": True, "description": "From your account"}
        ],
    }
    made = of(packages=[package])
    assert entry(made) == {"command": command, "args": args, "env": {"API_KEY": "<API_KEY>"}}
    assert {one.name: one.required for one in made.ways[0].to_fill} == {"dir": True, "n": False, "API_KEY": True}


def test_every_way_is_offered_and_what_no_client_can_start_is_said() -> None:
    made = of(
        remotes=[{"type": "sse", "url": "https://example.org/sse"}],
        packages=[
            {"registryType": "npm", "identifier": "pkg"},
            {"registryType": "mcpb", "identifier": "https://example.org/a.mcpb"},
            {
                "registryType": "pypi",
                "identifier": "own",
                "transport": {"type": "sse", "url": "http://localhost:{port}/"},
            },
        ],
    )
    assert [(way.transport, way.title) for way in made.ways] == [
        ("sse", "example.org"),
        ("stdio", "npm package pkg"),
        ("sse", "pypi package own"),
    ]
    assert entry(made, 1) == {"command": "npx", "args": ["-y", "pkg"]}
    assert entry(made, 2)["url"] == "http://localhost:<port>/"
    assert made.notes == (
        "a client cannot start a package of mcpb: https://example.org/a.mcpb",
        "start it first: uvx own",
    )


def test_a_container_of_a_catalogue() -> None:
    made = of(
        image="mcp/airtable",
        type="server",
        config={
            "secrets": [{"name": "airtable.key", "env": "AIRTABLE_API_KEY", "example": "patabc"}],
            "env": [{"name": "NODE_ENV", "value": "production"}, {"name": "URL", "value": "{{airtable.url}}"}],
        },
        run={"command": ["--transport=stdio"]},
    )
    assert entry(made) == {
        "command": "docker",
        "args": "run -i --rm -e AIRTABLE_API_KEY -e NODE_ENV -e URL mcp/airtable --transport=stdio".split(),
        "env": {"AIRTABLE_API_KEY": "<AIRTABLE_API_KEY>", "NODE_ENV": "production", "URL": "<airtable.url>"},
    }
    remote = of(type="remote", image="x", remote={"transport_type": "sse", "url": "https://a.example/sse"})
    assert entry(remote) == {"type": "sse", "url": "https://a.example/sse"}


def test_a_record_of_a_gateway() -> None:
    behind = {"proxy_pass_url": "http://context7:8000"}
    made = of(**behind, supported_transports=["sse"], headers={"X-Team": "docs"})
    assert entry(made) == {"type": "sse", "url": "http://context7:8000", "headers": {"X-Team": "docs"}}
    assert made.notes == ("the address is that behind the gateway; outside its network, use the gateway's address",)
    better = of(**behind, mcp_endpoint="https://gate.example/context7/mcp")
    assert entry(better)["url"] == "https://gate.example/context7/mcp"
    started = of(command="node", args=["server.js", "--api-key", "abc", "--log=info"], env={"TZ": "UTC"})
    assert entry(started) == {
        "command": "node",
        "args": ["server.js", "--api-key", "<api-key>", "--log=info"],
        "env": {"TZ": "UTC"},
    }


@pytest.mark.parametrize(
    "extra",
    [
        {"url": "https://ann:hunter2@example.org/mcp"},
        {"url": "https://example.org/mcp?api_key=hunter2&x=1"},
        {"url": "https://example.org/s/ab12cd34ef56hunter2gh78/mcp"},
        {"url": "https://example.org/mcp#hunter2"},
        {"url": "https://example.org", "headers": {"Authorization": "Bearer hunter2"}},
        {"url": "https://example.org", "headers": {"X-Api-Key": "hunter2 {rest}"}},
        {"remotes": [{"url": "https://example.org", "headers": [{"name": "X", "value": "hunter2", "isSecret": True}]}]},
        {"command": "node", "env": {"GITHUB_PAT": "hunter2", "OTHER": "ghp_1a2b3c4d5e6fhunter2G7H8"}},
        {"command": "node", "args": ["--token=hunter2", "--password", "hunter2"]},
        {"image": "a/b", "secrets": [{"env": "KEY", "example": "hunter2", "value": "hunter2"}]},
        {
            "packages": [
                {"registryType": "npm", "name": "p", "environmentVariables": [{"name": "KEY", "default": "hunter2"}]}
            ]
        },
    ],
)
def test_no_secret_is_copied(extra: dict[str, Any]) -> None:
    made = of(**extra)
    assert made.ways
    assert "hunter2" not in json.dumps(made.to_json())


@pytest.mark.parametrize(
    "extra",
    [
        {},
        {"location": "https://github.com/upstash/context7"},
        {"url": "javascript:alert(1)"},
        {"url": "/mcp", "command": "", "packages": "all", "remotes": {"a": 1}, "image": ["x"]},
        {"packages": [None, {"registryType": "npm"}, {"registryType": "npm", "identifier": "--eval=1"}]},
        {"image": "--privileged"},
    ],
)
def test_nothing_is_made_up(extra: dict[str, Any]) -> None:
    made = of(**extra)
    assert made.ways == ()
    assert any("names no address" in note for note in made.notes)


def test_what_is_no_server_has_none() -> None:
    assert of("skill", url="https://example.org").ways == ()
    assert "gateway" in of("virtual_server").notes[0]


def test_long_and_odd_records_stay_small() -> None:
    made = of(
        path="/ a b/<x>/",
        url="https://example.org/" + "a" * 10_000,
        headers={f"H{n}": "x" * 10_000 for n in range(1000)} | {"Bad\r\nName": "x", "__proto__": "y"},
    )
    (key,) = made.ways[0].configuration["mcpServers"]
    assert key == "x"
    assert len(json.dumps(made.to_json())) < 60_000
