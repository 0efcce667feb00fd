"""The links between documents, as graph signals read them: only those near the documents that matter to a query.

A query touches a few hundred documents of a graph that may have millions of links, so the whole is never loaded: what
was read is remembered for as long as the catalogue stays as it is.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from watersmeet.core.model import ChunkId, Condition, DocId
from watersmeet.core.ports import Edge
from watersmeet.store.view import SqliteView

UNREADABLE = 1_000
"""A document with more links than this is a list of everything: it says nothing of any of them."""

REMEMBERED = 50_000


class LiveLinks:
    """Links of one moment of the catalogue, each resolved to the document closest in name."""

    def __init__(self, view: SqliteView) -> None:
        self._view = view
        self._edges: dict[DocId, Sequence[Edge] | None] = {}
        self._degrees: dict[DocId, int] = {}

    def first_chunks(self, documents: Collection[DocId], condition: Condition) -> dict[DocId, ChunkId]:
        where, values = self._view._where(condition)
        found = self._view._ask(
            "SELECT d.name, c.id FROM json_each(?) j JOIN documents d ON d.name = j.value"
            " JOIN chunks c ON c.document = d.id AND c.ordinal = 0"
            f" {'WHERE ' + where if where else ''}",
            [json.dumps(list(documents)), *values],
        )
        return dict(found)

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
                " (SELECT 1 FROM names n JOIN links l ON l.key = n.key WHERE n.document = d.id"
                f" LIMIT {UNREADABLE + 1})) FROM json_each(?) j JOIN documents d ON d.name = j.value",
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
        resolve = _Resolver(self._named({key for _, key, _ in links}))
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
            "SELECT d.name, l.key, l.type FROM json_each(?) j JOIN documents d ON d.name = j.value"
            " JOIN links l ON l.document = d.id",
            here,
        )
        coming = self._asked(
            "SELECT s.name, l.key, l.type FROM json_each(?) j JOIN documents d ON d.name = j.value"
            " JOIN names n ON n.document = d.id JOIN links l ON l.key = n.key JOIN documents s ON s.id = l.document",
            here,
        )
        return list(dict.fromkeys(map(tuple, (*leaving, *coming))))

    def _named(self, keys: Iterable[str]) -> list[tuple[str, DocId, int]]:
        return self._asked(
            "SELECT n.key, d.name, n.rank FROM json_each(?) j JOIN names n ON n.key = j.value"
            " JOIN documents d ON d.id = n.document",
            sorted(keys),
        )

    def _asked(self, sql: str, values: Iterable[str]) -> list[Any]:
        return self._view._ask(sql, [json.dumps(list(values))])


class _Resolver:
    """Of several documents that a link may mean: the same folder, then the closest name, then the shortest path."""

    def __init__(self, named: Iterable[tuple[str, DocId, int]]) -> None:
        everywhere: defaultdict[str, list[tuple[int, int, DocId]]] = defaultdict(list)
        for key, document, rank in named:
            everywhere[key].append((rank, len(document), document))
        self._everywhere: dict[str, list[DocId]] = {}
        self._beside: defaultdict[tuple[str, str], list[DocId]] = defaultdict(list)
        for key, found in everywhere.items():
            self._everywhere[key] = [document for _, _, document in sorted(found)]
            for document in self._everywhere[key]:
                self._beside[key, document.rpartition("/")[0]].append(document)

    def closest(self, source: DocId, key: str) -> DocId | None:
        beside = self._beside.get((key, source.rpartition("/")[0]), ())
        for candidates in (beside, self._everywhere.get(key, ())):
            for document in candidates:
                if document != source:
                    return document
        return None
