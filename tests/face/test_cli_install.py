"""`install` and `uninstall` as a person starts them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from terminals import answering

pytestmark = pytest.mark.slow

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def test_a_dry_run_only_shows(run: Run, project: Path, synced: Path) -> None:
    shown = run("install", "claude-code", "--index", str(synced / ".watersmeet"), "--dry-run", cwd=project)
    assert shown.returncode == 0
    assert '+    "watersmeet": {' in shown.stdout
    assert list(project.iterdir()) == []


def test_where_nobody_can_be_asked_it_shows_and_writes(run: Run, project: Path, synced: Path) -> None:
    settings = project / ".mcp.json"
    settings.write_text('{"mcpServers": {"other": {}}}\n')
    done = run("install", "claude-code", "--index", str(synced / ".watersmeet"), cwd=project)
    assert (done.returncode, done.stderr) == (0, "")
    assert "+++ " in done.stdout
    assert list(json.loads(settings.read_text())["mcpServers"]) == ["other", "watersmeet"]
    assert (project / ".mcp.json.before-watersmeet").exists()
    shown = run("uninstall", "claude-code", "--dry-run", cwd=project)
    assert (shown.returncode, "watersmeet" in settings.read_text()) == (0, True)
    gone = run("uninstall", "claude-code", cwd=project)
    assert (gone.returncode, gone.stderr) == (0, "")
    assert "--- " in gone.stdout
    assert [path.name for path in project.iterdir()] == [".mcp.json"]
    assert settings.read_text() == '{"mcpServers": {"other": {}}}\n'


def test_on_a_terminal_it_asks(project: Path, synced: Path) -> None:
    install = ("install", "cursor", "--index", str(synced / ".watersmeet"))
    code, drawn = answering("n\n", *install, cwd=project)
    assert (code, "Make this change?" in drawn) == (0, True)
    assert list(project.iterdir()) == []
    code, drawn = answering("", *install, "--quiet", cwd=project)
    assert (code, "--yes" in drawn) == (2, True)
    assert list(project.iterdir()) == []
    assert answering("y\n", *install, cwd=project)[0] == 0
    assert (project / ".cursor/mcp.json").exists()


def test_without_an_index_it_is_entered_with_a_warning(run: Run, project: Path) -> None:
    place = str(project / ".watersmeet")
    done = run("install", "vscode", cwd=project)
    assert done.returncode == 0
    assert done.stderr == f"there is no index in {place} yet: run `watersmeet sync PATH --index {place}`\n"
    entry = json.loads((project / ".vscode/mcp.json").read_text())["servers"]["watersmeet"]
    assert entry["args"] == ["mcp", "--index", place]
    assert not Path(place).exists()
    named = run("install", "vscode", "--index", "other", "--json", cwd=project)
    assert (named.returncode, json.loads(named.stdout)["done"]) == (0, True)
    assert str(project / "other") in named.stderr


@pytest.mark.parametrize(("client", "file"), [("vscode", ".vscode/mcp.json"), ("cursor", ".cursor/mcp.json")])
def test_a_file_with_comments_and_nothing_of_ours(run: Run, project: Path, client: str, file: str) -> None:
    settings = project / file
    settings.parent.mkdir()
    settings.write_text('{\n  // mine, see ~/watersmeet\n  "servers": {"other": {}},\n}\n')
    done = run("uninstall", client, cwd=project)
    assert (done.returncode, done.stdout, done.stderr) == (0, "nothing to remove: it is not installed\n", "")
    settings.write_text('{\n  // mine\n  "servers": {"watersmeet": {}},\n')
    broken = run("uninstall", client, cwd=project)
    assert (broken.returncode, "by hand" in broken.stderr) == (2, True)


def test_comments_stay_where_they_are(run: Run, project: Path, synced: Path) -> None:
    settings = project / ".zed" / "settings.json"
    settings.parent.mkdir()
    before = '// Zed settings\n{\n  "theme": "One", // nice\n  "context_servers": {\n    // none yet\n  },\n}\n'
    settings.write_text(before)
    words = ("zed", "--scope", "project")
    done = run("install", *words, "--index", str(synced / ".watersmeet"), "--yes", cwd=project)
    assert (done.returncode, done.stderr) == (0, "")
    written = settings.read_text()
    assert '"watersmeet": {' in written
    assert all(comment in written for comment in ("// Zed settings", "// nice", "// none yet"))
    assert run("uninstall", *words, "--yes", cwd=project).returncode == 0
    assert settings.read_text() == before


def test_a_client_without_settings_of_a_project_is_installed_for_the_user(run: Run, project: Path) -> None:
    done = run("install", "windsurf", "--dry-run", "--json", cwd=project)
    report = json.loads(done.stdout)
    assert (report["scope"], report["changes"][0]["path"].endswith(".codeium/windsurf/mcp_config.json")) == (
        "user",
        True,
    )
    refused = run("install", "claude-desktop", "--scope", "project", cwd=project)
    assert (refused.returncode, "--scope user" in refused.stderr) == (2, True)


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
    assert (again.returncode, again.stdout) == (0, "nothing to do: already installed\n")
    gone = run("uninstall", "claude-code", "--yes", cwd=project)
    assert gone.returncode == 0
    assert list(project.iterdir()) == []


def test_two_folders_by_name(run: Run, project: Path, synced: Path) -> None:
    for name in ("one", "two"):
        done = run("install", "cursor", "--in", str(synced), "--as", name, "--no-skill", "-y", "-q", cwd=project)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert list(json.loads((project / ".cursor/mcp.json").read_text())["mcpServers"]) == ["one", "two"]


def test_what_cannot_be_found_is_said(run: Run, project: Path) -> None:
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
