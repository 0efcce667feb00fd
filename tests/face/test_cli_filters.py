"""Filters: what they mean, and what is said when nothing satisfies them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

Run = Callable[..., "subprocess.CompletedProcess[str]"]
Ask = Callable[..., Any]

NOTES = {
    "bread.md": "---\ntags: [Food/Bread]\n---\n# Bread\n\nA sourdough LOAF-42.\n",
    "food.md": "# Food\n\nA LOAF-42 of anything. #food\n",
    "rye.md": "# Rye\n\nA LOAF-42 of rye. #food/bread/rye\n",
    "foodie.md": "---\ntags: [foodie, food-truck, food_, food0]\nmood: calm\n---\n# Foodie\n\nA LOAF-42 of art.\n",
    "guides/oven.md": "# Oven\n\nA LOAF-42 goes in. #kitchen\n",
}
SERVER = {"path": "/bakery", "name": "bakery", "description": "Bakes a LOAF-42", "tags": ["food/bread"], "tools": []}


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("notes")
    for name, text in NOTES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    (folder / "server.json").write_text(json.dumps(SERVER))
    return folder


@pytest.fixture
def kitchen(run: Run, notes: Path) -> Path:
    if not (notes / ".watersmeet").exists():
        assert run("sync", ".", "--quiet", "--format", "md", cwd=notes).returncode == 0
        assert run("register", "server.json", "--quiet", cwd=notes).returncode == 0
    return notes


def found(answer: Any) -> set[str]:
    return {result["document"] for result in answer["results"]}


@pytest.mark.parametrize("tag", ["food", "FOOD", "food/", "#food"])
@pytest.mark.parametrize("mode", ["lexical", "exact", ""])
def test_a_tag_holds_those_below_it(ask: Ask, kitchen: Path, tag: str, mode: str) -> None:
    wanted = {"bread.md", "food.md", "rye.md", "/bakery"}
    flags = ["--mode", mode] if mode else []
    for asked in (["--tag", tag], ["--filter", f"tag={tag}"], ["--filter", f"tags={tag}"]):
        assert found(ask("search", "LOAF-42", *asked, *flags, cwd=kitchen)) == wanted
    assert found(ask("search", f"LOAF-42 #{tag.strip('#')}", *flags, cwd=kitchen)) == wanted


def test_a_tag_does_not_hold_those_above_or_beside_it(ask: Ask, kitchen: Path) -> None:
    assert found(ask("search", "LOAF-42", "--tag", "food/bread", cwd=kitchen)) == {"bread.md", "rye.md", "/bakery"}
    assert found(ask("search", "LOAF-42", "--tag", "food/bread/rye", cwd=kitchen)) == {"rye.md"}
    assert found(ask("search", "LOAF-42", "--tag", "foodie", cwd=kitchen)) == {"foodie.md"}
    assert found(ask("search", "LOAF-42", "--tag", "kitchen", "--tag", "foodie", cwd=kitchen)) == {
        "foodie.md",
        "guides/oven.md",
    }
    for wild in ("foo%", "foo_", "food*", "%"):
        ask("search", "LOAF-42", "--tag", wild, code=1, cwd=kitchen)


def test_the_registry_does_the_same(ask: Ask, kitchen: Path) -> None:
    for asked in (["LOAF-42", "--tag", "food"], ["#food"], ["LOAF-42 #food"], ["LOAF-42", "--tag", "food/bread"]):
        assert [one["path"] for one in ask("find-entities", *asked, cwd=kitchen)["servers"]] == ["/bakery"]
    ask("find-entities", "LOAF-42", "--tag", "foo", code=1, cwd=kitchen)


def test_kind_is_short_for_a_filter(ask: Ask, kitchen: Path) -> None:
    assert found(ask("search", "LOAF-42", "--kind", "mcp_server", cwd=kitchen)) == {"/bakery"}
    assert "/bakery" not in found(ask("search", "LOAF-42", "--kind", "document", cwd=kitchen))


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["--tag", "kitchn"], "no document has the tag 'kitchn'; there are: kitchen, food/bread, "),
        (["#kitchn"], "no document has the tag 'kitchn'; there are: kitchen, "),
        (["--kind", "documnt"], "no document has the kind 'documnt'; there are: document, mcp_server"),
        (["--filter", "mood=wild"], "no document has mood=wild; there are: calm"),
        (["--filter", "collection=x"], "no document has collection=x; there are: default"),
        (["--filter", "moood=x"], "no document has the field 'moood'; did you mean 'mood'?"),
        (["--filter", "path=guides"], "the glob 'guides' matches; did you mean 'guides/**'?"),
        (["--filter", "path=guide/*"], "the glob 'guide/*' matches; for example '*.md' or 'guides/**'"),
    ],
    ids=lambda given: given if isinstance(given, str) else " ".join(given),
)
def test_a_value_that_nothing_has_is_said(run: Run, ask: Ask, kitchen: Path, asked: list[str], said: str) -> None:
    done = run("search", "LOAF-42", *asked, cwd=kitchen)
    assert (done.returncode, done.stdout) == (1, "")
    assert said in done.stderr
    notes = ask("search", "LOAF-42", *asked, code=1, cwd=kitchen)["notes"]
    assert len(notes) == 1
    assert said in notes[0]
    assert run("search", "LOAF-42", *asked, "--quiet", cwd=kitchen).stderr == ""


def test_a_tag_that_no_entity_has_is_said(run: Run, ask: Ask, kitchen: Path) -> None:
    for asked in (["LOAF-42", "--tag", "kitchn"], ["#kitchn"]):
        assert (
            "no document has the tag 'kitchn'; there are: kitchen" in run("find-entities", *asked, cwd=kitchen).stderr
        )
        assert len(ask("find-entities", *asked, code=1, cwd=kitchen)["notes"]) == 1


def test_nothing_is_said_of_filters_that_hold(run: Run, ask: Ask, kitchen: Path) -> None:
    assert "notes" not in ask("search", "xylophone", "--tag", "food", code=1, cwd=kitchen)
    assert run("search", "xylophone", "--tag", "food", cwd=kitchen).stderr == "nothing found\n"
    assert "notes" not in ask("search", "LOAF-42", "--tag", "food", "--tag", "nosuch", cwd=kitchen)


def test_tags_are_listed_as_they_are(ask: Ask, kitchen: Path) -> None:
    assert ask("inspect", "rye.md", cwd=kitchen)["tags"] == ["food/bread/rye"]


@pytest.mark.parametrize("asked", ["kind=DOCUMENT", "Kind=document", "collection=DEFAULT", "mood=CALM"])
def test_values_in_upper_or_lower_case(ask: Ask, kitchen: Path, asked: str) -> None:
    assert found(ask("search", "LOAF-42", "--filter", asked, cwd=kitchen)) == (
        {"foodie.md"} if asked.startswith("mood") else set(NOTES)
    )


@pytest.mark.parametrize("asked", ["collection=ÜBUNGEN", "collection=Übungen", "team=ÄRZTE", "team=Ärzte", "tag=Öl"])
def test_letters_beyond_ascii_have_two_cases_too(ask: Ask, tmp_path: Path, asked: str) -> None:
    (tmp_path / "a.md").write_text("# A\n\nLOAF-42\n")
    meta = ["--collection", "Übungen", "--meta", "team=Ärzte", "--meta", "tag=Öl"]
    ask("sync", ".", *meta, cwd=tmp_path)
    assert found(ask("search", "LOAF-42", "--filter", asked, cwd=tmp_path)) == {"a.md"}


@pytest.mark.server
def test_the_help_says_what_filters_mean_and_where_indexes_are_kept(run: Run) -> None:
    said = " ".join(run("search", "--help").stdout.split())
    for part in ("path=guides/**: a glob", "path=*.txt", "tag=food: that tag or one below it", "status=done"):
        assert part in said
    for command in ("search", "serve", "mcp"):
        said = " ".join(run(command, "--help").stdout.split())
        assert "~/.cache/watersmeet/indexes" in said
        assert "delete that folder to remove it" in said


def test_facets_are_counted_beside_the_results(run: Run, ask: Ask, kitchen: Path) -> None:
    printed = run("search", "LOAF-42", "--facets", "--top-n", "1", cwd=kitchen)
    assert "kind: document 5, mcp_server 1" in printed.stderr
    assert "kind:" not in printed.stdout
    told = ask("search", "LOAF-42", "--facets", cwd=kitchen)["facets"]
    assert told["documents"] == 6
    assert {"key": "tag", "value": "kitchen", "documents": 1} in told["counts"]


def test_an_offset_gives_the_results_after_the_first(ask: Ask, kitchen: Path) -> None:
    every = [one["id"] for one in ask("search", "LOAF-42", cwd=kitchen)["results"]]
    assert [one["id"] for one in ask("search", "LOAF-42", "--offset", "2", "-n", "3", cwd=kitchen)["results"]] == every[
        2:5
    ]
