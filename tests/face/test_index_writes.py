"""Syncs, removals and jobs over REST: who may do what, what may be named, and what a caller learns from it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from serving import Served, served
from watersmeet import Engine
from watersmeet.face.tokens import Tokens

pytestmark = pytest.mark.server

WRITES: list[tuple[str, dict[str, Any]]] = [
    ("/api/sync", {}),
    ("/api/sync", {"dry_run": True}),
    ("/api/sync", {"wait": False}),
    ("/api/remove", {"ids": ["index.md"]}),
    ("/api/remove", {"ids": ["index.md"], "dry_run": True}),
]
SECONDS = 60.0


@pytest.fixture
def index(engine: Engine, vault: Path) -> str:
    engine.sync([vault])
    return engine.folder


@pytest.fixture
def site(engine: Engine, index: str) -> Iterator[Served]:
    with served(engine, allow_write=True) as made:
        yield made


def done(site: Served, job: str, token: str = "") -> dict[str, Any]:
    """A job once it has ended."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        found: dict[str, Any] = site.ask(f"/api/jobs/{job}", token=token).json()
        if found["state"] in ("done", "failed"):
            return found
        time.sleep(0.05)
    raise AssertionError("the job does not end")


# ---------------------------------------------------------------- who may write


@pytest.mark.parametrize(("path", "body"), WRITES)
def test_a_server_that_only_reads_refuses(engine: Engine, index: str, path: str, body: dict[str, Any]) -> None:
    _, writer = Tokens().create("write")
    for host in ("127.0.0.1", "0.0.0.0"):  # noqa: S104 - that is the point
        with served(engine, host=host, tokens=Tokens()) as site:
            assert site.ask(path, body, token=writer).status == 403
            assert site.ask("/api/jobs/x", token=writer).status == 403
    assert len(engine.documents()) == 4


@pytest.mark.parametrize(("path", "body"), WRITES)
def test_a_token_decides(engine: Engine, index: str, path: str, body: dict[str, Any]) -> None:
    _, reader = Tokens().create("read")
    _, writer = Tokens().create("write")
    with served(engine, host="0.0.0.0", allow_write=True, tokens=Tokens()) as site:  # noqa: S104 - that is the point
        assert site.ask(path, body).status == 401
        assert site.ask(path, body, token="wm_wrong_wrong").status == 401  # noqa: S106 - it is no token
        assert site.ask(path, body, token=reader).status == 403
        assert len(engine.documents()) == 4
        answer = site.ask(path, body, token=writer)
        assert answer.status == (202 if body.get("wait") is False else 200)
        if answer.status == 202:
            assert done(site, answer.json()["job"], writer)["state"] == "done"
        assert site.ask("/api/roots", token=reader).status == 200
        assert site.ask("/api/roots").status == 401


def test_on_this_machine_tokens_decide_once_there_are_some(engine: Engine, index: str) -> None:
    with served(engine, allow_write=True) as site:
        assert site.ask("/api/sync", {"dry_run": True}).status == 200
        _, writer = Tokens().create("write")
        assert site.ask("/api/sync", {"dry_run": True}).status == 403
        assert site.ask("/api/sync", {"dry_run": True}, token=writer).status == 200


# ---------------------------------------------------------------- what is done


def test_roots_are_listed_synced_and_removed(site: Served, vault: Path) -> None:
    (root,) = site.ask("/api/roots").json()["roots"]
    assert (root["name"], root["root"], root["documents"]) == ("vault", str(vault), 4)
    (vault / "new.md").write_text("# New\n")
    assert site.ask("/api/sync", {"paths": [str(vault)]}).json()["added"] == 1
    tried = site.ask("/api/remove", {"ids": ["vault"], "dry_run": True}).json()
    assert tried == {"removed": 5, "dry_run": True}
    assert site.ask("/api/remove", {"ids": ["new.md"]}).json() == {"removed": 1}
    assert site.ask("/api/remove", {"ids": ["vault"]}).json() == {"removed": 4}
    assert site.ask("/api/roots").json() == {"roots": []}
    assert (vault / "new.md").exists()


def test_a_dry_run_writes_nothing(site: Served, vault: Path) -> None:
    (vault / "new.md").write_text("# New\n")
    (vault / "index.md").unlink()
    report = site.ask("/api/sync", {"dry_run": True}).json()
    assert (report["dry_run"], report["added"], report["removed"]) == (True, 1, 1)
    assert report["planned"] == {"added": ["new.md"], "changed": [], "moved": [], "removed": ["index.md"]}
    assert site.ask("/api/documents/index.md").status == 200
    assert site.ask("/api/documents/new.md").status == 404


def test_a_job_tells_how_far_it_is_and_then_what_it_did(site: Served, vault: Path) -> None:
    for number in range(50):
        (vault / f"{number}.md").write_text(f"# Note {number}\n")
    started = site.ask("/api/sync", {"wait": False})
    assert started.status == 202
    job = started.json()["job"]
    ended = done(site, job)
    assert (ended["state"], ended["problem"], ended["report"]["added"]) == ("done", None, 50)
    assert (ended["done"], ended["unit"]) == (ended["total"], "files")
    assert site.ask("/api/jobs/none").status == 404


def test_a_job_that_fails_says_why(site: Served, tmp_path: Path) -> None:
    job = site.ask("/api/sync", {"paths": [str(tmp_path)], "wait": False}).json()["job"]
    ended = done(site, job)
    assert (ended["state"], ended["report"]) == ("failed", None)
    assert "no folder of this index" in ended["problem"]["detail"]


def test_a_job_is_shown_to_its_caller_only(engine: Engine, index: str) -> None:
    _, one = Tokens().create("write")
    _, other = Tokens().create("write")
    with served(engine, allow_write=True, tokens=Tokens()) as site:
        job = site.ask("/api/sync", {"wait": False}, token=one).json()["job"]
        assert done(site, job, one)["state"] == "done"
        assert site.ask(f"/api/jobs/{job}", token=other).status == 404


# ---------------------------------------------------------------- what may be named, and what is learned


def test_nothing_outside_is_named_or_found_out(site: Served, vault: Path, tmp_path: Path) -> None:
    outside = tmp_path / "secret.md"
    outside.write_text("# Flamingo\n")
    (vault / "link.md").symlink_to(outside)
    answers = []
    for path in (
        str(outside),
        str(tmp_path / "none.md"),
        f"{vault}/../secret.md",
        f"{vault}/../none.md",
        str(vault / "link.md"),
        "/etc/passwd",
        "/etc/none",
        str(tmp_path),
    ):
        for dry_run in (True, False):
            answer = site.ask("/api/sync", {"paths": [path], "dry_run": dry_run})
            assert answer.status == 400
            answers.append(answer.content)
    assert len(set(answers)) == 1  # whether there is such a file or not
    for address in ("https://example.org/", "pypi:requests", "git+https://example.org/x", "history+/etc"):
        assert site.ask("/api/sync", {"paths": [address], "dry_run": True}).status == 400
    assert site.ask("/api/sync", {"paths": ["a\0b"], "dry_run": True}).status == 400
    report = site.ask("/api/sync", {"dry_run": True}).json()
    assert report["planned"]["added"] == []
    assert "Flamingo" not in json.dumps(report)


@pytest.mark.parametrize("wrong", ["none.md", "../vault", "/etc", "vault/../vault", "a\0b"])
def test_what_is_not_there_is_not_removed(site: Served, wrong: str) -> None:
    for dry_run in (True, False):
        assert site.ask("/api/remove", {"ids": ["index.md", wrong], "dry_run": dry_run}).status == 404
    assert len(site.service.engine.documents()) == 4


def test_what_a_caller_cannot_see_is_neither_listed_nor_removed(engine: Engine, vault: Path) -> None:
    (vault / "mine.md").write_text("---\n'@audience': user:ann\n---\n# Diary\n\nPelicans.\n")
    engine.sync([vault])
    _, ann = Tokens().create("write", user="ann")
    _, bob = Tokens().create("write", user="bob")
    with served(engine, allow_write=True, tokens=Tokens()) as site:
        assert site.ask("/api/documents/mine.md", token=bob).status == 404
        assert site.ask("/api/remove", {"ids": ["mine.md"]}, token=bob).status == 404
        assert site.ask("/api/remove", {"ids": ["vault"]}, token=bob).status == 400
        (vault / "mine.md").write_text("---\n'@audience': user:ann\n---\n# Diary\n\nTerns.\n")
        (vault / "more.md").write_text("---\n'@audience': user:ann\n---\n# More\n")
        seen = site.ask("/api/sync", {"dry_run": True}, token=bob).json()["planned"]
        assert "mine.md" not in json.dumps(seen)
        assert "more.md" not in json.dumps(seen)
        assert site.ask("/api/remove", {"ids": ["mine.md"]}, token=ann).json() == {"removed": 1}


def test_a_private_entity_is_not_removed_by_others(engine: Engine, index: str) -> None:
    engine.registry.register(
        [{"kind": "mcp_server", "path": "/clock", "name": "clock", "visibility": "group", "groups": ["pink"]}]
    )
    _, stranger = Tokens().create("write")
    _, pink = Tokens().create("write", groups=("pink",))
    with served(engine, allow_write=True, tokens=Tokens()) as site:
        assert site.ask("/api/remove", {"ids": ["/clock"]}, token=stranger).status == 404
        assert site.ask("/api/remove", {"ids": ["/clock"], "dry_run": True}, token=stranger).status == 404
        assert site.ask("/api/remove", {"ids": ["/clock"]}, token=pink).json() == {"removed": 1}


def test_another_machine_sees_no_local_paths(engine: Engine, vault: Path, index: str) -> None:
    _, writer = Tokens().create("write")
    (vault / "broken.md").write_bytes(b"\xff\xfe\x00\x00" * 50)
    (vault / "table.jsonl").write_text("{broken\n")
    with served(engine, host="0.0.0.0", allow_write=True, tokens=Tokens()) as site:  # noqa: S104 - that is the point
        roots = site.ask("/api/roots", token=writer)
        report = site.ask("/api/sync", {"dry_run": True}, token=writer)
        for answer in (roots, report):
            assert answer.status == 200
            assert str(vault.parent) not in answer.content.decode()
        assert site.ask("/api/remove", {"ids": [str(vault)]}, token=writer).status == 404
        assert site.ask("/api/remove", {"ids": ["vault"], "dry_run": True}, token=writer).json()["removed"] == 4


# ---------------------------------------------------------------- the end of a server


@pytest.mark.kill
def test_a_server_that_is_killed_during_a_job_leaves_a_sound_index(tmp_path: Path, vault: Path) -> None:
    place = tmp_path / "killed"
    environ = {**os.environ, "WATERSMEET__INDEX__VECTORS": "false"}
    command = [sys.executable, "-m", "watersmeet"]
    subprocess.run([*command, "sync", str(vault), "--index", str(place), "--quiet"], env=environ, check=True)
    for number in range(3000):
        (vault / f"note{number}.md").write_text(f"# Note {number}\n\nA heron, number {number}.\n")
    serve = ["serve", "--index", str(place), "--port", "0", "--allow-write", "--no-watch", "--json"]
    with subprocess.Popen([*command, *serve], env=environ, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        url = json.loads(server.stdout.readline())["url"].rstrip("/")

        def ask(path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
            sent = json.dumps(body).encode() if body is not None else None
            asked = urllib.request.Request(url + path, sent, {"Content-Type": "application/json"})  # noqa: S310 - ours
            with urllib.request.urlopen(asked, timeout=30) as answer:  # noqa: S310 - ours
                found: dict[str, Any] = json.loads(answer.read())
                return found

        job = ask("/api/sync", {"wait": False})["job"]
        end = time.monotonic() + SECONDS
        while ask(f"/api/jobs/{job}")["state"] == "waiting" and time.monotonic() < end:
            time.sleep(0.01)
        server.send_signal(signal.SIGKILL)
    checked = subprocess.run(
        [*command, "doctor", "--index", str(place), "--json"], env=environ, capture_output=True, text=True, check=False
    )
    assert [one for one in json.loads(checked.stdout)["checks"] if not one["ok"]] == []
    again = subprocess.run(
        [*command, "sync", "--index", str(place), "--json"], env=environ, capture_output=True, text=True, check=True
    )
    assert json.loads(again.stdout)["documents"] == 3004
