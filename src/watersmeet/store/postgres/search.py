"""Words and vectors: searched in Qdrant, looked up in PostgreSQL."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bm25 import rarity, token_of
from cluster_index.pushed import Pushed
from cluster_index.qdrant import WORDS, query, sparse
from watersmeet.core.index import Tier
from watersmeet.core.model import ChunkId, Condition
from watersmeet.core.ports import Term
from watersmeet.core.sparse import Weighted

if TYPE_CHECKING:
    from cluster_index.snapshot import ClusterSnapshot

Hits = list[tuple[ChunkId, float]]
FETCH = 4
"""How many times more hits are fetched if too few are live and satisfy the condition."""
RARE, MANY = 3, 32
"""The rows of an identifier that at most `RARE` rows have are fetched in the same call: a later stage needs them for
each identifier alone. `MANY` rows are fetched, since some of them are dead."""


class _Searched:
    """Base of words and vectors."""

    def __init__(self, snapshot: ClusterSnapshot, visible: Condition) -> None:
        self._snapshot, self._visible = snapshot, visible

    def _best(
        self, vector: Any, using: str, condition: Condition, limit: int, also: Sequence[Any] = ()
    ) -> tuple[Hits, list[Any]]:
        """The best that are live and satisfy the condition; of equal ones, those whose ids come first. `also` are
        searches for the same call."""
        snapshot = self._snapshot
        pushed_filter, fetch = Pushed(condition, snapshot.collections).qdrant(), limit + limit // 4 + 8
        while True:
            offered, *others = snapshot.search([query(vector, using, fetch, pushed_filter), *also])
            rows = [row for row, _ in (*offered, *(hit for other in others for hit in other))]
            live = snapshot.rows.of(dict.fromkeys(rows))
            found = [
                (live[row].passage.id, score)
                for row, score in offered
                if row in live and live[row].satisfies(condition, snapshot.collections)
            ]
            found.sort(key=lambda hit: (-hit[1], hit[0]))
            if len(offered) < fetch or (len(found) >= limit and offered[-1][1] < found[limit - 1][1]):
                return found[:limit], others
            fetch, also = fetch * FETCH, ()

    def _scored(self, vector: Any, using: str, ids: Collection[ChunkId]) -> dict[ChunkId, float]:
        rows = {live.row: chunk for chunk, live in self._snapshot.rows.by_id(ids).items()}
        if not rows:
            return {}
        (found,) = self._snapshot.search([query(vector, using, len(rows), {}, rows)])
        return {rows[row]: score for row, score in found}


class ClusterWords(_Searched):
    @property
    def size(self) -> int:
        return self._snapshot.epoch.size(self._snapshot.audiences(self._visible))

    def frequency(self, field: str, text: str) -> int:
        epoch = self._snapshot.epoch
        number = epoch.terms.get((field, token_of(field, text)))
        return epoch.frequency(number, self._snapshot.audiences(self._visible)) if number is not None else 0

    def frequencies(self, field: str, texts: Sequence[str]) -> list[int]:
        return [self.frequency(field, text) for text in texts]

    def _query(self, terms: Sequence[Term]) -> dict[int, float]:
        return self._snapshot.epoch.query(terms, self._snapshot.audiences(self._visible))

    def match(self, terms: Sequence[Term], condition: Condition, limit: int) -> Hits:
        weights = self._query(terms)
        if not weights or limit < 1:
            return []
        forms = [term for term in terms if term.field == "forms" and self.frequency("forms", term.text) <= RARE]
        rare = list(self._query(forms))
        found, holders = self._best(
            sparse(weights), WORDS, condition, limit, [query(sparse({one: 1.0}), WORDS, MANY, {}) for one in rare]
        )
        for dimension, hits in zip(rare, holders, strict=False):
            if len(hits) < MANY:
                live = self._snapshot.rows.of([row for row, _ in hits])
                self._snapshot.holders[dimension] = {live[row].passage.id: w for row, w in hits if row in live}
        return found

    def score(self, terms: Sequence[Term], ids: Collection[ChunkId]) -> dict[ChunkId, float]:
        weights, holders = self._query(terms), self._snapshot.holders
        if not weights or any(dimension not in holders for dimension in weights):
            return self._scored(sparse(weights), WORDS, ids) if weights else {}
        found = {chunk: sum(w * holders[one].get(chunk, 0.0) for one, w in weights.items()) for chunk in ids}
        return {chunk: score for chunk, score in found.items() if score}


class ClusterVectors(_Searched):
    def __init__(self, snapshot: ClusterSnapshot, tier: Tier, visible: Condition) -> None:
        super().__init__(snapshot, visible)
        self._tier = tier

    def _query(self, vector: Any) -> Any:
        """The query in Qdrant's form; None if it is zero."""
        if not isinstance(vector, Weighted):
            return np.asarray(vector, dtype=np.float32).tolist() if np.any(vector) else None
        weights = dict(zip(vector.terms.tolist(), vector.weights.tolist(), strict=True))
        if vector.rarely:
            weights = {term: weight * self._rarity(term) for term, weight in weights.items()}
        return sparse(weights) if weights else None

    def _rarity(self, term: int) -> float:
        size, counts = self._snapshot.weighted(self._tier, self._visible)
        return rarity(counts.get(term, 0), size)

    def nearest(self, queries: Sequence[Any], condition: Condition, limit: int) -> list[dict[ChunkId, float]]:
        vectors = [self._query(one) for one in queries]
        if len(vectors) == 1:
            return [dict(self._one(vectors[0], condition, limit))]
        return self._each(vectors, condition, limit)

    def _one(self, vector: Any, condition: Condition, limit: int) -> Hits:
        return [] if vector is None or limit < 1 else self._best(vector, self._tier.name, condition, limit)[0]

    def _each(self, vectors: Sequence[Any], condition: Condition, limit: int) -> list[dict[ChunkId, float]]:
        """Several queries in one call. What one found is scored by the others while it is looked up."""
        snapshot, fetch = self._snapshot, limit + limit // 4 + 8
        pushed_filter = Pushed(condition, snapshot.collections).qdrant()
        valid = [vector for vector in vectors if vector is not None]
        offered = [
            dict(one) for one in snapshot.search([query(one, self._tier.name, fetch, pushed_filter) for one in valid])
        ]
        rows = set[int]().union(*offered)
        scored = snapshot.beside(lambda: self._rest(valid, offered, rows))
        live = {
            row: one for row, one in snapshot.rows.of(rows).items() if one.satisfies(condition, snapshot.collections)
        }
        answers = [{live[row].passage.id: score for row, score in one.items() if row in live} for one in scored()]
        if any(len(one) >= fetch and len(one.keys() & live) < limit for one in offered):  # too many are dead
            ranked = [dict(self._one(vector, condition, limit)) for vector in valid]
            answers = self.score_vectors(valid, set[ChunkId]().union(*ranked))
        best = [dict(sorted(one.items(), key=lambda hit: (-hit[1], hit[0]))) for one in answers]
        first = set[ChunkId]().union(*(list(one)[:limit] for one in best))
        found = iter([{chunk: score for chunk, score in one.items() if chunk in first} for one in best])
        return [{} if vector is None else next(found) for vector in vectors]

    def _rest(
        self, vectors: Sequence[Any], offered: Sequence[dict[int, float]], rows: set[int]
    ) -> list[dict[int, float]]:
        """Scores by each query of hits that only the others found."""
        searches = [
            query(vector, self._tier.name, len(rows), {}, rows - one.keys())
            for vector, one in zip(vectors, offered, strict=True)
        ]
        return [one | dict(rest) for one, rest in zip(offered, self._snapshot.search(searches), strict=True)]

    def score(self, queries: Sequence[Any], ids: Collection[ChunkId]) -> list[dict[ChunkId, float]]:
        vectors = [self._query(one) for one in queries]
        found = iter(self.score_vectors([vector for vector in vectors if vector is not None], ids))
        return [{} if vector is None else next(found) for vector in vectors]

    def score_vectors(self, vectors: Sequence[Any], ids: Collection[ChunkId]) -> list[dict[ChunkId, float]]:
        rows = {live.row: chunk for chunk, live in self._snapshot.rows.by_id(ids).items()}
        if not rows or not vectors:
            return [{} for _ in vectors]
        found = self._snapshot.search([query(vector, self._tier.name, len(rows), {}, rows) for vector in vectors])
        return [{rows[row]: score for row, score in one} for one in found]

    def read(self, ids: Sequence[ChunkId]) -> Any:
        live = self._snapshot.rows.by_id(ids)
        sql = "SELECT row, vector FROM vectors WHERE tier = %s AND row = ANY(%s)"
        found = dict(self._snapshot.ask(sql, [self._tier.name, [one.row for one in live.values()]]))
        stored = [live[chunk].row for chunk in ids if chunk in live and live[chunk].row in found]
        return np.array([found[row] for row in stored], dtype=np.float32)
