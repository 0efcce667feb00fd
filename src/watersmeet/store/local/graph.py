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
from watersmeet.store.local.documents import DocumentsView

UNREADABLE = 1_000
"""A document with more links than this is a list of everything: it says nothing of any of them."""

REMEMBERED = 50_000


class LiveLinks:
    """Links of one moment of the catalogue, each resolved to the document closest in name of those that are seen."""

    def __init__(self, view: DocumentsView, seen: Condition = ANY) -> None:
        self._view, self._seen = view, seen
        self._version: object = None
        self._edges: dict[DocId, Sequence[Edge] | None] = {}
        self._degrees: dict[DocId, int] = {}

    def _renew(self) -> None:
        """What was read is true until something is committed."""
        if self._version != self._view.version:
            self._version, self._edges, self._degrees = self._view.version, {}, {}

    def first_chunks(self, documents: Collection[DocId], condition: Condition) -> dict[DocId, ChunkId]:
        return self._view.first_chunks(documents, condition)

    def edges(self, documents: Collection[DocId], *, whole: bool = False) -> dict[DocId, Sequence[Edge] | None]:
        if whole:
            return self._read(list(documents), list(documents))
        self._renew()
        if len(self._edges) > REMEMBERED:
            self._edges = {}
        held = self._edges  # what comes late is of the moment in which it began
        known = {document: held[document] for document in documents if document in held}
        unknown = [document for document in documents if document not in known]
        if not unknown:
            return known
        read = self._read(unknown, [name for name, links in self.degrees(unknown).items() if links <= UNREADABLE])
        held.update(read)
        return known | read

    def degrees(self, documents: Collection[DocId]) -> dict[DocId, int]:
        """Nobody counts further than it takes to know that a document is a list of everything."""
        self._renew()
        if len(self._degrees) > REMEMBERED:
            self._degrees = {}
        held = self._degrees
        known = {document: held[document] for document in documents if document in held}
        unknown = [document for document in documents if document not in known]
        if not unknown:
            return known
        must, values = self._view.where(self._seen, "s")
        seen = f" JOIN documents s ON s.id = l.document AND {must}" if must else ""
        counted: dict[DocId, int] = dict(
            self._view.query(
                "SELECT d.name, (SELECT count(*) FROM links l WHERE l.document = d.id) + (SELECT count(*) FROM"
                f" (SELECT 1 FROM names n JOIN links l ON l.key = n.key{seen} WHERE n.document = d.id"
                f" LIMIT {UNREADABLE + 1})) FROM json_each(?) j JOIN documents d ON d.name = j.value",
                [*values, json.dumps(unknown)],
            )
        )
        held.update(counted)
        return known | counted

    def _read(self, documents: Sequence[DocId], readable: Sequence[DocId]) -> dict[DocId, Sequence[Edge] | None]:
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
            "SELECT s.name, l.key, l.type FROM json_each(?) j JOIN documents s ON s.name = j.value"
            " JOIN links l ON l.document = s.id",
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
            "SELECT n.key, s.name, n.rank FROM json_each(?) j JOIN names n ON n.key = j.value"
            " JOIN documents s ON s.id = n.document",
            sorted(keys),
        )

    def _asked(self, sql: str, values: Iterable[str]) -> list[Any]:
        """Of the documents `s` only those that are seen."""
        must, more = self._view.where(self._seen, "s")
        return self._view.query(f"{sql} WHERE {must or 'true'}", [json.dumps(list(values)), *more])
