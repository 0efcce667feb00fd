"""A snapshot of a cluster: a commit's number, and the data loaded with it in one call."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from cluster_index.documents import ClusterDocuments
from cluster_index.entities import ClusterEntities
from cluster_index.graph import ClusterLinks
from cluster_index.rows import LIVE, Rows
from cluster_index.search import ClusterVectors, ClusterWords
from cluster_index.terms import Epoch
from watersmeet.core.index import IndexedRoot, Statistics, Tier, Unseen
from watersmeet.core.model import ANY, ChunkId, Condition, Row
from watersmeet.core.visibility import AUDIENCE_GATE, Audience

if TYPE_CHECKING:
    from cluster_index.index import Cluster

T = TypeVar("T")
_SNAPSHOT = (
    "SELECT commit, generation, epoch, facts, tiers, collections, summary,"
    " (SELECT jsonb_object_agg(name, version) FROM states WHERE content IS NOT NULL) FROM head"
)


AUDIENCES = "audiences"
"""Key of the facts: the audiences of collections, as JSON."""


class ClusterSnapshot(ClusterDocuments):
    """Used by one query at a time and shared by its threads. The index reuses it for later snapshots."""

    outdated = False

    def __init__(self, index: Cluster) -> None:
        self._index = index
        self.version: int = -1
        self.damaged: dict[str, None] = {}

    def renew(self) -> None:
        """Moves to the newest commit, in one call."""
        ((commit, generation, epoch, facts, tiers, collections, summary, versions),) = self.ask(_SNAPSHOT)
        self._index.versions = versions or {}
        if commit == self.version:
            return
        self.version, self._generation, self._epoch = commit, generation, epoch
        self._facts: dict[str, str] = facts
        self.collections: dict[str, dict[str, str]] = collections
        self._tiers = {name: Tier(**one) for name, one in tiers.items()}
        self._audiences = {0: frozenset[str](), **{int(n): frozenset(one) for n, one in summary["audiences"].items()}}
        self._counts = {int(audience): one for audience, one in summary["counts"].items()}
        self._unseen = {tier: {int(n): count for n, count in one.items()} for tier, one in summary["unseen"].items()}
        self._gates, self._last_row = summary["gates"], summary["last_row"]
        self.rows = Rows(self._index.postgres, commit)
        self.holders: dict[int, dict[ChunkId, float]] = {}

    # ------------------------------------------------------------ calls

    def ask(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        return self._index.postgres.ask(sql, values)

    def search(self, queries: Sequence[Mapping[str, Any]]) -> list[list[tuple[int, float]]]:
        return self._index.qdrant.search(self._index.collection(self._generation), queries)

    def beside(self, work: Callable[[], T]) -> Callable[[], T]:
        """Runs something in another thread; call the returned function for its result."""
        return self._index.threads.submit(work).result

    @property
    def epoch(self) -> Epoch:
        return self._index.epoch(self._epoch)

    # ------------------------------------------------------------ who sees what

    def audiences(self, visible: Condition) -> list[int]:
        """The audiences whose documents are visible; 0 is everyone."""
        allowed = visible.gates.get(AUDIENCE_GATE)
        low = None if allowed is None else {value.casefold() for value in allowed}
        return [n for n, labels in self._audiences.items() if not n or low is None or labels & low]

    def needed(self, gates: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        def shut(key: str, allowed: tuple[str, ...]) -> bool:
            if key == AUDIENCE_GATE:
                return len(self.audiences(Condition(gates={key: allowed}))) < len(self._audiences)
            return not {value.casefold() for value in allowed}.issuperset(self._gates.get(key, ()))

        return {key: allowed for key, allowed in gates.items() if shut(key, allowed)}

    def _counted(self, visible: Condition) -> list[dict[str, Any]] | None:
        """The counts of each visible audience; None if the condition has more than the audience gate."""
        if visible.has_filters or any(key != AUDIENCE_GATE for key in visible.gates):
            return None
        return [self._counts[one] for one in self.audiences(visible) if one in self._counts]

    # ------------------------------------------------------------ what it gives

    @property
    def generation(self) -> str:
        return str(self._generation)

    def facts(self) -> Mapping[str, str]:
        return self._facts

    def collection_audiences(self) -> Mapping[str, Audience]:
        return {name: tuple(one) for name, one in json.loads(self._facts.get(AUDIENCES, "{}")).items()}

    def tiers(self) -> Mapping[str, Tier]:
        return self._tiers

    def words(self, visible: Condition) -> ClusterWords | None:
        return ClusterWords(self, visible) if self.version else None

    def vectors(self, tier: Tier, visible: Condition) -> ClusterVectors:
        return ClusterVectors(self, tier, visible)

    def links(self, visible: Condition) -> ClusterLinks:
        return ClusterLinks(self, visible)

    def entities(self, visible: Condition) -> ClusterEntities:
        return ClusterEntities(self, visible)

    def kinds(self, visible: Condition = ANY) -> Mapping[str, int]:
        return self.statistics(visible).kinds

    def former_collections(self) -> Mapping[str, str]:
        return {}

    def indexed_roots(self, visible: Condition = ANY) -> list[IndexedRoot]:
        return []

    def statistics(self, visible: Condition = ANY) -> Statistics:
        counted = self._counted(visible)
        if counted is None:
            counted = self._counted_now(visible)
        kinds, collections = _sums(counted, "kinds"), dict.fromkeys(self.collections, 0) | _sums(counted, "collections")
        documents, chunks = (sum(one[name] for one in counted) for name in ("documents", "chunks"))
        return Statistics(documents, chunks, kinds=kinds, collections=collections)

    def text_bytes(self, visible: Condition = ANY) -> int:
        counted = self._counted(visible)
        return sum(one["bytes"] for one in (self._counted_now(visible) if counted is None else counted))

    def _counted_now(self, visible: Condition) -> list[dict[str, Any]]:
        where, values = self.where(visible)
        found = self.ask(
            "SELECT d.kind, d.collection, count(DISTINCT d.key), count(c.row),"
            " coalesce(sum(octet_length(c.text)), 0)::int"
            f" FROM documents d LEFT JOIN chunks c ON c.document = d.key WHERE {where} GROUP BY 1, 2",
            values,
        )
        return [
            {"documents": d, "chunks": c, "bytes": size, "kinds": {kind: d}, "collections": {collection: d}}
            for kind, collection, d, c, size in found
        ]

    def sample(self, limit: int, visible: Condition = ANY, *, outside: bool = False, since: int = 0) -> list[ChunkId]:
        where, values = self.where(visible)
        live = LIVE.format("c")
        found = self.ask(
            f"SELECT c.id FROM chunks c JOIN documents d ON d.key = c.document WHERE {live}"
            f' AND ({where}) = %s AND c.row > %s ORDER BY c.id COLLATE "C" LIMIT %s',
            [self.version, self.version, *values, not outside, since, limit],
        )
        return [ChunkId(chunk) for (chunk,) in found]

    def last_row(self) -> int:
        return int(self._last_row)

    def added_since(self, row: int, visible: Condition = ANY) -> int:
        where, values = self.where(visible)
        sql = f"SELECT count(*) FROM chunks c JOIN documents d ON d.key = c.document WHERE c.row > %s AND {where}"
        return int(self.ask(sql, [row, *values])[0][0])

    def coverage(self, tier: Tier, visible: Condition = ANY) -> float:
        audiences = self.audiences(visible)
        chunks = sum(self._counts[one]["chunks"] for one in audiences if one in self._counts)
        if tier.name not in self._tiers:
            return 0.0 if chunks else 1.0
        missing = sum(self._unseen.get(tier.name, {}).get(one, 0) for one in audiences)
        return 1 - missing / chunks if chunks else 1.0

    def left(self, tier: Tier, after: int = 0) -> int:
        return len(self._missing(tier, 1 << 30, (), after))

    def unseen(self, tier: Tier, limit: int, first: Sequence[ChunkId] = (), after: int = 0) -> list[Unseen]:
        found = self._missing(tier, limit, first, after)
        return [Unseen(Row(row), title, tuple(headings), text) for row, title, headings, text in found]

    def _missing(self, tier: Tier, limit: int, first: Sequence[ChunkId], after: int) -> list[Any]:
        return self.ask(
            "SELECT c.row, d.title, c.headings, c.text FROM chunks c JOIN documents d ON d.key = c.document"
            f" WHERE {LIVE.format('c')} AND c.row > %s AND NOT EXISTS (SELECT 1 FROM vectors v WHERE v.tier = %s"
            " AND v.row = c.row AND v.born <= %s) ORDER BY array_position(%s::text[], c.id), c.row LIMIT %s",
            [self.version, self.version, after, tier.name, self.version, list(first), limit],
        )

    def weighted(self, tier: Tier, visible: Condition) -> tuple[int, dict[int, int]]:
        """How many rows have weighted terms, and how many have each: of those that are seen. For the draft, counted."""
        where, values = self.where(visible)
        rows = self.ask(
            "SELECT v.terms FROM vectors v JOIN chunks c ON c.row = v.row JOIN documents d ON d.key = c.document"
            f" WHERE v.tier = %s AND {LIVE.format('c')} AND {where}",
            [tier.name, self.version, self.version, *values],
        )
        counts: dict[int, int] = {}
        for (terms,) in rows:
            for term in terms or ():
                counts[term] = counts.get(term, 0) + 1
        return len(rows), counts


def _sums(counted: Collection[Mapping[str, Any]], name: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for one in counted:
        for key, number in one[name].items():
            found[key] = found.get(key, 0) + number
    return dict(sorted(found.items()))
