"""The stores of vectors, as `deepen` fills them: kept in PostgreSQL, searched in Qdrant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from watersmeet.core.index import Tier
from watersmeet.core.model import Row
from watersmeet.core.sparse import Weighted
from watersmeet.store.postgres.pool import copy
from watersmeet.store.postgres.versions import number_terms
from watersmeet.store.qdrant.points import FILTERS, MODIFIED, Point

if TYPE_CHECKING:
    from watersmeet.store.postgres.claims import Claims
    from watersmeet.store.postgres.generations import Generation
    from watersmeet.store.postgres.pool import Db


SPARSE_FIELD = -1
"""The field, in `terms`, of what a sparse encoder makes. Such a term may be a hash of 63 bits, a dimension of Qdrant
has 32, so it gets a number."""


def numbered(db: Db, made: Sequence[Weighted]) -> list[Weighted]:
    """Weighted terms, with the numbers of the terms."""
    import numpy as np

    distinct = np.unique(np.concatenate([one.terms for one in made]))
    keys = [(SPARSE_FIELD, str(term)) for term in distinct.tolist()]
    known: dict[tuple[int, str], int] = {}
    number_terms(db, keys, known)
    numbers = np.array([known[key] for key in keys], dtype=np.int64)
    return [one._replace(terms=numbers[np.searchsorted(distinct, one.terms)]) for one in made]


def packed(made: Any) -> bytes:
    """A vector as it is kept, in half precision, as in a folder; of weighted terms their numbers and weights."""
    import numpy as np

    if isinstance(made, Weighted):
        terms = np.asarray(made.terms, dtype="<u4").tobytes()
        return terms + np.asarray(made.weights, dtype="<f2").tobytes()
    return np.asarray(made, dtype="<f2").tobytes()


def unpacked(kept: bytes, dimension: int) -> Any:
    """As it is written to a point; None if it points nowhere."""
    import numpy as np

    if dimension:
        vector = np.frombuffer(kept, dtype="<f2").astype(np.float32)
        return vector if vector.any() else None
    count = len(kept) // 6
    terms = np.frombuffer(kept, dtype="<u4", count=count)
    return (terms, np.frombuffer(kept, dtype="<f2", offset=4 * count).astype(np.float32)) if count else None


def store_points(
    kept: Sequence[tuple[int, bytes]], dimension: int, payloads: Mapping[int, Mapping[str, Any]]
) -> list[Point]:
    made = [(row, unpacked(bytes(content), dimension)) for row, content in kept]
    return [Point(row, vector, payloads[row]) for row, vector in made if vector is not None]


def live_payloads(db: Db, rows: Collection[int]) -> dict[int, tuple[int, dict[str, Any]]]:
    """Audience and payload of those of these rows that are live."""
    found = db.execute(
        "SELECT c.row, d.audience, d.filters, d.modified FROM chunks c JOIN documents d ON d.key = c.document"
        " WHERE c.died IS NULL AND c.row = ANY(%s)",
        [list(rows)],
    )
    return {
        row: (audience, {FILTERS: filters, **({MODIFIED: modified.timestamp()} if modified else {})})
        for row, audience, filters, modified in found
    }


def count_vectors(db: Db, store: str, dimension: int, kept: Sequence[tuple[int, bytes]], sign: int) -> None:
    """Count rows with their vectors in or out. `kept`: rows and vectors, all of which are there."""
    payloads = db.execute(
        "SELECT c.row, d.audience FROM chunks c JOIN documents d ON d.key = c.document WHERE c.row = ANY(%s)",
        [[row for row, _ in kept]],
    )
    audiences = dict(payloads.fetchall())
    rows = Counter(audiences[row] for row, _ in kept)
    for audience, count in sorted(rows.items()):
        db.execute(
            "INSERT INTO embedded AS e VALUES (%s, %s, %s) ON CONFLICT (store, audience) DO UPDATE"
            " SET rows = e.rows + excluded.rows",
            [store, audience, sign * count],
        )
    if dimension:
        return
    terms: Counter[tuple[int, int]] = Counter()
    for row, content in kept:
        if (made := unpacked(bytes(content), 0)) is not None:
            terms.update((int(term), audiences[row]) for term in made[0].tolist())
    if terms:
        numbers, of = [term for term, _ in sorted(terms)], [audience for _, audience in sorted(terms)]
        db.execute(
            "INSERT INTO weighted AS w SELECT %s, * FROM unnest(%s::bigint[], %s::int[], %s::bigint[])"
            " ON CONFLICT (store, term, audience) DO UPDATE SET rows = w.rows + excluded.rows",
            [store, numbers, of, [sign * terms[one] for one in sorted(terms)]],
        )


class PostgresVectorStore:
    """The vectors of one tier."""

    def __init__(self, generation: Generation, points: str, tier: Tier) -> None:
        self.generation, self.tier, self.folder = generation, tier, tier.folder
        self.collection = generation.collection(points, tier.folder)
        self.claims: Claims | None = None
        """If set, only vectors of rows that this process has claimed are taken."""

    def reader(self) -> PostgresVectorReader:
        return PostgresVectorReader(self)

    def writer(self) -> PostgresVectorWriter:
        return PostgresVectorWriter(self)

    def verify(self) -> None:
        """Every write was acknowledged by both servers, which have check sums of their own."""

    def close(self) -> None:
        """The connections are the index's."""


class PostgresVectorReader:
    def __init__(self, store: PostgresVectorStore) -> None:
        self._store = store

    @property
    def size(self) -> int:
        """The number of rows that can be found: none by weighted terms of an earlier version, which have no numbers."""
        sql = "SELECT coalesce(sum(rows), 0) FROM embedded WHERE store = %s"
        if not self._store.tier.dimension:
            sql += f" AND EXISTS (SELECT 1 FROM terms WHERE field = {SPARSE_FIELD})"
        return int(self._store.generation.reading.ask(sql, [self._store.folder])[0][0])

    def rows(self) -> Any:
        import numpy as np

        live = "JOIN chunks c ON c.row = v.row WHERE v.store = %s AND c.died IS NULL"
        sql = f"SELECT v.row FROM vectors v {live} ORDER BY 1"
        found = self._store.generation.reading.ask(sql, [self._store.folder])
        return np.array([row for (row,) in found], dtype=np.int64)


class PostgresVectorWriter:
    """Adds vectors of live rows: points first, then the rows that have them, in one transaction."""

    def __init__(self, store: PostgresVectorStore) -> None:
        self._store, self._added = store, dict[int, Any]()

    def add(self, rows: Sequence[Row], vectors: Any) -> None:
        self._added.update(zip(map(int, rows), vectors, strict=True))

    def drop(self, rows: Collection[Row]) -> None:
        """Dead rows are buried by the writer, in all stores at once."""

    def commit(self) -> None:
        added, self._added = self._added, {}
        store, generation = self._store, self._store.generation
        dimension = store.tier.dimension
        generation.qdrant.make(store.collection, dimension)
        with generation.writing.connection() as db:
            if added and not dimension:
                added = dict(zip(added, numbered(db, list(added.values())), strict=True))
            payloads = {row: payload for row, (_, payload) in live_payloads(db, added).items()}
        kept = [(row, packed(made)) for row, made in added.items() if row in payloads]
        generation.qdrant.put(store.collection, store_points(kept, dimension, payloads))
        with generation.writing.transaction() as db:
            if store.claims is not None:
                mine = store.claims.use(db, [row for row, _ in kept])
                kept = [(row, content) for row, content in kept if row in mine]
            note_vectors(db, store.folder, dimension, kept)


def note_vectors(db: Db, store: str, dimension: int, kept: Sequence[tuple[int, bytes]]) -> None:
    """Rows that have vectors in a store, those that died meanwhile left out."""
    db.execute("INSERT INTO stores VALUES (%s, %s) ON CONFLICT (name) DO NOTHING", [store, dimension])
    ((born,),) = db.execute("SELECT commit + 1 FROM head FOR UPDATE").fetchall()
    sql = "SELECT row FROM chunks WHERE died IS NULL AND row = ANY(%s)"
    live = {row for (row,) in db.execute(sql, [[row for row, _ in kept]])}
    known = dict(
        db.execute("SELECT row, vector FROM vectors WHERE store = %s AND row = ANY(%s)", [store, list(live)]).fetchall()
    )
    if known:
        count_vectors(db, store, dimension, list(known.items()), -1)
        db.execute("DELETE FROM vectors WHERE store = %s AND row = ANY(%s)", [store, list(known)])
    new = [(row, content) for row, content in kept if row in live]
    copy(db, "vectors", "store, row, vector, born", [(store, row, content, born) for row, content in new])
    count_vectors(db, store, dimension, new, 1)


__all__ = ["PostgresVectorStore", "count_vectors", "note_vectors", "packed", "store_points", "unpacked"]
