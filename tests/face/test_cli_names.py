"""`get`, `related` and `--why-not` take whatever a person has at hand: an id, what search prints, a path, a name."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

Run = Callable[..., "subprocess.CompletedProcess[str]"]
Ask = Callable[..., Any]

KEYS = "guides/keys.md"
TWINS = {
    "a/Meeting Notes.md": "# Monday\n\nAbout herons.\n",
    "b/meeting notes.md": "# Tuesday\n\nAbout storks.\n",
    "plan.md": "---\ntitle: The Plan\naliases: [Roadmap]\n---\n# Plan\n\nAbout cranes. See [[Roadmap]].\n",
    "c.md": "---\naliases: [Roadmap]\n---\n# C\n\nAbout egrets.\n",
}


@pytest.fixture
def twins(run: Run, tmp_path: Path) -> Path:
    for name, text in TWINS.items():
        (tmp_path / "twins" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "twins" / name).write_text(text)
    assert run("sync", ".", "--quiet", cwd=tmp_path / "twins").returncode == 0
    return tmp_path / "twins"


@pytest.mark.parametrize("form", ["plain", "markdown", ""])
@pytest.mark.parametrize("folder", [".", "guides", "links"])
def test_what_search_prints_can_be_got(run: Run, ask: Ask, synced: Path, form: str, folder: str) -> None:
    cwd = synced / folder
    flags = ["--format", form] if form else []
    printed = run("search", "rotate_keys", "-n", "1", *flags, cwd=cwd).stdout
    where = (
        re.search(r"`(.+?)`, score", printed) if form == "markdown" else re.search(r"^   (.+)  score", printed, re.M)
    )
    assert where
    for written in (where[1], where[1].rpartition(":")[0]):
        assert ask("get", written, cwd=cwd)["document"] == KEYS
        assert ask("related", written, cwd=cwd)["results"]


def test_every_field_of_a_result_can_be_got(ask: Ask) -> None:
    result = ask("search", "KEY-2024-0042", "-n", "1")["results"][0]
    for field in ("id", "document", "path", "title"):
        assert ask("get", result[field])["document"] == KEYS
    assert ask("get", result["id"])["text"] == result["text"]


def test_what_a_context_pack_cites_can_be_got(ask: Ask, run: Run) -> None:
    cited = re.search(r"\((\S+:\d+-\d+)\)", run("search", "KEY-2024-0042", "--budget", "200").stdout)
    assert cited
    assert ask("get", cited[1])["document"] == KEYS


def test_a_line_names_the_passage_that_holds_it(ask: Ask) -> None:
    for chunk in ask("get", "guides/setup.md")["chunks"]:
        for line in chunk["lines"]:
            passage = ask("get", f"guides/setup.md:{line}")
            assert [one["id"] for one in passage["chunks"]] == [chunk["id"]]
            assert passage["text"] == ask("get", chunk["id"])["text"]
    assert ask("get", "guides/setup.md:9999")["text"] == ask("get", "guides/setup.md")["text"]


@pytest.mark.parametrize(
    "written",
    ["Keys", "keys", "keys.md", "guides/keys", "/guides/keys.md", "./guides/keys.md", "links/../guides/keys.md"],
)
def test_a_name_will_do_where_only_one_has_it(ask: Ask, written: str) -> None:
    assert ask("get", written)["document"] == KEYS
    assert {one["document"] for one in ask("related", written)["results"]} >= {"links/plain.md"}
    assert ask("search", "archive", "--why-not", written)["why_not"]["document"] == KEYS


def test_absolute_paths_titles_and_aliases(ask: Ask, synced: Path, tmp_path: Path) -> None:
    assert ask("get", str(synced / KEYS), "--index", str(synced / ".watersmeet"), cwd=tmp_path)["document"] == KEYS
    (tmp_path / "link").symlink_to(synced)
    linked = str(tmp_path / "link" / KEYS)
    assert ask("get", linked, "--index", str(synced / ".watersmeet"), cwd=tmp_path)["document"] == KEYS
    assert ask("get", "foo bar")["document"] == "guides/setup.md"
    assert ask("get", "HOME")["document"] == "index.md"


def test_a_title_or_a_whole_path_is_enough(ask: Ask, twins: Path) -> None:
    assert ask("get", "the plan", cwd=twins)["document"] == "plan.md"
    assert ask("get", "Plan", cwd=twins)["document"] == "plan.md"
    assert ask("get", "a/meeting notes", cwd=twins)["document"] == "a/Meeting Notes.md"
    assert ask("get", "Meeting Notes.md", cwd=twins / "a")["document"] == "a/Meeting Notes.md"


@pytest.mark.parametrize("command", [["get"], ["related"], ["search", "cranes", "--why-not"]])
def test_a_name_that_several_have_is_not_guessed(run: Run, twins: Path, command: list[str]) -> None:
    for name, candidates in (
        ("Meeting Notes", ["a/Meeting Notes.md", "b/meeting notes.md"]),
        ("roadmap", ["c.md", "plan.md"]),
    ):
        done = run(*command, name, cwd=twins)
        assert (done.returncode, done.stdout) == (2, "")
        assert f"hint: name one: {', '.join(map(repr, candidates))}" in done.stderr


def test_what_is_much_like_it_is_named(run: Run, twins: Path) -> None:
    done = run("get", "Meetng Nots", cwd=twins)
    assert done.returncode == 1
    assert "did you mean 'a/Meeting Notes.md'" in done.stderr
    assert "did you mean 'plan.md'" in run("related", "the plam", cwd=twins).stderr


def test_records_of_one_file_are_told_apart_by_their_line(run: Run, ask: Ask, tmp_path: Path) -> None:
    records = [{"_id": f"r{n}", "title": f"Record {n}", "text": f"Number {n} about terns."} for n in range(1, 4)]
    (tmp_path / "all.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    run("sync", "all.jsonl", "--quiet", cwd=tmp_path)
    for found in ask("search", "terns", cwd=tmp_path)["results"]:
        assert ask("get", f"{found['path']}:{found['lines'][0]}", cwd=tmp_path)["document"] == found["document"]
    done = run("get", "all.jsonl", cwd=tmp_path)
    assert (done.returncode, "'r1', 'r2', 'r3'" in done.stderr) == (2, True)
