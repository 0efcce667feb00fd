from __future__ import annotations

import pytest

from watersmeet.core.model import ANY, Condition, DocId
from watersmeet.testing.contracts.corpus import (
    ALL,
    CASES,
    EVERYONES,
    HARBOUR,
    PRIVATE,
    Case,
    chunk_of,
    day,
    documents,
    page,
)


@pytest.fixture
def view(harbour):
    with harbour.index.snapshot() as snapshot:
        yield snapshot


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_a_condition_lets_through_whichever_way_it_is_asked(view, case: Case) -> None:
    assert {record.document for record in view.records(case.condition)} == case.passes
    assert view.only(ALL, case.condition) == case.passes
    assert set(view.first_chunks(ALL, case.condition)) == case.passes


def test_passages_come_back_as_they_were_put_in_reading_order(view) -> None:
    given = next(one for one in HARBOUR if one.document.id == "guides/setup.md")
    found = view.passages_of(given.document.id)
    assert [(one.id, one.text, one.headings) for one in found] == [(c.id, c.text, c.headings) for c in given.chunks]
    assert view.passages([found[1].id, "not there"]) == {found[1].id: found[1]}
    assert view.passages_of(DocId("nowhere.md")) == []


def test_what_stands_around_and_above(view) -> None:
    first, second, third = (chunk_of("guides/setup.md", n) for n in range(3))
    assert [one.id for one in view.around([second], 1, 0)[second]] == [first, second]
    assert [one.id for one in view.around([third], 9, 9)[third]] == [first, second, third]
    assert {chunk: parent.id for chunk, parent in view.parents([first, second, third]).items()} == {
        second: first,
        third: second,
    }


def test_owners_and_dates(view) -> None:
    setup, song = chunk_of("guides/setup.md"), chunk_of("notes/song.md")
    assert view.documents_of([setup, song, "none"]) == {setup: "guides/setup.md", song: "notes/song.md"}
    owners = view.owners_of([setup, chunk_of("guides/setup.md", 1), song])
    assert len(set(owners.values())) == 2
    assert view.dates_of([setup, song]) == {setup: day(1, 5)}


def test_the_newest_first_and_what_has_no_date_last(view) -> None:
    found = [view.documents_of([chunk])[chunk] for chunk in view.newest(EVERYONES, 4)]
    assert (found[0], set(found[1:3]), found[3]) == (
        "guides/keys.md",
        {"guides/index.md", "notes/keys.md"},
        "guides/setup.md",
    )
    assert view.newest(Condition({"tag": ("nobody",)}), 4) == []


def test_names_titles_and_paths(view) -> None:
    assert list(view.named("installation", ANY)) == ["guides/setup.md"]
    assert set(view.named("keys", ANY)) == documents("guides/keys.md", "notes/keys.md")
    assert set(view.titled("swell", ANY)) == documents("ties/a.md", "ties/b.md", "ties/c.md")
    assert view.at(["/srv/rust.md", "/srv/none.md"], ANY) == ["rust.md"]
    assert view.titles(ANY, 1) is None
    assert len(view.titles(ANY, 1000)) == len(ALL)


def test_fields_values_and_tags_that_a_viewer_may_see(view) -> None:
    assert {"status", "level", "teams", "sdk"} <= view.fields()
    assert not [name for name in view.fields() if name.startswith("@")]
    assert set(view.values_of("level", ANY)) == {"3", "5"}
    assert view.values_of("collection", ANY)[0] == "main"
    assert view.tags(ANY, ("mcp_server", "a2a_agent"))["security"] == 1
    assert "climate" not in view.tags(ANY, ("mcp_server", "tool"))


def test_statistics_are_of_what_is_seen(view) -> None:
    every, public = view.statistics(), view.statistics(EVERYONES)
    assert (every.documents, every.documents - public.documents) == (len(ALL), len(PRIVATE))
    assert sum(view.kinds(EVERYONES).values()) == public.documents
    assert 0 < view.text_bytes(EVERYONES) < view.text_bytes()
    shown = set(view.documents_of(view.sample(1000, EVERYONES)).values())
    hidden = set(view.documents_of(view.sample(1000, EVERYONES, outside=True)).values())
    assert (hidden, shown & hidden) == (set(PRIVATE), set())


def test_a_replaced_document_says_what_it_says_now(local) -> None:
    filling = local(page("a.md", ((), "Old words."), tags=("old",)))
    filling.put([page("a.md", ((), "New words."), tags=("new",))])
    with filling.index.snapshot() as view:
        assert [one.text for one in view.passages_of(DocId("a.md"))] == ["New words."]
        assert view.tags(ANY, ()) == {"new": 1}
