"""The contract of `Vectors`: exact cosines, or dot products of weighted terms, of live chunks."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import TYPE_CHECKING

import pytest

from watersmeet.core.index import Snapshot, Tier, Vectors
from watersmeet.core.model import ANY, ChunkId, Condition
from watersmeet.core.sparse import Weighted
from watersmeet.testing.contracts._base import FilledContract
from watersmeet.testing.contracts.corpus import (
    CASES,
    EVERYONES,
    MODEL,
    STATIC,
    Case,
    Filling,
    chunk_of,
    page,
    vectors,
    visible_to,
)
from watersmeet.testing.contracts.corpus import OPS as OPERATIONS

if TYPE_CHECKING:
    from watersmeet.core.vectors import Vector

CLOSE, ROUNDING = 1e-6, 2e-3
"""Tolerances: between two ways to compute a score; and of vectors rounded for storage."""
SPARSE = Tier("sparse", "made up", "made-up-1", 0, "vectors-sparse-1-made-up")
DENSE = Tier("dense", "hashed-64", "hashed-1-64", 64, "vectors-dense-1-hashed")


def query(text: str) -> Vector:
    return MODEL.embed_query(text)


def nearest(
    searcher: Vectors, query: Vector | Weighted, condition: Condition, limit: int
) -> list[tuple[ChunkId, float]]:
    """The best hits of one query, in their order."""
    (found,) = searcher.nearest([query], condition, limit)
    return list(found.items())


def score(searcher: Vectors, query: Vector | Weighted, ids: Collection[ChunkId]) -> dict[ChunkId, float]:
    (found,) = searcher.score([query], ids)
    return found


def weighted(rarely: bool = False, **weights: float) -> Weighted:
    """Terms `t3=0.5` with their weights. They may be hashes, so they are large."""
    import numpy as np

    terms = np.array([(int(name[1:]) << 58) + 5 for name in weights], dtype=np.int64)
    return Weighted(terms, np.array(list(weights.values()), dtype=np.float32), rarely)


class VectorsContract(FilledContract):
    def test_the_nearest_come_first_with_their_cosines(self, snapshot: Snapshot) -> None:
        searcher = snapshot.vectors(STATIC, ANY)
        vector = query("keys of a piano")
        found = nearest(searcher, vector, ANY, 100)
        truth = {chunk: float(stored @ vector) for chunk, stored in vectors().items()}
        assert dict(found) == pytest.approx(truth, abs=ROUNDING)
        assert found == sorted(found, key=lambda hit: (-hit[1], hit[0]))
        assert found[0][0] == chunk_of("notes/keys.md")

    def test_equal_ones_come_by_id(self, snapshot: Snapshot) -> None:
        ties = sorted(chunk_of(f"ties/{name}.md") for name in "abc")
        searcher = snapshot.vectors(STATIC, ANY)
        vector = query("an even swell under the pier")
        assert [chunk for chunk, _ in nearest(searcher, vector, ANY, 3)] == ties
        assert [chunk for chunk, _ in nearest(searcher, vector, ANY, 2)] == ties[:2]

    def test_a_longer_query_vector_changes_nothing(self, snapshot: Snapshot) -> None:
        searcher = snapshot.vectors(STATIC, ANY)
        vector = query("firewall ports")
        longer = nearest(searcher, 7 * vector, ANY, 5)
        assert [chunk for chunk, _ in longer] == [chunk for chunk, _ in nearest(searcher, vector, ANY, 5)]
        assert dict(longer) == pytest.approx(dict(nearest(searcher, vector, ANY, 5)), abs=CLOSE)

    def test_chunks_are_scored_as_they_are_found(self, snapshot: Snapshot) -> None:
        searcher = snapshot.vectors(STATIC, ANY)
        vector = query("which tides are forecast")
        found = dict(nearest(searcher, vector, ANY, 100))
        assert score(searcher, vector, [*found, ChunkId("not there")]) == pytest.approx(found, abs=CLOSE)
        few = list(found)[3:7]
        assert score(searcher, vector, few) == pytest.approx({chunk: found[chunk] for chunk in few}, abs=CLOSE)
        assert score(searcher, vector, []) == {}

    def test_several_queries_are_asked_at_once(self, snapshot: Snapshot) -> None:
        searcher = snapshot.vectors(STATIC, ANY)
        queries = [query("keys of a piano"), query("firewall ports"), query("tides")]
        found = searcher.nearest(queries, EVERYONES, 4)
        alone = [nearest(searcher, one, EVERYONES, 4) for one in queries]
        for one, ranked in zip(found, alone, strict=True):
            assert list(one)[:4] == [chunk for chunk, _ in ranked]
            assert one.keys() == {chunk for other in alone for chunk, _ in other}
        scored = searcher.score(queries, found[0])
        assert scored == [pytest.approx(one, abs=CLOSE) for one in found]
        assert searcher.nearest([], ANY, 4) == searcher.score([], found[0]) == []
        nowhere, somewhere = searcher.nearest([0 * queries[0], queries[1]], EVERYONES, 4)
        assert nowhere == {}
        assert somewhere == pytest.approx(dict(alone[1]), abs=CLOSE)

    def test_vectors_are_read_as_they_were_put(self, snapshot: Snapshot) -> None:
        ids, given = [chunk_of("rust.md"), ChunkId("not there"), chunk_of("guides/keys.md", 1)], vectors()
        found = snapshot.vectors(STATIC, ANY).read(ids)
        assert found.shape == (2, STATIC.dimension)
        for one, chunk in zip(found, (ids[0], ids[2]), strict=True):
            assert one.tolist() == pytest.approx(given[chunk].tolist(), abs=ROUNDING)

    def test_zero_vectors_have_no_neighbours(self, filling: Filling) -> None:
        given = [page("a.md", ((), "a tern")), page("b.md", ((), "an auk"))]
        filling.put(given)
        embedded = vectors(given)
        a, b = (one.chunks[0].id for one in given)
        filling.embed(STATIC, embedded | {b: 0 * embedded[b]})
        with filling.index.snapshot() as snapshot:
            searcher = snapshot.vectors(STATIC, ANY)
            assert [chunk for chunk, _ in nearest(searcher, query("an auk"), ANY, 10)] == [a]
            assert score(searcher, query("an auk"), [a, b]).keys() == {a}
            assert nearest(searcher, 0 * query("an auk"), ANY, 10) == []
            assert score(searcher, 0 * query("an auk"), [a, b]) == {}
            assert snapshot.coverage(STATIC) == 1.0

    @pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
    def test_a_condition_applies_before_ranking(self, snapshot: Snapshot, case: Case) -> None:
        gates = Condition(gates=case.condition.gates)
        searcher = snapshot.vectors(STATIC, gates)
        vector = query("harbour tides and keys")
        every = nearest(searcher, vector, gates, 100)
        owners = snapshot.documents_of([chunk for chunk, _ in every])
        wanted = [hit for hit in every if owners[hit[0]] in case.passes]
        assert [chunk for chunk, _ in nearest(searcher, vector, case.condition, 100)] == [chunk for chunk, _ in wanted]
        assert [chunk for chunk, _ in nearest(searcher, vector, case.condition, 2)] == [
            chunk for chunk, _ in wanted[:2]
        ]

    def test_private_chunks_are_found_only_by_viewers_who_may_see_them(self, snapshot: Snapshot) -> None:
        vector, chunk = query("zeppelin mooring run by operations"), chunk_of("private/ops.md")
        for viewer, is_visible in ((EVERYONES, False), (visible_to(OPERATIONS), True)):
            found = nearest(snapshot.vectors(STATIC, viewer), vector, viewer, 100)
            assert (chunk in dict(found)) is is_visible

    def test_what_is_not_embedded_yet_has_no_score(self, filling: Filling) -> None:
        given = [page("a.md", ((), "a tern")), page("b.md", ((), "an auk")), page("c.md", ((), "a gull"))]
        filling.put(given)
        filling.embed(STATIC, vectors(given))
        filling.embed(DENSE, vectors(given[:1]))
        a, b, c = (one.chunks[0].id for one in given)
        with filling.index.snapshot() as snapshot:
            assert snapshot.coverage(STATIC) == 1.0
            assert snapshot.coverage(DENSE) == pytest.approx(1 / 3)
            searcher = snapshot.vectors(DENSE, ANY)
            assert [chunk for chunk, _ in nearest(searcher, query("auk"), ANY, 10)] == [a]
            assert score(searcher, query("auk"), [a, b, c]).keys() == {a}
            unseen = snapshot.unseen(DENSE, 10)
            assert sorted(one.text for one in unseen) == ["a gull", "an auk"]
            first = snapshot.unseen(DENSE, 1, first=[c, a])
            assert [(one.title, one.headings, one.text) for one in first] == [("C", (), "a gull")]
            assert snapshot.unseen(DENSE, 10, after=max(one.row for one in unseen)) == []
            assert (snapshot.left(STATIC), snapshot.left(DENSE)) == (0, 2)
            assert snapshot.left(DENSE, after=max(one.row for one in unseen)) == 0

    def test_a_replaced_chunk_is_gone(self, filling: Filling) -> None:
        old, new = page("a.md", ((), "a tern")), page("a.md", ((), "an auk on a rock"))
        other = page("b.md", ((), "a gull"))
        filling.put([old, other])
        filling.embed(STATIC, vectors([old, other]))
        filling.put([new])
        with filling.index.snapshot() as snapshot:
            found = nearest(snapshot.vectors(STATIC, ANY), query("a tern"), ANY, 10)
            assert [chunk for chunk, _ in found] == [other.chunks[0].id]
        filling.embed(STATIC, vectors([new]))
        with filling.index.snapshot() as snapshot:
            found = nearest(snapshot.vectors(STATIC, ANY), query("an auk on a rock"), ANY, 10)
            assert dict(found)[new.chunks[0].id] == pytest.approx(
                float(vectors([new])[new.chunks[0].id] @ query("an auk on a rock")), abs=ROUNDING
            )

    # ------------------------------------------------------------ weighted terms

    def test_weighted_terms(self, filling: Filling) -> None:
        given = [page(f"{name}.md", ((), name)) for name in "abc"]
        filling.put(given)
        a, b, c = (one.chunks[0].id for one in given)
        filling.embed(SPARSE, {a: weighted(t1=1.0, t7=0.5), b: weighted(t1=0.25), c: weighted(t9=2.0)})
        with filling.index.snapshot() as snapshot:
            sparse = snapshot.vectors(SPARSE, ANY)
            terms = weighted(t1=2.0, t7=1.0, t8=3.0)
            found = nearest(sparse, terms, ANY, 10)
            assert [chunk for chunk, _ in found] == [a, b]
            assert dict(found) == pytest.approx({a: 2.5, b: 0.5})
            assert score(sparse, terms, [a, b, c]) == pytest.approx({a: 2.5, b: 0.5})
            assert nearest(sparse, weighted(t8=1.0), ANY, 10) == []

    def test_rare_terms_weigh_more_where_the_query_wants_it(self, filling: Filling) -> None:
        given = [page(f"{name}.md", ((), name)) for name in "abc"]
        filling.put(given)
        a, b, c = (one.chunks[0].id for one in given)
        filling.embed(SPARSE, {a: weighted(t1=1.0, t7=0.5), b: weighted(t1=0.25), c: weighted(t9=2.0)})
        with filling.index.snapshot() as snapshot:
            sparse = snapshot.vectors(SPARSE, ANY)
            common, rare = math.log(1 + 1.5 / 2.5), math.log(1 + 2.5 / 1.5)
            found = dict(nearest(sparse, weighted(rarely=True, t1=2.0, t7=1.0), ANY, 10))
            assert found == pytest.approx({a: 2 * common + 0.5 * rare, b: 0.5 * common}, rel=1e-5)
