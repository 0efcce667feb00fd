"""`serve`, `mcp` and `token` as a person starts them."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from command import START

Run = Callable[..., "subprocess.CompletedProcess[str]"]
Ask = Callable[..., Any]


@contextmanager
def serving(cwd: Path, *flags: str, **environ: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    process = subprocess.Popen(
        [sys.executable, "-c", START, "serve", "--json", "--port", "0", *flags],
        cwd=cwd,
        env={**os.environ, "WATERSMEET__INDEX__VECTORS": "false", **environ},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        url = json.loads(process.stdout.readline())["url"]
        yield process, int(url.rstrip("/").rpartition(":")[2])
    finally:
        process.kill()
        process.communicate()


def search(port: int, query: str) -> Any:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("POST", "/api/search", json.dumps({"query": query}), {"Content-Type": "application/json"})
    found = json.loads(connection.getresponse().read())
    connection.close()
    return found


@pytest.mark.server
def test_it_says_where_it_is_answers_and_ends_when_told_to(synced: Path) -> None:
    with serving(synced) as (process, port):
        assert search(port, "rotate keys")["results"][0]["document"] == "guides/keys.md"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=10)
        assert (process.returncode, out, err) == (0, "", "")


@pytest.mark.server
def test_a_folder_is_indexed_first_and_looked_at_again(fresh: Path) -> None:
    with serving(fresh.parent, "--in", str(fresh), WATERSMEET__SERVE__FRESH_SECONDS="0.2") as (_, port):
        assert search(port, "rotate keys")["results"][0]["document"] == "guides/keys.md"
        (fresh / "new.md").write_text("# New\n\nAbout a pelican.\n")
        deadline = time.monotonic() + 15
        while not search(port, "pelican")["results"] and time.monotonic() < deadline:
            time.sleep(0.1)
        assert search(port, "pelican")["results"][0]["document"] == "new.md"


def test_another_address_needs_a_token_and_says_so(run: Run) -> None:
    refused = run("serve", "--host", "0.0.0.0")  # noqa: S104 - it must be refused
    assert refused.returncode == 2
    assert "watersmeet token create" in refused.stderr


@pytest.mark.server
def test_what_cannot_be_served_is_said(run: Run, tmp_path: Path) -> None:
    both = run("serve", "--in", ".", "--index", "x")
    assert (both.returncode, "cannot be combined" in both.stderr) == (2, True)
    none = run("serve", cwd=tmp_path)
    assert (none.returncode, "sync" in none.stderr) == (2, True)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        busy = run("serve", "--port", str(taken.getsockname()[1]))
    assert (busy.returncode, "another --port" in busy.stderr) == (2, True)


@pytest.mark.server
def test_without_an_index_it_says_so_and_serves_it_once_it_is_there(run: Run, fresh: Path) -> None:
    with serving(fresh, "--allow-write") as (process, port):
        assert "there is no index" in search(port, "rotate keys")["detail"]
        assert run("sync", ".", "--quiet", cwd=fresh).returncode == 0
        assert search(port, "rotate keys")["results"][0]["document"] == "guides/keys.md"
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=10)[1]
    place = str(fresh / ".watersmeet")
    assert said.startswith(f"there is no index in {place} yet: run `watersmeet sync PATH --index {place}`")


@pytest.mark.server
def test_an_agent_s_server_without_an_index_says_so_to_whoever_looks(run: Run, tmp_path: Path) -> None:
    done = run("mcp", cwd=tmp_path)  # nobody talks to it, so it ends
    assert (done.returncode, done.stdout) == (0, "")
    assert f"there is no index in {tmp_path / '.watersmeet'}" in done.stderr
    assert run("mcp", "--quiet", cwd=tmp_path).stderr == ""


@pytest.mark.server
def test_whom_a_token_is_for_is_said(run: Run, home: Path) -> None:
    said = run("token", "create").stderr
    assert "every index that you serve" in said
    assert str(home / "config" / "watersmeet" / "tokens.json") in said
    assert run("token", "create", "--quiet").stderr == ""


@pytest.mark.server
def test_tokens_are_made_listed_and_revoked(ask: Ask, run: Run, home: Path) -> None:
    made = json.loads(
        run("token", "create", "--json", "--scope", "write", "--user", "ann", "--group", "a", "--group", "b").stdout
    )
    assert made["token"].startswith(f"wm_{made['id']}_")
    assert (made["scope"], made["user"], made["groups"]) == ("write", "ann", ["a", "b"])
    listed = run("token", "list", "--json").stdout
    assert [one["id"] for one in json.loads(listed)["tokens"]] == [made["id"]]
    assert made["token"] not in listed
    assert json.loads(run("token", "revoke", made["id"], "--json").stdout) == {"revoked": made["id"]}
    again = run("token", "revoke", made["id"])
    assert (again.returncode, "token list" in again.stderr) == (1, True)
    assert run("token", "list").stdout == ""
    wrong = run("token", "create", "--scope", "admin")
    assert wrong.returncode == 2


def test_a_token_file_that_cannot_be_read_lets_nobody_in(run: Run, home: Path) -> None:
    place = home / "config" / "watersmeet"
    place.mkdir(parents=True)
    (place / "tokens.json").write_text("{broken")
    refused = run("serve", "--host", "0.0.0.0")  # noqa: S104 - it must be refused
    assert (refused.returncode, "tokens.json" in refused.stderr) == (2, True)


def test_commands_that_serve_nothing_load_no_server() -> None:
    code = (
        "import sys; from watersmeet.face.cli import search, main; import watersmeet.engine.engine;"
        "print([name for name in ('mcp', 'fastapi', 'starlette', 'pydantic', 'uvicorn') if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
