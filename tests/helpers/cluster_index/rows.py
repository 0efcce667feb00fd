"""What is known of rows in one moment: a row is looked up once, with all that a query may want of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from cluster_index.postgres import Postgres
from watersmeet.core.model import ChunkId, Condition, DocId, Passage
from watersmeet.core.place import Place
from watersmeet.testing.conditions import Facts, satisfies

LIVE = "{0}.born <= %s AND ({0}.died IS NULL OR {0}.died > %s)"
"""Whether a version of something lives at a commit, which is given twice."""


class Known(NamedTuple):
    """A live row. `first` is the first chunk of its document, `server` whose tool it is."""

    row: int
    passage: Passage
    ordinal: int
    owner: int
    collection: str
    facets: frozenset[tuple[str, str]]
    called: frozenset[str]
    known_for: frozenset[str]
    first: ChunkId
    server: DocId | None

    def satisfies(self, condition: Condition, collections: Mapping[str, Mapping[str, str]]) -> bool:
        of, metadata = self.passage, collections.get(self.collection, {})
        return satisfies(Facts(of.document, of.kind, self.collection, metadata, self.facets, of.modified), condition)


_SELECT = (
    "SELECT c.row, c.id, c.ordinal, c.headings, c.place, c.text, d.key, d.name, d.kind, d.title, d.path,"
    " d.modified, d.created, d.collection, d.facets, d.called, d.known, d.first_chunk, d.fields ->> 'server'"
    f" FROM chunks c JOIN documents d ON d.key = c.document WHERE {LIVE.format('c')} AND "
)


class Rows:
    """Of one commit. Threads may look up the same rows at once; none sees what another has only begun to."""

    def __init__(self, postgres: Postgres, commit: int) -> None:
        self._postgres, self._commit = postgres, commit
        self._by_row: dict[int, Known | None] = {}
        self._by_id: dict[ChunkId, Known | None] = {}

    def of(self, rows: Collection[int]) -> dict[int, Known]:
        """Those of the rows that are live."""
        unknown = [row for row in rows if row not in self._by_row]
        if unknown:
            found = {known.row for known in self.learn("c.row = ANY(%s)", [unknown])}
            self._by_row.update((row, None) for row in unknown if row not in found)
        return {row: known for row in rows if (known := self._by_row[row])}

    def called(self, ids: Collection[ChunkId]) -> dict[ChunkId, Known]:
        """The rows of those of these chunks that there are."""
        unknown = [chunk for chunk in ids if chunk not in self._by_id]
        if unknown:
            found = {known.passage.id for known in self.learn("c.id = ANY(%s)", [unknown])}
            self._by_id.update((chunk, None) for chunk in unknown if chunk not in found)
        return {chunk: known for chunk in ids if (known := self._by_id[chunk])}

    def met(self) -> list[Known]:
        """All that are known."""
        return [known for known in list(self._by_row.values()) if known]

    def learn(self, where: str, values: list[Any], order: str = "c.row") -> list[Known]:
        """Live rows by any condition on chunks `c` and documents `d`, in an order."""
        found = self._postgres.ask(f"{_SELECT}{where} ORDER BY {order}", [self._commit, self._commit, *values])
        made = [_known(line) for line in found]
        self._by_row.update((known.row, known) for known in made)
        self._by_id.update((known.passage.id, known) for known in made)
        return made


def _known(line: Sequence[Any]) -> Known:
    row, chunk, ordinal, headings, place, text, key, name, kind, title, path, *rest = line
    modified, created, collection, facets, called, known, first, server = rest
    spans: dict[str, Any] = {part: tuple(span) if isinstance(span, list) else span for part, span in place.items()}
    where = (modified, tuple(headings), Place(**spans), text, created)
    return Known(
        row,
        Passage(ChunkId(chunk), DocId(name), kind, title, path, *where),
        ordinal,
        key,
        collection,
        frozenset((facet, value) for facet, value in facets),
        frozenset(called),
        frozenset(known),
        ChunkId(first),
        DocId(server) if server else None,
    )
