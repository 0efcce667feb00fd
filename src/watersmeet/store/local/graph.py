"""The links between documents, as graph signals read them: only those near the documents that matter to a query.

A query touches a few hundred documents of a graph that may have millions of links, so the whole is never loaded: what
was read is remembered for as long as the catalogue stays as it is.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from watersmeet.core.model import ANY, ChunkId, Condition, DocId
from watersmeet.core.ports import Edge
from watersmeet.store.local._links import Resolver
from watersmeet.store.local.view import SqliteView

UNREADABLE = 1_000
"""A document with more links than this is a list of everything: it says nothing of any of them."""

REMEMBERED = 50_000
_SEEN = "NOT IN (SELECT value FROM json_each(?2))"


class LiveLinks:
    """Links of one moment of the catalogue, each resolved to the document closest in name of those that are seen."""

    def __init__(self, view: SqliteView, seen: Condition = ANY) -> None:
        self._view, self._seen = view, seen
        self._edges: dict[DocId, Sequence[Edge] | None] = {}
        self._degrees: dict[DocId, int] = {}

    def first_chunks(self, documents: Collection[DocId], condition: Condition) -> dict[DocId, ChunkId]:
        return self._view.first_chunks(documents, condition)

    def edges(self, documents: Collection[DocId]) -> dict[DocId, Sequence[Edge] | None]:
        known = {document: self._edges[document] for document in documents if document in self._edges}
        unknown = [document for document in documents if document not in known]
        if not unknown:
            return known
        read = self._read(unknown)
        if len(self._edges) > REMEMBERED:
            self._edges = {}
        self._edges.update(read)
        return known | read

    def degrees(self, documents: Collection[DocId]) -> dict[DocId, int]:
        """Nobody counts further than it takes to know that a document is a list of everything."""
        known = {document: self._degrees[document] for document in documents if document in self._degrees}
        unknown = [document for document in documents if document not in known]
        if not unknown:
            return known
        counted: dict[DocId, int] = dict(
            self._asked(
                "SELECT d.name, (SELECT count(*) FROM links l WHERE l.document = d.id) + (SELECT count(*) FROM"
                f" (SELECT 1 FROM names n JOIN links l ON l.key = n.key WHERE n.document = d.id AND l.document {_SEEN}"
                f" LIMIT {UNREADABLE + 1})) FROM json_each(?1) j JOIN documents d ON d.name = j.value",
                unknown,
            )
        )
        if len(self._degrees) > REMEMBERED:
            self._degrees = {}
        self._degrees.update(counted)
        return known | counted

    def _read(self, documents: Sequence[DocId]) -> dict[DocId, Sequence[Edge] | None]:
        readable = [name for name, links in self.degrees(documents).items() if links <= UNREADABLE]
        links = self._written(readable)
        resolve = Resolver(self._named({key for _, key, _ in links}))
        edges: dict[DocId, dict[Edge, None]] = {document: {} for document in readable}
        for source, key, type in links:
            target = resolve.closest(source, key)
            if target is None:
                continue
            edge = Edge(source, target, type)
            for end in (source, target):
                if end in edges:
                    edges[end][edge] = None
        return {name: tuple(sorted(edges[name])) if name in edges else None for name in documents}

    def _written(self, documents: Iterable[DocId]) -> list[tuple[DocId, str, str]]:
        """The links that leave or may reach these documents, as (from, key, type)."""
        here = list(documents)
        leaving = self._asked(
            "SELECT d.name, l.key, l.type FROM json_each(?1) j JOIN documents d ON d.name = j.value"
            f" JOIN links l ON l.document = d.id WHERE d.id {_SEEN}",
            here,
        )
        coming = self._asked(
            "SELECT s.name, l.key, l.type FROM json_each(?1) j JOIN documents d ON d.name = j.value"
            " JOIN names n ON n.document = d.id JOIN links l ON l.key = n.key JOIN documents s ON s.id = l.document"
            f" WHERE s.id {_SEEN}",
            here,
        )
        return list(dict.fromkeys(map(tuple, (*leaving, *coming))))

    def _named(self, keys: Iterable[str]) -> list[tuple[str, DocId, int]]:
        return self._asked(
            "SELECT n.key, d.name, n.rank FROM json_each(?1) j JOIN names n ON n.key = j.value"
            f" JOIN documents d ON d.id = n.document WHERE d.id {_SEEN}",
            sorted(keys),
        )

    def _asked(self, sql: str, values: Iterable[str]) -> list[Any]:
        return self._view._ask(sql, [json.dumps(list(values)), self._view._hidden(self._seen)])
