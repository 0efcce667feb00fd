"""The link graph between documents, read only around the documents of a query.

A query touches a few hundred documents of a graph that may have millions of links, so the whole graph is never loaded.
Links that were read are cached until something is committed.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from watersmeet.core.model import ANY, ChunkId, Condition, DocId
from watersmeet.core.ports import Edge
from watersmeet.store.local._links import Resolver
from watersmeet.store.local.documents import DocumentsView

MAX_LINKS = 1_000
"""A document with more links is a list of everything, and its links carry no meaning: they are not read."""

MAX_CACHED_DOCUMENTS = 50_000


class LiveLinks:
    """Links in a snapshot, each resolved to the visible document closest in name."""

    def __init__(self, snapshot: DocumentsView, visible: Condition = ANY) -> None:
        self._snapshot, self._visible = snapshot, visible
        self._version: object = None
        self._edges: dict[DocId, Sequence[Edge] | None] = {}
        self._degrees: dict[DocId, int] = {}

    def _renew(self) -> None:
        """Clears the caches if something was committed."""
        if self._version != self._snapshot.version:
            self._version, self._edges, self._degrees = self._snapshot.version, {}, {}

    def first_chunks(self, documents: Collection[DocId], condition: Condition) -> dict[DocId, ChunkId]:
        return self._snapshot.first_chunks(documents, condition)

    def edges(self, documents: Collection[DocId], *, whole: bool = False) -> dict[DocId, Sequence[Edge] | None]:
        if whole:
            return self._read(list(documents), list(documents))
        self._renew()
        if len(self._edges) > MAX_CACHED_DOCUMENTS:
            self._edges = {}
        cache = self._edges  # a late thread must not fill the next snapshot's cache
        cached = {document: cache[document] for document in documents if document in cache}
        missing = [document for document in documents if document not in cached]
        if not missing:
            return cached
        read = self._read(missing, [name for name, links in self.degrees(missing).items() if links <= MAX_LINKS])
        cache.update(read)
        return cached | read

    def degrees(self, documents: Collection[DocId]) -> dict[DocId, int]:
        """The number of links of each document, counted up to `MAX_LINKS` + 1."""
        self._renew()
        if len(self._degrees) > MAX_CACHED_DOCUMENTS:
            self._degrees = {}
        cache = self._degrees
        cached = {document: cache[document] for document in documents if document in cache}
        missing = [document for document in documents if document not in cached]
        if not missing:
            return cached
        must, values = self._snapshot.where(self._visible, "s")
        visible_sources = f" JOIN documents s ON s.id = l.document AND {must}" if must else ""
        counted: dict[DocId, int] = dict(
            self._snapshot.query(
                "SELECT d.name, (SELECT count(*) FROM links l WHERE l.document = d.id) + (SELECT count(*) FROM"
                f" (SELECT 1 FROM names n JOIN links l ON l.key = n.key{visible_sources} WHERE n.document = d.id"
                f" LIMIT {MAX_LINKS + 1})) FROM json_each(?) j JOIN documents d ON d.name = j.value",
                [*values, json.dumps(missing)],
            )
        )
        cache.update(counted)
        return cached | counted

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
        leaving = self._query_visible(
            "SELECT s.name, l.key, l.type FROM json_each(?) j JOIN documents s ON s.name = j.value"
            " JOIN links l ON l.document = s.id",
            here,
        )
        coming = self._query_visible(
            "SELECT s.name, l.key, l.type FROM json_each(?) j JOIN documents d ON d.name = j.value"
            " JOIN names n ON n.document = d.id JOIN links l ON l.key = n.key JOIN documents s ON s.id = l.document",
            here,
        )
        return list(dict.fromkeys(map(tuple, (*leaving, *coming))))

    def _named(self, keys: Iterable[str]) -> list[tuple[str, DocId, int]]:
        return self._query_visible(
            "SELECT n.key, s.name, n.rank FROM json_each(?) j JOIN names n ON n.key = j.value"
            " JOIN documents s ON s.id = n.document",
            sorted(keys),
        )

    def _query_visible(self, sql: str, values: Iterable[str]) -> list[Any]:
        """Runs a query restricted to visible documents `s`."""
        must, more = self._snapshot.where(self._visible, "s")
        return self._snapshot.query(f"{sql} WHERE {must or 'true'}", [json.dumps(list(values)), *more])
