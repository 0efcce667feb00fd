from __future__ import annotations

import shutil
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from watersmeet.core.errors import IndexDamaged, NoIndex
from watersmeet.core.model import ANY
from watersmeet.core.ports import Term
from watersmeet.store.local.snapshot import LocalSnapshot, check_vectors_exist
from watersmeet.testing.contracts.corpus import EVERYONES, STATIC, chunk_of, page, vectors

GIVEN = [page(f"{name}.md", ((), f"A tide of {name}.")) for name in "abc"]


def test_it_says_what_it_was_built_with(harbour) -> None:
    with harbour.index.snapshot() as snapshot:
        assert snapshot.generation == snapshot.facts()["text_folder"]
        assert list(snapshot.tiers()) == ["static"]
        assert (snapshot.outdated, snapshot.public_text) == (False, True)
        assert snapshot.words(ANY) is snapshot.words(ANY)
        assert snapshot.words(ANY) is not snapshot.words(EVERYONES)


def test_how_much_a_model_has_read_and_what_is_left_for_it(local) -> None:
    filling = local(*GIVEN)
    with filling.index.snapshot() as snapshot:  # a tier that nobody knows of yet
        assert (snapshot.left(STATIC), len(snapshot.unseen(STATIC, 9))) == (3, 3)
    filling.embed(STATIC, vectors(GIVEN[:1]))
    with filling.index.snapshot() as snapshot:
        tier = snapshot.tiers()["static"]
        assert snapshot.coverage(tier) == pytest.approx(1 / 3)
        assert snapshot.left(tier) == 2
        assert [one.text for one in snapshot.unseen(tier, 1)] == ["A tide of b."]
        assert [one.text for one in snapshot.unseen(tier, 9, [GIVEN[2].chunks[0].id])] == [
            "A tide of c.",
            "A tide of b.",
        ]
        (last,) = snapshot.unseen(tier, 9, after=snapshot.last_row() - 1)
        assert (last.text, snapshot.left(tier, snapshot.last_row() - 1)) == ("A tide of c.", 1)


def test_vectors_that_are_lost_are_named_each_time_and_count_as_whole(local) -> None:
    filling = local(*GIVEN)
    filling.embed(STATIC, vectors(GIVEN))
    with filling.index.snapshot() as snapshot:
        tier = snapshot.tiers()["static"]
    filling.index.close()
    shutil.rmtree(Path(filling.index.place) / tier.folder)
    with filling.index.snapshot() as snapshot:
        for _ in range(2):
            with pytest.raises(IndexDamaged, match="static vectors"):
                snapshot.vectors(tier, ANY)
        assert snapshot.coverage(tier) == 1.0
    with pytest.raises(IndexDamaged):
        check_vectors_exist(tier, filling.index.place)
    check_vectors_exist(replace(tier, rows=0), filling.index.place)  # one that nothing was written to


def test_words_that_are_lost_are_no_empty_answer(local, tmp_path: Path) -> None:
    filling = local(*GIVEN)
    with filling.index.snapshot() as snapshot:
        folder = Path(filling.index.place) / snapshot.generation
    filling.index.close()
    folder.rename(tmp_path / "lost")
    with pytest.raises((NoIndex, IndexDamaged)), filling.index.snapshot():
        pass


def test_one_that_was_put_in_place_anew_is_not_current(local) -> None:
    filling = local(*GIVEN)
    place = Path(filling.index.place)
    with closing(LocalSnapshot(str(place), filling.index.make)) as snapshot:
        assert snapshot.current()
        catalogue = place / "catalogue.db"
        shutil.copy(catalogue, place / "copy")
        (place / "copy").replace(catalogue)
        assert not snapshot.current()


def test_an_index_that_nothing_was_put_into_has_no_words(harbour, tmp_path: Path) -> None:
    with pytest.raises(NoIndex), closing(LocalSnapshot(str(tmp_path), lambda name: None)):
        pass
    with harbour.index.snapshot() as snapshot:
        assert snapshot.text().frequency("body", "tide") > 0
        assert snapshot.words(ANY).score([Term("body", "borrow")], [chunk_of("rust.md")])
