"""The suite itself: every test is fast or says why not, and every component has a test file of its own name."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests"
KINDS = {"model", "kill", "browser", "docs", "server", "slow"}
LEAST = 0.6
"""The share of the test functions that `pytest -m fast` runs at least."""
FOLDERS = "source parse record chunk embed query signal fusion stage present chat store/local store/mongodb".split()

COMPONENTS = [
    (folder, path.stem)
    for folder in FOLDERS
    for path in sorted((ROOT / "src" / "watersmeet" / folder).glob("*.py"))
    if not path.stem.startswith("_")
]


class Written(NamedTuple):
    """A test function as it stands in its file, with the names of all markers that hold for it."""

    name: str
    markers: frozenset[str]


def marks(node: ast.AST) -> Iterator[str]:
    """The names in `pytest.mark.NAME`, wherever below this they stand."""
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Attribute) and part.value.attr == "mark":
            yield part.attr


def functions_in(body: list[ast.stmt], outer: frozenset[str], where: str) -> Iterator[Written]:
    for node in body:
        if isinstance(node, ast.Assign) and [one.id for one in node.targets if isinstance(one, ast.Name)] == [
            "pytestmark"
        ]:
            outer |= frozenset(marks(node.value))
    for node in body:
        if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        own = outer.union(*(frozenset(marks(one)) for one in node.decorator_list))
        if isinstance(node, ast.ClassDef):
            yield from functions_in(node.body, own, f"{where}::{node.name}")
        elif node.name.startswith("test_"):
            yield Written(f"{where}::{node.name}", own)


@cache
def written() -> list[Written]:
    found: list[Written] = []
    for path in sorted(TESTS.rglob("test_*.py")):
        tree = ast.parse(path.read_text("utf8"))
        found += functions_in(tree.body, frozenset(), path.relative_to(ROOT).as_posix())
    return found


def test_most_tests_are_fast() -> None:
    every = written()
    fast = [one for one in every if not one.markers & KINDS]
    assert len(fast) >= LEAST * len(every), f"{len(fast)} of {len(every)}"


def test_no_test_says_of_itself_that_it_is_fast() -> None:
    """tests/conftest.py says so of every test that has none of the other markers: one that had both would be both."""
    assert [one.name for one in written() if "fast" in one.markers] == []


def test_every_test_here_is_fast_or_has_another_marker(request: pytest.FixtureRequest) -> None:
    """Of what pytest collected, in this run: exactly one of the two holds for each."""
    for item in request.session.items:
        names = {marker.name for marker in item.iter_markers()}
        assert ("fast" in names) != bool(names & KINDS), item.nodeid


def test_what_runs_in_a_browser_says_so() -> None:
    assert all("browser" in one.markers for one in written() if one.name.startswith("tests/browser/"))


def test_the_markers_are_those_that_are_registered(pytestconfig: pytest.Config) -> None:
    registered = {line.partition(":")[0] for line in pytestconfig.getini("markers")}
    assert {*KINDS, "fast"} <= registered


@pytest.mark.parametrize(("folder", "name"), COMPONENTS, ids=lambda value: value)
def test_every_component_has_a_test_file_of_its_name(folder: str, name: str) -> None:
    path = TESTS / folder / f"test_{name}.py"
    assert path.is_file(), f"write {path.relative_to(ROOT)}: tests of what this component does by itself"
    text = path.read_text("utf8")
    has_tests = any(True for _ in functions_in(ast.parse(text).body, frozenset(), ""))
    assert has_tests, f"there is no test in {path.relative_to(ROOT)}"


def test_all_kinds_of_components_are_looked_at() -> None:
    assert {folder for folder, _ in COMPONENTS} == set(FOLDERS)
