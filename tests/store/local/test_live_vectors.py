from __future__ import annotations

import numpy as np
import pytest

from watersmeet.core.model import ANY, Condition
from watersmeet.store.local.live_vectors import LiveVectors
from watersmeet.testing.contracts.corpus import EVERYONES, MODEL, PRIVATE, STATIC, chunk_of, page, vectors


@pytest.fixture
def vectors_port(harbour):
    with harbour.index.snapshot() as snapshot:
        yield LiveVectors(snapshot, STATIC, ANY)


def test_the_nearest_is_itself(vectors_port) -> None:
    chunk = chunk_of("rust.md")
    (found,) = vectors_port.nearest([vectors()[chunk]], ANY, 3)
    assert len(found) == 3
    assert max(found, key=found.__getitem__) == chunk
    assert found[chunk] == pytest.approx(1.0, abs=1e-3)


def test_what_one_query_ranks_the_others_score(vectors_port) -> None:
    queries = [MODEL.embed_query(text) for text in ("piano keys", "harbour firewall")]
    one, other = vectors_port.nearest(queries, ANY, 2)
    assert one.keys() == other.keys()
    assert vectors_port.score(queries, one) == [pytest.approx(one), pytest.approx(other)]


def test_a_condition_holds_before_ranking(vectors_port) -> None:
    (found,) = vectors_port.nearest([MODEL.embed_query("harbour")], Condition({"path": ("rust.md",)}), 9)
    assert list(found) == [chunk_of("rust.md")]
    (public,) = vectors_port.nearest([MODEL.embed_query("zeppelin")], EVERYONES, 999)
    assert not {chunk_of(name) for name in PRIVATE} & public.keys()


def test_vectors_are_read_in_the_order_asked_for_and_what_is_not_there_is_left_out(vectors_port) -> None:
    wanted = [chunk_of("rust.md"), "not there", chunk_of("old.md")]
    read = vectors_port.read(wanted)
    expected = np.array([vectors()[wanted[0]], vectors()[wanted[2]]])
    assert np.allclose(read, expected, atol=1e-3)
    assert vectors_port.score([MODEL.embed_query("x")], ["not there"]) == [{}]


def test_what_has_no_vector_yet_or_is_gone_is_not_near(local) -> None:
    given = [page(f"{name}.md", ((), f"A tide of {name}.")) for name in "abc"]
    filling = local(*given)
    filling.embed(STATIC, vectors(given[:2]))
    filling.remove(["a.md"])
    with filling.index.snapshot() as snapshot:
        vectors_port = LiveVectors(snapshot, snapshot.tiers()["static"], ANY)
        (found,) = vectors_port.nearest([MODEL.embed_query("tide")], ANY, 9)
        assert list(snapshot.documents_of(found).values()) == ["b.md"]
