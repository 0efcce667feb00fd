"""`register`, `unregister`, `set-status`, `enable` and `disable` as CONTRACT.md has them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

Run = Callable[..., "subprocess.CompletedProcess[str]"]
Ask = Callable[..., Any]

RECORDS = [
    {
        "path": "/context7",
        "server_name": "Context7",
        "description": "Documentation for code",
        "tools": [{"name": "query-docs", "description": "Ask", "inputSchema": {"type": "object"}}],
    },
    {"path": "/skills/pdf", "name": "pdf", "description": "Fill forms"},
    {"path": "/context7", "server_name": "Again"},
    {"path": "/bad", "server_name": "Bad", "status": "depricated"},
    {"what": "ever"},
]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "records.json").write_text(json.dumps(RECORDS))
    return tmp_path


def test_register(ask: Ask, run: Run, place: Path) -> None:
    first = ask("register", "records.json", cwd=place)
    assert [first[key] for key in ("registered", "unchanged", "duplicates", "tools", "documents")] == [2, 0, 1, 1, 3]
    assert first["skipped"] == [
        {
            "record": f"{place}/records.json, record 4 (/bad)",
            "reason": "unknown status 'depricated'; did you mean 'deprecated'?",
        },
        {"record": f"{place}/records.json, record 5", "reason": "not a record in a known format"},
    ]
    again = ask("register", "records.json", cwd=place)
    assert [again[key] for key in ("registered", "unchanged", "duplicates")] == [0, 2, 1]
    assert ask("status", cwd=place)["kinds"] == {"mcp_server": 1, "skill": 1, "tool": 1}
    assert ask("search", "documentation", cwd=place)["results"][0]["document"].startswith("/context7")
    assert [d["document"] for d in ask("list", cwd=place)["documents"]] == [
        "/context7",
        "/context7#query-docs",
        "/skills/pdf",
    ]


def test_for_people(run: Run, place: Path) -> None:
    said = run("register", "records.json", cwd=place)
    assert said.returncode == 0
    assert said.stdout.startswith("2 registered with 1 tools, 1 duplicates, 2 skipped in ")
    assert "  skipped: records.json, record 5: not a record in a known format" in said.stdout
    assert "registered 3 of 3 records" in said.stderr
    assert run("set-status", "/context7", "beta", cwd=place).stdout == "/context7 is beta\n"
    assert run("disable", "/context7", cwd=place).stdout == "/context7 is disabled\n"
    assert run("unregister", "/context7", cwd=place).stdout == "unregistered 1\n"
    assert run("register", "records.json", "-q", cwd=place).stdout == ""


def test_a_change_is_searchable_at_once(ask: Ask, place: Path) -> None:
    ask("register", "records.json", cwd=place)
    changed = ask("set-status", "/skills/pdf", "DRAFT", cwd=place)
    assert [changed[key] for key in ("registered", "unchanged", "status")] == [1, 0, "draft"]
    assert ask("search", "forms", cwd=place, code=1)["results"] == []
    assert ask("set-status", "/skills/pdf", "draft", cwd=place)["unchanged"] == 1
    ask("set-status", "/skills/pdf", "active", cwd=place)
    assert ask("disable", "/skills/pdf", cwd=place)["enabled"] is False
    assert ask("search", "forms", cwd=place, code=1)["results"] == []
    ask("enable", "/skills/pdf", cwd=place)
    assert ask("search", "forms", cwd=place)["results"][0]["document"] == "/skills/pdf"
    assert ask("unregister", "/skills/pdf", cwd=place)["unregistered"] == 1
    assert ask("search", "forms", cwd=place, code=1)["results"] == []


def test_from_standard_input(place: Path) -> None:
    start = "from watersmeet.face.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", start, "register", "-", "--json", "--server", "/calc", "--no-vectors"],
        cwd=place,
        env=dict(os.environ),
        input='{"tools": [{"name": "add", "description": "Adds"}]}',
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["documents"] == 2


@pytest.mark.parametrize(
    ("arguments", "code", "said", "hint"),
    [
        (("set-status", "/context7", "depricated"), 2, "unknown status 'depricated'", "'deprecated'"),
        (("set-status", "/context", "beta"), 2, "nothing is registered as '/context'", "'/context7'"),
        (("unregister", "/context7", "/zzz"), 2, "nothing is registered as '/zzz'", "list"),
        (("enable", "/context7#query-docs"), 2, "nothing is registered as", ""),
        (("remove", "/context7#query-docs"), 2, "is a tool of a registered server", "register"),
        (("register", "missing.json"), 2, "missing.json does not exist", "spelling"),
        (("register", "records.json", "--kind", "robot"), 2, "no entity type called 'robot'", "a2a_agent"),
    ],
)
def test_what_goes_wrong(run: Run, place: Path, arguments: tuple[str, ...], code: int, said: str, hint: str) -> None:
    run("register", "records.json", "-q", cwd=place)
    done = run(*arguments, cwd=place)
    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr
    assert hint in done.stderr.partition("hint:")[2]


def test_checking_registers_nothing(run: Run, ask: Ask, place: Path) -> None:
    (place / "one.json").write_text(json.dumps(RECORDS[0]))
    run("register", "one.json", "-q", cwd=place)
    (place / "copy.json").write_text(json.dumps({**RECORDS[0], "path": "/copy"}))
    found = ask("register", "copy.json", "--check", cwd=place)
    assert [one["path"] for one in found["records"][0]["duplicates"]] == ["/context7"]
    assert found == ask("check-duplicates", "copy.json", cwd=place)
    assert [one["document"] for one in ask("list", cwd=place)["documents"]] == ["/context7", "/context7#query-docs"]


@pytest.mark.parametrize("content", ["", "{", "[1, 2]", "not: [yaml", '{"path": 3}'])
def test_a_file_with_nothing_in_it_is_an_error_without_a_traceback(run: Run, tmp_path: Path, content: str) -> None:
    (tmp_path / "x.json").write_text(content)
    done = run("register", "x.json", "--quiet", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "nothing was registered" in done.stderr


@pytest.mark.parametrize("command", ["register", "unregister", "set-status", "enable", "disable"])
def test_help_has_an_example(run: Run, command: str) -> None:
    assert f"watersmeet {command} " in run(command, "--help").stdout.partition("Example")[2]
