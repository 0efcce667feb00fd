"""Finer points of the commands: what was given and is empty, what is left when a reader stops, what doctor sees."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from command import START

pytestmark = pytest.mark.slow

Run = Callable[..., "subprocess.CompletedProcess[str]"]
Ask = Callable[..., Any]


@pytest.mark.parametrize(
    "arguments",
    [
        ["search", "keys", "--in", ""],
        ["search", "keys", "--index", ""],
        ["list", "--index", ""],
        ["serve", "--in", ""],
        ["install", "claude-code", "--in", "", "--dry-run"],
        ["sync", ""],
    ],
    ids=" ".join,
)
def test_an_empty_path_is_a_variable_that_is_not_set(run: Run, synced: Path, arguments: list[str]) -> None:
    done = run(*arguments, cwd=synced)
    assert done.returncode == 2
    assert "an empty path was given" in done.stderr


def test_sync_alone_brings_everything_up_to_date(run: Run, ask: Ask, fresh: Path, tmp_path: Path) -> None:
    alone = run("sync", cwd=tmp_path)
    assert (alone.returncode, "watersmeet sync PATH" in alone.stderr) == (2, True)
    assert run("sync", ".", "--quiet", cwd=fresh).returncode == 0
    (fresh / "new.md").write_text("# New\n\nA pelican.\n")
    assert ask("sync", cwd=fresh / "guides")["added"] == 1
    assert ask("sync", "--recreate", cwd=fresh)["added"] == 10
    assert ask("remove", str(fresh), cwd=fresh)["removed"] == 10


def test_the_module_is_the_command(synced: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "watersmeet", "list", "--json"], cwd=synced, capture_output=True, text=True, check=True
    )
    assert len(json.loads(done.stdout)["documents"]) == 9


@pytest.mark.parametrize(
    ("filters", "found"),
    [(["Rating=4", "rating=5"], 2), (["rating=4", "RATING=5", "kind=document"], 2), (["rating=4"], 1)],
)
def test_a_key_is_the_same_in_capitals(run: Run, ask: Ask, tmp_path: Path, filters: list[str], found: int) -> None:
    for rating in (4, 5, 6):
        (tmp_path / f"{rating}.md").write_text(f"---\nrating: {rating}\n---\n# Tides\n\nOf tides.\n")
    assert run("sync", ".", "-q", cwd=tmp_path).returncode == 0
    flags = [part for one in filters for part in ("--filter", one)]
    if "kind=document" in filters:
        kind = ask("list", cwd=tmp_path)["documents"][0]["kind"]
        flags[-1] = f"kind={kind}"
    assert len(ask("search", "tides", *flags, cwd=tmp_path)["results"]) == found


def test_what_is_installed_does_not_hang_on_who_reads(synced: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    reader, writer = os.pipe()
    os.close(reader)  # whoever read it had enough
    subprocess.run(
        [sys.executable, "-c", START, "install", "claude-code", "--index", str(synced / ".watersmeet")],
        cwd=project,
        stdin=subprocess.DEVNULL,
        stdout=writer,
        check=False,
    )
    os.close(writer)
    assert "watersmeet" in json.loads((project / ".mcp.json").read_text())["mcpServers"]


def test_doctor_asks_a_question(run: Run, fresh: Path) -> None:
    assert run("sync", ".", "-q", cwd=fresh).returncode == 0
    well = json.loads(run("doctor", "--json", cwd=fresh).stdout)["checks"]
    assert [check["name"] for check in well][-1] == "search"
    for file in (fresh / ".watersmeet").glob("text-*/*.pos"):
        file.unlink()
    ill = run("doctor", "--json", cwd=fresh)
    (wrong,) = [check for check in json.loads(ill.stdout)["checks"] if not check["ok"]]
    assert (ill.returncode, wrong["name"]) == (2, "text store")
    assert "watersmeet sync" in wrong["hint"]
    assert run("sync", "-q", cwd=fresh).returncode == 0
    assert run("doctor", cwd=fresh).returncode == 0


@pytest.mark.parametrize("flags", [[], ["--json"], ["-q"]])
def test_nothing_registered_is_said_where_errors_are_said(run: Run, tmp_path: Path, flags: list[str]) -> None:
    (tmp_path / "records.json").write_text("[{}, {}]")
    done = run("register", "records.json", *flags, cwd=tmp_path)
    assert done.returncode == 2
    assert "watersmeet: nothing was registered: " in done.stderr
    assert "  hint: " in done.stderr


def test_a_status_is_named(run: Run, tmp_path: Path) -> None:
    (tmp_path / "records.json").write_text('[{"path": "/w", "name": "w", "kind": "mcp_server", "status": "draft"}]')
    assert run("register", "records.json", "-q", cwd=tmp_path).returncode == 0
    done = run("set-status", "/w", "", cwd=tmp_path)
    assert (done.returncode, "the status is empty" in done.stderr) == (2, True)


def test_a_stage_that_would_divide_by_nothing(run: Run, synced: Path) -> None:
    done = run("search", "keys", cwd=synced, WATERSMEET__STAGE__DOCUMENT_SUPPORT__MAX_PASSAGES="0")
    assert (done.returncode, "stage.document_support.max_passages must be at least 1" in done.stderr) == (2, True)


def test_an_index_of_another_version_says_so_and_what_to_do_works(run: Run, fresh: Path) -> None:
    assert run("sync", ".", "-q", cwd=fresh).returncode == 0
    of_another_version(fresh / ".watersmeet")
    for command in (["search", "keys"], ["sync"]):
        said = run(*command, cwd=fresh)
        assert (said.returncode, "another version of watersmeet" in said.stderr) == (2, True)
        assert "`watersmeet sync --recreate`" in said.stderr
    assert run("sync", "--recreate", "-q", cwd=fresh).returncode == 0
    assert run("search", "rotate keys", cwd=fresh).returncode == 0


def test_the_index_of_a_folder_is_a_cache(run: Run, fresh: Path, home: Path) -> None:
    assert run("search", "rotate keys", "--in", str(fresh)).returncode == 0
    (index,) = (home / "cache" / "watersmeet" / "indexes").iterdir()
    of_another_version(index)
    again = run("search", "rotate keys", "--in", str(fresh))
    assert (again.returncode, "Keys" in again.stdout) == (0, True)


def of_another_version(index: Path) -> None:
    with sqlite3.connect(index / "catalogue.db") as db:
        (built,) = db.execute("SELECT value FROM meta WHERE key = 'fingerprint'").fetchone()
        older = json.dumps({**json.loads(built), "tokenizer": 0})
        db.execute("UPDATE meta SET value = ? WHERE key = 'fingerprint'", (older,))
        db.execute("DELETE FROM meta WHERE key = 'check'")
    db.close()


def test_who_looks_for_tools_among_documents_is_told(run: Run) -> None:
    for command in ("find-tools", "find-entities"):
        done = run(command, "rotate keys")
        assert (done.returncode, "nothing is registered in this index" in done.stderr) == (1, True)


def test_an_index_above_is_not_used_unsaid(run: Run, fresh: Path, tmp_path: Path) -> None:
    assert "into the index" not in run("sync", ".", cwd=fresh).stderr
    said = run("sync", "guides", cwd=fresh / "links" / "..")
    assert "into the index" not in said.stderr
    (fresh / "links" / "guides").mkdir()
    below = run("sync", "guides", cwd=fresh / "links")
    assert f"using the existing index {fresh / '.watersmeet'}" in below.stderr
    assert run("sync", "guides", "-q", cwd=fresh / "links").stderr == ""


def test_tools_are_put_with_the_server_that_there_is(run: Run, ask: Ask, tmp_path: Path) -> None:
    (tmp_path / "one.json").write_text('[{"kind": "mcp_server", "path": "github", "name": "GitHub", "tools": []}]')
    (tmp_path / "tools.json").write_text('{"tools": [{"name": "open_issue", "description": "Open an issue"}]}')
    assert run("register", "one.json", "-q", cwd=tmp_path).returncode == 0
    assert run("register", "tools.json", "--server", "/github", "-q", cwd=tmp_path).returncode == 0
    (tool,) = ask("find-tools", "open an issue", cwd=tmp_path)["tools"]
    assert (tool["server_path"], tool["server_name"]) == ("github", "GitHub")


def test_what_cannot_be_registered_says_why(run: Run, tmp_path: Path) -> None:
    (tmp_path / "client.json").write_text('{"mcpServers": {"clock": {"command": "clock"}}}')
    said = run("register", "client.json", cwd=tmp_path)
    assert (said.returncode, "how to start servers" in said.stderr) == (2, True)
    (tmp_path / "empty").mkdir()
    said = run("register", "empty", "--index", str(tmp_path / "none"), cwd=tmp_path)
    assert (said.returncode, "nothing to register" in said.stderr) == (2, True)
    assert not (tmp_path / "none").exists()
