"""Documents and chunks read back from the catalogue, to rebuild the other stores."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from watersmeet.core.documents import Chunk, Document
from watersmeet.core.entities import TOOL
from watersmeet.core.model import Row
from watersmeet.core.names import ALIAS
from watersmeet.core.text_fields import DESCRIPTIVE, description
from watersmeet.store.local import _mentions, _private_words, _records
from watersmeet.store.local._checksums import HASH, fields_are_sound, seal_meta, unsound
from watersmeet.store.local._counts import recount
from watersmeet.store.local._place_columns import place_of
from watersmeet.store.local._stored_text import PLAIN
from watersmeet.store.local.catalogue import AS_WRITTEN, Catalogue

TEXT_FORM = "text_form"
"""Entry of `meta`: the version of what is indexed of a document."""


class StoredChunk(NamedTuple):
    """A live row, its chunk, and the hash of its indexed text."""

    row: Row
    ordinal: int
    chunk: Chunk
    hash: bytes


def read_back(catalogue: Catalogue, only: Sequence[Row] | None = None) -> Iterator[tuple[Document, list[StoredChunk]]]:
    """Each document with its live chunks, or `only` these, and with the fields whose words are indexed: of an entity
    its record. In catalogues of older versions, tags and aliases are in lower case and in alphabetical order."""
    chunks = "chunks c" if only is None else "json_each(?) j JOIN chunks c ON c.row = j.value"
    rows = catalogue.db.execute(
        "SELECT d.id, d.name, d.kind, d.title, d.path, d.file, d.fields,"
        f" c.row, c.ordinal, c.id, {PLAIN.format('c.')}, c.headings, substr(c.hash, 1, 16), c.first, c.last, c.place"
        f" FROM {chunks} JOIN documents d ON c.document = d.id ORDER BY d.id, c.ordinal",
        [] if only is None else [json.dumps(only)],
    )
    for (key, name, kind, title, path, file, text), found in groupby(rows, key=lambda row: row[:7]):
        fields = json.loads(text)
        aliases, tags = fields.get(AS_WRITTEN) or (_aliases(catalogue, key), _tags(catalogue, key))
        if file is None:
            indexed = {"record": fields["record"]} if "record" in fields else {}
        else:
            indexed = {"description": description(fields)}
        document = Document(name, kind, title, path, aliases=tuple(aliases), tags=tuple(tags), fields=indexed)
        yield (
            document,
            [
                StoredChunk(
                    Row(row), ordinal, Chunk(identity, name, text, tuple(json.loads(path)), place_of(file, *at)), hash
                )
                for row, ordinal, identity, text, path, hash, *at in (one[7:] for one in found)
            ],
        )


def _aliases(catalogue: Catalogue, key: int) -> list[str]:
    rows = catalogue.db.execute("SELECT key FROM names WHERE document = ? AND rank = ?", (key, ALIAS))
    return [alias for (alias,) in rows]


def _tags(catalogue: Catalogue, key: int) -> list[str]:
    rows = catalogue.db.execute("SELECT value FROM facets WHERE document = ? AND key = 'tag'", (key,))
    return [tag for (tag,) in rows]


def correct(db: sqlite3.Connection, catalogue: Catalogue, hashes: Mapping[Row, bytes], meta: Mapping[str, str]) -> None:
    """Stores changed hashes of rows, counts of private rows, and `meta`, after the text store was rebuilt. Files of
    rows with changed hashes are to be read again."""
    rows = json.dumps(list(hashes))
    for row, hash in hashes.items():  # the checksum stays, so that damage is still found
        (old,) = db.execute("SELECT hash FROM chunks WHERE row = ?", (row,)).fetchone()
        db.execute("UPDATE chunks SET hash = ? WHERE row = ?", (hash + old[HASH:], row))
    documents = "SELECT c.document FROM json_each(?) j JOIN chunks c ON c.row = j.value"
    catalogue.read_again(db, f"id IN (SELECT file FROM documents WHERE id IN ({documents}))", [(rows,)])
    db.execute(f"UPDATE documents SET hash = x'' WHERE id IN ({documents})", (rows,))
    if _private_words.has_table(db):
        db.execute("UPDATE unseen SET private = 1 WHERE row IN (SELECT row FROM withheld)")
        recount(db)
    db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", meta.items())
    seal_meta(db)


def reread(catalogue: Catalogue) -> list[dict[str, Any]]:
    """Marks the files of damaged documents to be read again, and returns the records of damaged entities. A record that
    is damaged everywhere is deleted: it has to be registered again."""
    damaged = unsound(catalogue.db)
    records: dict[str, dict[str, Any]] = {}
    with catalogue.transaction() as db:
        _records.repair(db)
        for key in damaged:
            sql = "SELECT file, CAST(fields AS BLOB), hash FROM documents WHERE id = ?"
            row = db.execute(sql, (key,)).fetchone()
            if row is None:  # a chunk without a document
                _forget(db, key)
                continue
            file, fields, hash = row
            db.execute("UPDATE documents SET hash = x'' WHERE id = ?", (key,))
            if file is not None:
                catalogue.read_again(db, "id = ?", [(file,)])
                continue
            record = _registered(db, fields) if fields_are_sound(hash, fields) else None
            if record:
                records[record["path"]] = record
            else:  # its entity is unknown: put all again
                _forget(db, key)
                records |= {record["path"]: record for record in _records.sound_records(db)}
        recount(db)
    return list(records.values())


def read_described_again(catalogue: Catalogue) -> None:
    """Marks the files of documents with descriptive fields to be read again: an earlier version did not index them."""
    names = json.dumps(sorted(DESCRIPTIVE))
    described = (
        "SELECT d.file FROM documents d WHERE d.file IS NOT NULL AND json_valid(d.fields) AND EXISTS"
        " (SELECT 1 FROM json_each(d.fields) f JOIN json_each(?) n ON lower(f.key) = n.value)"
    )
    with catalogue.transaction() as db:
        catalogue.read_again(db, f"id IN ({described})", [(names,)])


def _registered(db: sqlite3.Connection, fields: bytes) -> dict[str, Any] | None:
    """The record of an entity, or of the entity that a tool belongs to."""
    record = _records.record_of(fields) or {}
    owner = record.get("server" if record.get("kind") == TOOL else "path")
    stored = _records.stored(db, owner) if owner else None
    return stored.record if stored else None


def _forget(db: sqlite3.Connection, key: int) -> None:
    now = time.time()
    rows = db.execute("SELECT row FROM chunks WHERE document = ?", (key,)).fetchall()
    db.executemany("INSERT OR IGNORE INTO dead VALUES (?, ?)", [(row, now) for (row,) in rows])
    db.executemany("DELETE FROM unseen WHERE row = ?", rows)
    _private_words.forget(db, [row for (row,) in rows])
    for table in ("chunks", "facets", "names", "links"):
        db.execute(f"DELETE FROM {table} WHERE document = ?", (key,))
    _mentions.forget(db, key)
    db.execute("DELETE FROM documents WHERE id = ?", (key,))
