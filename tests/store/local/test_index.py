from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from watersmeet.core.errors import IndexBusy, NoIndex
from watersmeet.core.model import ANY
from watersmeet.store.local import index as local_index
from watersmeet.store.local.index import Local
from watersmeet.testing.contracts.corpus import STATIC, page, vectors

GIVEN = [page(f"{name}.md", ((), f"A tide of {name}.")) for name in "abc"]


def test_there_is_one_once_something_was_put(local, tmp_path: Path) -> None:
    empty = local().index
    assert not empty.exists()
    with pytest.raises(NoIndex), empty.snapshot():
        pass
    assert local(*GIVEN).index.exists()


def test_a_reader_is_used_again_and_sees_what_was_committed_since(local) -> None:
    filling = local(*GIVEN)
    with filling.index.snapshot() as first:
        assert len(first.records(ANY)) == 3
    filling.put([page("d.md", ((), "A tide of d."))])
    with filling.index.snapshot() as second:
        assert second is first
        assert len(second.records(ANY)) == 4
        with filling.index.snapshot() as third:
            assert third is not second  # it is in use


def test_readers_that_nobody_needs_are_closed(local, monkeypatch: pytest.MonkeyPatch) -> None:
    index = local(*GIVEN).index
    with index.snapshot(), index.snapshot():
        pass
    assert len(index._idle) == 2
    monkeypatch.setattr(local_index, "IDLE_SECONDS", -1.0)
    with index.snapshot():
        pass
    assert len(index._idle) == 1
    index.close()
    assert index._idle == []


def test_an_index_put_in_place_anew_is_read_anew(local, tmp_path: Path) -> None:
    filling = local(*GIVEN)
    with filling.index.snapshot() as before:
        pass
    catalogue = Path(filling.index.place) / "catalogue.db"
    shutil.copy(catalogue, tmp_path / "copy.db")
    (tmp_path / "copy.db").replace(catalogue)
    with filling.index.snapshot() as after:
        assert after is not before
        assert len(after.records(ANY)) == 3


def test_work_that_is_done_alone(local) -> None:
    index = local(*GIVEN).index
    with (
        index.alone("deepen"),
        index.alone("other"),
        pytest.raises(IndexBusy, match="is at it"),
        index.alone("deepen"),
    ):
        pass
    with index.alone("deepen"):
        pass


def test_vectors_that_replace_others_have_another_name(local) -> None:
    index = local(*GIVEN).index
    name = index.name_vectors("static", "0123456789", {"text_folder": "text-3"})
    assert name == "vectors-static-3-01234567"
    assert index.name_vectors("static", "0123456789", {"text_folder": "text-3"}, replaces=name) != name
    os.mkdir(os.path.join(index.place, "vectors-static-4-01234567"))
    again = index.name_vectors("static", "0123456789", {"text_folder": "text-3"}, replaces=name)
    assert again == "vectors-static-5-01234567"


def test_dead_rows_leave_the_vector_stores(local) -> None:
    filling = local(*GIVEN)
    filling.embed(STATIC, vectors(GIVEN))
    with filling.index.snapshot() as snapshot:
        facts, tier = snapshot.facts(), snapshot.tiers()["static"]
        row = snapshot.rows([GIVEN[0].chunks[0].id])[GIVEN[0].chunks[0].id]
    filling.index._drop(facts, [row])
    store = filling.index.vector_store(tier)
    assert (store.reader().size, list(store.reader().has([row]))) == (2, [False])
    store.close()


def test_a_cache_that_it_lies_in_is_for_nobody_else(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    cache.mkdir(mode=0o755)
    Local(str(tmp_path / "elsewhere"), lambda name: None, str(cache))._tighten_cache()
    assert cache.stat().st_mode & 0o777 == 0o755
    Local(str(cache / "indexes" / "x"), lambda name: None, str(cache))._tighten_cache()
    assert cache.stat().st_mode & 0o777 == 0o700


def test_size_damage_and_state(local) -> None:
    index = local(*GIVEN).index
    assert index.size_bytes() > 0
    index.note_damage("a search met it")
    assert (Path(index.place) / "damaged").read_text() == "a search met it"
    with index.state("noted").changing(1) as change:
        change.write(b"x")
    assert index.state("noted").read() == b"x"
    assert index.root_places() == []
    assert dict(index.known_roots(lambda root: True)) == {}
