"""Sparse vectors are made when a command first asks for them, and a server says how."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from serving import served
from watersmeet import Engine
from watersmeet.engine.settings.settings import load

pytestmark = pytest.mark.model

Run = Callable[..., "subprocess.CompletedProcess[str]"]
WITH = {"WATERSMEET__INDEX__VECTORS": "true", "WATERSMEET__INDEX__DENSE": ""}


@pytest.fixture
def place(fresh: Path, run: Run) -> Path:
    assert run("sync", ".", cwd=fresh, **WITH).returncode == 0
    return fresh


def made(place: Path) -> bool:
    return bool(list((place / ".watersmeet").glob("vectors-sparse-*/*.postings")))


@pytest.mark.parametrize("how", [["--mode", "sparse"], ["--recipe", "docs"]])
def test_a_search_makes_them_first_and_says_so(place: Path, run: Run, how: list[str]) -> None:
    assert run("search", "rotate keys", "-n", "20", cwd=place, **WITH).stderr == ""
    assert not made(place)
    first = run("search", "rotate keys", "-n", "20", *how, cwd=place, **WITH)
    assert made(place)
    assert "embedding (sparse)" in first.stderr
    assert "sparse" not in first.stderr.replace("embedding (sparse)", "")
    assert "guides/keys.md" in first.stdout
    again = run("search", "rotate keys", "-n", "20", *how, cwd=place, **WITH)
    assert (again.stdout, again.stderr) == (first.stdout, "")


def test_json_is_not_disturbed(place: Path, run: Run) -> None:
    asked = run("search", "rotate keys", "--mode", "sparse", "--json", cwd=place, **WITH)
    assert (json.loads(asked.stdout)["mode"], asked.stderr) == ("sparse", "")


def test_deepen_makes_them_and_status_says_whether_they_are_there(place: Path, run: Run) -> None:
    assert "sparse" not in run("status", cwd=place, **WITH).stdout
    assert run("deepen", cwd=place, **WITH).returncode == 0
    assert not made(place)
    assert run("deepen", "--tier", "sparse", cwd=place, **WITH).returncode == 0
    assert made(place)
    assert "100% covered, terms" in run("status", cwd=place, **WITH).stdout
    assert run("deepen", "--tier", "sparze", cwd=place, **WITH).returncode == 2


def test_an_index_that_cannot_be_written_is_searched_without_them(place: Path, run: Run) -> None:
    lock = place / ".watersmeet" / "deepen-sparse.lock"
    lock.mkdir()  # as good as a folder that nobody may write to, also for root
    asked = run("search", "rotate keys", "--mode", "sparse", cwd=place, **WITH)
    assert asked.returncode == 0
    assert "without sparse: the index holds no sparse vectors" in asked.stderr
    assert "guides/keys.md" in asked.stdout


@pytest.mark.server
def test_a_server_makes_none_and_says_how(place: Path) -> None:
    settings = load(start=str(place), environ={"WATERSMEET__INDEX__DENSE": ""})
    with served(Engine(place / ".watersmeet", settings)) as site:
        for asked in ({"mode": "sparse"}, {"recipe": "docs"}):
            answer = site.ask("/api/search", {"query": "rotate keys", **asked}).json()
            (failure,) = answer["failures"]
            assert (failure["by"], failure["hint"]) == ("sparse", "make them with `watersmeet deepen --tier sparse`")
            assert answer["results"]
    assert not made(place)
