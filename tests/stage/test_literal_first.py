"""Titles, headings and single words, letter for letter."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from watersmeet import Engine
from watersmeet.core.model import Plan
from watersmeet.engine.settings.settings import load
from watersmeet.stage.literal_first import LiteralFirst

FILLER = {f"n{n}.md": f"# Boards {n}\n\nBoards, cards and lists of task planning, page {n}.\n" for n in range(20)}
PAGES = {
    "kanban.md": "# Plug-ins\n\nThere is a plug-in for kanban, and others. It was planned by users.\n",
    "planning.md": "# Planning\n\nWe are planning the planning of plans: a plan.\n",
    "sync.md": "# Set up Sync\n\nShort.\n\n## Choose a region\n\nEurope or Asia.\n",
    "pump.md": "---\naliases: [Old Bess, Choose a well]\n---\n# Garden pump\n\n"
    + "It draws water for the beds and the pond. " * 20
    + "\n\n## Choose a well\n\n"
    + "The deep one has water in summer. " * 20,
    "bess.md": "# Farm animals\n\nOld Bess is a cow. "
    + "Old Bess, the old one, Bess, is fed at six. " * 9
    + "\n\n## Old Bess\n\nA cow.\n",
    "long.md": "# Everything on Sync\n\nHow to set up sync. "
    + "Set up Sync, sync setup, choose a region to sync. " * 9,
}


@pytest.fixture
def engine(tmp_path: Path, write) -> Iterator[Engine]:
    settings = load(start=str(tmp_path), environ={"WATERSMEET__INDEX__DENSE": ""})
    with Engine(tmp_path / "index", settings) as made:
        made.sync([write({**PAGES, **FILLER})])
        yield made


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("kanban", "kanban.md"),
        ("what is Kanban?", "kanban.md"),
        ("planned", "kanban.md"),  # as written before other endings
        ("Set up Sync", "sync.md"),
        ("set up sync", "sync.md"),
        ("Choose a region", "sync.md"),
        ("Old Bess", "pump.md"),  # an alias before a heading of another page
        ("old bess", "pump.md"),
    ],
)
@pytest.mark.model
def test_what_is_named_or_said_comes_first(engine: Engine, query: str, first: str) -> None:
    answer = engine.search(query)
    assert answer.results[0].document == first
    assert not answer.no_good_match
    moved = [e.detail for e in answer.results[0].evidence if e.by == "literal_first"]
    assert moved
    assert "matches" in moved[0] or "word" in moved[0]


@pytest.mark.model
def test_of_a_page_with_the_alias_the_section_of_that_name_comes_first(engine: Engine) -> None:
    first = engine.search("Choose a well").results[0]
    assert (first.document, first.headings[-1]) == ("pump.md", "Choose a well")
    assert {"matches": "alias"}.items() <= next(e.detail for e in first.evidence if e.by == "literal_first").items()


def test_an_alias_is_found_below_the_hits_that_are_read(shelf, ranked) -> None:
    shelf.put("part", "text", "page", "The page", ("The page", "Part"))
    shelf.put("start", "text", "page", "The page", ("The page",))
    shelf.put("else", "text", "other", "Other")
    shelf.put("file", "text", "nickname.md", "A file")
    shelf.aliases["nickname"] = {"page"}
    ranking = ranked({"else": 1.0, "file": 0.9, "part": 0.8, "start": 0.5})
    found = LiteralFirst(shelf, shelf, depth=1).apply(ranking, Plan("Nickname"))
    assert [hit.chunk for hit in found.hits] == ["start", "else", "file", "part"]


def test_a_title_wins_over_an_alias(shelf, ranked) -> None:
    shelf.put("titled", "text", "titled.md", "The pump")
    shelf.put("aliased", "text", "aliased.md", "Other")
    shelf.aliases["the pump"] = {"aliased.md"}
    found = LiteralFirst(shelf, shelf).apply(ranked({"aliased": 1.0, "titled": 0.5}), Plan("the pump"))
    assert [hit.chunk for hit in found.hits] == ["titled", "aliased"]


def test_an_alias_of_many_pages_decides_nothing(shelf, ranked) -> None:
    for n in range(4):
        shelf.put(f"c{n}", "text", f"d{n}", f"Page {n}")
    shelf.aliases["home"] = {f"d{n}" for n in range(4)}
    ranking = ranked({"c0": 1.0, "c1": 0.9, "c2": 0.8, "c3": 0.7})
    assert LiteralFirst(shelf, shelf).apply(ranking, Plan("home")) is ranking


def test_a_title_of_many_pages_decides_nothing(shelf, ranked) -> None:
    for n in range(5):
        shelf.put(f"c{n}", "text", f"d{n}", "Overview of it")
    ranking = ranked({"c0": 1.0, "c1": 0.9, "c2": 0.8, "c3": 0.7, "c4": 0.6})
    assert LiteralFirst(shelf, shelf).apply(ranking, Plan("overview of it")) is ranking
    assert LiteralFirst(shelf, shelf, max_documents=5).apply(ranking, Plan("overview of it")) is not ranking


def test_of_a_page_its_beginning_is_raised(shelf, ranked) -> None:
    shelf.put("part", "text", "page", "The page", ("The page", "Part"))
    shelf.put("start", "text", "page", "The page", ("The page",))
    shelf.put("else", "text", "other", "Other")
    found = LiteralFirst(shelf, shelf).apply(ranked({"else": 1.0, "part": 0.9, "start": 0.5}), Plan("the page"))
    assert [hit.chunk for hit in found.hits] == ["start", "else", "part"]


def test_an_identifier_is_not_the_word_in_it(shelf, ranked) -> None:
    shelf.put("word", "open a file", "open.md", "open")
    shelf.put("other", "text", "other.md", "Other")
    ranking = ranked({"other": 1.0, "word": 0.5})
    assert LiteralFirst(shelf, shelf).apply(ranking, Plan("_open")) is ranking


def test_a_recipe_without_words_is_left_alone(shelf, ranked) -> None:
    shelf.put("a", "text", "page", "Page")
    ranking = ranked({"a": 1.0})
    assert LiteralFirst(shelf, shelf).apply(ranking, Plan("page", only=("dense",))) is ranking
