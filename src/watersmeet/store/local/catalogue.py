"""The catalogue: an SQLite database that alone decides which rows are live.

A writer reserves row numbers, appends to the other stores and commits them; then one transaction here swaps a
document's rows. A reader opens its transaction here first and filters what the other stores return.
"""

from __future__ import annotations

import json
import math
import os
import sqlite3
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import field
from datetime import datetime
from json.encoder import encode_basestring
from typing import Any
from zlib import crc32

from watersmeet.core.documents import Document
from watersmeet.core.errors import SourceProblem
from watersmeet.core.facets import facets_of
from watersmeet.core.files import make_private, refuse_read_only
from watersmeet.core.indexing import Found
from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.model import DocId, Row
from watersmeet.core.names import CREATED, is_text, link_key, names_of
from watersmeet.core.place import Place
from watersmeet.core.system import trimmed
from watersmeet.core.text_fields import Prepared
from watersmeet.core.visibility import Audience, is_restricted
from watersmeet.core.writing import Changes, FileState, Lease, Put, Root
from watersmeet.store.local import _audiences, _counts, _leases, _mentions, _private_words, _records
from watersmeet.store.local._checksums import (
    HASH,
    HEAD,
    checked_meta,
    fields_are_sound,
    head_is_sound,
    head_sum,
    moved,
    packed,
    place_sum,
    seal,
    seal_meta,
    text_sum,
)
from watersmeet.store.local._connect import FILE, connect, is_read_only, sqlite_errors
from watersmeet.store.local._counts import Counts
from watersmeet.store.local._paths import BASE, HERE, Paths, change_paths, home, paths_of, remembered, rewrite_paths
from watersmeet.store.local._place_columns import columns
from watersmeet.store.local._schema import FORMER_NAMES
from watersmeet.store.local._stored_text import stored_text
from watersmeet.store.local.roots import files_in, roots_in

HASHED = f"substr(hash, 1, {HASH})"
PAGE = 1000
"""Documents of a file read per query."""
AS_WRITTEN = "@said"
"""The field for aliases and tags with their original case; other tables have them in lower case."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A document to store, with the row of each of its chunks."""

    put: Put
    rows: tuple[Row, ...]
    words: Mapping[Row, _private_words.Words] = field(default_factory=dict)  # of new private rows


class Catalogue:
    """The catalogue opened for writing, by the holder of the writer lock. With a lease, it writes only under that."""

    lease: Lease | None = None

    def __init__(self, folder: str) -> None:
        make_private(folder)
        self.folder = folder
        self.path = os.path.join(folder, FILE)
        if os.path.exists(self.path) and is_read_only(folder):
            raise refuse_read_only(folder)
        self.db = connect(folder, create=True)
        self._fence_of_listing: dict[int, int] = {}  # the fence when the files of each root were listed
        self._leased: set[int] = set()  # roots being synced
        with ExitStack() as undo, sqlite_errors(self.path):
            undo.callback(self.db.close)
            self.paths = paths_of(folder, self.db)
            undo.pop_all()

    def close(self) -> None:
        self.db.close()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        with sqlite_errors(self.path):
            self.db.execute("BEGIN IMMEDIATE")
            with self.db:
                if self.lease is not None:
                    _leases.check(self.db, self.lease, self.folder)
                yield self.db

    def begin(self) -> None:
        """Takes the lease: the previous holder can no longer commit, and its unused reserved rows are dead."""
        with sqlite_errors(self.path):
            self.db.execute("BEGIN IMMEDIATE")
            with self.db:
                self.lease = _leases.take(self.db, _leases.WRITER, math.inf)
                _leases.reclaim(self.db)

    # ------------------------------------------------------------ facts about the index

    def meta(self) -> dict[str, str]:
        with sqlite_errors(self.path):
            return checked_meta(dict(self.db.execute("SELECT key, value FROM meta")), self.folder)

    def set_meta(self, values: Mapping[str, str]) -> None:
        with self.transaction() as db:
            db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", values.items())
            seal_meta(db)

    def note_vectors(self, facts: Mapping[str, str], store: str, rows: Collection[Row]) -> None:
        """Records that a vector store has these rows now. A new store is registered to get all live rows in time."""
        with self.transaction() as db:
            is_expected = store in _counts.stores(db)
            db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", facts.items())
            seal_meta(db)
            if not is_expected:
                _counts.expect(db, store)
            _counts.mark_embedded(db, store, rows)
            _counts.sweep(db)

    def expect_vectors(self, store: str, rows: Collection[Row]) -> None:
        """Registers a vector store that has these rows and is to get all."""
        with self.transaction() as db:
            _counts.expect(db, store)
            _counts.mark_embedded(db, store, rows)

    def settle(self) -> None:
        """Stores the base folder of paths. If the index was moved, the new one is used once no root lies in the old."""
        here, before = home(self.folder), remembered(self.db)
        sql = f"SELECT 1 FROM roots WHERE substr(path, 1, 2) = '{HERE}/' LIMIT 1"
        if here is None or here == before or (self.paths.away and self.db.execute(sql).fetchone()):
            return
        old, self.paths = self.paths, Paths(here)
        with self.transaction() as db:
            rewrite_paths(db, old, self.paths)
            db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (BASE, here))
            seal_meta(db)

    def collection(self, name: str, metadata: Mapping[str, str] | None = None) -> int:
        """The id of a collection, created if need be; metadata is merged into what it has."""
        with self.transaction() as db:
            found = db.execute("SELECT id, metadata FROM collections WHERE name = ?", (name,)).fetchone()
            merged = {**(json.loads(found[1]) if found else {}), **(metadata or {})}
            db.execute(
                "INSERT INTO collections (name, metadata) VALUES (?1, ?2)"
                " ON CONFLICT (name) DO UPDATE SET metadata = ?2",
                (name, json.dumps(merged, sort_keys=True)),
            )
            identity: int = db.execute("SELECT id FROM collections WHERE name = ?", (name,)).fetchone()[0]
            return identity

    def collections(self) -> dict[int, str]:
        return dict(self.db.execute("SELECT id, name FROM collections"))

    def collection_audiences(self) -> dict[int, Audience]:
        """The audiences of the collections that not everyone may see."""
        named = _audiences.audiences(_audiences.stored(self.db))
        return {identity: named[name] for identity, name in self.collections().items() if name in named}

    def stamped(self, puts: Sequence[Put]) -> list[Put]:
        """Documents to put, with the audience that their collection has now."""
        audiences = self.collection_audiences()
        by_root = {root.id: root.collection for root in self.roots()} if audiences else {}
        return _audiences.stamped(puts, by_root, audiences) if audiences else list(puts)

    def roots(self) -> list[Root]:
        return roots_in(self.db, self.paths)

    def former_collections(self) -> dict[str, str]:
        """The collections of removed roots, by path, if not everyone may see them."""
        named = _audiences.former(_audiences.stored(self.db))
        return {path: named[name] for path, (name, _) in self.former_roots().items() if name in named}

    def former_roots(self) -> dict[str, tuple[str, str]]:
        """Name and prefix of removed roots, by path."""
        rows = self.db.execute("SELECT path, name, prefix FROM former_roots")
        return {self.paths.on_disk(path): (name, prefix) for path, name, prefix in rows}

    def former_names(self) -> set[str]:
        """First parts of the document ids of removed roots: a prefix or, without one, a file or folder name."""
        if not self.db.execute("SELECT 1 FROM sqlite_master WHERE name = 'former_names'").fetchone():
            return {name for name, _ in self.former_roots().values()}
        return {
            name for (name,) in self.db.execute("SELECT name FROM former_names UNION SELECT name FROM former_roots")
        }

    def beginnings(self, root: Root) -> set[str]:
        """First parts (before the slash) of the ids of a root's documents, and the root's name."""
        sql = "SELECT d.name FROM documents d JOIN files f ON f.id = d.file WHERE f.root = ?"
        return {root.name, *(name.partition("/")[0] for (name,) in self.db.execute(sql, (root.id,)))}

    def add_root(self, path: str, name: str, collection: int, prefix: str, kind: str = "folder") -> Root:
        with self.transaction() as db:
            db.execute("DELETE FROM former_roots WHERE path = ?", (self.paths.stored(path),))
            identity = db.execute(
                "INSERT INTO roots (path, name, collection, prefix, kind) VALUES (?, ?, ?, ?, ?) RETURNING id",
                (self.paths.stored(path), name, collection, prefix, kind),
            ).fetchone()[0]
            _audiences.forget(db, name)
        return Root(identity, path, name, collection, prefix, kind)

    def drop_root(self, root: Root, beginnings: Collection[str]) -> None:
        """Removes a root, and its collection if empty. The beginnings of its ids stay reserved for it as long as there
        are other roots, or a removed one has a collection that not everyone may see."""
        name = self.collections().get(root.collection, "")
        with self.transaction() as db:
            db.execute("DELETE FROM roots WHERE id = ?", (root.id,))
            _audiences.remember(db, root.name, name)
            if name not in _audiences.audiences(_audiences.stored(db)):
                db.execute(
                    "DELETE FROM collections WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM roots WHERE collection = ?1)"
                    " AND NOT EXISTS (SELECT 1 FROM documents WHERE collection = ?1)",
                    (root.collection,),
                )
            self._remember(db, {root.path: (root.name, root.prefix)}, beginnings)
            self.start_afresh(db)

    def start_afresh(self, db: sqlite3.Connection) -> None:
        """Forgets removed roots if there are no others, unless one has a collection that not everyone may see."""
        db.execute(FORMER_NAMES)
        for table in () if _audiences.former(_audiences.stored(db)) else ("former_roots", "former_names"):
            db.execute(f"DELETE FROM {table} WHERE NOT EXISTS (SELECT 1 FROM roots)")

    def remember(self, roots: Mapping[str, tuple[str, str]], beginnings: Collection[str]) -> None:
        """Stores the roots of a lost catalogue, so that their documents get the same ids when they are read again."""
        with self.transaction() as db:
            self._remember(db, roots, beginnings)

    @property
    def away(self) -> str:
        """The base folder, if the index was moved away from it; else empty."""
        return (self.paths.base or "") if self.paths.away else ""

    def _remember(
        self, db: sqlite3.Connection, roots: Mapping[str, tuple[str, str]], beginnings: Collection[str]
    ) -> None:
        rows = [(self.paths.stored(path), *name_and_prefix) for path, name_and_prefix in roots.items()]
        db.executemany("INSERT OR REPLACE INTO former_roots VALUES (?, ?, ?)", rows)
        db.execute(FORMER_NAMES)
        db.executemany("INSERT OR IGNORE INTO former_names VALUES (?)", [(name,) for name in beginnings])

    def is_one_file(self, root: Root) -> bool | None:
        """Whether a root is a single file; None as long as nothing was read from it."""
        sql = "SELECT d.path FROM documents d JOIN files f ON f.id = d.file WHERE f.root = ? LIMIT 1"
        found = self.db.execute(sql, (root.id,)).fetchone()
        return self.paths.on_disk(found[0]) == root.path if found else None

    def relocate(self, moves: Sequence[tuple[Root, str]]) -> int:
        """Changes the paths of roots that were moved; returns how many documents that are."""
        with self.transaction() as db:
            return sum(self._relocate(db, root, path) for root, path in moves)

    def _relocate(self, db: sqlite3.Connection, root: Root, path: str) -> int:
        def new_path(stored: str) -> str:
            place = self.paths.on_disk(stored)
            if not place.startswith(trimmed(root.path)):  # a page elsewhere, as commits and files of repositories have
                return stored
            return self.paths.stored((trimmed(path) + place.removeprefix(trimmed(root.path))) or "/")

        db.execute("UPDATE roots SET path = ? WHERE id = ?", (self.paths.stored(path), root.id))
        return change_paths(db, "file IN (SELECT id FROM files WHERE root = ?)", (root.id,), new_path)

    # ------------------------------------------------------------ reading, for a sync

    def files(self, root: int) -> dict[str, FileState]:
        self._fence_of_listing[root] = self._fence
        return files_in(self.db, root)

    def count_of(self, file: int) -> int:
        """The number of documents of a file."""
        return int(self.db.execute("SELECT count(*) FROM documents WHERE file = ?", (file,)).fetchone()[0])

    def documents_of(self, file: int) -> Iterator[tuple[DocId, bytes]]:
        """The documents of a file and their hashes, read in pages: some may be deleted meanwhile."""
        return ((name, digest) for _, name, digest in self._paged(f"name, {HASHED}", file))

    def dated(self, file: int) -> Iterator[tuple[DocId, float | None, dict[str, Any]]]:
        """The documents of a file with modification time and fields."""
        found = self._paged("name, modified, fields", file)
        return ((name, modified, json.loads(fields)) for _, name, modified, fields in found)

    def _paged(self, columns: str, file: int) -> Iterator[tuple[Any, ...]]:
        sql = f"SELECT id, {columns} FROM documents WHERE file = ? AND id > ? ORDER BY id LIMIT {PAGE}"
        last = -1
        while page := self.db.execute(sql, (file, last)).fetchall():
            yield from page
            last = page[-1][0]

    def owner(self, document: DocId) -> tuple[int, int | None, bytes] | None:
        """The key, file and hash of a document, if it exists."""
        if not is_text(document):
            return None
        found: tuple[int, int | None, bytes] | None = self.db.execute(
            f"SELECT id, file, {HASHED} FROM documents WHERE name = ?", (document,)
        ).fetchone()
        return found

    def root_of(self, document: DocId) -> int | None:
        """The root of a document's file, if it has one."""
        sql = "SELECT f.root FROM documents d JOIN files f ON f.id = d.file WHERE d.name = ?"
        found = self.db.execute(sql, (document,)).fetchone()
        return int(found[0]) if found else None

    def begins(self, name: str) -> bool:
        """Whether a document has this id, or lies in a folder of this name."""
        sql = (
            "SELECT 1 FROM documents WHERE name = ?1 OR (name > ?1 || '/' AND name < ?1 || '0') LIMIT 1"  # 0 follows /
        )
        return self.db.execute(sql, (name,)).fetchone() is not None

    def rows_by_hash(self, document: DocId, withheld: bool = False) -> dict[bytes, list[Row]]:
        """Live rows of a document by the hash of their text: those in the text store, or the `withheld` ones."""
        rows = self.db.execute(
            "SELECT c.row, substr(c.hash, 1, ?) FROM chunks c JOIN documents d ON d.id = c.document"
            " WHERE d.name = ? ORDER BY c.row",
            (HASH, document),
        ).fetchall()
        private_rows = _private_words.private_rows(self.db, [row for row, _ in rows])
        found: dict[bytes, list[Row]] = {}
        for row, digest in rows:
            if (row in private_rows) is withheld:
                found.setdefault(digest, []).append(row)
        return found

    def live(self, rows: Sequence[Row]) -> set[Row]:
        """Those of these rows that are live."""
        found = self.db.execute(
            "SELECT c.row FROM json_each(?) j JOIN chunks c ON c.row = j.value", (json.dumps(rows),)
        )
        return {row for (row,) in found}

    def counts(self) -> tuple[int, int]:
        return _counts.count(self.db, _counts.DOCUMENTS), _counts.count(self.db, _counts.CHUNKS)

    # ------------------------------------------------------------ writing

    def reserve(self, count: int) -> Row:
        """Reserves `count` row numbers, never used before or again; returns the first."""
        with self.transaction() as db:
            first = int((db.execute("SELECT value FROM meta WHERE key = 'next_row'").fetchone() or ("1",))[0])
            db.execute("INSERT OR REPLACE INTO meta VALUES ('next_row', ?)", (str(first + count),))
            _leases.reserve(db, first, count, self.lease)
            seal_meta(db)
        return Row(first)

    def apply(self, changes: Changes, placed: Sequence[Placed] = (), reserved: int | None = None) -> list[Put]:
        """The commit point: all changes become visible, or none. `placed`: the documents to put; `reserved`: the first
        row reserved for them. Returns the documents refused because their id belongs to another root."""
        with self.transaction() as db:
            _records.apply(db, changes.records)
            if reserved is not None:
                _leases.use(db, reserved, self.folder)
            read = {file[0] for file in changes.files} | {one.put.file[0] for one in placed if one.put.file}
            roots = _collections(db, read | self._leased)
            for entry in changes.files:
                self._note_file(db, *entry)
            for document, places in changes.places:
                _place(db, document, places)
            for document, modified, created in changes.dates:
                _date(db, document, modified, created)
            counts = Counts(db)
            for document in changes.removed:
                _remove(db, document, counts)
            refused = []
            for one in placed:
                if _has_other_owner(db, one.put):
                    refused.append(one)
                else:
                    file, path = one.put.file, one.put.document.path
                    where = (self.paths.stored(path), roots[file[0]]) if file else (path, one.put.collection)
                    _put(db, one, *where, counts)
            self._refuse(db, refused)
            counts.save()
            db.executemany("DELETE FROM files WHERE id = ?", [(f,) for f in changes.forgotten])
            self.read_again(db, "id = ?", [(f,) for f in changes.stale])
            db.executemany("UPDATE roots SET cursor = ?2 WHERE id = ?1", changes.cursors.items())
            if changes.facts:
                db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", changes.facts.items())
                seal_meta(db)
        return [one.put for one in refused]

    def _note_file(self, db: sqlite3.Connection, root: int, found: Found, digest: bytes, read_at: int) -> None:
        """Records a file as read, unless another writer has marked it to be read again since this one listed it."""
        db.execute(
            "INSERT INTO files (root, name, stamp, hash, seen) VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (root, name)"
            " DO UPDATE SET stamp = ?3, hash = ?4, seen = ?5 WHERE seen >= ?6",
            (root, found.name, found.stamp, digest, read_at, -self._fence_of_listing.get(root, self._fence)),
        )

    def _refuse(self, db: sqlite3.Connection, refused: Sequence[Placed]) -> None:
        """Marks the new rows of refused documents as dead, and their files to be read again."""
        now = time.time()
        for one in refused:
            rows = [(row, now) for row in one.rows]
            sql = "INSERT OR IGNORE INTO dead SELECT ?1, ?2 WHERE NOT EXISTS (SELECT 1 FROM chunks WHERE row = ?1)"
            db.executemany(sql, rows)
            if one.put.file:
                self.read_again(db, "root = ? AND name = ?", [one.put.file])

    def read_again(self, db: sqlite3.Connection, which: str, values: Iterable[Sequence[object]]) -> None:
        """Marks files to be read again, even if another writer that syncs their root has just read them."""
        sql = f"UPDATE files SET stamp = '', hash = x'', seen = {-self._fence} WHERE {which}"
        db.executemany(sql, values)

    @property
    def _fence(self) -> int:
        return self.lease.fence if self.lease else 0

    def clear(self, meta: Mapping[str, str]) -> None:
        """Deletes all content but roots and the row counter, for an index that is built anew."""
        with self.transaction() as db:
            for table in (
                "chunks",
                "documents",
                "files",
                "facets",
                "names",
                "links",
                "dead",
                "reserved",
                "unseen",
                "counts",
            ):
                db.execute(f"DELETE FROM {table}")
            _mentions.clear(db)
            _private_words.clear(db)
            db.execute("UPDATE roots SET cursor = ''")
            db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", meta.items())
            seal_meta(db)

    def dead(self, before: float) -> list[Row]:
        return [Row(row) for (row,) in self.db.execute("SELECT row FROM dead WHERE died <= ?", (before,))]

    def bury(self, rows: Sequence[Row]) -> None:
        """Removes rows from the list of the dead: no other store has them any more."""
        with self.transaction() as db:
            db.executemany("DELETE FROM dead WHERE row = ?", [(row,) for row in rows])


def _remove(db: sqlite3.Connection, document: DocId, counts: Counts, keep: frozenset[int] = frozenset()) -> set[int]:
    """Removes a document and returns its rows; those in `keep` stay live under another document."""
    document_row = db.execute("SELECT id, kind FROM documents WHERE name = ?", (document,)).fetchone()
    if document_row is None:
        return set()
    now, key = time.time(), document_row[:1]
    rows = [row for (row,) in db.execute("SELECT row FROM chunks WHERE document = ?", key)]
    gone = [row for row in rows if row not in keep]
    counts.removed(document_row[1], rows, gone)
    db.executemany("INSERT OR IGNORE INTO dead VALUES (?, ?)", [(row, now) for row in gone])
    _private_words.forget(db, gone)
    for table in ("chunks", "facets", "names", "links"):
        db.execute(f"DELETE FROM {table} WHERE document = ?", key)
    _mentions.forget(db, key[0])
    db.execute("DELETE FROM documents WHERE id = ?", key)
    return set(rows)


def _place(db: sqlite3.Connection, document: DocId, places: Sequence[Place]) -> None:
    found = db.execute(
        "SELECT c.row, c.id, c.ordinal, c.hash, c.first, c.last, c.place FROM chunks c"
        " JOIN documents d ON d.id = c.document WHERE d.name = ?",
        (document,),
    ).fetchall()
    for row, identity, ordinal, hash, *old in found:
        new = columns(places[ordinal]) if ordinal < len(places) else tuple(old)
        if tuple(old) != new:
            placed = moved(hash, identity, (old[0], old[1], old[2]), new)
            db.execute("UPDATE chunks SET first = ?, last = ?, place = ?, hash = ? WHERE row = ?", (*new, placed, row))


def _date(db: sqlite3.Connection, name: DocId, modified: datetime | None, created: datetime | None) -> None:
    """Changes the dates of a document, and its checksums."""
    sql = f"SELECT {HEAD.format('')}, CAST(fields AS BLOB), hash FROM documents WHERE name = ?"
    found = db.execute(sql, (name,)).fetchone()
    if found is None:
        return
    stored_name, kind, title, path, before, fields, hash = found
    now = modified.timestamp() if modified else None
    new_fields = json.dumps({**json.loads(fields), **_created_field(created)}, ensure_ascii=False)
    sound = head_is_sound(hash, stored_name, kind, title, path, before) and fields_are_sound(hash, fields)
    if sound and len(hash) > HASH:
        sums = head_sum(stored_name, kind, title, path, now), crc32(new_fields.encode("utf8", "surrogatepass"))
        hash = packed(hash, *sums) + hash[HASH + 8 :]
    db.execute("UPDATE documents SET modified = ?, fields = ?, hash = ? WHERE name = ?", (now, new_fields, hash, name))


def _created_field(created: datetime | None) -> dict[str, str]:
    return {CREATED: created.isoformat()} if created else {}


def _has_other_owner(db: sqlite3.Connection, put: Put) -> bool:
    """Whether a document of another root, or of the registry, already has this id."""
    sql = "SELECT d.file, f.root FROM documents d LEFT JOIN files f ON f.id = d.file WHERE d.name = ?"
    owner = db.execute(sql, (put.document.id,)).fetchone()
    if owner is None:
        return False
    file, root = owner
    return file is not None if put.file is None else file is None or root not in (None, put.file[0])


def _collections(db: sqlite3.Connection, roots: Collection[int]) -> dict[int, int]:
    """The collection of each root. Raises if one of the roots was removed meanwhile."""
    found: dict[int, int] = dict(db.execute("SELECT id, collection FROM roots")) if roots else {}
    if not found.keys() >= {*roots}:
        raise SourceProblem(
            "what is being read was taken out of the index meanwhile", "sync it again if it belongs there"
        )
    return found


def _put(db: sqlite3.Connection, placed: Placed, path: str, collection: int, counts: Counts) -> None:
    put, document = placed.put, placed.put.document
    keep = frozenset(placed.rows)
    before: set[int] = set()
    for old in {document.id, put.moved_from or document.id}:
        before |= _remove(db, old, counts, keep)
    if put.file:  # inserted with its first document; it counts as read only after its last
        db.execute("INSERT OR IGNORE INTO files (root, name, stamp, hash, seen) VALUES (?, ?, '', x'', 0)", put.file)
    file = db.execute("SELECT id FROM files WHERE root = ? AND name = ?", put.file).fetchone() if put.file else None
    key = db.execute(
        "INSERT INTO documents (name, file, collection, kind, title, path, modified, hash, fields)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
        (
            document.id,
            file[0] if file else None,
            collection,
            document.kind,
            document.title,
            path,
            document.modified.timestamp() if document.modified else None,
            put.hash,
            json.dumps(
                {**document.fields, **_created_field(document.created), **_as_written(document)}, ensure_ascii=False
            ),
        ),
    ).fetchone()[0]
    counts.added(document.kind, [*keep], is_restricted(document.fields), keep - before)
    db.executemany(
        "INSERT INTO chunks (row, id, document, ordinal, headings, first, last, place, hash, text)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [_chunk_row(row, chunk, key, n) for n, (row, chunk) in enumerate(zip(placed.rows, put.chunks, strict=True))],
    )
    db.executemany("INSERT OR IGNORE INTO facets VALUES (?, ?, ?)", [(*facet, key) for facet in facets_of(document)])
    names = ((name, key, rank) for name, rank in names_of(document.id, document.aliases).items())
    db.executemany("INSERT OR IGNORE INTO names VALUES (?, ?, ?)", names)
    db.executemany(
        "INSERT INTO links VALUES (?, ?, ?, ?, ?, ?)",
        [(key, link_key(document.id, k.target, k.type), k.target, k.type, k.heading, k.alias) for k in document.links],
    )
    _mentions.put(db, key, document)
    _private_words.put(db, placed.words)
    seal(db, key)


def _chunk_row(row: Row, prepared: Prepared, document: int, ordinal: int) -> tuple[Any, ...]:
    chunk, headings = prepared.chunk, f"[{', '.join(map(encode_basestring, prepared.chunk.headings))}]"
    checksum = text_sum(headings.encode(), chunk.text.encode())
    first, last, place = columns(chunk.place)
    hash = packed(prepared.hash, checksum ^ place_sum(chunk.id.encode(), first, last, place.encode()))
    return (row, chunk.id, document, ordinal, headings, first, last, place, hash, stored_text(chunk.text))


def _as_written(document: Document) -> dict[str, Any]:
    """Aliases and tags with their case and order, if other tables do not preserve them."""
    plain = not document.aliases and list(document.tags) == sorted({tag.casefold() for tag in document.tags})
    return {} if plain else {AS_WRITTEN: [list(document.aliases), list(document.tags)]}
