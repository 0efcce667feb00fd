"""What a push reads of a local index."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from engine_filling import EngineFilling
from watersmeet.core.text_fields import prepare
from watersmeet.testing.contracts.corpus import HANDBOOK, HARBOUR, STATIC, Given, chunk_of, page, vectors


@pytest.mark.parametrize("given", HARBOUR, ids=lambda given: given.document.id)
def test_a_document_comes_as_it_was_put(harbour: EngineFilling, given: Given) -> None:
    with harbour.index.contents() as contents:
        (moved,) = [one for one in contents.documents(0) if one.put.document.id == given.document.id]
    document, found = given.document, moved.put.document
    for what in ("kind", "title", "path", "modified", "created", "aliases", "tags", "links"):
        assert getattr(found, what) == getattr(document, what), what
    assert dict(found.fields) == dict(document.fields)
    assert moved.collection == given.collection
    assert moved.put.file is None
    prepared = prepare(document, given.chunks, given.also)
    assert [(one.chunk, one.hash) for one in moved.put.chunks] == [(one.chunk, one.hash) for one in prepared]


def test_a_move_goes_on_after_a_document(harbour: EngineFilling) -> None:
    with harbour.index.contents() as contents:
        every = list(contents.documents(0))
        assert [one.number for one in every] == sorted(one.number for one in every)
        assert list(contents.documents(every[3].number)) == every[4:]


def test_vectors_and_collections_come_along(harbour: EngineFilling) -> None:
    wanted = vectors()
    with harbour.index.contents() as contents:
        assert contents.collections()["handbook"] == HANDBOOK
        (tier,) = contents.tiers().values()
        found = contents.vectors(tier, [chunk_of("rust.md"), *wanted])
    assert tier.fingerprint == STATIC.fingerprint
    assert found.keys() == wanted.keys()
    for chunk, vector in found.items():
        assert vector.tolist() == pytest.approx(wanted[chunk].tolist(), abs=2e-3)


def test_the_identity_changes_with_the_documents(local: Callable[..., EngineFilling]) -> None:
    filling = local(page("a.md", ((), "A tern.")))

    def identity() -> str:
        with filling.index.contents() as contents:
            found: str = contents.identity
            return found

    before = identity()
    assert identity() == before
    filling.put([page("a.md", ((), "An auk."))])
    assert identity() != before
