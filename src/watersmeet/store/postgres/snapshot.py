"""A snapshot of an index in PostgreSQL: a commit's number, and what every query wants to know, loaded in one call."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from watersmeet.core.errors import NoIndex
from watersmeet.core.index import CURRENT_TIERS, IndexedRoot, Statistics, Tier, Unseen
from watersmeet.core.model import ANY, ChunkId, Condition, Row
from watersmeet.core.visibility import AUDIENCE_GATE
from watersmeet.core.writing import Root
from watersmeet.store.local._audiences import audiences, former
from watersmeet.store.postgres.documents import DocumentReads
from watersmeet.store.postgres.entities import LiveEntities
from watersmeet.store.postgres.graph import LiveLinks
from watersmeet.store.postgres.rows import LIVE, Rows
from watersmeet.store.postgres.search import LiveVectors, LiveWords
from watersmeet.store.postgres.vectors import SPARSE_FIELD

if TYPE_CHECKING:
    from watersmeet.core.visibility import Audience
    from watersmeet.store.postgres.epochs import Epoch
    from watersmeet.store.postgres.generations import Generation
    from watersmeet.store.qdrant.points import Found, Qdrant

T = TypeVar("T")
MAX_ROWS = 50_000
"""Rows kept of one commit, so that ever new queries do not fill the memory."""
_SNAPSHOT = (
    "SELECT commit, epoch, points, words, next_row, (SELECT generation FROM index_head),"
    " (SELECT jsonb_object_agg(name, version) FROM states WHERE content IS NOT NULL) FROM head"
)
_DETAILS = (
    "SELECT (SELECT jsonb_object_agg(key, value) FROM facts),"
    " (SELECT jsonb_object_agg(name, metadata) FROM collections),"
    " (SELECT jsonb_agg(jsonb_build_array(number, labels)) FROM audiences),"
    " (SELECT jsonb_agg(jsonb_build_array(audience, kind, collection, documents, chunks, bytes)) FROM counts),"
    " (SELECT jsonb_agg(jsonb_build_array(key, value)) FROM gates WHERE documents > 0),"
    " (SELECT jsonb_agg(jsonb_build_array(store, audience, rows)) FROM embedded)"
)


class Counted(NamedTuple):
    """Live documents of one audience, kind and collection."""

    audience: int
    kind: str
    collection: str
    documents: int
    chunks: int
    bytes: int


class PostgresSnapshot(DocumentReads):
    """Used by one query at a time and shared by its threads. The index reuses it for later snapshots."""

    outdated = False

    def __init__(self, generation: Generation) -> None:
        self._generation = generation
        self.version: int = -1
        self.damaged: dict[str, None] = {}
        self.incomplete: dict[str, None] = {}
        self.states: dict[str, int] = {}
        """Versions of small state, as of this snapshot."""

    def renew(self, pin: int | None = None) -> bool:
        """Moves to the newest commit, in one call. False if another generation of the index is searched by now, unless
        this one is `pin`."""
        pool, self.incomplete = self._generation.reading, {}
        if self.version < 0:  # both at one moment
            ((*head, current, states, facts, collections, audiences, counts, gates, embedded),) = pool.ask(
                f"SELECT s.*, d.* FROM ({_SNAPSHOT}) s, ({_DETAILS}) d"
            )
        else:
            ((*head, current, states, facts, collections, audiences, counts, gates, embedded),) = pool.ask(
                f"SELECT s.*, d.* FROM ({_SNAPSHOT}) s LEFT JOIN LATERAL ({_DETAILS}) d ON s.commit <> %s",
                [self.version],
            )
        commit, epoch, points, words, next_row = head
        self.states = states or {}
        if self._generation.number not in (current, pin):
            return False
        if commit == self.version:
            if self.rows.count > MAX_ROWS:
                self.rows = Rows(pool, commit)
            return True
        self.version, self._epoch, self._points, self._next_row = commit, epoch, points, next_row
        self.words_store: str = words
        self._facts: dict[str, str] = facts or {}
        self.collections: dict[str, dict[str, str]] = collections or {}
        tiers = json.loads(self._facts.get(CURRENT_TIERS, "{}"))
        self._tiers = {name: Tier(**one) for name, one in tiers.items()}
        self._audiences = {0: frozenset[str](), **{number: frozenset(labels) for number, labels in audiences or ()}}
        self._counts = [Counted(*one) for one in counts or ()]
        self._embedded = {(store, audience): rows for store, audience, rows in embedded or ()}
        self._gates: dict[str, set[str]] = {}
        for key, value in gates or ():
            self._gates.setdefault(key, set()).add(value)
        self.rows = Rows(pool, commit)
        self.holders: dict[int, dict[ChunkId, float]] = {}
        self.damaged = {}
        return True

    def of(self, generation: Generation | None) -> bool:
        return self._generation is generation

    # ------------------------------------------------------------ calls

    def ask(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        return self._generation.reading.ask(sql, values)

    def search(self, store: str, queries: Sequence[Mapping[str, Any]]) -> list[Found]:
        return self.qdrant.search(f"{self._points}-{store}", queries)

    @property
    def qdrant(self) -> Qdrant:
        return self._generation.qdrant

    def beside(self, work: Callable[[], T]) -> Callable[[], T]:
        """Runs something in another thread; call the returned function for its result."""
        return self._generation.threads.submit(work).result

    @property
    def epoch(self) -> Epoch:
        return self._generation.epoch(self._epoch)

    def row_numbers(self, ids: Collection[ChunkId]) -> dict[ChunkId, Row]:
        """The live row of each of these chunks that exists."""
        return {chunk: Row(row.row) for chunk, row in self.rows.by_id(ids).items()}

    # ------------------------------------------------------------ who sees what

    def audiences(self, visible: Condition) -> list[int]:
        """The audiences whose documents are visible; 0 is everyone."""
        allowed = visible.gates.get(AUDIENCE_GATE)
        low = None if allowed is None else {value.casefold() for value in allowed}
        return [n for n, labels in self._audiences.items() if not n or low is None or labels & low]

    def needed(self, gates: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        def shut(key: str, allowed: tuple[str, ...]) -> bool:
            if key == AUDIENCE_GATE:
                hidden = {*self._audiences}.difference(self.audiences(Condition(gates={key: allowed})))
                return any(one.audience in hidden and one.documents for one in self._counts)
            return not {value.casefold() for value in allowed}.issuperset(self._gates.get(key, ()))

        return {key: allowed for key, allowed in gates.items() if shut(key, allowed)}

    def _counted(self, visible: Condition) -> list[Counted]:
        """The counts of what is visible: kept ones, unless the condition has more than the audience gate."""
        if visible.has_filters or any(key != AUDIENCE_GATE for key in visible.gates):
            where, values = self.where(visible)
            found = self.ask(
                "SELECT d.kind, d.collection, count(*), coalesce(sum(d.chunks), 0)::bigint,"
                f" coalesce(sum(d.bytes), 0)::bigint FROM documents d WHERE {where} GROUP BY 1, 2",
                values,
            )
            return [Counted(0, *one) for one in found]
        seen = {*self.audiences(visible)}
        return [one for one in self._counts if one.audience in seen and one.documents]

    # ------------------------------------------------------------ what it gives

    @property
    def generation(self) -> str:
        return f"{self._generation.schema}-{self.words_store}"

    def facts(self) -> Mapping[str, str]:
        return self._facts

    def tiers(self) -> Mapping[str, Tier]:
        return self._tiers

    def words(self, visible: Condition) -> LiveWords | None:
        return LiveWords(self, visible) if self.version else None

    def vectors(self, tier: Tier, visible: Condition) -> LiveVectors:
        return LiveVectors(self, tier, visible)

    def links(self, visible: Condition) -> LiveLinks:
        return LiveLinks(self, visible)

    def entities(self, visible: Condition) -> LiveEntities:
        if not self.version:
            raise NoIndex("nothing was ever put into the index", "fill it with `watersmeet register FILE`")
        return LiveEntities(self, visible)

    def kinds(self, visible: Condition = ANY) -> Mapping[str, int]:
        return self.statistics(visible).kinds

    def statistics(self, visible: Condition = ANY) -> Statistics:
        counted = self._counted(visible)
        kinds = _sums((one.kind, one.documents) for one in counted)
        collections = dict.fromkeys(sorted(self.collections), 0)
        collections |= _sums((one.collection, one.documents) for one in counted)
        dead = self.ask("SELECT count(*) FROM chunks WHERE died IS NOT NULL") if not visible else [(0,)]
        return Statistics(
            sum(one.documents for one in counted),
            sum(one.chunks for one in counted),
            dead[0][0],
            kinds=kinds,
            collections=dict(sorted(collections.items())),
            roots=[path for (path,) in self.ask("SELECT path FROM roots ORDER BY id")],
        )

    def indexed_roots(self, visible: Condition = ANY) -> list[IndexedRoot]:
        where, values = self.where(visible)
        found = self.ask(
            "SELECT r.id, r.path, r.name, r.collection, r.prefix, r.kind, r.cursor, coalesce(k.name, ''),"
            " (SELECT count(*)"
            f" FROM files f JOIN documents d ON d.file = f.id WHERE f.root = r.id AND {where})"
            " FROM roots r LEFT JOIN collections k ON k.id = r.collection ORDER BY r.id",
            values,
        )
        return [IndexedRoot(Root(*root), collection, documents) for *root, collection, documents in found]

    def collection_audiences(self) -> Mapping[str, Audience]:
        return audiences(self._facts)

    def former_collections(self) -> Mapping[str, str]:
        named = former(self._facts)
        found = self.ask("SELECT path, name FROM former_roots") if named else []
        return {path: named[name] for path, name in found if name in named}

    def text_bytes(self, visible: Condition = ANY) -> int:
        return sum(one.bytes for one in self._counted(visible))

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
        return int(self._next_row) - 1

    def added_since(self, row: int, visible: Condition = ANY) -> int:
        if row >= self.last_row():
            return 0
        where, values = self.where(visible)
        sql = (
            "SELECT count(*) FROM chunks c JOIN documents d ON d.key = c.document"
            f" WHERE {LIVE.format('c')} AND c.row > %s AND {where}"
        )
        return int(self.ask(sql, [self.version, self.version, row, *values])[0][0])

    def coverage(self, tier: Tier, visible: Condition = ANY) -> float:
        audiences = {*self.audiences(visible)}
        chunks = sum(one.chunks for one in self._counts if one.audience in audiences)
        embedded = sum(self._embedded.get((tier.folder, audience), 0) for audience in audiences)
        return embedded / chunks if chunks else 1.0

    def embedded(self, tier: Tier) -> int:
        """How many live rows have a vector of a tier."""
        return int(sum(rows for (store, _), rows in self._embedded.items() if store == tier.folder))

    def left(self, tier: Tier, after: int = 0) -> int:
        if not after:
            chunks = sum(one.chunks for one in self._counts)
            return chunks - self.embedded(tier)
        return len(self._missing(tier, 1 << 30, (), after))

    def unseen(self, tier: Tier, limit: int, first: Sequence[ChunkId] = (), after: int = 0) -> list[Unseen]:
        found = self._missing(tier, limit, first, after)
        return [Unseen(Row(row), title, tuple(headings), text) for row, title, headings, text in found]

    def _missing(self, tier: Tier, limit: int, first: Sequence[ChunkId], after: int) -> list[Any]:
        order = "array_position(%s::text[], c.id), c.row" if first else "c.row"
        return self.ask(
            "SELECT c.row, d.title, c.headings, c.text FROM chunks c JOIN documents d ON d.key = c.document"
            f" WHERE {LIVE.format('c')} AND c.row > %s AND NOT EXISTS (SELECT 1 FROM vectors v WHERE v.store = %s"
            f" AND v.row = c.row AND v.born <= %s) ORDER BY {order} LIMIT %s",
            [self.version, self.version, after, tier.folder, self.version, *([list(first)] if first else ()), limit],
        )

    def weighted(
        self, tier: Tier, visible: Condition, terms: Collection[int]
    ) -> tuple[int, list[tuple[int, int, int]]]:
        """How many rows have weighted terms, and of these terms each that is known, with its number and how many rows
        have it: of those that are seen."""
        audiences = self.audiences(visible)
        size = sum(self._embedded.get((tier.folder, audience), 0) for audience in audiences)
        found = self.ask(
            "SELECT t.text, t.number, coalesce(sum(w.rows), 0)::bigint FROM terms t LEFT JOIN weighted w"
            " ON w.term = t.number AND w.store = %s AND w.audience = ANY(%s) WHERE t.field = %s AND t.text = ANY(%s)"
            " GROUP BY t.number",
            [tier.folder, audiences, SPARSE_FIELD, [str(term) for term in terms]],
        )
        return size, [(int(term), number, count) for term, number, count in found]


def _sums(counted: Iterable[tuple[str, int]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for key, number in counted:
        found[key] = found.get(key, 0) + number
    return dict(sorted(found.items()))
