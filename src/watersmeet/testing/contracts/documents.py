"""The contract of `Documents`: documents, passages, and the conditions that they satisfy."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from watersmeet.core.documents import Link
from watersmeet.core.index import Snapshot
from watersmeet.core.model import ANY, ChunkId, Condition, DocId, Passage
from watersmeet.core.names import CREATED
from watersmeet.core.place import Place
from watersmeet.testing.contracts._base import FilledContract
from watersmeet.testing.contracts.corpus import (
    ADA,
    ALL,
    CASES,
    EVERYONES,
    HARBOUR,
    PUBLIC,
    Case,
    chunk_of,
    day,
    documents,
    visible_to,
)

SETUP = "guides/setup.md"
MISSING = ChunkId("not there")


class DocumentsContract(FilledContract):
    # ------------------------------------------------------------ chunks

    def test_a_passage_is_what_was_put(self, snapshot: Snapshot) -> None:
        given = next(one for one in HARBOUR if one.document.id == SETUP)
        chunk = given.chunks[1]
        found = snapshot.passages([chunk.id, MISSING])
        assert found == {
            chunk.id: Passage(
                chunk.id,
                DocId(SETUP),
                "document",
                "Setup",
                "/srv/guides/setup.md",
                day(1, 5),
                ("Setup", "Ports"),
                Place(anchor="ports"),
                chunk.text,
                "2025-12-01T00:00:00+00:00",
            )
        }

    def test_all_passages_of_a_document_are_in_its_order(self, snapshot: Snapshot) -> None:
        given = next(one for one in HARBOUR if one.document.id == SETUP)
        assert [passage.id for passage in snapshot.passages_of(DocId(SETUP))] == [chunk.id for chunk in given.chunks]
        assert snapshot.passages_of(DocId("no.md")) == []

    def test_whose_a_chunk_is(self, snapshot: Snapshot) -> None:
        first, second, other = chunk_of(SETUP), chunk_of(SETUP, 2), chunk_of("rust.md")
        wanted = {first: DocId(SETUP), second: DocId(SETUP), other: DocId("rust.md")}
        assert snapshot.documents_of([first, second, other, MISSING]) == wanted
        owners = snapshot.owners_of([first, second, other, MISSING])
        assert owners.keys() == wanted.keys()
        assert owners[first] == owners[second] != owners[other]

    def test_dates_are_given_where_there_are_some(self, snapshot: Snapshot) -> None:
        dated, undated = chunk_of("guides/keys.md", 1), chunk_of("notes/ideas.txt")
        assert snapshot.dates_of([dated, undated, MISSING]) == {dated: day(3, 1)}

    def test_what_stands_around_a_chunk(self, snapshot: Snapshot) -> None:
        first, middle, last = (chunk_of(SETUP, number) for number in range(3))
        found = snapshot.around([middle, first, MISSING], before=1, after=0)
        assert {chunk: [one.id for one in sides] for chunk, sides in found.items()} == {
            middle: [first, middle],
            first: [first],
        }
        assert [one.id for one in snapshot.around([middle], 5, 5)[middle]] == [first, middle, last]

    def test_the_section_above(self, snapshot: Snapshot) -> None:
        first, middle, last = (chunk_of(SETUP, number) for number in range(3))
        found = snapshot.parents([first, middle, last, chunk_of("rust.md")])
        assert {chunk: one.id for chunk, one in found.items()} == {middle: first, last: middle}

    def test_the_newest_come_first_and_the_undated_last(self, snapshot: Snapshot) -> None:
        found = snapshot.newest(Condition({"path": ("*.md",)}), 6)
        wanted = ["guides/keys.md", "guides/index.md", "notes/keys.md", SETUP, "notes/song.md", "off.md"]
        assert found == [chunk_of(name) for name in wanted]

    # ------------------------------------------------------------ documents and conditions

    @pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
    def test_documents_that_satisfy_a_condition(self, snapshot: Snapshot, case: Case) -> None:
        found = [record.document for record in snapshot.records(case.condition)]
        assert set(found) == case.passes
        assert found == sorted(found)
        assert snapshot.only([*ALL, DocId("no.md")], case.condition) == case.passes
        assert set(snapshot.newest(case.condition, 100)) == {chunk_of(name) for name in case.passes}

    def test_without_a_condition_all_documents_are_returned(self, snapshot: Snapshot) -> None:
        assert [record.document for record in snapshot.records()] == sorted(ALL)

    def test_a_record_is_what_was_put(self, snapshot: Snapshot) -> None:
        found = snapshot.record(DocId(SETUP))
        assert found is not None
        assert found.document == SETUP
        assert (found.kind, found.title, found.path) == ("document", "Setup", "/srv/guides/setup.md")
        assert (found.modified, found.collection, found.chunks) == (day(1, 5), "main", 3)
        fields = {key: value for key, value in found.fields.items() if not key.startswith("@")}
        assert fields == {"Status": "Active", "level": 3, "published": True, "teams": ["Ops", "Docs"]}
        assert datetime.fromisoformat(found.fields[CREATED]) == datetime(2025, 12, 1, tzinfo=UTC)

    def test_a_record_that_the_condition_excludes_is_not_returned(self, snapshot: Snapshot) -> None:
        assert snapshot.record(DocId("private/ada.md"), EVERYONES) is None
        assert snapshot.record(DocId("private/ada.md"), visible_to(ADA)) is not None
        assert snapshot.record(DocId("no.md")) is None

    # ------------------------------------------------------------ names

    def test_links_are_given_as_they_are_written(self, snapshot: Snapshot) -> None:
        assert snapshot.links_of(DocId("guides/keys.md")) == [
            Link("Setup", alias="how it is set up"),
            Link("Setup", heading="Ports"),
        ]
        assert snapshot.links_of(DocId("rust.md")) == []

    def test_links_with_a_text_of_their_own(self, snapshot: Snapshot) -> None:
        assert sorted(snapshot.named_texts()) == [
            ("guides/keys.md", SETUP, "how it is set up"),
            (SETUP, "notes/ideas.txt", "loose ideas"),
        ]

    def test_what_a_document_goes_by(self, snapshot: Snapshot) -> None:
        found = snapshot.names_of([DocId(SETUP), DocId("notes/ideas.txt")])
        assert found == {
            DocId(SETUP): frozenset({"setup", "installation", "start", "ops", "install"}),
            DocId("notes/ideas.txt"): frozenset({"ideas"}),
        }

    def test_chunks_of_documents_with_an_alias(self, snapshot: Snapshot) -> None:
        own, other = ([one.id for one in snapshot.passages_of(DocId(name))] for name in (SETUP, "notes/ideas.txt"))
        assert set(snapshot.aliased("installation", [*other, *own, MISSING])) == set(own)
        assert snapshot.aliased("installation", other) == []
        assert snapshot.aliased("setup", own) == []  # its file name is no alias

    def test_words_that_stand_in_no_text(self, snapshot: Snapshot) -> None:
        found = snapshot.words_only(
            [DocId("/knots"), DocId("/depths"), DocId("/weather"), DocId(SETUP), DocId("guides/keys.md")]
        )
        assert found == {
            DocId("/knots"): frozenset({"bosun", "locker"}),
            DocId("/depths"): frozenset({"edition", "sextant"}),
            DocId("guides/keys.md"): frozenset({"ines", "moreau", "credentials", "kms", "9"}),
        }

    def test_collections_of_documents(self, snapshot: Snapshot) -> None:
        assert snapshot.collections_of([SETUP, "guides/keys.md"]) == {"main"}
        assert snapshot.collections_of([SETUP, "rust.md", "no.md"]) == {"main", "handbook"}

    def test_documents_at_a_path(self, snapshot: Snapshot) -> None:
        paths = ["/srv/guides/setup.md", "/srv/private/ada.md", "/srv/no.md"]
        assert snapshot.at(paths, ANY) == sorted(documents(SETUP, "private/ada.md"))
        assert snapshot.at(paths, EVERYONES) == [SETUP]

    def test_documents_that_a_key_may_mean(self, snapshot: Snapshot) -> None:
        assert snapshot.named("keys", ANY) == {"guides/keys.md": 1, "notes/keys.md": 1}
        assert snapshot.named("guides/keys", ANY) == {"guides/keys.md": 0}
        assert snapshot.named("installation", ANY) == {SETUP: 100}
        assert snapshot.named("ada", EVERYONES) == {}
        assert snapshot.named("ada", ANY) == {"private/ada.md": 1}

    def test_documents_by_title(self, snapshot: Snapshot) -> None:
        assert set(snapshot.titled("keys", ANY)) == documents("guides/keys.md", "notes/keys.md")
        assert snapshot.titled("ada", EVERYONES) == []
        assert snapshot.titled("ada", ANY) == ["private/ada.md"]

    def test_all_titles_unless_they_are_too_many(self, snapshot: Snapshot) -> None:
        found = snapshot.titles(EVERYONES, 100)
        assert found is not None
        assert {document for document, _ in found} == set(PUBLIC)
        assert dict(found)[DocId("rust.md")] == "Rust"
        assert snapshot.titles(EVERYONES, len(PUBLIC)) is not None
        assert snapshot.titles(EVERYONES, len(PUBLIC) - 1) is None

    # ------------------------------------------------------------ filter fields

    def test_fields_are_those_that_documents_have(self, snapshot: Snapshot) -> None:
        text = Condition({"path": ("guides/*",)})
        assert snapshot.fields(text) == {"tag", "status", "level", "published", "teams", "author", "keywords"}
        assert snapshot.fields() >= {"sdk", "level"}
        assert {"region", "enabled", "server"} <= snapshot.fields()

    def test_values_come_by_how_common_they_are(self, snapshot: Snapshot) -> None:
        files = Condition(without=(("kind", ("mcp_server", "a2a_agent", "skill", "tool", "custom:chart")),))
        assert snapshot.values_of("kind", files) == ["document", "text"]
        assert snapshot.values_of("collection", files) == ["main", "handbook"]
        assert snapshot.values_of("level", files) == ["3", "5"]
        assert snapshot.values_of("sdk", files) == ["rust"]
        assert snapshot.values_of("status", files) == ["active", "beta"]

    def test_values_of_some_documents_are_counted(self, snapshot: Snapshot) -> None:
        setup = DocId(SETUP)
        some = [setup, DocId("rust.md"), DocId("private/ada.md"), DocId("no.md")]
        assert snapshot.count_values(some, "kind") == {"document": 3}
        assert snapshot.count_values(some, "collection") == {"main": 2, "handbook": 1}
        assert snapshot.count_values([setup], "tag") == {"start": 1, "ops/install": 1}
        assert snapshot.count_values([setup, setup], "kind") == {"document": 1}
        assert snapshot.count_values([], "kind") == {}

    def test_tags_are_counted(self, snapshot: Snapshot) -> None:
        found = snapshot.tags(EVERYONES, ["a2a_agent"])
        of_collection = {"team": 1, "team/core": 1}
        assert found == {"start": 1, "ops/install": 1, "security": 1, "ops": 2, "climate": 3, **of_collection}
        for tag, count in found.items():  # as the filter counts
            tagged = replace(EVERYONES, fields={"tag": (tag,)}, without=(("kind", ("a2a_agent",)),))
            assert count == len(snapshot.records(tagged))
