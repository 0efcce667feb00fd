"""One commit's changes to the tables, inside its transaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from watersmeet.core.indexing import Found
from watersmeet.core.model import DocId
from watersmeet.core.place import Place
from watersmeet.core.writing import Put
from watersmeet.store.postgres.pool import copy
from watersmeet.store.postgres.vectors import count_vectors
from watersmeet.store.postgres.versions import DocumentVersion, as_json, insert, number_audiences

if TYPE_CHECKING:
    from watersmeet.store.postgres.pool import Db

Counted = Counter[tuple[int, str, str, str]]
"""By audience, kind and collection: documents, chunks and bytes, by name."""


def refused_of(db: Db, puts: Sequence[Put], giving: Collection[int] | None) -> set[DocId]:
    """Those whose ids belong to a document of another root, or of the registry, by now; or to another file of the same
    root, unless that is one of `giving`, or that is None."""
    sql = (
        "SELECT d.name, d.file, f.root, f.name FROM documents d LEFT JOIN files f ON f.id = d.file"
        " WHERE d.died IS NULL AND d.name = ANY(%s)"
    )
    owners = {name: owner for name, *owner in db.execute(sql, [[put.document.id for put in puts]])}
    found = [(put, *owners[put.document.id]) for put in puts if put.document.id in owners]
    return {
        put.document.id
        for put, file, root, name in found
        if _is_other(put, file, root) or (giving is not None and (root, name) != put.file and file not in giving)
    }


def _is_other(put: Put, file: int | None, root: int | None) -> bool:
    if put.file is None:
        return file is not None
    return file is None or root not in (None, put.file[0])


class Commit:
    """The changes of the commit `number`, by the writer with this fence."""

    def __init__(self, db: Db, number: int, fence: int) -> None:
        self._db, self._number, self._fence = db, number, fence

    # ------------------------------------------------------------ files

    def note_file(self, root: int, found: Found, hash: bytes, read_at: int, since: int) -> None:
        """Record a file as read, unless another writer wants it read again since this one listed it."""
        self._db.execute(
            "INSERT INTO files AS f (root, name, stamp, hash, seen) VALUES (%s, %s, %s, %s, %s)"
            " ON CONFLICT (root, name) DO UPDATE SET stamp = excluded.stamp, hash = excluded.hash, seen = excluded.seen"
            " WHERE f.seen >= %s",
            [root, found.name, found.stamp, hash, read_at, -since],
        )

    def read_again(self, which: str, values: Sequence[Any]) -> None:
        self._db.execute(f"UPDATE files SET stamp = '', hash = '', seen = {-self._fence} WHERE {which}", values)

    def place(self, document: DocId, places: Sequence[Place]) -> None:
        """New places of chunks, which are in no point: their rows stay."""
        sql = (
            "UPDATE chunks c SET place = n.place::json"
            " FROM documents d, unnest(%s::text[]) WITH ORDINALITY n (place, at)"
            " WHERE d.key = c.document AND d.died IS NULL AND d.name = %s AND c.ordinal = n.at - 1"
            " AND c.place::text <> n.place"
        )
        self._db.execute(sql, [[as_json(asdict(one)) for one in places], document])

    # ------------------------------------------------------------ documents

    def swap(self, versions: Sequence[DocumentVersion], removed: Collection[str]) -> None:
        """Bury the old versions and store the new ones; the last one of a name counts."""
        last = {version.name: version for version in versions}
        gone = {name for version in versions for name in version.replaces} | {*removed}
        counts: Counted = Counter()
        gates: Counter[tuple[str, str]] = Counter()
        vectors = self._bury(gone, counts, gates)
        kept = list(last.values())
        number_audiences(self._db, kept)
        self._find_files(kept)
        insert(self._db, kept, self._number)
        for one in kept:
            _count(counts, (one.audience, one.kind, one.collection), 1, len(one.chunks), one.bytes)
            gates.update(one.gates)
        self._take_over(kept, vectors)
        self._save(counts, gates)
        new = sum(len(one.chunks) for one in kept)
        self._db.execute("UPDATE head SET changed = changed + %s", [max(new, len(vectors.rows))])

    def _bury(self, names: Collection[str], counts: Counted, gates: Counter[tuple[str, str]]) -> Buried:
        db, found = self._db, Buried()
        sql = (
            "UPDATE documents SET died = %s WHERE died IS NULL AND name = ANY(%s)"
            " RETURNING key, audience, kind, collection, chunks, bytes, facets"
        )
        keys = []
        for key, audience, kind, collection, chunks, size, facets in db.execute(sql, [self._number, list(names)]):
            keys.append(key)
            _count(counts, (audience, kind, collection), -1, -chunks, -size)
            gates.subtract({(k, value) for k, value in facets if k.startswith("@") and k != "@audience"})
        sql = "UPDATE chunks SET died = %s WHERE died IS NULL AND document = ANY(%s) RETURNING row"
        found.rows = [row for (row,) in db.execute(sql, [self._number, keys])]
        found.stores = dict(db.execute("SELECT name, dimension FROM stores").fetchall())
        sql = "SELECT store, row, vector FROM vectors WHERE row = ANY(%s)"
        for store, row, vector in db.execute(sql, [found.rows]):
            found.vectors.setdefault(store, {})[row] = bytes(vector)
        for store, kept in found.vectors.items():
            count_vectors(db, store, found.stores[store], list(kept.items()), -1)
        return found

    def _take_over(self, versions: Sequence[DocumentVersion], buried: Buried) -> None:
        """The vectors whose points were written with the new rows; others may have been noted since."""
        chunks = [chunk for one in versions for chunk in one.chunks]
        for store, kept in buried.vectors.items():
            before = {chunk.before: chunk.row for chunk in chunks if store in chunk.stores}
            new = [(before[row], vector) for row, vector in kept.items() if row in before]
            lines = [(store, row, vector, self._number) for row, vector in new]
            copy(self._db, "vectors", "store, row, vector, born", lines)
            count_vectors(self._db, store, buried.stores[store], new, 1)

    def _find_files(self, versions: Sequence[DocumentVersion]) -> None:
        """The numbers of files: noted with their first document, and as read only after the last."""
        named = sorted({one.file for one in versions if one.file})
        if not named:
            return
        roots, names = [root for root, _ in named], [name for _, name in named]
        given = "unnest(%s::int[], %s::text[])"
        self._db.execute(
            f"INSERT INTO files (root, name, stamp, hash, seen) SELECT r, n, '', '', 0 FROM {given} g (r, n)"
            " ON CONFLICT DO NOTHING",
            [roots, names],
        )
        sql = f"SELECT f.root, f.name, f.id FROM files f JOIN {given} g (root, name) USING (root, name)"
        found = {(root, name): key for root, name, key in self._db.execute(sql, [roots, names])}
        for one in versions:
            if one.file:
                one.file_id = found[one.file]

    def _save(self, counts: Counted, gates: Counter[tuple[str, str]]) -> None:
        for audience, kind, collection in sorted({key[:3] for key in counts}):
            values = [counts[audience, kind, collection, name] for name in ("documents", "chunks", "bytes")]
            self._db.execute(
                "INSERT INTO counts AS c VALUES (%s, %s, %s, %s, %s, %s) ON CONFLICT (audience, kind, collection)"
                " DO UPDATE SET documents = c.documents + excluded.documents, chunks = c.chunks + excluded.chunks,"
                " bytes = c.bytes + excluded.bytes",
                [audience, kind, collection, *values],
            )
        for (key, value), documents in sorted(gates.items()):
            self._db.execute(
                "INSERT INTO gates AS g VALUES (%s, %s, %s) ON CONFLICT (key, value) DO UPDATE"
                " SET documents = g.documents + excluded.documents",
                [key, value, documents],
            )


class Buried:
    """Rows that died with a commit, and their vectors by store."""

    def __init__(self) -> None:
        self.rows: list[int] = []
        self.vectors: dict[str, dict[int, bytes]] = {}
        self.stores: dict[str, int] = {}


def _count(counts: Counted, of: tuple[int, str, str], documents: int, chunks: int, size: int) -> None:
    counts.update({(*of, "documents"): documents, (*of, "chunks"): chunks, (*of, "bytes"): size})
