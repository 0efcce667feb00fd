"""`install` and `uninstall` as a person starts them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def test_it_shows_and_asks_before_it_writes(run: Run, project: Path, synced: Path) -> None:
    index = ("--index", str(synced / ".watersmeet"))
    shown = run("install", "claude-code", *index, "--dry-run", cwd=project)
    assert shown.returncode == 0
    assert '+    "watersmeet": {' in shown.stdout
    refused = run("install", "claude-code", *index, cwd=project)
    assert refused.returncode == 2
    assert "--yes" in refused.stderr
    assert list(project.iterdir()) == []


def test_there_and_back(run: Run, project: Path, synced: Path) -> None:
    index = str(synced / ".watersmeet")
    done = json.loads(run("install", "claude-code", "--index", index, "--yes", "--json", cwd=project).stdout)
    assert (done["client"], done["scope"], done["done"]) == ("claude-code", "project", True)
    assert [change["action"] for change in done["changes"]] == ["create", "create"]
    entry = json.loads((project / ".mcp.json").read_text())["mcpServers"]["watersmeet"]
    assert entry["args"] == ["mcp", "--index", index]
    assert Path(entry["command"]).is_absolute()
    assert index in (project / ".claude/skills/watersmeet/SKILL.md").read_text()
    again = run("install", "claude-code", "--index", index, cwd=project)
    assert (again.returncode, again.stdout) == (0, "nothing to do: it is as it should be\n")
    gone = run("uninstall", "claude-code", "--yes", cwd=project)
    assert gone.returncode == 0
    assert list(project.iterdir()) == []


def test_two_folders_by_name(run: Run, project: Path, synced: Path) -> None:
    for name in ("one", "two"):
        done = run("install", "cursor", "--in", str(synced), "--as", name, "--no-skill", "-y", "-q", cwd=project)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert list(json.loads((project / ".cursor/mcp.json").read_text())["mcpServers"]) == ["one", "two"]


def test_what_cannot_be_found_is_said(run: Run, project: Path) -> None:
    no_index = run("install", "vscode", cwd=project)
    assert no_index.returncode == 2
    assert "no index" in no_index.stderr
    no_folder = run("install", "vscode", "--in", "nowhere", cwd=project)
    assert "no folder nowhere" in no_folder.stderr
    no_client = run("install", "emacs", cwd=project)
    assert no_client.returncode == 2
    assert "codex" in no_client.stderr


def test_what_was_entered_starts_and_answers(run: Run, project: Path, synced: Path) -> None:
    index = str(synced / ".watersmeet")
    run("install", "claude-code", "--index", index, "--yes", "--quiet", cwd=project)
    entry = json.loads((project / ".mcp.json").read_text())["mcpServers"]["watersmeet"]
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    server = subprocess.Popen(
        [entry["command"], *entry["args"]],
        cwd=project,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert server.stdin is not None
    assert server.stdout is not None

    def send(method: str, number: int | None = None, **parameters: object) -> None:
        said = {"jsonrpc": "2.0", "method": method, "params": parameters} | ({} if number is None else {"id": number})
        server.stdin.write(json.dumps(said) + "\n")  # type: ignore[union-attr]  # asserted above
        server.stdin.flush()  # type: ignore[union-attr]  # asserted above

    try:
        send("initialize", 1, **client)
        assert json.loads(server.stdout.readline())["result"]["serverInfo"]["name"] == "watersmeet"
        send("notifications/initialized")
        send("tools/call", 2, name="search", arguments={"query": "what does KEY-2024-0042 mean?"})
        answered = json.loads(server.stdout.readline())["result"]
        assert answered["structuredContent"]["results"][0]["document"] == "guides/keys.md"
    finally:
        server.stdin.close()
        server.wait(20)
        server.stdout.close()
