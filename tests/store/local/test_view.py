from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watersmeet.core.errors import IndexDamaged
from watersmeet.core.model import ANY, Condition, Row
from watersmeet.core.visibility import EVERYONE, audience_gates
from watersmeet.store.local._conditions import _name_range, _wide_glob
from watersmeet.store.local.view import CatalogueView
from watersmeet.testing.conditions import in_path
from watersmeet.testing.contracts.corpus import ALL, CASES, HARBOUR, PRIVATE, Case, chunk_of, page

MEMORY = sqlite3.connect(":memory:")
CHUNKS = sum(len(given.chunks) for given in HARBOUR)


@pytest.fixture
def view(harbour):
    with closing(CatalogueView(harbour.index.place)) as made, made.transaction():
        yield made


def test_rows_and_ids_lead_to_each_other(view) -> None:
    rows = view.every(ANY)
    ids = view.resolve(rows, ANY)
    assert len(ids) == CHUNKS
    assert view.rows(ids.values()) == {chunk: row for row, chunk in ids.items()}
    assert view.rows(["not there"]) == view.resolve([Row(9999)], ANY) == {}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_condition_means_the_same_from_either_end(view, case: Case) -> None:
    passing = {chunk.id for given in HARBOUR if given.document.id in case.passes for chunk in given.chunks}
    rows = view.every(case.condition)
    assert rows == sorted(rows)
    assert set(view.resolve(view.every(ANY), case.condition).values()) == passing
    assert set(view.resolve(rows, ANY).values()) == passing
    few = view.few(case.condition, 1000)
    assert few is None or few == rows
    assert view.share(case.condition) == pytest.approx(len(passing) / CHUNKS)  # all rows are in the sample


def test_few_says_none_where_there_are_more(view) -> None:
    three = Condition({"document": ("guides/setup.md",)})
    assert len(view.few(three, 3)) == 3
    assert view.few(three, 2) is None


def test_gates_that_keep_nothing_out_are_not_needed(view) -> None:
    gates = audience_gates(EVERYONE)
    assert view.needed(gates) == gates
    assert view.needed({"@nothing": ("x",)}) == {}


def test_counts_are_those_of_the_documents(view) -> None:
    counts = view.counts()
    assert (counts["documents"], counts["chunks"]) == (len(ALL), CHUNKS)
    hidden = sum(len(given.chunks) for given in HARBOUR if given.document.id in PRIVATE)
    assert view.shared() == CHUNKS - hidden
    last = view.last_row()
    assert (view.added_since(0), view.added_since(last), view.added_since(last - 1)) == (CHUNKS, 0, 1)


def test_a_moment_does_not_see_what_is_committed_meanwhile(local) -> None:
    filling = local(page("a.md", ((), "One.")))
    with closing(CatalogueView(filling.index.place)) as view:
        with view.transaction():
            before, version = view.every(ANY), view.version
            filling.put([page("b.md", ((), "Two."))])
            assert view.every(ANY) == before
        with view.transaction():
            assert len(view.every(ANY)) == 2
            assert view.version != version


def test_what_was_left_out_as_damaged_can_be_made_an_error(view) -> None:
    view.sound()
    view.damaged = {"a.md": None}
    with pytest.raises(IndexDamaged, match=r"a\.md"):
        view.sound()
    assert view.owners_of([chunk_of("rust.md")])
    assert view.check() == []


@given(st.text("ab/.*?[]\\!^ -é#", max_size=8), st.text("ab/. -é[]*\\#!^", min_size=1, max_size=8))
def test_a_glob_is_looked_for_where_it_can_match(glob: str, name: str) -> None:
    first, end = _name_range(glob)
    if in_path(name, [glob]):
        assert first <= name < end
        assert MEMORY.execute("SELECT ? GLOB ?", (name, _wide_glob(glob))).fetchone() == (1,)


@pytest.mark.parametrize("glob", ["{long}", "{long}*", "*{long}", "*.md{long}", "**/{long}", "é{long}?"])
def test_a_glob_of_any_length_can_be_asked_for(local, glob: str) -> None:
    filling = local(page("a.md", ((), "One.")), page("a" * 2000 + ".md", ((), "Two.")))
    with closing(CatalogueView(filling.index.place)) as view, view.transaction():
        condition = Condition({"path": (glob.format(long="a" * 60_000),)})
        assert view.every(condition) == view.few(condition, 100) == []
        assert len(view.every(Condition({"path": ("a" * 1500 + "*",)}))) == 1


def test_any_number_of_globs_can_be_asked_for(local) -> None:
    filling = local(*(page(f"{number}/a.md", ((), "One.")) for number in range(3)))
    with closing(CatalogueView(filling.index.place)) as view, view.transaction():
        for many in (0, 1, 50, 51, 2000):
            globs = tuple(f"{number}/*.md" for number in range(1, many + 1))
            condition = Condition({"path": globs})
            assert len(view.every(condition)) == min(many, 2)
            assert len(view.few(condition, 100) or view.every(condition)) == min(many, 2)
