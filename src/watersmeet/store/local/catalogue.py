"""The catalogue: SQLite, and the only judge of what is live.

A writer reserves row numbers, appends to the other stores and commits them, and only then one transaction
here swaps a document's rows. A reader opens its transaction here first and filters what the others offer.
"""

from __future__ import annotations

import json
import math
import os
import sqlite3
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from zlib import crc32

from watersmeet.core.documents import CREATED, Document
from watersmeet.core.errors import SourceProblem
from watersmeet.core.facets import facets_of
from watersmeet.core.files import make_private, refuse_read_only
from watersmeet.core.indexing import Found
from watersmeet.core.model import DocId, Row
from watersmeet.core.names import is_text, link_key, names_of
from watersmeet.core.place import Place
from watersmeet.core.system import trimmed
from watersmeet.core.text_fields import Prepared
from watersmeet.core.visibility import is_restricted
from watersmeet.core.writing import Changes, FileState, Lease, Put, Root
from watersmeet.store.local import _counts, _leases, _mentions, _private_words, _records
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
    said_sum,
    seal,
    seal_meta,
)
from watersmeet.store.local._connect import FILE, connect, guarded, is_read_only
from watersmeet.store.local._counts import Counts
from watersmeet.store.local._paths import BASE, HERE, Paths, change_paths, home, paths_of, remembered, rewrite_paths
from watersmeet.store.local._place_columns import columns
from watersmeet.store.local._schema import FORMER_NAMES
from watersmeet.store.local.roots import files_in, roots_in

HASHED = f"substr(hash, 1, {HASH})"
PAGE = 1000
"""How many documents of a file are looked at together."""
SAID = "@said"
"""The field for aliases and tags as they are written: their words are indexed, and other tables have lower case."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A document to store, with the row of each of its chunks."""

    put: Put
    rows: tuple[Row, ...]
    words: Mapping[Row, _private_words.Words] = field(default_factory=dict)  # of new rows that not everyone may see


class Catalogue:
    """The writing side. Whoever uses it holds the writer lock; once it has a lease, it writes only under that one."""

    lease: Lease | None = None

    def __init__(self, folder: str) -> None:
        make_private(folder)
        self.folder = folder
        self.path = os.path.join(folder, FILE)
        if os.path.exists(self.path) and is_read_only(folder):
            raise refuse_read_only(folder)
        self.db = connect(folder, create=True)
        self._looked: dict[int, int] = {}  # under which fence the files of each root were looked at
        self._leased: set[int] = set()  # the roots that are being brought up to date
        with ExitStack() as undo, guarded(self.path):
            undo.callback(self.db.close)
            self.paths = paths_of(folder, self.db)
            undo.pop_all()

    def close(self) -> None:
        self.db.close()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        with guarded(self.path):
            self.db.execute("BEGIN IMMEDIATE")
            with self.db:
                if self.lease is not None:
                    _leases.check(self.db, self.lease, self.folder)
                yield self.db

    def begin(self) -> None:
        """Take the lease: whoever had it before commits no more, and what it reserved and left is dead."""
        with guarded(self.path):
            self.db.execute("BEGIN IMMEDIATE")
            with self.db:
                self.lease = _leases.take(self.db, _leases.WRITER, math.inf)
                _leases.reclaim(self.db)

    # ------------------------------------------------------------ facts about the index

    def meta(self) -> dict[str, str]:
        with guarded(self.path):
            return checked_meta(dict(self.db.execute("SELECT key, value FROM meta")), self.folder)

    def set_meta(self, values: Mapping[str, str]) -> None:
        with self.transaction() as db:
            db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", values.items())
            seal_meta(db)

    def note_vectors(self, facts: Mapping[str, str], store: str, rows: Collection[Row]) -> None:
        """A vector store holds these rows now. One that is new is expected to hold all live rows, in time."""
        with self.transaction() as db:
            known = store in _counts.stores(db)
            db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", facts.items())
            seal_meta(db)
            if not known:
                _counts.expect(db, store)
            _counts.mark_embedded(db, store, rows)
            _counts.sweep(db)

    def expect_vectors(self, store: str, held: Collection[Row]) -> None:
        """A vector store holds these rows, and is to hold all."""
        with self.transaction() as db:
            _counts.expect(db, store)
            _counts.mark_embedded(db, store, held)

    def settle(self) -> None:
        """Remember which folder the index belongs to. One that lies elsewhere now is no longer held on to once no root
        is in the other."""
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
        """The collection of that name, made if need be; metadata is added to what it has."""
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

    def roots(self) -> list[Root]:
        return roots_in(self.db, self.paths)

    def former_roots(self) -> dict[str, tuple[str, str]]:
        """Name and prefix of the roots that were let go of, by their paths."""
        rows = self.db.execute("SELECT path, name, prefix FROM former_roots")
        return {self.paths.on_disk(path): (name, prefix) for path, name, prefix in rows}

    def former_names(self) -> set[str]:
        """What the ids of such roots began with, be it a prefix or, where there was none, a file or folder."""
        if not self.db.execute("SELECT 1 FROM sqlite_master WHERE name = 'former_names'").fetchone():
            return {name for name, _ in self.former_roots().values()}
        return {
            name for (name,) in self.db.execute("SELECT name FROM former_names UNION SELECT name FROM former_roots")
        }

    def beginnings(self, root: Root) -> set[str]:
        """What stands before the first slash of the ids that a root's documents have, and its name."""
        sql = "SELECT d.name FROM documents d JOIN files f ON f.id = d.file WHERE f.root = ?"
        return {root.name, *(name.partition("/")[0] for (name,) in self.db.execute(sql, (root.id,)))}

    def add_root(self, path: str, name: str, collection: int, prefix: str, kind: str = "folder") -> Root:
        with self.transaction() as db:
            db.execute("DELETE FROM former_roots WHERE path = ?", (self.paths.stored(path),))
            identity = db.execute(
                "INSERT INTO roots (path, name, collection, prefix, kind) VALUES (?, ?, ?, ?, ?) RETURNING id",
                (self.paths.stored(path), name, collection, prefix, kind),
            ).fetchone()[0]
        return Root(identity, path, name, collection, prefix, kind)

    def drop_root(self, root: Root, beginnings: Collection[str]) -> None:
        """Its collection goes with the last that is in it. What its ids began with is kept for it as long as there are
        others."""
        with self.transaction() as db:
            db.execute("DELETE FROM roots WHERE id = ?", (root.id,))
            db.execute(
                "DELETE FROM collections WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM roots WHERE collection = ?1)"
                " AND NOT EXISTS (SELECT 1 FROM documents WHERE collection = ?1)",
                (root.collection,),
            )
            self._remember(db, {root.path: (root.name, root.prefix)}, beginnings)
            for table in ("former_roots", "former_names"):
                db.execute(f"DELETE FROM {table} WHERE NOT EXISTS (SELECT 1 FROM roots)")

    def remember(self, roots: Mapping[str, tuple[str, str]], beginnings: Collection[str]) -> None:
        """Of a catalogue that was lost: if these are read again, their documents have the ids that they had."""
        with self.transaction() as db:
            self._remember(db, roots, beginnings)

    @property
    def away(self) -> str:
        """The folder that the index belongs to, if it lies elsewhere now; else empty."""
        return (self.paths.base or "") if self.paths.away else ""

    def _remember(
        self, db: sqlite3.Connection, roots: Mapping[str, tuple[str, str]], beginnings: Collection[str]
    ) -> None:
        rows = [(self.paths.stored(path), *called) for path, called in roots.items()]
        db.executemany("INSERT OR REPLACE INTO former_roots VALUES (?, ?, ?)", rows)
        db.execute(FORMER_NAMES)
        db.executemany("INSERT OR IGNORE INTO former_names VALUES (?)", [(name,) for name in beginnings])

    def is_one_file(self, root: Root) -> bool | None:
        """Whether a root is a file, and no folder; unknown as long as nothing was read from it."""
        sql = "SELECT d.path FROM documents d JOIN files f ON f.id = d.file WHERE f.root = ? LIMIT 1"
        found = self.db.execute(sql, (root.id,)).fetchone()
        return self.paths.on_disk(found[0]) == root.path if found else None

    def relocate(self, moves: Sequence[tuple[Root, str]]) -> int:
        """The content of these roots lies there now; how many documents that are."""
        with self.transaction() as db:
            return sum(self._relocate(db, root, path) for root, path in moves)

    def _relocate(self, db: sqlite3.Connection, root: Root, path: str) -> int:
        def there(stored: str) -> str:
            rest = self.paths.on_disk(stored).removeprefix(trimmed(root.path))
            return self.paths.stored((trimmed(path) + rest) or "/")

        db.execute("UPDATE roots SET path = ? WHERE id = ?", (self.paths.stored(path), root.id))
        return change_paths(db, "file IN (SELECT id FROM files WHERE root = ?)", (root.id,), there)

    def set_root_collection(self, root: int, collection: int) -> None:
        with self.transaction() as db:
            db.execute("UPDATE roots SET collection = ? WHERE id = ?", (collection, root))
            db.execute(
                "UPDATE documents SET collection = ? WHERE file IN (SELECT id FROM files WHERE root = ?)",
                (collection, root),
            )

    # ------------------------------------------------------------ what a sync compares with

    def files(self, root: int) -> dict[str, FileState]:
        self._looked[root] = self._fence
        return files_in(self.db, root)

    def count_of(self, file: int) -> int:
        """How many documents a file holds."""
        return int(self.db.execute("SELECT count(*) FROM documents WHERE file = ?", (file,)).fetchone()[0])

    def documents_of(self, file: int) -> Iterator[tuple[DocId, bytes]]:
        """The documents of a file and their hashes, a page at a time: meanwhile some of them may go."""
        return ((name, digest) for _, name, digest in self._paged(f"name, {HASHED}", file))

    def dated(self, file: int) -> Iterator[tuple[DocId, float | None, dict[str, Any]]]:
        """The documents of a file, when each was last changed, and what it says of itself."""
        found = self._paged("name, modified, fields", file)
        return ((name, modified, json.loads(fields)) for _, name, modified, fields in found)

    def _paged(self, columns: str, file: int) -> Iterator[tuple[Any, ...]]:
        sql = f"SELECT id, {columns} FROM documents WHERE file = ? AND id > ? ORDER BY id LIMIT {PAGE}"
        last = -1
        while page := self.db.execute(sql, (file, last)).fetchall():
            yield from page
            last = page[-1][0]

    def owner(self, document: DocId) -> tuple[int, int | None, bytes] | None:
        """A document's key, file and hash, if there is such a document."""
        if not is_text(document):
            return None
        found: tuple[int, int | None, bytes] | None = self.db.execute(
            f"SELECT id, file, {HASHED} FROM documents WHERE name = ?", (document,)
        ).fetchone()
        return found

    def root_of(self, document: DocId) -> int | None:
        """The root that a document's file is in, if it is in a file."""
        sql = "SELECT f.root FROM documents d JOIN files f ON f.id = d.file WHERE d.name = ?"
        found = self.db.execute(sql, (document,)).fetchone()
        return int(found[0]) if found else None

    def begins(self, name: str) -> bool:
        """Whether a document is called so, or lies in a folder that is."""
        sql = (
            "SELECT 1 FROM documents WHERE name = ?1 OR (name > ?1 || '/' AND name < ?1 || '0') LIMIT 1"  # 0 follows /
        )
        return self.db.execute(sql, (name,)).fetchone() is not None

    def rows_by_hash(self, document: DocId, withheld: bool = False) -> dict[bytes, list[Row]]:
        """The live rows of a document by the hash of what was indexed of them: in the text store, or `withheld`."""
        rows = self.db.execute(
            "SELECT c.row, substr(c.hash, 1, ?) FROM chunks c JOIN documents d ON d.id = c.document"
            " WHERE d.name = ? ORDER BY c.row",
            (HASH, document),
        ).fetchall()
        held = _private_words.private_rows(self.db, [row for row, _ in rows])
        found: dict[bytes, list[Row]] = {}
        for row, digest in rows:
            if (row in held) is withheld:
                found.setdefault(digest, []).append(row)
        return found

    def live(self, rows: Sequence[Row]) -> set[Row]:
        """Those of the rows that are live."""
        found = self.db.execute(
            "SELECT c.row FROM json_each(?) j JOIN chunks c ON c.row = j.value", (json.dumps(rows),)
        )
        return {row for (row,) in found}

    def counts(self) -> tuple[int, int]:
        return _counts.count(self.db, _counts.DOCUMENTS), _counts.count(self.db, _counts.CHUNKS)

    # ------------------------------------------------------------ writing

    def reserve(self, count: int) -> Row:
        """The first of `count` row numbers that no one had before, nor will have."""
        with self.transaction() as db:
            first = int((db.execute("SELECT value FROM meta WHERE key = 'next_row'").fetchone() or ("1",))[0])
            db.execute("INSERT OR REPLACE INTO meta VALUES ('next_row', ?)", (str(first + count),))
            _leases.reserve(db, first, count, self.lease)
            seal_meta(db)
        return Row(first)

    def apply(self, changes: Changes, placed: Sequence[Placed] = (), reserved: int | None = None) -> list[Put]:
        """The commit point: all of it becomes visible, or nothing. `placed` are the documents to put, `reserved` the
        first of the rows that were reserved for them. Returns those whose id is another's."""
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
                if _is_anothers(db, one.put):
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

    def _note_file(self, db: sqlite3.Connection, root: int, found: Found, digest: bytes, seen: int) -> None:
        """It was read; unless somebody has said since this writer looked that it is to be read again."""
        db.execute(
            "INSERT INTO files (root, name, stamp, hash, seen) VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (root, name)"
            " DO UPDATE SET stamp = ?3, hash = ?4, seen = ?5 WHERE seen >= ?6",
            (root, found.name, found.stamp, digest, seen, -self._looked.get(root, self._fence)),
        )

    def _refuse(self, db: sqlite3.Connection, refused: Sequence[Placed]) -> None:
        """The new rows of what is not stored are dead, and its file is to be read again."""
        now = time.time()
        for one in refused:
            rows = [(row, now) for row in one.rows]
            sql = "INSERT OR IGNORE INTO dead SELECT ?1, ?2 WHERE NOT EXISTS (SELECT 1 FROM chunks WHERE row = ?1)"
            db.executemany(sql, rows)
            if one.put.file:
                self.read_again(db, "root = ? AND name = ?", [one.put.file])

    def read_again(self, db: sqlite3.Connection, which: str, values: Iterable[Sequence[object]]) -> None:
        """These files are to be read again, also if another writer that is at their root has just read them."""
        sql = f"UPDATE files SET stamp = '', hash = x'', seen = {-self._fence} WHERE {which}"
        db.executemany(sql, values)

    @property
    def _fence(self) -> int:
        return self.lease.fence if self.lease else 0

    def clear(self, meta: Mapping[str, str]) -> None:
        """Forget everything but the row numbers, which go on, and what was to be read; the other stores start anew."""
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
        """The other stores no longer hold these rows."""
        with self.transaction() as db:
            db.executemany("DELETE FROM dead WHERE row = ?", [(row,) for row in rows])


def _remove(db: sqlite3.Connection, document: DocId, counts: Counts, keep: frozenset[int] = frozenset()) -> set[int]:
    """Which rows it had; those to `keep` live on under another document."""
    known = db.execute("SELECT id, kind FROM documents WHERE name = ?", (document,)).fetchone()
    if known is None:
        return set()
    now, found = time.time(), known[:1]
    rows = [row for (row,) in db.execute("SELECT row FROM chunks WHERE document = ?", found)]
    gone = [row for row in rows if row not in keep]
    counts.removed(known[1], rows, gone)
    db.executemany("INSERT OR IGNORE INTO dead VALUES (?, ?)", [(row, now) for row in gone])
    _private_words.forget(db, gone)
    for table in ("chunks", "facets", "names", "links"):
        db.execute(f"DELETE FROM {table} WHERE document = ?", found)
    _mentions.forget(db, found[0])
    db.execute("DELETE FROM documents WHERE id = ?", found)
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
    """Other dates of a document that is otherwise as it was."""
    sql = f"SELECT {HEAD.format('')}, CAST(fields AS BLOB), hash FROM documents WHERE name = ?"
    found = db.execute(sql, (name,)).fetchone()
    if found is None:
        return
    called, kind, title, path, before, fields, hash = found
    now = modified.timestamp() if modified else None
    said = json.dumps({**json.loads(fields), **_begun(created)}, ensure_ascii=False)
    sound = head_is_sound(hash, called, kind, title, path, before) and fields_are_sound(hash, fields)
    if sound and len(hash) > HASH:
        sums = head_sum(called, kind, title, path, now), crc32(said.encode("utf8", "surrogatepass"))
        hash = packed(hash, *sums) + hash[HASH + 8 :]
    db.execute("UPDATE documents SET modified = ?, fields = ?, hash = ? WHERE name = ?", (now, said, hash, name))


def _begun(created: datetime | None) -> dict[str, str]:
    return {CREATED: created.isoformat()} if created else {}


def _is_anothers(db: sqlite3.Connection, put: Put) -> bool:
    """Whether another root's document, or one of the registry, has the id by now."""
    sql = "SELECT d.file, f.root FROM documents d LEFT JOIN files f ON f.id = d.file WHERE d.name = ?"
    owner = db.execute(sql, (put.document.id,)).fetchone()
    if owner is None:
        return False
    file, root = owner
    return file is not None if put.file is None else file is None or root not in (None, put.file[0])


def _collections(db: sqlite3.Connection, roots: Collection[int]) -> dict[int, int]:
    """The collection of each root, as it is by now. Nothing is stored of one that was taken out of the index."""
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
    if put.file:  # a file of many documents is entered with its first; it counts as read only with its last
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
            json.dumps({**document.fields, **_begun(document.created), **_said(document)}, ensure_ascii=False),
        ),
    ).fetchone()[0]
    counts.added(document.kind, [*keep], is_restricted(document.fields), keep - before)
    db.executemany(
        "INSERT INTO chunks (row, id, document, ordinal, headings, first, last, place, hash, text)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [_chunk_row(row, said, key, n) for n, (row, said) in enumerate(zip(placed.rows, put.chunks, strict=True))],
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
    chunk, headings = prepared.chunk, json.dumps(prepared.chunk.headings, ensure_ascii=False)
    said = said_sum(headings.encode(), chunk.text.encode())
    first, last, place = columns(chunk.place)
    hash = packed(prepared.hash, said ^ place_sum(chunk.id.encode(), first, last, place.encode()))
    return (row, chunk.id, document, ordinal, headings, first, last, place, hash, chunk.text)


def _said(document: Document) -> dict[str, Any]:
    """Aliases and tags as they are written, if what is kept of them in other tables would not give them back."""
    plain = not document.aliases and list(document.tags) == sorted({tag.casefold() for tag in document.tags})
    return {} if plain else {SAID: [list(document.aliases), list(document.tags)]}
