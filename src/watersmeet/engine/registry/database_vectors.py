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
from watersmeet.core.registry_records import SharedVectors
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
    vectors = shared.searched(tier.dimension) if shared and tier else None
    return (tier, vectors) if tier and vectors else None


@dataclass(frozen=True, slots=True)
class DatabaseVectors:
    """The `Vectors` port over a database, which has a vector of each entity's own text. Those of bodies and examples,
    and what an entity has that was not written through yet, are in the `index` alone."""

    index: Vectors
    database: SharedVectors
    snapshot: Snapshot
    visible: Condition

    def nearest(
        self, queries: Sequence[Vector | Weighted], condition: Condition, limit: int
    ) -> list[dict[ChunkId, float]]:
        kind = self._kind(condition)
        inside = self.index.nearest(queries, condition, limit)
        if not kind:
            return inside
        try:
            found = [self.database.nearest(query, kind, limit) for query in queries]  # type: ignore[arg-type]
        except DatabaseProblem:
            return inside  # the answer says so: `fallback`
        gates = replace(condition, gates={**self.visible.gates, **condition.gates})
        live = self.snapshot.only({DocId(path) for one in found for path in one}, gates)
        heads = {path: head_chunk(path) for one in found for path in one}
        own = frozenset(heads.values())
        ranked = []
        for there, here in zip(found, inside, strict=True):
            scored = [(heads[path], cosine) for path, cosine in there.items() if path in live]
            scored += [(chunk, cosine) for chunk, cosine in here.items() if chunk not in own]
            ranked.append(sorted(scored, key=lambda one: (-one[1], one[0])))
        best = {chunk for one in ranked for chunk, _ in one[:limit]}
        return [dict([*one[:limit], *(item for item in one[limit:] if item[0] in best)]) for one in ranked]

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
