"""`watersmeet collection` and `sync --audience`, and what a server tells of a restricted folder."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from serving import served
from watersmeet import Engine
from watersmeet.face.tokens import Tokens

if TYPE_CHECKING:
    import subprocess

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def folders(tmp_path: Path) -> Path:
    for name, text in (("open", "A heron."), ("hr", "The zanzibar bonus.")):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.md").write_text(f"# {name}\n\n{text}\n")
    return tmp_path


@pytest.mark.slow
def test_an_audience_is_set_shown_and_changed(folders: Path, run: Run) -> None:
    def shown(*arguments: str) -> Any:
        done = run("collection", *arguments, "--json", cwd=folders)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    run("sync", "open", "--no-vectors", cwd=folders)
    done = run("sync", "hr", "--no-vectors", "--audience", "group:hr", cwd=folders)
    assert done.returncode == 0, done.stderr
    hr = {"collection": "hr", "audience": "group:hr", "documents": 1, "roots": 1}
    default = {"collection": "default", "audience": "public", "documents": 1, "roots": 1}
    assert shown() == {"collections": [default, hr]}
    assert shown("hr") == hr
    assert shown("hr", "--audience", "owner:ann,group:hr") == {**hr, "audience": "owner:ann,group:hr"}
    assert run("collection", "hr", "--audience", "private", cwd=folders).stdout == "hr is now for private\n"
    assert run("collection", "hr", "--audience", "private", cwd=folders).stdout == "hr is already for private\n"
    assert run("collection", cwd=folders).stdout.splitlines()[1].split("\t") == ["hr", "private", "1", "1"]
    unknown, wrong = run("collection", "nix", cwd=folders), run("collection", "hr", "--audience", "x", cwd=folders)
    assert (unknown.returncode, wrong.returncode) == (1, 2)
    assert "group:NAME" in wrong.stderr
    assert run("collection", "--audience", "private", cwd=folders).returncode == 2


@pytest.mark.server
def test_a_server_tells_others_nothing_of_a_restricted_folder(engine: Engine, folders: Path) -> None:
    engine.sync([folders / "open"])
    engine.sync([folders / "hr"], audience="group:hr")
    _, hr = Tokens().create("write", "", ("hr",))
    _, other = Tokens().create("write")
    with served(engine, allow_write=True, tokens=Tokens()) as site:
        for token, seen in ((hr, True), (other, False)):
            names = [root["name"] for root in site.ask("/api/roots", token=token).json()["roots"]]
            assert names == ["open", *(["hr"] if seen else [])]
            for path in ("hr/hr.md", "hr.md"):
                assert site.ask(f"/file/{path}", token=token).status == (200 if seen and path == "hr/hr.md" else 404)
            body = {"ids": ["hr"], "dry_run": True}
            assert site.ask("/api/remove", body, token=token).status == (200 if seen else 404)
            hidden = site.ask("/api/sync", {"paths": [str(folders / "hr")]}, token=token)
            nothing = site.ask("/api/sync", {"paths": [str(folders / "nowhere")]}, token=token)
            assert (hidden.status == 200) == seen
            assert seen or (hidden.status, hidden.json()) == (nothing.status, nothing.json())
            whole = site.ask("/api/sync", {}, token=token).json()
            assert (whole["documents"], whole["unchanged"]) == ((2, 2) if seen else (1, 1))
