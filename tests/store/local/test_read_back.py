from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

import registries
from watersmeet.core.entities import SKILL, Entity
from watersmeet.core.model import DocId
from watersmeet.engine.index.writer import open_for_writing
from watersmeet.store.local.catalogue import Catalogue
from watersmeet.store.local.read_back import correct, read_back, reread
from watersmeet.testing.contracts.corpus import page, registered

GIVEN = page(
    "a.md",
    (("A",), "First."),
    (("A", "B"), "Second."),
    tags=("Start", "ops/Install"),
    aliases=("Installation", "Set Up"),
)


@pytest.fixture
def filling(local):
    return local(GIVEN, *registered(Entity(SKILL, "/s", "S", "About tides")))


def test_documents_come_back_as_they_were_put(filling) -> None:
    with open_for_writing(filling.index, filling._settings) as opened:
        found = {document.id: (document, chunks) for document, chunks in read_back(opened.catalogue)}
    document, chunks = found[DocId("a.md")]
    assert (document.title, document.tags, document.aliases) == ("A", GIVEN.document.tags, GIVEN.document.aliases)
    assert [(one.chunk.id, one.chunk.headings, one.chunk.text) for one in chunks] == [
        (one.id, one.headings, one.text) for one in GIVEN.chunks
    ]
    assert [one.row for one in chunks] == sorted(one.row for one in chunks)
    assert found[DocId("/s")][0].fields["record"]["description"] == "About tides"


def test_a_corrected_row_has_its_new_hash_and_the_facts_are_noted(filling) -> None:
    with open_for_writing(filling.index, filling._settings) as opened:
        catalogue = opened.catalogue
        first = next(chunks[0] for document, chunks in read_back(catalogue) if document.id == "a.md")
        new = bytes(16)
        with catalogue.transaction() as db:
            correct(db, catalogue, {first.row: new}, {"noted": "yes"})
        again = next(chunks for document, chunks in read_back(catalogue) if document.id == "a.md")
        assert (again[0].hash, again[1].hash != new, catalogue.meta()["noted"]) == (new, True, "yes")
        assert reread(catalogue) == []  # its sum is still that of its text


def test_of_damaged_documents_entities_give_back_their_records(tmp_path: Path) -> None:
    with registries.opened(tmp_path, INDEX__VECTORS="false") as engine:
        engine.registry.put(Entity(SKILL, "/s", "S", "About tides"), Entity(SKILL, "/other", "O", "Stones"))
    with closing(Catalogue(str(tmp_path / "index"))) as catalogue:
        assert reread(catalogue) == []
        with catalogue.transaction() as db:
            db.execute("UPDATE chunks SET text = 'x' WHERE document = (SELECT id FROM documents WHERE name = '/s')")
        assert [found["path"] for found in reread(catalogue)] == ["/s"]


def test_of_damaged_documents_files_are_read_again(tmp_path: Path, vault: Path) -> None:
    with registries.opened(tmp_path, INDEX__VECTORS="false") as engine:
        engine.sync([vault])
    with closing(Catalogue(str(tmp_path / "index"))) as catalogue:
        with catalogue.transaction() as db:
            db.execute(
                "UPDATE chunks SET text = 'x' WHERE document = (SELECT id FROM documents WHERE name = 'index.md')"
            )
        assert reread(catalogue) == []
        (root,) = catalogue.roots()
        assert [name for name, state in catalogue.files(root.id).items() if not state.stamp] == ["index.md"]
