"""Vector search over the entities of a shared database, for the recipe `registry`.

The index still decides what is live and who may see it; the database only ranks. If it does not answer, the vectors of
the index rank instead.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from watersmeet.core.entities import KINDS
from watersmeet.core.errors import DatabaseProblem
from watersmeet.core.index import Snapshot, Tier, Vectors
from watersmeet.core.model import ChunkId, Condition, DocId
from watersmeet.core.registry_records import IN_INDEX, SharedVectors
from watersmeet.engine.registry.publish import head_chunk, published_tier
from watersmeet.engine.registry.shared_records import shared_records
from watersmeet.engine.settings.settings import LOCAL_RECORDS, Settings

if TYPE_CHECKING:
    from watersmeet.core.sparse import Weighted
    from watersmeet.core.vectors import Matrix, Vector


def shared_vectors(snapshot: Snapshot, settings: Settings) -> tuple[Tier, SharedVectors] | None:
    """The tier that is searched in the database, and its vectors there; None if the index is searched.

    A search that ranks tools as well needs the index: the database has no vectors of tools."""
    own = settings.section("registry")
    if own.records == LOCAL_RECORDS or own.search_tools:
        return None
    shared, tier = shared_records(settings), published_tier(snapshot)
    if shared is None or tier is None or shared.vector_search == IN_INDEX:
        return None
    return tier, shared.vectors(tier.dimension)


@dataclass(frozen=True, slots=True)
class DatabaseVectors:
    """The `Vectors` port over a database. `index` has the vectors of the index."""

    index: Vectors
    database: SharedVectors
    snapshot: Snapshot
    visible: Condition

    def nearest(
        self, queries: Sequence[Vector | Weighted], condition: Condition, limit: int
    ) -> list[dict[ChunkId, float]]:
        kind = self._kind(condition)
        if not kind:
            return self.index.nearest(queries, condition, limit)
        try:
            found = [self.database.nearest(query, kind, limit) for query in queries]  # type: ignore[arg-type]
        except DatabaseProblem:
            return self.index.nearest(queries, condition, limit)  # the answer says so: `fallback`
        gates = replace(condition, gates={**self.visible.gates, **condition.gates})
        live = self.snapshot.only({DocId(path) for one in found for path in one}, gates)
        ranked = [[(head_chunk(path), cosine) for path, cosine in one.items() if path in live] for one in found]
        best = [dict(one[:limit]) for one in ranked]
        union = {chunk for one in best for chunk in one}
        return [
            {**first, **{chunk: cosine for chunk, cosine in every if chunk in union}}
            for first, every in zip(best, ranked, strict=True)
        ]

    def score(self, queries: Sequence[Vector | Weighted], ids: Collection[ChunkId]) -> list[dict[ChunkId, float]]:
        return self.index.score(queries, ids)

    def read(self, ids: Sequence[ChunkId]) -> Matrix:
        return self.index.read(ids)

    def _kind(self, condition: Condition) -> str:
        """The one kind of entities that is searched; empty for anything else, which the index searches."""
        kinds = condition.fields.get("kind") or tuple(self.snapshot.kinds(self.visible))
        others = condition.fields.keys() - {"kind"} or condition.also or condition.without
        alone = len(kinds) == 1 and kinds[0] in KINDS and not others
        return kinds[0] if alone and condition.since is None and condition.before is None else ""
