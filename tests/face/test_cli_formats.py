"""The same answer for a person, for a page of Markdown and for a program; completion of what is typed."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def test_search_in_three_formats(run: Run) -> None:
    plain = run("search", "rotate keys", "--format", "plain")
    assert plain.stdout == run("search", "rotate keys").stdout
    shown = run("search", "rotate keys", "--explain", "--format", "markdown").stdout
    assert shown.startswith("### 1. Keys\n\n`")
    assert re.search(r"^`.*guides/keys\.md:1-\d+`, score 1\.000$", shown, re.MULTILINE)
    assert "- lexical: score " in shown
    assert "```text\nRotate keys every quarter" in shown
    found = [json.loads(run("search", "rotate keys", *flags).stdout) for flags in (["--json"], ["--format", "json"])]
    assert found[0].pop("took_ms")
    assert found[1].pop("took_ms")
    assert found[0] == found[1]


def test_nothing_found_is_said_in_every_format(run: Run) -> None:
    done = run("search", "zzyzx", "--format", "markdown")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "nothing found\n")
    assert run("search", "zzyzx", "--format", "json").returncode == 1


@pytest.mark.parametrize("command", [["list"], ["related", "guides/keys.md"]])
def test_tables_in_markdown(run: Run, command: list[str]) -> None:
    head, rule, *rows = run(*command, "--format", "markdown").stdout.splitlines()
    assert head.startswith("| document | title |")
    assert set(rule) == set("|- ")
    assert all(row.count("|") == head.count("|") for row in rows)
    assert json.loads(run(*command, "--format", "json").stdout)


def test_a_document_in_markdown(run: Run, synced: Path) -> None:
    shown = run("get", "guides/keys.md", "--format", "markdown").stdout
    assert shown.startswith(f"`{synced}/guides/keys.md`\n\n# Keys\n")
    assert json.loads(run("get", "guides/keys.md", "--format", "json").stdout)["title"] == "Keys"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_of_both_names(run: Run, shell: str) -> None:
    done = run("completion", shell)
    assert (done.returncode, done.stderr) == (0, "")
    assert "_WATERSMEET_COMPLETE" in done.stdout
    assert "_WM_COMPLETE" in done.stdout
    assert json.loads(run("completion", shell, "--json").stdout)["script"] == done.stdout.rstrip("\n")


def test_modes_and_recipes_are_completed(run: Run) -> None:
    def complete(words: str) -> list[str]:
        done = run(COMP_WORDS=words, COMP_CWORD=str(words.count(" ")), _WATERSMEET_COMPLETE="bash_complete")
        return [line.split(",", 1)[1] for line in done.stdout.splitlines()]

    assert complete("watersmeet search --mode s") == ["static", "sparse"]
    assert complete("watersmeet search --recipe no") == ["notes"]
    assert complete("watersmeet list --format m") == ["markdown"]
