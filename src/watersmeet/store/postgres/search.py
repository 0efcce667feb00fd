"""Words and vectors: searched in Qdrant, looked up in PostgreSQL, which decides what is live and who may see it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from watersmeet.core.index import Tier
from watersmeet.core.model import ChunkId, Condition
from watersmeet.core.ports import Term
from watersmeet.core.sparse import Weighted
from watersmeet.store.local._text import EXACT_FIELD, checked_field
from watersmeet.store.postgres.conditions import Pushed
from watersmeet.store.qdrant.bm25 import rarity
from watersmeet.store.qdrant.points import sparse

if TYPE_CHECKING:
    from watersmeet.store.postgres.snapshot import PostgresSnapshot

Hits = list[tuple[ChunkId, float]]
FETCH, MAX_FETCHED = 4, 20_000
"""How many times more hits are fetched if too few are live and satisfy the condition, and how many at most."""
MAX_EQUAL = 500
"""Hits fetched at most to order equal scores; beyond, any of them may be left out."""
MAX_SCORED = 400
"""Rows in one filter by row: with more, Qdrant gets slow."""
MAX_COMPARED = 50_000
"""With at most so many vectors all are compared: following the graph misses some, above all among near copies."""
RARE, MANY = 3, 32
"""The rows of an identifier that at most `RARE` rows have are fetched in the same call: a later stage needs them for
each identifier alone. `MANY` rows are fetched, since some of them are dead."""


class _Searched:
    """Base of words and vectors."""

    def __init__(self, snapshot: PostgresSnapshot, visible: Condition) -> None:
        self._snapshot, self._visible = snapshot, visible

    @property
    def _store(self) -> str:
        """The collection that is searched."""
        raise NotImplementedError

    _exact = False
    """Whether all vectors are compared."""

    def _best(self, vector: Any, condition: Condition, limit: int, also: Sequence[Any] = ()) -> tuple[Hits, list[Any]]:
        """The best that are live and satisfy the condition; of equal ones, those whose ids come first. `also` are
        searches for the same call."""
        snapshot = self._snapshot
        pushed_filter, fetch = Pushed(condition, snapshot.collections).qdrant(), limit + limit // 4 + 8
        while True:
            searches = [snapshot.qdrant.query(vector, fetch, pushed_filter, exact=self._exact), *also]
            offered, *others = snapshot.search(self._store, searches)
            rows = [row for row, _ in (*offered, *(hit for other in others for hit in other))]
            live = snapshot.rows.of(dict.fromkeys(rows))
            found = [
                (live[row].id, score)
                for row, score in offered
                if row in live and live[row].satisfies(condition, snapshot.collections)
            ]
            found.sort(key=lambda hit: (-hit[1], hit[0]))
            complete = len(found) >= limit and offered[-1][1] < found[limit - 1][1]
            if len(offered) < fetch or complete or fetch >= (MAX_EQUAL if len(found) >= limit else MAX_FETCHED):
                if len(offered) == fetch and len(found) < limit:
                    snapshot.incomplete[self._store] = None
                return found[:limit], others
            fetch, also = min(MAX_FETCHED, fetch * FETCH), ()

    def _scores(self, asked: Sequence[tuple[Any, Collection[int]]]) -> list[dict[int, float]]:
        """Scores of rows by a query each, all in one call."""
        found: list[dict[int, float]] = [{} for _ in asked]
        parts = [
            (place, vector, listed[start : start + MAX_SCORED])
            for place, (vector, rows) in enumerate(asked)
            for listed in [list(rows)]
            for start in range(0, len(listed), MAX_SCORED)
        ]
        searches = [self._snapshot.qdrant.query(vector, len(part), {}, part) for _, vector, part in parts]
        for (place, *_), hits in zip(parts, self._snapshot.search(self._store, searches), strict=True):
            found[place].update(hits)
        return found


class LiveWords(_Searched):
    @property
    def _store(self) -> str:
        return self._snapshot.words_store

    @property
    def _audiences(self) -> list[int]:
        return self._snapshot.audiences(self._visible)

    @property
    def size(self) -> int:
        return self._snapshot.epoch.size(self._audiences)

    def frequency(self, field: str, text: str) -> int:
        return self.frequencies(field, [text])[0]

    def frequencies(self, field: str, texts: Sequence[str]) -> list[int]:
        return self._snapshot.epoch.frequencies(checked_field(field), texts, self._audiences)

    def _query(self, terms: Sequence[Term]) -> dict[int, float]:
        return self._snapshot.epoch.query(terms, self._audiences)

    def match(self, terms: Sequence[Term], condition: Condition, limit: int) -> Hits:
        weights = self._query(terms)
        if not weights or limit < 1:
            return []
        snapshot = self._snapshot
        forms = [term for term in terms if term.field == EXACT_FIELD]
        counts = self.frequencies(EXACT_FIELD, [term.text for term in forms])
        rare = list(self._query([term for term, count in zip(forms, counts, strict=True) if count <= RARE]))
        also = [snapshot.qdrant.query(sparse({one: 1.0}), MANY, {}) for one in rare]
        found, holders = self._best(sparse(weights), condition, limit, also)
        for dimension, hits in zip(rare, holders, strict=False):
            if len(hits) < MANY:
                live = snapshot.rows.of([row for row, _ in hits])
                snapshot.holders[dimension] = {live[row].id: w for row, w in hits if row in live}
        return found

    def score(self, terms: Sequence[Term], ids: Collection[ChunkId]) -> dict[ChunkId, float]:
        weights, holders = self._query(terms), self._snapshot.holders
        if not weights:
            return {}
        if all(dimension in holders for dimension in weights):
            found = {chunk: sum(w * holders[one].get(chunk, 0.0) for one, w in weights.items()) for chunk in ids}
            return {chunk: score for chunk, score in found.items() if score}
        rows = {live.row: chunk for chunk, live in self._snapshot.rows.by_id(ids).items()}
        (scores,) = self._scores([(sparse(weights), rows)])
        return {rows[row]: score for row, score in scores.items()}


class LiveVectors(_Searched):
    def __init__(self, snapshot: PostgresSnapshot, tier: Tier, visible: Condition) -> None:
        super().__init__(snapshot, visible)
        self._tier, self._exact = tier, snapshot.embedded(tier) <= MAX_COMPARED

    @property
    def _store(self) -> str:
        return self._tier.folder

    def _query(self, vector: Any) -> Any:
        """The query in Qdrant's form; None if it is zero."""
        if not isinstance(vector, Weighted):
            return [float(value) for value in vector] if vector.any() else None
        terms = dict(zip(vector.terms.tolist(), vector.weights.tolist(), strict=True))
        size, known = self._snapshot.weighted(self._tier, self._visible, terms)
        weights = {
            number: terms[term] * (rarity(count, size) if vector.rarely else 1.0)
            for term, number, count in known
            if terms[term] > 0
        }
        return sparse(weights) if weights else None

    def nearest(self, queries: Sequence[Any], condition: Condition, limit: int) -> list[dict[ChunkId, float]]:
        vectors = [self._query(one) for one in queries]
        if len(vectors) == 1:
            return [dict(self._one(vectors[0], condition, limit))]
        return self._each(vectors, condition, limit)

    def _one(self, vector: Any, condition: Condition, limit: int) -> Hits:
        return [] if vector is None or limit < 1 else self._best(vector, condition, limit)[0]

    def _each(self, vectors: Sequence[Any], condition: Condition, limit: int) -> list[dict[ChunkId, float]]:
        """Several queries in one call. What one found is scored by the others while it is looked up."""
        snapshot, fetch = self._snapshot, limit + limit // 4 + 8
        pushed_filter = Pushed(condition, snapshot.collections).qdrant()
        valid = [vector for vector in vectors if vector is not None]
        searches = [snapshot.qdrant.query(one, fetch, pushed_filter, exact=self._exact) for one in valid]
        offered = [dict(one) for one in snapshot.search(self._store, searches)]
        rows = set[int]().union(*offered)
        scored = snapshot.beside(lambda: self._rest(valid, offered, rows))
        live = {
            row: one for row, one in snapshot.rows.of(rows).items() if one.satisfies(condition, snapshot.collections)
        }
        answers = [{live[row].id: score for row, score in one.items() if row in live} for one in scored()]
        if any(len(one) >= fetch and len(one.keys() & live) < limit for one in offered):  # too many are dead
            ranked = [dict(self._one(vector, condition, limit)) for vector in valid]
            answers = self._scored_chunks(valid, set[ChunkId]().union(*ranked))
        best = [dict(sorted(one.items(), key=lambda hit: (-hit[1], hit[0]))) for one in answers]
        first = set[ChunkId]().union(*(list(one)[:limit] for one in best))
        found = iter([{chunk: score for chunk, score in one.items() if chunk in first} for one in best])
        return [{} if vector is None else next(found) for vector in vectors]

    def _rest(
        self, vectors: Sequence[Any], offered: Sequence[Mapping[int, float]], rows: set[int]
    ) -> list[dict[int, float]]:
        """Scores by each query, also of hits that only the others found."""
        missing = [(vector, rows - one.keys()) for vector, one in zip(vectors, offered, strict=True)]
        return [{**one, **other} for one, other in zip(offered, self._scores(missing), strict=True)]

    def score(self, queries: Sequence[Any], ids: Collection[ChunkId]) -> list[dict[ChunkId, float]]:
        vectors = [self._query(one) for one in queries]
        found = iter(self._scored_chunks([vector for vector in vectors if vector is not None], ids))
        return [{} if vector is None else next(found) for vector in vectors]

    def _scored_chunks(self, vectors: Sequence[Any], ids: Collection[ChunkId]) -> list[dict[ChunkId, float]]:
        rows = {live.row: chunk for chunk, live in self._snapshot.rows.by_id(ids).items()}
        scores = self._scores([(vector, rows) for vector in vectors])
        return [{rows[row]: score for row, score in one.items()} for one in scores]

    def read(self, ids: Sequence[ChunkId]) -> Any:
        import numpy as np

        live = self._snapshot.rows.by_id(ids)
        sql = "SELECT row, vector FROM vectors WHERE store = %s AND row = ANY(%s)"
        found = dict(self._snapshot.ask(sql, [self._tier.folder, [one.row for one in live.values()]]))
        stored = [live[chunk].row for chunk in ids if chunk in live and live[chunk].row in found]
        made = [np.frombuffer(found[row], dtype="<f2").astype(np.float32) for row in stored]
        return np.array(made, dtype=np.float32).reshape(len(made), self._tier.dimension)
