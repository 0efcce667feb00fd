"""A row cache of one snapshot: each row is loaded once, with all columns that a query may need."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from datetime import datetime
from functools import cached_property
from typing import Any, NamedTuple

from watersmeet.common.conditions import Facts, satisfies
from watersmeet.core.model import ChunkId, Condition, DocId, Passage
from watersmeet.core.place import Place
from watersmeet.store.postgres.pool import Pool

LIVE = "{0}.born <= %s AND ({0}.died IS NULL OR {0}.died > %s)"
"""The clause that a version is live at a commit, which is bound twice."""


class _Line(NamedTuple):
    """What PostgreSQL answers of a row. JSON comes as text: most rows are candidates whose place nobody asks for."""

    row: int
    id: ChunkId
    ordinal: int
    headings: str
    place: str
    text: str
    owner: int
    document: DocId
    kind: str
    title: str
    path: str
    modified: datetime | None
    created: str
    collection: str
    facets_json: str
    name_words: list[str]
    words_only: list[str]
    aliases: list[str]
    first: ChunkId
    server: DocId | None


class LiveRow(_Line):
    """A live row. `first`: the first chunk of its document; `server`: the owner of a tool."""

    @cached_property
    def passage(self) -> Passage:
        place = json.loads(self.place)
        spans: dict[str, Any] = {part: tuple(span) if isinstance(span, list) else span for part, span in place.items()}
        where = (self.modified, tuple(json.loads(self.headings)), Place(**spans), self.text, self.created)
        return Passage(self.id, self.document, self.kind, self.title, self.path, *where)

    @cached_property
    def _facets(self) -> frozenset[tuple[str, str]]:
        return frozenset((facet, value) for facet, value in json.loads(self.facets_json))

    def satisfies(self, condition: Condition, collections: Mapping[str, Mapping[str, str]]) -> bool:
        if not condition:
            return True
        metadata = collections.get(self.collection, {})
        return satisfies(
            Facts(self.document, self.kind, self.collection, metadata, self._facets, self.modified), condition
        )


_SELECT = (
    "SELECT c.row, c.id, c.ordinal, c.headings::text, c.place::text, c.text, d.key, d.name, d.kind, d.title, d.path,"
    " d.modified, d.created, d.collection, d.facets::text, d.called, d.known,"
    " d.aliases, d.first_chunk, CASE d.kind WHEN 'tool' THEN d.fields ->> 'server' END"
    f" FROM chunks c JOIN documents d ON d.key = c.document WHERE {LIVE.format('c')} AND "
)


class Rows:
    """Rows of one commit. Threads may load the same rows at once; none sees partial results of another."""

    def __init__(self, pool: Pool, commit: int) -> None:
        self._pool, self._commit = pool, commit
        self._by_row: dict[int, LiveRow | None] = {}
        self._by_id: dict[ChunkId, LiveRow | None] = {}
        self._by_document: dict[DocId, LiveRow] = {}

    @property
    def count(self) -> int:
        return len(self._by_row)

    def of(self, rows: Collection[int]) -> dict[int, LiveRow]:
        """Those of these rows that are live."""
        missing = [row for row in rows if row not in self._by_row]
        if missing:
            found = {live_row.row for live_row in self.learn("c.row = ANY(%s)", [missing])}
            self._by_row.update((row, None) for row in missing if row not in found)
        return {row: live_row for row in rows if (live_row := self._by_row[row])}

    def by_id(self, ids: Collection[ChunkId]) -> dict[ChunkId, LiveRow]:
        """The rows of those of these chunks that exist."""
        missing = [chunk for chunk in ids if chunk not in self._by_id]
        if missing:
            found = {live_row.id for live_row in self.learn("c.id = ANY(%s)", [missing])}
            self._by_id.update((chunk, None) for chunk in missing if chunk not in found)
        return {chunk: live_row for chunk in ids if (live_row := self._by_id[chunk])}

    def of_document(self, document: DocId) -> LiveRow | None:
        """A row of a document, if one is loaded."""
        return self._by_document.get(document)

    def learn(self, where: str, values: list[Any], order: str = "c.row") -> list[LiveRow]:
        """Live rows by any condition on chunks `c` and documents `d`, in an order."""
        found = self._pool.ask(f"{_SELECT}{where} ORDER BY {order}", [self._commit, self._commit, *values])
        found_rows = [LiveRow(*line) for line in found]
        self._by_row.update((live_row.row, live_row) for live_row in found_rows)
        self._by_id.update((live_row.id, live_row) for live_row in found_rows)
        self._by_document.update((live_row.document, live_row) for live_row in found_rows)
        return found_rows
