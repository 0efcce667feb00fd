"""Links: what is written in and about a few documents, in one call each way."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from watersmeet.core.model import ChunkId, Condition, DocId
from watersmeet.core.ports import Edge
from watersmeet.store.local._links import Resolver

if TYPE_CHECKING:
    from watersmeet.store.postgres.snapshot import PostgresSnapshot

UNREADABLE = 1_000


class LiveLinks:
    def __init__(self, snapshot: PostgresSnapshot, visible: Condition) -> None:
        self._snapshot, self._visible = snapshot, visible

    def first_chunks(self, documents: Collection[DocId], condition: Condition) -> dict[DocId, ChunkId]:
        return self._snapshot.first_chunks(documents, condition)

    def degrees(self, documents: Collection[DocId]) -> dict[DocId, int]:
        where, values = self._snapshot.where(self._visible)
        rest = "AND d.name = ANY(%s)"
        here = [key for (key,) in self._snapshot.named_where("d.key", Condition(), rest, [list(documents)])]
        found = self._snapshot.ask(
            "SELECT o.name, (SELECT count(*) FROM links l WHERE l.document = o.key) + (SELECT count(*) FROM (SELECT 1"
            " FROM names n JOIN links l ON l.key = n.key JOIN documents d ON d.key = l.document"
            f" WHERE n.document = o.key AND {where} LIMIT {UNREADABLE + 1}) m) FROM documents o WHERE o.key = ANY(%s)",
            [*values, here],
        )
        return dict(found)

    def edges(self, documents: Collection[DocId], *, whole: bool = False) -> dict[DocId, Sequence[Edge] | None]:
        degrees = self.degrees(documents)
        readable = [name for name, links in degrees.items() if whole or links <= UNREADABLE]
        written = self._written(readable)
        where, values = self._snapshot.where(self._visible)
        named = self._snapshot.ask(
            "SELECT n.key, d.name, n.rank FROM names n JOIN documents d ON d.key = n.document"
            f" WHERE n.key = ANY(%s) AND {where}",
            [list({key for _, key, _ in written}), *values],
        )
        resolve = Resolver(named)
        edges: dict[DocId, dict[Edge, None]] = {name: {} for name in readable}
        for source, key, type in written:
            if target := resolve.closest(source, key):
                for end in {source, target} & edges.keys():
                    edges[end][Edge(source, target, type)] = None
        none = {name: None if name in degrees else () for name in documents}
        return none | {name: tuple(sorted(found)) for name, found in edges.items()}

    def _written(self, documents: Sequence[DocId]) -> list[tuple[DocId, str, str]]:
        """The links that leave or may reach these documents, as (from, key, type)."""
        where, values = self._snapshot.where(self._visible)
        found = self._snapshot.ask(
            "SELECT DISTINCT d.name, l.key, l.type FROM links l JOIN documents d ON d.key = l.document"
            f" WHERE {where} AND (d.name = ANY(%s) OR l.key IN (SELECT n.key FROM names n"
            " JOIN documents o ON o.key = n.document WHERE o.name = ANY(%s)))",
            [*values, documents, documents],
        )
        return [(source, key, type) for source, key, type in found]
