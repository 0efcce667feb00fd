"""A row cache of one snapshot: each row is loaded once, with all columns that a query may need."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from watersmeet.common.conditions import Facts, satisfies
from watersmeet.core.model import ChunkId, Condition, DocId, Passage
from watersmeet.core.place import Place
from watersmeet.store.postgres.pool import Pool

LIVE = "{0}.born <= %s AND ({0}.died IS NULL OR {0}.died > %s)"
"""The clause that a version is live at a commit, which is bound twice."""


class LiveRow(NamedTuple):
    """A live row. `first`: the first chunk of its document; `server`: the owner of a tool."""

    row: int
    passage: Passage
    ordinal: int
    owner: int
    collection: str
    facets: frozenset[tuple[str, str]]
    name_words: frozenset[str]
    words_only: frozenset[str]
    aliases: frozenset[str]
    first: ChunkId
    server: DocId | None

    def satisfies(self, condition: Condition, collections: Mapping[str, Mapping[str, str]]) -> bool:
        of, metadata = self.passage, collections.get(self.collection, {})
        return satisfies(Facts(of.document, of.kind, self.collection, metadata, self.facets, of.modified), condition)


_SELECT = (
    "SELECT c.row, c.id, c.ordinal, c.headings, c.place, c.text, d.key, d.name, d.kind, d.title, d.path,"
    " d.modified, d.created, d.collection, d.facets, d.called, d.known,"
    " d.aliases, d.first_chunk, CASE d.kind WHEN 'tool' THEN d.fields ->> 'server' END"
    f" FROM chunks c JOIN documents d ON d.key = c.document WHERE {LIVE.format('c')} AND "
)


class Rows:
    """Rows of one commit. Threads may load the same rows at once; none sees partial results of another."""

    def __init__(self, pool: Pool, commit: int) -> None:
        self._pool, self._commit = pool, commit
        self._by_row: dict[int, LiveRow | None] = {}
        self._by_id: dict[ChunkId, LiveRow | None] = {}

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
            found = {live_row.passage.id for live_row in self.learn("c.id = ANY(%s)", [missing])}
            self._by_id.update((chunk, None) for chunk in missing if chunk not in found)
        return {chunk: live_row for chunk in ids if (live_row := self._by_id[chunk])}

    def loaded(self) -> list[LiveRow]:
        """All loaded rows."""
        return [live_row for live_row in list(self._by_row.values()) if live_row]

    def learn(self, where: str, values: list[Any], order: str = "c.row") -> list[LiveRow]:
        """Live rows by any condition on chunks `c` and documents `d`, in an order."""
        found = self._pool.ask(f"{_SELECT}{where} ORDER BY {order}", [self._commit, self._commit, *values])
        found_rows = [_live_row(line) for line in found]
        self._by_row.update((live_row.row, live_row) for live_row in found_rows)
        self._by_id.update((live_row.passage.id, live_row) for live_row in found_rows)
        return found_rows


def _live_row(line: Sequence[Any]) -> LiveRow:
    row, chunk, ordinal, headings, place, text, key, name, kind, title, path, *rest = line
    modified, created, collection, facets, name_words, words_only, aliases, first, server = rest
    spans: dict[str, Any] = {part: tuple(span) if isinstance(span, list) else span for part, span in place.items()}
    where = (modified, tuple(headings), Place(**spans), text, created)
    return LiveRow(
        row,
        Passage(ChunkId(chunk), DocId(name), kind, title, path, *where),
        ordinal,
        key,
        collection,
        frozenset((facet, value) for facet, value in facets),
        frozenset(name_words),
        frozenset(words_only),
        frozenset(aliases),
        ChunkId(first),
        DocId(server) if server else None,
    )
