"""The catalogue: SQLite, and the only judge of what is live.

A writer reserves row numbers, appends to the other stores and commits them, and only then one transaction
here swaps a document's rows. A reader opens its transaction here first and filters what the others offer.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from watersmeet.core.indexing import Found
from watersmeet.core.model import DocId, Row
from watersmeet.core.names import link_key, names_of
from watersmeet.core.pages import Chunk, Document
from watersmeet.store import _mentions
from watersmeet.store._connect import FILE, connect, guarded
from watersmeet.store.rename import rename


@dataclass(frozen=True, slots=True)
class FileState:
    """A file as it was when it was last read."""

    id: int
    name: str
    stamp: tuple[int, ...]
    hash: bytes
    seen: int  # ns since the epoch, before the file was read


@dataclass(frozen=True, slots=True)
class Root:
    id: int
    path: str
    name: str
    collection: int


@dataclass(frozen=True, slots=True)
class StoredChunk:
    row: Row
    chunk: Chunk
    hash: bytes


@dataclass(frozen=True, slots=True)
class Put:
    """A document to store in place of what its id, or the one it was moved from, stood for."""

    document: Document
    chunks: tuple[StoredChunk, ...]
    hash: bytes
    collection: int
    file: tuple[int, str] | None = None  # root and name
    moved_from: DocId | None = None


@dataclass(slots=True)
class Changes:
    """What one transaction makes visible."""

    put: list[Put] = field(default_factory=list)
    files: list[tuple[int, Found, bytes, int]] = field(default_factory=list)  # root, file, hash, seen
    lines: list[tuple[DocId, list[tuple[int, int]]]] = field(default_factory=list)  # where unchanged chunks now stand
    removed: list[DocId] = field(default_factory=list)
    forgotten: list[int] = field(default_factory=list)  # files that are gone
    stale: list[int] = field(default_factory=list)  # files to read again
    reserved: list[int] = field(default_factory=list)  # first rows of reservations now used


class Catalogue:
    """The writing side. Whoever uses it holds the writer lock."""

    def __init__(self, folder: str) -> None:
        os.makedirs(folder, exist_ok=True)
        self.folder = folder
        self.path = os.path.join(folder, FILE)
        self.db = connect(folder, create=True)

    def close(self) -> None:
        self.db.close()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        with guarded(self.path):
            self.db.execute("BEGIN IMMEDIATE")
            with self.db:
                yield self.db

    # ------------------------------------------------------------ facts about the index

    def meta(self) -> dict[str, str]:
        return dict(self.db.execute("SELECT key, value FROM meta"))

    def set_meta(self, values: Mapping[str, str]) -> None:
        with self.transaction() as db:
            db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", values.items())

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
        return [Root(*row) for row in self.db.execute("SELECT id, path, name, collection FROM roots ORDER BY id")]

    def add_root(
        self,
        path: str,
        name: str,
        collection: int,
        renamed: Mapping[DocId, DocId],
        files: Mapping[int, str],
        absorbed: Sequence[Root],
    ) -> Root:
        """A new root, and all that comes with it: new names of documents, roots inside it, their files' new names."""
        with self.transaction() as db:
            rename(db, renamed)
            db.executemany("DELETE FROM roots WHERE id = ?", [(root.id,) for root in absorbed])
            sql = "INSERT INTO roots (path, name, collection) VALUES (?, ?, ?) RETURNING id"
            identity = db.execute(sql, (path, name, collection)).fetchone()[0]
            taken = [(identity, new, file) for file, new in files.items()]
            db.executemany("UPDATE files SET root = ?, name = ? WHERE id = ?", taken)
            db.executemany("UPDATE documents SET collection = ? WHERE file = ?", [(collection, file) for file in files])
        return Root(identity, path, name, collection)

    def drop_root(self, root: Root, renamed: Mapping[DocId, DocId]) -> None:
        """Its collection goes with the last that is in it."""
        with self.transaction() as db:
            db.execute("DELETE FROM roots WHERE id = ?", (root.id,))
            db.execute(
                "DELETE FROM collections WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM roots WHERE collection = ?1)"
                " AND NOT EXISTS (SELECT 1 FROM documents WHERE collection = ?1)",
                (root.collection,),
            )
            rename(db, renamed)

    def set_root_collection(self, root: int, collection: int) -> None:
        with self.transaction() as db:
            db.execute("UPDATE roots SET collection = ? WHERE id = ?", (collection, root))
            db.execute(
                "UPDATE documents SET collection = ? WHERE file IN (SELECT id FROM files WHERE root = ?)",
                (collection, root),
            )

    # ------------------------------------------------------------ what a sync compares with

    def files(self, root: int) -> dict[str, FileState]:
        rows = self.db.execute("SELECT id, name, stamp, hash, seen FROM files WHERE root = ?", (root,))
        return {
            name: FileState(identity, name, tuple(map(int, stamp.split())), digest, seen)
            for identity, name, stamp, digest, seen in rows
        }

    def documents_of(self, file: int) -> list[tuple[DocId, bytes]]:
        return self.db.execute("SELECT name, hash FROM documents WHERE file = ?", (file,)).fetchall()

    def owner(self, document: DocId) -> tuple[int, int | None, bytes] | None:
        """A document's key, file and hash, if there is such a document."""
        found: tuple[int, int | None, bytes] | None = self.db.execute(
            "SELECT id, file, hash FROM documents WHERE name = ?", (document,)
        ).fetchone()
        return found

    def rows_by_hash(self, document: DocId) -> dict[bytes, list[Row]]:
        """The live rows of a document by the hash of what was indexed of them."""
        found: dict[bytes, list[Row]] = {}
        for row, digest in self.db.execute(
            "SELECT c.row, c.hash FROM chunks c JOIN documents d ON d.id = c.document WHERE d.name = ? ORDER BY c.row",
            (document,),
        ):
            found.setdefault(digest, []).append(row)
        return found

    def live(self, rows: Sequence[Row]) -> set[Row]:
        """Those of the rows that are live."""
        found = self.db.execute(
            "SELECT c.row FROM json_each(?) j JOIN chunks c ON c.row = j.value", (json.dumps(rows),)
        )
        return {row for (row,) in found}

    def counts(self) -> tuple[int, int]:
        documents, chunks = self.db.execute(
            "SELECT (SELECT count(*) FROM documents), (SELECT count(*) FROM chunks)"
        ).fetchone()
        return documents, chunks

    # ------------------------------------------------------------ writing

    def reserve(self, count: int) -> Row:
        """The first of `count` row numbers that no one had before, nor will have."""
        with self.transaction() as db:
            first = int((db.execute("SELECT value FROM meta WHERE key = 'next_row'").fetchone() or ("1",))[0])
            db.execute("INSERT OR REPLACE INTO meta VALUES ('next_row', ?)", (str(first + count),))
            db.execute("INSERT INTO reserved VALUES (?, ?)", (first, count))
        return Row(first)

    def reclaim(self) -> None:
        """Rows that a writer reserved and never used: it died; what it wrote of them is dead."""
        with self.transaction() as db:
            for first, count in db.execute("SELECT first, count FROM reserved").fetchall():
                used = {
                    r for (r,) in db.execute("SELECT row FROM chunks WHERE row BETWEEN ? AND ?", (first, first + count))
                }
                rows = ((row, time.time()) for row in range(first, first + count) if row not in used)
                db.executemany("INSERT OR IGNORE INTO dead VALUES (?, ?)", rows)
            db.execute("DELETE FROM reserved")

    def apply(self, changes: Changes) -> None:
        """The commit point: all of it becomes visible, or nothing."""
        with self.transaction() as db:
            for root, found, digest, seen in changes.files:
                db.execute(
                    "INSERT INTO files (root, name, stamp, hash, seen) VALUES (?, ?, ?, ?, ?) ON CONFLICT (root, name)"
                    " DO UPDATE SET stamp = excluded.stamp, hash = excluded.hash, seen = excluded.seen",
                    (root, found.name, " ".join(map(str, found.stamp)), digest, seen),
                )
            for document, lines in changes.lines:
                _place(db, document, lines)
            for document in changes.removed:
                _remove(db, document)
            for put in changes.put:
                _put(db, put)
            db.executemany("DELETE FROM files WHERE id = ?", [(f,) for f in changes.forgotten])
            db.executemany("UPDATE files SET stamp = '', hash = x'' WHERE id = ?", [(f,) for f in changes.stale])
            db.executemany("DELETE FROM reserved WHERE first = ?", [(r,) for r in changes.reserved])

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
            ):
                db.execute(f"DELETE FROM {table}")
            _mentions.clear(db)
            db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", meta.items())

    def dead(self, before: float) -> list[Row]:
        return [Row(row) for (row,) in self.db.execute("SELECT row FROM dead WHERE died <= ?", (before,))]

    def bury(self, rows: Sequence[Row]) -> None:
        """The other stores no longer hold these rows."""
        with self.transaction() as db:
            db.executemany("DELETE FROM dead WHERE row = ?", [(row,) for row in rows])


def _remove(db: sqlite3.Connection, document: DocId, keep: frozenset[int] = frozenset()) -> None:
    found = db.execute("SELECT id FROM documents WHERE name = ?", (document,)).fetchone()
    if found is None:
        return
    now = time.time()
    rows = [row for (row,) in db.execute("SELECT row FROM chunks WHERE document = ?", found)]
    db.executemany("INSERT OR IGNORE INTO dead VALUES (?, ?)", [(row, now) for row in rows if row not in keep])
    for table in ("chunks", "facets", "names", "links"):
        db.execute(f"DELETE FROM {table} WHERE document = ?", found)
    _mentions.forget(db, found[0])
    db.execute("DELETE FROM documents WHERE id = ?", found)


def _place(db: sqlite3.Connection, document: DocId, lines: Sequence[tuple[int, int]]) -> None:
    db.executemany(
        "UPDATE chunks SET first = ?1, last = ?2 WHERE ordinal = ?3 AND (first <> ?1 OR last <> ?2)"
        " AND document = (SELECT id FROM documents WHERE name = ?4)",
        [(first, last, ordinal, document) for ordinal, (first, last) in enumerate(lines)],
    )


def _put(db: sqlite3.Connection, put: Put) -> None:
    document = put.document
    keep = frozenset(stored.row for stored in put.chunks)
    for old in {document.id, put.moved_from or document.id}:
        _remove(db, old, keep)
    if put.file:  # a file of many documents is entered with its first; it counts as read only with its last
        db.execute("INSERT OR IGNORE INTO files (root, name, stamp, hash, seen) VALUES (?, ?, '', x'', 0)", put.file)
    file = db.execute("SELECT id FROM files WHERE root = ? AND name = ?", put.file).fetchone() if put.file else None
    key = db.execute(
        "INSERT INTO documents (name, file, collection, kind, title, path, modified, hash, fields)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
        (
            document.id,
            file[0] if file else None,
            put.collection,
            document.kind,
            document.title,
            document.path,
            document.modified.timestamp() if document.modified else None,
            put.hash,
            json.dumps(document.fields, ensure_ascii=False),
        ),
    ).fetchone()[0]
    db.executemany(
        "INSERT INTO chunks VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (
                s.row,
                s.chunk.id,
                key,
                n,
                json.dumps(s.chunk.headings, ensure_ascii=False),
                *s.chunk.lines,
                s.hash,
                s.chunk.text,
            )
            for n, s in enumerate(put.chunks)
        ],
    )
    db.executemany("INSERT OR IGNORE INTO facets VALUES (?, ?, ?)", [(*facet, key) for facet in facets_of(document)])
    names = ((name, key, rank) for name, rank in names_of(document.id, document.aliases).items())
    db.executemany("INSERT OR IGNORE INTO names VALUES (?, ?, ?)", names)
    db.executemany(
        "INSERT INTO links VALUES (?, ?, ?, ?, ?, ?)",
        [(key, link_key(document.id, k.target, k.type), k.target, k.type, k.heading, k.alias) for k in document.links],
    )
    _mentions.put(db, key, document)


def facets_of(document: Document) -> Iterator[tuple[str, str]]:
    """What a document can be filtered by: (key, value) in lower case; lists give one each."""
    for tag in document.tags:
        yield "tag", tag.casefold()
    for key, value in document.fields.items():
        for item in value if isinstance(value, list) else [value]:
            text = facet_value(item)
            if text is not None:
                yield key.casefold(), text


def facet_value(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float) and len(str(value)) <= 256:
        return str(value).casefold()
    return None
