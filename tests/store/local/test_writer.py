from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine_filling import EngineFilling
from registries import opened
from watersmeet.core.entities import SERVER, SKILL, Entity, Tool
from watersmeet.core.errors import IndexDamaged, SourceProblem
from watersmeet.core.model import ANY, ChunkId, DocId
from watersmeet.core.ports import Term
from watersmeet.core.text_fields import document_hash, prepare
from watersmeet.core.visibility import AUDIENCE_GATE
from watersmeet.core.writing import Changes, Put
from watersmeet.engine.index.writer import open_for_writing
from watersmeet.store.local.writer import LocalWriter
from watersmeet.testing.contracts.corpus import ADA, Given, page, visible_to

TIDE = [Term("body", "tide")]
PRIVATE = {AUDIENCE_GATE: ["user:ada"]}


def rows(filling: EngineFilling, document: str) -> list[int]:
    with filling.index.snapshot() as snapshot:
        return list(snapshot.rows([one.id for one in snapshot.passages_of(DocId(document))]).values())


def change(writer, *given: Given) -> Changes:
    changes = Changes()
    for one in given:
        prepared = tuple(prepare(one.document, one.chunks, one.also))
        made = document_hash(one.document, prepared)
        changes.put.append(Put(one.document, prepared, made, writer.collection(one.collection)))
    return changes


def test_chunks_that_say_what_they_said_keep_their_rows(local) -> None:
    filling = local(page("a.md", (("A",), "One."), (("B",), "Two.")))
    first, second = rows(filling, "a.md")
    filling.put([page("a.md", (("A",), "One."), (("B",), "Other."))])
    kept, new = rows(filling, "a.md")
    assert (kept, new > second) == (first, True)


def test_equal_chunks_have_a_row_each(local) -> None:
    filling = local(page("a.md", ((), "Same."), ((), "Same.")))
    assert len(set(rows(filling, "a.md"))) == 2


def test_a_commit_that_fails_leaves_all_as_it_was_and_gives_its_rows_back(local) -> None:
    filling = local(page("a.md", ((), "A tide.")))
    with open_for_writing(filling.index, filling._settings) as work:
        writer = work.catalogue
        failing = change(writer, page("b.md", ((), "A tide.")), page("c.md", ((), "A tide.")))
        taken = failing.put[0].chunks[0].chunk.id
        broken = failing.put[1]
        object.__setattr__(broken.chunks[0].chunk, "id", ChunkId(taken))  # an id twice
        with pytest.raises(IndexDamaged):
            writer.commit(failing)
        writer.commit(change(writer, page("d.md", ((), "A tide."))))
    with filling.index.snapshot() as snapshot:
        assert {one.document for one in snapshot.records(ANY)} == {"a.md", "d.md"}
        assert len(snapshot.words(ANY).match(TIDE, ANY, 9)) == 2


def test_words_of_what_is_private_are_in_no_text_store(local) -> None:
    filling = local(page("a.md", ((), "A tide.")), page("b.md", ((), "A tide."), fields=PRIVATE))
    with filling.index.snapshot() as snapshot:
        assert snapshot.text().size == 1
        assert len(snapshot.words(visible_to(ADA)).match(TIDE, visible_to(ADA), 9)) == 2


def test_what_becomes_private_leaves_the_text_store(local) -> None:
    filling = local(page("a.md", ((), "A tide.")), page("b.md", ((), "A tide.")))
    with filling.index.snapshot() as snapshot:
        before = snapshot.generation
    filling.put([page("b.md", ((), "A tide."), fields=PRIVATE)])
    with filling.index.snapshot() as snapshot:
        assert (snapshot.generation != before, snapshot.public_text, snapshot.text().size) == (True, True, 1)


def test_compaction_waits_for_the_share_and_for_queries(local) -> None:
    filling = local(*(page(f"{n}.md", ((), f"A tide {n}.")) for n in range(10)))
    filling.remove(["0.md"])
    with open_for_writing(filling.index, filling._settings) as work:
        assert work.catalogue.compact(0, 0.5) == 0
        assert work.catalogue.text.row_count() == 10
        assert work.catalogue.compact(0, 0.05) == 1
        assert work.catalogue.text.row_count() == 9
        assert work.catalogue.compact(0, 0.0) == 0


def test_a_root_that_was_taken_out_meanwhile_is_not_read(local, tmp_path) -> None:
    filling = local(page("a.md", ((), "A tide.")))
    with open_for_writing(filling.index, filling._settings) as work:
        writer = work.catalogue
        writer.add_root(str(tmp_path), "a", writer.collection("main"), "")
        (root,) = writer.roots()
        with writer.root_lease(root):
            writer.take_turns()
        with writer.transaction() as db:
            db.execute("DELETE FROM roots")
        with pytest.raises(SourceProblem, match="taken out"), writer.root_lease(root):
            pass


class TestRegistryLookup:
    """What an import into a registry looks up: ids, paths, tools, contents."""

    @pytest.fixture
    def writer(self, tmp_path: Path, vault: Path) -> Iterator[LocalWriter]:
        with opened(tmp_path, INDEX__VECTORS="false") as engine:
            engine.sync([vault])
            engine.registry.put(
                Entity(SERVER, "/Tides", "Tides", "When", tools=(Tool("next"), Tool("last"))),
                Entity(SERVER, "/Tides2", "More", "Where", tools=(Tool("next"),)),
                Entity(SKILL, "/s", "S", "What"),
            )
            with open_for_writing(engine.index, engine.settings) as work:
                yield work.catalogue

    @pytest.mark.parametrize(
        ("path", "found"),
        [("/Tides", "/Tides"), ("/tides", "/Tides"), ("Tides", ""), ("/none", ""), ("index.md", ""), ("\ud800", "")],
    )
    def test_a_path_is_found_however_it_is_written(self, writer: LocalWriter, path: str, found: str) -> None:
        assert writer.spelled(path) == found

    def test_who_has_an_id(self, writer: LocalWriter) -> None:
        assert writer.claimed("/Tides") is False
        assert writer.claimed("/Tides#next") is True
        assert writer.claimed("index.md") == "document"
        assert writer.claimed("/none") is writer.claimed("\ud800") is None

    def test_tools_are_those_of_this_entity_and_of_no_other(self, writer: LocalWriter) -> None:
        assert sorted(writer.tools_of("/Tides")) == ["/Tides#last", "/Tides#next"]
        assert writer.tools_of("/s") == writer.tools_of("/Tides#next") == []

    def test_contents_of_entities_are_told_apart(self, writer: LocalWriter) -> None:
        found = writer.contents()
        assert list(found) == sorted(found)
        assert {"/Tides", "/Tides2", "/s"} <= set(found)
        assert len(set(found.values())) == len(found)

    def test_the_highest_row(self, writer: LocalWriter) -> None:
        assert writer.last_row() == writer.db.execute("SELECT max(row) FROM chunks").fetchone()[0] > 0

    def test_the_highest_row_of_an_empty_catalogue(self, local) -> None:
        filling = local()
        with open_for_writing(filling.index, filling._settings) as work:
            assert work.catalogue.last_row() == 0
