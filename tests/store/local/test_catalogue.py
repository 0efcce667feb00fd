"""The catalogue decides which rows are live: rows are never reused, and changes are atomic."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from watersmeet.core.documents import Chunk, Document, Link
from watersmeet.core.errors import IndexDamaged, IndexMismatch, NoIndex
from watersmeet.core.indexing import Found
from watersmeet.core.model import ANY, ChunkId, Condition, DocId, Row
from watersmeet.core.place import Place
from watersmeet.core.text_fields import Prepared, digest
from watersmeet.core.writing import Changes, Put
from watersmeet.store.local._checksums import place_sum
from watersmeet.store.local.catalogue import Catalogue, Placed
from watersmeet.store.local.documents import DocumentsView
from watersmeet.store.local.graph import LiveLinks
from watersmeet.store.local.read_back import read_back


@pytest.fixture
def catalogue(tmp_path: Path) -> Iterator[Catalogue]:
    made = Catalogue(str(tmp_path / "index"))
    yield made
    made.close()


@pytest.fixture
def view(catalogue: Catalogue) -> Iterator[DocumentsView]:
    made = DocumentsView(catalogue.folder)
    yield made
    made.close()


def hashed(text: str) -> bytes:
    return digest(text)


def put(
    catalogue: Catalogue, name: str, texts: list[str] | None = None, rows: list[Row] | None = None, **more: Any
) -> Placed:
    """A document whose chunks have these texts, in rows of its own unless told otherwise."""
    texts = [name] if texts is None else texts
    if rows is None:
        first = catalogue.reserve(len(texts))
        rows = [Row(first + n) for n in range(len(texts))]
    document = DocId(name)
    chunks = tuple(
        Prepared(Chunk(ChunkId(f"{name}#{n}"), document, text, ("H",), Place((n + 1, n + 1))), {}, hashed(text))
        for n, text in enumerate(texts)
    )
    moved_from = more.pop("moved_from", None)
    file = more.pop("file", None)
    made = Document(document, more.pop("kind", "document"), name, f"/v/{name}", **more)
    made_of = Put(made, chunks, hashed("hash"), catalogue.collection("default"), file, moved_from)
    return Placed(made_of, tuple(rows))


def test_a_change_is_visible_after_it_and_not_before(catalogue: Catalogue, view: DocumentsView) -> None:
    made = put(catalogue, "a.md", ["one", "two"])
    with view.transaction():
        catalogue.apply(Changes(), [made])
        assert view.record(DocId("a.md")) is None  # this snapshot began before
    with view.transaction():
        assert [p.text for p in view.passages_of(DocId("a.md"))] == ["one", "two"]
        assert view.every(ANY) == [*made.rows]
    assert catalogue.counts() == (1, 2)


def test_all_of_a_change_or_nothing(catalogue: Catalogue, view: DocumentsView) -> None:
    catalogue.apply(Changes(), [put(catalogue, "a.md")])
    one = put(catalogue, "b.md")
    twice = put(catalogue, "c.md", rows=[one.rows[0]])
    with pytest.raises(IndexDamaged):
        catalogue.apply(Changes(removed=[DocId("a.md")]), [one, twice])
    with view.transaction():
        assert [record.document for record in view.records()] == ["a.md"]
    catalogue.apply(Changes(removed=[DocId("a.md")]))  # and it can go on
    assert catalogue.counts() == (0, 0)


def test_a_replaced_document_leaves_its_rows_dead_but_keeps_those_that_it_kept(catalogue: Catalogue) -> None:
    old = put(catalogue, "a.md", ["one", "two"])
    catalogue.apply(Changes(), [old])
    kept = old.rows[0]
    new = put(catalogue, "a.md", ["one", "three"], [kept, catalogue.reserve(1)])
    catalogue.apply(Changes(), [new])
    assert catalogue.dead(time.time()) == [old.rows[1]]
    assert catalogue.dead(time.time() - 60) == []  # queries may still hold it
    assert catalogue.rows_by_hash(DocId("a.md")) == {hashed("one"): [kept], hashed("three"): [new.rows[1]]}
    catalogue.bury([old.rows[1]])
    assert catalogue.dead(time.time()) == []


def test_a_moved_document_takes_its_rows_along(catalogue: Catalogue, view: DocumentsView) -> None:
    old = put(catalogue, "a.md", ["one"])
    catalogue.apply(Changes(), [old])
    catalogue.apply(Changes(), [put(catalogue, "b.md", ["one"], [old.rows[0]], moved_from=DocId("a.md"))])
    assert catalogue.dead(time.time()) == []
    with view.transaction():
        assert [record.document for record in view.records()] == ["b.md"]
        assert view.every(ANY) == [old.rows[0]]


def test_rows_are_never_given_twice_not_even_after_clearing(catalogue: Catalogue) -> None:
    first = catalogue.reserve(10)
    catalogue.clear({"text_folder": "text-2"})
    assert catalogue.reserve(1) == first + 10
    assert catalogue.meta()["text_folder"] == "text-2"
    assert catalogue.counts() == (0, 0)


def test_rows_of_a_writer_that_died_are_dead(catalogue: Catalogue) -> None:
    first = catalogue.reserve(3)
    catalogue.apply(Changes(), [put(catalogue, "a.md", rows=[Row(first + 1)])])
    catalogue.begin()
    assert catalogue.dead(time.time()) == [first, first + 2]
    catalogue.begin()
    assert len(catalogue.dead(time.time())) == 2


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.lists(st.sampled_from("xyz"), max_size=3)), max_size=8))
def test_every_row_is_live_dead_or_was_never_given(steps: list[tuple[str, list[str]]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        catalogue, view = Catalogue(folder), DocumentsView(folder)
        expected: dict[str, list[str]] = {}
        for name, texts in steps:
            if texts:
                catalogue.apply(Changes(), [put(catalogue, name, texts)])
                expected[name] = texts
            else:
                catalogue.apply(Changes(removed=[DocId(name)]))
                expected.pop(name, None)
        given_out = catalogue.reserve(1) - 1
        with view.transaction():
            live = view.every(ANY)
            found = {r.document: [p.text for p in view.passages_of(r.document)] for r in view.records()}
        dead = catalogue.dead(time.time())
        assert found == expected
        assert sorted([*live, *dead]) == list(range(1, given_out + 1))
        view.close()
        catalogue.close()


# ------------------------------------------------------------ files, roots and collections


def test_files_are_remembered_and_forgotten(catalogue: Catalogue) -> None:
    with catalogue.transaction() as db:
        db.execute("INSERT INTO roots (path, name, collection) VALUES ('/v', 'v', 1)")
    (root,) = catalogue.roots()
    found = Found("a.md", "/v/a.md", "5 1 2 3")
    catalogue.apply(Changes(files=[(root.id, found, b"h", 7)]), [put(catalogue, "a.md", file=(root.id, "a.md"))])
    state = catalogue.files(root.id)["a.md"]
    assert (state.stamp, state.hash, state.read_ns) == (found.stamp, b"h", 7)
    assert list(catalogue.documents_of(state.id)) == [("a.md", hashed("hash"))]
    catalogue.apply(Changes(stale=[state.id]))
    assert catalogue.files(root.id)["a.md"].stamp == ""  # to be read again
    catalogue.apply(Changes(forgotten=[state.id], removed=[DocId("a.md")]))
    assert catalogue.files(root.id) == {}
    assert catalogue.owner(DocId("a.md")) is None


def test_metadata_of_a_collection_adds_up(catalogue: Catalogue, view: DocumentsView) -> None:
    first = catalogue.collection("docs", {"sdk": "python"})
    assert catalogue.collection("docs", {"team": "Core"}) == first
    made = put(catalogue, "a.md")
    catalogue.apply(Changes(), [replace(made, put=replace(made.put, collection=first))])
    with view.transaction():
        for key, value in (("sdk", "Python"), ("team", "core"), ("collection", "docs")):
            assert view.every(Condition({key: (value,)})) == [made.rows[0]]
        assert view.every(Condition({"sdk": ("rust",)})) == []


def test_filters_and_dates(catalogue: Catalogue, view: DocumentsView) -> None:
    day = datetime(2026, 1, 5, tzinfo=UTC)
    one = put(catalogue, "docs/a.md", tags=("x",), fields={"status": "Beta"}, modified=day)
    two = put(catalogue, "docs/b.md", tags=("x", "y"))
    catalogue.apply(Changes(), [one, two])
    first, second = one.rows[0], two.rows[0]
    with view.transaction():
        assert view.every(Condition({"tag": ("X",)})) == [first, second]
        assert view.every(Condition({"tag": ("x",), "status": ("beta",)})) == [first]
        assert view.every(Condition({"tag": ("y", "z")})) == [second]
        assert view.every(Condition({"path": ("docs/a*",)})) == [first]
        assert view.every(Condition({"path": ("a.md",)})) == [first]
        assert view.every(Condition(since=day)) == [first]
        assert view.every(Condition(before=day)) == []
        assert view.every(Condition({"tag": ("' OR 1=1 --",)})) == []
        assert view.resolve([first, second, Row(99)], Condition({"tag": ("y",)})) == {second: "docs/b.md#0"}


# ------------------------------------------------------------ links


def edges_of(view: DocumentsView, document: DocId) -> list[Any]:
    return list(LiveLinks(view).edges([document])[document] or ())


def edges(catalogue: Catalogue, view: DocumentsView, document: str, files: dict[str, tuple[Link, ...]]) -> list[Any]:
    catalogue.apply(Changes(), [put(catalogue, name, links=links) for name, links in files.items()])
    with view.transaction():
        return sorted(edges_of(view, DocId(document)))


def test_a_link_means_the_document_that_is_closest(catalogue: Catalogue, view: DocumentsView) -> None:
    files = {
        "a/start.md": (Link("setup"), Link("b/setup", alias="there"), Link("setup", "related"), Link("gone")),
        "a/setup.md": (),
        "b/setup.md": (),
        "setup.md": (),
        "c/far.md": (Link("setup"),),
    }
    assert edges(catalogue, view, "a/start.md", files) == [
        ("a/start.md", "a/setup.md", "related"),
        ("a/start.md", "a/setup.md", "wiki"),
        ("a/start.md", "b/setup.md", "wiki"),
    ]
    with view.transaction():
        assert edges_of(view, DocId("setup.md")) == [("c/far.md", "setup.md", "wiki")]
        assert edges_of(view, DocId("b/setup.md")) == [("a/start.md", "b/setup.md", "wiki")]
        assert view.named_texts() == [("a/start.md", "b/setup.md", "there")]
        assert [link.target for link in view.links_of(DocId("a/start.md"))] == ["setup", "b/setup", "setup", "gone"]


def test_links_are_resolved_when_asked_and_never_stale(catalogue: Catalogue, view: DocumentsView) -> None:
    assert edges(catalogue, view, "a.md", {"a.md": (Link("later"),)}) == []
    catalogue.apply(Changes(), [put(catalogue, "x/later.md")])
    with view.transaction():
        assert edges_of(view, DocId("a.md")) == [("a.md", "x/later.md", "wiki")]
    catalogue.apply(Changes(removed=[DocId("x/later.md")]))
    with view.transaction():
        assert edges_of(view, DocId("a.md")) == []


# ------------------------------------------------------------ opening


def test_an_index_that_is_not_there_or_not_ours(tmp_path: Path) -> None:
    with pytest.raises(NoIndex):
        DocumentsView(str(tmp_path))
    (tmp_path / "catalogue.db").write_bytes(b"not a database" * 500)
    with pytest.raises(IndexDamaged) as error:
        DocumentsView(str(tmp_path))
    assert "--recreate" in error.value.hint


def test_an_index_of_a_newer_version_is_refused(catalogue: Catalogue) -> None:
    catalogue.db.execute("PRAGMA user_version = 999")
    with pytest.raises(IndexMismatch, match="999"):
        DocumentsView(catalogue.folder)


# ---------------------------------------------------------------- places

PLACES = [
    Place((1, 1)),
    Place(),
    Place((3, 9), pages=(3, 4)),
    Place(slides=(4, 4)),
    Place((2, 2), sheet="Übersicht (1)"),
    Place(anchor="install"),
]


def with_places(catalogue: Catalogue, places: list[Place]) -> Placed:
    catalogue.add_root("/v", "v", catalogue.collection("default"), "")
    made = put(catalogue, "a.pdf", [f"text {n}" for n in range(len(places))], file=(1, "a.pdf"))
    pairs = zip(made.put.chunks, places, strict=True)
    moved = [replace(one, chunk=replace(one.chunk, place=place)) for one, place in pairs]
    return replace(made, put=replace(made.put, chunks=tuple(moved)))


def places_of(view: DocumentsView) -> list[Place]:
    with view.transaction():
        found = [passage.place for passage in view.passages_of(DocId("a.pdf"))]
        assert not view.damaged
        assert view.check() == []
    return found


def test_a_place_comes_back_as_it_was_put(catalogue: Catalogue, view: DocumentsView) -> None:
    made = with_places(catalogue, PLACES)
    catalogue.apply(Changes(), [made])
    assert places_of(view) == PLACES
    assert [stored.chunk.place for _, chunks in read_back(catalogue) for stored in chunks] == PLACES


def test_a_place_may_change_where_nothing_else_does(catalogue: Catalogue, view: DocumentsView) -> None:
    made = with_places(catalogue, PLACES)
    catalogue.apply(Changes(), [made])
    moved = [*PLACES[1:], PLACES[0]]
    catalogue.apply(Changes(places=[(DocId("a.pdf"), moved)]))
    assert places_of(view) == moved
    assert catalogue.dead(time.time()) == []


def test_what_is_in_no_file_has_no_lines_whatever_was_written(catalogue: Catalogue, view: DocumentsView) -> None:
    catalogue.apply(Changes(), [put(catalogue, "/weather")])  # as earlier versions wrote it: with a line
    with view.transaction():
        (passage,) = view.passages_of(DocId("/weather"))
    assert (passage.lines, passage.where) == (None, "")


@pytest.mark.parametrize("wrong", ["p. 4", "", "x", b"\xff"])
def test_a_place_that_is_not_as_it_was_written(catalogue: Catalogue, view: DocumentsView, wrong: str | bytes) -> None:
    catalogue.apply(Changes(), [with_places(catalogue, [Place(pages=(3, 3))])])
    with catalogue.transaction() as db:
        db.execute("UPDATE chunks SET place = ?", (wrong,))
    with view.transaction():
        assert view.passages_of(DocId("a.pdf")) == []
        assert list(view.damaged) == ["a.pdf"]
        assert view.check() == ["a.pdf: the text of a chunk is not as it was written"]


def test_sums_of_lines_alone_are_those_of_before() -> None:
    assert place_sum(b"id", 3, 9, b"") == crc32(b"id 3 9") != place_sum(b"id", 3, 9, b"p. 3")
